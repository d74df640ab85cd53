"""Checks of the arguments of verbs, made when the program is built: a function that cannot work is reported at the
user's line, not when the first element arrives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar, get_args, get_origin

from flo.api.columns import (
    Argument,
    TypedValue,
    bind_columns,
    describe_row,
    expect_own_expression,
    is_expression,
    kind_of,
    stream_of,
)
from flo.api.scope import AnyBase, R, Scope, StreamBase, Vertex
from flo.core.collection import Collection
from flo.core.elements import belongs, returned_type
from flo.core.errors import CollectionError, FloError, TypeMismatch, brief
from flo.core.explained_calls import unknown_argument
from flo.core.operator import fit_advice
from flo.core.type_names import type_name
from flo.core.type_relations import accepts, overlaps, positional_parameters, signature_of
from flo.core.untyped import AnyFunction, TypeForm
from flo.values.lattice import Custom, Lattice
from flo.values.operators.elementwise import Filter
from flo.values.weighted import ZSet

F = TypeVar("F", bound=AnyFunction)


def expect_function(
    verb: str, parameter: str, given: object, *arguments: Argument, columns: bool = True, gives: type | None = None
) -> AnyFunction:
    """Return the function if it can be called with these arguments.

    An argument is a row of a stream, given as the stream itself, or as `Perhaps`, `KeyOf`, `WEIGHTS` or `TypedValue`.
    If `columns` are allowed, they count as a function too; `gives` is the type that they must have.
    """
    if columns and is_expression(given):
        return bind_columns(verb, parameter, given, arguments, gives)
    function, takes = expect_callable(verb, parameter, given), len(arguments)
    if not takes_arguments(function, takes):
        raise TypeMismatch(
            f"`{parameter}` of `{verb}` must accept {takes} argument{'s' if takes != 1 else ''}",
            facts=(("given", describe_function(function)),),
        ).at_users_line()
    expect_parameters(verb, function, *arguments)
    return function


def expect_optional(
    verb: str, parameter: str, given: object, *arguments: Argument, columns: bool = True
) -> AnyFunction | None:
    """Do the same for a function that may be omitted."""
    return None if given is None else expect_function(verb, parameter, given, *arguments, columns=columns)


def expect_callable(verb: str, parameter: str, given: object) -> AnyFunction:
    """Return the function. Raises unless it is one that returns its result immediately."""
    expect_own_expression(verb, given)
    if given is None:
        raise TypeMismatch(f"`{verb}` must get a function or a column as `{parameter}`; got None").at_users_line()
    if not callable(given):
        raise TypeMismatch(
            f"`{parameter}` of `{verb}` must be a function; got {type(given).__name__}",
            facts=(("given", brief(given)),),
        ).at_users_line()
    if is_async(given):
        raise TypeMismatch(
            f"`{parameter}` of `{verb}` must return its result immediately; got a coroutine function",
            facts=(("given", describe_function(given)),),
            instead=(("loop.push(…)", "push the awaited results"),),
        ).at_users_line()
    return given


def expect_parameters(verb: str, given: AnyFunction, *arguments: Argument) -> None:
    """Raise if the annotated parameters of a function do not accept the arguments that the verb calls it with."""
    for argument, expected in zip(arguments, positional_parameters(given, len(arguments)), strict=True):
        if expected is None:
            continue
        kind, stream = kind_of(argument), stream_of(argument)
        if accepts(expected.kind, kind) or (is_narrowed(stream, kind) and overlaps(expected.kind, kind)):
            continue
        name, wanted, actual = name_of(given), type_name(expected.kind), type_name(kind)
        instead = [(f"{name}({expected.name}: {actual})", "a function that accepts its argument")]
        if stream is not None and isinstance(argument, StreamBase) and overlaps(expected.kind, kind):
            instead.append((f"{{input}}.filter(…).{verb}(…)", f"if a filter only leaves {wanted}"))
        elif stream is not None and isinstance(argument, StreamBase):
            instead.append((f"{{input}}.map(…).{verb}(…)", f"convert the elements to {wanted} first"))
        raise TypeMismatch(
            f"`{verb}` calls `{name}` with {describe_row(argument)}: expected {wanted} as `{expected.name}`, "
            f"got {actual}",
            facts=(
                ("function", describe_function(given)),
                *([("{input}", stream.type.described())] if stream is not None else []),
            ),
            instead=tuple(instead),
        ).at_users_line(stream)


def is_narrowed(stream: AnyBase | None, kind: TypeForm) -> bool:
    """Return whether elements may have a narrower type than this: they were filtered, or are made of columns.

    No annotation tells what a filter leaves, and computed columns are nullable as far as is known.
    """
    return stream is not None and any(
        isinstance(vertex.operator, Filter) and any(kind_of(output) == kind for output in vertex.outputs)
        for vertex in _before(stream)
    )


def _before(stream: AnyBase) -> Iterator[Vertex]:
    """Yield the operators that a stream depends on, including those before the body that it belongs to."""
    streams, seen = [stream], set()
    while streams:
        vertex = (latest := streams.pop()).source
        if vertex is None and latest.scope.parent is not None:
            yield from _inside(latest.scope.parent)
        elif vertex is not None and vertex not in seen:
            seen.add(vertex)
            yield vertex
            yield from _inside(vertex.body)
            streams += vertex.inputs


def _inside(scope: Scope | None) -> Iterator[Vertex]:
    """Yield all operators of a scope and of the scopes around it."""
    while scope is not None:
        yield from scope.vertices
        scope = scope.parent


def expect_accumulator(verb: str, initial: object, f: AnyFunction, stream: AnyBase) -> AnyFunction:
    """Return the function of a state and an element, if it accepts the initial value and its own results as state."""
    expect_function(verb, "f", f, TypedValue(Any), stream, columns=False)
    expected, _ = positional_parameters(f, 2)
    if expected is None:
        return f
    name, wanted = name_of(f), type_name(expected.kind)
    if not belongs(initial, expected.kind):
        raise TypeMismatch(
            f"`{verb}` first calls `{name}` with `initial`: expected {wanted} as `{expected.name}`, "
            f"got {type(initial).__name__}",
            facts=(("function", describe_function(f)), ("initial", brief(initial))),
            instead=((f"{verb}(initial, …)", f"with an initial value of type {wanted}"),),
        ).at_users_line()
    if not accepts(expected.kind, returned_type(f)):
        actual = type_name(returned_type(f))
        raise TypeMismatch(
            f"`{verb}` calls `{name}` with its last result: expected {wanted} as `{expected.name}`, got {actual}",
            facts=(("function", describe_function(f)),),
            instead=((f"{name}({expected.name}: {actual}, …) -> {actual}", "one type for the state"),),
        ).at_users_line()
    return f


def expect_number(verb: str, of: AnyFunction | None, stream: AnyBase) -> None:
    """Raise if the function does not return a number."""
    kind = returned_type(of)
    if not overlaps(int | float | Decimal | Fraction, kind):
        raise TypeMismatch(
            f"`{verb}` adds one number per row: expected int, float, Decimal or Fraction, got {type_name(kind)} "
            f"from `{name_of(of)}`",
            facts=(("{input}", stream.type.described()),),
        ).at_users_line(stream)


def expect_directions(verb: str, descending: object, key: AnyFunction) -> bool | tuple[bool, ...]:
    """Return the direction of the whole key, or of each of its columns. Raises if their number does not fit the key."""
    if isinstance(descending, bool):
        return descending
    flags = tuple(descending) if isinstance(descending, (tuple, list)) else ()
    if not flags or not all(isinstance(flag, bool) for flag in flags):
        raise TypeMismatch(
            f"`descending` of `{verb}` must be True, False, or a tuple of these; got {brief(descending)}"
        ).at_users_line()
    kind = returned_type(key)
    columns = get_args(kind) if get_origin(kind) is tuple and ... not in get_args(kind) else None
    if columns is None and not overlaps(tuple, kind):
        columns = (kind,)
    if columns is not None and len(columns) != len(flags):
        raise TypeMismatch(
            f"`descending` of `{verb}` must have one direction per column of `key`, {len(columns)}; got {len(flags)}",
            facts=(("key", f"{name_of(key)}: {type_name(kind)}"), ("descending", brief(descending))),
            instead=(
                ("descending=True", "all columns in one direction"),
                (f"descending={(True,) * len(columns)!r}", "one per column"),
            ),
        ).at_users_line()
    return flags


def value_of(stream: AnyBase) -> TypedValue:
    """Return the value of a lattice variable as the argument of a function."""
    lattice = getattr(stream.collection, "lattice", None)
    kind = lattice.ordinary if isinstance(lattice, Lattice) and is_plain(lattice) else Any
    return TypedValue(kind, "the value of the variable")


def lattice_of(verb: str, lattice: object, stream: AnyBase, f: AnyFunction | None) -> Lattice[Any]:
    """Return the lattice, if the elements, or what `f` returns for them, can be its values."""
    checked: Lattice[Any] = call_located(Lattice.from_annotation, lattice)
    kind = kind_of(stream) if f is None else returned_type(f)
    if isinstance(checked, Custom):
        value: Argument = stream if f is None else result_of(f, f"results of `{name_of(f)}`")
        expect_parameters(verb, checked.joining, value, value)
    elif is_plain(checked) and not overlaps(checked.whole, kind):
        source = "the elements of {input}" if f is None else f"the results of `{name_of(f)}`"
        raise TypeMismatch(
            f"`{verb}` joins values of {checked}: expected {type_name(checked.ordinary)}, got {source}, which are "
            f"{type_name(kind)}",
            facts=(("{input}", stream.type.described()),),
            instead=((f"{{input}}.{verb}({checked}, f)", f"where f returns {type_name(checked.ordinary)}"),),
        ).at_users_line(stream)
    return checked


def result_of(f: AnyFunction, name: str) -> TypedValue:
    """Return what another function returns. For columns it is not known whether they may be null."""
    return TypedValue(Any if hasattr(f, "returns") else returned_type(f), name)


def is_plain(lattice: Lattice[Any]) -> bool:
    """Return whether the lattice's values are plain Python data."""
    return type(lattice).value is Lattice.value and type(lattice).plain is Lattice.plain


def expect_reason(verb: str, parameter: str, given: object) -> str | None:
    """Return the user's reason why a law holds; None if there is none."""
    if given is None or (isinstance(given, str) and given.strip()):
        return given
    raise TypeMismatch(
        f"`{parameter}` of `{verb}` must be a non-empty string saying why it holds; got {brief(given)}",
        instead=((f'{verb}(…, {parameter}="why")', "your reason"), (f"{verb}(…)", "Flo tests it on examples")),
    ).at_users_line()


def is_async(given: object) -> bool:
    """Return whether calling it returns a coroutine or an async generator."""
    called = (given, type(given).__call__)
    return any(inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f) for f in called)


def takes_arguments(given: AnyFunction, count: int) -> bool:
    """Return whether the function accepts `count` arguments, as far as Python can tell."""
    signature = signature_of(given)
    try:
        return signature is None or bool(signature.bind(*[None] * count))
    except TypeError:
        return False


def name_of(given: object) -> str:
    return str(getattr(given, "__name__", type(given).__name__))


def describe_function(given: AnyFunction) -> str:
    """Return the function's name and parameters."""
    return f"{name_of(given)}{signature_of(given) or ''}"


def expect_keys(
    verb: str, on: object, other_on: object, stream: AnyBase, other: AnyBase
) -> tuple[AnyFunction | None, AnyFunction | None]:
    """Return the keys of both sides of a join: both or none."""
    if (on is None) != (other_on is None):
        given, missing = ("on", "other_on") if other_on is None else ("other_on", "on")
        raise TypeMismatch(
            f"`{verb}` must get both `on` and `other_on`, or neither; got only `{given}`",
            facts=((verb, "compares a key of this stream, `on`, with a key of the other, `other_on`"),),
            instead=(
                (f"{verb}(other, on=…, other_on=…)", "the keys of both sides"),
                (f"{missing}=lambda x: x", "if its elements are the keys"),
            ),
        ).at_users_line()
    return expect_optional(verb, "on", on, stream), expect_optional(verb, "other_on", other_on, other)


def expect_no_argument(
    verb: str, parameter: str, given: object, why: str, instead: tuple[tuple[str, str], ...] = ()
) -> None:
    """Raise if an argument is given that has no meaning on this collection."""
    if given is not None:
        raise TypeMismatch(f"`{verb}` does not take `{parameter}` here: {why}", instead=instead).at_users_line()


def expect_known_arguments(
    verb: str, unknown: Mapping[str, object], known: Iterable[str], meant: Mapping[str, str]
) -> None:
    """Raise if a verb got arguments that it does not have. `meant` has the names of other libraries, and ours."""
    for name in unknown:
        if name not in meant:
            raise unknown_argument(verb, name, known).at_users_line()
        raise TypeMismatch(
            f"`{verb}` has no argument `{name}`",
            instead=((f"{verb}(…, {meant[name]})", "the argument for this"),),
        ).at_users_line()


def expect_kind(
    verb: str,
    stream: AnyBase,
    *kinds: type[Collection],
    signature: str = "",
    instead: tuple[tuple[str, str], ...] = (),
) -> None:
    """Raise unless the stream is one of these collections."""
    if not isinstance(stream.collection, kinds):
        *most, last = (kind.name for kind in kinds)
        names = f"{', '.join(most)} or {last}" if most else last
        raise CollectionError(
            f"`{verb}` requires {names}; {{input}} is a {stream.collection.name}",
            facts=(("{input}", stream.type.described()), (verb, signature or f"takes {names}")),
            instead=fit_advice(instead, stream.type),
            index=0,
        ).at_users_line(stream)


def expect_zset(verb: str, stream: AnyBase) -> None:
    """Raise unless the stream is a z-set."""
    expect_kind(verb, stream, ZSet, instead=(("{input}.to_zset()", "rows that can be retracted"),))


def call_located(make: Callable[..., R], *arguments: Any, about: str | None = None) -> R:
    """Call a function; errors get the user's line, and `about` as the name of the input."""
    try:
        return make(*arguments)
    except FloError as error:
        error.input_name = error.input_name or about
        raise error.at_users_line() from error.__cause__
