"""`flo check FILE…`: types and checks every flow of a file, with errors as in a compiler."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.markup import escape

from flo.api.flow import Flow
from flo.core.errors import FunctionError, LawError, brief
from flo.tools.diagnostics import (
    Diagnostic,
    of_fault,
    of_growth,
    of_late_rows,
    of_report,
    of_timeout,
    relative_path,
    untried,
)
from flo.tools.load import EXAMPLES, KINDS, ModuleTarget, Skipped, Subject, find_subjects, find_target, isolated, load
from flo.verify import check
from flo.verify.effort import QUICK, THOROUGH, WORK
from flo.verify.report import Report
from flo.verify.time_limit import SECONDS, TimeLimit, TimeUp

ABOUT = """\
Imports each file, and checks every flow in it: those at module level, and those returned by a function
that is annotated `-> flo.Flow` and needs no arguments. Code under `if __name__ == "__main__":` is not run.
Operators, lattices and collections that the file defines are checked too. To choose the values to try
them on, set `flo_examples = {str: ['{"price": 1}']}` at module level.

exit status: 0 if all is well, 1 if there is an error, 2 if there is nothing to check
"""
NO_FLOW = (
    "  looked for   flows at module level",
    "               functions without required arguments, annotated `-> flo.Flow`",
    "               operators, lattices and collections defined here",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a Python file, or a module: package.module")
    parser.add_argument(
        "--work",
        type=_work,
        metavar="N",
        help=f"how much one check does, in states, steps and calls (default: {QUICK:_}, or {WORK:_} if needed)",
    )
    parser.add_argument(
        "--thorough", dest="work", action="store_const", const=THOROUGH, help=f"the same as --work {THOROUGH:_}"
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=SECONDS,
        metavar="S",
        help=f"the processor time that an import, or one call of a function, may take (default: {SECONDS:g})",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the checks that are random (default: 0)")
    parser.set_defaults(run=run)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0; got {text}")
    return seconds


def _work(text: str) -> int:
    work = int(text)
    if work < 1:
        raise argparse.ArgumentTypeError(f"must be an integer above 0; got {text}")
    return work


def run(arguments: argparse.Namespace) -> int:
    targets = [find_target(each) for each in arguments.files]
    output = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    count: Counter[str] = Counter()
    with Console(file=sys.stderr).status("") as status:  # seen on terminals only
        for each in targets:
            for event in check_file(each, arguments.work, arguments.seconds, arguments.seed):
                if isinstance(event, Diagnostic):
                    count[event.level] += 1
                    status.stop()
                    output.print(event.text())
                    status.start()
                else:
                    count[event.kind] += 1
                    status.update(escape(event.message))
    output.print(summary(count))
    return 1 if count["error"] else 0 if any(count[kind] for kind in KINDS.values()) else 2


@dataclass(frozen=True, slots=True)
class Progress:
    """The next task: a file to import, or a flow, operator, … to check."""

    kind: str
    message: str


def check_file(where: ModuleTarget, work: int | None, seconds: float, seed: int) -> Iterator[Progress | Diagnostic]:
    file = str(where.path)
    with isolated(where):
        yield Progress("import", f"importing {relative_path(file)}")
        try:
            with TimeLimit(seconds):
                module = load(where)
        except TimeUp as up:
            script = ('if __name__ == "__main__":', "before what only a script should do")
            yield of_timeout(up, f"the import of {relative_path(file)}", file, 1, script)
            return
        except (Exception, SystemExit) as fault:
            yield of_fault(fault, file)
            return
        subjects, examples = find_subjects(module), getattr(module, EXAMPLES, None)
        for each in subjects:
            if isinstance(each, Skipped):
                yield Diagnostic("note", file, each.line, each.reason)
            else:
                yield Progress(each.kind, f"checking {each.name} of {relative_path(file)}")
                yield from check_subject(each, file, work, seconds, seed, examples)
        if not any(isinstance(each, Subject) for each in subjects):
            yield Diagnostic("note", file, 1, "no flow was found", NO_FLOW)


def check_subject(
    subject: Subject, file: str, work: int | None, seconds: float, seed: int, examples: Any = None
) -> list[Diagnostic]:
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):  # what is called often prints often
            with TimeLimit(seconds):
                checked = subject.make()
            if subject.kind == "flow" and not isinstance(checked, Flow):
                message = f"`{subject.name}` is annotated `-> flo.Flow`, but returned {brief(checked)}"
                return [Diagnostic("error", file, subject.line, message)]
            report = _try_laws(checked, examples, work, seconds, seed)
            if not isinstance(checked, Flow):
                return list(of_report(report, file, subject.line))
            beside = (of_growth(checked, file, subject.line), of_late_rows(checked, file, subject.line))
            return [*of_report(report, file, subject.line), *beside[0], *beside[1]]
    except TimeUp as up:
        return [of_timeout(up, f"`{subject.name}`", file, subject.line, ("a loop that ends", ""))]
    except SystemExit as end:
        return [Diagnostic("error", file, subject.line, f"`{subject.name}` ends Python: SystemExit({end.code!r})")]
    except Exception as fault:
        if isinstance(fault, FunctionError) and fault.__cause__ is not None:
            return [untried(fault, subject.name, file, subject.line)]
        diagnostic = of_fault(fault, file, subject.line)
        if subject.kind == "operator" and isinstance(fault, LawError):  # it is checked in the flows that use it
            return [replace(diagnostic, level="note")]
        return [diagnostic]


def _try_laws(checked: Any, examples: Any, work: int | None, seconds: float, seed: int) -> Report:
    """Check with so much work; by default with little, and with more where that does not suffice for a verdict."""
    report = check(checked, examples=examples, work=work or QUICK, seconds=seconds, seed=seed)
    if work is None and not report.ok and report.counterexample is None and report.strength.missing:
        report = check(checked, examples=examples, work=WORK, seconds=seconds, seed=seed)
    return report


def summary(count: Counter[str]) -> str:
    """`2 flows, 1 operator, 1 with gaps, no errors`."""
    checked = [_many(count[kind], kind) for kind in KINDS.values() if count[kind]]
    gaps = [f"{count['gap']} with gaps"] if count["gap"] else []
    warned = [_many(count["warning"], "warning")] if count["warning"] else []
    return ", ".join([*(checked or ["nothing checked"]), *gaps, *warned, _many(count["error"], "error")])


def _many(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
