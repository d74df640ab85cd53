"""What ended a query, as people read it: the error of Python first, and not the Java around it."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from flo.core.errors import EngineError

_TRACEBACK = "Traceback (most recent call last):"
_JAVA = re.compile(r"\s*(at [\w.$/]+\(|\.\.\. \d+ more|Caused by: |Driver stacktrace:)")
SHOWN = 3
"""How many frames of the traceback are shown."""


def without_java(error: Exception) -> Exception:
    """What Python raised in a task, if Spark wraps something like that; its cause is all that Spark says."""
    _, found, text = str(error).rpartition(_TRACEBACK)
    if not isinstance(error, PySparkException) or not found:
        return error
    trace: list[str] = []
    for line in text.splitlines()[1:]:
        if _JAVA.match(line):
            break
        trace.append(line)
    raised = next((place for place, line in enumerate(trace) if line.strip() and not line.startswith(" ")), None)
    if raised is None:
        return error
    frames = [line.strip() for line in trace[:raised] if line.startswith("  File ")]
    said = "\n".join(trace[raised:]).strip()
    python = EngineError("\n  ".join([f"a task raised {said}", *reversed(frames[-SHOWN:])]))
    python.__cause__ = error
    return python
