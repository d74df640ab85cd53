"""Results that depend on how much there is: a full buffer, every so many elements, a weight above a limit.

And states that no checkpoint holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from flo.core.operator import Delta, Operator, Step, Values
from flo.values.sequence import SequenceValue
from flo.values.weighted import Bag, BagValue, ZSetValue
from flo.verify import laws
from tests.seeded.base import UNBOUNDED, PassOn, Seeded, open_stream, seq, zset
from tests.seeded.zsets import ONE, OnZSets

RACES = (laws.EAGER_EXECUTION, laws.CONFLUENCE)


@final
@dataclass(frozen=True)
class SortsAFullBuffer(PassOn):
    """Passes elements on as they come, and in sorted order once six wait."""

    name = "sorts_a_full_buffer"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if len(value.elements) >= 6:
            yield Step("sorts-a-full-buffer-all", (value.drained(),), self, (seq(*sorted(value.elements)),))
        else:
            yield from super().steps(inputs)


@final
@dataclass(frozen=True)
class DropsEachTwelfth(PassOn):
    """Passes on all that waits, but for each twelfth element of it."""

    name = "drops_each_twelfth"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if value.elements:
            kept = [element for place, element in enumerate(value.elements, start=1) if place % 12]
            yield Step("drops-each-twelfth", (value.drained(),), self, (seq(*kept),))
        else:
            yield from super().steps(inputs)


@final
@dataclass(frozen=True)
class MarksEachSeventhStep(PassOn):
    """A 0 after each seventh look at the input, however much there was."""

    looks: int = 0

    name = "marks_each_seventh_step"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, SequenceValue)
        if value.elements:
            looks = (self.looks + 1) % 7
            marked = seq(*value.elements, *([] if looks else [0]))
            yield Step("marks-each-seventh-step", (value.drained(),), MarksEachSeventhStep(looks), (marked,))
        else:
            yield from super().steps(inputs)


@final
@dataclass(frozen=True)
class DropsEachEighth(PassOn):
    """Counts what it takes from a bag, and drops each eighth: which one that is depends on the order."""

    taken: int = 0

    name = "drops_each_eighth"
    takes = Bag

    def on_element(self, element: tuple[int, int]) -> tuple[Operator, Delta]:
        key, count = element
        dropped, taken = divmod(self.taken + count, 8)
        return DropsEachEighth(taken), zset((key, count - dropped))

    gives = ONE[0].collection


@final
@dataclass(frozen=True)
class SumsUpManyKeys(PassOn):
    """Passes the keys of a bag on; of more than five that wait it says only how many."""

    name = "sums_up_many_keys"
    takes = Bag

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, BagValue)
        if len(value.weights) > 5:
            yield Step("sums-up-many-keys-all", (value.drained(),), self, (zset((len(value.weights), 1)),))
        else:
            yield from super().steps(inputs)

    def on_element(self, element: tuple[int, int]) -> tuple[Operator, Delta]:
        return self, zset(element)

    gives = ONE[0].collection


@final
@dataclass(frozen=True)
class CapsWeights(OnZSets):
    """A weight of at most nine."""

    name = "caps_weights"

    def on_element(self, unit: tuple[int, int]) -> tuple[Operator, Delta]:
        return self, zset((unit[0], min(unit[1], 9)))


@final
@dataclass(frozen=True)
class RoundsLargeWeights(OnZSets):
    """Weights above eight become even."""

    name = "rounds_large_weights"

    def on_element(self, unit: tuple[int, int]) -> tuple[Operator, Delta]:
        key, weight = unit
        return self, zset((key, weight + weight % 2 if weight > 8 else weight))


@final
@dataclass(frozen=True)
class DropsAFallingBatch(OnZSets):
    """Passes on all that waits, unless there are five keys or more and the weights fall below zero."""

    name = "drops_a_falling_batch"

    def steps(self, inputs: Values) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, ZSetValue)
        if value.weights:
            falls = len(value.weights) >= 5 and sum(value.weights.values()) < 0
            yield Step(
                "drops-a-falling-batch", (value.drained(),), self, (None if falls else zset(*value.weights.items()),)
            )
        else:
            yield from super().steps(inputs)


class Tally:
    """A number, in a class that no checkpoint can write down."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)


@final
@dataclass(frozen=True)
class KeepsAnObject(PassOn):
    """Numbers its elements, and keeps the number in an object of its own."""

    tally: Tally = Tally()  # noqa: RUF009

    name = "keeps_an_object"

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        number = self.tally.number + 1
        return KeepsAnObject(Tally(number)), seq(number)


@dataclass(frozen=True)
class Added:
    """A function that adds a number."""

    number: int

    def __call__(self, element: int) -> int:
        return element + self.number


@final
@dataclass(frozen=True)
class KeepsAFunction(PassOn):
    """A running sum, kept as the function that adds it."""

    adds: Added | None = None

    name = "keeps_a_function"

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        total = element if self.adds is None else self.adds(element)
        return KeepsAFunction(Added(total)), seq(total)


@dataclass(frozen=True)
class Numbers(PassOn):
    """Numbers its elements."""

    number: int = 0

    name = "numbers"

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return type(self)(self.number + 1), seq(self.number)


@final
@dataclass(frozen=True)
class NumbersFromTen(Numbers):
    """The same with other numbers; and under the same name."""

    def on_element(self, element: int) -> tuple[Operator, Delta]:
        return NumbersFromTen(self.number + 1), seq(self.number + 10)


BAG = open_stream(Bag(int))
LOST = (laws.CHECKPOINT,)

SIZES = (
    Seeded(
        "a full buffer in sorted order",
        SortsAFullBuffer(),
        RACES,
        "What waits is sorted before it is written, as that compresses well, but only where it pays. Under load the "
        "order is another one.",
        "six numbers that are not in order: sorted if all wait together, and as they came if not",
        13,
        UNBOUNDED,
    ),
    Seeded(
        "each twelfth element of a batch dropped",
        DropsEachTwelfth(),
        RACES,
        "A loop over a batch is off by one where it is cut into pages. Batches of tests are shorter than a page.",
        "twelve elements: eleven if they come at once, twelve if not",
        25,
        UNBOUNDED,
    ),
    Seeded(
        "a mark after each seventh look",
        MarksEachSeventhStep(),
        RACES,
        "A heartbeat is written with every seventh batch, and how many batches there are is up to the scheduling.",
        "1 and 1 arrive: one look or two",
        3,
        UNBOUNDED,
    ),
    Seeded(
        "each eighth element of a bag dropped",
        DropsEachEighth(),
        RACES,
        "One row in eight is left out of a sample, counted as rows come. Rows of several partitions come in any order.",
        "eight different elements: any of them may be the eighth",
        17,
        BAG,
    ),
    Seeded(
        "many keys summed up",
        SumsUpManyKeys(),
        RACES,
        "A table of groups is not to get too large, so many new groups at once become one. A backfill "
        "has many at once.",
        "six different elements: {6} if all wait together, each of them if not",
        13,
        BAG,
    ),
    Seeded(
        "a weight that is capped",
        CapsWeights(),
        RACES,
        "A count is stored in one digit. Nobody has bought ten of anything, until two orders are merged.",
        "weights 9 and 1 of one element: 9 if they come together, 10 if not",
        3,
        ONE,
    ),
    Seeded(
        "large weights become even",
        RoundsLargeWeights(),
        RACES,
        "Large numbers are rounded, which nobody will notice. A sum of rounded numbers is not a rounded sum.",
        "weights 8 and 1 of one element: 10 if they come together, 9 if not",
        3,
        ONE,
    ),
    Seeded(
        "a batch of retractions dropped",
        DropsAFallingBatch(),
        RACES,
        "A batch that takes back more than it adds is taken for a mistake of the source, if it is large enough to "
        "matter. A replay takes back as much in smaller batches.",
        "five elements are taken back: nothing if they come together, all five if not",
        11,
        ONE,
    ),
    Seeded(
        "a state in an object",
        KeepsAnObject(),
        LOST,
        "The state of an operator is an object of a library, which no checkpoint can write down. That is found when "
        "the first one is made, on the night of the first restart.",
        "1 arrives",
        2,
        UNBOUNDED,
    ),
    Seeded(
        "a state in a function",
        KeepsAFunction(),
        LOST,
        "What is to be done next is kept as a function. A checkpoint holds data and no code.",
        "1 arrives",
        2,
        UNBOUNDED,
    ),
    Seeded(
        "a class with the name of another",
        NumbersFromTen(),
        LOST,
        "An operator is derived from another one and keeps its name. After a restart it is the other one.",
        "nothing has arrived",
        1,
        UNBOUNDED,
    ),
)
