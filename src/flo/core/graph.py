"""L^G, graphs (§4): `e;e`, `e|e` and `{S}[op]`; their inputs; and the paper's notation, printed and parsed.

The first part has the grammar and the functions inputs(e) and setinput(e, I) of the figure "small-step semantics for
graphs". The second part writes a graph in the paper's notation (`show`) and reads it back (`parse`).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

from flo.core.collection import Value
from flo.core.errors import CheckpointError, FloError, NotationError, Origin, TypeMismatch
from flo.core.operator import Operator, Values
from flo.core.term import PASSED, Call, Lifting, Lowerable, Lowering, Name, Term, register


class _Notation(Lowerable):
    """Base class of graphs; `str` prints the paper's notation."""

    __slots__ = ()

    def __str__(self) -> str:
        return show(self)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Node(_Notation):
    """{S}[op]: an operator and its buffered inputs. `state` is None where the text has `{_}`: not typed yet."""

    state: Values | None
    operator: Operator
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def arity(self) -> tuple[int, int]:
        """The numbers of inputs and outputs."""
        return self.operator.arity

    def lower(self, lower: Lowering) -> Term:
        return Call("{}[]", (lower(self.state), lower(self.operator)))


@dataclass(frozen=True, slots=True)
class Sequential(_Notation):
    """e₁ ; e₂."""

    left: Graph
    right: Graph
    arity: tuple[int, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arity", (self.left.arity[0], self.right.arity[1]))

    def lower(self, lower: Lowering) -> Term:
        return Call(";", (lower(self.left), lower(self.right)))


@dataclass(frozen=True, slots=True)
class Parallel(_Notation):
    """e₁ | e₂."""

    left: Graph
    right: Graph
    arity: tuple[int, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        (left_in, left_out), (right_in, right_out) = self.left.arity, self.right.arity
        object.__setattr__(self, "arity", (left_in + right_in, left_out + right_out))

    def lower(self, lower: Lowering) -> Term:
        return Call("|", (lower(self.left), lower(self.right)))


Graph: TypeAlias = Node | Sequential | Parallel


def _lift_node(state: Any, operator: Any) -> Node:
    if not isinstance(operator, Operator):
        raise TypeMismatch(f"{operator!r} is not an operator")
    for value in () if state is None else state:
        if not isinstance(value, Value):
            raise TypeMismatch(f"the state of `{operator.name}` holds {value!r}, which is not a collection value")
    return Node(state, operator)


DEEP = 32
"""The longest run of parts that is nested to the left instead of split in halves."""

register("{}[]", _lift_node)
register(";", Sequential)
register("|", Parallel)


def inputs(graph: Graph) -> Values:
    """inputs(e): return the buffered inputs of the whole graph."""
    while isinstance(graph, Sequential):
        graph = graph.left
    match graph:
        case Parallel(left, right):
            return inputs(left) + inputs(right)
        case Node(state):
            if state is None:
                raise TypeMismatch("the graph has elided states `{_}`; call `initial` on it before running it")
            return state


def setinput(graph: Graph, values: Values) -> Graph:
    """setinput(e, I): return the graph with its inputs replaced."""
    match graph:
        case Sequential(left, right):
            return Sequential(setinput(left, values), right)
        case Parallel(left, right):
            split = left.arity[0]
            return Parallel(setinput(left, values[:split]), setinput(right, values[split:]))
        case Node(state, operator, origin):
            if state is not None and len(state) != len(values):
                raise TypeMismatch(f"`setinput` of `{operator.name}` must get {len(state)} values; got {len(values)}")
            return Node(values, operator, origin)


def nodes(graph: Graph) -> Iterator[Node]:
    """Yield every {S}[op] of the graph from left to right, except those inside `nest`."""
    match graph:
        case Node():
            yield graph
        case Sequential(left, right) | Parallel(left, right):
            yield from nodes(left)
            yield from nodes(right)


def sequence(*graphs: Graph) -> Graph:
    """e₁ ; e₂ ; …, nested to the left as in the notation. Long sequences are split in halves to stay shallow."""
    return _grouped(Sequential, graphs)


def parallel(*graphs: Graph) -> Graph:
    """e₁ | e₂ | …, grouped like `sequence`."""
    return _grouped(Parallel, graphs)


def _grouped(pair: Callable[[Graph, Graph], Graph], graphs: tuple[Graph, ...]) -> Graph:
    if len(graphs) > DEEP:
        half = len(graphs) // 2
        return pair(_grouped(pair, graphs[:half]), _grouped(pair, graphs[half:]))
    return reduce(pair, graphs)


def node(operator: Operator, *state: Any) -> Node:
    """{state…}[operator]."""
    return Node(state, operator)


def with_origins(graph: Graph, like: Graph) -> Graph:
    """Return a graph that was lifted from a state with the user's lines, which states do not contain."""
    match graph, like:
        case Sequential(), Sequential():
            return Sequential(with_origins(graph.left, like.left), with_origins(graph.right, like.right))
        case Parallel(), Parallel():
            return Parallel(with_origins(graph.left, like.left), with_origins(graph.right, like.right))
        case Node(state, operator), Node(_, of_program, origin):
            name = operator.name
            if state is None:
                raise CheckpointError(f"the state does not fit the program: it lacks the inputs of `{name}`")
            if type(operator) is not type(of_program):
                raise CheckpointError(f"the state does not fit the program: `{name}` is not `{of_program.name}`")
            return Node(state, operator.with_origins(of_program), origin)
    raise CheckpointError("the state does not fit the program: its graph has a different shape")


_ENDED = Call("sequence", ((), PASSED))
"""A sequence whose end was passed on, printed as a bare ⊗ where it is the state of an operator."""
_GRAPHS = {";", "|", "{}[]"}


def show(graph: Graph, *, states: bool = True) -> str:
    """Return the graph in the paper's notation. With `states=False` every state is printed as `{_}`."""
    return text(Lowering()(graph), states=states)


def names(graph: Graph) -> dict[str, Any]:
    """Return the functions that `parse` needs to read `show(graph)` back, by their printed names."""
    lowering = Lowering()
    lowering(graph)
    return lowering.names


def text(term: Term, *, states: bool = True) -> str:
    """Return the text of a lowered graph, or of any part of one."""
    match term:
        case Call(";", (left, right)):
            return f"{_side(left, '|', states)}; {_side(right, ';|', states)}"
        case Call("|", (left, right)):
            return f"{_side(left, ';', states)} | {_side(right, ';|', states)}"
        case Call("{}[]", (state, operator)):
            held = "_"
            if states and isinstance(state, tuple):
                held = _items(tuple(PASSED if part == _ENDED else part for part in state), states)
            inner = text(operator, states=states)
            return f"{{{held}}}[{inner.removesuffix('()')}]"
        case Call("nest", (body, *_)) if not states:
            return f"nest({_argument(body, states)})"
        case Call("sequence", (elements, bool(end))):
            inside = [_argument(element, states) for element in reversed(elements)]
            return f"[{', '.join(['⊗', *inside] if end else inside)}]"
        case Call("table", (tuple(keys), tuple(values))):
            pairs = zip(keys, values, strict=True)
            return f"{{{', '.join(f'{_argument(k, states)}: {_argument(v, states)}' for k, v in pairs)}}}"
        case Call(PASSED.name, ()):
            return "⊗"
        case Call(name, args):
            return f"{name}({_items(args, states)})"
        case Name(name):
            return name
        case tuple():
            return f"({_items(term, states)}{',' if len(term) == 1 else ''})"
        case int() if abs(term) >= 1 << 200:  # Python limits the conversion of large integers to decimals
            return hex(term)
        case _:
            return repr(term)


def _items(terms: tuple[object, ...], states: bool) -> str:
    return ", ".join(_argument(term, states) for term in terms)


def _argument(term: Any, states: bool) -> str:
    inner = text(term, states=states)
    return f"⟨{inner}⟩" if isinstance(term, Call) and term.name in _GRAPHS else inner


def _side(term: Any, mixed: str, states: bool) -> str:
    inner = text(term, states=states)
    return f"({inner})" if isinstance(term, Call) and term.name in mixed else inner


def parse(source: str, supplied: Mapping[str, object] | None = None) -> Graph:
    """Return the graph that the text describes. `supplied` has the functions and types named in the text."""
    reader = _TermReader(source)
    term = reader.graph()
    reader.expect("")
    try:
        graph: Graph = Lifting(supplied)(term)
    except FloError:
        raise
    except Exception as error:
        raise NotationError(f"the text is not a graph: {error}") from error
    return graph


_TOKEN = re.compile(
    r"""\s*(?:(?P<string>[bB]?'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    |(?P<number>-?(?:inf|nan)\b|-?0x[0-9a-f]+|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>[⊗⟨⟩{}\[\]();|,:])|(?P<end>$))""",
    re.VERBOSE,
)


class _TermReader:
    """A recursive-descent parser with one token of look-ahead."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.place = 0
        self.kind, self.token, self.start = "", "", 0
        self.next()

    def next(self) -> str:
        """Advance to the next token and return the current one."""
        last = self.token
        match = _TOKEN.match(self.source, self.place)
        if match is None:
            self.start = self.place
            self.fail("a token")
        assert match is not None
        assert match.lastgroup is not None
        self.kind, self.token = match.lastgroup, match[match.lastgroup]
        self.start, self.place = match.start(match.lastgroup), match.end()
        return last

    def fail(self, expected: str) -> None:
        before = self.source[: self.start]
        line = before.rsplit("\n", 1)[-1]
        text = self.source.split("\n")[before.count("\n")]
        raise NotationError(
            f"expected {expected}, found {self.token or 'the end'!r}",
            facts=(("text", text), ("", " " * len(line) + "^"), ("grammar", "e ::= e ; e | e | e | {S}[op] | (e)")),
        )

    def expect(self, token: str) -> None:
        if self.token != token:
            self.fail(repr(token) if token else "the end of the text")
        if token:
            self.next()

    def accept(self, token: str) -> bool:
        if self.token == token and self.kind in ("sign", "name"):
            self.next()
            return True
        return False

    def graph(self) -> Term:
        left = self.parallel()
        while self.accept(";"):
            left = Call(";", (left, self.parallel()))
        return left

    def parallel(self) -> Term:
        left = self.unit()
        while self.accept("|"):
            left = Call("|", (left, self.unit()))
        return left

    def unit(self) -> Term:
        if self.accept("("):
            inside = self.graph()
            self.expect(")")
            return inside
        self.expect("{")
        state: Term = None
        if not self.accept("_"):
            state = tuple(_ENDED if part == PASSED else part for part in self.terms("}"))
        self.expect("}")
        if self.accept("["):
            operator = self.operator()
            self.expect("]")
        else:
            operator = self.operator()
        return Call("{}[]", (state, operator))

    def operator(self) -> Term:
        if self.kind != "name":
            self.fail("an operator")
        name = self.next()
        return self.call(name) if self.token == "(" else Call(name)

    def call(self, name: str) -> Call:
        self.expect("(")
        args = self.terms(")")
        self.expect(")")
        return Call(name, args)

    def terms(self, closing: str) -> tuple[Term, ...]:
        terms = []
        while self.token != closing:
            terms.append(self.term())
            if not self.accept(","):
                break
        return tuple(terms)

    def table(self) -> Term:
        keys, values = [], []
        while self.token != "}":
            keys.append(self.term())
            self.expect(":")
            values.append(self.term())
            if not self.accept(","):
                break
        self.expect("}")
        return Call("table", (tuple(keys), tuple(values)))

    def literal(self) -> Term:
        if self.token.lstrip("-") in ("inf", "nan"):
            value = float(self.next())
            return value if value == value else math.nan  # one NaN object for all, as in a restored state
        try:
            term: Term = ast.literal_eval(self.token)
        except (SyntaxError, ValueError):  # such as a number with a leading zero, or an invalid escape
            self.fail("a value")
            raise
        self.next()
        return term

    def term(self) -> Term:
        if self.accept("⟨"):
            inside = self.graph()
            self.expect("⟩")
            return inside
        if self.accept("["):
            end = self.accept("⊗")
            if end:
                self.accept(",")
            elements = self.terms("]")
            self.expect("]")
            return Call("sequence", (tuple(reversed(elements)), end))
        if self.accept("⊗"):
            return PASSED
        if self.accept("{"):
            return self.table()
        if self.accept("("):
            inside = self.terms(")")
            self.expect(")")
            return inside
        if self.kind in ("number", "string"):
            return self.literal()
        if self.kind != "name":
            self.fail("a value")
        name = self.next()
        if name in ("None", "True", "False"):
            return ast.literal_eval(name)  # type: ignore[no-any-return]
        return self.call(name) if self.token == "(" else Name(name)
