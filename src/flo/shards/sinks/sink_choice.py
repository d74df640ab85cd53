"""The sink of an output: which the user means, and whether it can take the changes of the output.

    given                            sink
    nothing, or "view"               ViewSink
    "changes:/data/sums"             Changes("/data/sums")
    lambda changes, version: …       Callback
    flo.spark.Upsert(…)              itself

Invariant: an output that retracts rows has a sink that keeps weights, and an output whose sink takes rows has columns.
"""

from __future__ import annotations

from flo.core.errors import TypeMismatch, brief
from flo.program.retractions import Cause
from flo.shards.sinks.sinks import Callback, Changes, Console, Memory, Nowhere, Sink, ViewSink
from flo.shards.sinks.upserts import Upsert
from flo.shards.tasks.output_files import PARTS, Output
from flo.tables.io.files import WEIGHTS
from flo.tables.values import Columns

SINKS: list[type[Sink]] = [ViewSink, Changes, Upsert, Callback, Memory, Console, Nowhere]
"""The kinds of sinks. Spark adds its own."""
WORDS = {kind.word: kind for kind in SINKS if kind.word}


def sink_of(name: str, given: object) -> Sink:
    """Returns the sink that the user gave for an output."""
    if given is None:
        return ViewSink()
    if isinstance(given, Sink):
        return given
    if isinstance(given, str) and (word := given.partition(":"))[0] in WORDS:
        return WORDS[word[0]].of_text(word[2])
    if callable(given):
        return Callback(given)
    raise TypeMismatch(
        f"the output `{name}` must have a sink; got {brief(given)}",
        instead=tuple(kind.about for kind in SINKS),
    ).at_users_line()


def expect_columns(output: Output) -> None:
    """Rejects a sink of changes for an output without columns, whose changes are not rows."""
    if output.how == PARTS and not isinstance(output.type.collection, Columns):
        raise TypeMismatch(
            f"the output `{output.name}` is {output.type}, which has no columns: sinks take rows",
            instead=(('"view"', "kept, and read by query.view(name)"), ('"noop"', "counted only")),
        )


def expect_weights(name: str, sink: Sink, cause: Cause) -> None:
    """Rejects a sink that does not keep weights for an output that retracts rows."""
    if sink.keeps_weight:
        return
    where = f", at {cause.origin}: {cause.origin.text}" if cause.origin is not None else ""
    raise TypeMismatch(
        f"the output `{name}` retracts rows, but its sink {sink.label} would write each retraction as one more row",
        facts=((cause.name, f"{cause.why}{where}"), (sink.label, f"does not keep the column `{WEIGHTS}`")),
        instead=(
            *sink.suggest_weights(),
            ("flo.spark.Upsert(kind, target)", "rows replaced and deleted by their keys, in a table or a topic"),
            ("flo.spark.Changes(path)", f"Parquet files of changes, with their `{WEIGHTS}`"),
            ('"view"', "kept up to date, and read by query.view(name)"),
            ("lambda changes, version: …", f"a function that gets changes with their `{WEIGHTS}`"),
        ),
    )
