"""`flo sql FILE.sql`: the views of a file, maintained on Spark and shown as they change."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table

from flo.api.running import expect_known
from flo.core.errors import FloError, NameTakenError, Origin, UnknownNameError
from flo.tools.ctrl_c import catch_ctrl_c
from flo.tools.run import (
    InputSource,
    add_checkpoint_options,
    add_page_options,
    expect_known_version,
    follow,
    keep_page,
    micro_batch_table,
    print_results,
    result_table,
    show_page,
    sink_of_text,
    split_pairs,
    stop,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from flo.spark.driver.query import Query
    from flo.spark.sql_views import Views
    from flo.sql.statements import ViewStatement

ABOUT = """\
Maintains the views of a file, which has statements CREATE VIEW name AS SELECT …; of Spark SQL. A view may read the
inputs and the other views. An input is a file or a folder, whose new files are new rows, or any source of
Spark with its options:

  flo sql revenue.sql --input sales=data/sales --input shops=shops.csv
  flo sql clicks.sql --input clicks=kafka:kafka.bootstrap.servers=host:9092,subscribe=clicks --checkpoint state

A view is shown, unless it goes elsewhere: a FOLDER/ for Parquet files of its changes, console, noop, or any sink of
Spark, FORMAT:option=value,…. The command runs until it is stopped with Ctrl-C; with --once it ends when all data of the
sources is processed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file of CREATE VIEW statements")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=PATH|FORMAT:OPTIONS")
    parser.add_argument("--output", action="append", default=[], metavar="NAME=PATH|WHERE")
    parser.add_argument("--spark", metavar="MASTER", help="the Spark master (default: embedded, on all cores)")
    add_checkpoint_options(parser)
    parser.add_argument("--shards", type=int, metavar="N")
    parser.add_argument("--every", metavar="TIME", help='a micro-batch every TIME, such as "10 seconds"')
    parser.add_argument("--once", action="store_true", help="end when all data of the sources is processed")
    parser.add_argument("--explain", action="store_true", help="print the operators, and do not run them")
    add_page_options(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    file = Path(given.file)
    if not file.is_file():
        raise UnknownNameError(f"there is no file `{given.file}`")
    if given.once and given.every:
        raise FloError("--once ends when all data is processed, so it takes no --every")
    sources = {name: InputSource.of(text) for name, text in split_pairs(given.input).items()}
    if not sources:
        raise UnknownNameError("the views have no input", instead=(("--input NAME=PATH", ""),))
    try:
        from flo.shards.checkpoint.commits import committed_versions
        from flo.spark.session import embedded
        from flo.sql.statements import read_statements
    except ImportError:
        raise FloError("pyspark is not installed", instead=(("pip install 'flo-streams[spark]'", ""),)) from None
    expect_known_version(given)
    output = Console(file=sys.stdout, highlight=False)
    with contextlib.ExitStack() as stack:
        with Console(stderr=True).status("starting Spark"):
            spark = embedded(f"flo sql {file.name}", master=given.spark)
        stopped = stack.enter_context(catch_ctrl_c())
        stack.callback(spark.stop)
        statements = {each.name: each for each in read_statements(spark, str(file.absolute()))}
        sinks = {name: sink_of_text(text) for name, text in split_pairs(given.output).items()}
        for name, statement in statements.items():
            if name in sources:
                raise NameTakenError(f"`{name}` is an input and a view", where=statement.where)
        for name in sinks:
            expect_known(name, statements, "view")
        frames = {name: source.frame(spark, bounded=False) for name, source in sources.items()}
        views = _planned(spark, statements, frames)
        if given.explain:
            output.print(views.explain(), markup=False)
            return 0
        checkpoint = given.checkpoint or stack.enter_context(tempfile.TemporaryDirectory(prefix="flo-"))
        trigger = {"processingTime": given.every} if given.every else {"availableNow": True} if given.once else {}
        options = {"shards": given.shards, "changed": given.changed, "version": given.version, "ui": given.ui}
        query = views.start(sinks, checkpoint=checkpoint, trigger=trigger, **options)
        show_page(given, query, stack)
        stack.callback(query.stop)
        names = [name for name in statements if name not in sinks]
        follow(query, stopped, _Shown(query, names))
        stop(query, early=stopped.is_set() and given.once)
        if committed_versions(str(checkpoint)):  # else the sources have no rows
            print_results(output, {name: query.view(name).arrow() for name in names})
        keep_page(given, stopped)
    return 0


def _planned(spark: SparkSession, statements: dict[str, ViewStatement], frames: dict[str, DataFrame]) -> Views:
    """Return the views. An error names the line of its statement."""
    from flo.spark.sql_views import Views

    try:
        return Views(spark, {name: each.query for name, each in statements.items()}, frames)
    except FloError as error:
        statement = statements.get(dict(error.facts).get("view", ""))
        if statement is not None:
            line = getattr(error, "line", None)
            error.where = Origin(statement.where.file, line) if line else statement.where
            error.facts = tuple(fact for fact in error.facts if fact[0] != "query")
        raise


class _Shown:
    """The last micro-batches and the first rows of the views, which are read once for each version."""

    def __init__(self, query: Query, views: list[str]) -> None:
        self._query, self._views = query, views
        self._version: int | None = None
        self._tables: list[Table] = []

    def __call__(self) -> Group:
        query = self._query
        if query.progress and query.progress[-1].version != self._version:
            self._version = query.progress[-1].version
            views = query.views(self._version).items()
            self._tables = [result_table(name, view.arrow()) for name, view in views if name in self._views]
        return Group(micro_batch_table(query), *self._tables)
