// Colours of numbers: blue below 0, red above, or from the ground to full for what is never negative.

export interface Scale {
  top: number;
  signed: boolean;
}

export function scaleOf(values: readonly (number | null)[]): Scale {
  let top = 0;
  let signed = false;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    top = Math.max(top, Math.abs(value));
    signed ||= value < 0;
  }
  return { top: top || 1, signed };
}

type Colour = [number, number, number];
const RAMPS: Record<"light" | "dark", { ground: Colour; plus: Colour; minus: Colour; full: Colour }> = {
  light: { ground: [255, 255, 255], plus: [200, 50, 50], minus: [35, 95, 190], full: [15, 100, 95] },
  dark: { ground: [28, 33, 38], plus: [240, 110, 100], minus: [95, 160, 245], full: [80, 215, 195] },
};

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The colour of a number, and of what is written on it. */
export function colours(value: number | null, scale: Scale, dark = isDark()): [string, string] {
  const ramp = RAMPS[dark ? "dark" : "light"];
  if (value === null || !Number.isFinite(value)) return [css(ramp.ground), css(ramp.plus)];
  const level = Math.min(1, Math.abs(value) / scale.top);
  const end = scale.signed ? (value < 0 ? ramp.minus : ramp.plus) : ramp.full;
  const mixed = ramp.ground.map((g, n) => Math.round(g + (end[n]! - g) * level)) as Colour;
  const light = 0.3 * mixed[0] + 0.59 * mixed[1] + 0.11 * mixed[2];
  return [css(mixed), light > 140 ? "#14181c" : "#ffffff"];
}

function css(colour: Colour): string {
  return `rgb(${colour.join(",")})`;
}
