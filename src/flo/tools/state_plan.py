"""`flo state plan CHECKPOINT FILE`: what a start of a changed program would keep, fill and drop."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flo.tools.load import find_target, isolated, load
from flo.tools.run import find_flow

if TYPE_CHECKING:
    from flo.api.flow import Flow


def add_to(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("plan")
    parser.add_argument("checkpoint", metavar="CHECKPOINT")
    parser.add_argument("file", metavar="FILE", help="the file of the new program; FILE::flow if it has several")
    parser.add_argument(
        "--refill",
        action="append",
        default=[],
        metavar="FUNCTION",
        help="a function whose code has changed; may come again",
    )
    parser.set_defaults(run=plan)


def plan(given: argparse.Namespace) -> int:
    file, _, name = given.file.partition("::")
    where = find_target(file)
    with isolated(where):
        print_plan(given.checkpoint, find_flow(load(where), name), given.refill)
    return 0


def print_plan(checkpoint: str, flow: Flow, refill: Sequence[str] = ()) -> None:
    """Prints what becomes of every operator and every output, if these functions are corrected."""
    from flo.api.scope import NOW
    from flo.shards.checkpoint.inspect import Checkpoint
    from flo.shards.checkpoint.program_changes import PAST_INPUTS, describe_program, input_names
    from flo.shards.evolution.change_planning import plan_change
    from flo.shards.evolution.plan_text import ChangePlan
    from flo.shards.program import ShardedProgram, as_table, finish_as_table
    from flo.shards.tasks.output_files import VIEW
    from flo.tables.lowering import lower_flow

    stored = Checkpoint(checkpoint)
    version = stored.versions()[-1]
    before = stored.described(version)
    program = ShardedProgram(flow, lower_flow(flow, as_table, finish_as_table))
    outputs = program.plan_outputs({name: before["outputs"].get(name, VIEW) for name in program.output_types})
    names = [stream.name for stream in flow._scope.inputs]
    ours = describe_program(flow.name, program.plan, names, outputs, stored.shards(version), flow._outline())
    ours["sources"] = before["sources"]
    ours[PAST_INPUTS] = sorted({*before.get(PAST_INPUTS, ()), *input_names(before)})
    compared, fill = plan_change(program, checkpoint, version, before, ours, refill)
    plan = ChangePlan(compared, fill, checkpoint, version, (NOW,), bool(before["sources"]), refill)
    output = Console(file=sys.stdout, highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
    output.print(f"version {version} of {before['flow']}, with the program {flow.name}", markup=False)
    table = Table(header_style="bold")
    for column in ("state", "operator", "line", "its rows come from"):
        table.add_column(column)
    for each in plan.operators:
        table.add_row(*map(Text, (each.what, each.words, each.line, each.source)))
    output.print(table)
    for name, what in plan.outputs:
        output.print(f"output {name}: {what}", markup=False)
    for problem in plan.problems:
        output.print(f"\nnot possible: {problem}", markup=False)
