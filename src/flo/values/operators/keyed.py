"""Operators on keyed collections: key_by, entries, map_values, filter_keys and the join by key; see also `per_key`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, final

from flo.core.collection import Collection, Value
from flo.core.derivation import StreamTypes
from flo.core.elements import accepts, returned_type
from flo.core.errors import CollectionError
from flo.core.operator import Delta, Deltas, Operator, Step, Values, expect_bounded, expect_collection
from flo.core.persistent import PersistentMap
from flo.core.stream_type import StreamType
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed, KeyedValue
from flo.values.lvar import LVar, LVarValue
from flo.values.operators.sides import leaps
from flo.values.operators.unary import ElementKind, Unary
from flo.values.sequence import Sequence, SequenceValue
from flo.values.weighted import Bag, BagValue, Set, ZSet, ZSetValue

Index: TypeAlias = PersistentMap[Any, PersistentMap[Any, int]]
"""The elements with their weights under each key."""

TO_KEYED = (("{input}.key_by(f)", "a stream for every key"),)


def expect_keyed(operator: Operator, given: StreamType, index: int = 0) -> Keyed[Any, Any]:
    expect_collection(operator, given, Keyed, index=index, instead=TO_KEYED)
    assert isinstance(given.collection, Keyed)
    return given.collection


def expect_inner(operator: Operator, given: StreamType, *kinds: type[Collection], index: int = 0) -> Collection:
    """The collection under each key, which must be one of these."""
    inner = expect_keyed(operator, given, index).inner
    if not isinstance(inner, kinds):
        names = " or ".join(kind.name for kind in kinds)
        raise CollectionError(
            f"`{operator.name}` works on {names} under each key, and {{input}} has a {inner.name}",
            facts=(("{input}", given.described()),),
            instead=(("{input}.per_key(lambda s: …)", "a graph for every key"),),
            index=index,
        )
    return inner


@final
@dataclass(frozen=True)
class KeyBy(Unary):
    """key_by(f): (C<T>, X) ↪ (Keyed<K, C<T>>, X); the order is kept under each key."""

    f: Callable[[Any], Any]

    name = "key_by"
    rule = "key-by"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_collection(self, inputs[0], Sequence, Bag, Set, ZSet)
        return (StreamType(Keyed(returned_type(self.f), inputs[0].collection), inputs[0].bounded),)

    def consume(self, units: list[Any], source: ElementKind) -> tuple[Operator, Deltas]:
        groups: dict[Any, list[Any]] = {}
        for unit in units:
            element = unit if source is SequenceValue else unit[0]
            groups.setdefault(self.f(element), []).append(unit)
        return self, (KeyedValue.of({key: source.of(group) for key, group in groups.items()}),)

    def finish(self, source: ElementKind) -> tuple[Operator, Deltas]:
        return self, (KeyedValue.terminator(),)


class KeyedUnary(Operator):
    """Says once what happens to what arrived for some keys: a step consumes one of them, `advance` all."""

    rule: ClassVar[str]

    @abstractmethod
    def consume(self, entries: dict[Any, Any]) -> Delta:
        """The output for these."""

    def finish(self) -> Value:
        """The output when the end of the input is passed on."""
        return KeyedValue.terminator()

    def steps(self, inputs: Values) -> Iterator[Step]:
        return self._steps(inputs, lambda value: ([key] for key in value.entries))

    def _steps(self, inputs: Values, portions: Callable[[KeyedValue], Iterator[list[Any]]]) -> Iterator[Step]:
        value = inputs[0]
        assert isinstance(value, KeyedValue)
        for keys in portions(value):
            rest, taken = value.taken(keys)
            try:
                output = self.consume(taken)
            except Exception as error:
                error.add_note(f"under the key {keys[0]!r}"[:120])
                raise
            yield Step(self.rule, (rest,), self, (output,))
        if value.ending():
            yield Step(f"{self.rule}-terminated", (value.passed(),), self, (self.finish(),))

    def advance(self, inputs: Values) -> Iterator[Step]:
        return leaps(self, inputs, lambda operator, values: operator._steps(values, all_keys))


def all_keys(value: KeyedValue) -> Iterator[list[Any]]:
    if value.entries:
        yield list(value.entries)


@final
@dataclass(frozen=True)
class MapValues(KeyedUnary):
    """map_values(f): `map` under each key."""

    f: Callable[[Any], Any]

    name = "map_values"
    signature = "(Keyed[K, C[T]], X) -> (Keyed[K, C[U]], X)"
    rule = "map-values"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner: Any = expect_inner(self, inputs[0], Sequence, Bag, Set, ZSet)
        mapped = type(inner)(returned_type(self.f))
        return (StreamType(Keyed(inputs[0].collection.key, mapped), inputs[0].bounded),)  # type: ignore[attr-defined]

    def consume(self, entries: dict[Any, Any]) -> Delta:
        return KeyedValue.of(
            {key: value.mapped(self.f, value.all_units()).ended(value.end) for key, value in entries.items()}
        )


@final
@dataclass(frozen=True)
class FilterKeys(KeyedUnary):
    """filter_keys(keep): only the streams of the keys that it keeps."""

    keep: Callable[[Any], Any]

    name = "filter_keys"
    signature = "(Keyed[K, C], X) -> (Keyed[K, C], X)"
    rule = "filter-keys"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        expect_keyed(self, inputs[0])
        return inputs

    def consume(self, entries: dict[Any, Any]) -> Delta:
        return KeyedValue.of({key: value for key, value in entries.items() if self.keep(key)})


@final
@dataclass(frozen=True)
class Entries(KeyedUnary):
    """entries(): the elements of all keys as (key, element); sequences become a bag, as keys have no order.

    An LVar is read when it can no longer grow: (Keyed<K, LVar<L>>, B) ↪ (Set<(K, L)>, B).
    """

    collection: ElementCollection[Any] | None = None
    at_end: bool = False

    name = "entries"
    rule = "entries"
    waits = "reads each LVar when it can no longer grow"

    def type(self, inputs: StreamTypes) -> StreamTypes:
        inner: Any = expect_inner(self, inputs[0], Sequence, Bag, Set, ZSet, LVar)
        if isinstance(inner, LVar):
            expect_bounded(self, inputs[0], instead=(("{input}.per_key(lambda v: v.threshold(…))", "for every key"),))
        element = inner.lattice.element if isinstance(inner, LVar) else inner.element
        kind = Bag if isinstance(inner, Sequence) else Set if isinstance(inner, LVar) else type(inner)
        key = inputs[0].collection.key  # type: ignore[attr-defined]
        return (StreamType(kind(tuple[key, element]), inputs[0].bounded),)  # type: ignore[valid-type]

    def typed(self, inputs: StreamTypes) -> Entries:
        (output,) = self.type(inputs)
        assert isinstance(output.collection, ElementCollection)
        return Entries(output.collection, at_end=isinstance(inputs[0].collection.inner, LVar))  # type: ignore[attr-defined]

    def _steps(self, inputs: Values, portions: Callable[[KeyedValue], Iterator[list[Any]]]) -> Iterator[Step]:
        return iter(()) if self.at_end and not inputs[0].fixed() else super()._steps(inputs, portions)

    def consume(self, entries: dict[Any, Any]) -> Delta:
        units: list[Any] = []
        for key, value in entries.items():
            if isinstance(value, LVarValue):
                units.append(((key, value.lattice.plain(value.value)), 1))
            elif isinstance(value, SequenceValue):
                units += [((key, element), 1) for element in value.all_units()]
            else:
                units += [((key, element), weight) for element, weight in value.all_units()]
        return self._kind().of(units)

    def finish(self) -> Value:
        return self._kind().terminator()

    def _kind(self) -> ElementKind:
        if self.collection is None:
            raise CollectionError("`entries` was not typed: use `initial` before running the graph")
        return self.collection.value_class


@final
@dataclass(frozen=True)
class KeyedJoin(Operator):
    """join_keyed(into): under each key that both sides have, `into(left, right)` for all pairs; weights multiply.

    (Keyed<K, C>, X), (Keyed<K, D>, X) ↪ (Keyed<K, Bag>, X), of sequences and bags; of z-sets it gives z-sets.
    """

    into: Callable[[Any, Any], Any] | None = None
    left: Index = PersistentMap()  # noqa: RUF009
    right: Index = PersistentMap()  # noqa: RUF009

    name = "join_keyed"
    signature = "(Keyed[K, C], X), (Keyed[K, D], X) -> (Keyed[K, Bag], X)"
    arity = (2, 1)
    shares_flag = True

    def type(self, inputs: StreamTypes) -> StreamTypes:
        left, right = (expect_keyed(self, given, index) for index, given in enumerate(inputs))
        if not accepts(left.key, right.key):
            raise CollectionError(
                f"`{self.name}` joins streams of the same keys",
                facts=(("left", inputs[0].described()), ("right", inputs[1].described())),
                index=1,
            )
        kinds = (ZSet,) if left.cancels else (Sequence, Bag)
        a, b = (expect_inner(self, given, *kinds, index=index) for index, given in enumerate(inputs))
        assert isinstance(a, ElementCollection)
        assert isinstance(b, ElementCollection)
        element = tuple[a.element, b.element] if self.into is None else returned_type(self.into)  # type: ignore[name-defined]
        inner: Collection = ZSet(element) if left.cancels else Bag(element)
        return (StreamType(Keyed(left.key, inner), all(given.bounded for given in inputs)),)

    def steps(self, inputs: Values) -> Iterator[Step]:
        return self._steps(inputs, lambda value: ([key] for key in value.entries))

    def _steps(self, inputs: Values, portions: Callable[[KeyedValue], Iterator[list[Any]]]) -> Iterator[Step]:
        for side, value in enumerate(inputs):
            assert isinstance(value, KeyedValue)
            for keys in portions(value):
                rest, taken = value.taken(keys)
                try:
                    operator, output = self._joined(side, taken)
                except Exception as error:
                    error.add_note(f"under the key {keys[0]!r}"[:120])
                    raise
                after = (rest, inputs[1]) if side == 0 else (inputs[0], rest)
                yield Step(f"join-keyed-{('left', 'right')[side]}", after, operator, (output,))
        if all(isinstance(value, KeyedValue) and value.ending() for value in inputs):
            ended = KeyedValue.terminator()
            yield Step("join-keyed-terminated", tuple(map(passed, inputs)), KeyedJoin(self.into), (ended,))

    def _joined(self, side: int, entries: dict[Any, Any]) -> tuple[KeyedJoin, Delta]:
        mine, others = (self.left, self.right) if side == 0 else (self.right, self.left)
        pairs: dict[Any, Value] = {}
        grown: dict[Any, PersistentMap[Any, int]] = {}
        for key, value in entries.items():
            bag = BagValue.of((e, 1) for e in value.all_units()) if isinstance(value, SequenceValue) else value
            units = bag.all_units()
            grown[key] = mine.get(key, PersistentMap()).added(dict(units))
            if units and key in others:
                source = ZSetValue if isinstance(bag, ZSetValue) else BagValue
                pairs[key] = source.of(self._pairs(side, units, list(others[key].to_dict().items())))
        mine = mine.updated(grown, drop=PersistentMap())
        return (replace(self, left=mine) if side == 0 else replace(self, right=mine)), KeyedValue.of(pairs)

    def _pairs(self, side: int, units: list[Any], others: list[Any]) -> Iterator[tuple[Any, int]]:
        for element, weight in units:
            for other, other_weight in others:
                a, b = (element, other) if side == 0 else (other, element)
                yield (a, b) if self.into is None else self.into(a, b), weight * other_weight

    def advance(self, inputs: Values) -> Iterator[Step]:
        return leaps(self, inputs, lambda operator, values: operator._steps(values, all_keys))


def passed(value: Value) -> KeyedValue:
    assert isinstance(value, KeyedValue)
    return value.passed()
