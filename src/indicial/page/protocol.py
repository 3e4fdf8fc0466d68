"""What the page and its server say to each other: one schema, of which the page's types are made.

    POST /ask/read  {"page": "p1", "text": "y[j] = W[j,I] x[I]", …}   →   {"messages": [], …}

A question is a `TypedDict` here; `wire.py` makes sure that what came over the wire is one, and writes the
same types in TypeScript.
Places in a text are counted as browsers count them, in UTF-16 units (`Units`).
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Number = int | float
View = Literal["schedule", "torch", "gradient", "graph"]

# ---------------------------------------------------------------------- equations


class AboutText(TypedDict):
    """A text of equations or a document, and which of its programs is meant."""

    text: str
    program: int
    sizes: dict[str, int]


class ReadText(TypedDict):
    text: str


class Site(TypedDict):
    start: int
    end: int
    remark: str


class Told(TypedDict):
    """A message about the text. `start` and `end` are the place of its first site."""

    severity: Literal["error", "warning", "note"]
    code: str
    text: str
    excerpt: list[str]
    """The lines involved with carets below them, what was found, the hint: as in a terminal."""
    start: int
    end: int
    sites: list[Site]
    fix: NotRequired[Fix]


class Fix(TypedDict):
    """What the hint says to write, where the text is free of the message then."""

    start: int
    end: int
    text: str


class Mark(TypedDict):
    """A name or an index where it stands in the text; `about` says where to look what it is."""

    start: int
    end: int
    program: int
    about: str


class Section(TypedDict):
    """One program of the text."""

    title: str
    start: int
    end: int
    errors: int
    equations: int


class Reading(TypedDict):
    """What is said of a text while one types."""

    messages: list[Told]
    marks: list[Mark]
    programs: list[Section]
    skipped: list[Site]
    """What was not read, and why."""


class SizeOf(TypedDict):
    name: str
    fixed: int | None
    """What the text fixes it to; nobody may change it then."""
    taken_as: str | None
    chosen: int
    """What it is in the costs that come with it."""


class Cost(TypedDict):
    name: str
    formula: str
    number: int | None
    shown: str
    """The number as people read it: `12.3 M`."""
    growth: str
    exact: bool


class Curve(TypedDict):
    """A cost against one size, the others as they are."""

    size: str
    cost: str
    at: list[int]
    values: list[Number | None]


class Facts(TypedDict):
    """How a program without errors was read, and what it costs."""

    title: str
    rows: list[Row]
    names: list[NameOf]
    about: dict[str, list[str]]
    """What hovering tells, line by line: `{"name h": ["h[t,j]", "defined by an equation", …]}`."""
    notes: list[str]
    sizes: list[SizeOf]
    costs: list[Cost]
    curves: list[Curve]


class Row(TypedDict):
    """A statement as a row of `aligned`, and where it stands in the text."""

    latex: str
    start: int
    end: int


class NameOf(TypedDict):
    name: str
    shown: str
    role: str
    guess: str


class AskView(TypedDict):
    text: str
    program: int
    what: View


class Shown(TypedDict):
    """A page of text, or a picture."""

    text: str
    svg: str


class AskTry(TypedDict):
    text: str
    program: int
    sizes: dict[str, int]
    seed: int


class Array(TypedDict):
    """A tensor that is shown as heat maps; elements that are not finite are null."""

    name: str
    letters: list[str]
    lowers: list[int]
    shape: list[int]
    values: list[Number | None]
    role: str
    remark: str
    whole: bool


class Trial(TypedDict):
    sizes: dict[str, int]
    arrays: list[Array]
    left_out: list[str]
    """What is too large to be sent."""


class Verdict(TypedDict):
    start: int
    end: int
    text: str
    status: str
    false: bool
    """It is stated to be false."""
    as_stated: bool
    found: str
    counterexample: list[str]


class Claims(TypedDict):
    verdicts: list[Verdict]


# ---------------------------------------------------------------------- runs


class RunOf(TypedDict):
    name: str
    title: str
    data: str
    task: str
    sizes: str
    created: str
    training: bool


class Runs(TypedDict):
    runs: list[RunOf]


class AskRun(TypedDict):
    run: str


class Inputs(TypedDict):
    """What a model reads: these texts, or a row of its world; and what it does with them."""

    texts: list[str]
    targets: list[str]
    """What it predicts from them, if that is text: heads may be asked about another than it says."""
    rows: bool
    writes: bool
    answers: bool


class AskCurves(TypedDict):
    run: str
    known: int
    """Bytes of the metrics that the page has."""


class Curves(TypedDict):
    """What was written since; `fresh` says that what came before no longer counts."""

    fresh: bool
    known: int
    training: bool
    of: int
    steps: list[int]
    loss: list[Number | None]
    validated: list[int]
    validation: list[Number | None]
    entropy: Number | None


class AskText(TypedDict):
    run: str
    prompt: str
    temperature: Number
    top_p: Number
    seed: int
    count: int


class Other(TypedDict):
    """What might have stood there; `drawn` is its probability after temperature and top-p."""

    text: str
    probability: Number
    drawn: Number


class Token(TypedDict):
    text: str
    probability: Number
    others: list[Other]


class Made(TypedDict):
    prompt: str
    tokens: list[Token]
    ended: str
    loop: int
    """The token that a loop begins with; -1 if there is none."""
    period: int
    nats: Number | None


class AskLooks(TypedDict):
    run: str
    inputs: dict[str, str]
    row: int


class Look(TypedDict):
    """What a head looks at; the weights are 16-bit numbers in base64, 65535 is 1."""

    name: str
    layer: int | None
    head: int | None
    place: str
    rows: list[str]
    columns: list[str]
    says: str
    weights: str
    links: list[LinkOf]
    """Which words stand for one another, where that is known."""


class LinkOf(TypedDict):
    row: int
    column: int
    sure: bool


class Looks(TypedDict):
    looks: list[Look]
    left_out: int
    cut: int
    """Tokens that the model has no places for."""
    picture: str
    """What is looked at, as the address of an image; empty where that is text."""


class Arc(TypedDict):
    word: int
    head: int
    label: str


class Said(TypedDict):
    """What a model says of what it reads; of the words of a sentence, with arcs to their heads."""

    text: str
    others: list[Label]
    words: list[str]
    tags: list[str]
    arcs: list[Arc]


class Label(TypedDict):
    text: str
    probability: Number


class AskTraining(TypedDict):
    text: str
    data: str
    columns: dict[str, str]
    """Which column of a table an input reads, where their names differ."""
    minutes: Number
    sizes: dict[str, int]


class Training(TypedDict):
    """The training that was started from the page; what it said, if it failed."""

    run: str
    running: bool
    said: str
    data: list[str]
    """What may be trained on: built-in worlds, and the files of the lab's folders."""


# ---------------------------------------------------------------------- designs

Matrices = dict[str, list[Number]]


class AskDesign(TypedDict):
    task: str


class Matrix(TypedDict):
    name: str
    rows: list[str]
    columns: list[str]
    values: list[Number]


class DesignOf(TypedDict):
    task: str
    equations: list[str]
    matrices: list[Matrix]


class AskJudge(TypedDict):
    task: str
    matrices: Matrices


class Judged(TypedDict):
    """Every case of a task: the margin is how much larger the right output is than any other."""

    cases: int
    wrong: int
    margin: Number | None
    worst: str
    place: int
    squared_error: Number | None
    told: list[str]
    weights: Matrix


class AskLearn(TypedDict):
    task: str
    steps: int
    rate: Number
    seed: int


class Learned(TypedDict):
    remark: str
    matrices: list[Matrix]
    errors: list[Number | None]


class AskBeside(TypedDict):
    task: str
    matrices: Matrices
    other: Matrices


class Beside(TypedDict):
    sentences: list[str]
    products: list[Matrix]


# ---------------------------------------------------------------------- the page


class Model(TypedDict):
    name: str
    summary: str


class Start(TypedDict):
    """What the page begins with."""

    version: str
    file: str
    text: str
    view: str
    run: str
    """The run that was named."""
    models: list[Model]


class Nothing(TypedDict):
    pass


class AskModel(TypedDict):
    name: str


class Text(TypedDict):
    text: str


QUESTIONS: dict[str, tuple[Any, Any]] = {
    "read": (ReadText, Reading),
    "facts": (AboutText, Facts),
    "view": (AskView, Shown),
    "try": (AskTry, Trial),
    "claims": (AskTry, Claims),
    "model": (AskModel, Text),
    "runs": (Nothing, Runs),
    "inputs": (AskRun, Inputs),
    "curves": (AskCurves, Curves),
    "generate": (AskText, Made),
    "attend": (AskLooks, Looks),
    "answer": (AskLooks, Said),
    "design": (AskDesign, DesignOf),
    "judge": (AskJudge, Judged),
    "learn": (AskLearn, Learned),
    "beside": (AskBeside, Beside),
    "start": (Nothing, Start),
    "training": (Nothing, Training),
    "train": (AskTraining, Training),
    "stop": (Nothing, Training),
    "resume": (AskRun, Training),
}
"""What may be asked, with the types of question and answer."""
