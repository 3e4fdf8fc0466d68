"""A program: a set of equations that belong together, checked.

>>> program = Program.of_text("y[j] = W[j,I] x[I]\\ninput x[i]")
>>> program.mistakes
[]
>>> program.interpret({"x": [1.0, 2.0]}, {"W": [[1.0, 0.0]]})["y"]
array([1.])
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from indicial.notation.faults import Fault, Skipped
from indicial.notation.parse import Parsed, canonical_name, parse_text
from indicial.notation.printers import latex, plain, unicode
from indicial.notation.rows import LINES, too_many
from indicial.notation.source import Span
from indicial.notation.syntax import Equation, Name, Statement
from indicial.program import ir
from indicial.program.analyse import Analysis, analyse
from indicial.program.messages import IndicialError, Message, Messages, in_order, refused
from indicial.program.names.cells import Resolver
from indicial.program.names.complex import real
from indicial.program.names.covariances import independent
from indicial.program.names.fills import (
    Networks,
    fill,
    filling,
    named,
    overridden,
    with_constants,
)
from indicial.program.names.inverses import regular
from indicial.program.names.letters import capital
from indicial.program.names.loops import unroll
from indicial.program.names.outline import Outline
from indicial.program.names.sorting import parted
from indicial.program.names.starts import as_inputs, given_starts, outset
from indicial.program.prose.doubts import JUDGED, Doubts, about
from indicial.program.vectors import vectors
from indicial.program.vectors.vectors import UNLIKELY

if TYPE_CHECKING:
    from indicial.compile.module.module import ProgramModule
    from indicial.program.cost.cost import Cost
    from indicial.program.meaning.interpret import Result

Silencer = Callable[[Message], bool]
Amend = Callable[["Program", list[Message]], list[Message]]
Mend = Callable[[Span, str], "list[Message] | None"]
"""The messages about a text in which a span is replaced; None if it cannot be read again."""


Fill: TypeAlias = "str | os.PathLike[str] | Program"
"""What fills a hole: the name of a model, the path of a text, or a program."""

TRIED, LONG = 2, 1_000
"""So many hints are tried in a text of more characters: each costs as much as reading all of it."""

_BOLD = re.compile(r"\\(?:mathbf|bm|boldsymbol|vec)\b")
"""Where vectors are set in bold type a step that does not hold is none, however odd the display is."""
MOST_NODES = 50_000
"""Of the equations of a program that is compiled."""


class Program:
    """Equations, what is wrong with them, and what they mean.

    `document` says that the equations come from prose, where nobody declares inputs; then roles are
    guessed by convention. `fills` says what each hole is filled with: `{"CELL": "lstm"}`, the path of a
    text, or another program; `constants` which constants have another value than the text gives:
    `{"λ": 0.5}`. `sketch` is the outline of the statements, if somebody has it already. `prose` are
    the statements that stand in prose: what is not certain about them is a note (`doubts.py`).
    """

    def __init__(
        self,
        statements: Iterable[Statement],
        *,
        title: str = "",
        faults: Sequence[Fault] = (),
        skipped: Sequence[Skipped] = (),
        document: bool = False,
        sketch: Outline | None = None,
        resolve: Resolver = lambda name: None,
        fills: Mapping[str, Fill] | None = None,
        constants: Mapping[str, str | float] | None = None,
        silencer: Silencer = lambda message: False,
        prose: Sequence[Statement] = (),
        mend: Mend | None = None,
    ) -> None:
        self.title = title
        statements = list(statements)
        if len(statements) > LINES:
            faults, statements = (*faults, too_many(len(statements), statements[LINES].span)), []
        self._made = partial(
            Program, statements, title=title, faults=faults, skipped=skipped, document=document,
            resolve=resolve, fills=fills, silencer=silencer, prose=prose, mend=mend,
        )  # fmt: skip
        self._mend = mend
        stated = as_inputs(with_constants(statements, constants or {}))
        own = {hole: _own(value) for hole, value in (fills or {}).items()}
        names, resolve = named(own, resolve)
        self.written = overridden(stated, names)
        self.cells: dict[str, list[Statement]] = {}
        """What holes are filled with, by the names that stand in the text."""

        def known(name: str) -> list[Statement] | None:
            found = resolve(name)
            if found is not None:
                self.cells[name] = found
            return found

        self.faults = tuple(faults)
        self.prose = tuple(prose)
        self.skipped = tuple(skipped)
        self.document = document
        self._sketch = sketch
        self._silencer = silencer
        self._doubts = Doubts(prose)
        self.amend: Amend = lambda program, messages: messages
        """What is known of steps from elsewhere, put into the messages."""
        self._messages = Messages()
        for fault in faults:
            sites = [(span, "") for span in fault.spans]
            self._messages.add(fault.severity, fault.code, fault.message, *sites, hint=fault.hint)
        equations, derivatives = _without_derivatives(given_starts(self.written))
        if document:
            equations = outset(equations)
        equations, networks = Networks.split(equations, known)
        filled = fill(equations, self._messages, document, known)
        filled = regular(real(filled, self._messages, document), self._messages)
        in_matrices: list[Skipped] = []
        self.reading = vectors.rewrite(
            filled, self._messages, document, in_matrices, frozenset(st.span for st in prose)
        )
        self.unread = tuple(in_matrices)
        """What vector style leaves open."""
        indexed = networks.put_in(self.reading.statements)
        # Steps with vectors use what the prose says of them: that they are orthogonal, of length 1.
        self._prose = document and self.reading.related
        self._seen, plain_statements = parted(indexed)
        unrolled, in_place = unroll(independent(plain_statements), document)
        self.statements: tuple[Statement, ...] = tuple(unrolled)
        self.skipped = (*self.skipped, *derivatives, *in_matrices, *in_place)

    def with_constants(self, constants: Mapping[str, str | float]) -> Program:
        """The same equations with other values of constants: `{"λ": 0.5}`."""
        return self._made(constants=constants)

    def filled(self, fills: Mapping[str, Fill]) -> Program:
        """The same equations with holes filled: `{"CELL": "lstm"}`."""
        return self._made(fills=fills)

    def as_filling(self) -> list[Statement]:
        """The equations to put into a hole, with a line for each input, guessed ones too."""
        code, declared = self.code, self.analysis.outline.inputs
        texts = [
            f"input {name}[{','.join(axis.letter for axis in tensor.axes)}]"
            for name, tensor in code.tensors.items()
            if tensor.role == "input" and name not in declared
        ]
        return [*parse_text("\n".join(texts), "inputs").statements, *self.statements]

    @staticmethod
    def of_text(text: str, title: str = "text", latex: bool = False, **options: Any) -> Program:
        """A program from the text of equations, in plain or LaTeX notation."""
        parsed = parse_text(text, title, latex)

        def mend(span: Span, new: str) -> list[Message]:
            changed = text[: span.start] + new + text[span.end :]
            again = parse_text(changed, title, latex)
            return made(again, None).messages

        def made(parsed: Parsed, mend: Mend | None) -> Program:
            return Program(
                parsed.statements, title=title, faults=parsed.faults, skipped=parsed.skipped,
                mend=mend, **options,
            )  # fmt: skip

        return made(parsed, mend)

    # ------------------------------------------------------------------ checking

    @cached_property
    def analysis(self) -> Analysis:
        """How the equations were read. Also fills the messages."""
        from indicial.program.checks.verdicts import judge

        every = (*self.statements, *self._seen) if self._seen else self.statements
        result = analyse(every, self._messages, self.document, self._sketch)
        errors = [m for m in self._messages.items if m.severity == "error"]
        if not errors:
            judge(result.code, result.outline, self._messages, self._prose, result.holes)
        elif self.document:
            self._judge_the_rest(errors)
        return result

    def _judge_the_rest(self, errors: list[Message]) -> None:
        """One display's mistake silences nothing in another: what stands apart from it is tried."""
        from indicial.program.checks.verdicts import judge

        wrong = {id(s) for m in errors for s in about(self.statements, m)}
        rest = [s for s in self.statements if id(s) not in wrong]
        if not wrong or not rest:
            return
        unsaid = Messages()
        result = analyse(rest, unsaid, document=True)
        if any(m.severity == "error" for m in unsaid.items):
            return
        lost = {n.base for s in self.statements if id(s) in wrong for n in _left_names(s)}
        judge(result.code, result.outline, self._messages, self._prose, [*result.holes, *lost])

    @cached_property
    def messages(self) -> list[Message]:
        """Everything there is to say, in the order of the text; notes included."""
        tried, result = 0, []
        for message in self._said:
            if message.fix is not None and message.severity != "note":
                tried += 1
                if tried > TRIED and len(message.span.source.text) > LONG:
                    message = replace(message, hint=message.otherwise, fix=None)
            result.append(self._with_tried_hint(message))
        return result

    @cached_property
    def _said(self) -> list[Message]:
        """The same, whatever their hints are worth."""
        found = self.amend(self, self.judged())
        unlikely = (skipped.span for skipped in self.skipped if UNLIKELY in skipped.reason)
        odd = [span for span in unlikely if not _BOLD.search(span.text)]
        return in_order(
            m
            for m in found
            if not self._silencer(m)
            and not (m.code == "step" and any(m.span.within(span) for span in odd))
        )

    def _with_tried_hint(self, message: Message) -> Message:
        """A hint that says what to write is shown only if the text is free of the message then."""
        if message.fix is None or message.severity == "note":
            return message
        if self.mended(message, *message.fix) is False:
            return replace(message, hint=message.otherwise, fix=None)
        return message

    def mended(self, message: Message, span: Span, new: str) -> bool | None:
        """Whether the text is free of a message with something else in a place; None if nobody can tell."""
        after = None if self._mend is None else self._mend(span, new)
        if after is None:
            return None
        # Neither the same again, nor another mistake in its place.
        known, line = {m.about for m in self._said}, message.span.line
        return not any(
            m.about == message.about
            or (m.severity == "error" and m.span.line == line and m.about not in known)
            for m in after
        )

    def judged(self) -> list[Message]:
        """Everything, with the severity that it deserves; what is silenced too."""
        outline = self.analysis.outline
        return [self._doubts.judged(m, outline) for m in self._messages.items]

    @property
    def doubts(self) -> list[Message]:
        """The errors about prose that are not certain, and keep it from being read."""
        outline = self.analysis.outline
        errors = [m for m in self._messages.items if m.severity == "error" and m.code not in JUDGED]
        return [m for m in errors if self._doubts.doubtful(m, outline)]

    def silenced(self, message: Message) -> bool:
        """Whether a comment of the text asks for no such message."""
        return self._silencer(message)

    @property
    def mistakes(self) -> list[Message]:
        """Errors and warnings; an empty list is good news."""
        return [m for m in self.messages if m.severity != "note"]

    @property
    def errors(self) -> list[Message]:
        return [m for m in self._said if m.severity == "error"]

    @property
    def code(self) -> ir.Code:
        """The checked program; raises if there is an error in it."""
        found, outline = self.analysis.code, self.analysis.outline
        errors = [m for m in self._messages.items if m.severity == "error"]
        certain = [m for m in errors if not self._doubts.doubtful(m, outline)]
        if certain:
            raise refused(certain)
        return found

    @property
    def holes(self) -> list[str]:
        """The functions that are only named."""
        return list(self.analysis.holes)

    # ------------------------------------------------------------------ meaning

    def name(self, spelling: str) -> str:
        """The name that a spelling means: `tau`, `\\\\tau` and `τ` are one."""
        names = self.analysis.code.tensors
        if spelling in names:
            return spelling
        canonical = canonical_name(spelling)
        if canonical in names:
            return canonical
        import difflib

        close = difflib.get_close_matches(canonical, list(names), 1)
        hint = f"; did you mean {close[0]}?" if close else f"; it has {', '.join(names)}"
        raise IndicialError(f"the program has no tensor {spelling}{hint}")

    def interpret(
        self,
        inputs: Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
        lengths: Mapping[str, Sequence[int]] | None = None,
        want: Sequence[str] | None = None,
        draws: Mapping[str, Any] | None = None,
    ) -> Result:
        """The values of all defined tensors, element by element in float64: slow and right.

        x: (T, K), parameters by name → {"h": (T, J), …}; with a batch in front of the inputs,
        x: (B, T, K) → {"h": (B, T, J), …}.
        """
        from indicial.program.meaning.interpret import InterpretError, interpret

        code = self.code
        given = [
            {self.name(k): v for k, v in (group or {}).items()}
            for group in (inputs, parameters, draws)
        ]
        try:
            return interpret(
                code,
                given[0],
                given[1],
                sizes=self.sizes(sizes or {}),
                lengths=lengths,
                want=[self.name(w) for w in want] if want is not None else None,
                draws=given[2],
            )
        except InterpretError as error:
            raise IndicialError(str(error)) from error

    def sizes(self, given: Mapping[str, int]) -> dict[str, int]:
        """Sizes as given, with those that the text fixes; any spelling of a name will do."""
        code = self.code
        known = {name: value for name, value in code.sizes.items() if value is not None}
        for name, value in given.items():
            key = name if name in code.sizes else canonical_name(name)
            if key not in code.sizes:
                listed = f"its sizes are {', '.join(code.sizes)}" if code.sizes else "it has none"
                axes = [(axis, t.name) for t in code.tensors.values() for axis in t.axes]
                for axis, tensor in axes:
                    if capital(axis.letter or "·") == key and axis.extent.name:
                        listed += f" ({key} is {axis.extent} in {tensor})"
                        break
                raise IndicialError(f"the program has no size {name}; {listed}")
            known[key] = value
        return known

    @cached_property
    def cost(self) -> Cost:
        """Parameters, work, memory and parallel time as formulas of the sizes."""
        from indicial.program.cost.cost import cost

        return cost(self.code)

    # ------------------------------------------------------------------ running fast

    @property
    def compilable(self) -> ir.Code:
        """The checked program, if it is not so long that compiling it would take minutes."""
        code = self.code
        nodes = sum(len(s.body.descendants()) + 1 for s in code.statements)
        if nodes > MOST_NODES:
            raise IndicialError(
                f"the equations have {nodes:,} parts (numbers, reads, operations); {MOST_NODES:,} is "
                "the limit of what is compiled. Write sums of many terms with an index: Σ_i a[i] x[i]"
            )
        return code

    def compile(
        self,
        *,
        sizes: Mapping[str, int] | None = None,
        start: Mapping[str, Any] | None = None,
        device: Any = None,
        dtype: Any = None,
        **named: int,
    ) -> ProgramModule:
        """A `torch.nn.Module` that computes what the equations say.

        >>> module = program.compile(J=256, K=128)
        >>> module(x=x)["h"]                    # x: (B, T, K) → (B, T, J)

        Sizes that the inputs do not tell are given by name, in `sizes` if the name is no identifier.
        `start={"B^G": -1.0}` says where a parameter starts: a number, a tensor, or a function that
        fills one. `device` and `dtype` are those of the parameters.
        """
        from indicial.compile.module.module import ProgramModule

        if self.holes:
            hole = self.holes[0]
            raise IndicialError(
                f"{hole} is only named; say what it is: `{hole} = {filling(hole)}` in the text, or "
                f'load(…, fills={{"{hole}": "{filling(hole)}"}})'
            )
        given = self.sizes({**(sizes or {}), **named})
        return ProgramModule(
            self.compilable, given, title=self.title, start=start, device=device, dtype=dtype
        )

    def torch_source(self, want: Sequence[str] | None = None) -> str:
        """The PyTorch source that computes the wanted tensors, or what the program is for."""
        from indicial.compile.module.module import torch_source

        names = [self.name(w) for w in want] if want is not None else None
        return torch_source(self.compilable, names)

    # ------------------------------------------------------------------ printing

    @property
    def equations(self) -> list[Equation]:
        return [e for e in self.written if isinstance(e, Equation)]

    def latex(self) -> str:
        """The equations as LaTeX, ready for a slide."""
        return latex(self.written)

    def unicode(self) -> str:
        return unicode(self.written)

    def plain(self) -> str:
        """The equations in pure ASCII."""
        return plain(self.written)

    def explain(self, **options: Any) -> str:
        """How the program was read, what it costs: see `indicial explain`."""
        from indicial.program.explain.explain import explain

        return explain(self, **options)

    def _repr_markdown_(self) -> str:
        return f"$$\n{self.latex()}\n$$"

    def __repr__(self) -> str:
        unread = f", {len(self.skipped)} not read" if self.skipped else ""
        return f"Program({self.title or 'untitled'}: {len(self.equations)} equations{unread})"


def _own(value: Fill) -> str | tuple[str, list[Statement]]:
    return (value.title, value.as_filling()) if isinstance(value, Program) else os.fspath(value)


def _left_names(statement: Statement) -> list[Name]:
    """The names on the left side of an equation."""
    left = statement.sides[0].walk() if isinstance(statement, Equation) else ()
    return [node for node in left if isinstance(node, Name)]


def _without_derivatives(statements: Iterable[Statement]) -> tuple[list[Statement], list[Skipped]]:
    """Equations with ∂ or ∇ speak about other equations; they compute nothing themselves."""
    kept: list[Statement] = []
    skipped: list[Skipped] = []
    for statement in statements:
        if any(n.base in ("∂", "∇") for n in statement.every(Name)):
            skipped.append(Skipped(statement.span, "it is about derivatives"))
        else:
            kept.append(statement)
    return kept, skipped
