"""Reading tensors: the items of a name become places, and letters and axes share their sizes.

    h[t-1,I]   →   Read("h", (t-1, I)); the size of I is that of the second axis of h

Here also stands what was left out and is meant: an index per step, the batch, a trailing slice.
"""

from __future__ import annotations

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.context import (
    ZERO,
    AxisInfo,
    Context,
    Note,
    Open,
    TensorInfo,
    Term,
    Variable,
)
from indicial.program.lowering.places import Placed, describe, main_variable, place
from indicial.program.lowering.scope import Scope, token_name
from indicial.program.names.letters import capital, family, index_name, is_capital
from indicial.program.names.naming import Reference
from indicial.program.names.outline import Definition, Outline
from indicial.program.sizes import Size


class Reading:
    """What is known of a program while its expressions are lowered, and how tensors are read."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.outline = context.outline
        self.messages = context.messages
        self.bounds: dict[str, tuple[int, int]] = {}
        """What the text says of a family's range: (1, 0) for 1..T, (0, -1) for 0..T-1."""
        self.layered: set[str] = set()
        """The families that are stepped on a left side: the ℓ of `L_{ℓ+1}`."""
        self.by_layer: set[tuple[str, int]] = set()
        """The axes of layers: those of `h[ℓ+1,t,j]` and of what its equation reads at ℓ or ℓ+1."""
        self.index_keys: set[str] = set()
        """The letters that are an index somewhere: on a left side, or below a Σ."""
        self.sizes_named: dict[str, s.Name] = {}
        """The names that are sizes outside brackets."""
        self.trailing: dict[int, s.Name] = {}
        """The slice that a statement leaves out on both sides."""
        self.broken: set[int] = set()
        """Statements with a mistake that makes others follow: those are not said."""
        self.flattened: dict[int, tuple[Variable, Variable, Variable]] = {}
        """Statements that join over an index: the joined index, the outer and the inner one."""

    def note(self, subject: str, text: str, span: Span) -> None:
        self.context.notes.append(Note(subject, text, span))

    def unbound(self, node: s.Name, scope: Scope) -> None:
        key = name_key(node)
        others = sorted(k for k in scope.variables if not is_capital(k[0]))
        known = f"bound here are {', '.join(others)}" if others else "no index is bound here"
        if len(others) == 1:
            known = f"only {others[0]} is bound here"
        index = index_name(node)
        hint = f"put {key} on the left, or sum over it: Σ_{{{key}}} …"
        if index is not None and not is_capital(index.base):
            hint += f", or write {capital(family(index))} to have it summed where it occurs twice"
        sites = [(node.span, "not bound")]
        for other, variable in scope.variables.items():
            if index is not None and variable.family == family(index) and is_capital(other[0]):
                sites.append((variable.span, f"{other} is bound, not {key}"))
                hint = f"write {key} there too, or {other} in both places"
        sites.extend(self.left_site(scope, f"no {key} here"))
        self.messages.join("unbound-index", f"unbound index {key}: {known}", *sites, hint=hint)

    def left_site(self, scope: Scope, remark: str) -> list[tuple[Span, str]]:
        """The left side of the equation that is being read, if it has one."""
        definitions = self.outline.definitions
        known = 0 <= scope.number < len(definitions)
        return [(definitions[scope.number].left.span, remark)] if known else []

    def may_be_label(self, node: s.Name) -> bool:
        """In a document, a letter that is never an index anywhere is the name of one element."""
        key = name_key(node)
        return key not in self.index_keys

    def constant_value(self, key: str) -> float:
        node = self.outline.constants[key][1]
        try:
            return float(node.text) if isinstance(node, s.Number) else 0.0
        except ValueError:
            return 0.0

    def size_of(self, name: s.Name, scope: Scope) -> Size:
        """The size that a capital (or a lower-case size such as n) stands for."""
        of = family(name) if is_capital(name.base) else name_key(name)
        classes = self.context.classes
        if of in scope.families:
            return classes.atom(scope.families[of])
        key = name_key(name)
        if key not in self.context.size_classes:
            self.context.size_classes[key] = classes.new(key, name.span, priority=3)
        return classes.atom(self.context.size_classes[key])

    def tensor(self, key: str, count: int, span: Span) -> TensorInfo:
        """What is known about a tensor; a new one has as many axes as it is read with."""
        if key not in self.context.tensors:
            axes = [AxisInfo(self.context.classes.new("", span, priority=9)) for _ in range(count)]
            self.context.tensors[key] = TensorInfo(key, axes, span)
        return self.context.tensors[key]

    def read(self, reference: Reference, scope: Scope) -> Term:
        """A tensor at its indices."""
        key = reference.key
        if key not in self.context.tensors and scope.prefix:
            key = scope.prefix + key
        group = scope.group if scope.prefix and key.startswith(scope.prefix) else ()
        info = self.tensor(key, len(group) + len(reference.items), reference.span)
        items = self.complete(info, reference, scope, len(group))
        if items is None:
            self.broken.add(scope.number)
            return Term(ZERO)
        placed = [*(Placed(p, list(v)) for p, v in group), *(place(self, i, scope) for i in items)]
        info.reads.append((reference.span, tuple(describe(i) for i in items), scope.number))
        spans = [reference.span] * len(group) + [i.span for i in items]
        result = self.read_at(info, placed, spans, scope)
        assert isinstance(result.expression, ir.Read)
        first = len(info.axes) - len(reference.items)
        for opened in result.opens.values():
            opened.below = any(
                0 <= n - first < reference.scripts
                or isinstance(reference.items[n - first], s.Group)  # a script, of vector style
                for _, _, n in opened.sites
            )
        return Term(ir.Read(key, result.expression.places, span=reference.span), result.opens)

    def read_at(
        self, info: TensorInfo, placed: list[Placed], spans: list[Span], scope: Scope
    ) -> Term:
        """A read at places: joins the sizes of indices and axes."""
        opens: dict[str, Open] = {}
        for number, (one, axis, span) in enumerate(zip(placed, info.axes, spans, strict=True)):
            axis.reads.append((one.place, one.variables))
            self.meet(info, number, one, span)
            for variable in one.opened:
                site = (span, info.key, number)
                if variable.name in opens:
                    opens[variable.name].count += 1
                    opens[variable.name].sites.append(site)
                else:
                    opens[variable.name] = Open(variable, 1, [site])
        return Term(ir.Read(info.key, tuple(p.place for p in placed)), opens)

    def meet(self, info: TensorInfo, number: int, placed: Placed, span: Span) -> None:
        """An index stands at an axis: their sizes are the same."""
        axis = info.axes[number]
        classes = self.context.classes
        if isinstance(placed.place, ir.Gather):
            values = self.context.tensors[placed.place.read.tensor].values
            if values is not None:
                classes.union(values, axis.size, span)
            return
        if isinstance(placed.place, ir.Flat):
            classes.count_pairs(axis.size, [v.size for v, _ in placed.variables], span)
            axis.letter = axis.letter or "(" + ",".join(v.family for v, _ in placed.variables) + ")"
            return
        main = main_variable(placed)
        if main is None:
            return
        variable, factor = main
        if factor == 1:
            if len(placed.variables) == 1 or not variable.family.startswith("Δ"):
                classes.union(axis.size, variable.size, span)
            if placed.place.shift == (variable.name, 0):
                variable.plain.append((info.key, number))
            if not axis.letter:
                axis.letter = variable.family
        elif factor > 1:
            axis.stride = factor
            if not axis.letter:
                axis.letter = variable.family

    def complete(
        self, info: TensorInfo, reference: Reference, scope: Scope, group: int = 0
    ) -> tuple[s.Expression, ...] | None:
        """The items of a read, with what was left out."""
        items = reference.items
        missing = len(info.axes) - len(items) - group
        if missing > 0 and len(info.lifted) == missing:
            return (*info.lifted, *items)
        if missing > 0:
            trailing = self.trailing.get(scope.number)
            if trailing is not None and missing == 1:
                return (*items, trailing)
            families = [describe(i) for i in items]
            letters = [a.letter for a in info.axes]
            bare = "b" in scope.variables and "b" not in families
            if letters[0] == "b" and missing == 1 and bare:
                self.messages.warning(
                    "batch-index", f"{info.key} has the batch index b, which is left out here",
                    (reference.span, "read with b in front"), (info.span, "b is written here"),
                    hint=f"write {reference.span.text.replace('[', '[b,', 1)}",
                )  # fmt: skip
                return (s.Name("b", span=reference.span), *items)
            self.wrong_count(info, reference, families)
            return None
        if missing < 0:
            self.wrong_count(info, reference, [describe(i) for i in items])
            return None
        return items

    def wrong_count(self, info: TensorInfo, reference: Reference, families: list[str]) -> None:
        have, want = len(families), len(info.axes)
        letters = [a.letter or "·" for a in info.axes]
        for definition in self.outline.definitions:
            if definition.key == info.key and len(definition.items) == want:
                letters = [describe(i) for i in definition.items]
        shape = f"{info.key}[{', '.join(letters)}]" if want else info.key
        otherwise = hint = f"elsewhere it is {shape}"
        fix: tuple[Span, str] | None = None
        if _missing(families, letters):
            written = self._with_missing(info.key, reference, families, letters)
            hint += f"; write {written}"
            fix = reference.span, written
        if twice := _written_twice(info.span.text, families, letters):
            # `G_t[t,j]` beside `G[t,j]`: the first has its t in two places, and the second is right.
            self.messages.error(
                "index-count", f"{info.key} has {twice} twice here, below it and in its brackets",
                (info.span, _count(want)), (reference.span, f"{_count(have)} here"),
                hint=f"write {reference.span.text}", fix=(info.span, reference.span.text),
            )  # fmt: skip
            info.wrong = True
            return
        used = f"with {have}" if have else "without any"
        self.messages.error(
            "index-count",
            f"{info.key} has {_count(want)}, but is used {used} here",
            (reference.span, _count(have)),
            (info.span, _count(want)),
            hint=hint,
            fix=fix,
            otherwise=otherwise,
        )
        info.wrong = True

    def _with_missing(
        self, key: str, reference: Reference, families: list[str], letters: list[str]
    ) -> str:
        """`α[k,t,T]` with what it lacks, as its equation has it: `α_{ℓ+1}[k,t,T]`.

        Where the left side of the equation has that letter, it is taken as it stands there.
        """
        here, there = _defining(self.outline, reference.span), None
        for definition in self.outline.definitions:
            if definition.key == key and len(definition.items) == len(letters):
                there = definition.left
        own = {describe(i): i.span.text for i in here.items} if here is not None else {}
        below = _subscripts(there) if there is not None else set()
        given = iter(zip(families, reference.items, strict=False))
        waiting = next(given, None)
        scripts: list[str] = []
        inside: list[str] = []
        for letter in letters:
            if waiting is not None and waiting[0] == letter:
                target = scripts if letter in below and _is_below(reference, waiting[1]) else inside
                target.append(waiting[1].span.text)
                waiting = next(given, None)
            else:
                (scripts if letter in below else inside).append(own.get(letter, letter))
        head = reference.span.text.partition("[")[0].partition("_")[0].strip()
        script = f"_{{{','.join(scripts)}}}" if scripts else ""
        return f"{head}{script}[{', '.join(inside)}]"

    def token_values(self, key: str, span: Span) -> int:
        """The class of a token tensor's vocabulary."""
        info = self.context.tensors[key]
        if info.values is None:
            info.values = self.context.classes.new("V", span, 6)
        return info.values

    def token_of(
        self, node: s.Expression
    ) -> tuple[Reference, tuple[str, tuple[s.Expression, ...]]] | None:
        """`w_t`, `w[t]` as a token: the tensor and its place; `y` too, if it is `input y in C`."""
        label = isinstance(node, s.Name) and self._is_label(node)
        if token_name(node) is None and not label:
            return None
        use = self.outline.use(node)
        if use is None or use.kind != "tensor" or not (use.reference.items or label):
            return None
        return use.reference, (use.reference.key, use.reference.items)

    def _is_label(self, name: s.Name) -> bool:
        """Whether a bare name is an input that ranges over a vocabulary."""
        known = self.context.tensors.get(name_key(name))
        return (
            known is not None
            and known.role == "input"
            and known.values is not None
            and not known.axes
        )


def _defining(outline: Outline, span: Span) -> Definition | None:
    """The equation that a read stands in."""
    for definition in outline.definitions:
        whole = definition.equation.span
        if span.within(whole):
            return definition
    return None


def _subscripts(left: s.Expression) -> set[str]:
    """The letters that a left side has below its name: the ℓ of `α_{ℓ+1}[k,t]`."""
    name = left.base if isinstance(left, s.Index) else left
    return {describe(i) for i in name.sub} if isinstance(name, s.Name) else set()


def _is_below(reference: Reference, item: s.Expression) -> bool:
    return item.span.start < reference.span.start + reference.span.text.find("[")


def _written_twice(text: str, families: list[str], letters: list[str]) -> str:
    """The letter of `G_t[t,j]` that stands below the name and in the brackets, if that is one too many."""
    head, bracket, _ = text.partition("[")
    for letter in families:
        once = list(letters)
        if letters.count(letter) > 1:
            once.remove(letter)
            if bracket and once == families and "_" in head:
                return letter
    return ""


def _missing(families: list[str], letters: list[str]) -> bool:
    """Whether what is written is what is known, with some letters left out."""
    rest = iter(letters)
    plain = not any(x in "·#@" for x in (*families, *letters))
    return 0 < len(families) < len(letters) and plain and all(f in rest for f in families)


def _count(number: int) -> str:
    return "no index" if number == 0 else f"{number} ind{'ex' if number == 1 else 'ices'}"
