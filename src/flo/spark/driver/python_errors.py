"""Errors from Spark, translated: the Python error of a task first, without the Java stack trace around it."""

from __future__ import annotations

import re
from traceback import extract_tb

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark import errors
from pyspark.errors import PySparkException

from flo.core.errors import ElementError, EngineError, FloError
from flo.sql.native import row_error
from flo.tables.io.diverted import INSTEAD

_OF_ROWS = (
    errors.ArithmeticException,
    errors.ArrayIndexOutOfBoundsException,
    errors.DateTimeException,
    errors.NumberFormatException,
    errors.SparkRuntimeException,
)
"""Errors that an expression of Spark raises for a row."""
_OVERFLOW = "java.lang.ArithmeticException: "
_TRACEBACK = "Traceback (most recent call last):"
_JAVA = re.compile(r"\s*(at [\w.$/]+\(|\.\.\. \d+ more|Caused by: |Driver stacktrace:)")
_INTERRUPTED = re.compile(r"java\.(?:lang|io|nio\.channels)\.(?:Interrupted|InterruptedIO|ClosedByInterrupt)Exception")
_DIED = (
    "Python worker exited unexpectedly",
    "Python worker failed to connect back",
    "Failed to connect to Python worker",
    "java.lang.ProcessBuilder$NullOutputStream",  # where Java writes to a process that has ended
)
"""Words with which Spark says that a worker has died."""
MISFIT = "a row of `{}` does not fit: {}"
"""The message that Catalyst raises for an input row that does not fit."""
_MISFIT = re.compile("a row of `(.*)` does not fit: (.*)")
BAD_CHANGE, ROW = "a change cannot be read: ", "; the change: "
"""The parts of the message that Catalyst raises for a change that cannot be read."""
SHOWN = 3
"""How many frames of the Python traceback an error shows."""
LONG = 2_000
"""Java's regular expressions may overflow the stack on texts with more characters."""


class WorkerLost(FloError):
    """A Python worker of Spark has died.

    Fix: look for a function that needs too much memory or ends the process; start the query again, it resumes.
    """


class SparkLost(FloError):
    """The Java process of Spark, which runs the query, has ended.

    Fix: find out what ended it, such as a lack of memory; start the query again in a new session, it resumes.
    """


def python_error(error: Exception) -> Exception:
    """The Python error inside an error of Spark, with Spark's as its cause. Other errors are returned unchanged."""
    if isinstance(error, FloError):
        return error
    text = str(error)
    if is_java_lost(error):
        return _spark_lost(error)
    if any(words in text for words in _DIED) and not _INTERRUPTED.search(text):
        return _worker_lost(error)
    if isinstance(error, PySparkException):
        return _misfit_error(error) or _task_error(error) or error
    if isinstance(error, Py4JError):
        return _task_error(error) or _java_error(error)
    return error


class SparkErrors:
    """Raises the errors of Spark in a call of the user as what they are, with the user's line."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        translated = python_error(error) if isinstance(error, Exception) else error
        if isinstance(translated, FloError):
            translated.at_users_line()
        if translated is not None and translated is not error:
            raise translated from translated.__cause__


def segment_error(error: Exception) -> Exception | None:
    """The error that Catalyst raised for a row of a segment, as one of the query, with Spark's as its cause. None if it
    is another error. One of Java's own has no class in PySpark."""
    if not isinstance(error, _OF_ROWS) and (_TRACEBACK in str(error) or _OVERFLOW not in str(error)):
        return None
    of_row = row_error(str(error))
    if of_row is not None:
        of_row.__cause__ = error
    return of_row


def is_java_lost(error: BaseException) -> bool:
    """Whether a call of Java failed because its process has ended, or does not answer any more."""
    if isinstance(error, (ConnectionError, EOFError)):  # not one of a sink or a function of the user
        return any("py4j" in frame.filename for frame in extract_tb(error.__traceback__)[-SHOWN:])
    java = isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    return isinstance(error, Py4JNetworkError) or (java and "Answer from Java side is empty" in str(error))


def _spark_lost(error: Exception) -> SparkLost:
    lost = SparkLost(
        "the Java process of Spark has ended, and its queries with it; what was committed is kept",
        facts=(("likely cause", "it was killed, by a person or because memory ran out, or the session was stopped"),),
        instead=(
            ("start(…, checkpoint=…)", "in a new process or session: the query continues from its checkpoint"),
            ("spark.driver.memory", "gives Java more memory"),
        ),
    )
    lost.__cause__ = error
    return lost


def _java_error(error: Exception) -> EngineError:
    """An error of Java without its stack trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not _JAVA.match(line)]
    python = EngineError("\n  ".join(["Spark raised an error in Java", *lines[:SHOWN]]))
    python.__cause__ = error
    return python


def _task_error(error: Exception) -> EngineError | None:
    """The error that a task raised, read from the traceback in Spark's message."""
    _, traceback, text = str(error).rpartition(_TRACEBACK)
    if not traceback:
        return None
    trace: list[str] = []
    for line in text.splitlines()[1:]:
        if _JAVA.match(line):
            break
        trace.append(line)
    raised = next((index for index, line in enumerate(trace) if line.strip() and not line.startswith(" ")), None)
    if raised is None:
        return None
    frames = [line.strip() for line in trace[:raised] if line.startswith("  File ")]
    message = "\n".join(trace[raised:]).strip()
    python = EngineError("\n  ".join([f"a task raised {message}", *reversed(frames[-SHOWN:])]))
    python.__cause__ = error
    return python


def _misfit_error(error: PySparkException) -> ElementError | None:
    """The error for an input row that Catalyst has checked and rejected."""
    raised = error.getCondition() == "USER_RAISED_EXCEPTION"
    message = (error.getMessageParameters() or {}).get("errorMessage", "") if raised else ""
    if message.startswith(BAD_CHANGE):
        reason, _, row = message.partition(ROW)
        return ElementError(reason, facts=(("change", row),))
    match = _MISFIT.fullmatch(message)
    return None if match is None else misfit_error(match[1], match[2])


def misfit_error(name: str, reason: str) -> ElementError:
    """The error of an input row that does not fit."""
    rejected = ElementError(f"a row of {{input}} does not fit: {reason}", instead=INSTEAD)
    rejected.input_name = f"`{name}`"
    return rejected


def _worker_lost(error: Exception) -> WorkerLost:
    lost = WorkerLost(
        "a Python worker of Spark has died, so the micro-batch failed; a restart continues with it",
        facts=(("likely cause", "the system killed it because memory ran out, or a native library crashed"),),
        instead=(
            ("start(…, checkpoint=…)", "starts the query again: it continues from its checkpoint"),
            ("spark.executor.memoryOverhead", "gives Python more memory, where the cluster limits it"),
            ("shards=…", "with more shards, each has less state"),
        ),
    )
    lost.__cause__ = error
    return lost


def error_for_spark(error: Exception) -> Exception:
    """An error to raise from `foreachBatch`, short enough for Spark.

    Spark searches the message for the words with which py4j reports a call that `stop` interrupted. Its regular
    expression cannot cope with a Java stack trace.
    """
    interrupted = _INTERRUPTED.search(str(error))
    if interrupted:
        words = "py4j.protocol.Py4JJavaError: An error occurred while calling the micro-batch"
        return RuntimeError(f"{words}: {interrupted[0]}")
    return error if len(str(error)) <= LONG else RuntimeError(str(error)[:LONG])
