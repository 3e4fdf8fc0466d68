// A training from the page: of the text of the other view, on a world or a file; it can be stopped, and goes on.
import { ask, show as told } from "../ask.ts";
import { h, show } from "../dom.ts";
import type { Start, Training } from "../protocol.ts";

export class Trainer {
  readonly node: HTMLElement;
  private readonly state = h("p", { role: "status" });
  private readonly data = h("select", { onchange: () => this.choose() });
  /** Which column an input reads; only of files that are tables. */
  private readonly columns = h("input", { type: "text", placeholder: "x=german, w=text" });
  private readonly reads = h("label", { hidden: true }, "columns ", this.columns);
  private readonly minutes = h("input", { type: "number", min: 0.1, max: 60, step: 0.5, value: 2 });
  private readonly width = h("input", { type: "number", min: 1, max: 1024, value: "", placeholder: "chosen" });
  private readonly begin = h("button", { type: "button", onclick: () => this.start() }, "Train");
  private readonly stop = h("button", { type: "button", disabled: true, onclick: () => void told(ask("stop", {}), (t) => this.show(t), () => {}) }, "Stop and save");

  constructor(private readonly opened: Start, private readonly begun: (run: string) => void) {
    this.node = h("details", { class: "trainer" }, h("summary", {}, "Train the text of Equations"),
      h("label", {}, "on ", this.data), this.reads, h("label", {}, "minutes ", this.minutes), h("label", {}, "size J ", this.width),
      h("div", { class: "bar" }, this.begin, this.stop), this.state);
    this.refresh();
  }

  refresh(): void {
    void told(ask("training", {}), (training) => this.show(training), () => {});
  }

  goOn(run: string): void {
    void told(ask("resume", { run }), (training) => this.show(training), (why) => this.refuse(why));
  }

  private get text(): string {
    try {
      return JSON.parse(sessionStorage.getItem("indicial.equations") ?? "null")?.text ?? this.opened.text;
    } catch {
      return this.opened.text;
    }
  }

  private choose(): void {
    this.reads.hidden = !/\.(tsv|csv|jsonl|ndjson|conllu?|parquet|npz)(\.gz)?$/i.test(this.data.value);
  }

  private start(): void {
    const width = Math.floor(Number(this.width.value));
    const pairs = this.reads.hidden ? [] : this.columns.value.split(",").map((pair) => pair.split("=").map((word) => word.trim()));
    const columns = Object.fromEntries(pairs.filter(([input, column]) => input && column));
    void told(ask("train", { text: this.text, data: this.data.value, columns, minutes: Number(this.minutes.value) || 2, sizes: width > 0 ? { J: width } : {} }),
      (training) => {
        this.show(training);
        this.begun(training.run);
      }, (why) => this.refuse(why));
  }

  private refuse(why: string): void {
    show(this.state, h("span", { class: "refused" }, why));
  }

  private show(training: Training): void {
    if (training.data.join("\n") !== [...this.data.options].map((option) => option.value).join("\n")) {
      const chosen = this.data.value;
      show(this.data, ...training.data.map((name) => h("option", { value: name, selected: name === chosen }, name)));
      this.choose();
    }
    this.begin.disabled = training.running;
    this.stop.disabled = !training.running;
    show(this.state, training.running ? `${training.run} is being trained.` : training.run && !training.said ? `${training.run} has ended.` : "",
      training.said && h("pre", { class: "refused" }, training.said));
  }
}
