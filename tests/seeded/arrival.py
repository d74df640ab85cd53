"""The classic mistakes of streaming programs: results that depend on when data arrives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, final

from flo.core.collection import Collection, End
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Delta, Measure, Operator, Step, Values
from flo.core.stream_type import StreamType
from flo.values.sequence import SequenceValue
from flo.values.weighted import Bag
from flo.verify import laws
from tests.seeded.base import INTEGERS, UNBOUNDED, PassOn, Seeded, last, open_stream, seq

RACES = (laws.EAGER_EXECUTION, laws.CONFLUENCE)


@final
@dataclass(frozen=True)
class TriggerWindow(PassOn):
    """A window is what has arrived when the trigger fires."""

    name = "trigger_window"
    gives: ClassVar[Collection] = Nested(INTEGERS)

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if value.elements:
            window = NestedValue.pushing((value.ended(End.ARRIVED),))
            yield Step("trigger-window", (value.drained(),), self, (window,))
        else:
            yield from super().steps(inputs)


@final
@dataclass(frozen=True)
class CountAndReset(PassOn):
    """How many have arrived since it last looked."""

    name = "count_and_reset"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if value.elements:
            yield Step("count-and-reset", (value.drained(),), self, (seq(len(value.elements)),))
        else:
            yield from super().steps(inputs)


@final
@dataclass(frozen=True)
class FoldUntilIdle(PassOn):
    """Emits its total as soon as nothing is waiting: a timeout."""

    total: int = 0

    name = "fold_until_idle"

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return FoldUntilIdle(self.total + element), None

    def at_the_end(self) -> Delta:
        return last(self.total) if self.total else last()

    def steps(self, inputs: Values) -> Iterator[Step]:
        if not inputs[0].size() and self.total:
            yield Step("fold-until-idle-timeout", inputs, FoldUntilIdle(), (seq(self.total),))
        yield from super().steps(inputs)

    def measure(self, inputs: Values) -> Measure:
        return (inputs[0].size(), self.total != 0)


@final
@dataclass(frozen=True)
class Sampling(PassOn):
    """Keeps an element if a die says so."""

    dice: Random = field(default_factory=lambda: Random(0), compare=False)

    name = "sampling"

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return self, seq(element) if self.dice.random() < 0.5 else None


@final
@dataclass(frozen=True)
class FirstOfEachThousand(PassOn):
    """Of a thousand numbers the one that arrives first, and a bag has no order that says which one that is."""

    seen: frozenset[int] = frozenset()

    name = "first_of_each_thousand"
    takes = Bag

    def on_element(self, element: tuple[int, int]) -> tuple[Operator, Delta]:
        key = abs(element[0]) // 1000
        return FirstOfEachThousand(self.seen | {key}), None if key in self.seen else seq(element[0])


@final
@dataclass(frozen=True)
class Register(PassOn):
    """The last write wins, where last is the one that arrived last."""

    written: tuple[int, ...] = ()

    name = "register"
    takes = Bag

    def on_element(self, element: tuple[int, int]) -> tuple[Operator, Delta]:
        return Register((element[0],)), None

    def at_the_end(self) -> Delta:
        return last(*self.written)


@final
@dataclass(frozen=True)
class FullBuffer(PassOn):
    """`advance` hands on what fits into its buffer, and drops the rest."""

    room: int = 5

    name = "full_buffer"

    def advance(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if len(value.elements) > self.room:
            fits, value = value.elements[: self.room], value.drained()
            yield Step("full-buffer", (value,), self, (seq(*fits),))
        yield from self.steps((value,))


@final
@dataclass(frozen=True)
class UnderPressure(PassOn):
    """Passes elements on one by one, unless too many wait: then it says how many."""

    most: int = 4

    name = "under_pressure"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if len(value.elements) > self.most:
            yield Step("under-pressure-all", (value.drained(),), self, (seq(len(value.elements)),))
        else:
            yield from super().steps(inputs)


BAG_OPEN, BAG_ENDED = open_stream(Bag(int)), (StreamType(Bag(int), bounded=True),)

ARRIVAL = (
    Seeded(
        "a window of processing time",
        TriggerWindow(),
        RACES,
        "Windows are cut by a trigger, every so many seconds, because event times are a nuisance. A backfill brings a "
        "day in one window, and no run gives the numbers of another.",
        "1 and 1 arrive: [[1, 1]] if both are there when the trigger fires, [[1], [1]] if not",
        3,
        UNBOUNDED,
    ),
    Seeded(
        "count and reset",
        CountAndReset(),
        RACES,
        "A metric is read and set to zero on every read. Two readers, or one that comes late, split the counts "
        "between them.",
        "1 and 1 arrive: [2] at one look, [1, 1] at two",
        3,
        UNBOUNDED,
    ),
    Seeded(
        "a fold that ends at a timeout",
        FoldUntilIdle(),
        RACES,
        "A session is over when nothing has come for a while, by the clock of the machine. A pause of the network "
        "ends sessions that go on, and a replay has none.",
        "1 and 1 arrive: [2] without a pause between them, [1, 1] with one",
        5,
        UNBOUNDED,
    ),
    Seeded(
        "a random sample",
        Sampling(),
        (laws.A_FUNCTION, laws.ADVANCE, *RACES),
        "A tenth of the traffic is kept to save money. A retried task keeps another tenth, so a join of two such "
        "streams is nearly empty, and no number can be checked again.",
        "1 arrives: [1] or []; how soon that is seen is up to the dice",
        5,
        UNBOUNDED,
    ),
    Seeded(
        "the first of each key",
        FirstOfEachThousand(),
        RACES,
        "Duplicates are dropped by key and the first is kept, but the rows that share a key differ, and they come "
        "from several partitions. Which version survives depends on which partition was read first.",
        "{1, 2} arrives: [1] or [2]",
        2,
        BAG_OPEN,
    ),
    Seeded(
        "the last write wins, by arrival",
        Register(),
        RACES,
        "The newest version of a record is taken to be the one that came last. After a retry the old one comes last, "
        "and the profile goes back to the address of a year ago.",
        "{1, 2} arrives: [2] or [1]",
        3,
        BAG_ENDED,
    ),
    Seeded(
        "a buffer that is full",
        FullBuffer(),
        (laws.ADVANCE,),
        "A buffer of fixed size takes what is handed over between two stages. It never overflows in tests, and under "
        "load rows are gone.",
        "0 arrives six times: six elements by steps, five by advance",
        6,
        UNBOUNDED,
    ),
    Seeded(
        "a shortcut under pressure",
        UnderPressure(),
        RACES,
        "If too many rows wait, they are summed up and not handed on, to catch up. Whether that happens depends on how "
        "fast they came.",
        "0 arrives five times: [5] if all wait together, [0, 0, 0, 0, 0] if not",
        9,
        UNBOUNDED,
    ),
)
