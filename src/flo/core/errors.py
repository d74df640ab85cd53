"""Errors: what failed, the user's line, the facts (expected, got), and what to write instead."""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
import sysconfig
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from flo.core.display import Displayed
from flo.core.secrets import hide_passwords
from flo.core.tracebacks import PACKAGE, is_own, render_traceback

_FOR_TOOLS = re.compile(r"\s+# (type|pyright|noqa|mypy|fmt)\b.*$")
_INSTALLED = tuple(
    sysconfig.get_path(name) + os.sep
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if sysconfig.get_path(name)
)


def is_users(file: str | None) -> bool:
    """Return whether the file is part of the user's program, not of Python, Flo or an installed library."""
    return bool(file) and os.path.isabs(str(file)) and not str(file).startswith((PACKAGE, *_INSTALLED))


def is_of_python(file: str) -> bool:
    """Return whether the file is part of Python itself, not of a library that is installed in it."""
    within = [path for path in _INSTALLED[:2] if file.startswith(path)]
    return file.startswith("<frozen ") or (bool(within) and not re.search(r"[/\\](site|dist)-packages[/\\]", file))


@dataclass(frozen=True, slots=True)
class Origin:
    """A line of the user's program."""

    file: str
    line: int
    last_column: int | None = None
    """The column where the call on that line ends."""
    verb: str = ""
    """The method that the user called there, if its name differs from the operator's."""
    last_line: int | None = None
    """The line where that call ends."""

    @classmethod
    def here(cls) -> Origin | None:
        """Return the innermost frame outside Flo."""
        frame = sys._getframe(1)
        while is_own(frame):
            if frame.f_back is None:
                return None
            frame = frame.f_back
        positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
        return cls(frame.f_code.co_filename, frame.f_lineno, positions[3], last_line=positions[1])

    @classmethod
    def innermost(cls, trace: TracebackType | None) -> Origin | None:
        """Return the last line of a traceback that is in the user's program, not in a library it calls."""
        origin: Origin | None = None
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if is_users(file):
                origin = cls(file, trace.tb_lineno)
            trace = trace.tb_next
        return origin

    @property
    def text(self) -> str:
        line = linecache.getline(self.file, self.line).strip()
        return _FOR_TOOLS.sub("", line)

    @property
    def assigned_name(self) -> str | None:
        """The variable that the line assigns the call to; None if the call is only part of the assigned expression."""
        line = linecache.getline(self.file, self.line)
        try:
            statement = ast.parse(line.strip()).body[0]
        except (SyntaxError, IndexError):
            return None
        match statement:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Call() as value):
                end = (value.end_col_offset or 0) + len(line) - len(line.lstrip())
                return name if end == self.last_column else None
        return None

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


def brief(item: object, most: int = 80) -> str:
    """Return `repr(item)`, truncated to `most` characters. Never raises."""
    try:
        text = repr(item)
    except Exception:  # a huge int, or a class whose repr raises
        text = f"<{type(item).__name__}>"
    return shorten(hide_passwords(text), most)


def shorten(text: str, most: int = 80) -> str:
    """Return a text, or its beginning if it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


GIVEN = "given   "
"""How a note begins that says what a user's function was given."""


def note_given(error: Exception, given: str) -> None:
    """Attach to an error of a user's function what it was given."""
    error.add_note(f"{GIVEN}{given[:120]}")


class NamedStream(Protocol):
    """A stream of the user's program, as errors name it."""

    origin: Origin | None

    @property
    def described_name(self) -> str: ...


class Pickled:
    """An exception that can be pickled and copied, whatever arguments its class takes: by its fields."""

    args: tuple[Any, ...]

    def __reduce__(self) -> Any:
        return _error_of, (type(self), self.args, vars(self))


def _error_of(kind: Any, args: tuple[object, ...], fields: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    vars(error).update(fields)
    return error


class FloError(Displayed, Pickled, Exception):
    """Base class of Flo's errors, and the class of those that have none of their own.

    Fix: read the lines below the message; `instead` has what to write.
    """

    # `summary` and `facts` may contain `{input}`: the name of the stream at fault, which the caller fills in

    def __init__(
        self,
        summary: str,
        *,
        facts: tuple[tuple[str, str], ...] = (),
        instead: tuple[tuple[str, str], ...] = (),
        index: int | None = None,
        where: Origin | None = None,
    ) -> None:
        super().__init__(summary)
        self.summary = summary
        self.facts = facts
        self.instead = instead
        self.index = index  # which input of the operator is at fault
        self.where = where
        self.input_name: str | None = None

    def rename_operator(self, operator: str, verb: str) -> None:
        """Replace the operator's name by the verb that the user wrote."""
        self.summary = self.summary.replace(f"`{operator}`", f"`{verb}`")
        self.facts = tuple((verb if label == operator else label, text) for label, text in self.facts)

    def located(self, where: Origin | None) -> Self:
        """Set the user's line, unless the error already has one."""
        self.where = self.where or where
        return self

    def at_users_line(self, stream: NamedStream | None = None) -> Self:
        """Set the line where the user calls Flo now, and the stream at fault, unless the error already has them."""
        return self.name_input(stream).located(Origin.here())

    def name_input(self, stream: NamedStream | None) -> Self:
        """Set the name of the stream at fault, with the line that declares it, unless the error already has one."""
        if stream is not None and self.input_name is None:
            self.input_name = stream.described_name
            if stream.origin is not None:
                self.facts = tuple(
                    (label, f"{text}   ({stream.origin})" if label == "{input}" else text) for label, text in self.facts
                )
        return self

    def _render_traceback_(self) -> list[str]:
        """Return what IPython prints."""
        return render_traceback(self)

    def __str__(self) -> str:
        name = self.input_name or ("its input" if self.index is None else f"input {self.index + 1}")
        lines = [self.summary.replace("{input}", name)]
        rows: list[tuple[str, str]] = []
        if self.where is not None:
            rows.append((str(self.where), self.where.text))
        plain = name.strip("`") if name.startswith("`") else name
        rows += [(label.replace("{input}", plain), text) for label, text in self.facts]
        width = max((len(label) for label, _ in rows), default=0)
        width = max(width, len("instead") if self.instead else 0)
        lines += [f"  {label:<{width}}   {text}".rstrip() for label, text in rows]
        if self.instead:
            bare = plain if plain.isidentifier() else "stream"
            column = max(len(code.replace("{input}", bare)) for code, _ in self.instead)
            for number, (code, why) in enumerate(self.instead):
                label = "instead" if number == 0 else ""
                code = code.replace("{input}", bare)
                lines.append(f"  {label:<{width}}   {code:<{column}}   {why}".rstrip())
        return hide_passwords("\n".join(lines))


class TypeMismatch(FloError):
    """A graph or operator is not well typed.

    Fix: a verb got arguments or streams of the types that it asks for: the message has the expected and the given
    type.
    """


class BoundednessError(TypeMismatch):
    """An operator would wait for the end of a stream that may never end.

    Fix: cut the stream into pieces that end (`batch`, `tumbling`), ask for a running result (`scan`, `group_by`),
    read a growing value through a threshold, or declare the input with `bounded=True` if it does end.
    """


class CollectionError(TypeMismatch):
    """An operator got a collection that it does not support.

    Fix: convert the stream first (`to_zset`, `to_bag`, `to_set`, `sort`), or use the verb that the message names.
    """


class OrderError(CollectionError):
    """An operator needs an ordered collection and got an unordered one.

    Fix: sort a bounded stream (`sort`), give each key an order (`key_by`, `per_key`), or use a verb that needs
    none.
    """


class DeferError(TypeMismatch):
    """A defer key is written twice, never written, or read and written with different types.

    Fix: write each key that is read exactly once in the body, with the type that is read.
    """

    key: str | None = None

    def about(self, key: str) -> Self:
        self.key = key
        return self


class ThresholdError(TypeMismatch):
    """Two thresholds could both be passed, so the observed one would depend on timing.

    Fix: use one `threshold` for each of them.
    """


class LawError(FloError):
    """A function or an operator breaks a law it must satisfy.

    Fix: the message has values that show it. Use a function that keeps the law, or a verb that does not need it; a
    claim such as `commutative="why"` is believed at run time and tried by `flo.verify.check`.
    """


class ScopeError(FloError):
    """A stream is used outside the flow or the `nest` body it belongs to.

    Fix: pass the stream to the body as an argument of `nest`, return it as a result, or build both streams in one
    flow.
    """


class NameTakenError(FloError):
    """A name is used twice.

    Fix: choose another name.
    """


class UnusedInputError(FloError):
    """An input is declared and nothing reads it.

    Fix: make it an output, use it, or remove it.
    """


class UnknownNameError(FloError, KeyError):
    """The flow has no input, output or function of that name.

    Fix: the message lists the names that there are.
    """


class UnknownVerbError(FloError, AttributeError):
    """A stream has no verb of that name.

    Fix: the message names the verb of Flo that does the same.
    """


class HasVerbs:
    """The base of classes that raise for a verb that they do not have, with what to write instead."""

    def _unknown(self, verb: str) -> UnknownVerbError:
        raise NotImplementedError

    if not TYPE_CHECKING:  # type checkers know which verbs there are

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            if hasattr(type(self), name):  # a property that has raised: raise its own error
                return object.__getattribute__(self, name)
            raise self._unknown(name).at_users_line()


class HasMethods(HasVerbs):
    """The base of flows, loops, queries and results: an unknown method is answered with the one that is closest."""

    _called: ClassVar[str]
    """What users call it."""

    def _unknown(self, verb: str) -> UnknownVerbError:
        names = [each for each in dir(type(self)) if not each.startswith("_")]
        close = get_close_matches(verb, names, n=1, cutoff=0.6)
        return UnknownVerbError(
            f"{self._called} has no `{verb}`",
            facts=() if close else (("has", ", ".join(names)),),
            instead=tuple((f".{each}", "the closest name") for each in close),
        )


class ElementError(FloError):
    """An element does not belong to its stream's declared type.

    Fix: correct the data or the declared type; `X | None` allows nulls. On tables and Spark, `on_error="divert"`
    keeps such rows apart and goes on.
    """

    position: int = 0

    def inside(self, place: str) -> Self:
        """Say that the error is about an inner stream."""
        self.summary = f"{place} of {{input}}: {self.summary.replace('{input}', 'it')}"
        self.facts = tuple((label.replace("{input}", "it"), text) for label, text in self.facts)
        return self


class FunctionError(FloError):
    """A function of the user raised while an operator was running it.

    Fix: the message has your line and the element. Correct the function or the data; on tables and Spark,
    `on_error="divert"` keeps such rows apart.
    """


class FixpointError(FloError):
    """A recursion had not reached its fixpoint after the rounds that it may take.

    Fix: the message has rows that still change. Bound what grows (a length, a cost, a depth) with a `filter` in the
    body, drop what makes rows alternate, or allow more rounds with `most_rounds`. The push has changed nothing.
    """


class EngineError(Exception):
    """A bug in Flo, not in the user's program. Handlers for errors of the program let it through."""


class NotationError(FloError):
    """The text is not a graph in the paper's notation.

    Fix: write it as `str(flow.graph())` does.
    """


class UnreachableError(FloError):
    """A service cannot be reached: a database, a schema registry.

    Fix: start the service, or correct its address. With `start(…, retry=300)` a query waits for a sink that is down.
    """


class CheckpointError(FloError):
    """The bytes are not a state of this program.

    Fix: start the program that wrote the state, or start with an empty checkpoint. For a damaged file, `flo state
    verify` says what is missing; the page "Operations" has the steps.
    """
