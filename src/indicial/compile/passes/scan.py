"""Parts of a program as programs of their own: one loop over time, and one term of a sum over choices.

    for ℓ: for t:  h[ℓ+1,t,j] = tanh(Σ_i W[ℓ,j,i] h[ℓ+1,t-1,i] + R^{in}[ℓ+1,t,j])

    h[t,j] = tanh(Σ_i W[j,i] h[t-1,i] + R^{in}[t,j])        with W, R^{in} as arguments

What outer loops fix is fixed before the call, so the axes that they walk are gone. Everything that
is read and not computed in the loop is an argument; so is the start of a recurrence, `h[-1,j]`.

    y^{each}[t,e,i] = Σ_F P[t,e] W[e,i,F] ReLU(Σ_J U[e,F,J] x[t,J])

    y^{each}[i] = Σ_F P W[i,F] ReLU(Σ_J U[F,J] x[J])        of one place t and one choice e

P and x are its inputs, one for each of the places t that chose e; U and W are its parameters, those of e.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from indicial.compile.passes.new_tensors import derived_name, over
from indicial.compile.schedule.schedule import Call, Loop, Piece, needs
from indicial.program import ir
from indicial.program.meaning.differing import varying
from indicial.program.moving import moved, specialised
from indicial.program.rewrite import free_in_place, size_indices, sizes_in, with_reads
from indicial.program.sizes import Size

if TYPE_CHECKING:
    import torch

    Lengths = Mapping[str, torch.Tensor]


class Unsupported(Exception):
    """Why a loop has no kernel; the emitted PyTorch runs instead."""


@dataclass(frozen=True)
class Members:
    """How a loop is called in which nothing differs between members, or only their lengths."""

    lifted: int | None
    """The number of the argument that is given as if it differed, if one is."""
    by_length: bool

    def run(
        self,
        run: Callable[[Sequence[torch.Tensor], Mapping[str, int], Lengths], list[torch.Tensor]],
        arguments: Sequence[torch.Tensor],
        sizes: Mapping[str, int],
        lengths: Lengths,
    ) -> list[torch.Tensor]:
        """What `run` gives; where nothing differs between members, of one, without the batch."""
        at = self.lifted
        if at is None:
            return run(arguments, sizes, lengths)
        own = arguments[at]
        count = next(iter(lengths.values())).shape[0] if self.by_length else 1
        given = [*arguments[:at], own.expand(count, *own.shape), *arguments[at + 1 :]]
        if self.by_length:
            return run(given, sizes, lengths)
        return [output[0] for output in run(given, sizes, {})]


@dataclass(frozen=True)
class Scan:
    """The loop as a program. `arguments` and `results` say what its names are outside."""

    code: ir.Code
    walk: tuple[Size, Size]
    """The first step, and how many there are."""
    arguments: dict[str, Piece]
    results: dict[str, Piece]
    unbatched: frozenset[str] = field(default_factory=frozenset)
    """The arguments that are the same for all members of a batch."""
    absorbed: tuple[ir.Statement, ...] = ()
    """Statements outside the loop that only it reads, and that came along."""
    before: tuple[str, ...] = ()
    """What those define."""
    readers: tuple[ir.Statement, ...] = ()
    """The sums outside the loop that alone read its state, and that came along."""
    lifted: str = ""
    """Where no argument differs between members, the one that is given as if it did."""
    by_length: bool = False
    """Whether members differ all the same, because their lengths do."""
    ragged: frozenset[str] = frozenset()
    """The sizes that differ between members."""
    once: bool = False
    """Whether it has one step only, so that all that differs between members is computed in it."""

    def outputs(self, needed: Collection[str]) -> list[str]:
        """Those of its results that somebody needs."""
        return [name for name, piece in self.results.items() if piece.tensor in needed]

    def call(
        self, loop: Loop, outputs: Iterable[str], names: tuple[str, ...], function: Any
    ) -> Call:
        """The call of a function that computes some results, given the sizes of these names."""
        results = tuple(self.results[name] for name in outputs)
        return Call(loop, tuple(self.arguments.values()), results, names, function)

    @property
    def members(self) -> Members:
        at = list(self.arguments).index(self.lifted) if self.lifted else None
        return Members(at, self.by_length)


def sizes_of(code: ir.Code) -> tuple[str, ...]:
    """The sizes that a program needs to know: of its ranges, and those that equations compute with."""
    places = (v.place.offset for s in code.statements for v in s.body.every(ir.IndexValue))
    used = {name for size in (*sizes_in(code), *places) for name in size.names}
    return tuple(name for name in code.sizes if name in used)


def extract(
    code: ir.Code,
    outer: Sequence[Loop],
    loop: Loop,
    absorb: Sequence[ir.Statement] = (),
    ragged: Collection[str] = (),
    readers: Sequence[ir.Statement] = (),
) -> Scan:
    """The program of one loop over time, `Unsupported` where it has no such form.

    `absorb` are statements that nobody but the loop needs, `readers` those that alone need its
    state; they become part of its program.
    """
    fixed = {o.variable for o in outer}
    return _Extraction(code, fixed, outer, loop, absorb, frozenset(ragged), readers).scan()


@dataclass
class Pieces:
    """The slices of a program's tensors that a program made of it has, each under a name of its own.

    What is read at `W[v-1,j,i]`, with v `fixed`, is a tensor with two axes there.
    """

    code: ir.Code
    fixed: Collection[str]

    def __post_init__(self) -> None:
        self.names: dict[Piece, str] = {}
        self.tensors: dict[str, ir.Tensor] = {}

    def slice(self, tensor: str, places: Sequence[object]) -> Piece:
        """Which axes of a read are fixed."""
        fixed = tuple(
            place
            if isinstance(place, ir.Affine)
            and place.terms
            and {name for name, _ in place.terms} <= set(self.fixed)
            else None
            for place in places
        )
        return Piece(tensor, fixed)

    def name(self, piece: Piece, role: str) -> str:
        """The name of a slice in the new program; made when it is first asked for."""
        if piece not in self.names:
            old = self.code.tensors[piece.tensor]
            name = old.name
            if name in self.tensors:
                name = derived_name(self.tensors, old.name, "at")
            axes = piece.rest(old.axes)
            if any(size_indices(size) for a in axes for size in a.range):
                raise Unsupported(f"the extent of {old.name} depends on an index")
            self.names[piece] = name
            self.tensors[name] = replace(old, name=name, axes=axes, role=role)
        return self.names[piece]


@dataclass
class _Extraction(Pieces):
    outer: Sequence[Loop]
    loop: Loop
    absorb: Sequence[ir.Statement]
    ragged: frozenset[str]
    readers: Sequence[ir.Statement]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.varying = varying(self.code, self.ragged)

    def scan(self) -> Scan:
        inside = self.inside()
        moved = [self.without_outer(s) for s in inside]
        own = dict.fromkeys(self.slice(s.target, s.left) for s in moved)
        for piece in own:
            self.name(piece, "defined")
        starts = [start for piece in own for start in self.starts(piece, inside)]
        brought = [self.without_outer(s) for s in self.absorb]
        before = dict.fromkeys(self.slice(s.target, s.left) for s in brought)
        behind = [self.without_outer(s) for s in self.readers]
        own |= dict.fromkeys(self.slice(s.target, s.left) for s in behind)
        for piece in (*before, *own):
            self.name(piece, "defined")
        statements = [self.renamed(s) for s in (*brought, *moved, *behind)]
        results = {self.names[piece]: piece for piece in own}
        arguments = {
            name: piece
            for piece, name in self.names.items()
            if piece not in own and piece not in before
        }
        sizes = dict(self.code.sizes)
        constants = {n: v for n, v in self.code.constants.items() if n in self.tensors}
        for name in constants:
            del arguments[name]
        code = ir.Code(self.tensors, (*starts, *statements), sizes, constants)
        fixed = frozenset(n for n in arguments if self.tensors[n].role == "parameter")
        made = tuple(self.names[piece] for piece in before)
        lifted = "" if fixed < arguments.keys() else self.lifted(arguments)
        by_length = bool(lifted) and not self.varying.isdisjoint(s.target for s in inside)
        return Scan(
            code, (self.loop.lower, self.loop.extent), arguments, results, fixed - {lifted}, tuple(self.absorb), made,
            tuple(self.readers), lifted, by_length, self.ragged,
        )  # fmt: skip

    def inside(self) -> list[ir.Statement]:
        """The loop's statements, and those beside it that define other elements that it reads.

        `h[t,j] = x[t,j] for u[t] > 0` beside `h[t,j] = … h[t-1,j] …`; what wins comes first.
        """

        def outer(name: str) -> list[int]:
            return [loop.axes[name] for loop in self.outer if name in loop.axes]

        own = {s.number for s in self.loop.statements()}
        read = {need.definer.number for need in needs(self.code) if need.reader.number in own}
        others = {
            s.number
            for name, axis in self.loop.axes.items()
            for s in self.code.of(name)
            if s.number in read
            and all(getattr(s.left[a], "terms", ()) for a in (axis, *outer(name)))
        }
        return [s for s in self.code.statements if s.number in own | others]

    def lifted(self, arguments: Collection[str]) -> str:
        """One of the arguments, from now on an input: all that the loop computes depends on it."""
        if not arguments:
            raise Unsupported("nothing enters the loop")
        name = min(arguments, key=lambda n: len(self.tensors[n].axes))
        self.tensors[name] = replace(self.tensors[name], role="input")
        return name

    def without_outer(self, statement: ir.Statement) -> ir.Statement:
        """The statement with the outer loops' variables in the place of its own indices."""
        places: dict[str, ir.Affine] = {}
        for loop in self.outer:
            if statement.target not in loop.axes:
                continue
            found = loop.fixed(statement)
            if found is None:
                raise Unsupported(f"{statement.target} is defined at one value of {loop.letter}")
            places[found[0]] = found[1]
        if any(size_indices(size) for i in statement.indices for size in i.range):
            raise Unsupported(f"the ranges of {statement.target} depend on an index")
        if any(isinstance(place, ir.Flat) for place in statement.left):
            raise Unsupported("several indices share a place on the left")
        return specialised(statement, places)

    def argument_role(self, tensor: str) -> str:
        if tensor in self.code.constants:
            return "constant"
        return "input" if tensor in self.varying else "parameter"

    def renamed(self, statement: ir.Statement) -> ir.Statement:
        piece = self.slice(statement.target, statement.left)
        left = piece.rest(statement.left)
        return replace(statement.rebuild(self.reads_renamed), target=self.names[piece], left=left)

    def reads_renamed(self, expression: ir.Expression) -> ir.Expression:
        def change(node: ir.Read) -> ir.Read:
            piece = self.slice(node.tensor, node.places)
            name = self.name(piece, self.argument_role(node.tensor))
            return replace(node, tensor=name, places=piece.rest(node.places))

        for node in expression.walk():
            if isinstance(node, ir.IndexValue) and free_in_place(node.place) & set(self.fixed):
                raise Unsupported("an equation reads which round of an outer loop it is in")
            for size in _sizes(node):
                if size_indices(size):
                    raise Unsupported("a range depends on an index")
        return with_reads(expression, change)

    def starts(self, piece: Piece, inside: Sequence[ir.Statement]) -> list[ir.Statement]:
        """`h[-1,j] = h^{start}[j]` for each element that is defined outside the loop."""
        result: list[ir.Statement] = []
        axis = self.loop.axes.get(piece.tensor)
        if axis is None:
            return result
        for statement in self.code.of(piece.tensor):
            if any(statement is s for s in inside) or not self.may_meet(statement, piece):
                continue
            place = statement.left[axis]
            if not isinstance(place, ir.Affine) or place.terms or statement.guard is not None:
                raise Unsupported(f"{piece.tensor} is defined in two ways, one outside the loop")
            result.append(self.start(piece, axis, place))
        return result

    def may_meet(self, statement: ir.Statement, piece: Piece) -> bool:
        """Whether a statement outside the loop defines elements of this slice.

        `h[0,t,j] = …` is another layer than those that the loop over ℓ walks.
        """
        for place, fixed in zip(statement.left, piece.places, strict=True):
            if fixed is not None and isinstance(place, ir.Affine) and not place.terms:
                return False
        return True

    def start(self, piece: Piece, axis: int, place: ir.Affine) -> ir.Statement:
        fixed = list(piece.places)
        fixed[axis] = place
        at = Piece(piece.tensor, tuple(fixed))
        own = self.names[piece]
        name = derived_name(self.tensors, own, "start")
        axes = at.rest(self.code.tensors[piece.tensor].axes)
        self.names[at] = name
        self.tensors[name] = ir.Tensor(name, axes, self.argument_role(piece.tensor))
        indices, places = over(axes)
        spare = iter(places)
        left = tuple(
            place if number == axis else next(spare)
            for number, p in enumerate(piece.places)
            if p is None
        )
        return ir.Statement(own, left, indices, ir.Read(name, places))


def _sizes(node: ir.Expression) -> list[Size]:
    match node:
        case ir.Reduce(_, indices, _, _) | ir.Softmax(indices, _, _):
            return [size for i in indices for size in i.range]
        case _:
            return []


@dataclass(frozen=True)
class Rows:
    """What is computed for one place and one choice; the places are the batch of this program."""

    code: ir.Code
    mask: ir.Read
    """The choice, with the index of what is chosen last."""
    output: str
    arguments: dict[str, Piece]
    kept: tuple[str, ...]
    """The indices of a place that the sum keeps."""


def rowwise(
    code: ir.Code,
    total: str,
    members: Collection[str],
    differing: Collection[str],
    fixed: Collection[str] = (),
) -> Rows:
    """The program of one place and one choice, `Unsupported` where it needs to know more than that.

    `fixed` are indices of loops around, which are no part of a place.
    """
    (statement,) = code.of(total)
    body = statement.body
    assert isinstance(body, ir.Reduce) and isinstance(body.condition, ir.Apply)
    mask, each = body.condition.arguments[0], body.body
    assert isinstance(mask, ir.Read) and isinstance(each, ir.Read)
    names = [name for p in mask.places if (name := ir.index_at(p)) and name not in fixed]
    ranges = {**statement.scope, **{i.name: i for i in body.indices}}
    made = _Rowwise(code, {n: ranges[n] for n in names}, members, differing)
    made.define(each)
    constants = {n: v for n, v in code.constants.items() if n in made.tensors}
    rows = ir.Code(made.tensors, tuple(made.statements), dict(code.sizes), constants)
    kept = tuple(n for n in names if n in statement.scope)
    return Rows(rows, mask, made.names[made.slice(each.tensor, each.places)], made.arguments, kept)


@dataclass
class _Rowwise(Pieces):
    """Statements without the indices of a place; the last of them is what is chosen."""

    fixed: dict[str, ir.Index]
    members: Collection[str]
    differing: Collection[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.statements: list[ir.Statement] = []
        self.arguments: dict[str, Piece] = {}

    def define(self, read: ir.Read) -> None:
        """The statement of a tensor, and before it those of what it reads."""
        piece = self.slice(read.tensor, read.places)
        if piece in self.names:
            return
        if any(known.tensor == read.tensor for known in self.names):
            raise Unsupported(f"{read.tensor} is read in two ways")
        (statement,) = self.code.of(read.tensor)
        places: dict[str, ir.Affine] = {}
        for left, name in zip(statement.left, piece.fixed, strict=True):
            own = ir.index_at(left)
            if name and own is None:
                raise Unsupported("a place on the left that is no index")
            if name and own is not None:
                places[own] = ir.Affine.of(name)
        self.name(piece, "defined")
        body = moved(statement.body, places)
        for node in body.walk():
            match node:
                case ir.IndexValue(place) if free_in_place(place) & self.fixed.keys():
                    raise Unsupported("it depends on where it is")
                case ir.Reduce() | ir.Softmax() if any(i.name in self.fixed for i in node.indices):
                    raise Unsupported("it needs all places")
        indices = tuple(i for i in statement.indices if i.name not in places)
        body = with_reads(body, self.renamed)
        self.statements.append(
            ir.Statement(self.names[piece], piece.rest(statement.left), indices, body)
        )

    def renamed(self, read: ir.Read) -> ir.Read:
        for place in read.places:
            if ir.index_at(place) is None and free_in_place(place) & self.fixed.keys():
                raise Unsupported(f"{read.tensor} is read at another place")
        if read.tensor in self.members:
            self.define(read)
        piece = self.slice(read.tensor, read.places)
        if piece not in self.names:
            self.take(piece)
        return replace(read, tensor=self.names[piece], places=piece.rest(read.places))

    def take(self, piece: Piece) -> None:
        """What is not computed here is an argument."""
        if piece.tensor in self.code.constants:
            self.name(piece, "constant")
            return
        for axis, name in zip(self.code.tensors[piece.tensor].axes, piece.fixed, strict=True):
            here = self.fixed.get(name or "")
            if here is not None and axis.range != here.range:
                raise Unsupported(f"{piece.tensor} has another range")
        differs = piece.tensor in self.differing or set(piece.fixed) & {*list(self.fixed)[:-1]}
        self.name(piece, "input" if differs else "parameter")
        self.arguments[self.names[piece]] = piece
