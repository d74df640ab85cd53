"""Proves equations with a solver (z3), for all values, or refutes them with some."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from flo.verify.functions.equations import NoJoin, same
from flo.verify.solver.arguments import Make, NoSuchValue, fits, maker, plain
from flo.verify.solver.paths import OutOfWork, Path, Question, Refused
from flo.verify.solver.tracing import deliberate, traced

MOST_PATHS = 200
SOLVER_WORK = 4_000_000
"""For one equation, as the solver counts what it does: about two seconds, and the same on every machine."""
Sides: TypeAlias = Callable[..., tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Proved:
    """Equal for all values of the types; of float all but nan."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """Not equal for these: it was tried."""

    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither could be shown, and why."""

    reason: str


Verdict: TypeAlias = Proved | Refuted | Unknown
_one_at_a_time = threading.RLock()  # z3 keeps its terms in one place for all threads


def prove(sides: Sides, types: Sequence[Any], *, work: int = SOLVER_WORK) -> Verdict:
    """Whether the two results of `sides` are equal for all arguments of the types.

    The functions are run on symbols, once for each way through their branches. Globals and variables of outer functions
    count as the constants that they are now.
    """
    try:
        import z3  # noqa: F401
    except ImportError:
        return Unknown("z3 is not installed: pip install 'flo-streams[verify]'")
    with _one_at_a_time:
        try:
            makers = [maker(kind) for kind in types]
            question = Question(work, words=True)
            verdict = _all_paths(sides, makers, question)
            if question.texts and verdict != Proved():
                verdict = _all_paths(sides, makers, replace(question, words=False))
            return verdict
        except OutOfWork:
            return Unknown(f"the solver was not done after {work:,} units of its work")
        except Refused as refused:
            return Unknown(str(refused))


def stays(f: Callable[..., Any], types: Sequence[Any], kind: Any, *, work: int = SOLVER_WORK) -> Verdict:
    """Whether f gives a value of this type for all arguments of the types."""
    results: list[Any] = []

    def sides(*arguments: Any) -> tuple[Any, Any]:
        results.append(f(*arguments))
        return None, None

    verdict = prove(sides, types, work=work)
    left = verdict == Proved() and not all(fits(result, kind) for result in results)
    return Unknown("its results may leave their type") if left else verdict


def _all_paths(sides: Sides, makers: list[Make], question: Question) -> Verdict:
    waiting = deque([Path((), question)])  # short ones first: they give small counterexamples
    doubts: list[Unknown] = []
    paths = 0
    while waiting and paths < MOST_PATHS:
        paths += 1
        path = waiting.popleft()
        try:
            verdict = _one_path(path, sides, makers)
        except OutOfWork:
            if doubts:
                break
            raise
        waiting += path.others
        if isinstance(verdict, Refuted) or (verdict != Proved() and question.texts and question.words):
            return verdict  # of texts more must be known than their order
        if isinstance(verdict, Unknown):
            doubts.append(verdict)
    if waiting and not doubts:
        doubts.append(Unknown(f"there are more than {MOST_PATHS} ways through the branches"))
    return doubts[0] if doubts else Proved()


def _one_path(path: Path, sides: Sides, makers: list[Make]) -> Verdict:
    arguments: list[Any] = []

    def run() -> bool:
        arguments.extend(make(path) for make in makers)
        results = sides(*arguments)
        for each in results:
            if isinstance(each, NoJoin) and not deliberate(each.__cause__ or each):
                path.refuse("whether there are such values cannot be traced")
        equal = same(*results)
        path.expect_no_lone_member()
        return equal

    try:
        if traced(path, run):
            return Proved()
    except NoSuchValue as error:
        if path.lone_member is None and deliberate(error.__cause__ or error):
            return Proved()  # nothing is said of such values
        return Unknown("whether there are such values cannot be traced")
    except OutOfWork:
        raise
    except Refused as refused:
        return Unknown(str(refused))
    except Exception as error:
        return Unknown(f"it raises {type(error).__name__} for some values")
    return _counterexample(path, sides, arguments)


def _counterexample(path: Path, sides: Sides, arguments: list[Any]) -> Verdict:
    """The values of the solver's model, if the sides really differ for them."""
    import z3

    answer, model = path.ask()
    if answer == z3.unsat:
        return Proved()  # no values take this path
    if answer != z3.sat:
        return Unknown("the solver gave up")
    constants = list(_constants([*path.conditions, *(model[name] for name in model.decls())]))
    try:
        values = tuple(plain(argument, model, constants) for argument in arguments)
        if not same(*sides(*values)):
            return Refuted(values)
    except Refused as refused:
        return Unknown(str(refused))
    except Exception as error:
        return Unknown(f"it raises {type(error).__name__} for some values")
    return Unknown("the solver's counterexample does not hold in Python")


def _constants(terms: list[Any]) -> Iterator[Any]:
    """The numbers and texts in the terms, each once."""
    import z3

    waiting, seen = [term for term in terms if z3.is_expr(term)], set()
    while waiting:
        term = waiting.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            waiting += term.children()
            if z3.is_int_value(term) or z3.is_string_value(term):
                yield term
