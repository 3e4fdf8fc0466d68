// The editor: what is wrong is underlined at every place involved, and every name tells what it is.
import { autocompletion, closeBrackets, completionKeymap, type CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import {
  drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers,
} from "@codemirror/view";
import { h } from "../dom.ts";
import type { Mark, Reading, Told } from "../protocol.ts";
import { eq } from "./language.ts";

export class Editor {
  readonly view: EditorView;
  marks: Mark[] = [];
  /** What hovering tells, for each program of the text. */
  about = new Map<number, Record<string, string[]>>();

  constructor(parent: HTMLElement, text: string, changed: () => void, moved: (at: number) => void) {
    const nonce = document.querySelector<HTMLMetaElement>("meta[name=csp-nonce]")?.content ?? "";
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(nonce),
          lineNumbers(), lintGutter(), history(), drawSelection(), bracketMatching(), closeBrackets(), highlightActiveLine(),
          highlightActiveLineGutter(), EditorView.lineWrapping, eq,
          autocompletion({ override: [(context) => this.complete(context)] }),
          hoverTooltip((_, at) => this.tooltip(at), { hoverTime: 150 }),
          // Tab leaves the editor, so that nobody is caught in it; Escape first does so too.
          keymap.of([
            { key: "Mod-i", run: () => this.tellHere() },
            ...defaultKeymap, ...historyKeymap, ...lintKeymap, ...searchKeymap, ...completionKeymap,
          ]),
          EditorView.contentAttributes.of({ "aria-label": "Equations", spellcheck: "false", autocapitalize: "off" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) {
              this.marks = this.marks.map((m) => ({
                ...m, start: update.changes.mapPos(m.start), end: update.changes.mapPos(m.end),
              }));
              changed();
            }
            if (update.docChanged || update.selectionSet) moved(update.state.selection.main.head);
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Puts the cursor to a place of the text. */
  go(at: number): void {
    const place = Math.min(at, this.view.state.doc.length);
    this.view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: "center" }) });
    this.view.focus();
  }

  apply(fix: NonNullable<Told["fix"]>): void {
    this.view.dispatch({ changes: { from: fix.start, to: fix.end, insert: fix.text } });
    this.view.focus();
  }

  read(reading: Reading): void {
    this.marks = reading.marks;
    const length = this.view.state.doc.length;
    const found: Diagnostic[] = [];
    for (const message of reading.messages) {
      if (message.severity === "note") continue;
      message.sites.forEach((site, number) => {
        const from = Math.min(site.start, length);
        found.push({
          from, to: Math.min(Math.max(site.end, from), length),
          severity: number === 0 ? (message.severity as "error" | "warning") : "info",
          message: number === 0 ? message.text : site.remark || message.text,
          renderMessage: () => told(message, site.remark),
          actions: number === 0 && message.fix ? [{ name: `Write ${message.fix.text}`, apply: () => this.apply(message.fix!) }] : [],
        });
      });
    }
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }

  private markAt(at: number): Mark | undefined {
    return this.marks
      .filter((m) => m.start <= at && at < m.end)
      .sort((a, b) => a.end - a.start - (b.end - b.start))[0];
  }

  private tooltip(at: number) {
    const mark = this.markAt(at);
    const lines = mark && this.about.get(mark.program)?.[mark.about];
    if (!mark || !lines) return null;
    return { pos: mark.start, end: mark.end, above: true, create: () => ({ dom: card(lines) }) };
  }

  /** What the name under the cursor is, for those who do not point: it is read out. */
  private tellHere(): boolean {
    const mark = this.markAt(this.view.state.selection.main.head);
    const lines = (mark && this.about.get(mark.program)?.[mark.about]) ?? ["there is no name at the cursor"];
    document.getElementById("said")!.textContent = lines.join(". ");
    return true;
  }

  private complete(context: CompletionContext) {
    const word = context.matchBefore(/[\p{L}_^{},]+/u);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    const names = new Set<string>();
    for (const about of this.about.values()) for (const key of Object.keys(about)) if (key.startsWith("name ")) names.add(key.slice(5));
    return { from: word.from, options: [...names].map((label) => ({ label })) };
  }
}

function told(message: Told, remark: string): HTMLElement {
  return h("div", { class: "told" }, h("div", {}, message.text), remark && h("div", { class: "remark" }, remark),
    ...message.excerpt.filter((line) => line.startsWith("  hint:")).map((line) => h("div", { class: "hint" }, line.trim())));
}

function card(lines: string[]): HTMLElement {
  const [first, ...rest] = lines;
  return h("div", { class: "card" }, h("code", {}, first), ...rest.map((line) => h("div", {}, line)));
}
