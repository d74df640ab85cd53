"""Writes values for counterexamples: as readable text, and as Python source that can be pasted."""

from __future__ import annotations

import datetime
import functools
import math
import re
import sys
import types
import typing
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, get_args, get_origin

from flo.core.collection import Collection, End, Form, FormedValue, Value
from flo.core.errors import FloError, brief, is_users, shorten
from flo.core.graph import text
from flo.core.labels import label
from flo.core.nested import Nested, NestedValue
from flo.core.operator import Operator
from flo.core.stream_type import StreamType
from flo.core.term import Lowering
from flo.core.untyped import AnyFunction, TypeForm
from flo.values.element_value import ElementCollection
from flo.values.keyed import Keyed, KeyedValue
from flo.values.lattice import Custom, Lattice
from flo.values.lvar import LVar, LVarValue
from flo.values.partitioned import Partitioned
from flo.values.sequence import SequenceValue
from flo.values.weighted import Bag, BagValue, SetValue, ZSetValue


def format_value(value: Value) -> str:
    """Format the content as plain Python, oldest element first, with ⊗ if it has ended."""
    match value:
        case FormedValue():
            return format_value(value.value())
        case SequenceValue():
            content = brief(value.elements.to_list())
        case SetValue():
            content = brief(set(value.weights)) if value.weights else "{}"
        case BagValue() | ZSetValue():
            content = brief(value.weights.to_dict())
        case LVarValue():
            content = brief(value.value)
        case NestedValue():
            tuples = [", ".join(map(format_value, values)) for values in value]
            tuples = [f"({each})" if "," in each else each for each in tuples]
            content = f"{'…' if value.continues else ''}[{', '.join(tuples)}]"
        case KeyedValue():
            entries = value.entries.to_dict().items()
            content = f"{{{', '.join(f'{brief(key)}: {format_value(each)}' for key, each in entries)}}}"
        case _:
            return shorten(text(Lowering()(value)))
    content = shorten(content)
    return content if value.end is End.OPEN else f"{content} ⊗"


def format_expression(thing: object) -> str:
    """Format a graph or an operator as an expression; by `repr` if its state cannot be lowered."""
    try:
        return text(Lowering()(thing))
    except FloError:
        return repr(thing)


def format_values(values: Iterable[Value]) -> str:
    return ", ".join(map(format_value, values)) or "nothing"


_MODULE = re.compile(r"\b(datetime|zoneinfo)\.(?=\w)")


class SourceWriter:
    """Writes values as Python source. Names of the user's modules need no import; others are collected in `modules`."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def line(self, expression: str) -> str:
        """Return the expression after the imports that it needs."""
        modules = ", ".join(sorted(self.modules))
        return f"import {modules}; {expression}" if modules else expression

    def value(self, item: Any) -> str:
        match item:
            case None | bool() | str() | bytes() | range() if type(item).__module__ == "builtins":
                return repr(item)
            case Enum():
                whole = isinstance(item.name, str) and item.name in type(item).__members__
                return f"{self.name(type(item))}.{item.name}" if whole else f"{self.name(type(item))}({item.value!r})"
            case Lattice():
                return self.lattice(item)
            case Collection():
                return f"flo.Collection.of({self.collection(item)})"
            case StreamType():
                return f"flo.StreamType({self.value(item.collection)}, bounded={item.bounded})"
            case Operator():
                return self.operator(item)
            case float() if type(item) is float:
                return repr(item) if math.isfinite(item) else f'float("{item}")'
            case type():
                return self.kind(item)
        if is_dataclass(item):
            given = [f"{each.name}={self.value(getattr(item, each.name))}" for each in fields(item) if each.init]
            return f"{self.name(type(item))}({', '.join(given)})"
        if get_origin(item) is not None:
            return self.kind(item)
        return self.function(item) if callable(item) else self._built(item)

    def _built(self, item: object) -> str:
        """Write containers, and objects whose `repr` is a call."""
        kind = type(item)
        if isinstance(item, tuple) and hasattr(item, "_fields"):
            given = (f"{name}={self.value(part)}" for name, part in zip(item._fields, item, strict=True))
            return f"{self.name(kind)}({', '.join(given)})"
        if isinstance(item, tuple):
            return f"({', '.join(map(self.value, item))}{',' if len(item) == 1 else ''})"
        if isinstance(item, dict):
            inside = f"{{{', '.join(f'{self.value(k)}: {self.value(v)}' for k, v in item.items())}}}"
            return inside if kind is dict else f"{self.name(kind)}({inside})"
        if isinstance(item, list):
            return f"[{', '.join(map(self.value, item))}]"
        if isinstance(item, (set, frozenset)):
            inside = f"{{{', '.join(map(self.value, item))}}}" if item else ""
            return inside if kind is set and item else f"{self.name(kind)}({inside})"
        written = repr(item)
        if isinstance(item, (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo)):
            self.modules.update(_MODULE.findall(written))  # their repr names the module
            return written
        called = kind.__qualname__ if written.startswith(f"{kind.__qualname__}(") else kind.__name__
        return self.name(kind) + written.removeprefix(called) if written.startswith(f"{called}(") else written

    def name(self, item: Any) -> str:
        """Write the name of a class or function, with its module unless that is the user's."""
        known = str(item.__qualname__).rpartition("<locals>.")[2]
        module = getattr(item, "__module__", None) or "builtins"
        top = module.partition(".")[0].lstrip("_")  # `operator.add` says that it is of `_operator`
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        installed = top == "flo" or top in sys.stdlib_module_names or (file and not is_users(file))
        if module == "builtins" or not installed:
            return known
        if getattr(sys.modules.get(top), known.partition(".")[0], None) is not None:
            module = top
        if module != "flo":
            self.modules.add(module)
        return f"{module}.{known}"

    def function(self, function: AnyFunction) -> str:
        if isinstance(function, functools.partial):
            named = (f"{name}={self.value(part)}" for name, part in function.keywords.items())
            given = [self.value(function.func), *map(self.value, function.args), *named]
            return f"{self.name(functools.partial)}({', '.join(given)})"
        if "<lambda>" in getattr(function, "__qualname__", "<lambda>") or isinstance(function, types.MethodType):
            return label(function)
        return self.name(function)

    def kind(self, kind: TypeForm) -> str:
        """Write a type."""
        origin, parts = get_origin(kind), get_args(kind)
        if kind is None or kind is type(None):
            return "None"
        if kind is ...:
            return "..."
        if origin in (typing.Union, types.UnionType):
            return " | ".join(map(self.kind, parts))
        if origin is typing.Literal:
            self.modules.add("typing")
            return f"typing.Literal[{', '.join(map(self.value, parts))}]"
        if origin is typing.Annotated:
            return self.kind(parts[0])
        if origin is not None:
            return f"{self.name(origin)}[{', '.join(map(self._parameter, parts)) or '()'}]"
        return self.name(kind) if isinstance(kind, type) or kind is Any else str(kind).removeprefix("~")

    def _parameter(self, part: object) -> str:
        return f"[{', '.join(map(self.kind, part))}]" if isinstance(part, list) else self.kind(part)

    def lattice(self, lattice: Lattice[Any]) -> str:
        """Write the call that makes the lattice."""
        if isinstance(lattice, Custom):
            top = "" if lattice.greatest is None else f", {self.value(lattice.greatest)}"
            return f"flo.Lattice.of({self.value(lattice.least)}, {self.function(lattice.joining)}{top})"
        given = [part for each in lattice._parameters() for part in (each if isinstance(each, tuple) else (each,))]
        written = [self.lattice(part) if isinstance(part, Lattice) else self._of_lattice(part) for part in given]
        return f"{self.name(type(lattice))}({', '.join(written)})"

    def _of_lattice(self, part: object) -> str:
        return self.kind(part) if isinstance(part, type) or part is Any or get_origin(part) else self.value(part)

    def annotation(self, lattice: Lattice[Any]) -> str:
        """Write the annotation, such as `flo.Max[int]`, if the lattice has no other parameters; else the call."""
        match [] if isinstance(lattice, Custom) else lattice._parameters():
            case [type() as element] if str(lattice).endswith("]") and hasattr(type(lattice), "__class_getitem__"):
                return f"{self.name(type(lattice))}[{self.kind(element)}]"
        return self.lattice(lattice)

    def collection(self, collection: Collection) -> str:
        """Write the annotation of a collection: `flo.Bag[int]`."""
        match collection:
            case Form(base=base):
                return f"{self.name(type(collection))}({self.value(base)})"
            case LVar(lattice=lattice):
                return f"flo.LVar[{self.annotation(lattice)}]"
            case Partitioned():
                return f"flo.Partitioned({self.kind(collection.row)}, {collection.count})"
            case Keyed():
                return f"flo.Keyed[{self.kind(collection.key)}, {self.collection(collection.inner)}]"
            case Nested(inner=inner):
                return f"flo.Nested[{', '.join(map(self._inner, inner))}]"
            case ElementCollection() if collection.element is not Any:
                return f"{self.name(type(collection))}[{self.kind(collection.element)}]"
        return self.name(type(collection))

    def _inner(self, stream: StreamType) -> str:
        return self.collection(stream.collection)

    def stream(self, given: StreamType) -> str:
        """Write a stream type; of an unbounded one, its collection."""
        return self.value(given) if given.bounded else self.collection(given.collection)

    def operator(self, operator: Operator) -> str:
        """Write the call that makes the operator, with the names of its functions."""
        kind = self.name(type(operator))
        if not is_dataclass(operator):
            return f"{kind}(…)"
        parts = [(field, getattr(operator, field.name)) for field in fields(operator) if field.init]
        given = [f"{f.name}={self.value(part)}" for f, part in parts if f.default is MISSING or part != f.default]
        return f"{kind}({', '.join(given)})"

    def data(self, collection: Collection, data: object) -> str:
        """Write plain data of a stream; a bag as a list, in an order in which its elements may arrive."""
        match collection:
            case Form(base=base):
                return self.data(base, data)
            case LVar(lattice=lattice) if isinstance(data, list):
                return self.value([lattice.plain(v) if lattice.mismatch(v) is None else v for v in data])
            case Bag() if isinstance(data, Mapping):
                return self.value([element for element, count in data.items() for _ in range(count)])
            case Keyed() if isinstance(data, Mapping):
                items = (f"{self.value(key)}: {self.data(collection.inner, item)}" for key, item in data.items())
                return f"{{{', '.join(items)}}}"
            case Nested(inner=(only,)) if isinstance(data, list):
                return f"[{', '.join(self.data(only.collection, item) for item in data)}]"
            case Nested(inner=inner) if isinstance(data, list):
                return f"[{', '.join(self._tuple(inner, item) for item in data)}]"
        if isinstance(data, Counter):
            return self.value(dict(data))
        written: Any = list(data) if isinstance(data, Iterable) and not isinstance(data, (Mapping, set, str)) else data
        return self.value(written)

    def _tuple(self, inner: Iterable[StreamType], item: Any) -> str:
        parts = (self.data(stream.collection, part) for stream, part in zip(inner, item, strict=True))
        return f"({', '.join(parts)})"


def quote_trace(trace: str) -> str:
    """Write a trace as a string literal."""
    return repr(trace) if '"' in trace or "\\" in trace else f'"{trace}"'


def format_keywords(items: Iterable[tuple[str, str]]) -> str:
    """Arguments by name, after others; names that Python does not take there in a mapping."""
    given = list(items)
    plain = "".join(f", {name}={text}" for name, text in given if name.isidentifier())
    others = ", ".join(f"{name!r}: {text}" for name, text in given if not name.isidentifier())
    return f"{plain}, **{{{others}}}" if others else plain
