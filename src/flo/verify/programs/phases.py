"""The phases of a check: small inputs, sizes in the code, random inputs, large inputs, checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from typing import TypeVar

from flo.core.errors import ElementError, FunctionError, LawError, Origin, brief
from flo.verify.data.strategies import NO_HYPOTHESIS
from flo.verify.effort import Effort
from flo.verify.programs.graphs import OF_OPERATORS, GraphLaws
from flo.verify.programs.inputs import Input, small_inputs
from flo.verify.programs.larger_inputs import LARGEST_RANDOM, WIDEST, large_inputs, sample, sized_inputs
from flo.verify.programs.steps import functions_of
from flo.verify.report import Counterexample, Strength
from flo.verify.within import TimeUp, within

T = TypeVar("T")
LEAST_TRIES = 20
MOST_RESUMED = 8
"""So many inputs of every size are stopped, saved and restored on the way."""


@dataclass
class Phases:
    """Tries the same laws on several subjects: an operator on each of its input types, or one program."""

    subjects: list[GraphLaws]
    effort: Effort
    guessed: bool = False
    """The input types are a guess: those on which a function raises are passed over."""
    exhaustive: int = 0
    up_to: int = 0
    sized: int = 0
    """Inputs of the sizes that the code mentions."""
    random: int = 0
    limits: list[str] = field(default_factory=list)
    faults: list[FunctionError] = field(default_factory=list)
    """What functions raised where the types were a guess."""
    refused: list[ElementError] = field(default_factory=list)
    """What the program says of data that is not for it."""
    current: GraphLaws | None = None

    def run(self) -> Counterexample | None:
        """What breaks a law, the smallest that was found. A function that hangs is given up."""
        try:
            with within(self.effort.seconds, self._progress):
                found = self._small() or self._sized() or self._random() or self._large() or self._resumed()
        except TimeUp as up:
            raise self._endless(up) from None
        if found is None and self.refused and not self.exhaustive:
            raise self.refused[0]
        return found

    def _progress(self) -> int:
        return self.effort.meter.done + sum(subject.space.meter.done for subject in self.subjects)

    def strength(self) -> Strength:
        many = sum(subject.cut_short for subject in self.subjects)
        limits = [*self.limits, *([f"{many:,} inputs have too many states, and were not all explored"] if many else [])]
        if self.refused:
            limits.append(f"{len(self.refused):,} inputs were refused: {self.refused[0].summary}")
        if self.faults:
            limits.append(f"inputs were passed over on which {self.faults[0].summary}")
        return Strength(
            exhaustive=self.exhaustive,
            up_to=self.up_to,
            sized=self.sized,
            random=self.random,
            longest=max((subject.longest for subject in self.subjects), default=0),
            heaviest=max((subject.heaviest for subject in self.subjects), default=0),
            takes_data=any(subject.types for subject in self.subjects),
            limits=tuple(limits),
        )

    def fired(self) -> frozenset[str]:
        return frozenset(rule for subject in self.subjects for rule in subject.fired)

    def _small(self) -> Counterexample | None:
        for size in range(self.effort.most + 1):
            for subject in list(self.subjects):
                for broken in self._of_size(subject, size):
                    if broken is not None:
                        return broken
            if self.effort.small_over():
                self.limits.append(f"not all inputs of {size} elements, {self._enough}")
                return None
            self.up_to = size
        return None

    def _of_size(self, subject: GraphLaws, size: int) -> Iterator[Counterexample | None]:
        self.current = subject
        try:
            for given in small_inputs(subject.types, size, self.effort.given, self._ends_elsewhere(subject)):
                if self.effort.small_over():
                    return
                try:
                    broken = subject.broken_by(given)
                except ElementError as refused:  # not data for this program
                    self.refused.append(refused)
                    continue
                self.exhaustive += 1
                yield broken
        except FunctionError as fault:
            if not self.guessed:
                raise
            self.faults.append(fault)
            self.subjects.remove(subject)

    def _sized(self) -> Counterexample | None:
        """Inputs of the sizes that the code mentions."""
        for subject in self.subjects:
            inputs = ((given, choices, None) for given, choices in self._sized_inputs(subject))
            found = self._first_broken(subject, inputs, f"not all sizes that the code mentions, {self._enough}")
            if found is not None:
                given, _, broken = found
                return subject.broken_by(given) or broken
        return None

    def _sized_inputs(self, subject: GraphLaws) -> Iterator[tuple[Input, tuple[int, ...]]]:
        return sized_inputs(subject.types, self.effort.given, WIDEST)

    def _large(self) -> Counterexample | None:
        """Inputs of sizes that the code does not mention; last, as random inputs lead to smaller counterexamples."""
        for subject in self.subjects:
            if not subject.shipped:
                inputs = ((given, (), size) for given, size in large_inputs(subject.types, self.effort.given))
                found = self._first_broken(subject, inputs)
                if found is not None:
                    _, size, broken = found
                    return self._smaller(subject, size) or broken
        return None

    def _first_broken(
        self, subject: GraphLaws, inputs: Iterable[tuple[Input, tuple[int, ...], T]], limit: str = ""
    ) -> tuple[Input, T, Counterexample] | None:
        """The first of these inputs that breaks a law. If the work runs out before, the report names the limit."""
        self.current = subject
        for given, choices, size in inputs:
            if self.effort.over():
                if limit and limit not in self.limits:
                    self.limits.append(limit)
                return None
            try:
                broken = subject.broken_along(given, choices)
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

    def _smaller(self, subject: GraphLaws, broken: int) -> Counterexample | None:
        """The same with the fewest elements that break a law, found by halving."""
        found, holds = None, LARGEST_RANDOM
        while holds + 1 < broken:
            size = (holds + broken) // 2
            tried = (
                subject.broken_along(given, ()) for given, _ in large_inputs(subject.types, self.effort.given, (size,))
            )
            one = next(filter(None, tried), None)
            found, holds, broken = (found, size, broken) if one is None else (one, holds, size)
        return found

    def _resumed(self) -> Counterexample | None:
        """What is lost in a checkpoint of an operator: looked for last, as other laws say more about a state."""
        least = self.effort.rest()  # the rest of the work, or a little if nothing is left: the law must be tried
        for subject in self.subjects:
            self.current = subject
            subject.space.forget()
            subject.space.meter = least.meter
            for given in self._to_resume(subject):
                if least.over():
                    self.limits.append(f"not all checkpoints, {self._enough}")
                    return None
                try:
                    broken = subject.not_resumed(given)
                except (ElementError, FunctionError):  # as was said before
                    continue
                if broken is not None:
                    return broken
        return None

    def _to_resume(self, subject: GraphLaws) -> Iterator[Input]:
        """A few small inputs, and one of every size in the code; of an operator, as a program is made of them."""
        if subject.laws is OF_OPERATORS:
            for size in range(self.effort.most + 1):
                yield from islice(small_inputs(subject.types, size, self.effort.given), MOST_RESUMED)
            largest = {given.data.__repr__(): given for given, _ in self._sized_inputs(subject)}
            yield from islice(largest.values(), MOST_RESUMED)

    def _ends_elsewhere(self, subject: GraphLaws) -> set[tuple[bool, ...]]:
        """Where the same collections are tried as streams of other boundedness, too: then they end there, or some."""
        collections = [kind.collection for kind in subject.types]
        others = (other.types for other in self.subjects if other is not subject)
        alike = (types for types in others if [kind.collection for kind in types] == collections)
        return {flags for types in alike if any(flags := tuple(kind.bounded for kind in types))}

    def _random(self) -> Counterexample | None:
        if not self.subjects or not self.effort.tries:
            return None
        if find_spec("hypothesis") is None:
            self.limits.append(NO_HYPOTHESIS)
            return None
        each = max(min(LEAST_TRIES, self.effort.tries), self.effort.tries // len(self.subjects))
        for subject in self.subjects:
            self.current = subject
            tried, broken = sample(subject, self.effort, each, self.faults if self.guessed else None, self.refused)
            self.random += tried
            if broken is not None:
                return broken
        if self.effort.over():
            self.limits.append(f"not all random inputs, {self._enough}")
        return None

    @property
    def _enough(self) -> str:
        return f"as {self.effort.work:,} units of work were done"

    def _endless(self, up: TimeUp) -> LawError:
        """A function that does not come back, for people."""
        facts = [("stopped at", f"{up.where}   {up.where.text}".rstrip())] if up.where else []
        if self.current is not None:
            functions = up.call or " or ".join(dict.fromkeys(map(functions_of, self.current.space.nodes)))
            given = () if self.current.trying is None else (("input", brief(self.current.trying.data)),)
            facts = [("function", functions), *given, *facts]
        return LawError(
            f"a function was given up {up.spent}: it had not returned",
            facts=tuple(facts),
            instead=(
                (f"check(…, seconds={12 * self.effort.seconds:g})", "if it is only slow"),
                ("a loop that ends", "for every element"),
            ),
            where=Origin.here(),
        )
