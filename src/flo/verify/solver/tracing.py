"""Traces functions that run on symbols: decides what they may read and call, and observes what they do.

Constants, pure functions and a few built-ins are allowed. Anything else is refused, and the law is not proved.
"""

from __future__ import annotations

import collections
import dataclasses
import dis
import functools
import gc
import inspect
import math
import operator
import re
import sys
import types
import typing
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

from flo.verify.data.constants import unwrap
from flo.verify.solver.symbolic import Path, Symbol

_OPERATORS = (
    "add sub mul truediv floordiv mod neg pos abs pow and_ or_ xor eq ne lt le gt ge not_ truth contains getitem"
)
_FUNCTIONS = [max, min, abs, sum, any, all, len, pow, callable, functools.reduce, tuple.__new__]
_FUNCTIONS += [getattr(operator, name) for name in _OPERATORS.split()]
_CLASSES = [bool, int, float, str, tuple, list, frozenset, zip, map, enumerate, range, reversed, Fraction]
_CLASSES += [operator.itemgetter, object, type(None), Any]
_PLAIN = (int, bool, float, str, bytes, Fraction, type(None), type(...), type(NotImplemented))
_DESCRIPTORS: tuple[Any, ...] = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.DynamicClassAttribute,
    type(vars(collections.namedtuple("_Pair", "one other"))["one"]),
)
_STANDARD = ("builtins", "abc", "enum", "typing")


class HarmlessValues:
    """The values that were found harmless on one path: constants and pure functions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fine: dict[int, Any] = {}

    def check(self, value: object, called: str) -> None:
        """Refuse a value that a function reads or calls, unless it is a constant or known to be harmless."""
        kind = type(value)
        if kind in _PLAIN or isinstance(value, Symbol) or id(value) in self.fine:
            return
        self.fine[id(value)] = value  # kept, so that no other gets its place
        for part in self._parts(value, kind, called):
            self.check(part, called)

    def _parts(self, value: Any, kind: type, called: str) -> list[Any]:
        """The parts that must be harmless for the value to be so."""
        if isinstance(value, BuiltinFunctionType) or kind is types.MethodWrapperType:
            if value not in _FUNCTIONS and getattr(value, "__self__", None) is not math:
                self.path.refuse(f"it calls {_named(value)}, which cannot be traced")
            if getattr(value, "__name__", "") in ("sum", "sumprod") and self.path.question.floats:
                self.path.refuse("a sum of floats cannot be traced: newer versions of Python round it differently")
            return []
        if isinstance(value, type):
            return self._class_parts(value)
        if isinstance(value, Enum):
            return [kind]
        if kind in (tuple, frozenset):
            return list(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return [kind, *value]
        if kind is FunctionType:
            return list(vars(value).values())
        if kind is MethodType:
            return [value.__self__, value.__func__]
        if kind is functools.partial:
            return [value.func, *value.args, *value.keywords.values()]
        if dataclasses.is_dataclass(value):
            return [kind, *self._fields(value)]
        if typing.get_origin(value) is None and kind not in (operator.itemgetter, TypeVar):
            self.path.refuse(f"`{called}`, a {kind.__name__}, may change or cannot be traced")
        return []

    def _fields(self, value: Any) -> list[Any]:
        if not value.__dataclass_params__.frozen or isinstance(value, (list, dict, set, bytearray)):
            self.path.refuse(f"a {type(value).__name__} is mutable: it is not a frozen dataclass")
        names = [field.name for field in dataclasses.fields(value)]
        return [*(getattr(value, name, None) for name in names), *getattr(value, "__dict__", {}).values()]

    def _class_parts(self, kind: type) -> list[Any]:
        """The parts of a class that its objects can read. Methods are checked when they are called."""
        if kind in _CLASSES:
            return []
        if not issubclass(kind, (Enum, BaseException)) and not _has_fields(kind):
            self.path.refuse(f"it uses {_named(kind)}, which cannot be traced")
        parts = []
        for field in getattr(kind, "__dataclass_fields__", {}).values():
            parts += [each for each in (field.default, field.default_factory) if each is not dataclasses.MISSING]
        for each in kind.__mro__:
            if each.__module__ not in _STANDARD:
                parts += [item for name, item in vars(each).items() if not _internal(name)]
        return [part for part in map(unwrap, parts) if not isinstance(part, _DESCRIPTORS)]


def _has_fields(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _internal(name: str) -> bool:
    """Names that Python itself puts into classes; traced functions do not read those with two underscores."""
    return name.startswith("__") or (name[0] == name[-1] == "_") or name in ("_abc_impl", "_field_defaults")


def _named(value: Any) -> str:
    return f"{value.__module__ or 'builtins'}.{value.__qualname__}".removeprefix("builtins.")


R = TypeVar("R")

_OURS = re.compile(r"flo\.verify\.(solver\.(symbolic\w*|tracing)|optional|time_limit)|z3(\..*)?")
"""Modules that do not call the user's functions: they are not observed."""
_KNOWN = re.compile(
    r"flo\.verify\.(solver\.prove|functions\.equations|equality)|fractions|enum|dataclasses|abc|numbers"
)
"""Modules that may call the user's functions, and are otherwise known to be harmless."""
_CACHED_PROPERTY: Any = functools.cached_property.__get__

_INSTRUCTIONS = re.compile(
    r"LOAD_(CONST|CONST_IMMORTAL|SMALL_INT|COMMON_CONSTANT|ASSERTION_ERROR|FAST\w*|DEREF|CLOSURE|GLOBAL|ATTR|METHOD)"
    r"|STORE_(FAST\w*|DEREF)|DELETE_FAST|MAKE_(FUNCTION|CELL)|SET_FUNCTION_ATTRIBUTE|COPY_FREE_VARS"
    r"|BINARY_(OP|SUBSCR|SLICE)|UNARY_(NEGATIVE|POSITIVE|NOT|INVERT)|COMPARE_OP|CONTAINS_OP|IS_OP|TO_BOOL"
    r"|BUILD_(TUPLE|LIST|SET|SLICE|STRING)|LIST_(EXTEND|APPEND|TO_TUPLE)|UNPACK_(SEQUENCE|EX)"
    r"|PRECALL|CALL|CALL_KW|CALL_FUNCTION_EX|KW_NAMES|PUSH_NULL|CALL_INTRINSIC_1"
    r"|(POP_)?JUMP_\w+|NOT_TAKEN|GET_ITER|FOR_ITER|END_FOR|POP_ITER|RETURN_\w+|YIELD_VALUE|RAISE_VARARGS|RERAISE"
    r"|FORMAT_\w+|CONVERT_VALUE|NOP|CACHE|RESUME|POP_TOP|SWAP|COPY|EXTENDED_ARG"
)
_INTRINSICS = ("INTRINSIC_STOPITERATION_ERROR", "INTRINSIC_UNARY_POSITIVE", "INTRINSIC_LIST_TO_TUPLE")
_WHY = {
    "STORE_GLOBAL": "changes a global",
    "STORE_ATTR": "changes an attribute",
    "STORE_SUBSCR": "changes a part of an object",
    "IMPORT_NAME": "imports",
    "PUSH_EXC_INFO": "handles exceptions",
    "BEFORE_WITH": "uses `with`",
}


def trace(path: Path, run: Callable[[], R]) -> R:
    """Run a function on symbols; raises `Untraceable` if it does something that symbols do not record."""
    observer = _Observer(path)
    before, collecting = sys.getprofile(), gc.isenabled()
    gc.disable()  # it would call unrelated functions
    try:
        sys.setprofile(observer)
        result = run()
    finally:
        sys.setprofile(before)
        if collecting:
            gc.enable()
    if path.refusal is not None:
        raise path.refusal
    return result


class _Observer:
    """The profile function: it is called for every call of a Python or built-in function."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inside: FrameType | None = None
        self.seen: set[CodeType] = set()
        self.harmless = HarmlessValues(path)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if self.inside is not None:
            if event == "return" and frame is self.inside:
                self.inside = None
            return
        code, module = frame.f_code, str(frame.f_globals.get("__name__"))
        known = _KNOWN.fullmatch(module) is not None or code is _CACHED_PROPERTY.__code__
        ours = _OURS.fullmatch(module) is not None
        if event == "c_call" and not (known or ours):
            self.harmless.check(argument, getattr(argument, "__name__", ""))
        if event != "call":
            return
        if ours:
            self.inside = frame
            return
        if known or _generated(code, frame.f_locals):
            if module == "flo.verify.functions.equations":
                self.variables(frame, code.co_freevars)
            return
        if code not in self.seen:
            self.seen.add(code)
            self.instructions(frame, code)
            self.variables(frame, code.co_freevars)
        if code.co_varnames[:1] != (".0",):  # of a comprehension: an iterator that was made for it
            self.variables(frame, code.co_varnames[: _arguments(code)])

    def variables(self, frame: FrameType, names: tuple[str, ...]) -> None:
        for name in names:
            if name in frame.f_locals:
                self.harmless.check(frame.f_locals[name], name)

    def instructions(self, frame: FrameType, code: CodeType) -> None:
        """Refuse functions that do more than compute a value from their arguments."""
        name_of_code = code.co_qualname
        odd = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
        if code.co_flags & odd and code.co_name != "<genexpr>":
            self.path.refuse(f"{name_of_code} is a generator")
        every = [each for each in dis.get_instructions(code) if each.opname != "EXTENDED_ARG"]
        for place, each in enumerate(every):
            name = each.opname
            if not _INSTRUCTIONS.fullmatch(name) or (name == "CALL_INTRINSIC_1" and each.argrepr not in _INTRINSICS):
                self.path.refuse(f"{name_of_code} {_WHY.get(name, f'uses {name}')}, which cannot be traced")
            if name == "STORE_DEREF" and each.argval in code.co_freevars:
                self.path.refuse(f"{name_of_code} changes `{each.argval}`, a variable of an outer function")
            if name in ("LOAD_ATTR", "LOAD_METHOD") and str(each.argval).startswith("__"):
                self.path.refuse(f"{name_of_code} reads {each.argval}, which cannot be traced")
            if name == "IS_OP" and (each.is_jump_target or not _is_singleton(frame, every[:place])):
                self.path.refuse(f"{name_of_code} uses `is`, which can only be traced with None and members of enums")
            if name == "LOAD_GLOBAL":
                self.harmless.check(*_find_loaded(frame, each, every[place + 1 :]))


def _arguments(code: CodeType) -> int:
    extra = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + extra


def _generated(code: CodeType, local: dict[str, Any]) -> bool:
    """Whether `@dataclass` or `NamedTuple` wrote the function."""
    if code.co_filename not in ("<string>", "<dataclass>"):
        return False
    if code.co_name in ("__init__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__"):
        return code.co_qualname.startswith("__create_fn__") and dataclasses.is_dataclass(local.get("self"))
    return code.co_varnames[:1] == ("_cls",) and hasattr(local["_cls"], "_fields")


def _find_loaded(frame: FrameType, loading: dis.Instruction, following: list[dis.Instruction]) -> tuple[Any, str]:
    """The value that an instruction loads, or the attribute that the next one reads of a module; and its name."""
    name = loading.argval
    value = frame.f_globals.get(name, frame.f_builtins.get(name))
    if isinstance(value, ModuleType) and following and following[0].opname in ("LOAD_ATTR", "LOAD_METHOD"):
        attribute = following[0].argval
        return getattr(value, attribute, None), f"{name}.{attribute}"
    return value, name


def _is_singleton(frame: FrameType, before: list[dis.Instruction]) -> bool:
    """Whether None or a member of an enum was loaded last: no symbol stands for these."""
    last = before[-1]
    if last.opname == "LOAD_ATTR" and not last.is_jump_target and before[-2].opname == "LOAD_GLOBAL":
        kind, _ = _find_loaded(frame, before[-2], [])
        return isinstance(kind, type) and issubclass(kind, Enum)
    if last.opname == "LOAD_CONST":
        return last.argval is None
    return last.opname == "LOAD_GLOBAL" and isinstance(_find_loaded(frame, last, [])[0], Enum)


def is_deliberate(error: BaseException) -> bool:
    """Whether a function raised it by `raise`: what Python itself raises may be about the symbols, not the values."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_globals.get("__name__") == "fractions":
        return False
    instructions = [each for each in dis.get_instructions(trace.tb_frame.f_code) if each.offset == trace.tb_lasti]
    return [each.opname for each in instructions] == ["RAISE_VARARGS"]
