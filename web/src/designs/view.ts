// By hand against learned: matrices that one edits, every case checked as one types, and the learned ones beside.
import { ask, show as told } from "../ask.ts";
import { digits, h, later, show } from "../dom.ts";
import { colours, scaleOf } from "../pictures/colour.ts";
import { heat } from "../pictures/heat.ts";
import { lines } from "../pictures/lines.ts";
import type { Judged, Learned, Matrix } from "../protocol.ts";

const TASKS = [
  ["content", "every place gives its own token: ABCA → ABCA"],
  ["position", "every place gives the first token: BCA → BBB"],
  ["unique", "every token says whether it stands there once; * is in front"],
] as const;
const KEPT = "indicial.designs";

type Values = Record<string, number[]>;
const valuesOf = (matrices: Matrix[]): Values => Object.fromEntries(matrices.map((m) => [m.name, [...m.values]]));

interface Kept {
  task: string;
  matrices: Values | null;
}

export class Designs {
  readonly node: HTMLElement;
  private kept: Kept = { task: "position", matrices: null };
  private given: Matrix[] = [];
  private values: Values = {};
  private learned: Learned | null = null;
  private steps = 1500;
  private seed = 0;
  private readonly equations = h("pre", { class: "page small" });
  private readonly grids = h("div", { class: "grids" });
  private readonly verdict = h("div", { class: "verdict", role: "status" });
  private readonly other = h("div", {});
  private readonly both = h("div", {});
  private readonly judge = later(60, () => this.askJudge());
  private readonly compare = later(150, () => this.askBoth());

  constructor() {
    try {
      this.kept = { ...this.kept, ...JSON.parse(sessionStorage.getItem(KEPT) ?? "{}") };
    } catch { /* what is damaged is not taken */ }
    const tasks = h("select", {
      "aria-label": "Task",
      onchange: (event: Event) => {
        this.kept = { task: (event.target as HTMLSelectElement).value, matrices: null };
        this.begin();
      },
    }, ...TASKS.map(([name, text]) => h("option", { value: name }, `${name}: ${text}`)));
    tasks.value = this.kept.task;
    const button = h("button", { type: "button", onclick: () => void this.learn(button) }, "Learn it");
    this.node = h("div", { class: "designs" },
      h("section", { "aria-label": "By hand" },
        h("div", { class: "bar" }, tasks,
          h("button", { type: "button", onclick: () => this.fill((m) => m.values) }, "The design by hand"),
          h("button", { type: "button", onclick: () => this.fill((m) => m.values.map(() => 0)) }, "All zero")),
        this.equations, this.verdict, this.grids),
      h("section", { "aria-label": "Learned" },
        h("div", { class: "bar" }, button,
          h("label", {}, "steps ", h("input", { type: "number", min: 100, max: 10000, step: 100, value: this.steps, oninput: (e: Event) => (this.steps = Math.max(1, Math.floor(Number((e.target as HTMLInputElement).value)) || 1)) })),
          h("label", {}, "seed ", h("input", { type: "number", min: 0, max: 9999, value: this.seed, oninput: (e: Event) => (this.seed = Math.max(0, Math.floor(Number((e.target as HTMLInputElement).value)) || 0)) }))),
        this.other, this.both));
    this.begin();
  }

  private begin(): void {
    this.learned = null;
    show(this.other, h("p", { class: "quiet" }, "The same equations from a random start, by gradient descent on one sequence after the other: 1,500 steps take a second or two."));
    show(this.both);
    void told(ask("design", { task: this.kept.task }), (found) => {
      this.given = found.matrices;
      this.equations.textContent = found.equations.join("\n");
      const kept = this.kept.matrices;
      const fits = kept && this.given.every((m) => kept[m.name]?.length === m.values.length);
      this.values = fits ? kept : valuesOf(this.given);
      this.draw();
      this.judge();
    }, (why) => show(this.verdict, h("p", { class: "refused" }, why)));
  }

  private fill(values: (matrix: Matrix) => number[]): void {
    this.values = Object.fromEntries(this.given.map((m) => [m.name, [...values(m)]]));
    this.draw();
    this.changed();
  }

  private changed(): void {
    this.kept.matrices = this.values;
    sessionStorage.setItem(KEPT, JSON.stringify(this.kept));
    this.judge();
    if (this.learned) this.compare();
  }

  // ------------------------------------------------------------------ the matrices

  private draw(): void {
    show(this.grids, ...this.given.map((matrix) => this.grid(matrix)));
  }

  private grid(matrix: Matrix): HTMLElement {
    const values = this.values[matrix.name]!;
    const columns = matrix.columns.length;
    const cells: HTMLInputElement[] = [];
    const paint = (): void => {
      const scale = scaleOf(values);
      cells.forEach((cell, n) => {
        const [back, front] = colours(values[n]!, scale);
        cell.style.background = back;
        cell.style.color = front;
      });
    };
    const cell = (row: number, column: number): HTMLInputElement => {
      const at = row * columns + column;
      const made = h("input", {
        type: "text", inputmode: "decimal", value: digits(values[at]!), "aria-label": `${matrix.name}, ${matrix.rows[row]}, ${matrix.columns[column]}`,
        oninput: () => {
          const value = Number(made.value.replace(",", "."));
          made.setAttribute("aria-invalid", String(!Number.isFinite(value) || made.value.trim() === ""));
          if (!Number.isFinite(value) || made.value.trim() === "") return;
          values[at] = value;
          paint();
          this.changed();
        },
        onkeydown: (event: KeyboardEvent) => {
          const step = { ArrowUp: -columns, ArrowDown: columns, Enter: columns }[event.key];
          if (step === undefined) return;
          const next = cells[at + step];
          next?.focus();
          next?.select();
          event.preventDefault();
        },
      });
      cells.push(made);
      return made;
    };
    const table = h("table", { class: "heat edit", "aria-label": matrix.name },
      h("thead", {}, h("tr", {}, h("td"), ...matrix.columns.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...matrix.rows.map((text, row) => h("tr", {}, h("th", { scope: "row" }, text), ...matrix.columns.map((_, column) => h("td", {}, cell(row, column)))))));
    paint();
    window.addEventListener("theme", paint);
    return h("section", { class: "tensor" }, h("h3", {}, h("code", {}, matrix.name)), h("div", { class: "scroll" }, table));
  }

  private askJudge(): void {
    void told(ask("judge", { task: this.kept.task, matrices: this.values }), (found) => show(this.verdict, ...judged(found)),
      (why) => show(this.verdict, h("p", { class: "refused" }, why)));
  }

  // ------------------------------------------------------------------ learned

  private async learn(button: HTMLButtonElement): Promise<void> {
    button.disabled = true;
    button.textContent = "Learning…";
    await told(ask("learn", { task: this.kept.task, steps: this.steps, rate: this.steps < 5000 ? 0.2 : 0.03, seed: this.seed }), (found) => {
      this.learned = found;
      const every = this.steps / Math.max(1, found.errors.length);
      const verdict = h("div", { class: "verdict" });
      show(this.other, h("p", { class: "quiet" }, found.remark), verdict,
        lines({ lines: [{ name: "squared error", at: found.errors.map((_, n) => Math.round(every * (n + 1))), values: found.errors }], across: "step", logY: true, height: 150 }),
        h("details", {}, h("summary", {}, "The matrices that were learned"), ...found.matrices.map((m) => h("section", { class: "tensor" }, h("h3", {}, h("code", {}, m.name)), map(m)))));
      void told(ask("judge", { task: this.kept.task, matrices: valuesOf(found.matrices) }, "judge learned"),
        (result) => show(verdict, ...judged(result)), (why) => show(verdict, h("p", { class: "refused" }, why)));
      this.askBoth();
    }, (why) => show(this.other, h("p", { class: "refused" }, why)));
    button.disabled = false;
    button.textContent = "Learn it";
  }

  private askBoth(): void {
    if (!this.learned) return;
    void told(ask("beside", { task: this.kept.task, matrices: this.values, other: valuesOf(this.learned.matrices) }), (found) => {
      const rows = ["scores", "values"].map((what) => {
        const [own, learned] = ["yours", "learned"].map((who) => found.products.find((m) => m.name === `${what}, ${who}`)!);
        const apart: Matrix = { ...own!, name: "difference", values: own!.values.map((value, n) => value - learned!.values[n]!) };
        const scale = scaleOf([...own!.values, ...learned!.values]);
        return h("div", {}, h("h3", {}, what === "scores" ? "Scores: how much the row asks for the column" : "Values: what the column adds to the row"),
          h("div", { class: "slices" }, ...[own!, learned!, apart].map((m) => h("div", { class: "slice" }, h("h4", {}, m.name.split(", ").at(-1)!), map(m, scale)))));
      });
      show(this.both, h("h3", {}, "What is the same in both"), h("ul", {}, ...found.sentences.map((text) => h("li", {}, text))), ...rows);
    }, (why) => show(this.both, h("p", { class: "refused" }, why)));
  }
}

function map(matrix: Matrix, scale = scaleOf(matrix.values)): HTMLElement {
  return heat({ rows: matrix.rows.length, columns: matrix.columns.length, values: matrix.values, down: matrix.rows, across: matrix.columns, label: matrix.name, scale: { ...scale, signed: true } });
}

function judged(found: Judged): HTMLElement[] {
  const good = found.wrong === 0;
  return [
    h("p", { class: good ? "status good" : "status bad" }, good
      ? `All ${found.cases.toLocaleString("en")} sequences are right.`
      : `${found.wrong.toLocaleString("en")} of ${found.cases.toLocaleString("en")} sequences are wrong.`),
    h("p", {}, `Smallest margin ${found.margin === null ? "not a number" : Number(found.margin.toPrecision(4))}, at place ${found.place} of `, h("code", {}, found.worst),
      found.squared_error === null ? "; some outputs are not numbers." : `; mean squared error ${digits(found.squared_error)}.`),
    ...(found.told.length > 0 ? [h("pre", { class: "page small" }, found.told.map((line) => line.trim()).join("\n"))] : []),
    h("details", {}, h("summary", {}, `What each place of ${found.worst} looks at`), heat({
      rows: found.weights.rows.length, columns: found.weights.columns.length, values: found.weights.values, down: found.weights.rows,
      across: found.weights.columns, label: found.weights.name, scale: { top: 1, signed: false },
    })),
  ];
}
