"""A path through functions that run on symbols: the outcomes of the conditions that they test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

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

    def ask(self, *conditions: Z3Term) -> tuple[Any, Any]:
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
