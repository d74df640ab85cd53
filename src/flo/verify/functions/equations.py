"""The laws of functions and lattices as equations: two Python expressions that must be equal for all values.

An expression is written once, as text. It is evaluated, traced by the solver, printed in counterexamples, and pasted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flo.core.errors import FunctionError, brief
from flo.core.labels import label
from flo.core.untyped import AnyFunction
from flo.values import lattice, lattice_orders, lattice_structures
from flo.values.lattice import BOTTOM, Custom, Lattice
from flo.verify import laws
from flo.verify.equality import NoJoin
from flo.verify.laws import Law

_LATTICES = {
    name
    for module in (lattice, lattice_orders, lattice_structures)
    for name, item in vars(module).items()
    if isinstance(item, type) and issubclass(item, Lattice)
}
_SHIPPED = re.compile(rf"\b({'|'.join(sorted(_LATTICES | {'BOTTOM', 'TOP', 'Bottom', 'Top'}))})\b")


@dataclass(frozen=True)
class Equation:
    """left = right, for all values of the variables. `names` are the functions that the expressions use."""

    law: Law
    variables: tuple[str, ...]
    left: str
    right: str
    names: Mapping[str, AnyFunction] = field(compare=False)
    display: tuple[str, str] | None = None
    """The two sides in messages, if they are not the expressions."""
    changeable: frozenset[str] = frozenset()
    """Variables that the functions may change: operators pass them a copy."""
    definitions: str = ""
    """Statements that define the names, for a line to paste."""

    @cached_property
    def functions(self) -> tuple[AnyFunction, AnyFunction]:
        return self._compile(self.left), self._compile(self.right)

    def _compile(self, expression: str) -> AnyFunction:
        function: AnyFunction = eval(f"lambda {', '.join(self.variables)}: {expression}", dict(self.names))
        return function

    def sides(self, *values: object) -> tuple[Any, Any]:
        """Evaluate both sides, which must be equal."""
        left, right = self.functions
        return evaluate(left, values), evaluate(right, values)

    def fill(self, expression: str, values: tuple[object, ...], most: int = 80) -> str:
        """Replace the variables of an expression by values."""
        texts = {name: brief(value, most) for name, value in zip(self.variables, values, strict=True)}
        return re.sub(r"\b[a-z]\b", lambda name: texts.get(name[0], name[0]), expression)


def evaluate(side: AnyFunction, values: tuple[object, ...]) -> Any:
    """Evaluate a side. A missing join is a result like any other: both sides must have it."""
    try:
        return side(*values)
    except NoJoin as none:
        return none


def define(**functions: AnyFunction) -> str:
    """Write statements that name functions: `f = lambda a, x: a + x`."""
    written = {name: label(function) for name, function in functions.items()}
    return "; ".join(f"{name} = {text}" for name, text in written.items() if text not in (name, "lambda"))


def function_equations(law: Law, f: AnyFunction, count: int, inverse: AnyFunction | None = None) -> Iterator[Equation]:
    """Yield the equations of a law, for a function of `count` arguments."""
    variables = ("a", "x", "y", "z", "u", "v")[:count]
    arguments = ", ".join(variables)
    names: dict[str, AnyFunction] = {"f": f}
    own = frozenset({"a"}) if count == 2 else frozenset[str]()
    match law:
        case laws.A_FUNCTION:
            yield Equation(law, variables, f"f({arguments})", f"f({arguments})", names, None, own, define(f=f))
        case laws.COMMUTATIVE:
            left, right = "f(f(a, x), y)", "f(f(a, y), x)"
            yield Equation(law, ("a", "x", "y"), left, right, names, None, own, define(f=f))
        case laws.ASSOCIATIVE:
            left, right = "f(f(a, b), c)", "f(a, f(b, c))"
            yield Equation(law, ("a", "b", "c"), left, right, names, definitions=define(f=f))
        case laws.IDEMPOTENT:
            yield Equation(law, ("a", "x"), "f(f(a, x), x)", "f(a, x)", names, None, own, define(f=f))
        case laws.ADDITIVE:
            before = "".join(f"{name}, " for name in variables[: count - 1])
            left, right = f"f({before}v + w)", f"f({before}v) + f({before}w)"
            yield Equation(law, (*variables[: count - 1], "v", "w"), left, right, names, definitions=define(f=f))
        case laws.INVERSE:
            assert inverse is not None
            rest = "".join(f", {name}" for name in variables[1:])
            names = {"f": f, "g": inverse}
            yield Equation(law, variables, f"g(f({arguments}){rest})", "a", names, None, own, define(f=f, g=inverse))
        case _:
            raise ValueError(f"{law} is not a law of a function alone")


def monotone_equations(f: AnyFunction, source: Lattice[Any], target: Lattice[Any]) -> Iterator[Equation]:
    """Yield: f has one result; a ⊑ a ⊔ b implies f(a) ⊑ f(a ⊔ b)."""

    def image(value: object) -> Any:
        if value is BOTTOM:  # as `map_monotone` does
            return target.bottom()
        result = f(value)
        converted = target.value(result)
        reason = target.mismatch(converted)
        if reason is not None:
            raise FunctionError(
                f"`{label(f)}` must return values of {target}: {reason}",
                facts=(("given", brief(value)), ("gave", brief(result))),
            )
        return converted

    yield Equation(laws.A_FUNCTION, ("a",), "f(a)", "f(a)", {"f": image}, definitions=define(f=f))
    names = {"f": image, "join": join_function(source), "grow": join_function(target)}
    joins = f"join, grow = {lattice_source(source)}.join, {lattice_source(target)}.join"
    text = f"{define(f=f)}; {joins}".removeprefix("; ")
    display = ("f(a ⊔ b) ⊔ f(a)", "f(a ⊔ b)")
    left, right = "grow(f(join(a, b)), f(a))", "f(join(a, b))"
    yield Equation(laws.MONOTONE, ("a", "b"), left, right, names, display, definitions=text)


def lattice_equations(lattice: Lattice[Any]) -> Iterator[Equation]:
    """Yield the equations of a lattice, those with one variable first."""
    names = {"join": join_function(lattice), "bottom": lattice.bottom}
    text = define(join=lattice.joining) if isinstance(lattice, Custom) else f"join = {lattice_source(lattice)}.join"

    def equation(law: Law, variables: str, left: str, right: str, *display: str) -> Equation:
        one, other = display
        before = f"{text}; bottom = {lattice_source(lattice)}.bottom" if "bottom" in left else text
        return Equation(law, tuple(variables), left, right, names, (one, other), definitions=before.removeprefix("; "))

    yield equation(laws.BOTTOM_IS_LEAST, "a", "join(bottom(), a)", "a", "⊥ ⊔ a", "a")
    yield equation(laws.BOTTOM_IS_LEAST, "a", "join(a, bottom())", "a", "a ⊔ ⊥", "a")
    yield equation(laws.JOIN_IDEMPOTENT, "a", "join(a, a)", "a", "a ⊔ a", "a")
    yield equation(laws.JOIN_COMMUTATIVE, "ab", "join(a, b)", "join(b, a)", "a ⊔ b", "b ⊔ a")
    left, right = "join(join(a, b), c)", "join(a, join(b, c))"
    yield equation(laws.JOIN_ASSOCIATIVE, "abc", left, right, "(a ⊔ b) ⊔ c", "a ⊔ (b ⊔ c)")


def join_function(lattice: Lattice[Any]) -> AnyFunction:
    def join(a: object, b: object) -> Any:
        try:
            return lattice.join(a, b)
        except ValueError as error:
            raise NoJoin from error

    return join


def lattice_source(lattice: Lattice[Any]) -> str:
    """Write the lattice as Python source."""
    if isinstance(lattice, Custom):
        least = label(lattice.least) if callable(lattice.least) else brief(lattice.least)
        return f"flo.Lattice.of({least}, {label(lattice.joining)})"
    written = _SHIPPED.sub(r"flo.\1", str(lattice))
    return f"flo.Lattice.from_annotation({written})"
