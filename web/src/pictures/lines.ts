// Curves: y against x, each axis linear or logarithmic, with a readout where the pointer is.
import { h, s, short } from "../dom.ts";

export interface Line {
  name: string;
  at: number[];
  values: (number | null)[];
  /** Dashed, as what is only there to compare with. */
  faint?: boolean;
}

export interface Plot {
  lines: Line[];
  across: string;
  down?: string;
  logX?: boolean;
  logY?: boolean;
  /** A place that is marked on the x axis. */
  mark?: number;
  /** What x and y look like as numbers. */
  shown?: (value: number) => string;
  height?: number;
  width?: number;
}

const COLOURS = ["#0f766e", "#c2410c", "#1d4ed8", "#a21caf", "#4d7c0f", "#b91c1c", "#0369a1", "#92400e"];
const LEFT = 58, RIGHT = 12, TOP = 10, BOTTOM = 34;

/** Round numbers between two ends: 1, 2 and 5 times powers of ten, or powers alone. */
export function ticks(low: number, high: number, log: boolean): number[] {
  if (!(high > low)) return [low];
  if (log) {
    const found: number[] = [];
    for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power++) found.push(10 ** power);
    const every = Math.ceil(found.length / 6);
    if (found.length >= 2) return found.filter((_, n) => n % every === 0);
  }
  const raw = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? 10 * power;
  const found: number[] = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) found.push(Number((n * step).toPrecision(12)));
  return found;
}

export function lines(plot: Plot): HTMLElement {
  const height = plot.height ?? 240;
  const width = plot.width ?? 560;
  const shown = plot.shown ?? short;
  const usable = (value: number | null, log?: boolean): value is number => value !== null && Number.isFinite(value) && (!log || value > 0);
  const points = plot.lines.flatMap((line) => line.at.map((x, n) => [x, line.values[n] ?? null] as const))
    .filter(([x, y]) => usable(x, plot.logX) && usable(y, plot.logY)) as [number, number][];
  if (points.length === 0) return h("p", { class: "quiet" }, "Nothing to draw yet.");
  const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
  let [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  if (left === right) right = left + 1;
  if (low === high) [low, high] = plot.logY ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
  const place = (value: number, a: number, b: number, log?: boolean): number =>
    log ? (Math.log(value) - Math.log(a)) / (Math.log(b) - Math.log(a)) : (value - a) / (b - a);
  const x = (value: number): number => LEFT + (width - LEFT - RIGHT) * place(value, left, right, plot.logX);
  const y = (value: number): number => height - BOTTOM - (height - BOTTOM - TOP) * place(value, low, high, plot.logY);

  const rows: Node[] = [];
  for (const value of ticks(low, high, !!plot.logY)) {
    rows.push(s("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "rule" }),
      s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, shown(value)));
  }
  for (const value of ticks(left, right, !!plot.logX)) {
    rows.push(s("line", { x1: x(value), x2: x(value), y1: TOP, y2: height - BOTTOM, class: "rule" }),
      s("text", { x: x(value), y: height - BOTTOM + 15, "text-anchor": "middle" }, shown(value)));
  }
  rows.push(s("text", { x: (LEFT + width - RIGHT) / 2, y: height - 4, "text-anchor": "middle", class: "axis" }, plot.across));
  if (plot.down) rows.push(s("text", { x: width - RIGHT - 4, y: TOP + 12, "text-anchor": "end", class: "axis" }, plot.down));
  if (plot.mark !== undefined && plot.mark >= left && plot.mark <= right) {
    rows.push(s("line", { x1: x(plot.mark), x2: x(plot.mark), y1: TOP, y2: height - BOTTOM, class: "here" }));
  }
  plot.lines.forEach((line, number) => {
    const path = line.at.map((value, n) => [value, line.values[n] ?? null] as const)
      .filter(([a, b]) => usable(a, plot.logX) && usable(b, plot.logY))
      .map(([a, b], n) => `${n ? "L" : "M"}${x(a).toFixed(1)},${y(b as number).toFixed(1)}`).join("");
    rows.push(s("path", {
      d: path, fill: "none", stroke: COLOURS[number % COLOURS.length]!, "stroke-width": 2,
      ...(line.faint ? { "stroke-dasharray": "5 4" } : {}),
    }));
  });
  const pointer = s("line", { class: "pointer", y1: TOP, y2: height - BOTTOM, visibility: "hidden" });
  const picture = s("svg", {
    viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", tabindex: 0,
    "aria-label": `${plot.lines.map((l) => l.name).join(", ")} against ${plot.across}`,
  }, ...rows, pointer);
  const told = h("output", { class: "readout", "aria-live": "polite" });
  const all = [...new Set(xs)].sort((a, b) => a - b);
  let now = all.length - 1;
  const tell = (index: number): void => {
    now = Math.max(0, Math.min(all.length - 1, index));
    const value = all[now]!;
    pointer.setAttribute("x1", String(x(value)));
    pointer.setAttribute("x2", String(x(value)));
    pointer.setAttribute("visibility", "visible");
    const parts = plot.lines.map((line) => {
      const n = line.at.indexOf(value);
      const there = n < 0 ? null : line.values[n] ?? null;
      return there === null ? null : `${line.name} ${shown(there)}`;
    });
    told.textContent = `${plot.across} ${shown(value)}: ${parts.filter(Boolean).join(", ")}`;
  };
  picture.addEventListener("pointermove", (event) => {
    const box = (picture as Element).getBoundingClientRect();
    const across = (((event as PointerEvent).clientX - box.left) / box.width) * width;
    let best = 0;
    all.forEach((value, n) => {
      if (Math.abs(x(value) - across) < Math.abs(x(all[best]!) - across)) best = n;
    });
    tell(best);
  });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[(event as KeyboardEvent).key];
    if (step === undefined) return;
    tell(now + step);
    event.preventDefault();
  });
  const legend = h("div", { class: "legend" }, ...plot.lines.map((line, n) => {
    const swatch = h("span", { class: line.faint ? "swatch faint" : "swatch" });
    swatch.style.borderColor = COLOURS[n % COLOURS.length]!;
    return h("span", {}, swatch, line.name);
  }));
  return h("figure", { class: "figure" }, picture, legend, told);
}
