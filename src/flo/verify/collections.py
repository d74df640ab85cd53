"""The laws of collections, tried on every small value and every small delta."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from flo.core.collection import Collection, Value
from flo.core.notation import text
from flo.core.term import Lifting, Lowering
from flo.verify import laws
from flo.verify.inputs import deltas_of
from flo.verify.laws import Law
from flo.verify.report import Counterexample, Report

MOST_VALUES = 60


def check_collection(collection: Collection, *, most: int = 3) -> Report:
    """Tries every law on all values of at most `most` elements, with every other one as a delta."""
    values = list(islice(small_values(collection, most), MOST_VALUES))
    for tried, (value, delta) in enumerate(product(values, values), start=1):
        law = broken_law(collection, value, delta)
        if law is not None:
            steps = ((shown(value), f"++ {shown(delta)}"),)
            broken = Counterexample(law, f"in {collection}", steps, (shown(value.concat(delta)),))
            return Report(f"`{collection}`", laws.COLLECTION_LAWS, f"{tried} pairs", broken)
    strength = f"{len(values)} values of up to {most} elements, each with every one as a delta"
    return Report(f"`{collection}`", laws.COLLECTION_LAWS, strength)


def small_values(collection: Collection, most: int) -> Iterator[Value]:
    """Open values and fixed ones."""
    for deltas in deltas_of(collection, most):
        value = collection.bottom()
        for part in deltas:
            for delta in part:
                value = value.concat(delta)
        yield value
        yield value.fix()


def broken_law(collection: Collection, value: Value, delta: Value) -> Law | None:
    if not value.fix().fixed() or (value.fixed() and value.fix() != value):
        return laws.FIX_FIXES
    if value.concat(value.empty()) != value:
        return laws.RIGHT_IDENTITY
    if value.fixed() and value.concat(delta) != value:
        return laws.ABSORPTION
    if value not in collection or value.concat(delta) not in collection:
        return laws.CLOSURE
    lowering = Lowering()
    if Lifting(lowering.names)(lowering(value)) != value:
        return laws.LIFTING
    return None


def shown(value: Value) -> str:
    return text(Lowering()(value))
