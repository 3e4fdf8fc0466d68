// Elements in one expression: h("button", { onclick: save }, "Save").

type Attribute = string | number | boolean | null | undefined | ((event: any) => void);
export type Child = Node | string | number | null | undefined | false;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(node: E, attributes: Record<string, Attribute>, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") (node as any)[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) node.append(child as Node | string);
  return node;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, Attribute> = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag: string, attributes: Record<string, Attribute> = {}, ...children: Child[]): SVGElement {
  return fill(document.createElementNS(SVG, tag) as SVGElement, attributes, children);
}

export function show(node: Element, ...children: Child[]): void {
  node.replaceChildren(...(children.filter((c) => c !== null && c !== undefined && c !== false) as (Node | string)[]));
}

/** A row of tabs with arrow keys, as screen readers expect them; `select` is told what is chosen. */
export function tabs<T extends string>(
  label: string, names: readonly (readonly [T, string])[], chosen: T, panel: HTMLElement, select: (name: T) => void,
): { node: HTMLElement; choose: (name: T) => void } {
  const buttons = new Map<T, HTMLButtonElement>();
  const choose = (name: T) => {
    for (const [other, button] of buttons) {
      button.setAttribute("aria-selected", String(other === name));
      button.tabIndex = other === name ? 0 : -1;
    }
    panel.setAttribute("aria-label", names.find(([n]) => n === name)?.[1] ?? "");
    select(name);
  };
  for (const [name, text] of names) {
    buttons.set(name, h("button", { role: "tab", type: "button", onclick: () => choose(name) }, text));
  }
  const node = h("div", { role: "tablist", "aria-label": label, class: "tabs" }, ...buttons.values());
  node.addEventListener("keydown", (event) => {
    const order = [...buttons.keys()];
    const at = order.findIndex((name) => buttons.get(name) === document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || step === undefined) return;
    const next = order[(at + step + order.length) % order.length]!;
    choose(next);
    buttons.get(next)!.focus();
    event.preventDefault();
  });
  panel.setAttribute("role", "tabpanel");
  panel.tabIndex = 0;
  choose(chosen);
  return { node, choose };
}

/** Calls once things have been quiet for so long. */
export function later(wait: number, call: () => void): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(call, wait);
  };
}

/** Numbers as people read them: 1234567 → 1.23 M. */
export function short(value: number): string {
  const size = Math.abs(value);
  for (const [factor, letter] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (size >= 0.9995 * factor) return `${digits(value / factor)} ${letter}`;
  }
  return Number.isInteger(value) ? String(value) : digits(value);
}

export function digits(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

export function save(name: string, data: Blob): void {
  const link = h("a", { href: URL.createObjectURL(data), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
