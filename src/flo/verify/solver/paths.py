"""A path through functions that run on symbols: which of the conditions that they test hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

MOST_TESTS = 100
"""How many conditions may be tested on one way: a loop that a symbol ends may never end."""
QUICK = 200_000
"""So much work for the solver that is quick with what is easy, before the one that chooses its tactics."""


class Refused(BaseException):
    """What cannot be traced. No `Exception`, so that what a function does about its own errors does not hide it."""


class OutOfWork(Refused):
    pass


Decisions = tuple[tuple[Any, bool], ...]


@dataclass
class Question:
    """What all ways through the functions have in common."""

    work: int
    """What the solver may still do, as it counts it."""
    words: bool
    """Whether texts are known by their order only."""
    texts: bool = False
    """Whether there are texts at all."""
    floats: bool = False


class Path:
    """Follows the decisions that it is given, then takes what is possible; `others` are the ways that it leaves."""

    def __init__(self, decisions: Decisions, question: Question, model: Any = None) -> None:
        self.decisions = decisions
        self.question = question
        self.model = model
        """Values that take this way, as far as it is decided."""
        self.taken: list[tuple[Any, bool]] = []
        self.others: list[Path] = []
        self.conditions: list[Any] = []
        self.refusal: Refused | None = None
        self.lone_member: Any = None
        """The symbol of a set `{x}` that was just built, and must go into an operation with a set of the solver."""
        self._symbols = 0

    def refuse(self, reason: str) -> NoReturn:
        self.refusal = self.refusal or Refused(reason)  # kept, should anything swallow it
        raise self.refusal

    def name(self) -> str:
        self._symbols += 1
        return f"v{self._symbols}"

    def fork(self, condition: Any) -> bool:
        """Whether the condition holds on this way."""
        import z3

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
        """One of the options; other ways take the others."""
        import z3

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

    def _decide(self, condition: Any) -> bool:
        """One outcome is that of the model, if there is one; the solver is asked whether the other is possible."""
        import z3

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

    def ask(self, *conditions: Any) -> tuple[Any, Any]:
        """Whether the conditions are possible on this way, and a model if they are."""
        import z3

        for solver, most in ((z3.SimpleSolver(), QUICK), (z3.Solver(), math.inf)):
            if self.question.work <= 0:
                raise OutOfWork
            solver.set("rlimit", int(min(most, self.question.work)))
            solver.add(*self.conditions, *conditions)
            before = _counted(solver)
            answer = solver.check()
            self.question.work -= max(1, _counted(solver) - before)
            if answer != z3.unknown:
                break
        return answer, solver.model() if answer == z3.sat else None


def _counted(solver: Any) -> int:
    """What the solver has done since Python was started, as it counts it."""
    statistics = solver.statistics()
    return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118
