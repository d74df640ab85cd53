"""The values that a check draws from: the user's examples, constants of the subject, and Flo's own examples.

Also what can be told of Python types: the common type of some values, and whether a type holds floats.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import reduce
from itertools import cycle, islice
from operator import or_
from random import Random
from typing import Any, get_args

from flo.core.collection import Collection
from flo.core.elements import belongs, type_name
from flo.core.errors import FloError, LawError, Origin, brief
from flo.values.lattice import Lattice
from flo.verify.data import examples as plain
from flo.verify.data.constants import LADDER, constants, integers, sizes
from flo.verify.data.examples import DEPTH, PLAIN, named_fields, resolved


def common_kind(values: list[Any]) -> Any:
    """The type of all these values, as precise as can be; None if that cannot be told."""
    kinds = {type(value) for value in values}
    if len(kinds) > 1:
        each = [common_kind([value for value in values if type(value) is kind]) for kind in kinds]
        return None if None in each else reduce(or_, each)
    kind: Any = next(iter(kinds), None)
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


def holds_floats(kind: Any, depth: int = DEPTH) -> bool:
    """Whether values of the type are floats, or hold some."""
    kind = resolved(kind)
    try:
        fields = named_fields(kind) if isinstance(kind, type) and depth else None
    except Exception:  # annotations that cannot be resolved
        fields = None
    parts = (*get_args(kind), *(fields or {}).values()) if depth else ()
    return kind is float or any(holds_floats(part, depth - 1) for part in parts)


FEW = 8
"""How many values are taken from a strategy where a few are needed."""


class Given:
    """A mapping from types to lists of values or Hypothesis strategies; the constants and integers of the subject.

    What is given for a type is used wherever the type occurs: in tuples, in fields, as elements of collections.
    """

    def __init__(
        self,
        values: Mapping[Any, Any] | None = None,
        constants: tuple[Any, ...] = (),
        integers: tuple[int, ...] = (),
    ) -> None:
        self.values = {} if values is None else values
        self.constants = constants
        """Tried as elements."""
        self.integers = integers
        """Tried as sizes and as weights."""
        self.made: dict[type, Any] = {}
        """The strategies of classes, each once: a class may contain itself."""
        self.where = Origin.here()
        if not isinstance(self.values, Mapping):
            raise LawError(
                f"`examples` must be a mapping from types to values; got {type(self.values).__name__}",
                facts=(("given", brief(self.values)),),
                instead=(("examples={int: [1, 2, 3]}", "values of each type, or a Hypothesis strategy"),),
                where=self.where,
            )

    def with_constants_of(self, function: Any) -> Given:
        """With the constants that the function mentions."""
        return Given(self.values, tuple(constants(function)), tuple(integers(function)))

    def sizes(self, ladder: tuple[int, ...] = LADDER) -> list[int]:
        """How many elements larger inputs have."""
        return sizes(self.integers, ladder)

    def own(self, kind: Any) -> Any:
        """What was given for this type: a list that was looked at, or a strategy that is looked at as it goes."""
        for key, values in self.values.items():
            if key is kind or _same(key, kind):
                return self._checked(kind, values)
        return None

    def _checked(self, kind: Any, values: Any) -> Any:
        if is_strategy(values):
            return values.map(lambda value: self._expect(value, kind))
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise LawError(
                f"the examples of {type_name(kind)} must be a list or a strategy",
                facts=(("given", brief(values)),),
                where=self.where,
            )
        return [self._expect(value, kind) for value in values]

    def _expect(self, value: Any, kind: Any) -> Any:
        reason = _stranger(value, kind)
        if reason is not None:
            raise LawError(
                f"the examples of {type_name(kind)} contain a value of another type: {brief(value)}",
                facts=(("given", f"{brief(value)}, {reason}"), ("expected", type_name(kind))),
                instead=((f"examples={{{type_name(kind)}: …}}", "values, or a strategy that makes only such values"),),
                where=self.where,
            )
        return value

    def examples(self, kind: Any) -> list[Any]:
        """A few values: the user's own, else those that Flo knows, and constants of the function."""
        return plain.examples(kind, self._known)

    def different(self, kind: Any, count: int) -> list[Any]:
        """So many elements in no order, as different as they can be made; none if the type does not say how."""
        numbers = Random(count).sample(range(count), count)
        origin, parts = plain.shape(resolved(kind))
        if self.own(kind) is None:
            if origin in (int, float):
                return [origin(number) for number in numbers]
            if origin is str:
                return [f"a{number}" for number in numbers]
            if origin is tuple and parts and parts[-1] is not ... and parts != ((),):
                return list(zip(*(self.different(part, count) for part in parts), strict=False))
        return list(islice(cycle(self.examples(kind)), count))

    def _known(self, kind: Any) -> list[Any] | None:
        own = self.own(kind)
        if own is not None:
            few = drawn(own, FEW) if is_strategy(own) else own
            if not few:
                raise LawError(
                    f"the examples of {type_name(kind)} are empty",
                    facts=(("given", brief(self.values)),),
                    instead=((f"examples={{{type_name(kind)}: […]}}", "at least one value"),),
                    where=self.where,
                )
            return list(few)
        spoken = self.constants_of(kind)
        return [*plain.PLAIN[kind], *spoken] if spoken else None

    def constants_of(self, kind: Any) -> list[Any]:
        """The constants of this type that are none of its plain examples; none where the user gave examples."""
        if self.own(kind) is not None:
            return []
        return [value for value in self.constants if type(value) is kind and value not in plain.PLAIN[kind]]


def _same(key: Any, kind: Any) -> bool:
    if isinstance(kind, Collection):
        try:
            return (isinstance(key, type) and type(kind) is key) or Collection.of(key) == kind
        except (FloError, TypeError):
            return False
    return bool(key == kind) or (key is None and kind is type(None))


def _stranger(value: Any, kind: Any) -> str | None:
    """Why the value is not of the type."""
    if isinstance(kind, Lattice):
        return kind.mismatch(kind.value(value))
    if not isinstance(kind, Collection):
        return None if belongs(value, kind) else f"a {type(value).__name__}"
    try:
        kind.value(value)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0].replace("{input}", "it")
    return None


def is_strategy(values: Any) -> bool:
    """Whether it can only be a Hypothesis strategy; without asking for Hypothesis."""
    return hasattr(values, "map") and hasattr(values, "filter") and hasattr(values, "flatmap")


def drawn(strategy: Any, count: int) -> list[Any]:
    """The first different values that a strategy gives, always the same ones."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis.errors import Unsatisfiable

    found: list[Any] = []

    @seeded(0)
    @settings(
        max_examples=4 * count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        if value not in found and len(found) < count:
            found.append(value)

    with contextlib.suppress(Unsatisfiable):  # there are none
        collect()
    return found
