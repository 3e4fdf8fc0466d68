// Heat maps. A small one is a table of numbers, which screen readers read; a large one is a canvas with zoom.
import { digits, h, save } from "../dom.ts";
import { colours, isDark, scaleOf, type Scale } from "./colour.ts";

export interface Grid {
  rows: number;
  columns: number;
  /** Row by row. */
  values: (number | null)[];
  /** What rows and columns are called. */
  down: string[];
  across: string[];
  label: string;
  whole?: boolean;
  scale?: Scale;
}

const WIDE = 14;
const MANY = 170;

export function heat(grid: Grid): HTMLElement {
  return grid.columns <= WIDE && grid.values.length <= MANY ? table(grid) : canvas(grid);
}

function shown(value: number | null, whole?: boolean): string {
  if (value === null) return "·";
  return whole ? String(value) : value.toFixed(2).replace(/^-(0\.00)$/, "$1");
}

function table(grid: Grid): HTMLElement {
  const scale = grid.scale ?? scaleOf(grid.values);
  const body = Array.from({ length: grid.rows }, (_, row) =>
    h("tr", {},
      grid.down.length > 0 && h("th", { scope: "row" }, grid.down[row]),
      ...Array.from({ length: grid.columns }, (_, column) => {
        const value = grid.values[row * grid.columns + column] ?? null;
        const [back, front] = colours(value, scale);
        const cell = h("td", {}, shown(value, grid.whole));
        cell.style.background = back;
        cell.style.color = front;
        return cell;
      })));
  return h("div", { class: "scroll" },
    h("table", { class: "heat", "aria-label": grid.label },
      h("thead", {}, h("tr", {}, grid.down.length > 0 && h("td"), ...grid.across.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...body)));
}

/** A map of many cells: the pointer or the arrow keys read a cell, + and - zoom, and it can be saved. */
export function canvas(grid: Grid, hover: (row: number, column: number) => void = () => {}): HTMLElement {
  const scale = grid.scale ?? scaleOf(grid.values);
  let cell = Math.max(3, Math.min(22, Math.floor(560 / grid.columns)));
  let at = [-1, -1];
  const picture = h("canvas", { tabindex: 0, role: "img", "aria-label": `${grid.label}; arrow keys read single cells` });
  const told = h("output", { class: "told-cell", "aria-live": "polite" }, " ");
  const draw = (): void => {
    const dense = window.devicePixelRatio || 1;
    picture.width = Math.min(16000, grid.columns * cell * dense);
    picture.height = Math.min(16000, grid.rows * cell * dense);
    picture.style.width = `${grid.columns * cell}px`;
    picture.style.height = `${grid.rows * cell}px`;
    const pen = picture.getContext("2d")!;
    pen.scale(dense, dense);
    const dark = isDark();
    for (let row = 0; row < grid.rows; row++) {
      for (let column = 0; column < grid.columns; column++) {
        pen.fillStyle = colours(grid.values[row * grid.columns + column] ?? null, scale, dark)[0];
        pen.fillRect(column * cell, row * cell, cell, cell);
      }
    }
    if (at[0]! >= 0) {
      pen.strokeStyle = dark ? "#fff" : "#000";
      pen.strokeRect(at[1]! * cell + 0.5, at[0]! * cell + 0.5, cell - 1, cell - 1);
    }
  };
  const tell = (row: number, column: number): void => {
    if (row < 0 || column < 0 || row >= grid.rows || column >= grid.columns || (row === at[0] && column === at[1])) return;
    at = [row, column];
    const value = grid.values[row * grid.columns + column] ?? null;
    told.textContent = `${[grid.down[row], grid.across[column]].filter(Boolean).join(" → ")}: ${value === null ? "·" : digits(value)}`;
    hover(row, column);
    draw();
  };
  picture.addEventListener("pointermove", (event) => tell(Math.floor(event.offsetY / cell), Math.floor(event.offsetX / cell)));
  picture.addEventListener("keydown", (event) => {
    const step = ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] } as Record<string, number[]>)[event.key];
    if (!step) return;
    tell(Math.max(0, at[0]! + step[0]!), Math.max(0, at[1]! + step[1]!));
    event.preventDefault();
  });
  const zoom = (factor: number) => () => {
    cell = Math.max(2, Math.min(60, Math.round(cell * factor) || 2));
    draw();
  };
  draw();
  return h("div", { class: "map" },
    h("div", { class: "scroll" }, picture),
    h("div", { class: "under" },
      told,
      h("button", { type: "button", "aria-label": "smaller", onclick: zoom(0.7) }, "−"),
      h("button", { type: "button", "aria-label": "larger", onclick: zoom(1.5) }, "+"),
      h("button", { type: "button", onclick: () => picture.toBlob((data) => data && save("map.png", data)) }, "Save")));
}
