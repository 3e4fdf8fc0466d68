// A text that a model wrote: every token with what might have stood there; loops are marked.
import { h, show } from "../dom.ts";
import type { Made, Token } from "../protocol.ts";

export const seen = (text: string): string => text.replaceAll("\n", "⏎");

export class Written {
  readonly node = h("div", { class: "written" });
  private readonly line = h("p", { class: "line", role: "listbox", "aria-label": "The text, token by token; arrow keys move" });
  private readonly others = h("div", { class: "others", "aria-live": "polite" });
  private held = -1;

  constructor(private readonly go: (prompt: string) => void) {}

  refuse(why: string): void {
    show(this.node, h("p", { class: "refused" }, why));
  }

  show(made: Made): void {
    this.held = -1;
    const tokens = made.tokens.map((token, n) => {
      const node = h("span", {
        class: made.loop >= 0 && n >= made.loop ? "token looped" : "token", role: "option", tabindex: n === 0 ? 0 : -1,
        onpointerenter: () => this.held < 0 && this.tell(made, n),
        onfocus: () => this.tell(made, n),
        onclick: () => {
          this.held = this.held === n ? -1 : n;
          this.tell(made, n);
        },
      }, seen(token.text));
      node.style.setProperty("--doubt", String(Math.min(1, -Math.log2(Math.max(1e-6, token.probability)) / 10)));
      return node;
    });
    this.line.onkeydown = (event) => {
      const at = tokens.indexOf(document.activeElement as HTMLSpanElement);
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (at < 0 || step === undefined) return;
      const next = tokens[Math.max(0, Math.min(tokens.length - 1, at + step))]!;
      tokens[at]!.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      event.preventDefault();
    };
    show(this.line, made.prompt && h("span", { class: "prompt" }, seen(made.prompt)), ...tokens);
    const ended = { eos: "the end of the text", length: "as long as was asked for", repeat: "it repeats itself" }[made.ended] ?? made.ended;
    show(this.node, this.line,
      h("p", { class: "quiet" }, `${made.tokens.length} tokens, ${ended}`,
        made.nats !== null && `; ${made.nats.toFixed(2)} nats each`,
        made.loop >= 0 && h("b", { class: "bad" }, `; a loop of ${made.period} token${made.period === 1 ? "" : "s"} from token ${made.loop} on`)),
      this.others);
    if (made.tokens.length > 0) this.tell(made, 0);
  }

  private tell(made: Made, at: number): void {
    const token: Token = made.tokens[at]!;
    [...this.line.querySelectorAll(".token")].forEach((node, n) => {
      node.classList.toggle("told", n === at);
      node.setAttribute("aria-selected", String(n === this.held));
    });
    const before = made.prompt + made.tokens.slice(0, at).map((one) => one.text).join("");
    show(this.others,
      h("h4", {}, `Token ${at}${this.held === at ? ", held" : ""}: what might have stood there`),
      h("table", { class: "facts others" }, h("tbody", {}, ...token.others.map((other) => {
        const fill = h("span", { class: "fill" });
        fill.style.width = `${100 * other.probability}%`;
        return h("tr", { class: other.text === token.text ? "chosen" : "" },
          h("th", { scope: "row" }, h("button", {
            type: "button", class: "link", title: "go on from here with this token", onclick: () => this.go(before + other.text),
          }, h("code", {}, seen(other.text) || "·"))),
          h("td", { class: "number" }, other.probability.toFixed(3)),
          h("td", { class: "wide" }, h("span", { class: "meter" }, fill)),
          h("td", { class: "quiet" }, other.drawn > 0 ? `drawn ${other.drawn.toFixed(3)}` : "cut off"));
      }))));
  }
}
