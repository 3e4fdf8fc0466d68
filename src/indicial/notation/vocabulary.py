"""The words of the language that are no names: declarations, claims, reductions, functions.

>>> "sum" in REDUCTIONS, "tanh" in FUNCTIONS, "input" in KEYWORDS
(True, True, True)
"""

from __future__ import annotations

KEYWORDS = ("input", "parameter", "constant", "size", "range", "vector", "matrix", "label")
"""The words that begin a declaration."""

SPACE = "space"
"""`x ∈ ℝ^d` declares what x is without a word before it."""
GIVEN = "given"
"""So does a sentence: "the initial hidden state $h[0,J]$"."""

TOLD = "told"
"""So do words: "the weight matrix $W$"; the domain is the word."""

CALLED = "called"
"""What a sentence says that a function is: "where $\\phi$ is the hyperbolic tangent"; the domain is the function."""

SEEN = "seen"
"""So does the left side of an equation that is not read: the t of `δ_t = …` numbers steps. Behind it stand
the letters that number something, in brackets."""

STATISTICS = ("mean", "std", "variance", "probability", "max", "min")
"""What a claim says of many draws, before `of`."""

QUANTITIES = ("parameters", "work", "memory", "parallel time", "elements")
"""What a claim says of costs."""

ACCENTS = ("tilde", "hat", "bar", "vec", "cev", "dot", "ddot", "check", "breve", "underline")
"""The accents that a name can wear, by their LaTeX names."""

REDUCTIONS = ("sum", "prod", "max", "min", "mean", "argmax", "argmin", "softmax")
"""What can stand before a body with indices below it."""

WORDS_BELOW = frozenset({"in", "out", "max", "min", "at", "is", "to", "on", "an"})
"""Short subscripts that are words even where their letters are indices."""

FUNCTIONS = (
    "tanh", "σ", "ReLU", "GELU", "exp", "ln", "log", "sqrt", "abs", "sign", "cos", "sin",
    "onehot", "layernorm", "dropout", "softplus", "floor", "erf",
    "SiLU", "ELU",
)  # fmt: skip
"""Functions that may stand without brackets before their argument (`ln x`)."""
