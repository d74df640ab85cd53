"""One operator for each law of operators, each in the way that users break it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import final

from flo.core.operator import Delta, Operator, Step, Values
from flo.values.sequence import SequenceValue
from flo.verify import laws
from tests.seeded.base import BOUNDED, UNBOUNDED, PassOn, Seeded, last, seq


@final
@dataclass(frozen=True)
class Hanging(PassOn):
    """A fold that takes unbounded streams: emits only at the end."""

    total: int = 0

    name = "hanging"

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return replace(self, total=self.total + 1), None

    def at_the_end(self) -> Delta:
        return last(self.total)


@final
@dataclass(frozen=True)
class Endless(PassOn):
    """Steps without consuming anything."""

    name = "endless"

    def steps(self, inputs: Values) -> Iterator[Step]:
        yield Step("endless", inputs, self, (None,))


@final
@dataclass(frozen=True)
class Retrying(PassOn):
    """Counts its attempts on an element before it passes it on, and no measure falls meanwhile."""

    attempts: int = 0

    name = "retrying"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if value.elements and self.attempts < 2:
            yield Step("retrying-again", inputs, replace(self, attempts=self.attempts + 1), (None,))
        else:
            yield from super().steps(inputs)

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return Retrying(), seq(element)


@final
@dataclass(frozen=True)
class Racing(PassOn):
    """Two rules for one element, with two results."""

    name = "racing"

    def steps(self, inputs: Values) -> Iterator[Step]:
        for step in super().steps(inputs):
            yield step
            if step.rule == "racing":
                yield replace(step, rule="racing-twice", outputs=(seq(0, 0),))


@final
@dataclass(frozen=True)
class Mistyped(PassOn):
    """Emits strings where its type says int."""

    name = "mistyped"

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return self, seq(str(element))


@final
@dataclass(frozen=True)
class Unending(PassOn):
    """Consumes everything and never passes the end on."""

    name = "unending"

    def steps(self, inputs: Values) -> Iterator[Step]:
        return (step for step in super().steps(inputs) if step.rule == "unending")


@final
@dataclass(frozen=True)
class Swallowing(PassOn):
    """Consumes the end and emits nothing for it."""

    name = "swallowing"

    def at_the_end(self) -> Delta:
        return None


@final
@dataclass(frozen=True)
class Hasty(PassOn):
    """Its steps are right, and its `advance` forgets all but the last element."""

    name = "hasty"

    def advance(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if value.elements:
            value, newest = value.drained(), value.elements[-1]
            yield Step("hasty", (value,), self, (seq(newest),))
        yield from self.steps((value,))


@final
@dataclass(frozen=True)
class Numbering(PassOn):
    """Numbers elements by a list that it changes in place, so a step that is taken again goes on counting."""

    numbered: list[int] = field(default_factory=list, compare=False)

    name = "numbering"

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        self.numbered.append(element)
        return self, seq(len(self.numbered))


OPERATORS = (
    Seeded(
        "a total of an unbounded stream",
        Hanging(),
        (laws.OUTPUT_MAXIMALITY,),
        "A total over a table works in the batch job, and the same code is pointed at a topic. It reads all day, and "
        "the state grows, and no total ever comes.",
        "no element: nothing is emitted, and [0] when the input is fixed",
        2,
        UNBOUNDED,
    ),
    Seeded(
        "a step on nothing",
        Endless(),
        (laws.STUCK_STATE,),
        "A polling loop is put into an operator: is there something? no; is there something now? It takes a core for "
        "itself, and no other operator of the graph gets a turn.",
        "no element: the step leads to where it came from",
        1,
        UNBOUNDED,
    ),
    Seeded(
        "a retry that no measure counts",
        Retrying(),
        (laws.MEASURE,),
        "A call to a service is tried again before an element is given up. That it ends at all is in nobody's hands "
        "when the limit becomes a setting, and one element holds up the whole stream.",
        "1 arrives: the first attempt leaves the input as it was",
        2,
        UNBOUNDED,
    ),
    Seeded(
        "two rules for one element",
        Racing(),
        (laws.CONFLUENCE,),
        "Two branches are meant to exclude each other, and at the border both are true. Which one is taken depends on "
        "the order in which the rules are tried, and a refactoring changes the numbers.",
        "1 arrives: [1] or [0, 0]",
        1,
        UNBOUNDED,
    ),
    Seeded(
        "strings for integers",
        Mistyped(),
        (laws.PRESERVATION,),
        "A field is formatted for the log in the same function that passes it on. The consumer three stages later "
        "adds it to a number, and fails on a machine where nobody looks.",
        "1 arrives: ['1'] is no Sequence[int]",
        2,
        UNBOUNDED,
    ),
    Seeded(
        "an end that stays in the buffer",
        Unending(),
        (laws.BOUNDED_OUTPUTS,),
        "A handler is written for elements, and the one for the end is forgotten. All rows arrive, and the job that "
        "waits for the end of this one never starts.",
        "the input ends: the output stays open",
        1,
        BOUNDED,
    ),
    Seeded(
        "an end that is swallowed",
        Swallowing(),
        (laws.BOUNDED_OUTPUTS,),
        "The end is handled, to close a file, and then not handed on. Downstream everything looks as if the stream "
        "were still running.",
        "the input ends: the output stays open",
        2,
        BOUNDED,
    ),
    Seeded(
        "a fast path that differs",
        Hasty(),
        (laws.ADVANCE,),
        "A vectorised path is added beside the loop over elements and is tried with batches of one. In production "
        "batches are large, and all but the last row of each is lost.",
        "1 and 1 arrive: [1, 1] by steps, [1] by advance",
        2,
        UNBOUNDED,
    ),
    Seeded(
        "a counter outside of the state",
        Numbering(),
        (laws.A_FUNCTION,),
        "Rows get their numbers from a global counter. After a restart, or with a second worker, numbers are given "
        "twice or skipped, because the checkpoint does not know them.",
        "1 arrives: [1], and taken again [2]",
        2,
        UNBOUNDED,
    ),
)
