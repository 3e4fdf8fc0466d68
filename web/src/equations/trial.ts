// `try` in the page: every tensor as heat maps, and claims with what breaks them.
import { digits, h } from "../dom.ts";
import { heat } from "../pictures/heat.ts";
import { scaleOf } from "../pictures/colour.ts";
import type { Array as Tensor, Claims, Trial } from "../protocol.ts";

const SLICES = 4;

export function trial(told: Trial): HTMLElement[] {
  const sizes = Object.entries(told.sizes).map(([name, value]) => `${name} = ${value}`).join(", ");
  const defined = told.arrays.filter((array) => array.role === "defined");
  const given = told.arrays.filter((array) => array.role !== "defined");
  return [
    h("p", { class: "quiet" }, `Random values${sizes ? `, ${sizes}` : ""}.`),
    ...defined.map(picture),
    ...(given.length > 0 ? [h("details", {}, h("summary", {}, "What went in"), ...given.map(picture))] : []),
    ...(told.left_out.length > 0 ? [h("p", { class: "quiet" }, `Too large to show: ${told.left_out.join(", ")}.`)] : []),
  ];
}

function picture(array: Tensor): HTMLElement {
  const numbers = array.values.filter((value): value is number => value !== null);
  const span = numbers.length > 0 ? `from ${digits(Math.min(...numbers))} to ${digits(Math.max(...numbers))}` : "";
  const name = array.letters.length > 0 ? `${array.name}[${array.letters.join(",")}]` : array.name;
  const head = h("h3", {}, h("code", {}, name), h("span", { class: "quiet" },
    [array.shape.join("×"), array.shape.length > 0 ? span : "", array.remark].filter(Boolean).join(", ")));
  if (array.shape.length === 0) return h("section", { class: "tensor" }, head, h("p", { class: "single" }, String(array.values[0] ?? "·")));
  return h("section", { class: "tensor" }, head, ...slices(array, name));
}

function slices(array: Tensor, label: string): HTMLElement[] {
  const [columns, rows] = [array.shape.at(-1)!, array.shape.at(-2) ?? 1];
  const size = rows * columns;
  const scale = scaleOf(array.values);
  const outer = array.shape.slice(0, -2);
  const total = outer.reduce((a, b) => a * b, 1);
  const axis = (from: number): string[] => {
    const place = array.shape.length + from;
    if (place < 0) return [];
    return Array.from({ length: array.shape[place]! }, (_, n) => `${array.letters[place]}=${array.lowers[place]! + n}`);
  };
  const made = (number: number): HTMLElement => {
    let rest = number;
    const fixed = outer.map((_, n) => {
      const below = outer.slice(n + 1).reduce((a, b) => a * b, 1);
      const at = Math.floor(rest / below);
      rest %= below;
      return `${array.letters[n]}=${array.lowers[n]! + at}`;
    });
    const where = fixed.join(", ");
    return h("div", { class: "slice" }, where && h("h4", {}, where), heat({
      rows, columns, values: array.values.slice(number * size, (number + 1) * size), down: axis(-2), across: axis(-1),
      label: `${label} ${where}`, whole: array.whole, scale,
    }));
  };
  const all = Array.from({ length: total }, (_, n) => n);
  const nodes = all.slice(0, SLICES).map(made);
  if (total > SLICES) {
    const more = h("details", {}, h("summary", {}, `${total - SLICES} more slices`));
    more.addEventListener("toggle", () => more.append(...all.slice(SLICES, 200).map(made)), { once: true });
    return [h("div", { class: "slices" }, ...nodes), more];
  }
  return [h("div", { class: "slices" }, ...nodes)];
}

export function claims(told: Claims, go: (at: number) => void): HTMLElement[] {
  if (told.verdicts.length === 0) {
    return [h("p", { class: "quiet" }, "No claims in this text. A line such as ", h("code", {}, "claim y[j] >= 0"), " is tried on random draws.")];
  }
  return told.verdicts.map((verdict) => h("section", { class: `claim ${verdict.as_stated ? "good" : "bad"}` },
    h("h3", {},
      h("span", { class: "badge" }, verdict.status),
      h("button", { type: "button", class: "link", onclick: () => go(verdict.start) }, h("code", {}, verdict.text))),
    verdict.false && h("p", {}, "It is stated to be false."),
    h("p", {}, verdict.found),
    verdict.counterexample.length > 0 && h("ul", {}, ...verdict.counterexample.map((line) => h("li", {}, h("code", {}, line))))));
}
