"""The phases of a check: small inputs, sizes in the code, random inputs, large inputs, checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from flo.core.errors import ElementError, FunctionError, LawError, brief
from flo.verify.effort import SIZED_SHARE, Effort
from flo.verify.optional import NO_HYPOTHESIS, st
from flo.verify.programs.graphs import OF_OPERATORS, GraphLaws
from flo.verify.programs.inputs import Input, small_inputs
from flo.verify.programs.larger_inputs import (
    LARGEST_RANDOM,
    WIDEST,
    input_strategy,
    large_inputs,
    sized_inputs,
    try_random,
)
from flo.verify.programs.steps import name_functions
from flo.verify.report import Counterexample, Strength
from flo.verify.time_limit import TimeLimit, TimeUp

T = TypeVar("T")
LEAST_TRIES = 20
LEAST_RANDOM = 1_000
"""With less work left, random inputs are not worth the import of Hypothesis, if larger inputs were tried before."""
MOST_CHECKPOINT_INPUTS = 8
"""How many inputs of each size are tried with checkpoints."""


@dataclass
class Phases:
    """Tries the same laws on several subjects: an operator on each of its input types, or one program."""

    subjects: list[GraphLaws]
    effort: Effort
    guessed: bool = False
    """Whether the input types are a guess; then those on which a function raises are skipped."""
    exhaustive: int = 0
    up_to: int = 0
    sized: int = 0
    """Inputs of the sizes that the code mentions."""
    random: int = 0
    cut_at: int | None = None
    """The size of small inputs at which the budget ended."""
    limits: list[str] = field(default_factory=list)
    faults: list[FunctionError] = field(default_factory=list)
    """The errors of functions on guessed types."""
    refused: list[ElementError] = field(default_factory=list)
    """The errors about data that the program rejects."""
    current: GraphLaws | None = None

    def run(self) -> Counterexample | None:
        """Run all phases; return the smallest counterexample. A function that hangs is an error."""
        counterexample = (
            self._limited(self._try_small)
            or self._limited(self._try_sizes)
            or (self._limited(self._try_random) if self._prepare_random() else None)
            or self._limited(self._try_large)
            or self._limited(self._try_checkpoints)
        )
        if counterexample is None and self.refused and not self.exhaustive:
            raise self.refused[0]
        return counterexample

    def _limited(self, phase: Callable[[], Counterexample | None]) -> Counterexample | None:
        """Run a phase with a time limit for the user's functions."""
        try:
            with TimeLimit(self.effort.seconds, self._progress):
                return phase()
        except TimeUp as up:
            raise self._timeout_error(up) from None

    def _prepare_random(self) -> bool:
        """Prepare for random inputs, and return whether to try them. For texts Hypothesis computes a table of all
        characters, once, which can take seconds; no function of the user is to blame for them."""
        if not self.subjects or not self.effort.tries:
            return False
        if self.sized and self.effort.remaining() < LEAST_RANDOM:
            self.limits.append(f"no random inputs, {self._budget_note}")
            return False
        if not st.is_installed():
            self.limits.append(NO_HYPOTHESIS)
            return False
        for kind in (kind for subject in self.subjects for kind in subject.types):
            with suppress(Exception):  # the phase that needs the strategy raises the error
                input_strategy(kind.collection, self.effort.given).validate()
        return True

    def _progress(self) -> int:
        return self.effort.meter.done + sum(subject.space.meter.done for subject in self.subjects)

    def strength(self) -> Strength:
        many = sum(subject.cut_short for subject in self.subjects)
        limits = [*self.limits, *([f"{many:,} inputs have too many states, and were not all explored"] if many else [])]
        if self.refused:
            limits.append(f"{len(self.refused):,} inputs were rejected: {self.refused[0].summary}")
        if self.faults:
            limits.append(f"inputs were skipped: {self.faults[0].summary}")
        return Strength(
            exhaustive=self.exhaustive,
            up_to=self.up_to,
            sized=self.sized,
            random=self.random,
            longest=max((subject.longest for subject in self.subjects), default=0),
            heaviest=max((subject.heaviest for subject in self.subjects), default=0),
            takes_data=any(subject.types for subject in self.subjects),
            of_several=sum(subject.inputs_of_several for subject in self.subjects),
            cut_at=self.cut_at,
            limits=tuple(limits),
        )

    def fired(self) -> frozenset[str]:
        return frozenset(rule for subject in self.subjects for rule in subject.fired)

    def _try_small(self) -> Counterexample | None:
        for size in range(self.effort.most + 1):
            for subject in list(self.subjects):
                for broken in self._check_size(subject, size):
                    if broken is not None:
                        return broken
            if self.effort.is_used_up(self.effort.small_share(size)):
                self.limits.append(f"not all inputs of {size} element{'s' * (size != 1)}, {self._budget_note}")
                self.cut_at = size
                return None
            self.up_to = size
        return None

    def _check_size(self, subject: GraphLaws, size: int) -> Iterator[Counterexample | None]:
        self.current = subject
        try:
            for given in small_inputs(subject.types, size, self.effort.given, self._ends_elsewhere(subject)):
                share, cut_short = self.effort.small_share(size), subject.cut_short
                if self.effort.is_used_up(share):
                    return
                try:
                    broken = subject.check_all_schedules(given, share)
                except ElementError as refused:  # not data for this program
                    self.refused.append(refused)
                    continue
                self.exhaustive += subject.cut_short == cut_short
                yield broken
        except FunctionError as fault:
            if not self.guessed:
                raise
            self.faults.append(fault)
            self.subjects.remove(subject)

    def _try_sizes(self) -> Counterexample | None:
        """Inputs of the sizes that the code mentions."""
        for subject in self.subjects:
            inputs = ((given, choices, None) for given, choices in self._sized_inputs(subject))
            limit = f"not all sizes that the code mentions, {self._budget_note}"
            first = self._first_broken(subject, inputs, limit, SIZED_SHARE)
            if first is not None:
                given, _, broken = first
                return subject.check_all_schedules(given) or broken
        return None

    def _sized_inputs(self, subject: GraphLaws) -> Iterator[tuple[Input, tuple[int, ...]]]:
        return sized_inputs(subject.types, self.effort.given, WIDEST)

    def _try_large(self) -> Counterexample | None:
        """Inputs of sizes that the code does not mention; last, as random inputs lead to smaller counterexamples."""
        for subject in self.subjects:
            if not subject.shipped:
                inputs = ((given, (), size) for given, size in large_inputs(subject.types, self.effort.given))
                first = self._first_broken(subject, inputs)
                if first is not None:
                    _, size, broken = first
                    return self._find_smaller(subject, size) or broken
        return None

    def _first_broken(
        self,
        subject: GraphLaws,
        inputs: Iterable[tuple[Input, tuple[int, ...], T]],
        limit: str = "",
        share: float = 1.0,
    ) -> tuple[Input, T, Counterexample] | None:
        """Find the first input that breaks a law. The report names the limit if the share is used up before."""
        self.current = subject
        for given, choices, size in inputs:
            if self.effort.is_used_up(share):
                if limit and limit not in self.limits:
                    self.limits.append(limit)
                return None
            try:
                broken = subject.check_schedule(given, choices)
            except ElementError as refused:
                self.refused.append(refused)
                continue
            except FunctionError as fault:
                if not self.guessed:
                    raise
                self.faults.append(fault)
                return None
            self.sized += 1
            if broken is not None:
                return given, size, broken
        return None

    def _find_smaller(self, subject: GraphLaws, broken: int) -> Counterexample | None:
        """Find the smallest size that breaks a law, by halving."""
        smallest, holds = None, LARGEST_RANDOM
        while holds + 1 < broken:
            size = (holds + broken) // 2
            tried = (
                subject.check_schedule(given, ())
                for given, _ in large_inputs(subject.types, self.effort.given, (size,))
            )
            one = next(filter(None, tried), None)
            smallest, holds, broken = (smallest, size, broken) if one is None else (one, holds, size)
        return smallest

    def _try_checkpoints(self) -> Counterexample | None:
        """Try checkpoints last, as other laws say more about a state."""
        budget = self.effort.with_new_meter()  # the law must be tried even if the budget is used up
        for subject in self.subjects:
            self.current = subject
            subject.space.forget()
            subject.space.meter = budget.meter
            for given in self._checkpoint_inputs(subject):
                if budget.is_used_up():
                    self.limits.append(f"not all checkpoints, {self._budget_note}")
                    return None
                try:
                    broken = subject.check_checkpoints(given)
                except (ElementError, FunctionError):  # reported before
                    continue
                if broken is not None:
                    return broken
        return None

    def _checkpoint_inputs(self, subject: GraphLaws) -> Iterator[Input]:
        """A few small inputs, and one of every size in the code; for operators only, as programs consist of them."""
        if subject.laws is OF_OPERATORS:
            for size in range(self.effort.most + 1):
                yield from islice(small_inputs(subject.types, size, self.effort.given), MOST_CHECKPOINT_INPUTS)
            largest = {given.data.__repr__(): given for given, _ in self._sized_inputs(subject)}
            yield from islice(largest.values(), MOST_CHECKPOINT_INPUTS)

    def _ends_elsewhere(self, subject: GraphLaws) -> set[tuple[bool, ...]]:
        """The choices of ends that another subject tries: the same collections with other boundedness."""
        collections = [kind.collection for kind in subject.types]
        others = (other.types for other in self.subjects if other is not subject)
        others_alike = (types for types in others if [kind.collection for kind in types] == collections)
        return {flags for types in others_alike if any(flags := tuple(kind.bounded for kind in types))}

    def _try_random(self) -> Counterexample | None:
        is_cut_short = False
        each = max(min(LEAST_TRIES, self.effort.tries), self.effort.tries // len(self.subjects))
        for subject in self.subjects:
            self.current = subject
            faults = self.faults if self.guessed else None
            tried, cut, broken = try_random(subject, self.effort, each, faults, self.refused)
            is_cut_short |= cut
            self.random += tried
            if broken is not None:
                return broken
        if is_cut_short:
            self.limits.append(f"not all random inputs, {self._budget_note}")
        return None

    @property
    def _budget_note(self) -> str:
        return f"as {self.effort.work:,} units of work were done"

    def _timeout_error(self, up: TimeUp) -> LawError:
        """The error about a function that does not return."""
        facts = up.stopped_at
        if self.current is not None:
            functions = up.call or " or ".join(dict.fromkeys(map(name_functions, self.current.space.nodes)))
            given = () if self.current.last_input is None else (("input", brief(self.current.last_input.data)),)
            facts = (("function", functions), *given, *facts)
        return LawError(
            f"a function was aborted {up.spent}: it had not returned",
            facts=facts,
            instead=(
                (f"check(…, seconds={12 * self.effort.seconds:g})", "if it is only slow"),
                ("a loop that ends", "for every element"),
            ),
        ).at_users_line()
