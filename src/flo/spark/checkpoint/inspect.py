"""Checkpoints without their program: what they hold, and whether all of it is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from flo.core.checkpoint import decode, encode
from flo.core.errors import CheckpointError
from flo.core.term import Call, Term
from flo.spark.checkpoint.files import ABOUT, about, committed, read_commits, standing_at
from flo.spark.checkpoint.lease import epochs, read_lease
from flo.spark.checkpoint.offsets import SPARK, problems_of_offsets
from flo.spark.tasks import arriving
from flo.spark.tasks.state import Standing, place_of, state_of
from flo.tables.checkpoint.store import MENDING, PARTS, Store


@dataclass(frozen=True)
class Held:
    """What an operator or a view holds in one shard."""

    level: int
    shard: int
    label: str
    """Tells it from the others of its stage."""
    name: str
    line: str = ""
    where: str = ""
    rows: int = 0
    """Of tables; what is kept as values has none."""
    bytes: int = 0


class Checkpoint:
    """A checkpoint as it is on disk."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.about: Any = about(where)
        if self.about is None:
            raise CheckpointError(f"there is no checkpoint in {where!r}: it would have a file `{ABOUT}`")
        self.shards = int(self.about["shards"])

    def versions(self) -> list[int]:
        """Those that are committed, as they were written."""
        return read_commits(self.where)

    def store(self, level: int, shard: int) -> Store:
        return Store(state_of(self.where, self.shards).within(place_of(level, shard)))

    def standing(self, version: int) -> dict[int, Standing]:
        """Where the states of a committed version are, by level."""
        standing = standing_at(self.where, version, self.shards)
        if any(stage["level"] not in standing for stage in self.about["stages"]):
            raise _of_another_program(version, self.where)
        return standing

    def states(self, version: int) -> Iterator[tuple[Any, int, Store, int]]:
        """Every state of a committed version: its stage, its shard, where it is, and the version that it is of there.
        What shards share that were sent nothing yet is one of them."""
        standing = self.standing(version)
        for stage in self.about["stages"]:
            for shard, changed in standing[stage["level"]].states():
                yield stage, shard, self.store(stage["level"], shard), changed

    def held(self, version: int) -> Iterator[Held]:
        """What operators and views hold at a version, shard by shard."""
        for stage, shard, store, changed in self.states(version):
            graph, views = read_state(stage, store, changed)
            sizes = {name: size for name, (size, _) in store.folder.files(PARTS).items()}
            first: Any = decode(bytes.fromhex(stage["initial"]))
            for place, states in enumerate(zip(nodes_in(graph), nodes_in(first[0]), strict=True)):
                none = Held(stage["level"], shard, f"operator {place}", **stage["operators"][place])
                yield _measured(none, *states, store, sizes)
            for name, view in views:
                none = Held(stage["level"], shard, f"view {name}", name, where="view")
                yield _measured(none, view, None, store, sizes)

    def problems(self) -> Iterator[str]:
        """What is missing, truncated or altered, with the file's name."""
        wanted: dict[tuple[int, int], dict[int, int]] = {}
        stages = {stage["level"]: stage for stage in self.about["stages"]}
        newest = max(committed(self.where), default=None)
        for version in committed(self.where):
            faults = list(_wrong(lambda version=version: self.standing(version)))
            yield from faults
            for stage, shard, _, changed in () if faults else self.states(version):
                wanted.setdefault((stage["level"], shard), {}).setdefault(changed, version)
        for (level, shard), versions in wanted.items():
            store = self.store(level, shard)
            numbers = store.numbers()
            for changed, version in versions.items():
                if changed not in numbers:
                    yield f"the version {version} is committed, and {place_of(level, shard)} does not have it"
            for number in numbers:
                yield from self._problems_at(stages[level], store, number)
        for epoch in epochs(self.where):
            yield from _wrong(lambda epoch=epoch: read_lease(self.where, epoch))
        for name in arriving.inputs(self.where):
            yield from _wrong(lambda name=name: arriving.put_aside(self.where, name, newest or 0))
        for problem in problems_of_offsets(f"{self.where}/{SPARK}", newest):
            yield _line(problem)

    def _problems_at(self, stage: Any, store: Store, number: int) -> Iterator[str]:
        faults = list(_wrong(lambda: read_state(stage, store, number)))
        yield from faults
        if faults:
            return
        named = {name: columns for columns, name in runs_in(read_state(stage, store, number))}
        for name in store.manifest(number)["runs"]:
            columns = named.pop(name, None)
            if columns is None:
                yield f"{store.folder}: the manifest of version {number} names `{name}`, and its state does not"
            else:
                yield from _wrong(lambda columns=columns, name=name: store.get(columns, name))
        yield from (
            f"{store.folder}: the state of version {number} names `{name}`, not so its manifest" for name in named
        )


def _wrong(look: Any) -> Iterator[str]:
    try:
        look()
    except CheckpointError as error:
        yield _line(error)


def _line(error: CheckpointError) -> str:
    return ": ".join([*(str(text) for label, text in error.facts if label == "folder"), error.summary])


def _measured(none: Held, term: Term, initial: Term, store: Store, sizes: dict[str, int]) -> Held:
    """With the rows and bytes of its runs, and the bytes of what else it holds."""
    if term == initial:
        return none
    runs = list(runs_in(term))
    rows = sum(store.get(columns, name).rows for columns, name in runs)
    size = len(encode(term)) + sum(sizes.get(f"{name}.arrow", 0) for _, name in set(runs))
    return replace(none, rows=rows, bytes=size)


def read_state(stage: Any, store: Store, version: int) -> tuple[Term, tuple[tuple[str, Term], ...]]:
    """The graph and the views of a stage, as they were written."""
    term: Any = decode(store.read(version)[0])
    if len(nodes_in(term[0])) != len(stage["operators"]):
        raise _of_another_program(version, str(store.folder))
    return term[0], term[1]


def _of_another_program(version: int, where: str) -> CheckpointError:
    return CheckpointError(
        f"the state of version {version} is not of the program that `{ABOUT}` is of",
        facts=(("folder", where),),
        instead=MENDING,
    )


def nodes_in(graph: Term) -> list[Call]:
    """Every {S}[op], left to right."""
    match graph:
        case Call(";" | "|", (left, right)):
            return nodes_in(left) + nodes_in(right)
        case Call("{}[]"):
            return [graph]
    raise CheckpointError("the state holds something else than a graph")


def runs_in(term: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """The columns of the key, and the name, of every run that a term names."""
    match term:
        case Call("stored", (columns, str(name))):
            yield tuple(columns), name
        case Call("stored_rows", (_, name, _)):
            if name is not None:
                yield (), name
        case Call("stored_keyed_rows", (_, rows, keys, _)):
            yield from (((), name) for name in (rows, keys) if name is not None)
        case Call(_, parts) | tuple(parts):
            for part in parts:
                yield from runs_in(part)
