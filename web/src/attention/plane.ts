// A plane with vectors that one drags, or moves with the arrow keys.
import { digits, s } from "../dom.ts";
import type { Vector } from "./arithmetic.ts";

export const REACH = 3;
const SIZE = 360;

export interface Arrow {
  name: string;
  at: Vector;
  class: string;
  /** Only what can be moved has a handle. */
  moved?: (to: Vector) => void;
}

export class Plane {
  readonly node: SVGElement;
  private readonly cloud = s("g", { class: "cloud", "aria-hidden": "true" });
  private readonly layer = s("g");
  private arrows: { line: SVGElement; dot: SVGElement; text: SVGElement; arrow: Arrow }[] = [];

  constructor(label: string) {
    const rules = [-2, -1, 0, 1, 2].flatMap((n) => [
      s("line", { x1: x(n), x2: x(n), y1: 0, y2: SIZE, class: n === 0 ? "axis" : "rule" }),
      s("line", { y1: y(n), y2: y(n), x1: 0, x2: SIZE, class: n === 0 ? "axis" : "rule" }),
    ]);
    this.node = s("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "plane", role: "group", "aria-label": label }, ...rules, this.cloud, this.layer);
  }

  show(arrows: Arrow[], cloud: Vector[] = []): void {
    if (arrows.length !== this.arrows.length) {
      this.arrows = arrows.map((arrow) => this.made(arrow));
      this.layer.replaceChildren(...this.arrows.flatMap(({ line, dot, text }) => [line, dot, text]));
    }
    arrows.forEach((arrow, n) => {
      const known = this.arrows[n]!;
      known.arrow = arrow;
      const [px, py] = [x(arrow.at[0]), y(arrow.at[1])];
      set(known.line, { x1: x(0), y1: y(0), x2: px, y2: py, class: `stem ${arrow.class}` });
      set(known.dot, { cx: px, cy: py, class: `dot ${arrow.class}` });
      const right = px > SIZE - 60;
      set(known.text, { x: right ? px - 12 : px + 12, y: py < 24 ? py + 20 : py - 9, "text-anchor": right ? "end" : "start", class: `name ${arrow.class}` });
      known.text.textContent = arrow.name;
      if (arrow.moved) set(known.dot, { "aria-valuetext": `${digits(arrow.at[0])}, ${digits(arrow.at[1])}`, "aria-valuenow": arrow.at[0] });
    });
    this.cloud.replaceChildren(...cloud.map((at) => s("circle", { cx: x(at[0]), cy: y(at[1]), r: 2.5 })));
  }

  private made(arrow: Arrow): { line: SVGElement; dot: SVGElement; text: SVGElement; arrow: Arrow } {
    const movable = arrow.moved !== undefined;
    const made = {
      line: s("line"), text: s("text"), arrow,
      dot: s("circle", {
        r: movable ? 9 : 6,
        ...(movable ? {
          tabindex: 0, role: "slider", "aria-label": `${arrow.name}: drag it, or move it with the arrow keys`,
          "aria-valuemin": -REACH, "aria-valuemax": REACH,
        } : {}),
      }),
    };
    if (!movable) return made;
    const to = (at: Vector): void => made.arrow.moved!([clamp(at[0]), clamp(at[1])]);
    made.dot.addEventListener("pointerdown", (event) => {
      (made.dot as unknown as SVGCircleElement).setPointerCapture((event as PointerEvent).pointerId);
      event.preventDefault();
      (made.dot as unknown as HTMLElement).focus();
    });
    made.dot.addEventListener("pointermove", (event) => {
      const pointer = event as PointerEvent;
      if (!(made.dot as unknown as Element).hasPointerCapture(pointer.pointerId)) return;
      const box = (this.node as Element).getBoundingClientRect();
      to([((pointer.clientX - box.left) / box.width - 0.5) * 2 * REACH, -((pointer.clientY - box.top) / box.height - 0.5) * 2 * REACH]);
    });
    made.dot.addEventListener("keydown", (event) => {
      const key = event as KeyboardEvent;
      const step = ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] } as Record<string, Vector>)[key.key];
      if (!step) return;
      const size = key.shiftKey ? 0.5 : 0.1;
      to([made.arrow.at[0] + size * step[0], made.arrow.at[1] + size * step[1]]);
      event.preventDefault();
    });
    return made;
  }
}

function set(node: SVGElement, attributes: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
}

const x = (value: number): number => (value / REACH / 2 + 0.5) * SIZE;
const y = (value: number): number => (0.5 - value / REACH / 2) * SIZE;
const clamp = (value: number): number => Number(Math.max(-REACH, Math.min(REACH, value)).toFixed(3));
