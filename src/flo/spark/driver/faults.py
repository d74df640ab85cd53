"""What ended a query, as people read it: the error of Python first, and not the Java around it."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from flo.core.errors import ElementError, EngineError, FloError
from flo.tables.io.diverted import INSTEAD

_TRACEBACK = "Traceback (most recent call last):"
_JAVA = re.compile(r"\s*(at [\w.$/]+\(|\.\.\. \d+ more|Caused by: |Driver stacktrace:)")
SHOWN = 3
"""How many frames of the traceback are shown."""


_INTERRUPTED = re.compile(r"java\.(?:lang|io|nio\.channels)\.(?:Interrupted|InterruptedIO|ClosedByInterrupt)Exception")
_DIED = "Python worker exited unexpectedly (crashed)"
MISFIT = "a row of `{}` does not fit: {}"
"""What Spark raises where a row of an input does not fit."""
_MISFIT = re.compile("a row of `(.*)` does not fit: (.*)")
LONG = 2_000
"""Of a text with more characters, Java's expressions may overflow the stack."""


def for_java(error: Exception) -> Exception:
    """What Spark is told of a turn that raised: it searches the text for the words with which py4j says that `stop` has
    interrupted a call, by an expression that a stack trace of Java is too long for."""
    interrupted = _INTERRUPTED.search(str(error))
    if interrupted:
        return RuntimeError(f"py4j.protocol.Py4JJavaError: An error occurred while calling a turn: {interrupted[0]}")
    return error if len(str(error)) <= LONG else RuntimeError(str(error)[:LONG])


def misfit(error: Exception) -> Exception:
    """The refusal of a row that Spark has checked itself; of another error, the error."""
    if not isinstance(error, PySparkException):
        return error
    raised = error.getCondition() == "USER_RAISED_EXCEPTION"
    found = _MISFIT.fullmatch((error.getMessageParameters() or {}).get("errorMessage", "")) if raised else None
    if found is None:
        return error
    refused = ElementError(f"a row of {{input}} does not fit: {found[2]}", instead=INSTEAD)
    refused.input_name = f"`{found[1]}`"
    return refused


class WorkerLost(FloError):
    """A process of Spark in which tasks run has died."""


def _lost(error: Exception) -> WorkerLost:
    lost = WorkerLost(
        "a Python worker of Spark has died, so what it was told to do is not done; the turn can be taken again",
        facts=(("likely", "the system has killed it for want of memory, or a library has crashed"),),
        instead=(
            ("spark.executor.memoryOverhead", "leaves more memory to Python, where the cluster limits it"),
            ("shards=…", "more of them have less state each"),
        ),
    )
    lost.__cause__ = error
    return lost


def without_java(error: Exception) -> Exception:
    """What Python raised in a task, if Spark wraps something like that; its cause is all that Spark says."""
    if _DIED in str(error) and not _INTERRUPTED.search(str(error)):
        return _lost(error)
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
