"""`flo state show|verify|rescale CHECKPOINT`: inspects a Spark checkpoint without its program."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from flo.shards.checkpoint.inspect import StateSize

HELP = "show, verify or rescale a checkpoint"
ABOUT = """\
show      stages, operators and views, with the rows and bytes that each shard holds of them
verify    reads every file that a retained version names; exit status 1 if one is missing, truncated or altered
rescale   cuts the state into another number of shards; rejected while a query runs on it

A checkpoint is a path, or an address such as s3a://bucket/path.
"""


MOST_COLUMNS = 20
"""The most shards that each get a column."""
WIDTH = 200
"""The width of the table where it is not shown on a terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, run in (("show", show), ("verify", verify), ("rescale", rescale)):
        action = actions.add_parser(name)
        action.add_argument("checkpoint", metavar="CHECKPOINT")
        action.set_defaults(run=run)
        if name == "rescale":
            action.add_argument("shards", metavar="N", type=int, help="the new number of shards")


def show(given: argparse.Namespace) -> int:
    from flo.shards.checkpoint.inspect import Checkpoint  # needs the extra `spark`

    checkpoint = Checkpoint(given.checkpoint)
    versions = checkpoint.versions()
    width = None if sys.stdout.isatty() else WIDTH
    output = Console(file=sys.stdout, highlight=False, soft_wrap=True, width=width)
    kept = ", ".join(map(str, versions)) or "none"
    output.print(
        f"flow {checkpoint.description['flow']}, {checkpoint.shards} shards, versions kept: {kept}", markup=False
    )
    if versions:
        output.print(table(checkpoint.sizes(versions[-1]), checkpoint.shards))
    return 0


def table(sizes: Iterable[StateSize], shards: int) -> Table:
    """A table with a row for every operator and view that holds state, and a column for each shard if they are few."""
    columns = range(shards if shards <= MOST_COLUMNS else 0)
    sizes_table = Table(header_style="bold")
    for column in ("stage", "operator", "line", "where"):
        sizes_table.add_column(column, no_wrap=True)
    for column in ("rows", "bytes", *(f"shard {shard}" for shard in columns)):
        sizes_table.add_column(column, justify="right", no_wrap=True)
    sizes_table.add_column("bounded by")
    rows: dict[tuple[int, str], list[StateSize]] = {}
    for each in sizes:
        rows.setdefault((each.level, each.id), []).append(each)
    for parts in rows.values():
        one, rows_of = parts[0], {part.shard: part.rows for part in parts}
        total, size = sum(rows_of.values()), sum(part.bytes for part in parts)
        if size:
            by_shard = [f"{rows_of.get(shard, 0):,}" for shard in columns]
            counts = (f"{total:,}", f"{size:,}", *by_shard)
            sizes_table.add_row(str(one.level), one.name, one.line, one.where, *counts, one.bound)
    return sizes_table


def verify(given: argparse.Namespace) -> int:
    from flo.shards.checkpoint.inspect import Checkpoint

    problems = list(Checkpoint(given.checkpoint).problems())
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems" if problems else "all files are complete and unchanged")
    return 1 if problems else 0


def rescale(given: argparse.Namespace) -> int:
    from flo.shards.checkpoint.rescale import rescale

    versions = rescale(given.checkpoint, given.shards)
    text = ", ".join(map(str, versions)) or "none yet"
    print(f"{given.checkpoint} now has {given.shards} shards; versions: {text}")
    return 0
