// The colours of .eq: comments, declarations, functions, indices, the capitals that are summed over.
import { HighlightStyle, StreamLanguage, syntaxHighlighting, type StreamParser } from "@codemirror/language";
import { tags } from "@lezer/highlight";

const KEYWORDS = new Set([
  "input", "parameter", "parameters", "constant", "size", "range", "label", "claim", "plot", "of", "in", "where",
  "if", "otherwise", "for", "false", "within", "given", "and", "or", "not", "let",
]);
const FUNCTIONS = new Set([
  "tanh", "σ", "sigma", "softmax", "ReLU", "relu", "exp", "ln", "log", "sqrt", "√", "layernorm", "rmsnorm", "max", "min",
  "argmax", "argmin", "mean", "sum", "Σ", "∑", "Π", "∏", "dropout", "stop", "onehot", "GELU", "gelu", "SiLU", "ELU", "cos",
  "sin", "abs", "sign", "softplus", "std", "var", "E", "𝔼", "P", "N", "uniform", "bernoulli",
]);

interface State {
  depth: number;
  lineStart: boolean;
}

export const parser: StreamParser<State> = {
  name: "eq",
  startState: () => ({ depth: 0, lineStart: true }),
  token(stream, state) {
    if (stream.sol()) state.lineStart = true;
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    const first = state.lineStart;
    state.lineStart = false;
    if (stream.match(/^\d+(\.\d+)?([eE][+-]?\d+)?/)) return "number";
    if (stream.match(/^\\[A-Za-z]+/)) return "function";
    if (stream.match(/^[\p{L}][\p{L}\p{M}]*'*/u)) {
      const word = stream.current();
      if (state.depth > 0) return /^[A-Z]'*$/.test(word) ? "summed" : "index";
      if (KEYWORDS.has(word) && (first || word.length > 1)) return "keyword";
      if (FUNCTIONS.has(word)) return "function";
      return "variable";
    }
    const next = stream.next();
    if (next === "[") state.depth += 1;
    if (next === "]") state.depth = Math.max(0, state.depth - 1);
    return next !== undefined && next !== null && "[]{}(),".includes(next) ? "bracket" : "operator";
  },
  blankLine(state) {
    state.depth = 0;
  },
  languageData: { commentTokens: { line: "#" } },
  tokenTable: {
    comment: tags.comment, number: tags.number, keyword: tags.keyword, function: tags.function(tags.variableName),
    variable: tags.variableName, index: tags.special(tags.variableName), summed: tags.strong, bracket: tags.bracket,
    operator: tags.operator,
  },
};

export const eq = [
  StreamLanguage.define(parser),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: tags.comment, class: "tok-comment" },
      { tag: tags.number, class: "tok-number" },
      { tag: tags.keyword, class: "tok-keyword" },
      { tag: tags.function(tags.variableName), class: "tok-function" },
      { tag: tags.special(tags.variableName), class: "tok-index" },
      { tag: tags.strong, class: "tok-summed" },
      { tag: tags.bracket, class: "tok-bracket" },
      { tag: tags.operator, class: "tok-operator" },
    ]),
  ),
];
