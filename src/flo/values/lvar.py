"""LVars (figure "type semantics and concatenation operator for LVars"): a value that grows in a lattice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic

from flo.core.collection import Collection, End, Value
from flo.core.errors import CollectionError, ElementError, FloError, FunctionError
from flo.core.term import Call, Lowering, Term
from flo.core.untyped import Element
from flo.values.lattice import L_co, Lattice


@dataclass(frozen=True, slots=True)
class LVarValue(Value):
    """(v, fixed): a lattice value, and whether it can still grow. `++` is the join."""

    lattice: Lattice[Element]
    value: Any
    end: End = End.OPEN

    kind = "lvar"

    def concat(self, delta: LVarValue) -> LVarValue:
        if self.end is not End.OPEN:
            return self
        return LVarValue(self.lattice, self._joined(delta.value), delta.end)

    def _joined(self, more: object) -> Element:
        try:
            return self.lattice.join(self.value, more)
        except FloError:
            raise
        except Exception as error:
            raise FunctionError(
                f"two values of {self.lattice} have no join: {error}",
                facts=(("arrived before", repr(self.value)[:120]), ("arrived now", repr(more)[:120])),
            ) from error

    def empty(self) -> LVarValue:
        return LVarValue(self.lattice, self.lattice.bottom())

    def fix(self) -> LVarValue:
        return self if self.fixed() else replace(self, end=End.ARRIVED)

    def is_bottom(self) -> bool:
        return self.lattice.is_bottom(self.value)

    def drained(self) -> LVarValue:
        """Return the value reset to ⊥: (⊥, true) if the end has arrived, else (⊥, false)."""
        return replace(self, value=self.lattice.bottom())

    def passed(self) -> LVarValue:
        """Return ⊗: the end was passed on."""
        return LVarValue(self.lattice, self.lattice.bottom(), End.PASSED)

    def ending(self) -> bool:
        """Return whether only the end is left to pass on."""
        return self.end is End.ARRIVED and self.is_bottom()

    def take(self) -> tuple[LVarValue, LVarValue]:
        return (self.passed() if self.end is End.ARRIVED else self.drained()), self

    def send(self, at_most: int | None = None) -> tuple[LVarValue, LVarValue]:
        """Send the whole value and keep it: joining it again changes nothing."""
        return self, self

    def size(self) -> int:
        return (not self.is_bottom()) + (self.end is End.ARRIVED)

    def lower(self, lower: Lowering) -> Term:
        end = () if self.end is End.OPEN else (self.end,)  # `call` would also drop a value that is False
        return Call(self.kind, tuple(map(lower, (self.lattice, self.value, *end))))

    @classmethod
    def lift(cls, *parts: Any) -> LVarValue:
        lattice, value, end = (*parts, False)[:3]
        return cls(lattice, value, End.lift(end))


class LVar(Collection, Generic[L_co]):
    """LVar<L>: the values of a lattice, each open or fixed."""

    name = "LVar"

    def __init__(self, lattice: object) -> None:
        self.lattice = Lattice.from_annotation(lattice)

    @classmethod
    def parameterised(cls, *parameters: object) -> LVar[Element]:
        if len(parameters) != 1:
            raise CollectionError(
                f"LVar must have one parameter, a lattice; got {len(parameters)}",
                instead=(("flo.LVar[flo.Max[int]]", "or another lattice"),),
            )
        return cls(*parameters)

    def bottom(self) -> LVarValue:
        return LVarValue(self.lattice, self.lattice.bottom())

    def mismatch(self, value: Value) -> str | None:
        if not isinstance(value, LVarValue) or not self.lattice.accepts(value.lattice):
            return f"a {value.kind}{f' of {value.lattice}' if isinstance(value, LVarValue) else ''} is not an {self}"
        return self.lattice.mismatch(value.value)

    def accepts(self, other: Collection) -> bool:
        return isinstance(other, LVar) and self.lattice.accepts(other.lattice)

    def value(self, data: Any) -> LVarValue:
        value = self.lattice.value(data)
        reason = self.lattice.mismatch(value)
        if reason is not None:
            raise ElementError(
                f"the data of {{input}} must be a value of {self.lattice}: {reason}",
                facts=(("given", repr(data)[:120]), ("{input}", str(self))),
            )
        return LVarValue(self.lattice, value)

    def plain(self, value: LVarValue) -> Any:
        return self.lattice.plain(value.value)

    def parts(self) -> tuple[Any, ...]:
        return (self.lattice,)

    def __str__(self) -> str:
        return f"{self.name}[{self.lattice}]"
