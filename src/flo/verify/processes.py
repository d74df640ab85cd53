"""Runs functions and programs in other processes, with other hash seeds: there `hash` of a text and the order of a set
are others, and so are `id` and `os.getpid`.

Functions are sent by value, with what they capture, as those of `__main__` cannot be imported elsewhere.
"""

from __future__ import annotations

import importlib
import io
import marshal
import os
import pickle
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from flo.core.errors import is_users
from flo.core.graph import Graph
from flo.core.operator import Values
from flo.core.stream_type import StreamTypes
from flo.verify.exploration.arrivals import Channels
from flo.verify.exploration.moves import Run

SEEDS = (1, 2)
SECONDS = 60
"""How long a process may take."""
SERVE = "from flo.verify.processes import serve; serve()"


class Raised(str):
    """The name of an error, which is a result like any other. Its message may have the address of an object."""

    __slots__ = ()


def run_in_processes(call: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[list[Any]] | None:
    """The results of the calls, for each hash seed; None if the function or its arguments cannot be sent."""
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
                env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": path},
            )
            for seed in SEEDS
        ]
        answers = [process.communicate(sent.getvalue(), timeout=SECONDS)[0] for process in begun]
        return [pickle.loads(answer) for answer in answers]
    except Exception:  # it cannot be sent, or the other process cannot import what it needs
        return None


def serve() -> None:
    """In the other process: calls a function, and writes its results."""
    output, sys.stdout = sys.stdout, sys.stderr  # what the function prints is not an answer
    call, arguments = pickle.loads(sys.stdin.buffer.read())
    results = io.BytesIO()
    _Sender(results).dump([_result(call, each) for each in arguments])
    output.buffer.write(results.getvalue())


def _result(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        return call(*arguments)
    except Exception as error:
        return Raised(type(error).__name__)


def run_program(graph: Graph, output_types: StreamTypes, names: tuple[str, ...], channels: Channels) -> Values:
    """The outputs of a program that gets all data at once."""
    run = Run(graph, output_types, channels, names)
    while places := run.waiting():
        run.arrive(None, places[0])
    run.advance()
    return run.outputs


class _Sender(pickle.Pickler):
    """A pickler that sends the user's functions by value."""

    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, types.ModuleType):
            return importlib.import_module, (item.__name__,)
        if isinstance(item, types.FunctionType) and is_users(item.__code__.co_filename):
            known = {name: item.__globals__[name] for name in _names(item.__code__) if name in item.__globals__}
            cells = tuple(cell.cell_contents for cell in item.__closure__ or ())
            rest = (known, item.__defaults__, item.__kwdefaults__, cells)
            return _make_function, (marshal.dumps(item.__code__), item.__name__, *rest)
        return NotImplemented


def _names(code: types.CodeType) -> set[str]:
    inner = (_names(value) for value in code.co_consts if isinstance(value, types.CodeType))
    return set(code.co_names).union(*inner)


def _make_function(
    code: bytes, name: str, known: dict[str, Any], defaults: Any, kwdefaults: Any, cells: tuple[Any, ...]
) -> types.FunctionType:
    closure = tuple(map(types.CellType, cells)) or None
    made = types.FunctionType(marshal.loads(code), {"__builtins__": __builtins__, **known}, name, defaults, closure)
    made.__kwdefaults__ = kwdefaults
    return made
