"""The table of docs/seeds.md: every displayed and every inline equation of five documents.

    python tests/seeds_table.py > docs/seeds.md

The documents lie beside the project in shared/seeds; without them there is nothing to print. What a
row says of the reading is computed, and whether it is right is tried with values (`seeds_meanings.py`).
What it says about mistakes, and the restated forms of formulas that are skipped, were written by hand
with the document beside.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from indicial.library.loading import load_document
from indicial.notation.displays import parse_document, parse_inline
from indicial.notation.documents import read
from indicial.notation.markup import Display
from indicial.notation.parse import Parsed
from indicial.notation.printers import unicode
from indicial.notation.sentences import RULES
from indicial.program.messages import Message
from indicial.program.program import Program
from seeds_meanings import RIGHT, UNTRIED, verdict

SEEDS = Path(__file__).resolve().parents[2] / "shared" / "seeds"
UNSEEN = "not looked at yet"
LONGEST = 110
"""A formula is shown up to this many characters."""

Place = tuple[str, int]

BY_DESIGN = re.compile(
    r"it (reasons with|uses an arrow|compares orders|is about a limit|states a range|states no equation"
    r"|is about the best parameters|holds an expectation|is about one element)"
    r"|the probability \S+ is computed by nothing here"
)
"""Reasons for which a formula is no equation of tensors."""

RESTATED: dict[Place, str] = {
    ("001", 48): "k_j^⊤ q ⋙ k_i^⊤ q for i ≠ j",
    ("001", 56): "c = 1/2 (v_a + v_b) ⇒ α_a ≈ α_b ≈ 1, α_i ≈ 0",
    ("001", 57): "k_a^⊤ q ≈ k_b^⊤ q ⋙ k_i^⊤ q",
    ("001", 63): "q = k_a + k_b → q = M (k_a + k_b)",
    ("001", 73): "q = M (k_a + k_b) → q = M (μ_a + μ_b)",
    ("001", 81): "k_a ~ 𝒩(μ_a, α I + 1/2 (μ_a μ_a^⊤)",
    ("001", 83): "k_a ~ 𝒩(μ_a, 1/2 μ_a^2) → k_a ~ 𝒩(1, 1/2)",
    ("001", 98): "α_b = k_b^⊤ q ≈ μ_b^⊤ q ≈ M ⋙ 0",
    ("001", 106): "c = Σ_i v_i α_i ⇒ c = α_a v_a + α_b v_b",
    ("001", 108): "⇒ c = (exp(ε M) v_a + exp(M) v_b)/(exp(M) + exp(ε M))",
    ("001", 114): "lim_{ε→0} c = … = v_b",
    ("001", 120): "lim_{ε→2} c = …",
    ("001", 121): "… = (∞^2 v_a + ∞ v_b)/(∞ + ∞^2)",
    ("001", 125): "lim_{ε→2} c = ∞^2/∞^2 v_a + 1/∞^2 v_b = v_a",
    ("001", 139): "c_1 = v_a ⇒ k_a^⊤ q_1 ≫ k_i^⊤ q ⇒ q_1 = M k_a → q_1 = M μ_a",
    ("001", 140): "c_2 = v_b ⇒ k_b^⊤ q_2 ≫ k_i^⊤ q ⇒ q_2 = M k_b → q_2 = M μ_b",
    ("001", 161): "… ≈ exp(β^2) u_a/(1 + exp(β^2) + 1) ≈ … = u_a = x_2",
    ("001", 197): "c_1 = v_3 = α_{11} v_1 + α_{12} v_2 + α_{13} v_3 → c_1 = α_{11} v_1 + …",
    ("001", 199): "⇒ α_{11} = 0, α_{13} = 1",
    ("001", 201): "⇒ exp(k_3^⊤ q_1) ≫ exp(k_1^⊤ q_1)",
    ("001", 203): "c_2 = α_{21} v_1 + α_{22} v_2 + α_{23} v_3 = v_1 → c_2 = α_{21} v_1 + …",
    ("001", 205): "⇒ α_{23} = 0, α_{21} = 1",
    ("001", 207): "⇒ exp(k_1^⊤ q_2) ≫ exp(k_3^⊤ q_2)",
    ("001", 215): "exp(k_1^⊤ q_2) ⋙ exp(k_3^⊤ q_2) → exp(x_1^⊤ q_2) ⋙ exp(x_3^⊤ q_2)",
    ("001", 217): "→ exp(x_1^⊤ Q x_2) ⋙ exp(x_2^⊤ Q x_2)",
    ("001", 227): "exp(x_3^⊤ Q x_1) ≫ exp(x_1^⊤ Q x_1)",
    ("001", 229): "⇒ (u_c^⊤ + u_b^⊤) Q (u_d^⊤ + u_b^⊤) ≫ (u_d^⊤ + u_b^⊤) Q (u_d^⊤ + u_b^⊤)",
    ("001", 231): "⇒ (u_c^⊤ + u_b^⊤) u_c ≫ (u_d^⊤ + u_b^⊤) u_c",
    ("001", 233): "⇒ u_c^⊤ u_c ≫ 0 ⇒ β^2 ≫ 0",
    ("001", 235): "exp(x_1^⊤ Q x_2) ≫ exp(x_3^⊤ Q x_2)",
    ("001", 237): "⇒ (u_d^⊤ + u_b^⊤) Q u_a ≫ (u_c^⊤ + u_b^⊤) Q u_a",
    ("001", 239): "⇒ (u_d^⊤ + u_b^⊤) u_d ≫ (u_c^⊤ + u_b^⊤) u_d",
    ("001", 240): "⇒ u_d^⊤ u_d ≫ 0 ⇒ β^2 ≫ 0",
    ("002", 64): "P_Φ(w_1, …, w_{T_{out}} | h[0,J], M[T_{in},J])",
    ("004", 168): "tanh(x) ∈ (-1, 1), σ(x) ∈ (0, 1)",
    ("004", 210): "w_0, …, w_{T_{in}} ⇒ w̃_0, …, w̃_{T_{out}}",
    ("004", 220): "P_Φ(w̃_0, …, w̃_{T_{out}} | w_0, …, w_{T_{in}})",
}
"""What is skipped, and what is a continuation, has no tree to print."""

FOUND: dict[tuple[str, int, str], str] = {
    ("000", 21, "sum-index"): "the sum has ℓ and H(k, t_1, T_2) has not: H needs ℓ",
    ("000", 79, "unknown-name"): "W^{QK} is read, and line 80 defines w^{QK}",
    ("000", 84, "given-subject"): "w_{t+1} is predicted and given; w_{t+2} is predicted",
    ("000", 84, "softmax-variable"): "the softmax is over w_{t+2}, the left side over w_{t+1}",
    ("000", 104, "softmax-index"): "both factors L are read at t_1; the second is meant at t_2",
    (
        "000",
        104,
        "bracket",
    ): "one `)` too many in the third row, which closes Σ_i before the W^K that has i",
    ("000", 104, "similar-names"): "W^k in the last row is W^K",
    ("001", 81, "bracket"): "the bracket of 𝒩( is never closed",
    (
        "001",
        83,
        "drawn-number",
    ): "k_a is a vector, and 𝒩(1, 1/2) draws a number; so μ_a^2 is no covariance",
    ("001", 96, "left-out"): "α_i is a weight elsewhere and a score here: the softmax is left out",
    ("001", 100, "lost-label"): "ε_a becomes ε between two steps",
    ("001", 139, "excluded"): "only i = a is to be left out",
    ("001", 140, "excluded"): "only i = b is to be left out",
    ("001", 174, "rank"): "a minus is lost: u_b - u_c, not u_b u_c",
    ("001", 186, "rank"): "u_b u_b is no matrix; the next side of the chain has u_b u_b^⊤",
    ("001", 56, "two-ones"): "two weights that share everything are 1/2 each, not 1",
    ("001", 98, "large-weight"): "α_b ≈ M is a score, no weight",
    ("001", 100, "large-weight"): "α_a ≈ ε M is a score, no weight",
    ("001", 139, "unnumbered"): "q is q_1",
    ("001", 140, "unnumbered"): "q is q_2",
    ("001", 217, "substitution"): "x_2 on the right is x_3, as in the line before",
    ("001", 229, "rank"): "the last factor of each side is a column: its ⊤ are too many",
    ("004", 21, "cut-word"): "y is drawn from Pop, which has become P_{op}",
    ("004", 222, "cut-word"): "the same P_{op} for Pop",
    ("002", 15, "softmax-variable"): "the softmax is over w_{t+1}; w_t is predicted",
    ("002", 44, "sizes-joined"): "h' is the gated state: h[b,t-1,j], not x[b,t,j]",
    ("002", 48, "unknown-name"): "h̃ is defined nowhere; the gated state h' of line 44 is meant",
    ("002", 48, "script-factor"): "W^{x,R} multiplies x, not h'",
    ("002", 100, "index-order"): "listed as […,j,j'], used as […,j',j]",
    ("002", 112, "index-order"): "listed as [Δt,i,i'], used as [Δt,i',i]",
    ("002", 120, "batch-index"): "the left side has b, the token w[t] has not: w[b,t]",
    ("002", 126, "index-count"): "the left side has b, L_ℓ[2t+Δt,i'] has not",
    ("004", 152, "index-count"): "G_t[t,j] has t twice and stands beside G[t,j]",
    ("004", 338, "index-count"): "α and Value are defined for the layer ℓ+1 and read without it",
}
"""What is wrong, in our own words, by document, line and code of the message."""

FALSE: dict[tuple[str, int, str], str] = {}
"""Messages about what is right."""

NOT_FOUND: dict[Place, str] = {
    ("000", 98): "W̃^Q has no layer, though W^Q and W^K of line 92 have ℓ+1",
    ("001", 125): "∞/∞^2 of the line before has become 1/∞^2",
}
"""Slips that a reader sees and no message names."""

SAID = frozenset(rule.__name__.replace("_", "-") for rule in RULES)
"""The codes of what sentences and formulas say together."""
SENTENCES: dict[tuple[str, int, str], str] = {}
"""What was found inside sentences, in the words of the message."""

HOLDING = [
    ("001", line) for line in (56, 63, 73, 106, 108, 139, 140, 197, 199, 203, 205)
]  # fmt: skip
"""Skipped formulas that reason, and hold an equation of vectors or weights on the way."""


@dataclass
class Row:
    """One formula: where it is, how it was read, what was said about it."""

    document: str
    line: int
    inline: bool
    formulas: list[str]
    skipped: list[str]
    messages: list[Message] = field(default_factory=list)
    faults: int = 0
    below: bool = False  # goes on with the display above it

    @property
    def place(self) -> Place:
        return self.document, self.line

    @property
    def codes(self) -> list[str]:
        return list(dict.fromkeys(m.code for m in self.messages))

    def remarks(self) -> list[tuple[str, str]]:
        """What was said, as (code, our words)."""
        known = {**FOUND, **FALSE}
        return [(c, known.get((*self.place, c), UNSEEN)) for c in self.codes]

    def status(self) -> str:
        if self.below:
            return "read with the line above" if not self.skipped else f"skipped: {self.skipped[0]}"
        parts = []
        if self.formulas:
            count = len(self.formulas)
            parts.append("read" if count == 1 else f"read, {count} equations")
        parts += [f"skipped: {reason}" for reason in dict.fromkeys(self.skipped)]
        parts += [
            f"{'**mistake**' if (*self.place, code) not in FALSE else 'message'} `{code}`: {words}"
            for code, words in self.remarks()
        ]
        return "; ".join(parts)

    def tried(self) -> str:
        """What the values say, and what nobody but a reader sees."""
        if self.place in NOT_FOUND and not self.codes:
            return f"**not found**: {NOT_FOUND[self.place]}"
        if any((*self.place, c) in FALSE for c in self.codes):
            return "the message is wrong"
        if self.codes:
            also = f"; **not found**: {NOT_FOUND[self.place]}" if self.place in NOT_FOUND else ""
            return f"a real slip{also}"
        if self.skipped or not self.formulas:
            return "not read" + ("; holds an equation on the way" if self.place in HOLDING else "")
        if self.inline:
            return f"{UNTRIED}: no program reads what stands in a sentence"
        found = [verdict(p, self.place) for p in _programs_at(self.place)]
        return RIGHT if RIGHT in found else (found or [f"{UNTRIED}: it belongs to no program"])[0]

    def shown(self) -> str:
        text = "; ".join(self.formulas) or RESTATED.get(self.place, "")
        return text if len(text) <= LONGEST else text[: LONGEST - 2].rstrip() + " …"

    def cells(self) -> str:
        shown = self.shown().replace("|", "\\|")
        kind = " (inline)" if self.inline else ""
        where = f"{self.document}:{self.line}{kind}"
        return f"| {where} | `{shown}` | {self.status()} | {self.tried()} |"


def documents() -> list[Path]:
    return sorted(SEEDS.glob("00*.txt")) if SEEDS.is_dir() else []


@cache
def programs(path: Path) -> list[Program]:
    return load_document(path)


def _programs_at(place: Place) -> list[Program]:
    """The programs that read the formula in that line."""
    return [
        program
        for path in documents() if path.name[:3] == place[0]
        for program in programs(path)
        if any(statement.span.line == place[1] for statement in program.written)
    ]  # fmt: skip


@cache
def rows() -> list[Row]:
    return [row for path in documents() for row in _rows(path)]


def _rows(path: Path) -> list[Row]:
    document = read(path)
    number = path.name[:3]
    found: list[tuple[Display, Parsed, bool]] = []
    found += [
        (display, parsed, False)
        for _, display, parsed in parse_document(document)
        if display.kind != "said"
    ]
    found += [(display, parsed, True) for display, parsed in parse_inline(document)]
    found.sort(key=lambda item: item[0].span.start)
    result: list[Row] = []
    for display, parsed, inline in found:
        formulas = [unicode(s) for s in parsed.statements]
        reasons = [s.reason for s in parsed.skipped]
        row = Row(number, display.span.line, inline, formulas, reasons, faults=len(parsed.faults))
        if not formulas and not reasons and not parsed.faults:
            row.below = True
            row.skipped = result[-1].skipped[:1]
        result.append(row)
    by_line = {row.line: row for row in result if not row.inline}
    starts = sorted(by_line)
    for program in programs(path):
        for message in program.mistakes:
            line = max((line for line in starts if line <= message.span.line), default=0)
            at = by_line.get(line if message.code not in SAID else message.span.line)
            if at is None:
                SENTENCES[(number, message.span.line, message.code)] = message.text
            elif message not in at.messages:
                at.messages.append(message)
        for skipped in program.skipped:
            at = by_line[max(line for line in starts if line <= skipped.span.line)]
            if skipped.reason not in at.skipped and not at.below:
                at.skipped.append(skipped.reason)
    return result


def unread() -> list[Row]:
    """Equations of tensors that are not read: those with a fault, and those skipped for want of words."""
    return [
        row for row in rows()
        if row.faults or any(not BY_DESIGN.match(reason) for reason in row.skipped)
    ]  # fmt: skip


def table() -> str:
    """All of docs/seeds.md."""
    every = rows()
    displays = [row for row in every if not row.inline]
    reasons = Counter(row.skipped[0] for row in every if row.skipped and not row.formulas)
    slips = [(row, code, words) for row in every for code, words in row.remarks()]
    real = [s for s in slips if (*s[0].place, s[1]) not in FALSE]
    single = [s for s in real if not s[2].startswith("the same")]
    equations = sum(len(row.formulas) for row in every)
    verdicts = [row.tried() for row in every]
    lines = [
        "# Five documents, read",
        "",
        "Lecture slides, problem sets and a student's solutions: everything that these five texts state as a",
        "formula, how it was read, and what is wrong with it. The texts are not part of this project; rows",
        "name a document by its number and a line, and restate the formula in our notation. The table is made",
        "by `tests/seeds_table.py`. The last column says what values say: the program that a formula belongs to is",
        "run, and what the formula defines is computed again from the other values by numpy that was written by hand",
        "(`tests/seeds_meanings.py`). What is wrong with a formula was written by hand as well.",
        "",
        "| | |",
        "| --- | --- |",
        f"| displayed formulas (those alone on a line among them) | {len(displays)} |",
        f"| inline equations | {len(every) - len(displays)} |",
        f"| equations read | {equations}, in {sum(bool(row.formulas) for row in every)} formulas |",
        f"| formulas that go on with the line above | {sum(row.below for row in every)} |",
        f"| formulas skipped, with their reason | {sum(reasons.values())} |",
        *(f"| · {reason} | {count} |" for reason, count in reasons.most_common()),
        f"| formulas with a row that does not read | {len(unread())} |",
        f"| formulas that are right by their values | {sum(v == RIGHT for v in verdicts)} |",
        f"| formulas that are read otherwise than meant | {sum(v.startswith('**not as') for v in verdicts)} |",
        f"| formulas that are read, but not tried | {sum(v.startswith(UNTRIED) for v in verdicts)} |",
        f"| mistakes found | {len(single) + len(SENTENCES)} |",
        f"| messages about what is right | {len(slips) - len(real)} |",
        f"| mistakes that only a reader finds | {len(NOT_FOUND)} |",
        "",
        f"Of the formulas that are skipped because they reason (⇒, →), {len(HOLDING)} hold an equation on the way,",
        "all of them in document 001.",
        "",
        "## Mistakes found",
        "",
        *(f"- {row.document}:{row.line} `{code}`: {words}." for row, code, words in single),
        "",
        "Between sentences and formulas:",
        "",
        *(
            f"- {document}:{line} `{code}`: {text}."
            for (document, line, code), text in SENTENCES.items()
        ),
        "",
        "## Mistakes not found",
        "",
        "What no rule that holds elsewhere would find.",
        "",
        *(f"- {document}:{line}: {words}." for (document, line), words in NOT_FOUND.items()),
        "",
        "## Every formula",
        "",
        "| where | formula | read | tried |",
        "| --- | --- | --- | --- |",
        *(row.cells() for row in every),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if not documents():
        sys.exit(f"{SEEDS} is not there")
    sys.stdout.write(table())
