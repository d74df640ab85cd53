"""Runs functions and programs in other processes, with other hash seeds: there `hash` of a text and the order of a set
are others, and so are `id` and `os.getpid`.

Functions are sent by value, with what they capture, and classes of `__main__` by their source, as both cannot be
imported elsewhere. `Trials` finds results that depend on more than the input: on calls before, through captured
objects, or on the process.
"""

from __future__ import annotations
import __future__

import importlib
import inspect
import io
import marshal
import os
import pickle
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flo.core.errors import is_users
from flo.core.graph import Graph
from flo.core.labels import codes_in
from flo.core.operator import Values
from flo.core.stream_type import StreamTypes
from flo.core.untyped import AnyFunction
from flo.verify import laws
from flo.verify.captured import Captured
from flo.verify.equality import are_equal
from flo.verify.exploration.arrivals import Channels
from flo.verify.exploration.moves import GraphRun
from flo.verify.laws import Law
from flo.verify.report import Counterexample

SEEDS = (1, 2, 3, 4)
SECONDS = 60
"""How long a process may take."""
IN_ANOTHER = "FLO_IN_ANOTHER_PROCESS"
ANNOTATIONS = __future__.annotations
SERVE = "from flo.verify.processes import serve; serve()"


NOT_RUN = "a function was not run in processes with other hash seeds, as it cannot be sent to them"


class NotSent(Exception):
    """A function or its arguments cannot be sent to another process, or have not come back."""


class RaisedName(str):
    """The name of an error, which is a result like any other. Its message may have the address of an object."""

    __slots__ = ()


def run_in_processes(call: AnyFunction, arguments: Sequence[tuple[object, ...]]) -> list[list[Any]]:
    """The results of the calls, for each hash seed."""
    if IN_ANOTHER in os.environ:  # a module that was imported for a function checks something itself
        raise NotSent(NOT_RUN)
    try:
        sent = io.BytesIO()
        _Sender(sent).dump((call, list(arguments)))
        path = os.pathsep.join(filter(None, sys.path))
        begun = [
            subprocess.Popen(
                [sys.executable, "-c", SERVE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": path, IN_ANOTHER: "1"},
            )
            for seed in SEEDS
        ]
        answers = [process.communicate(sent.getvalue(), timeout=SECONDS)[0] for process in begun]
        return [pickle.loads(answer) for answer in answers]
    except Exception as error:  # of any kind: pickle and the user's modules raise what they like
        raise NotSent(NOT_RUN) from error


def serve() -> None:
    """In the other process: calls a function, and writes its results."""
    output, sys.stdout = sys.stdout, sys.stderr  # what the function prints is not an answer
    call, arguments = pickle.loads(sys.stdin.buffer.read())
    output.buffer.write(pickle.dumps([_result(call, each) for each in arguments]))


def _result(call: AnyFunction, arguments: tuple[object, ...]) -> Any:
    try:
        return call(*arguments)
    except Exception as error:
        return RaisedName(type(error).__name__)


def run_program(graph: Graph, output_types: StreamTypes, names: tuple[str, ...], channels: Channels) -> Values:
    """The outputs of a program that gets all data at once."""
    run = GraphRun(graph, output_types, channels, names)
    while places := run.waiting():
        run.arrive(None, places[0])
    run.advance()
    return run.outputs


class _Sender(pickle.Pickler):
    """A pickler that sends the user's functions, and the classes of `__main__`, by value.

    Each is made first and gets the globals that it uses afterwards: these may refer to it.
    """

    def reducer_override(self, item: object) -> Any:
        if isinstance(item, types.ModuleType):
            return importlib.import_module, (item.__name__,)
        is_of_main = getattr(item, "__module__", None) == "__main__"
        if isinstance(item, types.FunctionType) and (is_of_main or is_users(item.__code__.co_filename)):
            code = item.__code__
            cells = tuple(cell.cell_contents for cell in item.__closure__ or ())
            state = (_used(_names(code), item.__globals__), item.__defaults__, item.__kwdefaults__, cells)
            return _make_function, (marshal.dumps(code), item.__name__), state, None, None, _fill_function
        if isinstance(item, type) and is_of_main and "." not in item.__qualname__:
            space = vars(sys.modules["__main__"])
            source = textwrap.dedent(inspect.getsource(item))
            flags = ANNOTATIONS.compiler_flag if space.get("annotations") is ANNOTATIONS else 0
            code = compile(source, "<class>", "exec", flags, dont_inherit=True)
            body = {name for each in (code, *_inner(code)) for name in each.co_names}  # as decorators and defaults
            later = _names(compile(source, "<class>", "exec", 0, dont_inherit=True)) - body
            arguments = (marshal.dumps(code), item.__name__, _used(body - {item.__name__}, space))
            return _make_class, arguments, _used(later, space), None, None, _fill_class
        return NotImplemented


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    return (value for value in code.co_consts if isinstance(value, types.CodeType))


def _names(code: types.CodeType) -> set[str]:
    return {name for each in codes_in(code) for name in each.co_names}


def _used(names: Iterable[str], space: dict[str, Any]) -> dict[str, Any]:
    return {name: space[name] for name in names if name in space}


def _make_function(code: bytes, name: str) -> types.FunctionType:
    loaded = marshal.loads(code)
    cells = tuple(types.CellType() for _ in loaded.co_freevars)
    return types.FunctionType(loaded, {"__builtins__": __builtins__}, name, None, cells)


def _fill_function(function: types.FunctionType, state: tuple[dict[str, Any], Any, Any, tuple[Any, ...]]) -> None:
    known, function.__defaults__, function.__kwdefaults__, contents = state
    function.__globals__.update(known)
    for cell, content in zip(function.__closure__ or (), contents, strict=True):
        cell.cell_contents = content


def _make_class(code: bytes, name: str, known: dict[str, Any]) -> type:
    """Define a class in this process's `__main__`, so that its instances can be sent back."""
    space = vars(sys.modules["__main__"])
    space.update(known)
    exec(marshal.loads(code), space)
    defined: type = space[name]
    return defined


def _fill_class(defined: type, known: dict[str, Any]) -> None:
    vars(sys.modules["__main__"]).update(known)


MOST_TRIALS = 12
"""How many calls are tried before and after each other."""
NO_CAPTURED_STATE = "keep state in a fold, a scan or the fields of an operator, not in what a function captures"
NO_PROCESS = "use nothing that differs between processes: sort a set before going through it; hashlib instead of hash"


@dataclass(frozen=True)
class Trial:
    """A call, or a run of a program on an input."""

    text: str
    arguments: tuple[Any, ...]
    paste: str
    """A line that repeats it."""


@dataclass(frozen=True)
class Trials:
    """Trials of one function or program; `call` takes the arguments of each."""

    about: str
    call: AnyFunction
    trials: Sequence[Trial]
    show: Callable[[Any], str]
    law: Law = laws.A_FUNCTION
    prepare: Callable[[Any], Any] = lambda argument: argument
    """Copies an argument that the call may change."""

    def check_history(self, captured: Captured) -> Counterexample | None:
        """Find a trial with another result after another trial, from the same captured state."""
        after_check = captured.as_they_are()
        try:
            for trial in self.trials:
                for others in [*([each] for each in self.trials), list(self.trials)]:
                    captured.restore()
                    first = self._result(trial)
                    changed: dict[str, None] = dict.fromkeys(captured.changed())
                    for other in others:
                        self._result(other)
                    changed |= dict.fromkeys(captured.changed())
                    again = self._result(trial)
                    if changed and not are_equal(first, again):
                        return self._report_history(trial, others, list(changed), (first, again))
        finally:
            after_check.restore()
        return None

    def _result(self, trial: Trial) -> Any:
        try:
            return self.call(*map(self.prepare, trial.arguments))
        except Exception as error:
            return RaisedName(type(error).__name__)

    def _show(self, result: object) -> str:
        return f"raises {result}" if isinstance(result, RaisedName) else self.show(result)

    def _report_history(
        self, trial: Trial, others: list[Trial], changed: list[str], results: tuple[object, object]
    ) -> Counterexample:
        names = ", ".join(f"`{name}`" for name in changed)
        between = [other.text for other in others]
        columns = ((trial.text,), (trial.text, *between, trial.text))
        paste = "; ".join([trial.paste, *(other.paste for other in others), trial.paste])
        return Counterexample(
            self.law,
            f"{self.about}: {names}, which it captures, has changed in between",
            columns,
            (self._show(results[0]), self._show(results[1])),
            paste,
            NO_CAPTURED_STATE,
        )

    def check_processes(self) -> Counterexample | None:
        """Find a trial with another result in a process with another hash seed; raise NotSent if none has run."""
        answers = run_in_processes(self.call, [trial.arguments for trial in self.trials])
        for place, trial in enumerate(self.trials):
            results = [answer[place] for answer in answers]
            for seed, result in zip(SEEDS[1:], results[1:], strict=True):
                if not are_equal(results[0], result):
                    columns = tuple((f"PYTHONHASHSEED={each}", trial.text) for each in (SEEDS[0], seed))
                    texts = (self._show(results[0]), self._show(result))
                    about = f"{self.about}: in two processes"
                    again = f"PYTHONHASHSEED={SEEDS[0]} and {seed}: {trial.paste}"
                    return Counterexample(self.law, about, columns, texts, again, NO_PROCESS)
        return None
