// The numbers of a training, as they come in.
import type { Curves } from "../protocol.ts";
import type { Line } from "../pictures/lines.ts";

const POINTS = 400;

export class History {
  known = 0;
  of = 0;
  training = false;
  steps: number[] = [];
  loss: (number | null)[] = [];
  validated: number[] = [];
  validation: (number | null)[] = [];
  entropy: number | null = null;

  /** Takes what is new; says whether there is any. */
  add(told: Curves): boolean {
    if (told.fresh) Object.assign(this, { steps: [], loss: [], validated: [], validation: [], entropy: null });
    const changed = told.fresh || told.known !== this.known || told.training !== this.training;
    this.known = told.known;
    this.training = told.training;
    this.of = told.of || this.of;
    this.steps.push(...told.steps);
    this.loss.push(...told.loss);
    this.validated.push(...told.validated);
    this.validation.push(...told.validation);
    this.entropy = told.entropy ?? this.entropy;
    return changed;
  }

  get best(): number | null {
    const known = this.validation.filter((value): value is number => value !== null);
    return known.length > 0 ? Math.min(...known) : null;
  }

  lines(name: string): Line[] {
    const [at, values] = means(this.steps, this.loss, POINTS);
    const found: Line[] = [{ name: `${name}training`, at, values }];
    if (this.validated.length > 0) found.push({ name: `${name}validation`, at: this.validated, values: this.validation });
    if (this.entropy !== null && this.steps.length > 0) {
      found.push({ name: `${name}entropy`, at: [this.steps[0]!, this.steps.at(-1)!], values: [this.entropy, this.entropy], faint: true });
    }
    return found;
  }
}

/** At most so many points: means of neighbours, each at the last of its steps. */
export function means(steps: number[], values: (number | null)[], most: number): [number[], (number | null)[]] {
  const every = Math.max(1, Math.ceil(steps.length / most));
  const [at, found]: [number[], (number | null)[]] = [[], []];
  for (let n = 0; n < steps.length; n += every) {
    const some = values.slice(n, n + every).filter((value): value is number => value !== null);
    at.push(steps[Math.min(n + every, steps.length) - 1]!);
    found.push(some.length > 0 ? some.reduce((a, b) => a + b, 0) / some.length : null);
  }
  return [at, found];
}
