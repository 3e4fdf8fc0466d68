// The playground: queries and keys in one plane, values and what comes out in another.
import { digits, h, show } from "../dom.ts";
import { attend, deviation, equations, norm, noisy, type Positions, type State, type Vector } from "./arithmetic.ts";
import { Plane, type Arrow } from "./plane.ts";

const DRAWS = 150;
const KEPT = "indicial.attention";

interface Scene {
  name: string;
  text: string;
  sheet: string;
  state: Partial<State> & { noise?: number };
}

const KEYS: Vector[] = [[1, 0], [0, 1], [-1, 0], [0, -1]];
const VALUES: Vector[] = [[2, 0.5], [0.3, 2], [-2, 0.2], [-0.4, -2]];
const PLAIN: State & { noise: number } = {
  keys: KEYS, values: VALUES, queries: [[1.5, 0.6]], temperature: 0.5, positions: "none", strength: 1, at: 0, noise: 0,
};
const SCENES: Scene[] = [
  { name: "Copying", text: "A query far along one key copies its value.", sheet: "copying/Copying one value", state: { queries: [[2.8, 0]], temperature: 0.4 } },
  { name: "Averaging", text: "A query between two keys averages their values.", sheet: "copying/Averaging two", state: { queries: [[2, 2]], temperature: 0.4 } },
  { name: "Noisy keys", text: "A little noise in the keys decides between two that are equally near.", sheet: "copying/A noisy key", state: { queries: [[2, 2]], temperature: 0.25, noise: 0.3 } },
  { name: "Two heads", text: "Each head finds one key, and their mean is steadier.", sheet: "copying/Two heads", state: { queries: [[2.8, 0], [0, 2.8]], temperature: 0.25, noise: 0.3 } },
  { name: "Temperature", text: "Cold weights choose, warm weights mix; at both ends little gradient is left.", sheet: "temperature/What the factor does to the softmax", state: { queries: [[1.2, 0.8]], temperature: 1.5 } },
  { name: "Argmax", text: "At temperature 0 one value comes back as it is, and queries and keys learn nothing.", sheet: "argmax/From softmax to argmax", state: { queries: [[1.2, 0.8]], temperature: 0 } },
  { name: "Positions", text: "Vectors for the positions, added to keys and query or joined to them.", sheet: "positions/Added or joined", state: { queries: [[0.6, 0]], temperature: 0.5, positions: "joined", at: 2, strength: 1.2 } },
];

export class Attention {
  readonly node: HTMLElement;
  private state = structuredClone(PLAIN);
  private readonly left = new Plane("Queries and keys");
  private readonly right = new Plane("Values and what comes out");
  private readonly table = h("div", { class: "weights" });
  private readonly said = h("p", { class: "scene-text", role: "status" });
  private readonly controls = h("div", { class: "controls" });

  constructor(private readonly open: (text: string) => void) {
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
      if (kept) this.state = { ...this.state, ...kept };
    } catch { /* what is damaged is not taken */ }
    this.node = h("div", { class: "attention" },
      h("div", { class: "bar scenes", role: "group", "aria-label": "Scenes" },
        ...SCENES.map((scene) => h("button", { type: "button", onclick: () => this.play(scene) }, scene.name))),
      this.said,
      h("div", { class: "planes" },
        h("figure", {}, this.left.node, h("figcaption", {}, "Drag queries and keys. A score is their inner product.")),
        h("figure", {}, this.right.node, h("figcaption", {}, "Drag values. What comes out is their mean, by weights."))),
      this.controls, this.table);
    this.buildControls();
    this.draw();
  }

  private play(scene: Scene): void {
    this.state = { ...structuredClone(PLAIN), ...structuredClone(scene.state) } as typeof PLAIN;
    show(this.said, `${scene.text} `, h("a", { href: `#sheet=${encodeURIComponent(scene.sheet)}` }, "The problem sheet"));
    this.buildControls();
    this.draw();
  }

  private slider(label: string, low: number, high: number, step: number, value: number, changed: (value: number) => void, text: (value: number) => string = digits): HTMLElement {
    const told = h("output", {}, text(value));
    return h("label", { class: "slider" }, h("span", { class: "word" }, label), h("input", {
      type: "range", min: low, max: high, step, value, "aria-valuetext": text(value),
      oninput: (event: Event) => {
        const input = event.target as HTMLInputElement;
        told.textContent = text(Number(input.value));
        input.setAttribute("aria-valuetext", told.textContent);
        changed(Number(input.value));
        this.draw();
      },
    }), told);
  }

  private choice<T extends string | number>(label: string, names: readonly (readonly [T, string])[], chosen: T, changed: (name: T) => void): HTMLElement {
    return h("div", { class: "choose", role: "group", "aria-label": label }, `${label} `,
      ...names.map(([name, text]) => h("button", {
        type: "button", "aria-pressed": String(name === chosen),
        onclick: () => {
          changed(name);
          this.buildControls();
          this.draw();
        },
      }, text)));
  }

  private buildControls(): void {
    const state = this.state;
    show(this.controls,
      this.slider("temperature", 0, 3, 0.05, state.temperature, (v) => (state.temperature = v), (v) => (v === 0 ? "0, argmax" : digits(v))),
      this.slider("noise in the keys", 0, 1, 0.05, state.noise, (v) => (state.noise = v)),
      this.choice("heads", [[1, "one"], [2, "two"]] as const, state.queries.length, (count) => {
        state.queries = count === 1 ? state.queries.slice(0, 1) : [state.queries[0]!, state.queries[1] ?? [-state.queries[0]![1], state.queries[0]![0]]];
      }),
      this.choice<Positions>("positions", [["none", "none"], ["added", "added"], ["joined", "joined"]], state.positions, (name) => (state.positions = name)),
      this.choice("keys", [[2, "2"], [3, "3"], [4, "4"], [5, "5"], [6, "6"]] as const, state.keys.length, (count) => this.resize(count)),
      state.positions !== "none" && this.slider("length of positions", 0, 2, 0.1, state.strength, (v) => (state.strength = v)),
      state.positions !== "none" && this.slider("the query stands at", 0, state.keys.length - 1, 1, state.at, (v) => (state.at = v), String),
      h("button", { type: "button", onclick: () => this.open(equations(this.state)) }, "Open as equations"));
  }

  private resize(count: number): void {
    const state = this.state;
    while (state.keys.length > count) {
      state.keys.pop();
      state.values.pop();
    }
    while (state.keys.length < count) {
      const angle = 2.2 * state.keys.length;
      state.keys.push([Number(Math.cos(angle).toFixed(2)), Number(Math.sin(angle).toFixed(2))]);
      state.values.push([Number((2 * Math.sin(angle)).toFixed(2)), Number((2 * Math.cos(angle)).toFixed(2))]);
    }
    state.at = Math.min(state.at, count - 1);
  }

  private draw(): void {
    const state = this.state;
    sessionStorage.setItem(KEPT, JSON.stringify(state));
    const found = attend(state);
    const redraw = (vectors: Vector[], n: number) => (to: Vector): void => {
      vectors[n] = to;
      this.draw();
    };
    const two = state.queries.length > 1;
    const draws = state.noise > 0 ? noisy(state, state.noise, DRAWS) : [];
    const queries: Arrow[] = state.queries.map((at, n) => ({ name: two ? `q${n + 1}` : "q", at, class: "query", moved: redraw(state.queries, n) }));
    const keys: Arrow[] = state.keys.map((at, n) => ({ name: `k${n}`, at, class: "key", moved: redraw(state.keys, n) }));
    this.left.show([...keys, ...queries]);
    const values: Arrow[] = state.values.map((at, n) => ({ name: `v${n}`, at, class: "value", moved: redraw(state.values, n) }));
    this.right.show([...values, { name: "output", at: found.output, class: "output" }], draws.map((one) => one.output));
    const spread = draws.length > 0 ? state.keys.map((_, n) => deviation(draws.map((one) => one.weights[n]!))) : [];
    const bar = (share: number, kind: string): HTMLElement => {
      const fill = h("span", { class: `fill ${kind}` });
      fill.style.width = `${Math.min(100, 100 * share)}%`;
      return h("span", { class: "meter" }, fill);
    };
    const top = Math.max(1e-9, ...found.heads.flatMap((one) => one.keySlopes));
    const scale = Math.max(1, top);
    show(this.table,
      h("div", { class: "scroll" }, h("table", { class: "facts" },
        h("thead", {}, h("tr", {}, ...["key", ...found.heads.map((_, n) => (two ? `score ${n + 1}` : "score")), "weight", "", "gradient left for the key", ""]
          .map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...state.keys.map((_, n) => {
          const left = Math.max(...found.heads.map((one) => one.keySlopes[n]!));
          return h("tr", {}, h("th", { scope: "row" }, `k${n}`),
            ...found.heads.map((one) => h("td", { class: "number" }, one.scores[n]!.toFixed(2))),
            h("td", { class: "number" }, found.weights[n]!.toFixed(3) + (spread.length > 0 ? ` ± ${spread[n]!.toFixed(2)}` : "")),
            h("td", { class: "wide" }, bar(found.weights[n]!, "weight")),
            h("td", { class: "number" }, digits(left)), h("td", { class: "wide" }, bar(left / scale, "slope")));
        })))),
      h("p", {}, "Output ", h("b", {}, `(${found.output.map((v) => v.toFixed(2)).join(", ")})`),
        ...found.heads.map((one, n) => h("span", { class: "quiet" }, ` · gradient left at ${two ? `q${n + 1}` : "the query"}: ${digits(norm(one.slope))}`)),
        draws.length > 0 && h("span", { class: "quiet" }, ` · dots: ${DRAWS} draws of the noise`)));
  }
}
