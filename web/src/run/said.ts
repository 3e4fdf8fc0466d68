// What a model with several inputs says of them: a text, labels with their chances, or arcs over the words of a sentence.
import { h, s, save, show } from "../dom.ts";
import type { Arc, Said } from "../protocol.ts";

const LEVEL = 26, LETTER = 8.4, GAP = 22, LABEL = 6.3;

/** How high each arc runs, from 1 on: above all that are between its ends. */
export function levels(arcs: Arc[]): number[] {
  const ends = arcs.map(({ word, head }) => [Math.min(word, head), Math.max(word, head)] as const);
  const found: number[] = arcs.map(() => 0);
  const order = arcs.map((_, n) => n).sort((a, b) => ends[a]![1] - ends[a]![0] - (ends[b]![1] - ends[b]![0]));
  for (const n of order) {
    const below = order.filter((m) => found[m]! > 0 && ends[m]![0] < ends[n]![1] && ends[n]![0] < ends[m]![1]);
    found[n] = 1 + Math.max(0, ...below.map((m) => found[m]!));
  }
  return found;
}

/** Words in a row with arcs above them; one that is its own head is the root. */
function drawn(told: Said): SVGElement {
  const arcs = told.arcs.filter(({ word, head }) => word !== head);
  const heights = levels(arcs);
  const room = told.words.map((word, n) => Math.max(word.length, told.tags[n]?.length ?? 0) * LETTER + GAP);
  // The label of an arc between neighbours must fit above them.
  for (const { word, head, label } of arcs) {
    const left = Math.min(word, head);
    if (Math.abs(word - head) === 1) room[left] = Math.max(room[left]!, label.length * LABEL + GAP);
  }
  const middles = room.map((width, n) => room.slice(0, n).reduce((a, b) => a + b, 0) + width / 2);
  const base = LEVEL * Math.max(0, ...heights) + 16;
  const width = room.reduce((a, b) => a + b, 0);
  const height = base + (told.tags.length > 0 ? 44 : 28);
  return s("svg", { class: "arcs", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": spoken(told) },
    ...arcs.flatMap(({ word, head, label }, n) => {
      const [from, to] = [middles[head]!, middles[word]!];
      const [top, turn] = [base - LEVEL * heights[n]!, Math.min(10, Math.abs(to - from) / 2) * Math.sign(to - from)];
      const begin = from + 4 * Math.sign(to - from);
      return [
        s("path", { d: `M${begin},${base} V${top + 10} Q${begin},${top} ${begin + turn},${top} H${to - turn} Q${to},${top} ${to},${top + 10} V${base}` }),
        s("path", { class: "tip", d: `M${to - 4},${base - 6} L${to},${base} L${to + 4},${base - 6}` }),
        s("text", { class: "label", x: (begin + to) / 2, y: top + 4 }, label),
      ];
    }),
    ...told.words.map((word, n) => s("text", { x: middles[n]!, y: base + 16 }, word)),
    ...told.tags.map((tag, n) => s("text", { class: "tag", x: middles[n]!, y: base + 34 }, tag)));
}

const spoken = (told: Said): string => told.arcs.map(({ word, head, label }) =>
  word === head ? `${told.words[word]} is the root` : `${told.words[word]} hangs on ${told.words[head]}${label && ` as ${label}`}`).join("; ");

export class Answered {
  readonly node = h("div", { class: "said", "aria-live": "polite" });

  refuse(why: string): void {
    show(this.node, h("p", { class: "refused" }, why));
  }

  show(told: Said): void {
    const arcs = told.words.length > 0 ? drawn(told) : null;
    show(this.node,
      arcs && h("div", { class: "scroll" }, arcs),
      arcs && h("div", { class: "under" }, h("button", { type: "button", onclick: () => this.save(arcs) }, "Save")),
      !arcs && h("p", { class: "line" }, told.text || "It says nothing."),
      told.others.length > 0 && h("table", { class: "facts others" }, h("tbody", {}, ...told.others.map(({ text, probability }) => {
        const fill = h("span", { class: "fill" });
        fill.style.width = `${100 * probability}%`;
        return h("tr", {}, h("th", { scope: "row" }, text), h("td", { class: "number" }, probability.toFixed(3)),
          h("td", { class: "wide" }, h("span", { class: "meter" }, fill)));
      }))));
  }

  /** With its colours, since a file has no style of the page. */
  private save(arcs: SVGElement): void {
    const copy = arcs.cloneNode(true) as SVGElement;
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.prepend(s("style", {}, "path{fill:none;stroke:#1f6feb;stroke-width:1.6}text{font:14px sans-serif;text-anchor:middle}.label{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:5px}.tag{font-size:11px;fill:#666}"));
    save("arcs.svg", new Blob([copy.outerHTML], { type: "image/svg+xml" }));
  }
}
