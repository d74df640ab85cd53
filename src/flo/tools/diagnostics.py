"""Diagnostics in the style of a compiler: file, line, level, the source line with carets, and details."""

from __future__ import annotations

import ast
import linecache
import os
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from rich.text import Text

from flo.api.explain import states
from flo.api.flow import Flow
from flo.core.errors import FloError, FunctionError, Origin, is_users
from flo.core.operator import Bound
from flo.tools.load import EXAMPLES
from flo.verify.report import Report
from flo.verify.time_limit import TimeUp

CharacterSpan: TypeAlias = tuple[int, int]
"""Columns of a line, from 0; the second is behind the last."""
STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan", "ok": "bold green", "gap": "bold yellow"}
MOST_FRAMES = 5


@dataclass(frozen=True, slots=True)
class Diagnostic:
    level: str
    file: str
    line: int
    message: str
    details: tuple[str, ...] = ()
    span: CharacterSpan | None = None
    """The columns of the carets."""

    def text(self) -> Text:
        place = Text(f"{relative_path(self.file)}:{self.line}: ", style="bold")
        level = "ok" if self.level == "gap" else self.level
        parts = [place, Text(f"{level}: ", style=STYLES[self.level]), Text(self.message)]
        source = Origin(self.file, self.line).text if self.level == "error" else ""
        if source:
            line = linecache.getline(self.file, self.line)
            margin = len(line) - len(line.lstrip())
            parts.append(Text(f"\n    {source}"))
            if self.span is not None and self.span[0] >= margin:
                first, last = self.span
                parts.append(Text(f"\n    {' ' * (first - margin)}{'^' * max(last - first, 1)}", style="red"))
        parts += [Text(f"\n{detail}") for detail in self.details]
        return Text.assemble(*parts)


def relative_path(file: str) -> str:
    """The path relative to the current folder, if it is inside; else the path as it is."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def of_fault(fault: BaseException, file: str, line: int = 1) -> Diagnostic:
    """A diagnostic for an exception: of the import of the file, or of the check of the subject on that line."""
    frames = [frame for frame in traceback.extract_tb(fault.__traceback__) if _counts(frame, file)]
    if isinstance(fault, FloError):
        return _of_refusal(fault, frames, file, line)
    if isinstance(fault, SyntaxError) and fault.filename and os.path.isfile(fault.filename):
        return _of_syntax(fault)
    if isinstance(fault, SystemExit):
        message = f"the file ends Python when it is imported: SystemExit({fault.code!r})"
        details = ['  instead   if __name__ == "__main__":   before what only a script should do']
    else:
        summary, *more = str(fault).splitlines() or [""]
        message = f"{type(fault).__name__}: {summary}".removesuffix(": ")
        details = [f"  {each}".rstrip() for each in more]
    if not frames:  # not the user's fault: the whole traceback
        details += [f"  {each}" for each in "".join(traceback.format_exception(fault)).splitlines()]
        return Diagnostic("error", file, line, message, tuple(details))
    *callers, innermost = frames
    for caller in callers[: -MOST_FRAMES - 1 : -1]:
        details.append(f"  called at {relative_path(caller.filename)}:{caller.lineno}   {caller.line}")
    return Diagnostic("error", innermost.filename, innermost.lineno or 1, message, tuple(details), _span(innermost))


def of_timeout(up: TimeUp, what: str, file: str, line: int, instead: tuple[str, str]) -> Diagnostic:
    """A diagnostic for a timeout, at the line that was running."""
    where = up.where or Origin(file, line)
    choices = (("flo check --seconds S", "if it is only slow"), instead)
    width = max(len(code) for code, _ in choices)
    rows = [f"{code:<{width}}   {why}" for code, why in choices]
    details = (f"  instead   {rows[0]}", f"            {rows[1]}")
    return Diagnostic("error", where.file, where.line, f"{what} was aborted {up.spent}", details)


def untried(fault: FunctionError, name: str, file: str, line: int) -> Diagnostic:
    """A warning about a function that raises on generated values: it may be right on those that it is meant for."""
    fault.instead = tuple((code.replace("examples={", f"{EXAMPLES} = {{"), why) for code, why in fault.instead)
    diagnostic = of_fault(fault, file, line)
    message = f"`{name}` is typed, and its laws could not be tried: {fault.summary}"
    return replace(diagnostic, level="warning", message=message)


def _counts(frame: traceback.FrameSummary, file: str) -> bool:
    return frame.filename == file or is_users(frame.filename)


def _span(frame: traceback.FrameSummary) -> CharacterSpan | None:
    if frame.colno is None or frame.end_colno is None or frame.lineno != frame.end_lineno:
        return None
    return frame.colno, frame.end_colno


def _of_refusal(error: FloError, frames: list[traceback.FrameSummary], file: str, line: int) -> Diagnostic:
    where = error.where
    if where is None or where == Origin.here():  # no line of the file, but the one that has called us
        where = Origin(frames[-1].filename, frames[-1].lineno or 1) if frames else Origin(file, line)
    error.where = None  # the line stands above the facts
    summary, *details = str(error).splitlines()
    message = f"{type(error).__name__}: {summary}"
    return Diagnostic("error", where.file, where.line, message, tuple(details), verb_span(where))


def _of_syntax(error: SyntaxError) -> Diagnostic:
    span = None
    if error.offset:
        last = error.end_offset if error.end_lineno == error.lineno else None
        span = (error.offset - 1, (last or error.offset + 1) - 1)
    return Diagnostic("error", str(error.filename), error.lineno or 1, f"{type(error).__name__}: {error.msg}", (), span)


def verb_span(where: Origin) -> CharacterSpan | None:
    """The columns of the name of the called function: `fold` in `bids.fold(…)`."""
    try:
        tree = ast.parse(Path(where.file).read_bytes())
    except (OSError, SyntaxError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.end_col_offset == where.last_column:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            if node.func.end_lineno == where.line and node.func.end_col_offset is not None:
                before = linecache.getline(where.file, where.line).encode()[: node.func.end_col_offset]
                last = len(before.decode(errors="replace"))  # the columns of Python's syntax trees count bytes
                return last - len(name), last
    return None


def of_report(report: Report, file: str, line: int) -> Iterator[Diagnostic]:
    """An error for each broken law; if none is broken, how hard the laws were tried."""
    if report.ok and not report.gaps:
        yield Diagnostic("ok", file, line, f"{report.subject}: {report.strength}")
    elif report.ok:
        more = "  instead   flo check --thorough   tries more"
        yield Diagnostic("gap", file, line, f"{report.subject} {report.verdict}", (f"  {report.strength}", more))
    elif report.counterexample is None and report.strength.missing:
        more = "  instead   flo check --thorough   tries more"
        yield Diagnostic("error", file, line, f"{report.subject} {report.verdict}", (f"  {report.strength}", more))
    if report.counterexample is not None and not report.of_a_part:
        details = str(report.counterexample).splitlines()
        message = f"LawError: {report.subject} breaks a law"
        yield Diagnostic("error", file, line, message, tuple(f"  {each}" for each in details))
    for part in report.parts:
        if not part.ok:
            yield from of_report(part, file, line)


FORGETTING = (
    ('rows.retain("at", clock, keep=…)', "before it: rows that the clock has passed are forgotten"),
    ("tumbling(…).group_by(…).agg(…)", "of a sequence: each window once, and then it is forgotten"),
    ("bounded=True", "for an input that ends: only what it had is kept"),
)
"""What to write instead of an operator whose state grows for ever."""


GROWS = {
    Bound.ROWS: "row: its state grows with its input",
    Bound.KEYS: "key: its state grows with the number of keys ever seen",
}
"""Bounds that are none, and what is never forgotten."""


def of_growth(flow: Flow, file: str, line: int) -> Iterator[Diagnostic]:
    """A warning for each verb whose state grows with its input, at its line."""
    width = max(len(code) for code, _ in FORGETTING)
    details = tuple(
        f"  {'instead' if not place else '':<7}   {code:<{width}}   {why}"
        for place, (code, why) in enumerate(FORGETTING)
    )
    seen: set[tuple[str, int, str]] = set()
    for vertex, bound in states(flow._scope, flow._outputs.values()):
        where = vertex.origin or Origin(file, line)
        verb = where.verb or vertex.operator.name
        if bound in GROWS and (where.file, where.line, verb) not in seen:
            seen.add((where.file, where.line, verb))
            message = f"`{verb}` of the flow `{flow.name}` never forgets a {GROWS[bound]}"
            yield Diagnostic("warning", where.file, where.line, message, details if bound is Bound.ROWS else ())


def of_late_rows(flow: Flow, file: str, line: int) -> Iterator[Diagnostic]:
    """Warnings for verbs with late rows that nothing reads, and for those that were given no `lateness`."""
    unread = set(flow._scope.unread_late(flow._outputs.values()))
    for vertex in flow._scope.vertices:
        late, where = vertex.late, vertex.origin or Origin(file, line)
        verb = where.verb or vertex.operator.name
        if late is None or vertex.inputs[0].bounded:
            continue
        name = vertex.outputs[0].name if vertex.outputs[0].assigned else "clock" if verb == "clock" else "windows"
        side = "ahead" if verb == "limit_ahead" else "late"
        if late in unread:
            message = f"nothing reads the late rows of `{verb}` of the flow `{flow.name}`"
            more = (f'  instead   flow.output("late", {name}.{side})   a sink for them, or an alert',)
            yield Diagnostic("warning", where.file, where.line, message, more)
        if getattr(vertex.operator, "lateness", True) is None:
            message = f"`{verb}` of the flow `{flow.name}` has no `lateness`: a row that is out of order is late"
            more = (f"  instead   {verb}(…, lateness=…)   how far rows may be out of order",)
            yield Diagnostic("warning", where.file, where.line, message, more)
