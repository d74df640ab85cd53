"""The engines that a flow runs on, with one way to ask them: plain data in parts, and results that can be compared."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import flo
from tests.spark.harness import cut, streamed, values
from tests.spark.simulated import as_plain, simulated

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Engine:
    """Runs flows: on values, on tables, in the tasks of Spark in this process, or on Spark."""

    name: str
    folder: Path
    """For checkpoints."""
    session: Any = None
    """Of Spark."""

    @property
    def cuts(self) -> tuple[int, ...]:
        """Into how many parts data is cut, one after the other: what takes long is run once."""
        return (1, 3) if self.name in ("values", "tables") else (2,)

    def run(self, flow: flo.Flow, data: Data, *, parts: int = 2, seed: int = 1) -> dict[str, Any]:
        """The outputs, as `comparable` gives them. Data comes in so many parts, and bounded inputs end."""
        found = ENGINES[self.name](self, flow, dict(data), parts, seed)
        return {name: comparable(value) for name, value in found.items() if name in flow._outputs}


def _on_values(engine: Engine, flow: flo.Flow, data: dict[str, Any], parts: int, seed: int) -> dict[str, Any]:
    return dict(_pushed(flow.loop(), flow, data, parts, seed).result())


def _on_tables(engine: Engine, flow: flo.Flow, data: dict[str, Any], parts: int, seed: int) -> dict[str, Any]:
    here = flow.on(flo.here)
    found = _pushed(here.loop(negative="allow"), flow, data, parts, seed).result()
    types = dict(zip(flow._outputs, here._output_types, strict=False))
    return {
        name: as_plain(types[name], value) if isinstance(value, pa.Table) else value for name, value in found.items()
    }


def _pushed(loop: Any, flow: flo.Flow, data: dict[str, Any], parts: int, seed: int) -> Any:
    rng = random.Random(seed)
    pieces = {name: cut(items, parts, rng) for name, items in data.items()}
    for number in range(parts):
        loop.push(**{name: cuts[number] for name, cuts in pieces.items()})
        loop.run()
    loop.end(*(stream.name for stream in flow._scope.inputs if stream.bounded))
    loop.run()
    return loop


def _in_tasks(engine: Engine, flow: flo.Flow, data: dict[str, Any], parts: int, seed: int) -> dict[str, Any]:
    return simulated(flow, data, engine.folder, parts=parts, shards=2, seed=seed).values()


def _on_spark(engine: Engine, flow: flo.Flow, data: dict[str, Any], parts: int, seed: int) -> dict[str, Any]:
    return values(streamed(engine.session, flow, data, engine.folder, parts=parts, shards=2, seed=seed))


ENGINES: dict[str, Callable[[Engine, flo.Flow, dict[str, Any], int, int], dict[str, Any]]] = {
    "values": _on_values,
    "tables": _on_tables,
    "tasks": _in_tasks,
    "spark": _on_spark,
}


def comparable(result: Any) -> Any:
    """A result of any engine as text in one order, with instants in UTC and one NaN."""
    if isinstance(result, dict):
        return sorted(((comparable(key), comparable(part)) for key, part in result.items()), key=repr)
    if isinstance(result, (set, frozenset)):
        return sorted((comparable(part) for part in result), key=repr)
    if isinstance(result, (list, tuple)):
        return [comparable(part) for part in result]
    if isinstance(result, datetime) and result.tzinfo is not None:
        return result.astimezone(UTC).isoformat()
    if isinstance(result, Decimal):
        return str(result.normalize())
    return repr(result)
