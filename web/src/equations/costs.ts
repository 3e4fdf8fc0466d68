// Sizes as sliders; what the program costs, as numbers and against each size.
import { h, show, short } from "../dom.ts";
import { lines } from "../pictures/lines.ts";
import type { Facts } from "../protocol.ts";

const TOP = 1 << 14;
const STEPS = 140;

/** Sliders are logarithmic: 0 is 1, STEPS is TOP. */
export function fromSlider(step: number): number {
  return Math.max(1, Math.round(TOP ** (step / STEPS)));
}

export function toSlider(value: number): number {
  return Math.round((Math.log(Math.max(1, value)) / Math.log(TOP)) * STEPS);
}

export class Costs {
  readonly sliders = h("div", { class: "sliders", role: "group", "aria-label": "Sizes" });
  readonly node = h("div", { class: "costs" });
  private names = "";
  private against = "";
  private facts: Facts | null = null;

  /** `changed` is told what somebody chose. */
  constructor(private readonly sizes: Record<string, number>, private readonly changed: () => void) {}

  show(facts: Facts): void {
    this.facts = facts;
    const free = facts.sizes.filter((size) => size.fixed === null && size.taken_as === null);
    const names = facts.sizes.map((size) => `${size.name}=${size.fixed}`).join();
    if (names !== this.names) {
      this.names = names;
      show(this.sliders, ...free.map((size) => this.slider(size.name, size.chosen)),
        ...facts.sizes.filter((size) => size.fixed !== null).map((size) => h("span", { class: "fixed" }, `${size.name} = ${size.fixed}`)));
    }
    if (!free.some((size) => size.name === this.against)) this.against = free[0]?.name ?? "";
    this.draw();
  }

  private slider(name: string, chosen: number): HTMLElement {
    const number = h("input", { type: "number", min: 1, max: 10_000_000, value: chosen, "aria-label": `size ${name}` });
    const range = h("input", { type: "range", min: 0, max: STEPS, value: toSlider(chosen), "aria-label": `size ${name}, slider` });
    const choose = (value: number): void => {
      this.sizes[name] = value;
      range.setAttribute("aria-valuetext", String(value));
      this.against = name;
      this.changed();
    };
    range.addEventListener("input", () => {
      number.value = String(fromSlider(Number(range.value)));
      choose(Number(number.value));
    });
    number.addEventListener("input", () => {
      const value = Math.floor(Number(number.value));
      if (!(value >= 1)) return;
      range.value = String(toSlider(value));
      choose(value);
    });
    return h("label", { class: "slider" }, h("span", {}, name), range, number);
  }

  private draw(): void {
    const facts = this.facts!;
    const chosen = facts.sizes.find((size) => size.name === this.against)?.chosen;
    const free = facts.sizes.filter((size) => size.fixed === null && size.taken_as === null);
    const curves = facts.curves.filter((curve) => curve.size === this.against);
    show(this.node,
      h("div", { class: "scroll" }, h("table", { class: "facts" },
        h("thead", {}, h("tr", {}, ...["cost", "at these sizes", "grows", "formula"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...facts.costs.map((cost) => h("tr", {},
          h("th", { scope: "row" }, cost.name),
          h("td", { class: "number", title: cost.number === null ? "" : cost.number.toLocaleString("en") }, cost.exact ? cost.shown : `≤ ${cost.shown}`),
          h("td", {}, cost.growth), h("td", { class: "formula" }, cost.formula)))))),
      free.length > 0 && h("div", { class: "choose", role: "group", "aria-label": "Draw against" }, "against ",
        ...free.map((size) => h("button", {
          type: "button", "aria-pressed": String(size.name === this.against),
          onclick: () => {
            this.against = size.name;
            this.draw();
          },
        }, size.name))),
      curves.length > 0 && lines({
        lines: curves.map((curve) => ({ name: curve.cost, at: curve.at, values: curve.values })),
        across: this.against, logX: true, logY: true, shown: short, ...(chosen === undefined ? {} : { mark: chosen }),
      }));
  }
}
