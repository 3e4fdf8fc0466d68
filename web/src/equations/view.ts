// Equations: the text on the left; on the right the typeset form, and tabs of what can be known of it.
import { ask, show as told } from "../ask.ts";
import { h, later, show, tabs } from "../dom.ts";
import { packed, unpacked } from "../link.ts";
import type { AskView, Facts, Reading, Start, Told } from "../protocol.ts";
import { Costs } from "./costs.ts";
import { Editor } from "./editor.ts";
import { claims, trial } from "./trial.ts";
import { Board } from "./typeset.ts";

type Tab = "costs" | "try" | "claims" | "names" | "graph" | "schedule" | "torch" | "gradient";
const TABS = [
  ["costs", "Costs"], ["try", "Try"], ["claims", "Claims"], ["names", "Names"], ["graph", "Graph"],
  ["schedule", "Schedule"], ["torch", "PyTorch"], ["gradient", "Gradient"],
] as const;
const EMPTY = "# Type equations here, paste LaTeX, or choose a model above.\ninput x[k]\ny[j] = tanh(W[j,K] x[K] - B[j])\nclaim y[j] <= 1\n";
const KEPT = "indicial.equations";

interface Kept {
  text: string;
  sizes: Record<string, number>;
  tab: Tab;
}

export class Equations {
  readonly node: HTMLElement;
  private readonly editor: Editor;
  private readonly board = new Board((at) => this.editor.go(at));
  private readonly costs: Costs;
  private readonly messages = h("div", { class: "messages", role: "log", "aria-label": "Messages" });
  private readonly status = h("span", { class: "status", role: "status" });
  private readonly panel = h("div", { class: "panel" });
  private readonly programs = h("select", { "aria-label": "Which program of the text", onchange: () => this.askFacts() });
  private readonly seed = h("input", { type: "number", value: 0, min: 0, max: 999999, "aria-label": "seed of the random values", oninput: () => this.refresh() });
  private readonly sizes: Record<string, number> = {};
  private tab: Tab = "costs";
  private facts: Facts | null = null;
  private reading: Reading | null = null;
  /** The heading that was asked for, until the text is read. */
  private wanted = "";

  constructor(start: Start) {
    const kept = this.kept();
    Object.assign(this.sizes, kept?.sizes);
    this.tab = kept?.tab ?? "costs";
    const box = h("div", { class: "editor" });
    const changed = later(20, () => this.read());
    const keep = later(300, () => this.keep());
    this.costs = new Costs(this.sizes, later(30, () => {
      this.keep();
      this.askFacts();
    }));
    this.editor = new Editor(box, kept?.text ?? (start.text || EMPTY), () => {
      changed();
      keep();
    }, (at) => this.board.mark(at));
    const models = h("select", {
      "aria-label": "Load a model of the library",
      onchange: async (event: Event) => {
        const name = (event.target as HTMLSelectElement).value;
        if (name) await told(ask("model", { name }), (model) => (this.editor.text = model.text), (why) => this.say(why));
      },
    }, h("option", { value: "" }, "Library…"), ...start.models.map((m) => h("option", { value: m.name, title: m.summary }, m.name)));
    const row = tabs<Tab>("What to show", TABS, this.tab, this.panel, (tab) => {
      this.tab = tab;
      keep();
      if (this.facts) this.refresh();
    });
    this.node = h("div", { class: "equations" },
      h("section", { class: "write", "aria-label": "Text" },
        h("div", { class: "bar" }, models,
          h("button", { type: "button", onclick: () => this.copyLink() }, "Copy link"),
          this.status),
        box,
        h("p", { class: "quiet keys" }, "Ctrl-I tells what the name at the cursor is, F8 leads to the next message, Tab leaves the text."),
        this.messages),
      h("section", { class: "look", "aria-label": "What it says" },
        this.programs, this.board.node, this.costs.sliders, row.node, this.panel));
    this.programs.hidden = true;
    this.read();
  }

  /** Takes the text of a link. */
  async open(letters: string): Promise<void> {
    const text = await unpacked(letters);
    if (text === null) this.say("This link is damaged: its text cannot be read.");
    else this.editor.text = text;
  }

  /** A problem sheet, and one of its headings: `copying/Averaging two`. */
  async openSheet(place: string): Promise<void> {
    const [name, title] = place.split("/");
    const response = /^\w+$/.test(name!) ? await fetch(`/static/${name}.md`) : null;
    if (!response?.ok) return this.say(`There is no sheet ${name}.`);
    this.wanted = title ?? "";
    this.editor.text = await response.text();
  }

  private async copyLink(): Promise<void> {
    const link = `${location.origin}/#eq=${await packed(this.editor.text)}`;
    history.replaceState(null, "", link);
    await navigator.clipboard?.writeText(link).then(() => this.say("The link is copied."), () => this.say("The link is in the address bar."));
  }

  private say(text: string): void {
    this.status.textContent = text;
  }

  private keep(): void {
    const kept: Kept = { text: this.editor.text, sizes: this.sizes, tab: this.tab };
    sessionStorage.setItem(KEPT, JSON.stringify(kept));
  }

  private kept(): Kept | null {
    try {
      return JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
    } catch {
      return null;
    }
  }

  // ------------------------------------------------------------------ what the server says

  private read(): void {
    const text = this.editor.text;
    const begun = performance.now();
    void told(ask("read", { text }), (reading) => {
      if (this.editor.text !== text) return;
      performance.measure("read", { start: begun });
      this.reading = reading;
      this.editor.read(reading);
      this.listMessages(reading);
      const several = reading.programs.length > 1;
      const asked = reading.programs.findIndex((p) => p.title === this.wanted);
      const before = asked >= 0 ? asked : this.programs.selectedIndex;
      if (asked >= 0) this.editor.go(reading.programs[asked]!.start);
      this.wanted = "";
      show(this.programs, ...reading.programs.map((p, n) => h("option", { value: n }, p.title || `program ${n + 1}`)));
      this.programs.hidden = !several;
      this.programs.selectedIndex = Math.max(0, Math.min(before, reading.programs.length - 1));
      this.askFacts();
    }, (why) => this.say(why));
  }

  private get about() {
    return { text: this.editor.text, program: Math.max(0, this.programs.selectedIndex) };
  }

  private askFacts(): void {
    const { program } = this.about;
    const meant = this.reading?.programs[program];
    const faulty = !meant || meant.errors > 0 || meant.equations === 0;
    this.node.classList.toggle("faulty", faulty);
    if (faulty) {
      if (!this.facts) show(this.panel, h("p", { class: "quiet" }, meant?.errors ? "Once the mistakes are mended, this shows what the equations cost and compute." : "There are no equations yet."));
      return;
    }
    void told(ask("facts", { ...this.about, sizes: this.sizes }), (facts) => {
      this.facts = facts;
      this.editor.about.set(program, facts.about);
      this.board.show(facts.rows);
      this.board.mark(this.editor.view.state.selection.main.head);
      this.costs.show(facts);
      this.refresh();
    }, (why) => this.say(why));
  }

  /** Shows the tab that is chosen. */
  private refresh(): void {
    const fail = (why: string): void => show(this.panel, h("p", { class: "refused" }, why));
    const wait = window.setTimeout(() => this.panel.classList.add("waiting"), 300);
    const done = (...nodes: (HTMLElement | SVGElement)[]): void => {
      clearTimeout(wait);
      this.panel.classList.remove("waiting");
      show(this.panel, ...nodes);
    };
    const failed = (why: string): void => {
      clearTimeout(wait);
      this.panel.classList.remove("waiting");
      fail(why);
    };
    const facts = this.facts!;
    const drawn = { ...this.about, sizes: this.small(), seed: Math.max(0, Math.floor(Number(this.seed.value)) || 0) };
    switch (this.tab) {
      case "costs":
        return done(this.costs.node);
      case "names":
        return done(names(facts));
      case "try":
        return void told(ask("try", drawn, "tab"), (trialled) => done(
          h("label", { class: "seed" }, "seed ", this.seed), ...trial(trialled)), failed);
      case "claims":
        return void told(ask("claims", { ...drawn, sizes: {} }, "tab"), (found) => done(
          h("label", { class: "seed" }, "seed ", this.seed), ...claims(found, (at) => this.editor.go(at))), failed);
      default:
        return void told(ask("view", { ...this.about, what: this.tab as AskView["what"] }, "tab"),
          (shown) => done(shown.svg ? graph(shown.svg) : h("pre", { class: "page", tabindex: 0 }, shown.text)), failed);
    }
  }

  /** What somebody chose, as far as it can be shown as heat maps. */
  private small(): Record<string, number> {
    return Object.fromEntries(Object.entries(this.sizes).filter(([, value]) => value <= 32));
  }

  private listMessages(reading: Reading): void {
    const count = (severity: string): number => reading.messages.filter((m) => m.severity === severity).length;
    const parts = (["error", "warning"] as const).filter((kind) => count(kind) > 0)
      .map((kind) => `${count(kind)} ${kind}${count(kind) === 1 ? "" : "s"}`);
    this.say(reading.programs.every((p) => p.equations === 0) && parts.length === 0 ? "no equations" : parts.join(", ") || "no mistakes");
    this.status.className = `status ${count("error") ? "bad" : count("warning") ? "fair" : "good"}`;
    show(this.messages,
      ...reading.messages.filter((m) => m.severity !== "note").map((message) => this.message(message)),
      reading.skipped.length > 0 && h("details", {}, h("summary", {}, `${reading.skipped.length} not read`),
        ...reading.skipped.slice(0, 50).map((site) => h("p", {}, h("button", {
          type: "button", class: "link", onclick: () => this.editor.go(site.start),
        }, this.editor.text.slice(site.start, Math.min(site.end, site.start + 60))), ` ${site.remark}`))));
  }

  private message(message: Told): HTMLElement {
    return h("section", { class: `message ${message.severity}` },
      h("h3", {},
        h("button", { type: "button", class: "link", onclick: () => this.editor.go(message.start) }, `${message.severity}: ${message.text}`),
        h("code", { class: "code" }, message.code)),
      h("pre", { tabindex: 0 }, message.excerpt.join("\n")),
      message.fix && h("button", { type: "button", onclick: () => this.editor.apply(message.fix!) }, `Write ${message.fix.text}`));
  }
}

function names(facts: Facts): HTMLElement {
  return h("div", {},
    h("div", { class: "scroll" }, h("table", { class: "facts" },
      h("thead", {}, h("tr", {}, ...["name", "role", "more"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...facts.names.map((name) => h("tr", {},
        h("th", { scope: "row" }, h("code", {}, name.shown)), h("td", {}, name.role + (name.guess ? "?" : "")),
        h("td", {}, (facts.about[`name ${name.name}`] ?? []).slice(2).join("; "), name.guess && h("div", { class: "quiet" }, `a guess: ${name.guess}`))))))),
    ...facts.notes.map((note) => h("p", { class: "quiet" }, note)));
}

/** A drawing of the server: its marks are attributes, so it needs no style of its own. */
function graph(svg: string): HTMLElement {
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  for (const node of parsed.querySelectorAll("script, foreignObject")) node.remove();
  const node = document.importNode(parsed, true) as unknown as SVGElement;
  const [width, height] = ["width", "height"].map((name) => Number(node.getAttribute(name)));
  let scale = 1;
  const zoom = (factor: number) => (): void => {
    scale *= factor;
    node.setAttribute("width", String(width! * scale));
    node.setAttribute("height", String(height! * scale));
  };
  return h("div", { class: "graph" },
    h("div", { class: "under" },
      h("button", { type: "button", "aria-label": "smaller", onclick: zoom(0.8) }, "−"),
      h("button", { type: "button", "aria-label": "larger", onclick: zoom(1.25) }, "+"),
      h("a", { class: "button", download: "graph.svg", href: `data:image/svg+xml,${encodeURIComponent(svg)}` }, "Save")),
    h("div", { class: "scroll paper", tabindex: 0 }, node));
}
