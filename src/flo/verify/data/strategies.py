"""Generated values: Hypothesis strategies for Python types, for lattices, and for the plain data of collections.

Needs Hypothesis, an optional dependency; it is imported when a strategy is made.
"""

from __future__ import annotations

import types
import typing
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Any, Literal, TypeVar, Union, get_origin, is_typeddict

from flo.core.collection import Collection, Form
from flo.core.errors import LawError
from flo.core.nested import Nested
from flo.core.type_names import type_name
from flo.core.untyped import Element, TypeForm
from flo.values.keyed import Keyed
from flo.values.lattice import Custom, Lattice
from flo.values.lattice_orders import NaturalSum
from flo.values.lattice_structures import MapUnion, Product, Versioned
from flo.values.lvar import LVar
from flo.values.partitioned import Partitioned
from flo.values.sequence import Sequence
from flo.values.weighted import Bag, Set, ZSet
from flo.verify.data.examples import is_hashable, named_fields, resolve_type, split_type
from flo.verify.data.given import Given, is_strategy, lattice_values
from flo.verify.optional import Strategy, search_settings, st

LONGEST = 6
"""How many elements generated data has at most."""
EARLIEST, LATEST = 1900, 2100
MOST_DAYS = 10_000
"""Sums of a few generated times and numbers are still within what their types can hold."""


def strategy_for(kind: TypeForm, given: Given) -> Strategy:
    """Make a strategy for a Python type: the user's own examples, or generated values and constants of the function."""
    own = given.own_examples(kind)
    if own is not None:
        return own if is_strategy(own) else _sampled(own, kind)
    generated = _generated(resolve_type(kind), given)
    mentioned = given.constants_of(kind)
    return st.one_of(generated, st.sampled_from(mentioned)) if mentioned else generated


def _sampled(values: list[Element], kind: TypeForm) -> Strategy:
    if not values:
        raise no_values_error(type_name(kind))
    return st.sampled_from(values)


def _generated(kind: TypeForm, given: Given) -> Strategy:
    if kind is Any or kind is object:
        return st.integers()
    if kind is float:  # nan is not equal to itself, and most functions do not mean infinities
        return st.floats(allow_nan=False, allow_infinity=False)
    if kind is Decimal:
        return st.decimals(-(10**12), 10**12, allow_nan=False, allow_infinity=False)
    if kind is complex:
        return st.complex_numbers(allow_nan=False, allow_infinity=False)
    if kind is date:
        return st.dates(date(EARLIEST, 1, 1), date(LATEST, 1, 1))
    if kind is datetime:  # without zones, as in the examples
        return st.datetimes(datetime(EARLIEST, 1, 1), datetime(LATEST, 1, 1))
    if kind is timedelta:
        return st.timedeltas(timedelta(days=-MOST_DAYS), timedelta(days=MOST_DAYS))
    origin, parts = split_type(kind)
    if origin in (Union, types.UnionType):
        return st.one_of([strategy_for(part, given) for part in parts])
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple:
        if parts in ((), ((),)):
            return st.just(())
        if parts[-1] is ...:
            return st.lists(strategy_for(parts[0], given), max_size=LONGEST).map(tuple)
        return st.tuples(*(strategy_for(part, given) for part in parts))
    if origin is list:
        return st.lists(strategy_for(parts[0], given), max_size=LONGEST)
    if origin in (set, frozenset):
        return st.frozensets(_hashable(parts[0], given), max_size=LONGEST).map(origin)
    if isinstance(origin, type) and issubclass(origin, dict) and len(parts) == 2:
        dictionaries = st.dictionaries(_hashable(parts[0], given), strategy_for(parts[1], given), max_size=LONGEST)
        return dictionaries if origin is dict else dictionaries.map(origin)
    return _object(kind, given)


def _object(kind: Any, given: Given) -> Strategy:
    from hypothesis.errors import HypothesisException

    if is_typeddict(kind):
        hints = typing.get_type_hints(kind)
        required = {name: strategy_for(hints[name], given) for name in sorted(kind.__required_keys__)}
        optional = {name: strategy_for(hints[name], given) for name in sorted(kind.__optional_keys__)}
        return st.fixed_dictionaries(required, optional=optional)
    plain = get_origin(kind) or kind
    try:
        fields = named_fields(plain) if isinstance(plain, type) and not issubclass(plain, Enum) else None
        if fields is not None:
            return _instances(plain, fields, given)
        strategy = st.from_type(kind)
        strategy.validate()
    except (HypothesisException, TypeError, NameError) as error:
        raise no_values_error(type_name(kind)) from error
    return strategy


def _instances(kind: type, fields: dict[str, Any], given: Given) -> Strategy:
    """A strategy for a class with named fields. A class that contains itself uses the same strategy again."""
    from hypothesis import reject

    def instance(**values: object) -> Strategy:
        try:
            return kind(**values)
        except Exception:  # values that the class refuses
            reject()

    if kind not in given.class_strategies:
        given.class_strategies[kind] = st.deferred(
            lambda: st.builds(instance, **{name: strategy_for(part, given) for name, part in fields.items()})
        )
    return given.class_strategies[kind]


def _hashable(kind: TypeForm, given: Given) -> Strategy:
    return strategy_for(kind, given).filter(is_hashable)


def no_values_error(what: str) -> LawError:
    return LawError(
        f"no values of {what} can be made",
        instead=((f"examples={{{what}: […]}}", "values to try, or a Hypothesis strategy"),),
    )


def lattice_strategy(lattice: Lattice[Any], given: Given) -> Strategy:
    """Make a strategy for values of a lattice, including ⊥ where it is an ordinary value."""
    own = given.own_examples(lattice)
    if own is not None:
        return (own if is_strategy(own) else _sampled(own, lattice)).map(lattice.value)
    match lattice:
        case Custom():
            examples = lattice_values(lattice, given)
            kinds = {type(value) for value in examples}
            if len(kinds) != 1 or not examples:
                return _sampled(examples, lattice)
            kind = frozenset[int] if kinds == {frozenset} else tuple[int, int] if kinds == {tuple} else kinds.pop()
            strategy = st.one_of(st.sampled_from(examples), strategy_for(kind, given))
        case MapUnion():
            inner = lattice_strategy(lattice.lattice, given)
            strategy = st.dictionaries(_hashable(lattice.key, given), inner, max_size=3).map(lattice.value)
        case Product():
            strategy = st.tuples(*(lattice_strategy(part, given) for part in lattice.lattices))
        case Versioned():
            strategy = st.tuples(strategy_for(lattice.version, given), lattice_strategy(lattice.lattice, given))
        case NaturalSum():
            strategy = st.one_of(st.integers(0, 5), st.integers(min_value=0))
        case _:
            strategy = strategy_for(lattice.ordinary, given).map(lattice.value)
    return strategy.filter(lambda value: lattice.mismatch(value) is None)


def data_strategy(collection: Collection, given: Given, least: int = 0, longest: int = LONGEST) -> Strategy:
    """Make a strategy for plain data of a collection; for an LVar, lists of values of its lattice."""
    own = given.own_examples(collection)
    if own is not None:
        return own if is_strategy(own) else _sampled(own, collection)
    some: Any = {"min_size": least, "max_size": longest}
    match collection:
        case Form(base=base):
            return data_strategy(base, given, least, longest)
        case Nested(inner=inner):
            each = [_inner(stream.collection, given) for stream in inner]
            return st.lists(each[0] if len(each) == 1 else st.tuples(*each), max_size=longest // 2)
        case Keyed():
            inside, keys = _inner(collection.inner, given), _hashable(collection.key, given)
            if isinstance(collection, Partitioned):
                keys = st.integers(0, collection.count - 1)
            return st.dictionaries(keys, inside, max_size=longest // 2)
        case LVar():
            return st.lists(lattice_strategy(collection.lattice, given), **some)
        case Sequence():
            return st.lists(strategy_for(collection.element, given), **some)
        case Bag():
            return st.lists(_hashable(collection.element, given), **some).map(Counter)
        case Set():
            return st.sets(_hashable(collection.element, given), max_size=longest)
        case ZSet():
            weights = st.sampled_from([1, -1, 2, -2, 3])
            return st.dictionaries(_hashable(collection.element, given), weights, max_size=longest)
    raise no_values_error(str(collection))


def _inner(collection: Collection, given: Given) -> Strategy:
    """Data of a stream inside another: an LVar there has one value."""
    if isinstance(collection, LVar) and given.own_examples(collection) is None:
        return lattice_strategy(collection.lattice, given).map(collection.lattice.plain)
    return data_strategy(collection, given)


T = TypeVar("T")


class _Enough(BaseException):
    """Not an `Exception`, which Hypothesis would try to make smaller."""


def find_smallest(
    strategy: Strategy, broken: Callable[[Any], T | None], *, tries: int, seed: int, over: Callable[[], bool]
) -> tuple[int, T | None]:
    """Return the number of tried cases, and the result of `broken` for the smallest case that has one."""
    from hypothesis import find
    from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable

    tried, smallest = 0, None
    fault: Exception | None = None

    def breaks(case: object) -> bool:
        nonlocal tried, smallest, fault
        if over():
            raise _Enough
        tried += 1
        try:
            result = broken(case)
        except Exception as error:
            fault = error
            raise
        smallest = result or smallest
        return result is not None

    try:
        find(strategy, breaks, random=Random(seed), settings=search_settings(tries, shrinks=True))
    except (NoSuchExample, Unsatisfiable, _Enough):  # none was found, or no smaller one
        pass
    except Flaky:  # keep what was found the first time
        if smallest is None and fault is not None:
            raise fault from fault.__cause__
    return tried, smallest
