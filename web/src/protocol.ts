// Made of src/indicial/page/protocol.py by `make page`; change that instead.

export interface AboutText {
  text: string;
  program: number;
  sizes: Record<string, number>;
}

export interface ReadText {
  text: string;
}

export interface Site {
  start: number;
  end: number;
  remark: string;
}

export interface Told {
  severity: "error" | "warning" | "note";
  code: string;
  text: string;
  excerpt: string[];
  start: number;
  end: number;
  sites: Site[];
  fix?: Fix;
}

export interface Fix {
  start: number;
  end: number;
  text: string;
}

export interface Mark {
  start: number;
  end: number;
  program: number;
  about: string;
}

export interface Section {
  title: string;
  start: number;
  end: number;
  errors: number;
  equations: number;
}

export interface Reading {
  messages: Told[];
  marks: Mark[];
  programs: Section[];
  skipped: Site[];
}

export interface SizeOf {
  name: string;
  fixed: number | null;
  taken_as: string | null;
  chosen: number;
}

export interface Cost {
  name: string;
  formula: string;
  number: number | null;
  shown: string;
  growth: string;
  exact: boolean;
}

export interface Curve {
  size: string;
  cost: string;
  at: number[];
  values: (number | null)[];
}

export interface Facts {
  title: string;
  rows: Row[];
  names: NameOf[];
  about: Record<string, string[]>;
  notes: string[];
  sizes: SizeOf[];
  costs: Cost[];
  curves: Curve[];
}

export interface Row {
  latex: string;
  start: number;
  end: number;
}

export interface NameOf {
  name: string;
  shown: string;
  role: string;
  guess: string;
}

export interface AskView {
  text: string;
  program: number;
  what: "schedule" | "torch" | "gradient" | "graph";
}

export interface Shown {
  text: string;
  svg: string;
}

export interface AskTry {
  text: string;
  program: number;
  sizes: Record<string, number>;
  seed: number;
}

export interface Array {
  name: string;
  letters: string[];
  lowers: number[];
  shape: number[];
  values: (number | null)[];
  role: string;
  remark: string;
  whole: boolean;
}

export interface Trial {
  sizes: Record<string, number>;
  arrays: Array[];
  left_out: string[];
}

export interface Verdict {
  start: number;
  end: number;
  text: string;
  status: string;
  false: boolean;
  as_stated: boolean;
  found: string;
  counterexample: string[];
}

export interface Claims {
  verdicts: Verdict[];
}

export interface RunOf {
  name: string;
  title: string;
  data: string;
  task: string;
  sizes: string;
  created: string;
  training: boolean;
}

export interface Runs {
  runs: RunOf[];
}

export interface AskRun {
  run: string;
}

export interface Inputs {
  texts: string[];
  targets: string[];
  rows: boolean;
  writes: boolean;
  answers: boolean;
}

export interface AskCurves {
  run: string;
  known: number;
}

export interface Curves {
  fresh: boolean;
  known: number;
  training: boolean;
  of: number;
  steps: number[];
  loss: (number | null)[];
  validated: number[];
  validation: (number | null)[];
  entropy: number | null;
}

export interface AskText {
  run: string;
  prompt: string;
  temperature: number;
  top_p: number;
  seed: number;
  count: number;
}

export interface Other {
  text: string;
  probability: number;
  drawn: number;
}

export interface Token {
  text: string;
  probability: number;
  others: Other[];
}

export interface Made {
  prompt: string;
  tokens: Token[];
  ended: string;
  loop: number;
  period: number;
  nats: number | null;
}

export interface AskLooks {
  run: string;
  inputs: Record<string, string>;
  row: number;
}

export interface Look {
  name: string;
  layer: number | null;
  head: number | null;
  place: string;
  rows: string[];
  columns: string[];
  says: string;
  weights: string;
  links: LinkOf[];
}

export interface LinkOf {
  row: number;
  column: number;
  sure: boolean;
}

export interface Looks {
  looks: Look[];
  left_out: number;
  cut: number;
  picture: string;
}

export interface Arc {
  word: number;
  head: number;
  label: string;
}

export interface Said {
  text: string;
  others: Label[];
  words: string[];
  tags: string[];
  arcs: Arc[];
}

export interface Label {
  text: string;
  probability: number;
}

export interface AskTraining {
  text: string;
  data: string;
  columns: Record<string, string>;
  minutes: number;
  sizes: Record<string, number>;
}

export interface Training {
  run: string;
  running: boolean;
  said: string;
  data: string[];
}

export interface AskDesign {
  task: string;
}

export interface Matrix {
  name: string;
  rows: string[];
  columns: string[];
  values: number[];
}

export interface DesignOf {
  task: string;
  equations: string[];
  matrices: Matrix[];
}

export interface AskJudge {
  task: string;
  matrices: Record<string, number[]>;
}

export interface Judged {
  cases: number;
  wrong: number;
  margin: number | null;
  worst: string;
  place: number;
  squared_error: number | null;
  told: string[];
  weights: Matrix;
}

export interface AskLearn {
  task: string;
  steps: number;
  rate: number;
  seed: number;
}

export interface Learned {
  remark: string;
  matrices: Matrix[];
  errors: (number | null)[];
}

export interface AskBeside {
  task: string;
  matrices: Record<string, number[]>;
  other: Record<string, number[]>;
}

export interface Beside {
  sentences: string[];
  products: Matrix[];
}

export interface Model {
  name: string;
  summary: string;
}

export interface Start {
  version: string;
  file: string;
  text: string;
  view: string;
  run: string;
  models: Model[];
}

export interface Nothing {
}

export interface AskModel {
  name: string;
}

export interface Text {
  text: string;
}

export interface Questions {
  read: [ReadText, Reading];
  facts: [AboutText, Facts];
  view: [AskView, Shown];
  try: [AskTry, Trial];
  claims: [AskTry, Claims];
  model: [AskModel, Text];
  runs: [Nothing, Runs];
  inputs: [AskRun, Inputs];
  curves: [AskCurves, Curves];
  generate: [AskText, Made];
  attend: [AskLooks, Looks];
  answer: [AskLooks, Said];
  design: [AskDesign, DesignOf];
  judge: [AskJudge, Judged];
  learn: [AskLearn, Learned];
  beside: [AskBeside, Beside];
  start: [Nothing, Start];
  training: [Nothing, Training];
  train: [AskTraining, Training];
  stop: [Nothing, Training];
  resume: [AskRun, Training];
}
