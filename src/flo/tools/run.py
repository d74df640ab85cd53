"""`flo run FILE`: the flow of a file on Spark, or in this process, with live progress and the results at the end."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table

import flo
from flo.api.flow import Flow
from flo.api.running import expect_known
from flo.core.errors import FloError, NameTakenError, UnknownNameError, is_users
from flo.tools.ctrl_c import cancel_jobs, catch_ctrl_c
from flo.tools.load import Subject, find_subjects, find_target, isolated, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from flo.spark.driver.query import Query

ABOUT = """\
Runs the flow of a file; FILE::NAME names one of several. An input is a file or a folder, or any source of
Spark with its options:

  flo run auctions.py --input bids=data/bids --order bids=offset --input lots=data/lots
  flo run clicks.py --input clicks=kafka:kafka.bootstrap.servers=host:9092,subscribe=clicks

An output is printed at the end, unless it goes elsewhere: view, console, noop, changes:FOLDER, or any sink of
Spark, FORMAT:option=value,…. The run ends when all data of the sources is processed; with --every it goes on until
Ctrl-C.
"""
SHOWN = 20
FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".orc": "orc"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a Python file or a module, and ::NAME of the flow if it has several"
    )
    parser.add_argument("--input", action="append", default=[], metavar="NAME=PATH|FORMAT:OPTIONS")
    parser.add_argument("--output", action="append", default=[], metavar="NAME=WHERE")
    parser.add_argument(
        "--order", action="append", default=[], metavar="NAME=COLUMN", help="the column with the position of a row"
    )
    parser.add_argument("--spark", metavar="MASTER", help="the Spark master (default: embedded, on all cores)")
    parser.add_argument("--here", action="store_true", help="run in this process, without Spark")
    add_checkpoint_options(parser)
    parser.add_argument("--shards", type=int, metavar="N")
    parser.add_argument(
        "--every", metavar="TIME", help='keep running, with a micro-batch every TIME, such as "10 seconds"'
    )
    add_page_options(parser)
    parser.set_defaults(run=run)


def add_checkpoint_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", metavar="FOLDER", help="resume from this checkpoint, and keep state in it")
    parser.add_argument("--version", metavar="NAME|N", help="go back to this tag or version of the checkpoint")
    parser.add_argument(
        "--changed",
        choices=("reject", "fill"),
        default="reject",
        help="what to do if the program has changed: reject it, or keep what is the same and fill the rest",
    )


def expect_known_version(given: argparse.Namespace) -> None:
    """Rejects an unknown version before Spark starts, which takes seconds."""
    from flo.shards.checkpoint.tags import find_version

    if given.version is not None and not given.checkpoint:
        raise FloError("--version is one of a checkpoint", instead=(("--checkpoint FOLDER", ""),))
    if given.version is not None and "://" not in given.checkpoint:  # the settings of Spark may say how to reach it
        find_version(str(given.checkpoint), given.version)


def run(given: argparse.Namespace) -> int:
    file, _, name = given.file.partition("::")
    output = Console(file=sys.stdout, highlight=False)
    where = find_target(file)
    with isolated(where):
        before = set(sys.modules)
        flow = find_flow(load(where), name)
        inputs = split_pairs(given.input)
        if given.here:
            expect_no_page(given, "--here runs in this process")
            print_results(output, flow.on(flo.here).run(**dict[str, Any](inputs)))
        else:
            _on_spark(given, [sys.modules[each] for each in set(sys.modules) - before], flow, inputs, output)
    return 0


def find_flow(module: ModuleType, name: str) -> Flow:
    """Return the flow of that name, or the only one."""
    flows = [each for each in find_subjects(module) if isinstance(each, Subject) and each.kind == "flow"]
    chosen = [each for each in flows if not name or each.name in (name, f"{name}()")]
    if len(chosen) != 1:
        raise UnknownNameError(
            f"the file has no flow `{name}`" if name else f"the file has {len(flows) or 'no'} flows",
            facts=(("flows", ", ".join(each.name for each in flows) or "none"),),
            instead=(("FILE::NAME", "names one of them"),) if flows else (("flow = flo.Flow(…)", "at module level"),),
        )
    flow: Flow = chosen[0].make()
    return flow


def split_pairs(texts: list[str]) -> dict[str, str]:
    """Return the values of texts NAME=VALUE by their names."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if not equals or not name or not rest:
            raise FloError(f"expected NAME=VALUE; got `{text}`")
        if name in values:
            raise NameTakenError(f"`{name}` is given twice: `{values[name]}` and `{rest}`")
        values[name] = rest
    return values


def _on_spark(
    given: argparse.Namespace, loaded: list[ModuleType], flow: Flow, inputs: Mapping[str, str], output: Console
) -> None:
    try:
        from flo.shards.checkpoint.commits import committed_versions
        from flo.spark.driver.shipping import pickle_by_value
        from flo.spark.session import embedded
    except ImportError:
        raise FloError("pyspark is not installed", instead=(("pip install 'flo-streams[spark]'", ""),)) from None
    for module in loaded:
        if is_users(module.__dict__.get("__file__")):
            pickle_by_value(module)
    bounded = {stream.name: stream.bounded for stream in flow._scope.inputs}
    order, sinks = split_pairs(given.order), _sinks(given.output)
    _expect_names(flow, inputs, order, sinks)
    at_once = all(bounded.values())
    if at_once and given.checkpoint:
        raise FloError("all inputs of the flow are bounded: it runs once, and --checkpoint would keep nothing")
    if at_once:
        expect_no_page(given, "all inputs of the flow are bounded: it runs once")
    expect_known_version(given)
    sources = {name: InputSource.of(text) for name, text in inputs.items()}
    with contextlib.ExitStack() as stack:
        with Console(stderr=True).status("starting Spark"):
            spark = embedded(f"flo run {flow.name}", master=given.spark)
        stopped = stack.enter_context(catch_ctrl_c())
        stack.callback(spark.stop)
        frames: dict[str, Any] = {name: each.frame(spark, bounded[name]) for name, each in sources.items()}
        checkpoint = given.checkpoint or stack.enter_context(tempfile.TemporaryDirectory(prefix="flo-"))
        if at_once:
            with cancel_jobs(spark, stopped):
                results = flow.on(spark).run(order=order, shards=given.shards, **frames)
                left = {
                    name: result.toArrow() if hasattr(result, "toArrow") else result
                    for name, result in results.items()
                    if not _write_result(name, result, sinks.get(name, "view"))
                }
            print_results(output, left)
            return
        trigger = {"processingTime": given.every} if given.every else {"availableNow": True}
        query = flow.on(spark).start(
            frames,
            sinks,
            checkpoint=checkpoint,
            order=order,
            shards=given.shards,
            trigger=trigger,
            version=given.version,
            changed=given.changed,
            ui=given.ui,
        )
        show_page(given, query, stack)
        stack.callback(query.stop)
        follow(query, stopped, lambda: micro_batch_table(query))
        stop(query, early=stopped.is_set() and not given.every)
        if committed_versions(str(checkpoint)):  # else the query was stopped before
            views = [name for name in flow._outputs if sinks.get(name, "view") == "view"]
            print_results(output, {name: query.view(name).table_or_value() for name in views})
        keep_page(given, stopped)


def follow(query: Query, stopped: threading.Event, show: Callable[[], RenderableType]) -> None:
    """Shows the micro-batches, until the query ends or the user stops it."""
    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=4) as live:
        while not stopped.is_set() and not query.wait(0.25):
            live.update(show())
        live.update(micro_batch_table(query))
    if not console.is_terminal:
        console.line()  # `Live` leaves it out


def stop(query: Query, early: bool) -> None:
    """Stops a query that has not ended. If that is too early, the command fails."""
    if query.active:
        query.stop()
        if early:
            raise KeyboardInterrupt


def _sinks(given: list[str]) -> dict[str, object]:
    return {name: sink_of_text(text) for name, text in split_pairs(given).items()}


def _expect_names(flow: Flow, inputs: Mapping[str, str], order: Mapping[str, str], sinks: Mapping[str, object]) -> None:
    """Rejects unknown and missing names before Spark starts, which takes seconds."""
    names = {stream.name: stream for stream in flow._scope.inputs}
    for name in (*inputs, *order):
        expect_known(name, names, "input")
    for name in names:
        if name not in inputs:
            raise UnknownNameError(f"the input `{name}` was given no source", instead=((f"--input {name}=PATH", ""),))
    for name in sinks:
        expect_known(name, {**flow._outputs, **flow._late()}, "output")


@dataclass(frozen=True)
class InputSource:
    """An input: a path, whose file names tell the format, or a Spark format with options."""

    kind: str
    options: dict[str, str]
    path: Path | None = None

    @classmethod
    def of(cls, text: str) -> InputSource:
        path = Path(text)
        kind, colon, rest = text.partition(":")
        if not path.exists():
            if not colon:
                a_name = path.suffix not in FORMATS and "/" not in text
                instead = ((f"{text}:", "if it is a format of Spark"),) if a_name else ()
                raise FloError(f"there is no file or folder `{text}`", instead=instead)
            return cls(kind, _options(rest))
        files = sorted(path.rglob("*.*")) if path.is_dir() else [path]
        kinds = {FORMATS[file.suffix] for file in files if file.suffix in FORMATS}
        if len(kinds) != 1:
            raise FloError(f"`{text}` holds files of {len(kinds)} formats", facts=(("known", ", ".join(FORMATS)),))
        (kind,) = kinds
        return cls(kind, {"header": "true"} if kind == "csv" else {}, path)

    def frame(self, spark: SparkSession, bounded: bool) -> DataFrame:
        read = spark.read.format(self.kind).options(**self.options)
        if self.path is None:
            return (read if bounded else spark.readStream.format(self.kind).options(**self.options)).load()
        rows = read.option("inferSchema", "true").load(str(self.path))
        if bounded:
            return rows
        folder, pattern = (
            (self.path, {}) if self.path.is_dir() else (self.path.parent, {"pathGlobFilter": self.path.name})
        )
        stream = spark.readStream.schema(rows.schema).format(self.kind).options(**self.options, **pattern)
        return stream.load(str(folder))


def _options(text: str) -> dict[str, str]:
    return split_pairs([each for each in text.split(",") if each])


def sink_of_text(text: str) -> object:
    """Return the sink that a text names: a word, a folder of changes, or a Spark format with options."""
    from flo.shards.sinks.sink_choice import WORDS
    from flo.shards.sinks.sinks import Changes
    from flo.spark.driver.sinks import SparkSink

    kind, colon, rest = text.partition(":")
    if kind in WORDS:
        return text
    if not colon and "/" in text:
        return Changes(text)
    return SparkSink(kind, _options(rest)) if colon else text


def _write_result(name: str, result: object, sink: object) -> bool:
    """Writes a whole result to its sink; False if it is to be printed instead."""
    from flo.shards.sinks.sink_choice import sink_of

    return sink_of(name, sink).write_result(name, result)


def micro_batch_table(query: Query) -> Table:
    """One row for each of the last micro-batches."""
    table = Table("micro-batch", "rows in", "changes out", "state written", "seconds", box=None, header_style="bold")
    for each in list(query.progress)[-SHOWN:]:
        rows_in, changes = sum(each.taken.values()), sum(each.rows.values())
        written = f"{each.written / 1e6:.1f} MB"
        table.add_row(str(each.version), f"{rows_in:,}", f"{changes:,}", written, f"{each.seconds:.2f}")
    return table


def print_results(output: Console, results: Mapping[str, Any]) -> None:
    """Prints every output: rows as a table, other values as they are."""
    for name, result in results.items():
        if not hasattr(result, "to_pylist"):
            output.print(f"{name}: {result!r}", markup=False)
        else:
            output.print(result_table(name, result))


def result_table(name: str, result: Any) -> Table:
    """Return the first rows of an Arrow table."""
    table = Table(*result.column_names, title=f"{name}, {result.num_rows:,} rows", title_justify="left")
    for row in result.slice(0, SHOWN).to_pylist():
        table.add_row(*(str(value) for value in row.values()))
    return table


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Add `--ui` and `--html`."""
    about = "serve a page of the run on this machine, at a free port or at PORT, until Ctrl-C"
    parser.add_argument("--ui", nargs="?", type=int, const=0, metavar="PORT", help=about)
    parser.add_argument("--html", metavar="FILE", help="save the page of the run when it ends")


def expect_no_page(given: argparse.Namespace, why: str) -> None:
    """Reject the options where there are no micro-batches to show."""
    for option in ("ui", "html"):
        if getattr(given, option) is not None:
            raise FloError(f"--{option} shows the micro-batches of a query on Spark, but {why}")


def show_page(given: argparse.Namespace, query: Query, stack: contextlib.ExitStack) -> None:
    """Serve the page of a query, and save it when the stack ends, as the options say."""
    if given.html is not None:
        query.watch()
        stack.callback(query.save, given.html)
    if given.ui is not None:
        served = stack.enter_context(query.ui(given.ui))
        print(f"the page of the run: {served.url}", file=sys.stderr)


def keep_page(given: argparse.Namespace, stopped: threading.Event) -> None:
    """Wait for Ctrl-C, if a page is served and Ctrl-C has not ended the run."""
    if given.ui is not None and not stopped.is_set():
        print("the run is over; the page stays until Ctrl-C", file=sys.stderr)
        stopped.wait()
