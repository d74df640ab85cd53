"""`flo state show|verify|tag|copy CHECKPOINT`: inspects and keeps checkpoints without their programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from flo.core.errors import FloError
from flo.tools import state_plan

if TYPE_CHECKING:
    from flo.shards.checkpoint.inspect import StateSize

ABOUT = """\
show      stages, operators and views, with the rows and bytes that each shard holds of them
verify    reads every file that a retained version names; exit status 1 if one is missing, truncated or altered
plan      what a start of a changed program would keep, fill and drop
tag       keeps a version under a name until the tag is removed; without a name, lists the tags
copy      copies a version, with its state and offsets, to a checkpoint of its own

A tag and a copy can be made while a query runs. `start(…, version="NAME")` goes back to a version.

A checkpoint is a path, or an address such as s3a://bucket/path.
"""


MOST_COLUMNS = 20
"""The most shards that each get a column."""
WIDTH = 200
"""The width of the table where it is not shown on a terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, run in (("show", show), ("verify", verify), ("tag", tag), ("copy", copy)):
        action = actions.add_parser(name)
        action.add_argument("checkpoint", metavar="CHECKPOINT")
        action.set_defaults(run=run)
        if name == "tag":
            action.add_argument("name", metavar="NAME", nargs="?", help="the name; without one, all tags are listed")
            action.add_argument("--remove", action="store_true", help="remove the tag")
        if name == "copy":
            action.add_argument("to", metavar="TO", help="a folder that is empty or new")
        if name in ("tag", "copy"):
            action.add_argument("--version", metavar="NAME|N", help="a tag or a version; by default the newest version")
    state_plan.add_to(actions)


def show(given: argparse.Namespace) -> int:
    from flo.shards.checkpoint.commits import Commits
    from flo.shards.checkpoint.inspect import Checkpoint  # needs the extra `spark`

    checkpoint = Checkpoint(given.checkpoint)
    versions = checkpoint.versions()
    width = None if sys.stdout.isatty() else WIDTH
    output = Console(file=sys.stdout, highlight=False, soft_wrap=True, width=width)
    tags = Commits.read(given.checkpoint).tags_of
    kept = ", ".join(" ".join([str(each), *(f"({tag})" for tag in tags(each))]) for each in versions) or "none"
    described = checkpoint.description
    output.print(f"flow {described['flow']}, {described['shards']} shards, versions kept: {kept}", markup=False)
    if versions:
        output.print(table(checkpoint.sizes(versions[-1]), checkpoint.shards(versions[-1])))
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


def tag(given: argparse.Namespace) -> int:
    from flo.shards.checkpoint.tags import add_tag, list_tags, remove_tag

    if given.name is None:
        if given.remove or given.version is not None:
            raise FloError("`flo state tag` needs the NAME of a tag")
        tags = list_tags(given.checkpoint)
        for name, version in tags.items():
            print(f"{name}: version {version}")
        if not tags:
            print(f"{given.checkpoint} has no tags")
    elif given.remove:
        if given.version is not None:
            raise FloError("`--remove` removes a tag, so it takes no `--version`")
        version = remove_tag(given.checkpoint, given.name)
        print(f"the tag {given.name}, of version {version}, is removed")
    else:
        version = add_tag(given.checkpoint, given.name, given.version)
        print(f"the tag {given.name} keeps version {version}")
    return 0


def copy(given: argparse.Namespace) -> int:
    from flo.shards.checkpoint.copies import copy_checkpoint

    version = copy_checkpoint(given.checkpoint, given.to, given.version)
    print(f"{given.to} is a copy of version {version}")
    return 0
