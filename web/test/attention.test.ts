import assert from "node:assert/strict";
import test from "node:test";
import { attend, deviation, equations, noisy, normals, type State } from "../src/attention/arithmetic.ts";
import cases from "./attention.json";

const near = (found: unknown, wanted: unknown): void => {
  const [a, b] = [found, wanted].map((x) => (x as unknown[]).flat(3) as number[]);
  assert.equal(a!.length, b!.length);
  a!.forEach((value, n) => assert.ok(Math.abs(value - b![n]!) < 1e-5, `${value} is not ${b![n]}`));
};

test("weights, outputs and slopes are those of the interpreter", () => {
  for (const known of cases) {
    const state = known.state as State;
    const found = attend(state);
    assert.equal(equations(state), known.equations);
    near(found.heads.map((one) => one.scores), known.scores);
    near(found.heads.map((one) => one.weights), known.weights);
    near(found.output, known.output);
    near(found.heads[0]!.slope, known.slope);
  }
});

test("the gradient of a key is what a small step gives", () => {
  for (const known of cases) {
    const state = known.state as State;
    if (state.queries.length > 1) continue;
    const { heads } = attend(state);
    state.keys.forEach((_, n) => {
      const rows = [0, 1].map((i) => {
        const [plus, minus] = [1e-5, -1e-5].map((step) => {
          const keys = structuredClone(state.keys);
          keys[n]![i as 0 | 1] += step;
          return attend(state, keys).output;
        });
        return plus!.map((value, j) => (value - minus![j]!) / 2e-5);
      });
      assert.ok(Math.abs(Math.hypot(...rows.flat()) - heads[0]!.keySlopes[n]!) < 1e-4);
    });
  }
});

test("noise is normal, and the same each time", () => {
  const numbers = normals(20_000, 3);
  assert.ok(Math.abs(deviation(numbers) - 1) < 0.02);
  assert.deepEqual(normals(5, 3), numbers.slice(0, 5));
  const state = cases[0]!.state as State;
  assert.deepEqual(noisy(state, 0, 1)[0], attend(state));
});
