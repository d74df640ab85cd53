"""Views in a checkpoint, read without the program: which there are, at which versions, and how tasks read them.

The commit of a version names a state for each shard. The manifest of a state says which runs hold its part of a view:

    commit 7 ─> stage 1, shard 0 at 7 ─> manifest ─> view sums: runs r1, r3
             └> stage 1, shard 3 at 5 ─> manifest ─> view sums: run r4

    StoredView("sums", 7).parts()       tasks read r1, r3 and r4, each a range of key numbers (tasks/view_parts.py)

Invariant: a view is what the rows of all of its runs add up to. The changes between two versions are in the runs that
only one of them has.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pyarrow as pa

from flo.columns.narrowing import unmarked
from flo.core.errors import CheckpointError, UnknownNameError
from flo.core.untyped import Json
from flo.shards.checkpoint.commits import committed_versions, format_versions, name_line, read_state_versions
from flo.shards.checkpoint.program_changes import BACKS, expect_description, read_shards
from flo.shards.tasks.output_files import VIEW
from flo.shards.tasks.state import store_of
from flo.shards.tasks.view_parts import ALL, StoredRun, ViewPart, change_schema, with_nullable_parts
from flo.tables.checkpoint.folders import Folder
from flo.tables.checkpoint.store import PARTS, run_file

PART_BYTES = 32 << 20
"""How many bytes of files a part has, about."""


@dataclass(frozen=True)
class StoredView:
    """A view at a version: the runs of all its shards."""

    name: str
    version: int
    kind: str
    columns: tuple[str, ...]
    schema: pa.Schema
    shards: tuple[tuple[Folder, tuple[str, ...]], ...] = field(repr=False)
    """The folder of each shard, and the names of its runs."""

    @classmethod
    def read(cls, where: str, name: str, version: int, shards: int) -> StoredView | None:
        """The view of that name; None if no shard has rows of it: the output has no columns, or is not a view."""
        views: list[tuple[Folder, Json]] = []
        for level, versions in read_state_versions(where, version, shards).items():
            for shard, changed in versions.states():
                store = store_of(where, shards, level, shard)
                view = store.manifest(changed)["more"]["views"].get(name)
                if view is not None:
                    views.append((store.folder, view))
        if not views:
            return None
        first = views[0][1]
        stated = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(first["schema"])))
        schema = pa.schema([field.with_type(with_nullable_parts(field.type)) for field in stated])
        each = tuple((store, tuple(view["runs"])) for store, view in views)
        return cls(name, version, first["kind"], tuple(first["columns"]), schema, each)

    def in_state(self) -> StoredView:
        """The view with the columns that the state has, not those that users get."""
        return replace(self, schema=unmarked(self.schema))

    @property
    def runs(self) -> Counter[StoredRun]:
        """Its runs. The same rows may have come several times, each time as a run of the same name."""
        return Counter(StoredRun(str(store), run) for store, runs in self.shards for run in runs)

    def parts(self, since: StoredView | None = None) -> list[ViewPart]:
        """The parts that tasks read: of the rows, or of the changes since an earlier version. A small view has one."""
        runs, before = self.runs, since.runs if since is not None else Counter[StoredRun]()
        if self.kind != "Set":  # what was added again to a set is not a change: all of its rows are compared
            runs, before = runs - before, before - runs
        if not runs and not before:
            return []
        count = 1 if self.kind == "Sequence" else self._count_parts({*runs, *before})
        edges = [ALL * place // count for place in range(count + 1)]
        added, removed = (tuple(sorted(each.elements(), key=str)) for each in (runs, before))
        return [
            ViewPart(self.kind, self.columns, self.schema, added, removed, low, high) for low, high in pairwise(edges)
        ]

    def _count_parts(self, runs: set[StoredRun]) -> int:
        """Each part reads all files, so there are at most as many as shards."""
        size = 0
        for store, _ in self.shards:
            files = store.files(PARTS)
            for run in runs:
                if run.folder == str(store):
                    size += files.get(run_file(run.name).removeprefix(f"{PARTS}/"), (0, 0.0))[0]
        return max(1, min(len(self.shards), size // PART_BYTES))


class StoredViews:
    """The views of a checkpoint, as readers see them."""

    def __init__(self, where: str) -> None:
        description = expect_description(where)
        self.where = where
        self.id = str(description.get("id", where))
        self._backs = tuple(description.get(BACKS, ()))
        self.names = [name for name, how in description["outputs"].items() if how == VIEW]
        self._outputs = list(description["outputs"])

    def id_at(self, version: int) -> str:
        """Identifies what a version is: a number is used again after the checkpoint went back."""
        return name_line(self.id, self._backs, version)

    def versions(self) -> list[int]:
        """The versions that can be read, in order. Raises if there is none."""
        versions = committed_versions(self.where)
        if not versions:
            raise CheckpointError(f"no micro-batch is committed yet in {self.where!r}")
        return versions

    def view(self, name: str, version: int | None = None) -> StoredView:
        """A view at the newest version, or at one that is still kept."""
        if name not in self.names:
            has = "an output with another sink" if name in self._outputs else "unknown"
            raise UnknownNameError(
                f"the checkpoint has no view `{name}`: it is {has}",
                facts=(("views", ", ".join(self.names) or "none"), ("checkpoint", self.where)),
            )
        versions = self.versions()
        if version is not None and version not in versions:
            raise version_error(self.where, name, version, versions)
        version = versions[-1] if version is None else version
        view = StoredView.read(self.where, name, version, read_shards(self.where, version))
        if view is None:
            raise UnknownNameError(
                f"the view `{name}` has no columns, so it has no rows to read",
                instead=((f'query.view("{name}").value()', "its value, while the query runs"),),
            )
        return view

    def schema(self, view: str, version: int | None) -> pa.Schema:
        """The columns of a view, and `_weight`."""
        return change_schema(self.view(view, version).schema)

    def parts(self, view: str, after: int, upto: int | None) -> tuple[list[ViewPart], set[int]]:
        """The parts with the changes after a version up to another, by default the newest; and the versions needed."""
        wanted = self.view(view, upto)
        before = self.view(view, after) if after >= 0 else None
        return wanted.parts(before), {each.version for each in (wanted, before) if each is not None}


def version_error(where: str, name: str, version: int, versions: list[int]) -> CheckpointError:
    """The error for a version that cannot be read: it is removed, or not committed yet."""
    why = "is not committed yet" if version > versions[-1] else "is no longer kept"
    return CheckpointError(
        f"version {version} of `{name}` {why}",
        facts=(("kept", format_versions(versions)), ("checkpoint", where)),
        instead=(
            ("start(…, keep=100)", "keeps more versions"),
            ('start(…, keep="1 day")', "keeps them longer"),
        ),
    )
