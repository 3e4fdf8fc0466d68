"""Recurrent cells made at random, as texts: what the compiler is attacked with.

>>> print(cell(3))
input x[t,k]
input y[t,j]
G^{1}[t,j] = σ(W^{1}[j,I] h[t-1,I] + W^{2}[j,K] x[t,K] - b^{3}[j])
h[t,j] = G^{1}[t,j] h[t-1,j] + (1 - G^{1}[t,j]) tanh(y[t,j])

Every cell is well formed, its values stay of order one, and a seed always gives the same text.
States are `h`, `c`, … (vectors over J), `s` (a number at each step) and `M` (a matrix at each
step); `G^{n}` are computed within a step; `W^{n}`, `b^{n}`, … are parameters of one use each.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

BOUNDED = ("tanh({})", "σ({})", "sin({})", "cos({})", "erf({})", "tanh(GELU({}))")
FUNCTIONS = (
    *BOUNDED,
    *BOUNDED,
    "ReLU({})",
    "GELU({})",
    "abs({})",
    "softplus({})",
    "exp(tanh({}))",
    "ln(1 + ({})^2)",
    "sqrt(1 + ({})^2)",
    "1/(1 + ({})^2)",
    "sign({})",
    "floor({})",
    "max({}, 0.1)",
    "min({}, 0.5, 2)",
)


def cell(seed: int) -> str:
    """The text of one cell, or of a few cells that read each other."""
    random = Random(seed)
    if random.random() < 0.15:
        return _stack(random)
    writer = _Cell(random)
    writer.write()
    return writer.text()


class _Cell:
    """The lines so far, and what can be read at this step."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.sign = "+" if random.random() < 0.2 else "-"
        self.inputs: dict[str, None] = {}
        self.parameters: list[str] = []
        self.lines: list[str] = []
        self.now: list[str] = []
        """Vectors over j of this step that are defined above."""
        self.count = 0
        self.states = list("hcgf")[: random.choice((1, 1, 2, 2, 3, 4))]
        self.scalar = random.random() < 0.15
        self.matrix = random.random() < 0.2

    def text(self) -> str:
        head = [f"input {name}" for name in self.inputs]
        if self.parameters:
            head.append(f"parameter {', '.join(self.parameters)}")
        return "\n".join([*head, *self.lines]) + "\n"

    def write(self) -> None:
        for _ in range(self.random.randint(0, 3)):
            self.gate()
        if self.chance(0.25):
            self.attention()
        if self.chance(0.15):
            self.memory()
        if self.chance(0.15):
            self.norm()
        if self.chance(0.15):
            self.joined()
        if self.scalar:
            self.scalar_state()
        if self.matrix:
            self.matrix_state()
        for state in self.states:
            self.vector_state(state)
        self.start()
        self.after()

    # ---- small things ----

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def any(self, *ways: Callable[[], str]) -> str:
        """One of some texts; the others are not made, and leave no parameters."""
        return self.random.choice(ways)()

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}^{{{self.count}}}"

    def parameter(self, letter: str, indices: str) -> str:
        """A new parameter, read at these indices: `W^{4}[j,I]`."""
        name = self.fresh(letter)
        self.parameters.append(f"{name}[{','.join(indices.lower())}]")
        return f"{name}[{','.join(indices)}]"

    def read(self, name: str) -> str:
        self.inputs[name] = None
        return name.split(" in ")[0]

    def past(self, steps: int = 1) -> str:
        return f"t{self.sign}{steps}"

    def state(self) -> str:
        return self.random.choice(self.states)

    def earlier(self, index: str) -> str:
        """A state one or two steps before."""
        return f"{self.state()}[{self.past(1 if self.chance(0.85) else 2)},{index}]"

    def vector(self, index: str) -> str:
        """Any vector over j that can be read, at an index."""
        if self.now and self.chance(0.4):
            return f"{self.random.choice(self.now)}[t,{index}]"
        return self.earlier(index)

    # ---- what is added up ----

    def term(self) -> str:
        """A summand with the free indices t and j."""
        kinds: list[tuple[int, Callable[[], str]]] = [
            (6, lambda: f"{self.parameter('W', 'jI')} {self.vector('I')}"),
            (3, lambda: f"{self.parameter('W', 'jK')} {self.read('x[t,k]').replace('k', 'K')}"),
            (2, lambda: f"{self.parameter('b', 'j')} {self.vector('j')}"),
            (2, lambda: self.read("y[t,j]")),
            (1, lambda: f"{self.parameter('W', 'jI')} {self.vector('I')} {self.vector('I')}"),
            (1, lambda: f"{self.parameter('W', 'jI')} {self.vector('I')} {self.vector('j')}"),
            (
                1,
                lambda: (
                    f"{self.parameter('W', 'Ij')} ({self.vector('I')} + {self.parameter('b', 'I')})"
                ),
            ),
            (
                1,
                lambda: (
                    f"({self.parameter('W', 'jI')} + {self.parameter('W', 'jI')}) {self.vector('I')}"
                ),
            ),
            (
                1,
                lambda: (
                    f"{self.parameter('W', 'jI')} σ({self.parameter('b', 'I')}) {self.vector('I')}"
                ),
            ),
            (1, self.bilinear),
            (1, lambda: self.token()),
            (1, lambda: f"{self.read('u[t]')} {self.vector('j')}"),
            (1, self.cases),
            (1, self.over_states),
            (1, self.whole),
            (1, self.dropped),
            (1, lambda: f"1/√J {self.parameter('W', 'jI')} {self.vector('I')}"),
        ]
        if self.scalar:
            kinds.append((2, lambda: f"s[{self.past()}] {self.parameter('b', 'j')}"))
        if self.matrix:
            kinds.append((2, lambda: f"M[{self.past()},j,I] {self.vector('I')}"))
        weights = [weight for weight, _ in kinds]
        return self.random.choices(kinds, weights)[0][1]()

    def token(self) -> str:
        name = self.fresh("e")
        self.parameters.append(f"{name}[v,j]")
        return f"{name}[{self.read('w[t] in V')},j]"

    def bilinear(self) -> str:
        return f"{self.parameter('W', 'jIK')} {self.vector('I')} {self.read('x[t,k]').replace('k', 'K')}"

    def cases(self) -> str:
        condition = self.any(
            lambda: "t > 0",
            lambda: f"{self.read('u[t]')} > 0",
            lambda: "j < t",
            lambda: "t = 2",
        )
        return (
            f"(cases {{ {self.vector('j')} if {condition}, {self.parameter('b', 'j')} otherwise }})"
        )

    def over_states(self) -> str:
        """A sum over all earlier steps."""
        relation = "<" if self.sign == "-" else ">"
        other = self.any(
            lambda: self.read("y[t,j]").replace("t", "r"),
            lambda: f"{self.state()}[r,j]",
        )
        return f"0.3 (Σ_{{r {relation} t}} {self.state()}[r,j] {other})"

    def whole(self) -> str:
        """What all elements of a state together give."""
        v = self.earlier("i")
        return self.any(
            lambda: f"(max_i {self.parameter('W', 'ji')} {v})",
            lambda: f"(min_i {v})",
            lambda: f"({self.vector('j')} - mean_i {v})",
            lambda: f"1/(1 + Σ_i {v}^2) {self.vector('j')}",
            lambda: f"(softmax_j {self.vector('j')})",
            lambda: f"(∏_i (1 + 0.1 {v}))",
            lambda: f"‖{self.earlier('J')}‖_1 {self.parameter('b', 'j')}",
        )

    def dropped(self) -> str:
        return f"dropout({self.vector('j')}, 0.3)"

    def preactivation(self) -> str:
        terms = [self.term() for _ in range(self.random.randint(1, 4))]
        if self.chance(0.6):
            terms.append(f"{self.parameter('b', 'j')}")
        text = terms[0]
        for term in terms[1:]:
            text += self.random.choice((" + ", " + ", " - ")) + term
        return text

    def function(self, inside: str, bounded: bool = False) -> str:
        return self.random.choice(BOUNDED if bounded else FUNCTIONS).format(inside)

    # ---- equations ----

    def gate(self, function: str = "") -> str:
        right = self.preactivation()
        right = function.format(right) if function else self.function(right, bounded=True)
        name = self.fresh("G")
        self.lines.append(f"{name}[t,j] = {right}")
        self.now.append(name)
        return name

    def attention(self) -> None:
        """Over an encoder, whose vectors are an input."""
        self.read("z[n,j]")
        name, at = self.fresh("A"), self.fresh("C")
        score = self.any(
            lambda: f"1/√J {self.parameter('W', 'IJ')} {self.earlier('I')} z[n,J]",
            lambda: f"{self.parameter('b', 'J')} tanh({self.earlier('J')} + z[n,J])",
            lambda: f"{self.earlier('J')} z[n,J]",
        )
        self.lines.append(f"{name}[t,n] = softmax_n {score}")
        self.lines.append(f"{at}[t,j] = {name}[t,N] z[N,j]")
        self.now.append(at)

    def memory(self) -> None:
        """Attention over all earlier states, and over inputs up to now."""
        name, at = self.fresh("A"), self.fresh("C")
        before, up_to = ("<", "≤") if self.sign == "-" else (">", "≥")
        state = self.state()
        if self.chance(0.5):
            score, values, relation = f"{self.earlier('J')} {state}[r,J]", state, before
        else:
            self.read("y[t,j]")
            score, values, relation = f"{self.earlier('J')} y[r,J]", "y", up_to
        self.lines.append(f"{name}[t,r] = softmax_{{r {relation} t}} {score}")
        self.lines.append(f"{at}[t,j] = Σ_{{r {relation} t}} {name}[t,r] {values}[r,j]")
        self.now.append(at)

    def joined(self) -> None:
        """The state and the input side by side, as one operand."""
        both, name = self.fresh("Z"), self.fresh("G")
        self.lines.append(
            f"{both}[t,C] = {self.earlier('J')}; {self.read('x[t,k]').replace('k', 'K')}"
        )
        self.lines.append(f"{name}[t,j] = tanh({self.parameter('W', 'jC')} {both}[t,C])")
        self.now.append(name)

    def norm(self) -> None:
        name = self.fresh("N")
        norm = self.random.choice(("layernorm", "rmsnorm"))
        self.lines.append(
            f"{name}[t,J] = {norm}({self.parameter('W', 'JI')} {self.earlier('I')} + y[t,J])"
        )
        self.read("y[t,j]")
        self.now.append(name)

    def scalar_state(self) -> None:
        inside = f"{self.parameter('a', 'J')} {self.earlier('J')} + {self.read('u[t]')}"
        self.lines.append(f"s[t] = 0.5 s[{self.past()}] + {self.function(inside, bounded=True)}")

    def matrix_state(self) -> None:
        """Fast weights, written by an outer product."""
        decay = self.any(
            lambda: "0.5",
            lambda: f"σ({self.parameter('b', 'j')})",
            lambda: f"σ({self.read('u[t]')})",
        )
        left, right = self.vector("j"), self.vector("i")
        self.lines.append(
            f"M[t,j,i] = {decay} M[{self.past()},j,i] + {self.parameter('b', 'j')} {left} tanh({right})"
        )
        if self.chance(0.5):
            name = self.fresh("G")
            self.lines.append(f"{name}[t,j] = tanh(M[t,j,I] {self.earlier('I')})")
            self.now.append(name)

    def vector_state(self, state: str) -> None:
        before = f"{state}[{self.past()},j]"
        kind = self.random.randrange(7)
        if kind == 0:
            right = self.function(self.preactivation())
            right = f"tanh({right})" if self.chance(0.5) else f"0.5 {before} + 0.3 {right}"
        elif kind == 1:
            gate = self.gate("σ({})")
            new = self.function(self.preactivation(), bounded=True)
            right = f"{gate}[t,j] {before} + (1 - {gate}[t,j]) {new}"
        elif kind == 2:
            gate, other = self.gate("σ({})"), self.gate("σ({})")
            right = f"{gate}[t,j] {before} + {other}[t,j] {self.function(self.vector('j'), True)}"
        elif kind == 3:
            right = f"max(0.9 {before}, {self.function(self.preactivation(), True)})"
        elif kind == 4:
            right = f"0.5 {before} + tanh({self.vector('j')}) {self.parameter('b', 'j')}"
        elif kind == 5:
            right = f"({before} + tanh({self.preactivation()}))/(1 + {before}^2)"
        else:
            right = f"{self.function(self.preactivation(), True)} {self.function(self.vector('j'), True)}"
        if self.chance(0.1):
            condition = self.any(
                lambda: f"{self.read('u[t]')} > 0", lambda: "t > 1", lambda: "j > 0"
            )
            self.lines.append(f"{state}[t,j] = {self.function(self.vector('j'))} for {condition}")
        self.lines.append(f"{state}[t,j] = {right}")
        self.now.append(state)

    def start(self) -> None:
        if self.sign == "+":
            return  # a number on the left is a start in front only
        for state in self.states:
            if self.chance(0.25):
                right = self.any(
                    lambda: f"{self.parameter('a', 'j')}",
                    lambda: (
                        f"tanh({self.parameter('W', 'jN')} {self.read('q[n]').replace('n', 'N')})"
                    ),
                    lambda: f"{self.parameter('a', 'j')} {self.read('q[n]').replace('n', '0')}",
                    lambda: "0.5",
                )
                self.lines.append(f"{state}[-1,j] = {right}")

    def after(self) -> None:
        """What reads the states when all are there."""
        if self.chance(0.2):
            self.second()
        if not self.inputs or all(not name.endswith(",k]") for name in self.inputs):
            self.lines.append(f"o[t,j] = {self.states[0]}[t,j] + {self.read('y[t,j]')}")
        elif self.chance(0.3):
            self.lines.append(f"z'[t,C] = {self.states[-1]}[t,J]; x[t,K]")
            self.lines.append("o[t,m] = V[m,C] z'[t,C]")
        elif self.chance(0.3):
            self.lines.append(f"o[j] = {self.states[0]}[T-1,j] + {self.states[-1]}[0,j]^2")

    def second(self) -> None:
        """Another recurrence, over the states of this one, in either direction."""
        past = self.random.choice(("t-1", "t+1"))
        own = f"{self.parameter('W', 'nM')} d[{past},M]"
        of = f"{self.parameter('W', 'nJ')} {self.states[-1]}[{self.random.choice(('t', 't-1', 't+1'))},J]"
        self.lines.append(f"d[t,n] = {self.function(f'{own} + {of}', bounded=True)}")


def _stack(random: Random) -> str:
    """Layers around time."""
    inside = ["W_{ℓ+1}[j,I] h_{ℓ+1}[t-1,I]", random.choice(("h_ℓ[t,j]", "U_{ℓ+1}[j,I] h_ℓ[t,I]"))]
    if random.random() < 0.5:
        inside.append(random.choice(("h_ℓ[t-1,j]", "h_ℓ[t+1,j]", "D_{ℓ+1}[j] h_{ℓ+1}[t-2,j]")))
    lines = ["input x[t,k]", "h_0[t,j] = A[j,K] x[t,K]"]
    right = random.choice(BOUNDED).format(" + ".join(inside) + " - B_{ℓ+1}[j]")
    if random.random() < 0.5:
        lines.append("G_{ℓ+1}[t,j] = σ(R_{ℓ+1}[j,I] h_{ℓ+1}[t-1,I] + h_ℓ[t,j])")
        right = f"G_{{ℓ+1}}[t,j] h_{{ℓ+1}}[t-1,j] + (1 - G_{{ℓ+1}}[t,j]) {right}"
    if random.random() < 0.5:
        right = f"h_ℓ[t,j] + {right}"
    lines.append(f"h_{{ℓ+1}}[t,j] = {right}")
    if random.random() < 0.3:
        lines.append("o[t,j] = h_L[t,j]^2")
    return "\n".join(lines) + "\n"
