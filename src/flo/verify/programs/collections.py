"""The laws of collections: on every pair of small values, on values of larger sizes, and at random."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from flo.core.collection import Collection, Value
from flo.core.errors import Origin
from flo.core.term import Lifting, Lowering
from flo.verify import laws
from flo.verify.data.strategies import find_smallest
from flo.verify.effort import SMALL_SHARE, Effort, integers_in
from flo.verify.exploration.arrivals import pieces
from flo.verify.exploration.source import format_value
from flo.verify.functions.trials import timeout_error
from flo.verify.laws import Law
from flo.verify.optional import NO_HYPOTHESIS, st
from flo.verify.programs.inputs import data_of_size
from flo.verify.programs.larger_inputs import input_strategy, large_data
from flo.verify.report import Counterexample, Report, Strength
from flo.verify.time_limit import TimeLimit, TimeUp

MOST_VALUES = 100
FEW = 4
"""How many small deltas are added to each large value."""


def check_collection(collection: Collection, effort: Effort | None = None) -> Report:
    """Tries every law on pairs of a value and a delta."""
    effort = effort or Effort()
    try:
        with TimeLimit(effort.seconds, lambda: effort.meter.done):
            return _check_collection(collection, effort)
    except TimeUp as up:
        raise timeout_error(up.call or str(collection), up, Origin.here()) from None


def _check_collection(collection: Collection, effort: Effort) -> Report:
    values, up_to = small_values(collection, effort)
    broken, exhaustive, sized, longest, random, limits = None, 0, 0, 0, 0, list[str]()
    if up_to < effort.most:
        limits.append(f"not all values of {up_to + 1} elements, as there are too many")
    for value in values:
        if effort.is_used_up(SMALL_SHARE):
            limits.append(f"not all small values, as {effort.work:,} units of work were done")
            up_to = 0
            break
        for delta in values:
            exhaustive += 1
            effort.meter.done += 1
            broken = broken_law(collection, value, delta)
            if broken is not None:
                break
        broken = broken or absorbs_all(collection, value, values)
        if broken is not None:
            break
    if broken is None:
        sized, longest, broken = _of_sizes(collection, values, effort)
    if broken is None and effort.tries and not st.is_installed():
        limits.append(NO_HYPOTHESIS)
    elif broken is None and effort.tries:
        random, broken = _at_random(collection, effort)
    strength = Strength(
        exhaustive=exhaustive, up_to=up_to, sized=sized, random=random, longest=longest, limits=tuple(limits)
    )
    return Report(f"`{collection}`", laws.COLLECTION_LAWS, strength, broken)


def small_values(collection: Collection, effort: Effort) -> tuple[list[Value], int]:
    """Open values, fixed ones, and those whose end was passed on; the smallest first. Up to what size all are there."""
    values: list[Value] = []
    for size in range(effort.most + 1):
        for data in data_of_size(collection, size, effort.given):
            if len(values) >= MOST_VALUES:
                return values, size - 1
            values += forms(collection, data)
    return values, effort.most


def forms(collection: Collection, data: object) -> Iterator[Value]:
    value = collection.bottom()
    for part in pieces(collection, data):
        for delta in part:
            value = value.concat(delta)
    yield value
    yield value.fix()
    yield value.fix().take()[0]


def _of_sizes(collection: Collection, small: list[Value], effort: Effort) -> tuple[int, int, Counterexample | None]:
    """Values of the sizes in the code and of the ladder, with a few deltas: how many, the largest size, what broke."""
    mentioned = [number for kind in {type(collection), type(small[0])} for number in integers_in(kind)]
    given = effort.given.with_constants(effort.given.constants, tuple(mentioned))
    tried = longest = 0
    for size in given.sizes() if effort.given.own_examples(collection) is None else ():
        for data in large_data(collection, size, given):
            for value, delta in product(forms(collection, data), [*small[:FEW], small[-1]]):
                if effort.is_used_up():
                    return tried, longest, None
                tried, longest = tried + 1, size
                effort.meter.done += 1
                broken = broken_law(collection, value, delta)
                if broken is not None:
                    return tried, longest, broken
    return tried, longest, None


def _at_random(collection: Collection, effort: Effort) -> tuple[int, Counterexample | None]:
    data = input_strategy(collection, effort.given)

    def broken(case: tuple[object, object]) -> Counterexample | None:
        effort.meter.done += 1
        pairs = product(forms(collection, case[0]), forms(collection, case[1]))
        return next((violation for pair in pairs if (violation := broken_law(collection, *pair)) is not None), None)

    return find_smallest(st.tuples(data, data), broken, tries=effort.tries, seed=effort.seed, over=effort.is_used_up)


def absorbs_all(collection: Collection, value: Value, deltas: list[Value]) -> Counterexample | None:
    """An open value that no delta changes, not even an end, is a fixed one that says it is not."""
    if value.fixed() or any(value.concat(delta) != value for delta in deltas):
        return None
    columns = (tuple(f"{format_value(value)} ++ {format_value(delta)}" for delta in deltas[:3]),)
    return Counterexample(laws.ABSORPTION, f"in {collection}: every delta is absorbed", columns, ("it is not fixed",))


def broken_law(collection: Collection, value: Value, delta: Value) -> Counterexample | None:
    """The first law that this value and this delta break."""

    def differ(law: Law, one: str, result: Value | str, other: str, expected: Value | str) -> Counterexample:
        outcomes = (each if isinstance(each, str) else format_value(each) for each in (result, expected))
        return Counterexample(law, f"in {collection}", ((one,), (other,)), tuple(outcomes))

    c, d = format_value(value), format_value(delta)
    fixed = value.fix()
    if not fixed.fixed():
        return differ(laws.FIX_FIXES, f"fix({c})", fixed, "must be fixed", "is not")
    if value.fixed() and fixed != value:
        return differ(laws.FIX_FIXES, f"fix({c})", fixed, c, value)
    if value.concat(value.empty()) != value:
        return differ(laws.RIGHT_IDENTITY, f"{c} ++ ∅", value.concat(value.empty()), c, value)
    after = value.concat(delta)
    if value.fixed() and after != value:
        return differ(laws.ABSORPTION, f"{c} ++ {d}", after, c, value)
    for each, name in ((value, c), (after, f"{c} ++ {d}")):
        reason = collection.mismatch(each)
        if reason is not None:
            return differ(laws.CLOSURE, name, each, f"a value of {collection}", reason)
    lowering = Lowering()
    lifted = Lifting(lowering.names)(lowering(value))
    if lifted != value:
        return differ(laws.LIFTING, f"⟦⌊{c}⌋⟧", lifted if isinstance(lifted, Value) else repr(lifted), c, value)
    return None
