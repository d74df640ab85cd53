"""The base of all symbols, and the paths that functions take on them. A symbol stands for every value of a type;
operations on it build terms for the solver. A path is the outcomes of the conditions that the functions test.
"""

from __future__ import annotations

import dataclasses
import dis
import math
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from itertools import takewhile
from types import CodeType, FrameType
from typing import Any, ClassVar, NoReturn, TypeAlias

from flo.core.untyped import AnyFunction, Element
from flo.verify.optional import z3

MOST_TESTS = 100
"""How many conditions a path may test: a loop whose condition is a symbol may never end."""
QUICK = 200_000
"""The budget of the simple solver, before the one with tactics is asked."""


class Untraceable(BaseException):
    """Something that cannot be traced. Not an `Exception`, so that the function's own handlers do not catch it."""


class OutOfWork(Untraceable):
    """The budget of the solver is used up."""


Z3Term: TypeAlias = Any
"""A term, a sort or a model of Z3, which declares no types."""
Decisions = tuple[tuple[Z3Term, bool], ...]


@dataclass
class Question:
    """The state that all paths through the functions share."""

    work: int
    """The remaining budget, in the solver's own units."""
    words: bool
    """Whether texts are represented by their order only."""
    texts: bool = False
    """Whether there are texts among the arguments."""
    floats: bool = False


class Path:
    """Follows the given decisions, then takes what is possible; `others` are the paths not taken."""

    def __init__(self, decisions: Decisions, question: Question, model: Z3Term = None) -> None:
        self.decisions = decisions
        self.question = question
        self.model = model
        """Values that take this path, as far as it is decided."""
        self.taken: list[tuple[Z3Term, bool]] = []
        self.others: list[Path] = []
        self.conditions: list[Z3Term] = []
        self.refusal: Untraceable | None = None
        self.lone_member: Z3Term = None
        """The symbol of a set `{x}` that was just built, and must go into an operation with a set of the solver."""
        self._symbols = 0

    def refuse(self, reason: str) -> NoReturn:
        self.refusal = self.refusal or Untraceable(reason)  # kept in case something catches it
        raise self.refusal

    def name(self) -> str:
        self._symbols += 1
        return f"v{self._symbols}"

    def fork(self, condition: Z3Term) -> bool:
        """Whether the condition holds on this path."""
        self.expect_no_lone_member()
        place = len(self.taken)
        if place < len(self.decisions):
            expected, holds = self.decisions[place]
            if not condition.eq(expected):
                self.refuse("the function does not test the same conditions each time")
        else:
            holds = self._decide(condition)
        self.taken.append((condition, holds))
        self.conditions.append(condition if holds else z3.Not(condition))
        return bool(holds)

    def choose(self, options: list[Any]) -> Any:
        """Choose one of the options; other paths take the others."""
        for option in options[:-1]:
            free = z3.Bool(self.name())  # nothing else depends on it: both are possible
            if len(self.taken) >= len(self.decisions):
                self.decisions = (*self.taken, (free, True))
                self.others.append(Path((*self.taken, (free, False)), self.question, self.model))
            if self.fork(free):
                return option
        return options[-1]

    def expect_no_lone_member(self) -> None:
        if self.lone_member is not None:
            self.refuse(f"a set with {self.lone_member.called} in it cannot be traced")

    def _decide(self, condition: Z3Term) -> bool:
        """Decide by the model, if there is one, and ask the solver whether the other outcome is possible."""
        if len(self.taken) >= MOST_TESTS:
            self.refuse(f"it tests more than {MOST_TESTS} conditions in a row")
        simple = z3.simplify(condition)
        if z3.is_true(simple) or z3.is_false(simple):
            return bool(z3.is_true(simple))
        holds = self.model is None or z3.is_true(self.model.eval(condition, model_completion=True))
        answer, model = self.ask(z3.Not(condition) if holds else condition)
        if answer == z3.unsat:
            return holds
        self.others.append(Path((*self.taken, (condition, not holds)), self.question, model))
        if self.model is None:
            answer, self.model = self.ask(condition)
            if answer == z3.unsat:
                self.others.pop()
                self.model = model
                return False
        return holds

    def ask(self, *conditions: Z3Term) -> tuple[Z3Term, Z3Term]:
        """Ask the solver whether the conditions are possible on this path; with a model if they are."""
        for solver, most in ((z3.SimpleSolver(), QUICK), (z3.Solver(), math.inf)):
            if self.question.work <= 0:
                raise OutOfWork
            solver.set("rlimit", int(min(most, self.question.work)))
            solver.add(*self.conditions, *conditions)
            before = _work_done(solver)
            answer = solver.check()
            self.question.work -= max(1, _work_done(solver) - before)
            if answer != z3.unknown:
                break
        return answer, solver.model() if answer == z3.sat else None


def _work_done(solver: Z3Term) -> int:
    """The work of the solver since Python was started, in its own units."""
    statistics = solver.statistics()
    return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118


class Symbol:
    """`term` is its term in the solver. A test of it forks the path, so the outcome is a plain bool."""

    __slots__ = ("path", "term")
    called: ClassVar[str]
    zero: ClassVar[Any]
    """The value that counts as false."""
    wider: ClassVar[type[Symbol] | None] = None
    operations: ClassVar[dict[str, Callable[[Path, Z3Term, Z3Term], Z3Term]]]
    tests: ClassVar[dict[str, Callable[[Z3Term, Z3Term], Z3Term]]] = {
        "==": operator.eq,
        "<": operator.lt,
        "<=": operator.le,
    }

    def __init__(self, path: Path, term: Z3Term) -> None:
        self.path = path
        self.term = term

    sort_name: ClassVar[str]

    @classmethod
    def sort(cls) -> Z3Term:
        """The sort of the type in the solver."""
        return getattr(z3, cls.sort_name)()

    @classmethod
    def any(cls, path: Path) -> Symbol:
        """Make a symbol for every value of the type."""
        return cls(path, z3.Const(path.name(), cls.sort()))

    @classmethod
    def lift(cls, path: Path, value: object) -> Z3Term:
        """Turn a value, symbol or not, into a term of this sort; None if that is impossible."""
        return value.term if isinstance(value, cls) else cls.lift_other(path, value)

    @classmethod
    def lift_other(cls, path: Path, value: object) -> Z3Term:
        """Do the same for a value that is not such a symbol."""
        return None

    @classmethod
    def read(cls, model: Z3Term, term: Z3Term, constants: list[Z3Term]) -> Element:
        """The Python value that the term has in a model; `constants` are the terms that may be elements of a set."""
        raise NotImplementedError

    def combine(self, sign: str, other: object, swapped: bool) -> Any:
        lifted = self._lift_both(other, swapped)
        if lifted is None or sign not in lifted[0].operations:
            self.path.refuse(f"{sign} of {self.called} and {_describe(other)} cannot be traced")
        kind, left, right = lifted
        return kind(self.path, kind.operations[sign](self.path, left, right))

    def compare(self, sign: str, other: object, swapped: bool) -> Any:
        lifted = self._lift_both(other, swapped)
        if lifted is None:
            if _family(other) in ("", _family(self.zero)):
                self.path.refuse(f"comparing {self.called} with {_describe(other)} cannot be traced")
            return NotImplemented  # as for plain values
        kind, left, right = lifted
        return self.path.fork(kind.tests[sign](left, right))

    def _lift_both(self, other: object, swapped: bool) -> tuple[type[Symbol], Z3Term, Z3Term] | None:
        """Find the narrowest sort that has both values, and their terms in it."""
        for kind in filter(None, (type(self), self.wider)):
            term = kind.lift(self.path, other)
            if term is not None:
                self.path.expect_no_lone_member()
                mine = kind.lift(self.path, self)
                return (kind, term, mine) if swapped else (kind, mine, term)
        return None

    def __eq__(self, other: object) -> Any:
        return self.compare("==", other, False)

    def __ne__(self, other: object) -> Any:
        equal = self.compare("==", other, False)
        return equal if equal is NotImplemented else not equal

    def __lt__(self, other: object) -> Any:
        return self.compare("<", other, False)

    def __le__(self, other: object) -> Any:
        return self.compare("<=", other, False)

    def __gt__(self, other: object) -> Any:
        return self.compare("<", other, True)

    def __ge__(self, other: object) -> Any:
        return self.compare("<=", other, True)

    def __bool__(self) -> bool:
        return bool(self != self.zero)

    def __hash__(self) -> int:
        """Only for `a | {x}`: other uses of hashes, in sets and dicts, cannot be traced."""
        self.path.expect_no_lone_member()
        if not _builds_an_operand(sys._getframe(1)):
            self.path.refuse(f"the hash of {self.called} cannot be traced, as in sets and dicts")
        self.path.lone_member = self
        return 0

    def __getattr__(self, name: str) -> Any:
        self.path.refuse(f".{name} of {self.called} cannot be traced")


def _arithmetic(sign: str, swapped: bool) -> Callable[[Symbol, Any], Any]:
    return lambda self, other: self.combine(sign, other, swapped)


def _refusal(called: str) -> AnyFunction:
    def refuse(self: Symbol, *others: object) -> Any:
        self.path.refuse(f"{called} of {self.called} cannot be traced")

    return refuse


_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "or": "|",
    "and": "&",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "matmul": "@",
    "divmod": "divmod",
}
_REFUSED = {
    **{
        name: f"{name}(…)"
        for name in ("int", "float", "complex", "str", "repr", "round", "abs", "len", "iter", "reversed")
    },
    **{name: f"math.{name}(…)" for name in ("trunc", "floor", "ceil")},
    "pow": "**",
    "rpow": "**",
    "neg": "-",
    "pos": "+",
    "invert": "~",
    "contains": "in",
    "getitem": "[…]",
    "index": "the use as an index",
    "format": "the format",
}
for _name, _sign in _SIGNS.items():
    setattr(Symbol, f"__{_name}__", _arithmetic(_sign, swapped=False))
    setattr(Symbol, f"__r{_name}__", _arithmetic(_sign, swapped=True))
for _name, _text in _REFUSED.items():
    setattr(Symbol, f"__{_name}__", _refusal(_text))


def _family(value: Any) -> str:
    """Values of different families are never equal; "" if that is not known."""
    if isinstance(value, Symbol):
        value = value.zero
    if isinstance(value, Enum):
        return "" if isinstance(value, (int, float, str)) else "member"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "object"
    families = {int: "number", bool: "number", float: "number", Fraction: "number", str: "text"}
    families |= {frozenset: "set", set: "set", tuple: "tuple", list: "list", type(None): "none"}
    return families.get(type(value), "")


def _describe(value: object) -> str:
    return value.called if isinstance(value, Symbol) else f"{type(value).__name__}"


@cache
def _instructions(code: CodeType) -> dict[int, tuple[dis.Instruction, list[dis.Instruction]]]:
    """By offset: each instruction, and the few that come next."""
    every = list(dis.get_instructions(code))
    return {each.offset: (each, every[place + 1 : place + 4]) for place, each in enumerate(every)}


def _builds_an_operand(frame: FrameType) -> bool:
    """Whether the frame is at the `{x}` in `… | {x}` or `… | frozenset({x})`."""
    now, following = _instructions(frame.f_code)[frame.f_lasti]
    if now.opname != "BUILD_SET" or now.arg != 1:
        return False
    straight = takewhile(lambda each: not each.is_jump_target, following)
    return next((each for each in straight if each.opname not in ("PRECALL", "CALL")), now).opname == "BINARY_OP"
