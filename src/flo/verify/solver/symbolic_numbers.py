"""Symbols for numbers: ints of any size, fractions, and floats as IEEE doubles."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any, ClassVar

from flo.verify.solver.paths import Path, Refused
from flo.verify.solver.symbolic import Symbol

LARGEST_POWER = 8


def _floor(path: Path, left: Any, right: Any) -> tuple[Any, Any]:
    """// and % of Python, which round down; the solver's / and % of ints do so for a positive divisor."""
    if path.fork(right == 0):
        raise ZeroDivisionError("division by zero")
    if path.fork(right > 0):
        return left / right, left % right
    return -left / -right, -(-left % -right)


def _quotient(path: Path, left: Any, right: Any) -> Any:
    if path.fork(right == 0):
        raise ZeroDivisionError("division by zero")
    return left / right


class _Exact(Symbol):
    """Ints and fractions."""

    __slots__ = ()
    zero = 0

    def __pow__(self, power: Any, modulus: Any = None) -> Any:
        if type(power) is not int or not 0 <= power <= LARGEST_POWER or modulus is not None:
            self.path.refuse(f"** of {self.called} cannot be traced, but for a power from 0 to {LARGEST_POWER}")
        result: Any = type(self)(self.path, self.lift(self.path, 1))
        for _ in range(power):
            result = result * self
        return result

    def __neg__(self) -> Any:
        return self.combined("-", 0, True)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        import z3

        self.path.expect_no_lone_member()
        return type(self)(self.path, z3.If(self.term < 0, -self.term, self.term))


class FractionSymbol(_Exact):
    __slots__ = ()
    called = "a Fraction"
    operations: ClassVar = {
        "+": lambda path, left, right: left + right,
        "-": lambda path, left, right: left - right,
        "*": lambda path, left, right: left * right,
        "/": _quotient,
    }

    @classmethod
    def sort(cls) -> Any:
        import z3

        return z3.RealSort()

    @classmethod
    def lift(cls, path: Path, value: Any) -> Any:
        import z3

        if isinstance(value, cls):
            return value.term
        if isinstance(value, IntSymbol):
            return z3.ToReal(value.term)
        return z3.RealVal(str(Fraction(value))) if type(value) in (int, bool, Fraction) else None

    @classmethod
    def read(cls, model: Any, term: Any, constants: list[Any]) -> Any:
        import z3

        value = model.eval(term, model_completion=True)
        if not z3.is_rational_value(value):
            raise Refused("the solver found an irrational number")
        return Fraction(value.numerator_as_long(), value.denominator_as_long())


class IntSymbol(_Exact):
    __slots__ = ()
    called = "an int"
    wider = FractionSymbol
    operations: ClassVar = {
        "+": lambda path, left, right: left + right,
        "-": lambda path, left, right: left - right,
        "*": lambda path, left, right: left * right,
        "//": lambda path, left, right: _floor(path, left, right)[0],
        "%": lambda path, left, right: _floor(path, left, right)[1],
    }

    @classmethod
    def sort(cls) -> Any:
        import z3

        return z3.IntSort()

    @classmethod
    def lift(cls, path: Path, value: Any) -> Any:
        import z3

        if isinstance(value, cls):
            return value.term
        return z3.IntVal(int(value)) if type(value) in (int, bool) else None

    @classmethod
    def read(cls, model: Any, term: Any, constants: list[Any]) -> Any:
        return model.eval(term, model_completion=True).as_long()


def _rounded(name: str) -> Any:
    """An operation of IEEE doubles."""

    def operation(path: Path, left: Any, right: Any) -> Any:
        import z3

        if name == "fpDiv" and path.fork(z3.fpIsZero(right)):
            raise ZeroDivisionError("float division by zero")
        return getattr(z3, name)(z3.RNE(), left, right)

    return operation


def _floats_equal(left: Any, right: Any) -> Any:
    import z3

    return z3.fpEQ(left, right)  # 0.0 == -0.0, unlike the equality of terms


class FloatSymbol(Symbol):
    """Every float but nan: where a result is nan, it is Python's."""

    __slots__ = ()
    called = "a float"
    zero = 0.0
    operations: ClassVar = {
        "+": _rounded("fpAdd"),
        "-": _rounded("fpSub"),
        "*": _rounded("fpMul"),
        "/": _rounded("fpDiv"),
    }
    tests: ClassVar = {**Symbol.tests, "==": _floats_equal}

    @classmethod
    def sort(cls) -> Any:
        import z3

        return z3.Float64()

    @classmethod
    def any(cls, path: Path) -> Symbol:
        import z3

        symbol = super().any(path)
        path.conditions.append(z3.Not(z3.fpIsNaN(symbol.term)))
        path.question.floats = True
        return symbol

    @classmethod
    def lift(cls, path: Path, value: Any) -> Any:
        import z3

        if isinstance(value, cls):
            return value.term
        if type(value) in (int, bool) and abs(value) <= 2**53:  # as a float, exactly
            value = float(value)
        if type(value) is not float:
            return None
        if math.isnan(value):
            return z3.fpNaN(cls.sort())
        return z3.fpBVToFP(z3.BitVecVal(struct.unpack("<Q", struct.pack("<d", value))[0], 64), cls.sort())

    @classmethod
    def read(cls, model: Any, term: Any, constants: list[Any]) -> Any:
        import z3

        bits = model.eval(z3.fpToIEEEBV(term), model_completion=True).as_long()
        return struct.unpack("<d", struct.pack("<Q", bits))[0]

    def combined(self, sign: str, other: Any, swapped: bool) -> Any:
        import z3

        result = super().combined(sign, other, swapped)
        return float("nan") if self.path.fork(z3.fpIsNaN(result.term)) else result

    def __neg__(self) -> Any:
        self.path.expect_no_lone_member()
        return type(self)(self.path, -self.term)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        import z3

        self.path.expect_no_lone_member()
        return type(self)(self.path, z3.fpAbs(self.term))
