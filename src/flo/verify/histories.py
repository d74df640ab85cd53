"""Finds results that depend on more than the input: on calls before, through captured objects, or on the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flo.verify import laws
from flo.verify.captured import Captured
from flo.verify.equality import are_equal
from flo.verify.laws import Law
from flo.verify.processes import SEEDS, RaisedName, run_in_processes
from flo.verify.report import Counterexample

MOST_TRIALS = 12
"""How many calls are tried before and after each other."""
NO_CAPTURED_STATE = "keep state in a fold, a scan or the fields of an operator, not in what a function captures"
NO_PROCESS = "use nothing that differs between processes: sort a set before going through it; hashlib instead of hash"


@dataclass(frozen=True)
class Trial:
    """A call, or a run of a program on an input."""

    text: str
    arguments: tuple[Any, ...]
    paste: str
    """A line that repeats it."""


@dataclass(frozen=True)
class Trials:
    """Trials of one function or program; `call` takes the arguments of each."""

    about: str
    call: Callable[..., Any]
    trials: Sequence[Trial]
    show: Callable[[Any], str]
    law: Law = laws.A_FUNCTION
    prepare: Callable[[Any], Any] = lambda argument: argument
    """Copies an argument that the call may change."""

    def check_history(self, captured: Captured) -> Counterexample | None:
        """Find a trial with another result after another trial, from the same captured state."""
        after_check = captured.as_they_are()
        try:
            for trial in self.trials:
                for others in [*([each] for each in self.trials), list(self.trials)]:
                    captured.restore()
                    first = self._result(trial)
                    changed: dict[str, None] = dict.fromkeys(captured.changed())
                    for other in others:
                        self._result(other)
                    changed |= dict.fromkeys(captured.changed())
                    again = self._result(trial)
                    if changed and not are_equal(first, again):
                        return self._report_history(trial, others, list(changed), (first, again))
        finally:
            after_check.restore()
        return None

    def _result(self, trial: Trial) -> Any:
        try:
            return self.call(*map(self.prepare, trial.arguments))
        except Exception as error:
            return RaisedName(type(error).__name__)

    def _show(self, result: object) -> str:
        return f"raises {result}" if isinstance(result, RaisedName) else self.show(result)

    def _report_history(
        self, trial: Trial, others: list[Trial], changed: list[str], results: tuple[object, object]
    ) -> Counterexample:
        names = ", ".join(f"`{name}`" for name in changed)
        between = [other.text for other in others]
        columns = ((trial.text,), (trial.text, *between, trial.text))
        paste = "; ".join([trial.paste, *(other.paste for other in others), trial.paste])
        return Counterexample(
            self.law,
            f"{self.about}: {names}, which it captures, has changed in between",
            columns,
            (self._show(results[0]), self._show(results[1])),
            paste,
            NO_CAPTURED_STATE,
        )

    def check_processes(self) -> Counterexample | None:
        """Find a trial with another result in a process with another hash seed; raise NotSent if none has run."""
        answers = run_in_processes(self.call, [trial.arguments for trial in self.trials])
        for place, trial in enumerate(self.trials):
            results = [answer[place] for answer in answers]
            for seed, result in zip(SEEDS[1:], results[1:], strict=True):
                if not are_equal(results[0], result):
                    columns = tuple((f"PYTHONHASHSEED={each}", trial.text) for each in (SEEDS[0], seed))
                    texts = (self._show(results[0]), self._show(result))
                    about = f"{self.about}: in two processes"
                    again = f"PYTHONHASHSEED={SEEDS[0]} and {seed}: {trial.paste}"
                    return Counterexample(self.law, about, columns, texts, again, NO_PROCESS)
        return None
