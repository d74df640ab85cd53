"""Operators on ordered sequences: scan, fold, enumerate, take, alert, last, batch and the paper's window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NewType, Self, Union

from flo.core.collection import End
from flo.core.elements import returned_type
from flo.core.errors import OrderError, TypeMismatch
from flo.core.facts import Timing
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Bound, Deltas, Operator, expect_bounded, expect_collection
from flo.core.persistent import Elements
from flo.core.stream_type import StreamType, StreamTypes
from flo.core.type_names import type_name
from flo.core.type_relations import alternatives, resolve_type, tuple_parts
from flo.core.untyped import Element, ElementFunction, PairFunction, TimeValue, TypeForm, Unit
from flo.values.event_time import expect_duration, expect_times, time_types
from flo.values.keyed import Keyed
from flo.values.operators.shapes import ElementKind, Unary, copy_if_mutable, expect_declared, is_immutable
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, Set, ZSet

UNBOUNDED_FOLD = (
    ("{input}.batch(n).nest(lambda b: b.fold(…))", "one result per n elements"),
    ("{input}.tumbling(…).nest(lambda w: w.fold(…))", "one result per window of time"),
    ("{input}.scan(…)", "a running result per element"),
    ("{input}.fold_lattice(…)", "one growing value, read through a threshold"),
)
ORDERED = (("flow.input(…, flo.Sequence[…])", "an input with an order"),)
COLUMNS = {
    "tumbling": ('{input}.tumble(size, "at")', "the window of each row as columns, corrected when rows change"),
    "sliding": ('{input}.hop(size, every, "at")', "the windows of each row as columns, corrected when rows change"),
}
"""Verbs of z-sets of rows, by the verbs that need an order."""
CHANGING = (
    ("{input}.over(order_by=…).with_columns(…)", "functions of each row and the rows before it"),
    ("{input}.group_by(…).agg(…)", "a row for each group"),
)
PARTITIONED = (
    ("{input}.per_key(lambda rows: …)", "one result for each partition, which has an order"),
    ("{input}.key_by(key).per_key(lambda rows: …)", "one for each key, if all rows of a key are in one partition"),
    ("{input}.tumbling(…)", "windows over all partitions"),
)


def expect_sequence(operator: Operator, given: StreamType, index: int = 0) -> Sequence[Element]:
    instead = order_for(operator.name, given)
    return expect_collection(operator, given, Sequence, index=index, error=OrderError, instead=instead)


def order_for(name: str, given: StreamType) -> tuple[tuple[str, str], ...]:
    """Return what to write where an operator needs an order that a stream does not have."""
    match given.collection:
        case Partitioned():
            return PARTITIONED
        case Keyed():
            return (("{input}.per_key(lambda rows: …)", "one result for each key"),)
        case Nested():
            return (("{input}.nest(lambda inner: …)", "one result for each inner stream"),)
        case ZSet():
            return (COLUMNS[name],) if name in COLUMNS else CHANGING
        case Bag() | Set() if given.bounded:
            return (("{input}.sort(key)", "puts a bounded stream in order"),)
    return ORDERED


def pair_types(element: object) -> list[tuple[TypeForm, TypeForm] | None]:
    """Return the types of both parts of a pair, for each alternative of a type; None where it is not a pair."""
    pairs: list[tuple[TypeForm, TypeForm] | None] = []
    for kind in alternatives(element):
        if isinstance(kind, NewType):
            pairs += pair_types(kind.__supertype__)
            continue
        parts = tuple_parts(kind)
        is_pair = parts is None or (len(parts) == 2 and parts[1] is not ...)
        pairs.append(((parts or (Any, Any))[0], (parts or (Any, Any))[1]) if is_pair else None)
    return pairs


def expect_pairs(element: object, stream: StreamType, interval: object, *, narrowed: bool = True) -> Any:
    """Return the type of the values of pairs. Raises unless the elements are pairs of a value and a time, and the
    interval fits it. If elements are `narrowed`, it is enough that some alternatives of their type are pairs."""
    types = pair_types(element)
    pairs = [each for each in types if each is not None]
    if not pairs or (not narrowed and None in types):
        raise TypeMismatch(
            f"`window` requires pairs of a value and its time; the elements of {{input}} are "
            f"{type_name(resolve_type(element))}",
            facts=(("{input}", stream.described()), ("window", "takes Sequence[tuple[T, time]]")),
            instead=(
                ("{input}.map(lambda row: (row, row.at))", "each row with its time"),
                ("{input}.tumbling(size, time=…)", "adjacent windows of the rows, by their time"),
                *([("{input}.filter(…)", "if a filter only leaves pairs")] if pairs else []),
            ),
        )
    kind = _union(time for _, time in pairs)
    expect_times("window", kind, stream, narrowed=narrowed)
    times = [each for each in time_types(kind) if each is not None]
    type_text = type_name(resolve_type(kind))
    expect_duration("window", "interval", interval, times, type_text, zero=True, narrowed=narrowed)
    return _union(value for value, _ in pairs)


def _union(kinds: Iterable[object]) -> Any:
    first, *others = kinds
    return Union[first, *others] if others else first


def expect_count(operator: Operator, count: int, least: int) -> None:
    if type(count) is not int or count < least:
        raise TypeMismatch(f"`{operator.name}` must get an integer ≥ {least}; got {count!r}")


@dataclass(frozen=True)
class Scan(Unary):
    """scan(acc, f): emits the running result after each element."""

    acc: Element
    f: PairFunction

    name = "scan"
    keeps = Bound.VALUE
    signature = "(Sequence[T], X) -> (Sequence[U], X)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_sequence(self, inputs[0])
        return (StreamType(Sequence(returned_type(self.f)), inputs[0].bounded),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        f = self.f
        acc = f(copy_if_mutable(self.acc), units[0])
        results = [acc]
        if is_immutable(acc):
            results += [acc := f(acc, unit) for unit in units[1:]]
        else:
            results += [acc := f(copy_if_mutable(acc), unit) for unit in units[1:]]
        expect_declared(f, results)
        return replace(self, acc=acc), (SequenceValue.of(results),)


@dataclass(frozen=True)
class Fold(Unary):
    """fold(acc, f): (S<T>, B) ↪ (S<U>, B), emits the result when the input has ended."""

    acc: Element
    f: PairFunction

    name = "fold"
    keeps = Bound.VALUE
    signature = "(Sequence[T], bounded) -> (Sequence[U], bounded)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_sequence(self, inputs[0])
        expect_bounded(self, inputs[0], instead=UNBOUNDED_FOLD)
        return (StreamType(Sequence(returned_type(self.f)), bounded=True),)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        return replace(self, acc=reduce(self.f, units, copy_if_mutable(self.acc))), (None,)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        expect_declared(self.f, [self.acc])
        return self, (SequenceValue.of([self.acc], End.ARRIVED),)


@dataclass(frozen=True)
class Enumerate(Unary):
    """enumerate(n): pairs every element with its position."""

    position: int = 0

    name = "enumerate"
    keeps = Bound.VALUE

    def type(self, inputs: StreamTypes) -> StreamTypes:
        element = expect_sequence(self, inputs[0]).element
        return (StreamType(Sequence(tuple[int, element]), inputs[0].bounded),)  # type: ignore[valid-type]

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        numbered = list(enumerate(units, self.position))
        return Enumerate(self.position + len(units)), (SequenceValue.of(numbered),)


@dataclass(frozen=True)
class Take(Unary):
    """take(n): emits the first n elements and then the end, whether or not more follows. The rest is consumed."""

    count: int

    name = "take"
    keeps = Bound.VALUE

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_sequence(self, inputs[0])
        expect_count(self, self.count, 0)
        return inputs

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        if self.count <= 0:
            return self, (SequenceValue.terminator(),)
        left = max(0, self.count - len(units))
        end = End.OPEN if left else End.ARRIVED
        return Take(left), (SequenceValue.of(units[: self.count], end),)


@dataclass(frozen=True)
class Alert(Unary):
    """alert(when, recovered): the elements at which `when` becomes true: the first one, and again the first one after
    an element that has `recovered`; without that function, after one for which `when` is not true."""

    when: ElementFunction
    recovered: ElementFunction | None = None
    active: bool = False

    name = "alert"
    keeps = Bound.VALUE
    timing = Timing.PASSES
    signature = "(Sequence[T], X) -> (Sequence[T], X)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_sequence(self, inputs[0])
        return inputs

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        active, alerts = self.active, list[Element]()
        for unit in units:
            if self.when(unit):
                alerts += [] if active else [unit]
                active = True
            elif self.recovered is None or self.recovered(unit):
                active = False
        return replace(self, active=active), (SequenceValue.of(alerts) if alerts else None,)


@dataclass(frozen=True)
class Last(Unary):
    """last(): emits the last element of a bounded sequence. `kept` holds it, if any."""

    kept: tuple[Element, ...] = ()

    name = "last"
    keeps = Bound.VALUE
    signature = "(Sequence[T], bounded) -> (Sequence[T], bounded)"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_sequence(self, inputs[0])
        expect_bounded(self, inputs[0], instead=UNBOUNDED_FOLD[:3])
        return inputs

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        return Last((units[-1],)), (None,)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (SequenceValue.of(list(self.kept), End.ARRIVED),)


class SequenceCut(Unary):
    """(S<T>, X) ↪ ([(S<T>, B)], X), …: cuts a sequence into inner streams, emitted when they are complete.

    `flush` is true if the input is bounded, set by `typed`: then the open inner streams are emitted at the end. On an
    unbounded input, streaming progress only allows the end itself (docs/deviations.md, 3: the printed rules omit this).
    """

    flush: bool

    keeps = Bound.WINDOWS

    def expect_input(self, inputs: StreamTypes) -> Sequence[Element]:
        collection = expect_sequence(self, inputs[0])
        if self.flush:
            expect_bounded(self, inputs[0])
        return collection

    def typed(self, inputs: StreamTypes) -> Self:
        return replace(self, flush=inputs[0].bounded)


@dataclass(frozen=True)
class Batch(SequenceCut):
    """batch(n): (S<T>, X) ↪ ([(S<T>, B)], X), one inner stream for every n elements; the last may be shorter."""

    count: int
    flush: bool = False
    opened: Elements[Element] = Elements()  # noqa: RUF009

    name = "batch"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner = self.expect_input(inputs)
        expect_count(self, self.count, 1)
        return (StreamType(Nested(inner), inputs[0].bounded),)

    def rule_for(self, unit: object) -> str:
        return "batch-emit" if len(self.opened) + 1 >= self.count else "batch"

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        opened = self.opened.extended(units)
        if len(opened) < self.count:
            return replace(self, opened=opened), (None,)
        units = opened.to_list()
        complete = len(units) // self.count * self.count
        closed = [
            (SequenceValue.of(units[at : at + self.count], End.ARRIVED),) for at in range(0, complete, self.count)
        ]
        return replace(self, opened=Elements(units[complete:])), (NestedValue.pushing(*closed),)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        last = [(SequenceValue(self.opened, End.ARRIVED),)] if self.flush and self.opened else []
        return replace(self, opened=Elements()), (NestedValue.pushing(*last).fix(),)


@dataclass(frozen=True)
class Window(SequenceCut):
    """window(interval, [(v, t), …]): the paper's window over timestamped elements, in order."""

    interval: TimeValue
    flush: bool = False
    opened: Elements[Element] = Elements()  # noqa: RUF009

    name = "window"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        element = self.expect_input(inputs).element
        value = expect_pairs(element, inputs[0], self.interval)
        return (StreamType(Nested(Sequence(value)), inputs[0].bounded),)

    def rule_for(self, unit: object) -> str:
        if not self.opened:
            return "window-first"
        return "window-emit" if self._beyond(self.opened, unit) else "window"

    def _beyond(self, opened: Elements[Element], unit: Unit) -> bool:
        return bool(unit[1] - opened[0][1] > self.interval)

    def consume(self, units: list[Unit], source: ElementKind) -> tuple[Operator, Deltas]:
        opened, closed = self.opened, []
        for unit in units:
            if opened and self._beyond(opened, unit):
                closed.append((self._emitted(opened),))
                opened = Elements([unit])
            else:
                opened = opened.extended([unit])
        delta = NestedValue.pushing(*closed) if closed else None
        return replace(self, opened=opened), (delta,)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        last = [(self._emitted(self.opened),)] if self.flush and self.opened else []
        return replace(self, opened=Elements()), (NestedValue.pushing(*last).fix(),)

    @staticmethod
    def _emitted(opened: Elements[Element]) -> SequenceValue:
        return SequenceValue.of([value for value, _ in opened], End.ARRIVED)
