"""An equation tried on values: whether its sides are equal, and if not, the counterexample."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Any

from flo.core.errors import FloError, brief
from flo.values.operators.functions import lasting
from flo.verify import laws
from flo.verify.functions.equations import Equation, Function, outcome, same
from flo.verify.report import Counterexample
from flo.verify.within import TimeUp

LEAVE_ARGUMENTS = "give a new value, and leave the arguments as they are"
LONG = 400
"""How much of a value is shown in a line to paste."""


@dataclass(frozen=True)
class Broken:
    """Values for which the two sides differ, or of which one is no longer what it was."""

    equation: Equation
    values: tuple[Any, ...]
    results: tuple[Any, Any]
    changed: str = ""
    """The variable whose value a function has changed."""

    @property
    def size(self) -> tuple[int, int]:
        """How hard it is to read: its length, and how many of its numbers are not whole."""
        text = brief(self.values, LONG)
        return len(text), len(re.findall(r"\.\d*[1-9]", text))

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The sides and what they give, for an error."""
        if self.changed:
            return (("before", brief(self.results[0])), ("after", brief(self.results[1])))
        texts = self.equation.shown or (self.equation.left, self.equation.right)
        one, other = (self.equation.filled(text, self.values) for text in texts)
        first, second = map(brief, self.results)
        return ((one, f"= {first}"), (other if other != one else "again", f"= {second}"))

    def counterexample(self) -> Counterexample:
        equation = self.equation
        results = (brief(self.results[0]), brief(self.results[1]))
        of = ", ".join(f"{name} = {brief(value)}" for name, value in zip(equation.variables, self.values, strict=True))
        if self.changed:
            columns: tuple[tuple[str, ...], ...] = ((f"{self.changed} before",), (f"{self.changed} after",))
            about = f"it changes its argument, on {of}"
            return Counterexample(equation.law, about, columns, results, self._pasted(), LEAVE_ARGUMENTS)
        return Counterexample(equation.law, f"on {of}", self._columns(), results, self._pasted())

    def _columns(self) -> tuple[tuple[str, ...], ...]:
        """Each side as the calls that it makes, one after the other."""
        shown = self.equation.shown
        if self.equation.law == laws.A_FUNCTION:  # the same call again would give another result again
            shown = (self.equation.left, self.equation.right)
        if shown is not None:
            return tuple((self.equation.filled(text, self.values),) for text in shown)
        columns = []
        for expression in (self.equation.left, self.equation.right):
            calls: list[str] = []
            names = {name: _recorded(name, function, calls) for name, function in self.equation.names.items()}
            evaluate = eval(f"lambda {', '.join(self.equation.variables)}: {expression}", names)
            try:
                evaluate(*map(copied, self.values))
            except Exception:  # it did not raise before: not a function of its arguments
                calls.append("raises now")
            columns.append(tuple(calls) or (self.equation.filled(expression, self.values),))
        return tuple(columns)

    def _pasted(self) -> str:
        equation = self.equation
        before = [equation.setting] if equation.setting else []
        if self.changed:
            place = equation.variables.index(self.changed)
            given = brief(self.values[place], LONG)
            call = equation.filled(equation.left, _with(self.values, place, _Name(self.changed)), LONG)
            steps = [f"{self.changed} = {given}", call, f"assert {self.changed} == {given}"]
            return "; ".join(before + steps)
        one, other = (equation.filled(text, self.values, LONG) for text in (equation.left, equation.right))
        return "; ".join([*before, f"assert {one} == {other}"])


class _Name(str):
    """Shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _recorded(name: str, function: Function, calls: list[str]) -> Function:
    def recording(*arguments: Any) -> Any:
        shown = ", ".join(map(brief, arguments))
        result = function(*arguments)
        calls.append(f"{name}({shown}) = {brief(result)}")
        return result

    return recording


def copied(value: Any) -> Any:
    return value if lasting(value) else copy.deepcopy(value)


def broken(equation: Equation, values: tuple[Any, ...]) -> Broken | None:
    """What the values break. A function that raises is an error that names them."""
    firm = all(map(lasting, values))
    results = []
    try:
        for side in equation.both:
            given = values if firm else tuple(map(copied, values))
            results.append(outcome(side, given))
            for name, now, before in () if firm else zip(equation.variables, given, values, strict=True):
                if name not in equation.owned and not same(now, before):
                    return Broken(equation, values, (before, now), changed=name)
    except TimeUp as up:
        up.given = up.given or values
        raise
    except FloError:
        raise
    except (Exception, SystemExit) as error:
        raise Raised(error, values) from error
    return None if same(*results) else Broken(equation, values, (results[0], results[1]))


class Raised(Exception):
    """A function raised on these values."""

    def __init__(self, error: BaseException, values: tuple[Any, ...]) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error
        self.values = values
