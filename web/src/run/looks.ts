// What the heads of a model look at: all of them small, one large; the pointer previews, a click holds.
import { h, show } from "../dom.ts";
import { LargeMap, thumbnail, unpackWeights, type Weights } from "../pictures/weights.ts";
import type { Looks } from "../protocol.ts";
import { seen } from "./text.ts";

export class Heads {
  readonly node = h("div", { class: "heads" });
  private readonly map = new LargeMap((row) => this.light(row));
  private readonly words = h("p", { class: "line words", "aria-label": "The words; the pointer shows where each looks" });
  /** What is looked at, where that is another text. */
  private readonly others = h("p", { class: "line words", "aria-label": "The words that are looked at" });
  private readonly title = h("h4", {});
  private all: Weights[] = [];
  private buttons: HTMLButtonElement[] = [];
  private held = 0;
  private shown = 0;
  private told: Looks | null = null;

  constructor() {
    window.addEventListener("theme", () => this.told && void this.show(this.told));
  }

  refuse(why: string): void {
    this.told = null;
    show(this.node, h("p", { class: "quiet" }, why));
  }

  /** Of a picture, once the browser has read it. */
  async show(told: Looks): Promise<void> {
    this.told = told;
    const picture = told.picture ? h("img", { src: told.picture }) : null;
    await picture?.decode();
    if (this.told !== told) return;
    this.all = told.looks.map((look) => ({
      title: [look.name, look.layer !== null && `layer ${look.layer}`, look.head !== null && `head ${look.head}`, look.place && `at ${look.place}`]
        .filter(Boolean).join(", "),
      rows: look.rows.map(seen), columns: look.columns.map(seen), values: unpackWeights(look.weights),
      links: look.links, picture: look.place ? picture : null,
    }));
    const size = this.all.length > 40 ? 40 : this.all.length > 12 ? 56 : 76;
    this.buttons = this.all.map((weights, n) => h("button", {
      type: "button", class: "thumb", title: weights.title, "aria-label": weights.title, "aria-pressed": "false",
      onpointerenter: () => this.large(n), onpointerleave: () => this.large(this.held), onfocus: () => this.large(n),
      onclick: () => {
        this.held = n;
        this.large(n);
      },
    }, thumbnail(weights, size)));
    const layers = new Map<string, HTMLElement[]>();
    told.looks.forEach((look, n) => {
      const key = `${look.name}${look.layer === null ? "" : `, layer ${look.layer}`}`;
      layers.set(key, [...(layers.get(key) ?? []), this.buttons[n]!]);
    });
    this.held = Math.min(this.held, Math.max(0, this.all.length - 1));
    show(this.node,
      h("div", { class: "layers" }, ...[...layers].map(([name, some]) => h("div", { class: "layer", role: "group", "aria-label": name }, h("h4", {}, name), h("div", { class: "thumbs" }, ...some)))),
      this.title, picture ? h("p", { class: "quiet" }, "Each map is the picture as one word sees it: bright where the word looks.") : this.words, !picture && this.others, this.map.node,
      told.looks.some((look) => look.links.length > 0) && h("p", { class: "quiet" }, "Framed: words that stand for one another; dotted where that is not sure."),
      (told.left_out > 0 || told.cut > 0) && h("p", { class: "quiet" },
        told.cut > 0 && `The model has no places for ${told.cut} more tokens. `, told.left_out > 0 && `${told.left_out} more heads are left out: the text is long.`));
    if (this.all.length > 0) this.large(this.held);
  }

  private large(n: number): void {
    const weights = this.all[n];
    if (!weights) return;
    this.shown = n;
    this.buttons.forEach((button, m) => button.setAttribute("aria-pressed", String(m === this.held)));
    this.title.textContent = weights.title + (n === this.held ? ", held" : ", a preview; click to hold it");
    this.map.show(weights);
    this.spell(this.words, weights.rows);
    this.others.hidden = weights.rows.join("\n") === weights.columns.join("\n");
    this.spell(this.others, this.others.hidden ? [] : weights.columns);
  }

  private spell(line: HTMLElement, words: string[]): void {
    if (line.childElementCount === words.length && line.textContent === words.join("")) return;
    show(line, ...words.map((text, row) => h("span", { class: "token", tabindex: -1, onpointerenter: () => line === this.words && this.light(row) }, text)));
  }

  /** Where a row looks, on the words themselves. */
  private light(row: number): void {
    const weights = this.all[this.shown]!;
    const seen = this.others.hidden ? this.words : this.others;
    [...seen.children].forEach((node, column) => {
      const level = weights.values[row * weights.columns.length + column]! / 65535;
      (node as HTMLElement).style.background = level > 0.004 ? `color-mix(in srgb, var(--accent) ${Math.round(85 * Math.sqrt(level))}%, transparent)` : "";
    });
    [...this.words.children].forEach((node, n) => node.classList.toggle("told", n === row));
  }
}
