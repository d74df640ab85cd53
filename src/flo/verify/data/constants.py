"""Reads from the code of a function or an operator the constants that it mentions, and what its result may depend on
beside its arguments.

Faults often hide behind a number that the code mentions: a buffer that is full at 6 elements, a weight that is capped
at 9. The checks use these constants as elements, as input sizes and as weights.

A clock, a random number, the process, the place where it runs, the order of a set: no input of a check varies these, so
they are caveats of the verdict. Names are resolved as Python does, so `time.gmtime(0)` is not `time.time()`.
"""

from __future__ import annotations

import datetime
import dis
import inspect
import math
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from itertools import islice
from random import Random
from typing import Any

from flo.core.errors import is_users
from flo.core.labels import codes_in
from flo.core.untyped import AnyFunction, Element
from flo.core.used_values import captured_by

WRAPPERS = (staticmethod, classmethod, property, cached_property)
MOST_CONSTANTS = 24
"""How many constants of one function are used as elements."""
MOST_MEMBERS = 8
"""How many members of a container are read."""
DEPTH = 2
"""How deep calls and containers are followed."""


def constants(function: AnyFunction) -> list[Element]:
    """Numbers and strings that the function mentions, and the numbers next to them: where a branch may change."""
    tried: dict[tuple[type, Element], None] = {}
    for value in islice(_mentioned(function, DEPTH), MOST_CONSTANTS):
        tried.update(((type(each), each), None) for each in neighbours(value))
    return [value for _, value in islice(tried, MOST_CONSTANTS)]


def integers(item: object) -> list[int]:
    """All integers that a function mentions, or that a plain value holds."""
    values = [*_mentioned(item, DEPTH), *_members(item, DEPTH)]
    return list(dict.fromkeys(value for value in values if type(value) is int))


LARGEST = 256
"""Inputs of more elements are not made."""
LEAST = 4
"""All smaller inputs are tried anyway."""
LADDER = (32, 128)
"""Sizes that are always tried, whether the code mentions them or not."""
MOST_SIZES = 16
"""How many integers of the code are tried as sizes, with their neighbours and doubles."""


def sizes(mentioned: Iterable[int], ladder: Iterable[int] = LADDER) -> list[int]:
    """Sizes of larger inputs: the integers in the code, those next to them, their doubles, and the ladder."""
    small = sorted({abs(each) for each in mentioned if LEAST - 1 <= abs(each) <= LARGEST})[:MOST_SIZES]
    near = {each + step for each in small for step in (-1, 0, 1)}
    return sorted(size for size in {*near, *(2 * each for each in small), *ladder} if LEAST <= size <= LARGEST)


def neighbours(value: object) -> list[Element]:
    """A number and those next to it, or a string; nothing of other values."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [value, value - 1, value + 1] if math.isfinite(value) else []
    return [value] if isinstance(value, str) else []


def _mentioned(function: Any, depth: int) -> Iterator[Element]:
    """The values in its code, its defaults, its closure and its globals; and in the functions that it calls."""
    if isinstance(function, partial):
        yield from (*function.args, *function.keywords.values())
        function = function.func
    function = function_of(function)
    if function is None:
        return
    yield from (value for value in _literals(function.__code__) if value != function.__doc__)
    used = _used_values(function)
    for value in used:
        yield from _members(value, DEPTH)
    for each in _called(used) if depth else ():
        yield from _mentioned(each, depth - 1)


def _members(value: object, depth: int) -> Iterator[Element]:
    """A value; and the values in a container, an enumeration or a dataclass."""
    inside: Any = ()
    if isinstance(value, Enum):
        inside = (value.value,)
    elif isinstance(value, type) and issubclass(value, Enum):
        inside = (member.value for member in value)
    elif isinstance(value, Mapping):
        inside = (each for pair in value.items() for each in pair)
    elif isinstance(value, (tuple, list, set, frozenset)):
        inside = value
    elif is_dataclass(value) and not isinstance(value, type) and not type(value).__module__.startswith("flo."):
        inside = (getattr(value, field.name, None) for field in fields(value))
    yield value
    for each in islice(inside, MOST_MEMBERS) if depth else ():
        yield from _members(each, depth - 1)


def unwrap(item: object) -> Any:
    """The function of a method, a property and the like."""
    if isinstance(item, WRAPPERS):
        wrapped: Any = item
        return getattr(wrapped, "fget", None) or getattr(wrapped, "func", None) or getattr(wrapped, "__func__", None)
    return item


def function_of(item: object) -> Any:
    """The function behind a method, a partial or a decorator; None if there is none, or `@dataclass` wrote it."""
    item = item.func if isinstance(item, partial) else item
    item = unwrap(getattr(item, "__func__", item))
    item = inspect.unwrap(item) if callable(item) else None
    code = getattr(item, "__code__", None)
    return None if code is None or code.co_qualname.startswith("__create_fn__") else item


def inner_values(function: types.FunctionType) -> list[Element]:
    """The values that a function uses beside its arguments: defaults, closure, and the globals that it names."""
    named = [function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__]
    return [*captured_by(function).values(), *named]


def _used_values(function: types.FunctionType) -> list[Element]:
    """Like `inner_values`, with named attributes of modules and classes, and globals of functions inside."""
    names = dict.fromkeys(name for code in codes_in(function.__code__) for name in code.co_names)
    named = [function.__globals__[name] for name in names if name in function.__globals__]
    spaces = [vars(each) for each in named if isinstance(each, (type, types.ModuleType))]
    values = [*inner_values(function), *named, *(space[name] for space in spaces for name in names if name in space)]
    return [value for place, value in enumerate(values) if not any(value is other for other in values[:place])]


def called_functions(function: types.FunctionType) -> list[types.FunctionType]:
    """The user's functions that a function refers to."""
    return _called(_used_values(function))


def _called(values: list[Element]) -> list[types.FunctionType]:
    """The functions among them that the user wrote."""
    return [each for each in values if isinstance(each, types.FunctionType) and is_users(each.__code__.co_filename)]


def _literals(code: types.CodeType) -> Iterator[Element]:
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _literals(value)
        elif isinstance(value, (tuple, frozenset)):
            yield from value
        else:
            yield value


LATER = "which gives another result later"
EACH_PROCESS = "which gives another result in each process"
ANYWHERE = "which depends on where it runs"
OF_TEXT = "which gives another result for the same text in each process"
BY_IDENTITY = "compares with `is`, which may tell equal values apart"

CLOCKS = (
    "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns thread_time "
    "clock_gettime"
)
CALLS: dict[str, dict[str, str]] = {
    "time": dict.fromkeys(CLOCKS.split(), LATER),
    "uuid": {"uuid1": LATER, "uuid4": LATER, "getnode": ANYWHERE},
    "secrets": dict.fromkeys(
        ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice", "SystemRandom"), LATER
    ),
    "posix": {
        **dict.fromkeys(("urandom", "getrandom", "times"), LATER),
        **dict.fromkeys(("getpid", "getppid"), EACH_PROCESS),
        **dict.fromkeys(("getcwd", "listdir", "stat", "uname", "cpu_count", "getloadavg"), ANYWHERE),
    },
    "os": {"getenv": ANYWHERE, "environ": ANYWHERE, "cpu_count": ANYWHERE},
    "_thread": {"get_ident": EACH_PROCESS, "get_native_id": EACH_PROCESS},
    "_socket": {"gethostname": ANYWHERE},
    "platform": dict.fromkeys(("node", "platform", "system", "machine"), ANYWHERE),
    "locale": dict.fromkeys(("getlocale", "localeconv", "currency", "format_string", "str", "strcoll"), ANYWHERE),
    "_locale": dict.fromkeys(("strcoll", "strxfrm", "localeconv"), ANYWHERE),
    "builtins": {"hash": OF_TEXT, "id": EACH_PROCESS, "input": ANYWHERE},
    "io": {"open": ANYWHERE},
    "_io": {"open": ANYWHERE},
}
"""Functions whose result depends on more than their arguments, by the module that they say they are of."""
WITHOUT_A_TIME = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
"""Functions of `time` that take the time of the clock if they get no more than so many arguments."""
OF_DATES = frozenset(("now", "utcnow", "today"))
PUBLIC = {"posix": "os", "_thread": "threading", "_socket": "socket", "_locale": "locale"}
SINGLETONS = (type(None), bool, type(Ellipsis), type(NotImplemented), type, Enum, types.ModuleType)
UNKNOWN = object()


def impure_uses(function: AnyFunction) -> list[str]:
    """What the function does whose result does not follow from its arguments, as the end of a sentence."""
    return list(dict.fromkeys(_uses(function, DEPTH)))


def may_depend_on_process(function: Any, depth: int = DEPTH) -> bool:
    """Whether the code makes sets, whose order depends on the hash seed, or uses `hash`, `id`, `is` or the process."""
    function = function_of(function)
    if function is None:
        return False
    if any(use.endswith((OF_TEXT, EACH_PROCESS)) or use == BY_IDENTITY for use in _CodeReader(function).uses()):
        return True
    codes = list(codes_in(function.__code__))
    adds = any(each.opname in ("BUILD_SET", "SET_ADD") for code in codes for each in dis.get_instructions(code))
    named = any(name in ("set", "frozenset") for code in codes for name in code.co_names)
    return adds or named or (depth > 0 and any(may_depend_on_process(f, depth - 1) for f in called_functions(function)))


def _uses(function: Any, depth: int) -> Iterator[str]:
    function = function_of(function)
    if function is None:
        return
    yield from _CodeReader(function).uses()
    for each in called_functions(function) if depth else ():
        yield from _uses(each, depth - 1)


class _CodeReader:
    """Reads one function: the values that its names stand for, as far as they are known before it is called."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.variables = captured_by(function)

    def uses(self) -> Iterator[str]:
        for code in codes_in(self.function.__code__):
            yield from self._uses_in(list(dis.get_instructions(code)))

    def _uses_in(self, code: list[dis.Instruction]) -> Iterator[str]:
        is_seeded = any(each.argval == "Random" for each in code)  # it makes a generator of its own
        for place, each in enumerate(code):
            if each.opname == "IMPORT_NAME" and code[place + 1].opname.startswith("STORE_FAST"):
                self.variables[code[place + 1].argval] = sys.modules.get(each.argval, UNKNOWN)
            elif each.opname == "IS_OP" and not self._compares_singletons(code[max(0, place - 6) : place]):
                yield BY_IDENTITY
            elif each.opname.startswith("LOAD_") and each.opname not in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_CONST"):
                value, owner, end = self._resolve(code, place)
                if value is not UNKNOWN:
                    yield from self._of_value(value, owner, code, end, is_seeded)

    def _compares_singletons(self, before: list[dis.Instruction]) -> bool:
        """Whether one of the two values that were just loaded is one, or comes from `type(…)`."""
        return any(map(self._is_singleton, before[-2:])) or any(self._named(each) is type for each in before)

    def _is_singleton(self, each: dis.Instruction) -> bool:
        """Whether it loads something that is equal to nothing else, such as None, a class or a marker object."""
        value = each.argval if each.opname == "LOAD_CONST" else self._named(each)
        return value is not UNKNOWN and (isinstance(value, SINGLETONS) or _is_unequal_to_all(type(value)))

    def _named(self, each: dis.Instruction) -> Any:
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            known = self.function.__globals__
            builtin = getattr(sys.modules["builtins"], each.argval, UNKNOWN)
            return known.get(each.argval, builtin)
        return self.variables.get(each.argval, UNKNOWN) if isinstance(each.argval, str) else UNKNOWN

    def _resolve(self, code: list[dis.Instruction], place: int) -> tuple[Any, Any, int]:
        """The value of `name.attribute…`, as far as modules and classes lead; what it is of; and where it ends."""
        value, owner, end = self._named(code[place]), None, place
        while isinstance(value, (type, types.ModuleType)) and end + 1 < len(code):
            if code[end + 1].opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                break
            owner, value, end = value, getattr(value, code[end + 1].argval, UNKNOWN), end + 1
        return value, owner, end

    def _of_value(
        self, value: object, owner: object, code: list[dis.Instruction], end: int, is_seeded: bool
    ) -> Iterator[str]:
        name = getattr(value, "__name__", "")
        module = getattr(value, "__module__", None) or ""
        of = getattr(value, "__self__", None)
        if value is getattr(sys.modules.get("os"), "environ", None):
            yield f"reads os.environ, {ANYWHERE}"
        elif isinstance(of, type) and issubclass(of, datetime.date) and name in OF_DATES:
            yield f"calls {of.__name__}.{name}, {LATER}"
        elif isinstance(of, Random) and callable(value) and not is_seeded:
            yield f"calls random.{name}, {LATER}"
        elif isinstance(value, (types.BuiltinFunctionType, types.FunctionType, type)):
            if name in CALLS.get(module, ()):
                full_name = name if module in ("builtins", "io", "_io") else f"{PUBLIC.get(module, module)}.{name}"
                yield f"calls {full_name}, {CALLS[module][name]}"
            elif module == "time" and name in WITHOUT_A_TIME:
                count = _count_arguments(code, end)
                if count is not None and count <= WITHOUT_A_TIME[name]:
                    yield f"calls time.{name}, {LATER}"


def _is_unequal_to_all(kind: Any) -> bool:
    return kind.__eq__ is object.__eq__


def _count_arguments(code: list[dis.Instruction], loaded: int) -> int | None:
    """The number of arguments with which the value that was just loaded is called; None if that is not known."""
    depth = 0
    for each in code[loaded + 1 :]:
        if each.opname == "PUSH_NULL" and depth == 0:
            continue
        if each.opname in ("CALL", "PRECALL", "CALL_KW"):
            names = each.opname == "CALL_KW"
            if depth == each.arg + names if each.arg is not None else False:
                return each.arg
        depth += dis.stack_effect(each.opcode, each.arg if each.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        if depth < 0:
            return None
    return None
