// The page: a bar of views, and the one that is chosen.
import { Attention } from "./attention/view.ts";
import { ask, onConnection } from "./ask.ts";
import { Designs } from "./designs/view.ts";
import { h, show } from "./dom.ts";
import { Equations } from "./equations/view.ts";
import { packed } from "./link.ts";
import type { Start } from "./protocol.ts";
import { RunsView } from "./run/view.ts";

interface Shown {
  node: HTMLElement;
}

type View = (start: Start) => Shown;

const VIEWS: readonly (readonly [string, string, View])[] = [
  ["equations", "Equations", (start) => new Equations(start)],
  ["attention", "Attention", () => new Attention((text) => void packed(text).then((letters) => (location.hash = `eq=${letters}`)))],
  ["designs", "By hand", () => new Designs()],
  ["runs", "Runs", (start) => new RunsView(start)],
];

const THEME = "indicial.theme";

function theme(): HTMLElement {
  const dark = (): boolean => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const button = h("button", {
    type: "button", class: "theme", "aria-label": "dark or light",
    onclick: () => {
      document.documentElement.dataset.theme = dark() ? "light" : "dark";
      localStorage.setItem(THEME, document.documentElement.dataset.theme);
      name();
      window.dispatchEvent(new Event("theme"));
    },
  });
  const name = (): void => {
    button.textContent = dark() ? "☀" : "☾";
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    name();
    window.dispatchEvent(new Event("theme"));
  });
  name();
  return button;
}

async function main(): Promise<void> {
  const kept = localStorage.getItem(THEME);
  if (kept) document.documentElement.dataset.theme = kept;
  const trouble = h("div", { class: "trouble", role: "alert", hidden: true });
  onConnection((text) => {
    trouble.hidden = !text;
    trouble.textContent = text;
  });
  const place = h("main", { id: "view", tabindex: -1 });
  const links = VIEWS.map(([name, title]) => h("a", { href: `#${name}` }, title));
  document.body.append(
    h("header", {}, h("strong", {}, "Indicial lab"), h("nav", { "aria-label": "Views" }, ...links), theme()),
    trouble, place, h("div", { id: "said", class: "hidden", role: "status" }));
  const start = await ask("start", {});
  const made = new Map<string, Shown>();
  const view = (name: string): Shown => {
    if (!made.has(name)) made.set(name, VIEWS.find(([n]) => n === name)![2](start));
    return made.get(name)!;
  };
  let chosen = "";
  const route = (): void => {
    const [, word, rest] = /^#?([^=]*)=?(.*)$/s.exec(location.hash)!;
    const name = word === "eq" || word === "sheet" ? "equations" : VIEWS.some(([n]) => n === word) ? word! : start.view;
    const known = VIEWS.some(([n]) => n === name) ? name : "equations";
    const shown = view(known);
    if (word === "eq") void (shown as Equations).open(rest!);
    if (word === "sheet") void (shown as Equations).openSheet(decodeURIComponent(rest!));
    if (known !== chosen) show(place, shown.node);
    chosen = known;
    VIEWS.forEach(([n], number) => {
      if (n === known) links[number]!.setAttribute("aria-current", "page");
      else links[number]!.removeAttribute("aria-current");
    });
    document.title = `${VIEWS.find(([n]) => n === known)![1]} · Indicial lab`;
  };
  window.addEventListener("hashchange", route);
  route();
}

void main();
