// Runs: which there are, their curves while they grow, what they write and what they look at; two side by side.
import { ask, show as told } from "../ask.ts";
import { digits, h, later, show } from "../dom.ts";
import { lines } from "../pictures/lines.ts";
import type { Inputs, RunOf, Start } from "../protocol.ts";
import { History } from "./history.ts";
import { Heads } from "./looks.ts";
import { Answered } from "./said.ts";
import { Written } from "./text.ts";
import { Trainer } from "./training.ts";

const KEPT = "indicial.runs";
const OFTEN = 1000, SELDOM = 5000;

interface Said {
  chosen: string[];
  prompt: string;
  temperature: number;
  top_p: number;
  seed: number;
  count: number;
  /** What heads read, by the name of the input. */
  looked: Record<string, string>;
  row: number;
}

/** What is shown of one run; what it is asked is the same for all that are shown. */
class Panel {
  readonly history = new History();
  readonly written: Written;
  readonly heads = new Heads();
  readonly said = new Answered();
  readonly status = h("p", { class: "quiet" });
  readonly node: HTMLElement;
  /** Only where a training was stopped before its end. */
  readonly resume = h("button", { type: "button", hidden: true }, "Go on training");
  inputs: Inputs | null = null;

  constructor(readonly run: RunOf, go: (prompt: string) => void, goOn: () => void) {
    this.written = new Written(go);
    this.node = h("section", { class: "run", "aria-label": run.name },
      h("h3", {}, run.name, " ", this.resume), h("p", { class: "quiet" }, `${run.title} on ${run.data}; ${run.sizes}`), this.status);
    this.resume.onclick = goOn;
  }

  ready(shown: () => void): void {
    void told(ask("inputs", { run: this.run.name }, `inputs ${this.run.name}`), (inputs) => {
      this.inputs = inputs;
      this.node.append(...[inputs.writes && this.written.node, inputs.answers && this.said.node, this.heads.node].filter((n): n is HTMLDivElement => !!n));
      shown();
    }, (why) => this.node.append(h("p", { class: "refused" }, why)));
  }

  write(said: Said): void {
    if (!this.inputs?.writes) return;
    const { prompt, temperature, top_p, seed, count } = said;
    void told(ask("generate", { run: this.run.name, prompt, temperature, top_p, seed, count }, `text ${this.run.name}`),
      (made) => this.written.show(made), (why) => this.written.refuse(why));
  }

  look(said: Said): void {
    if (!this.inputs) return;
    const given = (names: string[]) => Object.fromEntries(names.map((name) => [name, said.looked[name] ?? ""]).filter(([, text]) => text));
    const texts = given(this.inputs.texts);
    const none = Object.keys(texts).length === 0;
    if (none && !this.inputs.rows) return this.heads.refuse("Give it a text to look at.");
    const [run, row] = [this.run.name, none ? said.row : -1];
    const inputs = none ? {} : { ...texts, ...given(this.inputs.targets) };
    void told(ask("attend", { run, inputs, row }, `looks ${run}`), (looks) => void this.heads.show(looks), (why) => this.heads.refuse(why));
    if (this.inputs.answers) {
      void told(ask("answer", { run, inputs: texts, row }, `answer ${run}`), (answer) => this.said.show(answer), (why) => this.said.refuse(why));
    }
  }
}

export class RunsView {
  readonly node: HTMLElement;
  private readonly list = h("div", { class: "run-list", role: "group", "aria-label": "Runs; up to two are shown" });
  private readonly plot = h("div", { class: "curves" });
  private readonly side = h("div", { class: "side" });
  private readonly asking = h("div", { class: "asking" });
  private runs: RunOf[] = [];
  private panels: Panel[] = [];
  private said: Said = { chosen: [], prompt: "", temperature: 0.8, top_p: 1, seed: 1, count: 60, looked: {}, row: 0 };
  private readonly write = later(150, () => this.panels.forEach((panel) => panel.write(this.said)));
  private readonly look = later(250, () => this.panels.forEach((panel) => panel.look(this.said)));

  private readonly trainer: Trainer;

  constructor(start: Start) {
    this.trainer = new Trainer(start, (run) => {
      this.said.chosen = [run];
      this.keep();
    });
    if (start.run) this.said.chosen = [start.run];
    try {
      this.said = { ...this.said, ...JSON.parse(sessionStorage.getItem(KEPT) ?? "{}") };
    } catch { /* what is damaged is not taken */ }
    this.node = h("div", { class: "runs" },
      h("aside", {}, h("h3", {}, "Runs"), this.list, this.trainer.node),
      h("div", { class: "shown" }, this.plot, this.asking, this.side));
    void this.list_();
    window.setInterval(() => {
      if (!this.node.isConnected || document.visibilityState !== "visible") return;
      void this.list_();
      this.trainer.refresh();
    }, SELDOM);
    this.poll();
  }

  private keep(): void {
    sessionStorage.setItem(KEPT, JSON.stringify(this.said));
  }

  private async list_(): Promise<void> {
    await told(ask("runs", {}), (found) => {
      const before = JSON.stringify(this.runs);
      this.runs = found.runs;
      if (this.said.chosen.length === 0 && this.runs.length > 0) this.said.chosen = [this.runs[0]!.name];
      if (JSON.stringify(this.runs) !== before) this.drawList();
      this.choose();
    }, (why) => show(this.list, h("p", { class: "refused" }, why)));
  }

  private drawList(): void {
    if (this.runs.length === 0) {
      return show(this.list, h("p", { class: "quiet" }, "No runs here yet. Train one, in the folder in which the lab was started:"),
        h("pre", {}, "indicial train cell.eq --data people"));
    }
    show(this.list, ...this.runs.map((run) => h("label", { class: "run-name" },
      h("input", {
        type: "checkbox", checked: this.said.chosen.includes(run.name),
        onchange: (event: Event) => {
          const on = (event.target as HTMLInputElement).checked;
          this.said.chosen = on ? [...this.said.chosen, run.name].slice(-2) : this.said.chosen.filter((name) => name !== run.name);
          this.keep();
          this.drawList();
          this.choose();
        },
      }),
      h("span", {}, h("b", {}, run.name), run.training && h("span", { class: "badge" }, "training"), h("br"), h("span", { class: "quiet" }, `${run.title} on ${run.data}`)))));
  }

  private choose(): void {
    const wanted = this.said.chosen.filter((name) => this.runs.some((run) => run.name === name));
    if (wanted.join("\n") === this.panels.map((panel) => panel.run.name).join("\n")) return;
    this.panels = wanted.map((name) => this.panels.find((panel) => panel.run.name === name)
      ?? new Panel(this.runs.find((run) => run.name === name)!, (prompt) => this.goOn(prompt), () => this.trainer.goOn(name)));
    this.side.classList.toggle("two", wanted.length > 1);
    show(this.side, ...this.panels.map((panel) => panel.node));
    for (const panel of this.panels) {
      panel.ready(() => {
        this.drawAsking();
        panel.write(this.said);
        panel.look(this.said);
      });
      this.fetchCurves(panel);
    }
    this.drawCurves();
  }

  private goOn(prompt: string): void {
    this.said.prompt = prompt;
    this.keep();
    this.drawAsking();
    this.write();
  }

  // ------------------------------------------------------------------ curves

  private poll(): void {
    let often = false;
    if (this.node.isConnected && document.visibilityState === "visible") {
      for (const panel of this.panels) this.fetchCurves(panel);
      often = this.panels.some((panel) => panel.history.training);
    }
    setTimeout(() => this.poll(), often ? OFTEN : SELDOM);
  }

  private fetchCurves(panel: Panel): void {
    void told(ask("curves", { run: panel.run.name, known: panel.history.known }, `curves ${panel.run.name}`), (found) => {
      if (panel.history.add(found)) this.drawCurves();
    }, () => {});
  }

  private drawCurves(): void {
    const several = this.panels.length > 1;
    const all = this.panels.flatMap((panel) => panel.history.lines(several ? `${panel.run.name} ` : ""));
    show(this.plot, this.panels.length > 0 && lines({ lines: all, across: "step", down: "nats per token", width: innerWidth > 900 ? 900 : 480, shown: (value) => (value >= 1000 ? `${digits(value / 1000)}k` : digits(value)) }));
    for (const panel of this.panels) {
      const { best, steps, of, training, entropy } = panel.history;
      panel.resume.hidden = training || steps.length === 0 || steps.at(-1)! >= of;
      panel.status.textContent = [
        training ? "training" : "", steps.length > 0 ? `step ${steps.at(-1)!.toLocaleString("en")}${of ? ` of ${of.toLocaleString("en")}` : ""}` : "no steps yet",
        best === null ? "" : `best validation ${best.toFixed(3)}`, entropy === null ? "" : `entropy ${entropy.toFixed(3)}`,
      ].filter(Boolean).join(", ");
    }
  }

  // ------------------------------------------------------------------ what is asked

  private slider(label: string, low: number, high: number, step: number, name: "temperature" | "top_p" | "count" | "seed"): HTMLElement {
    const shown = h("output", {}, String(this.said[name]));
    return h("label", { class: "slider" }, h("span", { class: "word" }, label), h("input", {
      type: "range", min: low, max: high, step, value: this.said[name], oninput: (event: Event) => {
        this.said[name] = Number((event.target as HTMLInputElement).value);
        shown.textContent = String(this.said[name]);
        this.keep();
        this.write();
      },
    }), shown);
  }

  private drawAsking(): void {
    const writes = this.panels.some((panel) => panel.inputs?.writes);
    const texts = [...new Set(this.panels.flatMap((panel) => panel.inputs?.texts ?? []))];
    const targets = [...new Set(this.panels.flatMap((panel) => panel.inputs?.targets ?? []))];
    const rows = this.panels.some((panel) => panel.inputs?.rows);
    show(this.asking,
      writes && h("div", { class: "controls" },
        h("label", { class: "prompt-box" }, "prompt ", h("input", {
          type: "text", value: this.said.prompt, placeholder: "what the text begins with", oninput: (event: Event) => {
            this.said.prompt = (event.target as HTMLInputElement).value;
            this.keep();
            this.write();
          },
        })),
        this.slider("temperature", 0, 2, 0.05, "temperature"), this.slider("top-p", 0.05, 1, 0.05, "top_p"),
        this.slider("tokens", 5, 400, 5, "count"), this.slider("seed", 0, 50, 1, "seed")),
      h("div", { class: "controls" },
        ...[...texts, ...targets].map((name) => h("label", { class: "prompt-box" }, texts.length > 1 || name !== "text" ? `${name} ` : "heads read ", h("input", {
          type: "text", value: this.said.looked[name] ?? "", placeholder: targets.includes(name) ? "what it says itself, or another text" : "a text that heads look at", oninput: (event: Event) => {
            this.said.looked[name] = (event.target as HTMLInputElement).value;
            this.keep();
            this.look();
          },
        }))),
        rows && h("label", {}, "row of the data ", h("input", {
          type: "number", min: 0, max: 9999, value: this.said.row, oninput: (event: Event) => {
            this.said.row = Math.max(0, Math.floor(Number((event.target as HTMLInputElement).value)) || 0);
            this.keep();
            this.look();
          },
        }))));
  }
}
