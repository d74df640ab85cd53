"""Writes the states of a changed program: each operator's from where it is kept, or from where it was filled.

    operator      before                  filled          after version 7, in the new stages
    join          stage 1, shard 0 at 5                   stage 1, shard 0 at 7     the same runs, linked
    group_by                              stage 1 at 3    stage 2, shard 0 at 7     the runs of the fill
    view sums     stage 1, shard 0 at 6                   stage 2, shard 0 at 7

States are terms in which runs are names, so nothing is computed: files are linked, and new manifests name them.

Invariant: the states before stay as they are until the version that names the new ones is committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from flo.core.checkpoint import encode
from flo.core.term import Term
from flo.core.untyped import Json, StateTerm
from flo.shards.checkpoint.commits import read_state_versions
from flo.shards.checkpoint.inspect import ShardTerms, read_state, runs_in
from flo.shards.evolution.comparison import ProgramComparison
from flo.shards.plan.stages import Plan, Stage
from flo.shards.tasks.output_files import VIEW, Output
from flo.shards.tasks.state import BLANK, StateVersions, store_of
from flo.tables.checkpoint.states import VertexState
from flo.tables.checkpoint.store import Store, Storing, run_file


@dataclass
class StoredStates:
    """The states of a version in a folder, by stage and shard."""

    where: str
    shards: int
    versions: Mapping[int, StateVersions]
    _read: dict[tuple[int, int], ShardTerms] = field(default_factory=dict, repr=False)

    @classmethod
    def at(cls, where: str, shards: int, version: int) -> StoredStates:
        """Those that a commit names; none if there is none."""
        return cls(where, shards, read_state_versions(where, version, shards) if version >= 0 else {})

    def shard(self, level: int, number: int) -> ShardTerms | None:
        """The state of a shard, or the one that it shares with others; None if there is none."""
        known = self.versions.get(level, StateVersions())
        number = number if number in known.shards else BLANK
        if known.version(number) < 0:
            return None
        if (level, number) not in self._read:
            store = store_of(self.where, self.shards, level, number)
            self._read[level, number] = read_state(store, known.version(number))
        return self._read[level, number]

    def every(self, number: int) -> Iterator[tuple[int, ShardTerms]]:
        """The states of a shard in all stages."""
        for level in self.versions:
            read = self.shard(level, number)
            if read is not None:
                yield level, read

    @property
    def ended(self) -> set[str]:
        """The names of all deliveries that have ended."""
        return {name for each in self.versions.values() for name in each.ended}


@dataclass
class Switch:
    """Moves a checkpoint to the stages of a changed program."""

    compared: ProgramComparison
    plan: Plan
    outputs: list[Output]
    before: StoredStates
    filled: StoredStates
    fill_levels: Mapping[str, int]
    """The stage of the fill program that has an operator."""
    version: int
    """The version to write."""

    def write(self) -> dict[int, StateVersions]:
        """Writes the states of all stages; returns where they are."""
        return {stage.level: self._write_stage(stage) for stage in self.plan.stages}

    def _write_stage(self, stage: Stage) -> StateVersions:
        ids = [vertex.id for vertex in stage.dag.vertices]
        views = [each for each in self.outputs if each.how == VIEW and each.stream in stage.outputs]
        homes = {each: self._home(each) for each in ids}
        known = {each: source.versions.get(level, StateVersions()) for each, (source, level) in homes.items()}
        shards = {0}.union(*(of.shards for of in known.values()))
        for view in views:
            source = self._source_of_view(view)
            shards |= {n for level in source.versions for n in source.versions[level].shards if self._view(view, n)}
        ended = [each.name for each in stage.inputs if self._has_ended(each.name, each.how)]
        numbers = sorted(shards) + ([BLANK] if len(shards) < self.before.shards else [])
        for number in numbers:
            self._write_shard(stage, number, views, ended)
        blank = self.version if BLANK in numbers else -1
        hot = {each: of.hot[each] for each, of in known.items() if each in of.hot}
        new_hot = {each: of.new_hot[each] for each, of in known.items() if each in of.new_hot}
        return StateVersions(dict.fromkeys(sorted(shards), self.version), blank, frozenset(ended), hot, new_hot)

    def _home(self, vertex_id: str) -> tuple[StoredStates, int]:
        """Where the state of an operator is, and in which stage; in none if it is as at first."""
        if vertex_id in self.compared.kept:
            return self.before, self.compared.levels[vertex_id]
        if vertex_id in self.fill_levels:
            return self.filled, self.fill_levels[vertex_id]
        return self.before, -1

    def _write_shard(self, stage: Stage, number: int, views: list[Output], ended: list[str]) -> None:
        store = store_of(self.before.where, self.before.shards, stage.level, number)
        storing = Storing(store)
        states: list[Term] = []
        for vertex in stage.dag.vertices:
            source, level = self._home(vertex.id)
            read = source.shard(level, number)
            state = read.states.get(vertex.id) if read is not None else None
            if read is None or state is None:
                state = VertexState(vertex.id, vertex.operator.name, {}, {})
            else:
                self._add_runs(storing, read.store, state.term())
            states.append(state.term())
        kept: list[tuple[str, Term]] = []
        described: dict[str, Json] = {}
        counts: dict[str, int] = {}
        for view in sorted(views, key=lambda each: each.name):
            read = self._view(view, number)
            if read is None:
                continue
            described[view.name] = read.more["views"].get(view.name)
            if view.name in read.more["counts"]:
                counts[view.name] = read.more["counts"][view.name]
            if view.name in read.views:
                self._add_runs(storing, read.store, read.views[view.name])
                kept.append((view.name, read.views[view.name]))
        more = self._record(stage, number, ended)
        more |= {"counts": counts, "views": {name: each for name, each in described.items() if each is not None}}
        store.write(self.version, encode((tuple(states), tuple(kept))), storing, more)

    def _source_of_view(self, view: Output) -> StoredStates:
        return self.before if view.name in self.compared.same_outputs else self.filled

    def _view(self, view: Output, number: int) -> ShardTerms | None:
        """The shard that has the view's part; None if none has."""
        source = self._source_of_view(view)
        for level, versions in source.versions.items():
            read = source.shard(level, number) if number in versions.shards or number == BLANK else None
            if read is not None and (view.name in read.views or view.name in read.more["views"]):
                return read
        return None

    def _add_runs(self, storing: Storing, source: Store, term: StateTerm) -> None:
        """Links the runs that a term names into the new store."""
        target = storing.store
        assert isinstance(target, Store)
        for _, name in runs_in(term):
            if str(source.folder) != str(target.folder):
                target.folder.add_from(source.folder, run_file(name))
            storing.held.add(name)

    def _record(self, stage: Stage, number: int, ended: list[str]) -> Json:
        """The rest of the shard record: what has ended, and the positions that ordered deliveries have reached."""
        names = {each.name for each in stage.inputs}
        done: set[str] = set()
        reached: dict[str, Json] = {}
        read_by = (read.more["source"] for each in (self.before, self.filled) for _, read in each.every(number))
        by = next(filter(None, read_by), "")
        for source in (self.filled, self.before):
            for _, read in source.every(number):
                done |= set(read.more["done"])
                if read.more["source"] == by:  # the positions of another source say nothing of rows to come
                    reached |= {name: at for name, at in read.more["reached"].items() if name in names}
        return {"ended": sorted(ended), "done": sorted(done & set(stage.names)), "reached": reached, "source": by}

    def _has_ended(self, delivery: str, how: str) -> bool:
        """Whether a delivery has ended: it has, or another one of its stream."""
        stream = delivery.partition(f" {how}")[0]
        every = self.before.ended | self.filled.ended
        return any(name.startswith(f"{stream} ") for name in every)
