"""The values that a check draws from: the user's examples, constants of the subject, and Flo's own examples.

Also the values of lattices, the common type of some values, and whether a type holds floats.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import cycle, islice, product
from operator import or_
from random import Random
from typing import Any, TypeGuard, get_args

from flo.core.collection import Collection
from flo.core.elements import belongs
from flo.core.errors import FloError, LawError, Origin, brief
from flo.core.type_names import type_name
from flo.core.untyped import AnyFunction, Element, TypeForm
from flo.values.lattice import Custom, Lattice
from flo.values.operators.shapes import copy_if_mutable
from flo.verify.data import examples as plain
from flo.verify.data.constants import LADDER, constants, integers, sizes
from flo.verify.data.examples import DEPTH, PLAIN, named_fields, resolve_type
from flo.verify.optional import Strategy, search_settings
from flo.verify.time_limit import SECONDS, TimeLimit, TimeUp


def common_kind(values: list[Element]) -> TypeForm:
    """The most precise type of all these values; None if it is unknown."""
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        each = [common_kind([value for value in values if type(value) is kind]) for kind in kinds]
        return None if None in each else reduce(or_, each)
    kind: TypeForm = next(iter(kinds), None)
    if kind in PLAIN or kind is None:
        return kind
    if kind is tuple:
        if len({len(value) for value in values}) != 1:
            return None
        parts: Any = tuple(common_kind(list(column)) for column in zip(*values, strict=True))
        return None if None in parts else tuple[parts]
    if kind in (frozenset, set, list):
        members = [member for value in values for member in value]
        member = common_kind(members) if members else None
        return None if member is None else kind[member]
    if kind is dict:
        keys, items = [[each for value in values for each in part(value)] for part in (dict.keys, dict.values)]
        key, item = common_kind(keys) if keys else None, common_kind(items) if items else None
        return None if key is None or item is None else kind[key, item]
    return kind


def holds_floats(kind: TypeForm, depth: int = DEPTH) -> bool:
    """Whether values of the type are floats, or hold some."""
    kind = resolve_type(kind)
    try:
        fields = named_fields(kind) if isinstance(kind, type) and depth else None
    except Exception:  # annotations that cannot be resolved
        fields = None
    parts = (*get_args(kind), *(fields or {}).values()) if depth else ()
    return kind is float or any(holds_floats(part, depth - 1) for part in parts)


FEW = 8
"""The number of values to draw from a strategy where a few are needed."""


class Given:
    """A mapping from types to lists of values or Hypothesis strategies; the constants and integers of the subject.

    What is given for a type is used wherever the type occurs: in tuples, in fields, as elements of collections.
    """

    def __init__(
        self,
        values: Mapping[TypeForm, object] | None = None,
        constants: tuple[object, ...] = (),
        integers: tuple[int, ...] = (),
        seconds: float = SECONDS,
    ) -> None:
        self.values = {} if values is None else values
        self.constants = constants
        """Tried as elements."""
        self.integers = integers
        """Tried as sizes and as weights."""
        self.seconds = seconds
        """The processor time after which one call on these values is aborted."""
        self.class_strategies: dict[type, Strategy] = {}
        """The strategies of classes, each once: a class may contain itself."""
        self.where = Origin.here()
        if not isinstance(self.values, Mapping):
            raise LawError(
                f"`examples` must be a mapping from types to values; got {type(self.values).__name__}",
                facts=(("given", brief(self.values)),),
                instead=(("examples={int: [1, 2, 3]}", "values of each type, or a Hypothesis strategy"),),
                where=self.where,
            )

    def with_constants_of(self, function: AnyFunction) -> Given:
        """Add the constants that the function mentions."""
        return self.with_constants(tuple(constants(function)), tuple(integers(function)))

    def with_constants(self, constants: tuple[object, ...], integers: tuple[int, ...]) -> Given:
        return Given(self.values, constants, integers, self.seconds)

    def sizes(self, ladder: tuple[int, ...] = LADDER) -> list[int]:
        """The sizes of larger inputs."""
        return sizes(self.integers, ladder)

    def own_examples(self, kind: TypeForm) -> list[Element] | Strategy | None:
        """The user's examples of a type: a checked list, or a strategy that checks what it draws; None if not given."""
        for key, values in self.values.items():
            if key is kind or _same(key, kind):
                return self._checked(kind, values)
        return None

    def _checked(self, kind: TypeForm, values: Any) -> list[Element] | Strategy:
        if is_strategy(values):
            return values.map(lambda value: self._expect(value, kind))
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise LawError(
                f"the examples of {type_name(kind)} must be a list or a strategy",
                facts=(("given", brief(values)),),
                where=self.where,
            )
        return [self._expect(value, kind) for value in values]

    def _expect(self, value: object, kind: TypeForm) -> Element:
        reason = _find_mismatch(value, kind)
        if reason is not None:
            raise LawError(
                f"the examples of {type_name(kind)} contain a value of another type: {brief(value)}",
                facts=(("given", f"{brief(value)}, {reason}"), ("expected", type_name(kind))),
                instead=((f"examples={{{type_name(kind)}: …}}", "values, or a strategy that makes only such values"),),
                where=self.where,
            )
        return value

    def examples(self, kind: TypeForm) -> list[Element]:
        """A few values: the user's own, else those that Flo knows, and constants of the function."""
        return plain.examples(kind, self._known)

    def expect_examples(self, kind: TypeForm) -> list[Element]:
        """The examples of a type; an error if there are none."""
        examples = self.examples(kind)
        if not examples:
            raise LawError(
                f"no examples of {type_name(kind)} can be made",
                instead=((f"examples={{{type_name(kind)}: […]}}", "values to try, or a Hypothesis strategy"),),
            ).at_users_line()
        return examples

    def distinct_elements(self, kind: TypeForm, count: int) -> list[Element]:
        """Return `count` elements, unsorted and as different as possible, with constants of the code among those of
        rows; none if the type has no examples."""
        numbers = Random(count).sample(range(count), count)
        origin, parts = plain.split_type(resolve_type(kind))
        if self.own_examples(kind) is None:
            if origin in (int, float):
                return [origin(number) for number in numbers]
            if origin is str:
                return [f"a{number}" for number in numbers]
            if origin is tuple and parts and parts[-1] is not ... and parts != ((),):
                return list(zip(*(self.distinct_elements(part, count) for part in parts), strict=False))
            rows = self._rows(origin, count)
            if rows:
                return list(islice(cycle(rows), count))
        return list(islice(cycle(self.examples(kind)), count))

    def rows_with_constants(self, kind: TypeForm) -> list[Element]:
        """A row with constants of the code in its columns; none if there are no columns, or no constants."""
        origin, _ = plain.split_type(resolve_type(kind))
        return self._rows(origin, 2)[1:] if self.constants and self.own_examples(kind) is None else []

    def _rows(self, kind: TypeForm, count: int) -> list[Element]:
        """Rows of a class that differ in every column; none of other types."""
        return plain.make_rows(kind, lambda columns: self._spread(columns, count)) if isinstance(kind, type) else []

    def _spread(self, columns: Iterable[TypeForm], count: int) -> Iterator[tuple[Element, ...]]:
        """Yield the values of rows, in every other row a constant of the code in each column that has one. The largest
        come first: they are beyond the other limits, and the ends of the other windows."""
        constants = [sorted(self.constants_of(kind), reverse=True) if kind in plain.PLAIN else [] for kind in columns]
        values = zip(*(self.distinct_elements(kind, count) for kind in columns), strict=False)
        for place, row in enumerate(values):
            tried = zip(row, constants, strict=True)
            yield tuple(some[place // 2 % len(some)] if some and place % 2 else value for value, some in tried)

    def _known(self, kind: TypeForm) -> list[Element] | None:
        own = self.own_examples(kind)
        if own is not None:
            few = draw(own, FEW) if is_strategy(own) else own
            if not few:
                raise LawError(
                    f"the examples of {type_name(kind)} are empty",
                    facts=(("given", brief(self.values)),),
                    instead=((f"examples={{{type_name(kind)}: […]}}", "at least one value"),),
                    where=self.where,
                )
            return list(few)
        mentioned = self.constants_of(kind)
        return [*plain.PLAIN[kind], *mentioned] if mentioned else None

    def constants_of(self, kind: TypeForm) -> list[Element]:
        """The constants of this type beyond its plain examples; none if the user gave examples."""
        if self.own_examples(kind) is not None:
            return []
        return [value for value in self.constants if type(value) is kind and value not in plain.PLAIN[kind]]


def _same(key: object, kind: TypeForm) -> bool:
    if isinstance(kind, Collection):
        try:
            return (isinstance(key, type) and type(kind) is key) or Collection.of(key) == kind
        except (FloError, TypeError):
            return False
    return bool(key == kind) or (key is None and kind is type(None))


def _find_mismatch(value: object, kind: TypeForm) -> str | None:
    """Return why the value is not of the type; None if it is."""
    if isinstance(kind, Lattice):
        return kind.mismatch(kind.value(value))
    if not isinstance(kind, Collection):
        return None if belongs(value, kind) else f"a {type(value).__name__}"
    try:
        kind.value(value)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0].replace("{input}", "it")
    return None


def is_strategy(values: object) -> TypeGuard[Strategy]:
    """Whether it is a Hypothesis strategy; does not import Hypothesis."""
    return hasattr(values, "map") and hasattr(values, "filter") and hasattr(values, "flatmap")


def draw(strategy: Strategy, count: int) -> list[Element]:
    """Draw the first different values of a strategy, always the same ones."""
    from hypothesis import given
    from hypothesis import seed as seeded
    from hypothesis.errors import Unsatisfiable

    drawn: list[Element] = []

    @seeded(0)
    @search_settings(4 * count, shrinks=False)
    @given(strategy)
    def collect(value: object) -> None:
        if value not in drawn and len(drawn) < count:
            drawn.append(value)

    with contextlib.suppress(Unsatisfiable):  # there are none
        collect()
    return drawn


MOST_LATTICE_VALUES = 8
_LATTICE_GUESSES: dict[type, list[Element]] = {
    int: [1, 2, 3],
    str: ["a", "b", "ab"],
    float: [0.5, 1.5, 2.5],
    bool: [True],
    frozenset: [frozenset({1}), frozenset({2})],
    tuple: [(1, 2), (2, 1)],
}
"""Values to try where the lattice does not name their type: those of the type of ⊥, or the first that it joins."""
LATTICE_KINDS: dict[type, Any] = {frozenset: frozenset[int], tuple: tuple[int, int]}
"""The full types of values whose class does not say enough."""


def lattice_values(lattice: Lattice[Any], given: Given) -> list[Element]:
    """A few values of the lattice other than ⊥, and joins of them."""
    own = given.own_examples(lattice)
    if own is not None or not isinstance(lattice, Custom):
        known = [lattice.value(value) for value in given.examples(lattice if own is not None else lattice.ordinary)]
        least = lattice.bottom()
        known = [each for each in known if try_join(lattice, least, each, given.seconds)]
        known = [each for each in known if lattice.mismatch(each) is None]
    else:
        known = _guess_values(lattice, given)
    proper = [value for value in known if not lattice.is_bottom(value)]
    joined = [value for a, b in islice(product(proper, proper), 12) for value in try_join(lattice, a, b, given.seconds)]
    return (proper + [value for value in joined if value not in proper])[: max(MOST_LATTICE_VALUES, len(proper))]


def _guess_values(lattice: Custom[Any], given: Given) -> list[Element]:
    """Guess values v, from the type of ⊥ and the constants of the join, and return each as ⊥ ⊔ v."""
    bottom, given = lattice.bottom(), given.with_constants_of(lattice.joining)
    if bottom is None:
        plain = next(
            (
                kind
                for kind in _LATTICE_GUESSES.values()
                if all(try_join(lattice, bottom, value, given.seconds) for value in kind)
            ),
            [],
        )
    else:
        plain = _LATTICE_GUESSES.get(type(bottom)) or given.examples(type(bottom))
    beside = [bottom + value for value in plain] if type(bottom) in (int, float) else []
    constants = given.constants_of(type(plain[0])) if plain else []
    above = values_above(lattice, [*plain, *beside, *constants], given.seconds)
    if all(map(lattice.is_bottom, above)):  # ⊥ is the greatest value: the laws will report it
        return [value for value in plain if try_join(lattice, bottom, value, given.seconds)]
    return above


def values_above(lattice: Lattice[Any], values: list[Element], seconds: float) -> list[Element]:
    """Return ⊥ ⊔ v for each value, without repetition: v itself may not belong to the lattice."""
    higher: list[Element] = []
    for value in values:
        higher += [above for above in try_join(lattice, lattice.bottom(), value, seconds) if above not in higher]
    return higher


def try_join(lattice: Lattice[Any], a: object, b: object, seconds: float) -> list[Element]:
    """Return a list of the join, empty if the values have none."""
    try:
        with TimeLimit(seconds):
            return [lattice.join(copy_if_mutable(a), copy_if_mutable(b))]
    except TimeUp as up:
        up.given = (a, b)
        raise
    except (Exception, SystemExit):  # no join: the values exclude each other, or were a wrong guess
        return []
