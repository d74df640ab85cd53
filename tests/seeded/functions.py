"""Functions and lattices that break a law of algebra: the ones that look right in a test with one order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from flo.values.lattice import Lattice
from flo.values.lattice_orders import Max
from flo.verify import laws
from flo.verify.laws import Law
from tests.seeded.base import Seeded


def jittered(x: int) -> float:
    return x + random.random()


def make_change_detector() -> Callable[[int], int]:
    before, latest = 0, 0

    def change(x: int) -> int:
        nonlocal before, latest
        if x != latest:
            before, latest = latest, x
        return x - before

    return change


def bucket(name: str) -> int:
    return hash(name) % 16


def last_one_wins(kept: int, x: int) -> int:
    return x


def doubling(total: int, x: int) -> int:
    return 2 * total + x


def float_sum(total: float, x: float) -> float:
    return total + x


def average_of_averages(a: float, b: float) -> float:
    return (a + b) / 2


def counting(total: int, x: int) -> int:
    return total + x


def distance(x: int) -> int:
    return abs(x)


def squared_weight(element: int, weight: int) -> int:
    return weight * weight


def add(total: int, x: int) -> int:
    return total + x


def take_back_at_most(total: int, x: int) -> int:
    return max(0, total - x)


def smallest_known(a: Any, b: Any) -> Any:
    return min(a, b)


def added(a: int, b: int) -> int:
    return a + b


def latest(a: str, b: str) -> str:
    return b or a


def halfway(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return b if a is None else a
    return (a + b) / 2


def law(one: Law, **more: Any) -> dict[str, Any]:
    return {"laws": (one,), **more}


FUNCTIONS = (
    Seeded(
        "a function with a die in it",
        jittered,
        (laws.A_FUNCTION,),
        "Retries are spread by a random delay that is computed in the pipeline. A task that is run again gives other "
        "rows than the ones it replaces.",
        "f(0) twice",
        1,
        (int,),
        law(laws.A_FUNCTION),
    ),
    Seeded(
        "a value that a closure remembers",
        make_change_detector(),
        (laws.A_FUNCTION,),
        "A function remembers the value before, to emit changes. It has one memory for all keys and shards, and loses "
        "it at a restart. Called twice in a row it returns the same.",
        "f(0), f(1), f(0)",
        3,
        (int,),
        law(laws.A_FUNCTION),
    ),
    Seeded(
        "a bucket by hash",
        bucket,
        (laws.A_FUNCTION,),
        "Rows are spread over 16 buckets by the hash of a name. Every process has its own hash of texts, so after a "
        "restart the rows of a name go to another bucket.",
        "f('') in two processes",
        2,
        (str,),
        law(laws.A_FUNCTION),
    ),
    Seeded(
        "the last one wins",
        last_one_wins,
        (laws.COMMUTATIVE,),
        "A fold keeps the newest value, and the newest is whichever came last. Over a collection without order that "
        "is a matter of chance.",
        "f(f(0, 0), 1) = 1 and f(f(0, 1), 0) = 0",
        2,
        (int, int),
        law(laws.COMMUTATIVE),
    ),
    Seeded(
        "2 * a + x",
        doubling,
        (laws.COMMUTATIVE,),
        "A checksum is folded over rows, and then over rows without an order. Two runs over one table differ, and "
        "someone looks for lost data for a day.",
        "f(f(0, 0), 1) = 1 and f(f(0, 1), 0) = 2",
        2,
        (int, int),
        law(laws.COMMUTATIVE),
    ),
    Seeded(
        "a float sum",
        float_sum,
        (laws.COMMUTATIVE, laws.ASSOCIATIVE),
        "Prices are added as floats. The total differs in the last digits between two runs, and an audit that "
        "compares them for equality fails.",
        "(0.1 + 0.1) - 0.5 and (0.1 - 0.5) + 0.1",
        2,
        (float, float),
        law(laws.COMMUTATIVE),
        deviation=11,
    ),
    Seeded(
        "an average of averages",
        average_of_averages,
        (laws.ASSOCIATIVE,),
        "Each partition sends its average, and the averages are averaged. A partition with one row counts as much as "
        "one with a million.",
        "f(f(0, 0), 1) = 0.5 and f(0, f(0, 1)) = 0.25",
        2,
        (float, float),
        law(laws.ASSOCIATIVE),
    ),
    Seeded(
        "a count where data may come twice",
        counting,
        (laws.IDEMPOTENT,),
        "Delivery is at least once, and the sink adds. Every retry of a batch counts it again.",
        "f(f(0, 1), 1) = 2 and f(0, 1) = 1",
        2,
        (int, int),
        law(laws.IDEMPOTENT),
    ),
    Seeded(
        "a distance of a growing value",
        distance,
        (laws.MONOTONE,),
        "A threshold is put on how far a growing number is from zero. It falls before it grows, and an alarm that was "
        "given should not have been.",
        "-1 ⊑ 0, and f(-1) = 1 is above f(0) = 0",
        1,
        (Max(int), Max(int)),
        law(laws.MONOTONE),
    ),
    Seeded(
        "a weight that is squared",
        squared_weight,
        (laws.ADDITIVE,),
        "Weights are taken for values, and a formula is applied to them. A row that comes in two parts gets another "
        "weight than one that comes at once.",
        "f(0, 1 + 1) = 4 and f(0, 1) + f(0, 1) = 2",
        2,
        (int, int),
        law(laws.ADDITIVE),
    ),
    Seeded(
        "taking back with a floor",
        add,
        (laws.INVERSE,),
        "A total must not be negative, so taking back stops at zero. If a correction comes before what it corrects, "
        "the total is too high for ever.",
        "g(f(-1, 0), 0) = 0, and not -1",
        2,
        (int, int),
        law(laws.INVERSE, inverse=take_back_at_most),
    ),
)

LATTICES = (
    Seeded(
        "a bottom that is not the least",
        Lattice.of(0, smallest_known),
        (laws.BOTTOM_IS_LEAST,),
        "The smallest latency is joined by `min`, and starts at zero as all counters do. It stays there.",
        "⊥ ⊔ 1 = 0",
        1,
    ),
    Seeded(
        "a sum as a join",
        Lattice.of(0, added),
        (laws.JOIN_IDEMPOTENT,),
        "A counter is replicated and merged by adding. Each time two replicas exchange what they know, the count "
        "doubles.",
        "1 ⊔ 1 = 2",
        1,
    ),
    Seeded(
        "the latest as a join",
        Lattice.of("", latest),
        (laws.JOIN_COMMUTATIVE,),
        "Replicas take over what they are sent. Two that send to each other at once have changed sides, and never "
        "agree.",
        "'a' ⊔ 'b' = 'b' and 'b' ⊔ 'a' = 'a'",
        1,
    ),
    Seeded(
        "halfway as a join",
        Lattice.of(None, halfway),
        (laws.JOIN_ASSOCIATIVE,),
        "Sensors agree on the mean of what they have and what they hear. The result depends on who talked to whom "
        "first.",
        "(1 ⊔ 1) ⊔ 2 = 1.5 and 1 ⊔ (1 ⊔ 2) = 1.25",
        1,
    ),
)
