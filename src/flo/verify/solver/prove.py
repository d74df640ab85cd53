"""Proves equations with a solver (z3), for all values, or refutes them with some."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from flo.core.untyped import TypeForm
from flo.verify.equality import NoJoin, are_equal
from flo.verify.optional import NO_Z3, z3
from flo.verify.solver.arguments import MakeArgument, RejectedValue, fits, make_maker, to_plain
from flo.verify.solver.paths import OutOfWork, Path, Question, Untraceable
from flo.verify.solver.tracing import is_deliberate, trace

MOST_PATHS = 200
SOLVER_WORK = 4_000_000
"""The budget for one equation, in the solver's units: about two seconds, and the same on every machine."""
EquationSides: TypeAlias = Callable[..., tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Proved:
    """The sides are equal for all values of the types; for floats, all but NaN."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """The sides differ for these arguments, as a call has confirmed."""

    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither proved nor refuted, and why."""

    reason: str


Verdict: TypeAlias = Proved | Refuted | Unknown
_one_at_a_time = threading.RLock()  # z3 keeps its terms in one place for all threads


def prove(sides: EquationSides, types: Sequence[object], *, work: int = SOLVER_WORK) -> Verdict:
    """Prove that the two results of `sides` are equal for all arguments of the types.

    The functions are run on symbols, once for each path through their branches. Globals and variables of outer
    functions count as constants, with their present values.
    """
    if not z3.is_installed():
        return Unknown(NO_Z3)
    with _one_at_a_time:
        try:
            makers = [make_maker(kind) for kind in types]
            question = Question(work, words=True)
            verdict = _prove_all_paths(sides, makers, question)
            if question.texts and verdict != Proved():
                verdict = _prove_all_paths(sides, makers, replace(question, words=False))
            return verdict
        except OutOfWork:
            return Unknown(f"the solver did not finish within {work:,} units of work")
        except Untraceable as refused:
            return Unknown(str(refused))


def prove_type(f: Callable[..., Any], types: Sequence[object], kind: TypeForm, *, work: int = SOLVER_WORK) -> Verdict:
    """Prove that f returns a value of this type for all arguments of the types."""
    results: list[Any] = []

    def sides(*arguments: object) -> tuple[Any, Any]:
        results.append(f(*arguments))
        return None, None

    verdict = prove(sides, types, work=work)
    left = verdict == Proved() and not all(fits(result, kind) for result in results)
    return Unknown("its results may leave their type") if left else verdict


def _prove_all_paths(sides: EquationSides, makers: list[MakeArgument], question: Question) -> Verdict:
    waiting = deque([Path((), question)])  # short ones first: they give small counterexamples
    doubts: list[Unknown] = []
    paths = 0
    while waiting and paths < MOST_PATHS:
        paths += 1
        path = waiting.popleft()
        try:
            verdict = _prove_path(path, sides, makers)
        except OutOfWork:
            if doubts:
                break
            raise
        waiting += path.others
        if isinstance(verdict, Refuted) or (verdict != Proved() and question.texts and question.words):
            return verdict  # the order of texts does not suffice
        if isinstance(verdict, Unknown):
            doubts.append(verdict)
    if waiting and not doubts:
        doubts.append(Unknown(f"there are more than {MOST_PATHS} ways through the branches"))
    return doubts[0] if doubts else Proved()


def _prove_path(path: Path, sides: EquationSides, makers: list[MakeArgument]) -> Verdict:
    arguments: list[Any] = []

    def run() -> bool:
        arguments.extend(make(path) for make in makers)
        results = sides(*arguments)
        for each in results:
            if isinstance(each, NoJoin) and not is_deliberate(each.__cause__ or each):
                path.refuse("whether there are such values cannot be traced")
        equal = are_equal(*results)
        path.expect_no_lone_member()
        return equal

    try:
        if trace(path, run):
            return Proved()
    except RejectedValue as error:
        if path.lone_member is None and is_deliberate(error.__cause__ or error):
            return Proved()  # there are no such values
        return Unknown("whether there are such values cannot be traced")
    except OutOfWork:
        raise
    except Untraceable as refused:
        return Unknown(str(refused))
    except Exception as error:
        return Unknown(f"it raises {type(error).__name__} for some values")
    return _counterexample(path, sides, arguments)


def _counterexample(path: Path, sides: EquationSides, arguments: list[Any]) -> Verdict:
    """The values of the solver's model, if the sides really differ for them."""
    answer, model = path.ask()
    if answer == z3.unsat:
        return Proved()  # no values take this path
    if answer != z3.sat:
        return Unknown("the solver gave up")
    constants = list(_constants([*path.conditions, *(model[name] for name in model.decls())]))
    try:
        values = tuple(to_plain(argument, model, constants) for argument in arguments)
        if not are_equal(*sides(*values)):
            return Refuted(values)
    except Untraceable as refused:
        return Unknown(str(refused))
    except Exception as error:
        return Unknown(f"it raises {type(error).__name__} for some values")
    return Unknown("the solver's counterexample does not hold in Python")


def _constants(terms: list[Any]) -> Iterator[Any]:
    """The numbers and texts in the terms, each once."""
    waiting, seen = [term for term in terms if z3.is_expr(term)], set()
    while waiting:
        term = waiting.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            waiting += term.children()
            if z3.is_int_value(term) or z3.is_string_value(term):
                yield term
