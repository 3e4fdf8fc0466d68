// Maps of attention weights: thumbnails of many heads, and one large with its words.
import { h, save } from "../dom.ts";
import type { LinkOf } from "../protocol.ts";
import { isDark } from "./colour.ts";

export interface Weights {
  title: string;
  rows: string[];
  columns: string[];
  /** 65535 is 1, row by row. */
  values: Uint16Array;
  /** Which words stand for one another, where that is known. */
  links?: LinkOf[];
  /** What is looked at, if it is a picture: bright where the weights are. */
  picture?: HTMLImageElement | null;
}

export function unpackWeights(letters: string): Uint16Array {
  const bytes = atob(letters);
  const values = new Uint16Array(bytes.length / 2);
  for (let n = 0; n < values.length; n++) values[n] = bytes.charCodeAt(2 * n) | (bytes.charCodeAt(2 * n + 1) << 8);
  return values;
}

/** One point for each weight; drawn larger by whoever shows it. */
export function points(weights: Weights, dark = isDark()): HTMLCanvasElement {
  const [height, width] = [weights.rows.length, weights.columns.length];
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d")!;
  const image = pen.createImageData(width, height);
  const [ground, full] = dark ? [[28, 33, 38], [80, 215, 195]] : [[255, 255, 255], [10, 90, 85]];
  for (let n = 0; n < weights.values.length; n++) {
    const level = Math.sqrt(weights.values[n]! / 65535); // small weights are seen too
    for (let c = 0; c < 3; c++) image.data[4 * n + c] = ground![c]! + (full![c]! - ground![c]!) * level;
    image.data[4 * n + 3] = 255;
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

/** How dark a picture is where a weight is: nothing at the largest, nearly all at 0. */
export function shades(values: Uint16Array): number[] {
  const most = values.reduce((a, b) => Math.max(a, b), 1);
  return [...values].map((value) => Math.round(224 * (1 - value / most)));
}

/** Weights in a rectangle of a canvas: as points, or over the picture that is looked at. */
function paint(pen: CanvasRenderingContext2D, weights: Weights, left: number, top: number, width: number, height: number, dark = isDark()): void {
  const { picture } = weights;
  if (!picture) return pen.drawImage(points(weights, dark), left, top, width, height);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(picture, left, top, width, height);
  const veil = document.createElement("canvas");
  [veil.width, veil.height] = [weights.columns.length, weights.rows.length];
  const over = veil.getContext("2d")!;
  const image = over.createImageData(veil.width, veil.height);
  shades(weights.values).forEach((shade, n) => (image.data[4 * n + 3] = shade));
  over.putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = true;
  pen.drawImage(veil, left, top, width, height);
}

export function thumbnail(weights: Weights, size: number): HTMLCanvasElement {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const dense = window.devicePixelRatio || 1;
  canvas.width = canvas.height = size * dense;
  canvas.style.width = canvas.style.height = `${size}px`;
  const pen = canvas.getContext("2d")!;
  pen.imageSmoothingEnabled = weights.rows.length > size * dense;
  paint(pen, weights, 0, 0, canvas.width, canvas.height);
  return canvas;
}

const LABEL = 84;
const LABELLED = 9;

/** The large map: the pointer or the arrow keys read a weight, + and - zoom, and it can be saved. */
export class LargeMap {
  readonly node: HTMLElement;
  private readonly canvas = h("canvas", { tabindex: 0, role: "img" });
  private readonly told = h("output", { class: "told-cell", "aria-live": "polite" }, " ");
  private weights: Weights | null = null;
  private cell = 0;
  private at: [number, number] = [-1, -1];

  constructor(private readonly hovered: (row: number) => void = () => {}) {
    this.canvas.addEventListener("pointermove", (event) => {
      const margin = this.margin;
      this.tell(Math.floor((event.offsetY - margin) / this.cell), Math.floor((event.offsetX - margin) / this.cell));
    });
    this.canvas.addEventListener("keydown", (event) => {
      const step = ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] } as Record<string, number[]>)[event.key];
      if (!step) return;
      this.tell(Math.max(0, this.at[0] + step[0]!), Math.max(0, this.at[1] + step[1]!));
      event.preventDefault();
    });
    const zoom = (factor: number) => () => {
      this.cell = Math.max(2, Math.min(48, Math.round(this.cell * factor)));
      this.draw();
    };
    this.node = h("div", { class: "map" },
      h("div", { class: "scroll" }, this.canvas),
      h("div", { class: "under" }, this.told,
        h("button", { type: "button", "aria-label": "smaller", onclick: zoom(0.75) }, "−"),
        h("button", { type: "button", "aria-label": "larger", onclick: zoom(1.34) }, "+"),
        h("button", { type: "button", onclick: () => this.canvas.toBlob((data) => data && save("attention.png", data)) }, "Save")));
    window.addEventListener("theme", () => this.draw());
  }

  show(weights: Weights): void {
    const same = this.weights?.rows.length === weights.rows.length;
    this.weights = weights;
    if (!same || this.cell === 0) this.cell = Math.max(3, Math.min(26, Math.floor(430 / weights.columns.length)));
    this.canvas.setAttribute("aria-label", `${weights.title}; arrow keys read single weights`);
    this.draw();
  }

  private get margin(): number {
    return this.cell >= LABELLED && !this.weights?.picture ? LABEL : 0;
  }

  private tell(row: number, column: number): void {
    const weights = this.weights;
    if (!weights || row < 0 || column < 0 || row >= weights.rows.length || column >= weights.columns.length) return;
    if (row === this.at[0] && column === this.at[1]) return;
    this.at = [row, column];
    const value = weights.values[row * weights.columns.length + column]! / 65535;
    this.told.textContent = `${row} ${weights.rows[row]} → ${column} ${weights.columns[column]}: ${value.toFixed(3)}`;
    this.hovered(row);
    this.draw();
  }

  private draw(): void {
    const weights = this.weights;
    if (!weights) return;
    const [dense, margin, cell] = [window.devicePixelRatio || 1, this.margin, this.cell];
    const [width, height] = [weights.columns.length * cell + margin, weights.rows.length * cell + margin];
    this.canvas.width = width * dense;
    this.canvas.height = height * dense;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const pen = this.canvas.getContext("2d")!;
    pen.scale(dense, dense);
    const dark = isDark();
    pen.fillStyle = dark ? "#1c2126" : "#ffffff";
    pen.fillRect(0, 0, width, height);
    pen.imageSmoothingEnabled = false;
    paint(pen, weights, margin, margin, width - margin, height - margin, dark);
    pen.strokeStyle = "#e8710a";
    for (const { row, column, sure } of weights.links ?? []) {
      pen.setLineDash(sure ? [] : [2, 2]);
      pen.strokeRect(margin + column * cell + 1, margin + row * cell + 1, cell - 2, cell - 2);
    }
    pen.setLineDash([]);
    if (margin > 0) {
      pen.fillStyle = dark ? "#c8d0d6" : "#333c44";
      pen.font = `${Math.min(12, cell)}px system-ui, sans-serif`;
      pen.textBaseline = "middle";
      pen.textAlign = "right";
      weights.rows.forEach((text, n) => pen.fillText(cut(text), margin - 5, margin + (n + 0.5) * cell));
      pen.textAlign = "left";
      weights.columns.forEach((text, n) => {
        pen.save();
        pen.translate(margin + (n + 0.5) * cell, margin - 5);
        pen.rotate(-Math.PI / 2);
        pen.fillText(cut(text), 0, 0);
        pen.restore();
      });
    }
    if (this.at[0] >= 0 && this.at[0] < weights.rows.length && this.at[1] < weights.columns.length) {
      pen.strokeStyle = dark ? "#ffffff" : "#000000";
      pen.strokeRect(margin + this.at[1] * cell + 0.5, margin + this.at[0] * cell + 0.5, cell - 1, cell - 1);
    }
  }
}

const cut = (text: string): string => (text.length > 11 ? `${text.slice(0, 10)}…` : text);
