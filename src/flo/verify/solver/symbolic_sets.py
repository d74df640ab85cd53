"""Symbols for texts and for sets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from flo.verify.solver.paths import Path, Refused
from flo.verify.solver.symbolic import Symbol
from flo.verify.solver.symbolic_numbers import IntSymbol

LAST_CHARACTER = 0x1FFFF
"""The solver has characters up to 0x2FFFF only: room for others above those that functions name."""


class WordSymbol(Symbol):
    """A text of which only the order among others is asked: with ints in its place the solver is much quicker.

    What holds of all ints holds of texts, as finitely many of them are ordered as some ints are.
    """

    __slots__ = ()
    called = "a str"
    zero = ""
    operations: ClassVar = {}

    @classmethod
    def sort(cls) -> Any:
        import z3

        return z3.IntSort()

    @classmethod
    def lift(cls, path: Path, value: Any) -> Any:
        return value.term if isinstance(value, cls) else None

    @classmethod
    def read(cls, model: Any, term: Any, constants: list[Any]) -> Any:
        raise Refused("a text is more than its order")


class StrSymbol(Symbol):
    """Ordered by code points, as Python's."""

    __slots__ = ()
    called = "a str"
    zero = ""
    operations: ClassVar = {"+": lambda path, left, right: left + right}

    @classmethod
    def sort(cls) -> Any:
        import z3

        return z3.StringSort()

    @classmethod
    def any(cls, path: Path) -> Symbol:
        path.question.texts = True
        return WordSymbol.any(path) if path.question.words else super().any(path)

    @classmethod
    def lift(cls, path: Path, value: Any) -> Any:
        import z3

        if isinstance(value, cls):
            return value.term
        if type(value) is not str or any(ord(character) > LAST_CHARACTER for character in value):
            return None
        return z3.StringVal(value.replace("\\", r"\u{5c}"))  # a backslash would start an escape

    @classmethod
    def read(cls, model: Any, term: Any, constants: list[Any]) -> Any:
        text = model.eval(term, model_completion=True).as_string()
        return re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda found: chr(int(found[1], 16)), text)


def _operation(name: str) -> Any:
    def operation(path: Path, left: Any, right: Any) -> Any:
        import z3

        return getattr(z3, name)(left, right)

    return operation


def _subset(left: Any, right: Any) -> Any:
    import z3

    return z3.IsSubset(left, right)


def _proper_subset(left: Any, right: Any) -> Any:
    import z3

    return z3.And(z3.IsSubset(left, right), left != right)


class SetSymbol(Symbol):
    """Sets, infinite ones too: what holds of those holds of the finite ones."""

    __slots__ = ()
    zero = frozenset[Any]()
    element: ClassVar[type[Symbol]]
    operations: ClassVar = {
        "|": _operation("SetUnion"),
        "&": _operation("SetIntersect"),
        "-": _operation("SetDifference"),
        "^": lambda path, left, right: _operation("SetUnion")(
            path, _operation("SetDifference")(path, left, right), _operation("SetDifference")(path, right, left)
        ),
    }
    tests: ClassVar = {**Symbol.tests, "<=": _subset, "<": _proper_subset}

    @classmethod
    def sort(cls) -> Any:
        import z3

        return z3.SetSort(cls.element.sort())

    @classmethod
    def lift(cls, path: Path, value: Any) -> Any:
        import z3

        if isinstance(value, cls):
            return value.term
        if type(value) not in (frozenset, set):
            return None
        members = list(value)
        if len(members) == 1 and members[0] is path.lone_member:
            path.lone_member = None
        path.expect_no_lone_member()
        lifted = [cls.element.lift(path, member) for member in members]
        term = z3.EmptySet(cls.element.sort())
        for each in lifted:
            if each is None:
                return None
            term = z3.SetAdd(term, each)
        return term

    @classmethod
    def read(cls, model: Any, term: Any, constants: list[Any]) -> Any:
        import z3

        fitting = [each for each in constants if each.sort() == term.sort().domain()]
        inside = [each for each in fitting if z3.is_true(model.eval(z3.IsMember(each, term), model_completion=True))]
        return frozenset(cls.element.read(model, each, constants) for each in inside)

    def __contains__(self, item: Any) -> bool:
        import z3

        term = self.element.lift(self.path, item)
        if term is None:
            self.path.refuse(f"whether such an object is in {self.called} cannot be traced")
        return self.path.fork(z3.IsMember(term, self.term))

    def union(self, *others: Any) -> Any:
        return self._all("|", others)

    def intersection(self, *others: Any) -> Any:
        return self._all("&", others)

    def difference(self, *others: Any) -> Any:
        return self._all("-", others)

    def issubset(self, other: Any) -> Any:
        return self.compared("<=", other, False)

    def issuperset(self, other: Any) -> Any:
        return self.compared("<=", other, True)

    def _all(self, sign: str, others: Iterable[Any]) -> Any:
        result: Any = self
        for other in others:
            result = result.combined(sign, other, False)
        return result


class IntSetSymbol(SetSymbol):
    __slots__ = ()
    called = "a set of ints"
    element = IntSymbol


class StrSetSymbol(SetSymbol):
    __slots__ = ()
    called = "a set of strs"
    element = StrSymbol
