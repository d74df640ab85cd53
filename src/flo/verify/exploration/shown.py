"""Values, types and operators as people write them: in counterexamples, and in lines to paste."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from flo.core.collection import Collection, End, Value
from flo.core.elements import type_name
from flo.core.errors import brief
from flo.core.labels import label
from flo.core.nested import Nested, NestedValue
from flo.core.notation import text
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.term import Lowering
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed, KeyedValue
from flo.values.lvar import LVar, LVarValue
from flo.values.sequence import SequenceValue
from flo.values.weighted import BagValue, SetValue, ZSetValue


def shown(value: Value) -> str:
    """The content as plain Python, oldest element first, and ⊗ if it has ended."""
    match value:
        case SequenceValue():
            content = brief(value.elements.to_list())
        case SetValue():
            content = brief(set(value.weights)) if value.weights else "{}"
        case BagValue() | ZSetValue():
            content = brief(value.weights.to_dict())
        case LVarValue():
            content = brief(value.value)
        case NestedValue():
            tuples = [", ".join(map(shown, values)) for values in value]
            tuples = [f"({each})" if "," in each else each for each in tuples]
            content = f"{'…' if value.continues else ''}[{', '.join(tuples)}]"
        case KeyedValue():
            content = (
                f"{{{', '.join(f'{brief(key)}: {shown(each)}' for key, each in value.entries.to_dict().items())}}}"
            )
        case _:
            return text(Lowering()(value))
    return content if value.end is End.OPEN else f"{content} ⊗"


def shown_all(values: Iterable[Value]) -> str:
    return ", ".join(map(shown, values)) or "nothing"


def type_source(given: StreamType) -> str:
    """The stream type as one writes it in Python."""
    collection = collection_source(given.collection)
    return f"flo.StreamType({_called(collection)}, bounded=True)" if given.bounded else collection


def _called(collection: str) -> str:
    """`flo.Sequence[int]` as a collection, where an annotation would not do."""
    return f"flo.Collection.of({collection})"


def collection_source(collection: Collection) -> str:
    match collection:
        case LVar(lattice=lattice):
            return f"flo.LVar[flo.{lattice}]"
        case Keyed():
            return f"flo.Keyed[{type_name(collection.key)}, {collection_source(collection.inner)}]"
        case Nested(inner=inner):
            return f"flo.Nested[{', '.join(collection_source(stream.collection) for stream in inner)}]"
        case ElementCollection() if collection.element is not Any:
            return f"flo.{collection.name}[{type_name(collection.element)}]"
    return f"flo.{collection.name}"


def operator_source(operator: Operator) -> str:
    """The call that makes the operator, with the names of its functions."""
    kind = type(operator).__name__
    if not is_dataclass(operator):
        return f"{kind}(…)"
    given = []
    for field in fields(operator):
        part = getattr(operator, field.name)
        if field.init and (field.default is MISSING or part != field.default):
            given.append(f"{field.name}={label(part) if callable(part) else brief(part)}")
    return f"{kind}({', '.join(given)})"
