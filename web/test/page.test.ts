import assert from "node:assert/strict";
import test from "node:test";
import { StringStream } from "@codemirror/language";
import { short } from "../src/dom.ts";
import { packed, unpacked } from "../src/link.ts";
import { fromSlider, toSlider } from "../src/equations/costs.ts";
import { parser } from "../src/equations/language.ts";
import { columns } from "../src/equations/typeset.ts";
import { History, means } from "../src/run/history.ts";
import { levels } from "../src/run/said.ts";
import { shades, unpackWeights } from "../src/pictures/weights.ts";
import { colours, scaleOf } from "../src/pictures/colour.ts";
import { ticks } from "../src/pictures/lines.ts";

test("a link holds its text, whatever signs are in it", async () => {
  for (const text of ["", "h[t,j] = σ(W[j,I] x[I])\n", "𝔼 ε ~ N(0, 1) \u0303", "a".repeat(100_000)]) {
    const letters = await packed(text);
    assert.match(letters, /^[\w-]*$/);
    assert.equal(await unpacked(letters), text);
  }
  assert.ok((await packed("a".repeat(100_000))).length < 1000);
});

test("a damaged link is no text", async () => {
  assert.equal(await unpacked("%%%"), null);
  assert.equal(await unpacked("AAAA"), null);
});

function tokens(line: string): [string, string | null][] {
  const stream = new StringStream(line, 4, 2);
  const state = parser.startState!(2);
  const found: [string, string | null][] = [];
  while (!stream.eol()) {
    stream.start = stream.pos;
    const kind = parser.token(stream, state);
    if (stream.current().trim()) found.push([stream.current(), kind]);
  }
  return found;
}

test("an index, and a capital that is summed over, are told apart from names", () => {
  assert.deepEqual(tokens("y[j] = W[j,I] x[I] # sum").filter(([, kind]) => !["bracket", "operator"].includes(kind!)), [
    ["y", "variable"], ["j", "index"], ["W", "variable"], ["j", "index"], ["I", "summed"], ["x", "variable"], ["I", "summed"],
    ["# sum", "comment"],
  ]);
  assert.deepEqual(tokens("input x[t] in V")[0], ["input", "keyword"]);
});

test("the tokenizer always moves on", () => {
  for (const line of ["]]]][[[", "\\alpha_{t}^2", "∂ℒ/∂h̃", "\u0303", "1.5e-3…"]) {
    assert.equal(tokens(line).map(([text]) => text).join(""), line);
  }
});

test("a row of aligned is two columns", () => {
  assert.deepEqual(columns("h[t,j] &= G[t,j] &"), ["h[t,j]", "= G[t,j] &"]);
  assert.deepEqual(columns("\\text{input } x"), ["", "\\text{input } x"]);
  assert.equal(columns("a &= b \\\\ &= c")[0], "");
});

test("sliders are logarithmic and keep what they show", () => {
  assert.equal(fromSlider(0), 1);
  for (const value of [1, 16, 64, 1000, 16384]) {
    const again = fromSlider(toSlider(value));
    assert.ok(Math.abs(again / value - 1) < 0.05, `${value} became ${again}`);
  }
});

test("ticks are round and lie inside", () => {
  for (const [low, high] of [[0, 1], [0.3, 17], [-4, 5], [1e-6, 2e-6]] as const) {
    const found = ticks(low, high, false);
    assert.ok(found.length >= 2 && found.length <= 8, String(found));
    for (const value of found) assert.ok(value >= low - 1e-12 && value <= high * (1 + 1e-9));
  }
  assert.deepEqual(ticks(1, 1000, true), [1, 10, 100, 1000]);
});

test("colours go from the ground to full, and signs apart", () => {
  const scale = scaleOf([-2, 0, 1, null]);
  assert.deepEqual(scale, { top: 2, signed: true });
  assert.equal(colours(0, scale, false)[0], "rgb(255,255,255)");
  assert.notEqual(colours(2, scale, false)[0], colours(-2, scale, false)[0]);
});

test("numbers are short", () => {
  assert.deepEqual([950, 1234567, 0.25].map(short), ["950", "1.23 M", "0.25"]);
});

test("curves grow, and begin anew where a training went back", () => {
  const history = new History();
  const told = { fresh: false, known: 10, training: true, of: 5, steps: [1, 2], loss: [3, null], validated: [2], validation: [2.5], entropy: 1 };
  assert.equal(history.add(told), true);
  assert.equal(history.add({ ...told, steps: [], loss: [], validated: [], validation: [], entropy: null }), false);
  assert.deepEqual([history.steps, history.best, history.entropy], [[1, 2], 2.5, 1]);
  assert.equal(history.lines("").length, 3);
  history.add({ ...told, fresh: true, known: 4, steps: [1], loss: [9] });
  assert.deepEqual([history.steps, history.loss], [[1], [9]]);
});

test("many points become means", () => {
  assert.deepEqual(means([1, 2, 3, 4, 5], [1, 3, null, 5, 7], 3), [[2, 4, 5], [2, 5, 7]]);
});

test("weights are 16-bit numbers", () => {
  assert.deepEqual([...unpackWeights(Buffer.from([0, 0, 255, 255, 1, 2]).toString("base64"))], [0, 65535, 513]);
});

test("an arc runs above all that are between its ends", () => {
  const arcs = [[0, 1], [1, 2], [3, 5], [4, 5], [5, 2], [6, 2]].map(([word, head]) => ({ word: word!, head: head!, label: "" }));
  assert.deepEqual(levels(arcs), [1, 1, 2, 1, 3, 4]);
});

test("a picture is bright where the weight is largest", () => {
  assert.deepEqual(shades(new Uint16Array([0, 100, 200])), [224, 112, 0]);
  assert.deepEqual(shades(new Uint16Array([0, 0])), [224, 224]);
});
