// Questions to the server. A page that is cut off asks again, and goes on where it was.
import type { Questions } from "./protocol.ts";

const page = crypto.randomUUID();
const running = new Map<string, AbortController>();

/** What the server says is wrong, in words for the user. */
export class Refused extends Error {}
/** The same was asked again since, so this answer is not wanted. */
export class Superseded extends Error {}

export let connected: (well: string) => void = () => {};
export function onConnection(tell: (trouble: string) => void): void {
  connected = tell;
}

const CUT_OFF = "The lab does not answer. Start it again in its terminal; the page goes on by itself.";
const ENDED = "The lab was started anew: open the link that its terminal shows. Your text is kept in this tab.";

/** Asks; of two questions of one name (and key) only the newer is answered. */
export async function ask<K extends keyof Questions>(
  name: K, question: Questions[K][0], key: string = name,
): Promise<Questions[K][1]> {
  running.get(key)?.abort();
  const control = new AbortController();
  running.set(key, control);
  for (let tries = 0; ; tries++) {
    let response: Response;
    try {
      response = await fetch(`/ask/${name}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ page: key === name ? page : `${page.slice(0, 20)}${key}`, question }),
        signal: control.signal,
      });
    } catch (error) {
      if (control.signal.aborted) throw new Superseded();
      connected(CUT_OFF);
      await new Promise((go) => setTimeout(go, Math.min(4000, 300 * 2 ** tries)));
      if (control.signal.aborted) throw new Superseded();
      continue;
    }
    if (response.status === 409) throw new Superseded();
    if (response.status === 503) {
      await new Promise((go) => setTimeout(go, 500));
      continue;
    }
    const told = await response.json().catch(() => ({ error: `the lab answered ${response.status}` }));
    if (control.signal.aborted) throw new Superseded();
    connected(response.status === 403 ? ENDED : "");
    if (running.get(key) === control) running.delete(key);
    if (told.error !== undefined) throw new Refused(told.error);
    return told.answer;
  }
}

/** Shows what came of a question; what is not wanted any more is not shown, what is wrong is. */
export async function show<T>(asked: Promise<T>, shown: (told: T) => void, refused: (why: string) => void): Promise<void> {
  try {
    shown(await asked);
  } catch (error) {
    if (error instanceof Refused) refused(error.message);
    else if (!(error instanceof Superseded)) throw error;
  }
}
