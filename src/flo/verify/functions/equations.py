"""The laws of functions and lattices as equations: two Python expressions that must be equal for all values.

An expression is written once, as text: it is what is tried, what the solver gets, what a counterexample shows, and what
a user can paste.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

from flo.core.errors import FunctionError, brief
from flo.core.labels import label
from flo.values import lattice, lattice_orders, lattice_structures
from flo.values.lattice import BOTTOM, Custom, Lattice
from flo.verify import laws
from flo.verify.laws import Law

Function = Callable[..., Any]

_LATTICES = {
    name
    for module in (lattice, lattice_orders, lattice_structures)
    for name, item in vars(module).items()
    if isinstance(item, type) and issubclass(item, Lattice)
}
_SHIPPED = re.compile(rf"\b({'|'.join(sorted(_LATTICES | {'BOTTOM', 'TOP', 'Bottom', 'Top'}))})\b")


class NoJoin(Exception):
    """Two values of a lattice exclude each other: what a side of an equation then comes to."""

    def __repr__(self) -> str:
        return "no join"


@dataclass(frozen=True)
class Equation:
    """left = right, for all values of the variables. `names` says what the other names in the expressions stand for."""

    law: Law
    variables: tuple[str, ...]
    left: str
    right: str
    names: Mapping[str, Function] = field(compare=False)
    shown: tuple[str, str] | None = None
    """The two sides for people, where they are not the expressions."""
    owned: frozenset[str] = frozenset()
    """Variables that the functions may change: Flo hands them a copy."""
    setting: str = ""
    """Statements that give the names their meaning, for a line to paste."""

    @cached_property
    def both(self) -> tuple[Function, Function]:
        return self._compiled(self.left), self._compiled(self.right)

    def _compiled(self, expression: str) -> Function:
        function: Function = eval(f"lambda {', '.join(self.variables)}: {expression}", dict(self.names))
        return function

    def sides(self, *values: Any) -> tuple[Any, Any]:
        """Both sides, which must be equal."""
        left, right = self.both
        return outcome(left, values), outcome(right, values)

    def filled(self, expression: str, values: tuple[Any, ...], most: int = 80) -> str:
        """The expression with the values in the places of the variables."""
        shown = {name: brief(value, most) for name, value in zip(self.variables, values, strict=True)}
        return re.sub(r"\b[a-z]\b", lambda name: shown.get(name[0], name[0]), expression)


def outcome(side: Function, values: tuple[Any, ...]) -> Any:
    """What the side gives; that there is no join is a result like others, and must be that of both sides."""
    try:
        return side(*values)
    except NoJoin as none:
        return none


def same(one: Any, other: Any) -> bool:
    """Equal, for what a program can see: nan is nan; objects that do not say when they are equal are their fields."""
    if one is other:
        return True
    if isinstance(one, NoJoin) or isinstance(other, NoJoin):
        return isinstance(one, NoJoin) and isinstance(other, NoJoin)
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if type(one) is type(other):
        if type(one) in (tuple, list):
            return len(one) == len(other) and all(map(same, one, other))
        if all("__eq__" not in vars(kind) for kind in type(one).__mro__[:-1]) and hasattr(one, "__dict__"):
            return same_fields(vars(one), vars(other))
    return bool(one == other) or _same_but_for_nan(one, other)


def _same_but_for_nan(one: Any, other: Any) -> bool:
    """Whether all that is not equal is nan: a nan is not equal to itself, so nothing that holds one need be."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (Decimal, complex)):
        return bool(one != one and other != other)
    if isinstance(one, dict):
        return same_fields(one, other)
    if isinstance(one, (set, frozenset)):
        some, others = ({member for member in each if member == member} for each in (one, other))
        return len(one) == len(other) and some == others
    if dataclasses.is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))
    return False


def same_fields(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)


def setting(**functions: Function) -> str:
    """`f = lambda a, x: a + x`: statements that give names to functions."""
    written = {name: label(function) for name, function in functions.items()}
    return "; ".join(f"{name} = {text}" for name, text in written.items() if text not in (name, "lambda"))


def function_equations(law: Law, f: Function, count: int, inverse: Function | None = None) -> Iterator[Equation]:
    """What the law says of a function of so many arguments."""
    variables = ("a", "x", "y", "z", "u", "v")[:count]
    arguments = ", ".join(variables)
    names: dict[str, Function] = {"f": f}
    own = frozenset({"a"}) if count == 2 else frozenset[str]()
    match law:
        case laws.A_FUNCTION:
            yield Equation(law, variables, f"f({arguments})", f"f({arguments})", names, None, own, setting(f=f))
        case laws.COMMUTATIVE:
            left, right = "f(f(a, x), y)", "f(f(a, y), x)"
            yield Equation(law, ("a", "x", "y"), left, right, names, None, own, setting(f=f))
        case laws.ASSOCIATIVE:
            left, right = "f(f(a, b), c)", "f(a, f(b, c))"
            yield Equation(law, ("a", "b", "c"), left, right, names, setting=setting(f=f))
        case laws.IDEMPOTENT:
            yield Equation(law, ("a", "x"), "f(f(a, x), x)", "f(a, x)", names, None, own, setting(f=f))
        case laws.ADDITIVE:
            before = "".join(f"{name}, " for name in variables[: count - 1])
            left, right = f"f({before}v + w)", f"f({before}v) + f({before}w)"
            yield Equation(law, (*variables[: count - 1], "v", "w"), left, right, names, setting=setting(f=f))
        case laws.INVERSE:
            assert inverse is not None
            rest = "".join(f", {name}" for name in variables[1:])
            names = {"f": f, "g": inverse}
            yield Equation(law, variables, f"g(f({arguments}){rest})", "a", names, None, own, setting(f=f, g=inverse))
        case _:
            raise ValueError(f"{law} is not a law of a function alone")


def monotone_equations(f: Function, source: Lattice[Any], target: Lattice[Any]) -> Iterator[Equation]:
    """f has one result, and a ⊑ a ⊔ b gives f(a) ⊑ f(a ⊔ b)."""

    def image(value: Any) -> Any:
        if value is BOTTOM:  # as `map_monotone` does
            return target.bottom()
        result = f(value)
        found = target.value(result)
        reason = target.mismatch(found)
        if reason is not None:
            raise FunctionError(
                f"`{label(f)}` gave what is not a value of {target}: {reason}",
                facts=(("given", brief(value)), ("gave", brief(result))),
            )
        return found

    yield Equation(laws.A_FUNCTION, ("a",), "f(a)", "f(a)", {"f": image}, setting=setting(f=f))
    names = {"f": image, "join": joining(source), "grow": joining(target)}
    text = f"{setting(f=f)}; join, grow = {pasted(source)}.join, {pasted(target)}.join".removeprefix("; ")
    shown = ("f(a ⊔ b) ⊔ f(a)", "f(a ⊔ b)")
    left, right = "grow(f(join(a, b)), f(a))", "f(join(a, b))"
    yield Equation(laws.MONOTONE, ("a", "b"), left, right, names, shown, setting=text)


def lattice_equations(lattice: Lattice[Any]) -> Iterator[Equation]:
    """The laws of lattices, those about one value first."""
    names = {"join": joining(lattice), "bottom": lattice.bottom}
    text = setting(join=lattice.joining) if isinstance(lattice, Custom) else f"join = {pasted(lattice)}.join"

    def equation(law: Law, variables: str, left: str, right: str, *shown: str) -> Equation:
        one, other = shown
        before = f"{text}; bottom = {pasted(lattice)}.bottom" if "bottom" in left else text
        return Equation(law, tuple(variables), left, right, names, (one, other), setting=before.removeprefix("; "))

    yield equation(laws.BOTTOM_IS_LEAST, "a", "join(bottom(), a)", "a", "⊥ ⊔ a", "a")
    yield equation(laws.BOTTOM_IS_LEAST, "a", "join(a, bottom())", "a", "a ⊔ ⊥", "a")
    yield equation(laws.JOIN_IDEMPOTENT, "a", "join(a, a)", "a", "a ⊔ a", "a")
    yield equation(laws.JOIN_COMMUTATIVE, "ab", "join(a, b)", "join(b, a)", "a ⊔ b", "b ⊔ a")
    left, right = "join(join(a, b), c)", "join(a, join(b, c))"
    yield equation(laws.JOIN_ASSOCIATIVE, "abc", left, right, "(a ⊔ b) ⊔ c", "a ⊔ (b ⊔ c)")


def joining(lattice: Lattice[Any]) -> Function:
    def join(a: Any, b: Any) -> Any:
        try:
            return lattice.join(a, b)
        except ValueError as error:
            raise NoJoin from error

    return join


def pasted(lattice: Lattice[Any]) -> str:
    """The lattice as a user would write it."""
    if isinstance(lattice, Custom):
        least = label(lattice.least) if callable(lattice.least) else brief(lattice.least)
        return f"flo.Lattice.of({least}, {label(lattice.joining)})"
    written = _SHIPPED.sub(r"flo.\1", str(lattice))
    return f"flo.Lattice.from_annotation({written})"
