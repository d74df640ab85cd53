"""A flow as a program of shards: its plan, and the sinks of its outputs. Every engine of shards begins here.

    flow                        plan                           outputs, by how they are handled
    orders ─> group_by ─> sums  level 0: rows of orders        sums        "view"    kept in the state
           └> filter ─> large   stage 1: group_by, by key      large       "parts"   files of changes, for a sink

A sink is chosen for every output (`choose_sinks`), checked against the output (`outputs_for`), and bound to its rows
and their key (`bind_sinks`), in this order. Invariant: an output that retracts rows never has a sink without weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flo.api.running import expect_known
from flo.core.errors import CheckpointError, ElementError, TypeMismatch, brief
from flo.core.stream_type import StreamType
from flo.program.dag import Dag
from flo.program.retractions import Cause, find_append_only, find_retractions
from flo.shards.plan.planning import plan_stages
from flo.shards.plan.stages import MOST_SHARDS, Plan
from flo.shards.sinks.output_changes import DIVERTED
from flo.shards.sinks.sink_choice import expect_columns, expect_weights, sink_of
from flo.shards.sinks.sinks import Sink
from flo.shards.sinks.upserts import Upsert
from flo.shards.tasks.output_files import PARTS, Output
from flo.tables.io.diverted import SCHEMA
from flo.tables.operator import to_table_type, to_value_type

if TYPE_CHECKING:
    from flo.api.flow import Flow

AMOUNT = re.compile(r"(?P<number>\d+(\.\d+)?) ?(?P<unit>[kMGT])B")
LEAST_MEMORY = 10**6
"""The least memory for state, in bytes."""
SHARDS_WITHIN_MEMORY = 16
"""How many shards a query with a limit of memory has by default: the runs of a shard are merged in memory."""


def as_table(stream: StreamType) -> StreamType:
    """The type of an input of a program of shards."""
    return to_table_type(stream) or stream


def finish_as_table(stream: StreamType) -> StreamType:
    """The type of an output of a program of shards, which gives this."""
    return as_table(to_value_type(stream))


def expect_shards(shards: object) -> None:
    if shards is not None and (type(shards) is not int or not 1 <= shards <= MOST_SHARDS):
        raise ElementError(f"`shards` must be an integer from 1 to {MOST_SHARDS:,}; got {brief(shards)}")


def choose_shards(shards: int | None, parallel: int, memory: int | None) -> int:
    """Return how many shards a new checkpoint has: those that were asked for, or enough for what runs at once."""
    return shards or max(parallel, 1 if memory is None else SHARDS_WITHIN_MEMORY)


def expect_memory(memory: object) -> int | None:
    """Return a limit of memory in bytes, from text such as `4 GB`; None if there is no limit."""
    if memory is None:
        return None
    match = AMOUNT.fullmatch(memory) if isinstance(memory, str) else None
    limit = int(float(match["number"]) * 1000 ** (1 + "kMGT".index(match["unit"]))) if match is not None else 0
    if limit < LEAST_MEMORY:
        raise ElementError(
            f"`memory` must be an amount of at least {LEAST_MEMORY // 10**6} MB, as text; got {brief(memory)}",
            instead=(('memory="4 GB"', "or kB, MB, TB"),),
        )
    return limit


def checkpoint_folder(checkpoint: str | Path) -> str:
    """The folder of a checkpoint: a path, or a URL that Arrow reaches."""
    if not isinstance(checkpoint, (str, Path)) or not str(checkpoint):
        raise TypeMismatch(
            f"`checkpoint` must be a folder, as a path or a URL; got {brief(checkpoint)}",
            instead=(('checkpoint="state/orders"', "keeps the state; the next start continues from it"),),
        )
    where = str(checkpoint) if "://" in str(checkpoint) else str(Path(checkpoint).absolute())
    if Path(where).is_file():
        raise CheckpointError(f"the checkpoint must be a folder; {where!r} is a file")
    return where


class ShardedProgram:
    """A flow that is cut into stages."""

    def __init__(self, flow: Flow, dag: Dag) -> None:
        self.flow, self.dag = flow, dag
        self.plan = plan_stages(dag)
        self.streams = flow._outputs | flow._late()
        self.output_types = dict(zip(self.streams, dag.output_types, strict=True))

    def plan_for(self, causes: Mapping[str, Cause]) -> Plan:
        """The plan, if it is known of inputs why they can retract rows."""
        return self.plan.with_append_only(find_append_only(self.flow._identified(), causes))

    def plan_outputs(self, how: Mapping[str, str], to: Mapping[str, str | None] | None = None) -> list[Output]:
        """The outputs, each with how it is kept and where tasks write it."""
        streams = zip(self.output_types.items(), self.plan.outputs, strict=True)
        return [Output(name, stream, kind, how[name], (to or {}).get(name)) for (name, kind), stream in streams]

    def choose_sinks(self, given: Mapping[str, Any], inputs: Iterable[str], divert: bool) -> dict[str, Sink]:
        """The sinks of all outputs, with those for the rows that inputs divert, or that a table cannot hold."""
        if not isinstance(given, Mapping):
            raise TypeMismatch(
                f"`outputs` must have a sink for each output, by name; got {brief(given)}",
                instead=((f'{{"{next(iter(self.output_types))}": …}}', "a dict of sinks"),),
            )
        sinks = {name: sink_of(name, given.get(name)) for name in self.output_types}
        upserts = [name for name, sink in sinks.items() if isinstance(sink, Upsert)]
        diverted = [f"{name}{DIVERTED}" for name in dict.fromkeys([*inputs, *upserts])] if divert else []
        for name in given:
            if not divert and str(name).removesuffix(DIVERTED) in {*inputs, *upserts} - {name}:
                raise TypeMismatch(
                    f"the output `{name}` has rows only if they are diverted",
                    instead=(('start(…, on_error="divert")', "diverts rows that do not fit"),),
                )
            expect_known(name, dict.fromkeys([*sinks, *diverted]), "output")
        return sinks | {name: sink_of(name, given.get(name)) for name in diverted}

    def outputs_for(self, sinks: Mapping[str, Sink], causes: Mapping[str, Cause]) -> list[Output]:
        """The outputs as their sinks take them. Raises if one has no columns, or retractions that its sink would lose.

        `causes` says of inputs why they can retract rows."""
        outputs = self.plan_outputs(
            {name: sink.how for name, sink in sinks.items()},
            {name: sink.staging_path() for name, sink in sinks.items()},
        )
        for output in outputs:
            expect_columns(output)
        if not all(sinks[name].keeps_weight for name in self.output_types):
            given = [causes.get(stream.name) for stream in self.flow._scope.inputs]
            for name, cause in zip(self.output_types, find_retractions(self.flow._dag(), given), strict=True):
                if cause is not None:
                    expect_weights(name, sinks[name], cause)
        return outputs

    def bind_sinks(self, session: Any, sinks: Mapping[str, Sink], outputs: list[Output]) -> dict[str, Sink]:
        """The sinks of outputs with rows, which know the rows and their key. Raises if one cannot take them.

        `session` is Spark's; None in process."""
        names: dict[Any, str] = {}
        for name, sink in sinks.items():
            # tables take the diverted rows of several inputs
            place = sink.place if name in self.streams or sink.staging_path() is not None else None
            if place is not None and names.setdefault(place, name) != name:
                raise TypeMismatch(
                    f"the outputs `{names[place]}` and `{name}` have one sink, {sink.label}: each would replace "
                    "the rows of the other",
                    instead=(("another place", "for one of them"), ("one.union(other)", "one output with all rows")),
                )
            if name not in self.streams:
                sink.expect_columns(name, SCHEMA.names)
        bound = {
            each.name: sinks[each.name].bound(session, each, self.streams[each.name].key)
            for each in outputs
            if each.how == PARTS
        }
        diverted = {name: sink for name, sink in sinks.items() if name not in self.streams}
        return bound | {
            name: sink.for_diverted(session, name) for name, sink in diverted.items() if isinstance(sink, Upsert)
        }
