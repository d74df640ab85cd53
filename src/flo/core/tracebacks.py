"""Tracebacks of Flo's errors, without the frames of Flo: the user's lines, and the message."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import FrameType, TracebackType

PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep
"""The folder of Flo."""
FULL = "FLO_TRACEBACK"
"""The environment variable that, set to `full`, keeps all frames."""
NOTEBOOK = f"{os.sep}IPython{os.sep}"


def is_own(frame: FrameType) -> bool:
    """Return whether a frame is of Flo: in its files, or made by Python for one of its dataclasses."""
    file = frame.f_code.co_filename
    return file.startswith(PACKAGE) or (file == "<string>" and str(frame.f_globals.get("__name__")).startswith("flo."))


def trim_traceback(error: BaseException) -> None:
    """Remove the frames of Flo from the traceback of an error, and from those of its causes."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = _without_own_frames(each.__traceback__)
        each.__suppress_context__ |= type(each.__context__) is type(each)  # the same one, raised again
        waiting += [each.__cause__, each.__context__]


def _without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback without frames of Flo and of IPython; unchanged if there are no others."""
    frames = []
    whole = trace
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_own(trace.tb_frame) and NOTEBOOK not in file:
            frames.append(trace)
        trace = trace.tb_next
    rest: TracebackType | None = None
    for each in reversed(frames):
        rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return rest if frames else whole


def render_traceback(error: BaseException) -> list[str]:
    """Return what a notebook prints of an error."""
    if os.environ.get(FULL) != "full":
        trim_traceback(error)
    return "".join(traceback.format_exception(error)).splitlines()


def shorten_tracebacks() -> None:
    """Print errors of Flo that end a script without the frames of Flo."""
    before = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if hasattr(error, "_render_traceback_") and os.environ.get(FULL) != "full":
            trim_traceback(error)
            trace = error.__traceback__
        before(kind, error, trace)

    sys.excepthook = show
