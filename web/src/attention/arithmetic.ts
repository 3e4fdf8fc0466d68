// Attention in the plane: a few lines of arithmetic, compared with the interpreter in test/attention.test.ts.

export type Vector = [number, number];
export type Positions = "none" | "added" | "joined";

export interface State {
  keys: Vector[];
  values: Vector[];
  /** One for each head. */
  queries: Vector[];
  /** 0 is argmax. */
  temperature: number;
  positions: Positions;
  /** How long the vectors of positions are. */
  strength: number;
  /** Where the query stands. */
  at: number;
}

export interface Head {
  scores: number[];
  weights: number[];
  output: Vector;
  /** ∂output[j]/∂query[i], row by row. */
  slope: [Vector, Vector];
  /** How much of a gradient each key is passed: the length of ∂output/∂key. */
  keySlopes: number[];
}

export interface Result {
  heads: Head[];
  /** The mean over heads. */
  weights: number[];
  output: Vector;
}

export const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1];
export const length = (a: Vector): number => Math.hypot(a[0], a[1]);

/** Positions go round a circle, so that neighbours are alike. */
export function position(n: number, count: number, strength: number): Vector {
  const angle = (2 * Math.PI * n) / count;
  return [strength * Math.cos(angle), strength * Math.sin(angle)];
}

function softmax(scores: number[], temperature: number): number[] {
  const top = Math.max(...scores);
  if (temperature === 0) {
    const best = scores.indexOf(top);
    return scores.map((_, n) => (n === best ? 1 : 0));
  }
  const powers = scores.map((score) => Math.exp((score - top) / temperature));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

function mixed(weights: number[], vectors: Vector[]): Vector {
  const sum: Vector = [0, 0];
  vectors.forEach((v, n) => {
    sum[0] += weights[n]! * v[0];
    sum[1] += weights[n]! * v[1];
  });
  return sum;
}

function head(state: State, query: Vector, keys: Vector[]): Head {
  const count = keys.length;
  const own = position(state.at, count, state.strength);
  const added = state.positions === "added";
  const asked: Vector = added ? [query[0] + own[0], query[1] + own[1]] : query;
  const looked = keys.map((key, n): Vector => {
    const there = position(n, count, state.strength);
    return added ? [key[0] + there[0], key[1] + there[1]] : key;
  });
  const scores = looked.map((key, n) =>
    dot(asked, key) + (state.positions === "joined" ? dot(own, position(n, count, state.strength)) : 0));
  const weights = softmax(scores, state.temperature);
  const output = mixed(weights, state.values);
  const mean = mixed(weights, looked);
  const slope: [Vector, Vector] = [[0, 0], [0, 0]];
  const keySlopes = keys.map(() => 0);
  if (state.temperature > 0) {
    weights.forEach((weight, n) => {
      const value = state.values[n]!;
      for (const j of [0, 1] as const) {
        for (const i of [0, 1] as const) slope[j][i] += (weight * value[j] * (looked[n]![i] - mean[i])) / state.temperature;
      }
      const apart: Vector = [value[0] - output[0], value[1] - output[1]];
      keySlopes[n] = (weight * length(apart) * length(asked)) / state.temperature;
    });
  }
  return { scores, weights, output, slope, keySlopes };
}

export function attend(state: State, keys: Vector[] = state.keys): Result {
  const heads = state.queries.map((query) => head(state, query, keys));
  const share = 1 / heads.length;
  return {
    heads,
    weights: keys.map((_, n) => share * heads.reduce((sum, one) => sum + one.weights[n]!, 0)),
    output: [0, 1].map((j) => share * heads.reduce((sum, one) => sum + one.output[j]!, 0)) as Vector,
  };
}

/** The size of a slope: its Frobenius norm. */
export function norm(slope: [Vector, Vector]): number {
  return Math.hypot(...slope[0], ...slope[1]);
}

/** Normal numbers that are the same each time. */
export function normals(count: number, seed: number): number[] {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()));
}

/** What comes out where every key is moved by noise: one result for each draw. */
export function noisy(state: State, noise: number, draws: number, seed = 1): Result[] {
  const numbers = normals(draws * state.keys.length * 2, seed);
  return Array.from({ length: draws }, (_, draw) => attend(state, state.keys.map((key, n): Vector => {
    const at = 2 * (draw * state.keys.length + n);
    return [key[0] + noise * numbers[at]!, key[1] + noise * numbers[at + 1]!];
  })));
}

export function deviation(numbers: number[]): number {
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  return Math.sqrt(numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / numbers.length);
}

const list = (vectors: Vector[]): string => `[${vectors.map((v) => `[${v.map((x) => Number(x.toFixed(6))).join(", ")}]`).join(", ")}]`;

/** The same as equations, for the other view. */
export function equations(state: State): string {
  const count = state.keys.length;
  const lines = [
    "# the attention playground as equations",
    `constant k[n,i] = ${list(state.keys)}`,
    `constant v[n,j] = ${list(state.values)}`,
    `constant q[m,i] = ${list(state.queries)}`,
  ];
  let score = "k[n,I] q[m,I]";
  if (state.positions !== "none") {
    const all = Array.from({ length: count }, (_, n) => position(n, count, state.strength));
    lines.push(`constant p[n,i] = ${list(all)}`, `constant r[i] = ${list([position(state.at, count, state.strength)]).slice(1, -1)}`);
    score = state.positions === "added" ? "(k[n,I] + p[n,I]) (q[m,I] + r[I])" : "k[n,I] q[m,I] + p[n,I] r[I]";
  }
  lines.push(`s[m,n] = ${score}`);
  if (state.temperature > 0) {
    lines.push(`constant τ = ${state.temperature}`, "α[m,n] = softmax_n s[m,n] / τ", "c[m,j] = α[m,N] v[N,j]");
  } else {
    lines.push("best[m] = argmax_n s[m,n]", "c[m,j] = v[best[m],j]");
  }
  lines.push("y[j] = mean_m c[m,j]");
  return `${lines.join("\n")}\n`;
}
