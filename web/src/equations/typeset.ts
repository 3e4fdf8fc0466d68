// The equations as a blackboard has them; a row is a statement, and a click leads to its place in the text.
import katex from "katex";
import { h } from "../dom.ts";
import type { Row } from "../protocol.ts";

/** The two columns of a row of `aligned`; a row that has several lines is one piece. */
export function columns(latex: string): [string, string] {
  if (latex.includes("\\\\")) return ["", `\\begin{aligned}${latex}\\end{aligned}`];
  const at = latex.indexOf("&");
  return at < 0 ? ["", latex] : [latex.slice(0, at).trim(), latex.slice(at + 1).trim()];
}

function typeset(latex: string, node: HTMLElement): void {
  try {
    katex.render(latex, node, { displayMode: false, throwOnError: true, trust: false, maxExpand: 1000, maxSize: 20 });
    // A few widths come as attributes, which the policy of the page ignores; set from here they count.
    for (const part of node.querySelectorAll<SVGElement>("[style]")) part.style.cssText = part.getAttribute("style") ?? "";
  } catch {
    node.textContent = latex;
  }
}

export class Board {
  readonly node = h("div", { class: "board", role: "list", "aria-label": "Typeset equations" });
  private rows: [Row, HTMLElement][] = [];
  private known = new Map<string, HTMLElement>();

  constructor(private readonly go: (at: number) => void) {}

  show(rows: Row[]): void {
    const seen = new Map<string, HTMLElement>();
    this.rows = rows.map((row) => {
      const made = this.known.get(row.latex) ?? this.row(row.latex);
      const node = seen.has(row.latex) ? this.row(row.latex) : made;
      seen.set(row.latex, node);
      node.onclick = () => this.go(row.start);
      return [row, node];
    });
    this.known = seen;
    this.node.replaceChildren(...this.rows.map(([, node]) => node));
  }

  /** Marks the row in which the cursor is. */
  mark(at: number): void {
    for (const [row, node] of this.rows) node.classList.toggle("here", row.start <= at && at <= row.end);
  }

  private row(latex: string): HTMLElement {
    const [left, right] = columns(latex);
    const cells = [h("span", { class: "left" }), h("span", { class: "right" })] as const;
    if (left) typeset(`\\displaystyle ${left}`, cells[0]);
    typeset(`\\displaystyle {}${right}`, cells[1]);
    return h("div", { class: left ? "row" : "row whole", role: "listitem" }, ...cells);
  }
}
