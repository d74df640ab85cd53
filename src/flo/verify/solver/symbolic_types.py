"""Symbols for ints, fractions, floats (as IEEE doubles), booleans, strings and sets."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, ClassVar

from flo.core.untyped import Element
from flo.verify.optional import z3
from flo.verify.solver.symbolic import Path, Symbol, Untraceable, Z3Term

LARGEST_POWER = 8


def _floor(path: Path, left: Z3Term, right: Z3Term) -> tuple[Z3Term, Z3Term]:
    """// and % as in Python, rounding down; the solver does so for positive divisors only."""
    if path.fork(right == 0):
        raise ZeroDivisionError("division by zero")
    if path.fork(right > 0):
        return left / right, left % right
    return -left / -right, -(-left % -right)


def _quotient(path: Path, left: Z3Term, right: Z3Term) -> Z3Term:
    if path.fork(right == 0):
        raise ZeroDivisionError("division by zero")
    return left / right


_RING = {
    "+": lambda path, left, right: left + right,
    "-": lambda path, left, right: left - right,
    "*": lambda path, left, right: left * right,
}


class _Exact(Symbol):
    """Ints and fractions."""

    __slots__ = ()
    zero = 0

    def __pow__(self, power: object, modulus: object = None) -> Any:
        if type(power) is not int or not 0 <= power <= LARGEST_POWER or modulus is not None:
            self.path.refuse(f"** of {self.called} can only be traced for powers from 0 to {LARGEST_POWER}")
        result: Any = type(self)(self.path, self.lift(self.path, 1))
        for _ in range(power):
            result = result * self
        return result

    def __neg__(self) -> Any:
        return self.combine("-", 0, True)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        self.path.expect_no_lone_member()
        return type(self)(self.path, z3.If(self.term < 0, -self.term, self.term))


class FractionSymbol(_Exact):
    __slots__ = ()
    called = "a Fraction"
    sort_name = "RealSort"
    operations: ClassVar = {**_RING, "/": _quotient}

    @classmethod
    def lift_other(cls, path: Path, value: Element) -> Z3Term:
        if isinstance(value, IntSymbol):
            return z3.ToReal(value.term)
        return z3.RealVal(str(Fraction(value))) if type(value) in (int, bool, Fraction) else None

    @classmethod
    def read(cls, model: Z3Term, term: Z3Term, constants: list[Z3Term]) -> Element:
        value = model.eval(term, model_completion=True)
        if not z3.is_rational_value(value):
            raise Untraceable("the solver found an irrational number")
        return Fraction(value.numerator_as_long(), value.denominator_as_long())


class IntSymbol(_Exact):
    __slots__ = ()
    called = "an int"
    sort_name = "IntSort"
    wider = FractionSymbol
    operations: ClassVar = {
        **_RING,
        "//": lambda path, left, right: _floor(path, left, right)[0],
        "%": lambda path, left, right: _floor(path, left, right)[1],
    }

    @classmethod
    def lift_other(cls, path: Path, value: Element) -> Z3Term:
        return z3.IntVal(int(value)) if type(value) in (int, bool) else None

    @classmethod
    def read(cls, model: Z3Term, term: Z3Term, constants: list[Z3Term]) -> Element:
        return model.eval(term, model_completion=True).as_long()


def _rounded(name: str) -> Any:
    """An operation of IEEE doubles."""

    def operation(path: Path, left: Z3Term, right: Z3Term) -> Z3Term:
        if name == "fpDiv" and path.fork(z3.fpIsZero(right)):
            raise ZeroDivisionError("float division by zero")
        return getattr(z3, name)(z3.RNE(), left, right)

    return operation


class FloatSymbol(Symbol):
    """Every float but NaN; a result that is NaN becomes Python's NaN."""

    __slots__ = ()
    called = "a float"
    sort_name = "Float64"
    zero = 0.0
    operations: ClassVar = {
        "+": _rounded("fpAdd"),
        "-": _rounded("fpSub"),
        "*": _rounded("fpMul"),
        "/": _rounded("fpDiv"),
    }
    tests: ClassVar = {**Symbol.tests, "==": lambda left, right: z3.fpEQ(left, right)}  # 0.0 == -0.0

    @classmethod
    def any(cls, path: Path) -> Symbol:
        symbol = super().any(path)
        path.conditions.append(z3.Not(z3.fpIsNaN(symbol.term)))
        path.question.floats = True
        return symbol

    @classmethod
    def lift_other(cls, path: Path, value: Element) -> Z3Term:
        if type(value) in (int, bool) and abs(value) <= 2**53:  # as a float, exactly
            value = float(value)
        if type(value) is not float:
            return None
        if math.isnan(value):
            return z3.fpNaN(cls.sort())
        return z3.fpBVToFP(z3.BitVecVal(struct.unpack("<Q", struct.pack("<d", value))[0], 64), cls.sort())

    @classmethod
    def read(cls, model: Z3Term, term: Z3Term, constants: list[Z3Term]) -> Element:
        bits = model.eval(z3.fpToIEEEBV(term), model_completion=True).as_long()
        return struct.unpack("<d", struct.pack("<Q", bits))[0]

    def combine(self, sign: str, other: object, swapped: bool) -> Any:
        result = super().combine(sign, other, swapped)
        return float("nan") if self.path.fork(z3.fpIsNaN(result.term)) else result

    def __neg__(self) -> Any:
        self.path.expect_no_lone_member()
        return type(self)(self.path, -self.term)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        self.path.expect_no_lone_member()
        return type(self)(self.path, z3.fpAbs(self.term))


LAST_CHARACTER = 0x1FFFF
"""The solver has characters up to 0x2FFFF: this leaves some above those that functions mention."""


class WordSymbol(Symbol):
    """A text that is only compared with others: represented by an int, with which the solver is much quicker.

    A law that holds for all ints holds for texts, as any finite set of texts is ordered like some ints.
    """

    __slots__ = ()
    called = "a str"
    sort_name = "IntSort"
    zero = ""
    operations: ClassVar = {}

    @classmethod
    def read(cls, model: Z3Term, term: Z3Term, constants: list[Z3Term]) -> Element:
        raise Untraceable("the function uses more of a text than its order")


class StrSymbol(Symbol):
    """A text, ordered by code points as in Python."""

    __slots__ = ()
    called = "a str"
    sort_name = "StringSort"
    zero = ""
    operations: ClassVar = {"+": lambda path, left, right: left + right}

    @classmethod
    def any(cls, path: Path) -> Symbol:
        path.question.texts = True
        return WordSymbol.any(path) if path.question.words else super().any(path)

    @classmethod
    def lift_other(cls, path: Path, value: object) -> Z3Term:
        if type(value) is not str or any(ord(character) > LAST_CHARACTER for character in value):
            return None
        return z3.StringVal(value.replace("\\", r"\u{5c}"))  # a backslash would start an escape

    @classmethod
    def read(cls, model: Z3Term, term: Z3Term, constants: list[Z3Term]) -> Element:
        text = model.eval(term, model_completion=True).as_string()
        return re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda escape: chr(int(escape[1], 16)), text)


def _operation(name: str) -> Any:
    def operation(path: Path, left: Z3Term, right: Z3Term) -> Z3Term:
        return getattr(z3, name)(left, right)

    return operation


class SetSymbol(Symbol):
    """Sets, infinite ones included: a law that holds for these holds for finite ones."""

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
    tests: ClassVar = {
        **Symbol.tests,
        "<=": lambda left, right: z3.IsSubset(left, right),
        "<": lambda left, right: z3.And(z3.IsSubset(left, right), left != right),
    }

    @classmethod
    def sort(cls) -> Z3Term:
        return z3.SetSort(cls.element.sort())

    @classmethod
    def lift_other(cls, path: Path, value: Element) -> Z3Term:
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
    def read(cls, model: Z3Term, term: Z3Term, constants: list[Z3Term]) -> Element:
        fitting = [each for each in constants if each.sort() == term.sort().domain()]
        inside = [each for each in fitting if z3.is_true(model.eval(z3.IsMember(each, term), model_completion=True))]
        return frozenset(cls.element.read(model, each, constants) for each in inside)

    def __contains__(self, item: object) -> bool:
        term = self.element.lift(self.path, item)
        if term is None:
            self.path.refuse(f"whether such an object is in {self.called} cannot be traced")
        return self.path.fork(z3.IsMember(term, self.term))

    def union(self, *others: object) -> Any:
        return self._all("|", others)

    def intersection(self, *others: object) -> Any:
        return self._all("&", others)

    def difference(self, *others: object) -> Any:
        return self._all("-", others)

    issubset, issuperset = Symbol.__le__, Symbol.__ge__

    def _all(self, sign: str, others: Iterable[object]) -> Any:
        result: Any = self
        for other in others:
            result = result.combine(sign, other, False)
        return result


class IntSetSymbol(SetSymbol):
    __slots__ = ()
    called = "a set of ints"
    element = IntSymbol


class StrSetSymbol(SetSymbol):
    __slots__ = ()
    called = "a set of strs"
    element = StrSymbol
