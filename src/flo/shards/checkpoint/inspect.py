"""Reading a checkpoint without its program: sizes of states, and missing or damaged files.

    Checkpoint(where).sizes(7)          stage  shard  operator     rows   bytes
                                        1      0      group_by     120    9 kB
                                        1      3      group_by     98     8 kB
                                        1      0      view sums    120    4 kB

    Checkpoint(where).problems()        "version 7 is committed, but its state is missing in 01/00003"

A state is read as a *term*: calls with names, in which runs are named (`runs_in`). So the classes and functions of the
program are not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from flo.core.checkpoint import decode, encode
from flo.core.errors import CheckpointError
from flo.core.term import Call, Term
from flo.core.untyped import Json, StateTerm
from flo.shards.checkpoint.commits import committed_versions, read_state_versions, verified_versions
from flo.shards.checkpoint.lease import epochs, read_lease
from flo.shards.checkpoint.program_changes import DESCRIPTION, expect_description, read_description
from flo.shards.checkpoint.spark_logs import ResumedBatches, find_log_problems
from flo.shards.checkpoint.spark_offsets import spark_folder
from flo.shards.tasks.output_files import inputs_with_diverted_rows, read_diverted
from flo.shards.tasks.state import StateVersions, shard_path, store_of
from flo.tables.checkpoint.states import VertexState
from flo.tables.checkpoint.store import MENDING, PARTS, STATES, Store, run_file
from flo.tables.state.panes import Panes


@dataclass(frozen=True)
class StateSize:
    """The size of what an operator or a view holds in one shard."""

    level: int
    shard: int
    id: str
    """The id of the operator, or the name of the view."""
    name: str
    line: str = ""
    where: str = ""
    bound: str = ""
    """What bounds it, or that it grows."""
    rows: int = 0
    """Rows of tables. State that is Python values counts 0."""
    bytes: int = 0


class StoredState(NamedTuple):
    """The state of a shard, as a committed version names it."""

    stage: Json
    """The description of the stage."""
    shard: int
    store: Store
    version: int
    """The version of the micro-batch that last changed it."""


class Checkpoint:
    """A checkpoint as it is on disk."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.description: Json = expect_description(where)
        self._described: dict[int, Json] = {}

    def versions(self) -> list[int]:
        """The committed versions. Raises if a commit is damaged."""
        return verified_versions(self.where)

    def described(self, version: int) -> Json:
        """The description of the program that has written a version."""
        if version not in self._described:
            self._described[version] = read_description(self.where, version)
        return self._described[version]

    def shards(self, version: int) -> int:
        """The number of shards of a version."""
        return int(self.described(version)["shards"])

    def store(self, version: int, level: int, shard: int) -> Store:
        """The store of a shard's states, at a version."""
        return store_of(self.where, self.shards(version), level, shard)

    def state_versions(self, version: int) -> dict[int, StateVersions]:
        """The state versions of a committed version, by level of the stage."""
        versions = read_state_versions(self.where, version, self.shards(version))
        if any(stage["level"] not in versions for stage in self.described(version)["stages"]):
            raise _of_another_program(version, self.where)
        return versions

    def states(self, version: int) -> Iterator[StoredState]:
        """Every state of a committed version. The state that unused shards share is one of them."""
        versions = self.state_versions(version)
        for stage in self.described(version)["stages"]:
            for shard, changed in versions[stage["level"]].states():
                yield StoredState(stage, shard, self.store(version, stage["level"], shard), changed)

    def sizes(self, version: int) -> Iterator[StateSize]:
        """The sizes of all operators and views at a version, by shard."""
        for stage, shard, store, changed in self.states(version):
            state = read_state(store, changed, stage)
            files = {name: size for name, (size, _) in store.folder.files(PARTS).items()}
            for vertex_id, described in stage["operators"].items():
                said = {name: described[name] for name in ("name", "line", "where", "bound")}
                none = StateSize(stage["level"], shard, vertex_id, **said)
                own = state.states[vertex_id]
                yield none if own.is_initial else _measure(none, own.term(), store, files)
            for name, view in state.views.items():
                none = StateSize(stage["level"], shard, f"view {name}", name, where="view", bound="its rows")
                yield _measure(none, view, store, files)

    def problems(self) -> Iterator[str]:
        """Files that are missing, truncated or altered, one line each."""
        wanted: dict[str, dict[int, int]] = {}
        stores: dict[str, Store] = {}
        names: dict[str, str] = {}
        stages: dict[tuple[str, int], Json] = {}
        newest = max(committed_versions(self.where), default=None)
        for version in committed_versions(self.where):
            problems = list(_try(self.state_versions, version))
            yield from problems
            for stage, shard, store, changed in () if problems else self.states(version):
                place = str(store.folder)
                wanted.setdefault(place, {}).setdefault(changed, version)
                stores[place], stages[place, changed] = store, stage
                names[place] = shard_path(stage["level"], shard)
        for place, versions in wanted.items():
            numbers = stores[place].numbers()
            for changed, version in versions.items():
                if changed not in numbers:
                    yield f"version {version} is committed, but its state is missing in {names[place]}"
            for number in numbers:
                yield from self._problems_at(stages.get((place, number)), stores[place], number)
        for epoch in epochs(self.where):
            yield from _try(read_lease, self.where, epoch)
        for name in inputs_with_diverted_rows(self.where):
            yield from _try(read_diverted, self.where, name, newest or 0)
        with suppress(CheckpointError):  # a damaged commit was named above
            last = None if newest is None else ResumedBatches.after(self.where, newest).last
            for problem in find_log_problems(spark_folder(self.where, self.description), last):
                yield _line(problem)

    def _problems_at(self, stage: Json, store: Store, number: int) -> Iterator[str]:
        """The problems of one state of a shard, and of the runs that it names."""
        problems = list(_try(read_state, store, number, stage))
        yield from problems
        if problems:
            return
        named = {name: columns for columns, name in runs_in(decode(store.read(number)[0]))}
        for name in store.manifest(number)["runs"]:
            columns = named.pop(name, None)
            if columns is None:
                yield f"{store.folder}: the manifest of version {number} names the run `{name}`, but the state does not"
            else:
                yield from _try(store.get, columns, name)
        for name in named:
            yield f"{store.folder}: the state of version {number} names the run `{name}`, but the manifest does not"


class StateSizes:
    """The bytes of the states of a checkpoint, as far as they were asked for, from the files that a version names.

    A state does not change under its version, so only shards that have changed are looked at."""

    def __init__(self, where: str, shards: int) -> None:
        self.where, self.shards = where, shards
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        """By level and shard, the version of the state and its bytes."""

    def at(self, versions: Mapping[int, StateVersions]) -> dict[int, int]:
        """The bytes of state by level."""
        return {level: sum(self._sizes(level, each)) for level, each in sorted(versions.items())}

    def _sizes(self, level: int, versions: StateVersions) -> list[int]:
        """The bytes of each state of a stage."""
        for shard, version in versions.states():
            known, _ = self._known.get((level, shard), (-1, 0))
            if known != version:
                self._known[level, shard] = version, self._size(level, shard, version)
        return [self._known[level, shard][1] for shard, _ in versions.states()]

    def _size(self, level: int, shard: int, version: int) -> int:
        """The bytes of one state: its own file, and those of its runs."""
        store = store_of(self.where, self.shards, level, shard)
        manifest = store.manifest(version)
        runs = {f"{PARTS}/{name}": size for name, (size, _) in store.folder.files(PARTS).items()}
        states = {name: size for name, (size, _) in store.folder.files(STATES).items()}
        return states.get(manifest["state"], 0) + sum(runs.get(run_file(name), 0) for name in manifest["runs"])


def _try(read: Callable[..., object], *arguments: object) -> Iterator[str]:
    """The problem that reading something meets, if any."""
    try:
        read(*arguments)
    except CheckpointError as error:
        yield _line(error)


def _line(error: CheckpointError) -> str:
    """An error as one line, with the folder that it is about."""
    return ": ".join([*(str(text) for label, text in error.facts if label == "folder"), error.summary])


def _measure(none: StateSize, term: Term, store: Store, sizes: dict[str, int]) -> StateSize:
    """Adds the rows and bytes of the runs that a term names, and the bytes of the term itself."""
    runs = list(runs_in(term))
    rows = _rows_of(without_merges(term), store)
    size = len(encode(term)) + sum(sizes.get(f"{name}.arrow", 0) for _, name in set(runs))
    return replace(none, rows=rows, bytes=size)


def _rows_of(term: StateTerm, store: Store) -> int:
    """How many rows a term holds. The runs of open windows may also have rows that are gone."""
    match term:
        case Call(Panes.term, (_, runs, left, *_)) if len(left) == len(runs):
            return sum(left)
        case Call("stored" | "stored_rows" | "stored_keyed_rows"):
            return sum(store.get(columns, name).rows for columns, name in runs_in(term))
        case Call(_, parts) | tuple(parts):
            return sum(_rows_of(part, store) for part in parts)
    return 0


def without_merges(term: StateTerm) -> StateTerm:
    """A term without the parts of merges that have begun, whose rows are in the runs as well."""
    match term:
        case Call("merge"):
            return ()
        case Call(name, parts):
            return Call(name, tuple(map(without_merges, parts)))
        case tuple(parts):
            return tuple(map(without_merges, parts))
    return term


class ShardTerms(NamedTuple):
    """The state of a shard of a stage, as terms."""

    store: Store
    states: dict[str, VertexState]
    """By the ids of their vertices."""
    views: dict[str, Term]
    more: Json
    """The rest of the shard record."""


def read_state(store: Store, version: int, stage: Json = None) -> ShardTerms:
    """The state of a shard. Raises unless it is of the operators of this stage, if that is known."""
    state, more = store.read(version)
    term: StateTerm = decode(state)
    states = {each.id: each for each in map(VertexState.of, term[0])}
    if stage is not None and states.keys() != stage["operators"].keys():
        raise _of_another_program(version, str(store.folder))
    return ShardTerms(store, states, dict(term[1]), more)


def _of_another_program(version: int, where: str) -> CheckpointError:
    return CheckpointError(
        f"the state of version {version} does not belong to the program that `{DESCRIPTION}` describes",
        facts=(("folder", where),),
        instead=MENDING,
    )


def runs_in(term: StateTerm) -> Iterator[tuple[tuple[str, ...], str]]:
    """The key columns and the name of every run that a term names."""
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
