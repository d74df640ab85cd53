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
from tests.harness import keeping_all_digits
from tests.spark.harness import cut, fed, streamed, values
from tests.spark.simulated import Simulated, as_plain, simulated

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

    def run_deltas(self, flow: flo.Flow, deltas: list[Data]) -> list[dict[str, Any]]:
        """The outputs after each delta, or on Spark after the last. Bounded inputs end after the last, but in tasks and
        on Spark, where they come first, as a whole."""
        found = BY_DELTA[self.name](self, flow, deltas)
        return [{name: comparable(each[name]) for name in flow._outputs} for each in found]


def _on_values(engine: Engine, flow: flo.Flow, data: dict[str, Any], parts: int, seed: int) -> dict[str, Any]:
    return dict(_pushed(flow.loop(negative="allow"), flow, data, parts, seed).result())


def _on_tables(engine: Engine, flow: flo.Flow, data: dict[str, Any], parts: int, seed: int) -> dict[str, Any]:
    here = flow.on(flo.here)
    with keeping_all_digits():
        return _plain(flow, here, _pushed(here.loop(negative="allow"), flow, data, parts, seed).result())


def _plain(flow: flo.Flow, here: Any, found: Data) -> dict[str, Any]:
    types = dict(zip(flow._outputs, here._dag.output_types, strict=False))
    return {
        name: as_plain(types[name], value) if isinstance(value, pa.Table) else value for name, value in found.items()
    }


def _pushed(loop: Any, flow: flo.Flow, data: dict[str, Any], parts: int, seed: int) -> Any:
    rng = random.Random(seed)
    pieces = {name: cut(items, parts, rng) for name, items in data.items()}
    for number in range(parts):
        loop.push(**{name: cuts[number] for name, cuts in pieces.items()})
        loop.run()
    loop.end(*_bounded(flow))
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


def _deltas_on_values(engine: Engine, flow: flo.Flow, deltas: list[Data]) -> list[Data]:
    return _pushed_each(flow.loop(negative="allow"), flow, deltas)


def _deltas_on_tables(engine: Engine, flow: flo.Flow, deltas: list[Data]) -> list[Data]:
    here = flow.on(flo.here)
    with keeping_all_digits():
        return [_plain(flow, here, found) for found in _pushed_each(here.loop(negative="allow"), flow, deltas)]


def _pushed_each(loop: Any, flow: flo.Flow, deltas: list[Data]) -> list[Data]:
    found = []
    for number, delta in enumerate(deltas, start=1):
        loop.push(**delta)
        loop.run()
        if number == len(deltas):
            loop.end(*_bounded(flow))
            loop.run()
        found.append(dict(loop.result()))
    return found


def _bounded(flow: flo.Flow) -> list[str]:
    return [stream.name for stream in flow._scope.inputs if stream.bounded]


def _deltas_in_tasks(engine: Engine, flow: flo.Flow, deltas: list[Data]) -> list[Data]:
    query, found = Simulated(flow, engine.folder, shards=2, seed=1), []
    started = dict.fromkeys(deltas[0], 0)
    for given in _bounded_first(flow, deltas):
        query.turn(given, started=started)
        started = {name: start + len(given.get(name, ())) for name, start in started.items()}
        found.append(query.values())
    return found


def _deltas_on_spark(engine: Engine, flow: flo.Flow, deltas: list[Data]) -> list[Data]:
    pieces = {name: [each.get(name, []) for each in _bounded_first(flow, deltas)] for name in deltas[0]}
    query = fed(engine.session, flow, pieces, engine.folder, shards=2)
    return [{name: query.view(name).value() for name in flow._outputs}]


def _bounded_first(flow: flo.Flow, deltas: list[Data]) -> list[Data]:
    """The deltas, with all data of bounded inputs in the first."""
    bounded, whole = _bounded(flow), add_deltas(deltas)
    later = [{name: more for name, more in delta.items() if name not in bounded} for delta in deltas]
    return [later[0] | {name: whole[name] for name in bounded}, *later[1:]]


def add_deltas(deltas: list[Data]) -> Data:
    """All deltas in one."""
    whole = dict(deltas[0])
    for delta in deltas[1:]:
        for name, more in delta.items():
            whole[name] = _add(whole[name], more)
    return whole


def _add(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        weights = {element: one.get(element, 0) + other.get(element, 0) for element in one | other}
        return {element: weight for element, weight in weights.items() if weight}
    return one | other if isinstance(one, (set, frozenset)) else [*one, *other]


BY_DELTA: dict[str, Callable[[Engine, flo.Flow, list[Data]], list[Data]]] = {
    "values": _deltas_on_values,
    "tables": _deltas_on_tables,
    "tasks": _deltas_in_tasks,
    "spark": _deltas_on_spark,
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
