"""Checkpoints in a folder: JSON files with checksums, and a store of states and runs by version.

A state is lowered to a term in which runs are names, and lifted back. A store keeps the runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from flo.core.collection import Collection, End, Value
from flo.core.errors import CheckpointError, brief
from flo.core.term import Call, Lifting, Lowering, Term
from flo.core.untyped import Json
from flo.tables.checkpoint.folders import TEMPORARY, Folder, folder
from flo.tables.checkpoint.states import NameScope
from flo.tables.keyed import KeyedColumns, KeyedRows
from flo.tables.state.keys import Keys
from flo.tables.state.run import Content, Run, join_parts, read_ipc
from flo.tables.values import Columns, Rows


class Runs(Protocol):
    """A store of runs by name."""

    def put(self, run: Run) -> int:
        """Stores a run; returns the number of bytes written."""

    def get(self, columns: tuple[str, ...], name: str) -> Run: ...

    def get_parts(self, columns: tuple[str, ...], names: tuple[str, ...]) -> Run:
        """A run that is stored in parts."""


class Storing(Lowering):
    """Lowers runs to names, and puts the runs into a store. A collection has a name in its scope."""

    def __init__(self, store: Runs) -> None:
        super().__init__()
        self.store = store
        self.known: Mapping[Collection, int | str] = {}
        self.held: set[str] = set()
        self.runs: list[Run] = []
        """All runs, each whole, also those that are stored in parts."""
        self.written = self.bytes = 0
        self._in_value = 0

    def within(self, scope: Lowering, known: Mapping[Collection, int | str]) -> Storing:
        """Uses the names of a scope for functions, types and collections."""
        self.names, self._name_of, self.known = scope.names, scope._name_of, known
        return self

    def __call__(self, item: Any) -> Term:
        if isinstance(item, Run):
            self.runs.append(item)
            stored = tuple(Call("stored", (item.columns, self.put(part))) for part in item.files)
            return stored[0] if len(stored) == 1 else Call("parts", stored)
        if isinstance(item, Rows):
            return Call("stored_rows", (self._type(item.of), self._rows(item.table), item.end.lower(self)))
        if isinstance(item, KeyedRows):
            parts = (self._type(item.of), self._rows(item.table), self._rows(item.keys), item.end.lower(self))
            return Call("stored_keyed_rows", parts)
        if isinstance(item, Collection) and self._in_value and item in self.known:
            return self._type(item)
        if not isinstance(item, Value):
            return super().__call__(item)
        self._in_value += 1
        try:
            return super().__call__(item)
        finally:
            self._in_value -= 1

    def _type(self, of: Collection) -> Term:
        return Call("type_of_program", (self.known[of],))

    def _rows(self, table: pa.Table) -> str | None:
        return self.put(run_of_rows(table)) if table.num_rows else None

    def put(self, run: Run) -> str:
        """Stores a run; returns its name."""
        size = self.store.put(run)
        self.held.add(run.name)
        self.written += size > 0
        self.bytes += size
        return run.name


class Loading(Lifting):
    """Lifts names of runs to memory-mapped runs from a store."""

    def __init__(self, scope: NameScope, store: Runs) -> None:
        super().__init__(scope.lowering.names)
        self.store = store
        self.collections = scope.collections
        self.known = {name: of for of, name in scope.names_of.items()}

    def __call__(self, term: Term) -> Any:
        match term:
            case Call("stored", (tuple(columns), str(name))):
                return self.store.get(tuple(map(str, columns)), name)
            case Call("parts", (Call(_, (tuple(columns), _)), *_) as parts):
                return self.store.get_parts(tuple(map(str, columns)), tuple(part.args[1] for part in parts))
            case Call("stored_rows", (of, name, end)):
                rows = Columns(self(of)).bottom().with_end(End.lift(self(end)))
                return replace(rows, table=self._table(name, rows.table))
            case Call("stored_keyed_rows", (of, name, keys, end)):
                keyed = KeyedColumns(self(of)).bottom()
                tables = self._table(name, keyed.table), self._table(keys, keyed.keys)
                return KeyedRows(keyed.of, *tables, End.lift(self(end)))
            case Call("type_of_program", (str(name),)):
                return self.known[name]
            case Call("type_of_program", (int(index),)):
                return self.collections[index]
            case _:
                return super().__call__(term)

    def _table(self, name: object, empty: pa.Table) -> pa.Table:
        return self.store.get((), name).table if isinstance(name, str) else empty


def run_of_rows(table: pa.Table) -> Run:
    """A table as a run without a key, in its order."""
    return Run((), Keys(np.zeros(table.num_rows, np.uint64), False), table)


VERSION, SUM = "flo", "sum"
NEWEST = 5
"""The version of the format. Since 5, states are stored by the ids of operators."""
MENDING = (
    ("restore the file from a backup", "resumes from the checkpoint"),
    ("another checkpoint", "starts from scratch"),
)
"""How to fix a file that cannot be read."""


def write_sealed(folder: Folder, name: str, content: dict[str, Json]) -> int:
    """Writes JSON with a version and a checksum; returns the size of the file."""
    return folder.write(name, _sealed(content))


def create_sealed(folder: Folder, name: str, content: dict[str, Json]) -> None:
    """Writes a new file. Raises FileExistsError if it exists."""
    folder.create(name, _sealed(content))


def _sealed(content: dict[str, Json]) -> bytes:
    content = {VERSION: NEWEST, **content}
    return json.dumps({**content, SUM: _checksum(content)}, indent=1).encode()


def read_sealed(folder: Folder, name: str, **fields: object) -> Json:
    """The content of a file. Raises an error that names the file if it is missing, damaged or malformed.

    `fields` gives the type or the value of each field that the content must have.
    """
    try:
        content = json.loads(folder.read(name))
        if content[VERSION] != NEWEST:
            raise CheckpointError(
                f"the file `{name}` of the checkpoint has version {content[VERSION]}; this Flo reads version {NEWEST}",
                facts=(("folder", str(folder)),),
                instead=(("the version of Flo that has written it", "reads it"), *MENDING[1:]),
            )
        if content.pop(SUM) != _checksum(content):
            raise damaged_file_error(folder, name)
    except FileNotFoundError:
        raise missing_file_error(folder, name) from None
    except OSError as error:
        raise unreadable_file_error(folder, name, error) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged_file_error(folder, name) from None
    for key, wanted in fields.items():
        value = content.get(key)
        if not (isinstance(value, wanted) if isinstance(wanted, type) else value == wanted):
            expected = wanted.__name__ if isinstance(wanted, type) else brief(wanted)
            raise damaged_file_error(folder, name, f"is another file: `{key}` is {brief(value)}; expected {expected}")
    return content


def _checksum(content: dict[str, Json]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def missing_file_error(folder: Folder, name: str) -> CheckpointError:
    facts = (("folder", str(folder)),)
    return CheckpointError(f"the checkpoint lacks the file `{name}`", facts=facts, instead=MENDING)


def damaged_file_error(folder: Folder, name: str, how: str = "is truncated or altered") -> CheckpointError:
    facts = (("folder", str(folder)),)
    return CheckpointError(f"the file `{name}` of the checkpoint {how}", facts=facts, instead=MENDING)


def unreadable_file_error(folder: Folder, name: str, error: OSError) -> CheckpointError:
    return damaged_file_error(folder, name, f"cannot be read: {error.strerror or error}")


PARTS, MANIFESTS, STATES = "runs", "manifests", "states"
STRAY = 86400.0
"""Age in seconds after which a file that no manifest names is stray. A younger one may still be named."""


@dataclass(frozen=True)
class Saved:
    """The result of writing a checkpoint."""

    number: int
    bytes: int
    """Bytes written now. Files shared with earlier checkpoints do not count."""
    runs: int
    """The number of runs in the checkpoint."""
    written: int
    """The number of runs written now."""


class Store:
    """A folder with checkpoints of one program, by number. Checkpoints share the runs they have in common."""

    def __init__(self, where: str | Path | Folder) -> None:
        self.folder = where if isinstance(where, Folder) else folder(where)

    def add(self, state: bytes, storing: Storing, more: Json, keep: int) -> Saved:
        """Writes the next checkpoint, and keeps so many."""
        numbers = [0, *self.numbers()]
        saved = self.write(numbers[-1] + 1, state, storing, more)
        self.sweep([*numbers, saved.number][-keep:][0])
        return saved

    def write(self, number: int, state: bytes, storing: Storing, more: Json) -> Saved:
        """Writes a state, then the manifest that names it and its runs.

        A number without a manifest of its own has the state of the one before.
        """
        name = _state_name(state)
        written = storing.bytes + self.folder.write(f"{STATES}/{name}", state)
        manifest = {"number": number, "state": name, "runs": sorted(storing.held), "more": more}
        written += write_sealed(self.folder, _manifest(number), manifest)
        return Saved(number, written, len(storing.held), storing.written)

    def add_from(self, source: Store, number: int) -> None:
        """Adds a checkpoint of another store, with its files."""
        for name in (*sorted(_held([source.manifest(number)])), _manifest(number)):
            try:
                self.folder.add_from(source.folder, name)
            except FileNotFoundError:
                raise missing_file_error(source.folder, name) from None

    def newest(self) -> int:
        """The number of the newest checkpoint. Raises if there is none."""
        number = max(self.numbers(), default=None)
        if number is None:
            raise CheckpointError(f"there is no checkpoint in {str(self.folder)!r}")
        return number

    def read(self, number: int) -> tuple[bytes, Json]:
        """The state that a manifest names, and the JSON stored with it."""
        manifest = self.manifest(number)
        name = f"{STATES}/{manifest['state']}"
        try:
            state = self.folder.read(name)
        except FileNotFoundError:
            raise missing_file_error(self.folder, name) from None
        except OSError as error:
            raise unreadable_file_error(self.folder, name, error) from None
        if _state_name(state) != manifest["state"]:
            raise damaged_file_error(self.folder, name)
        return state, manifest["more"]

    def manifest(self, number: int) -> Json:
        return read_sealed(self.folder, _manifest(number), number=number, state=str, runs=list)

    def numbers(self) -> list[int]:
        return numbered_files(self.folder, MANIFESTS)

    def put(self, run: Run) -> int:
        """Writes a run unless it exists; returns the number of bytes written."""
        name = run_file(run.name)
        return 0 if self.folder.exists(name) else self.folder.write_with(name, run.write_file)

    def get(self, columns: tuple[str, ...], name: str) -> Run:
        """A run, memory-mapped."""
        try:
            run = read_ipc(columns, pa.BufferReader(self.content(columns, name)))
        except FileNotFoundError:
            raise missing_file_error(self.folder, run_file(name)) from None
        except (OSError, KeyError, ValueError, pa.ArrowException):
            raise damaged_file_error(self.folder, run_file(name)) from None
        run.__dict__["name"] = name
        return run

    def get_parts(self, columns: tuple[str, ...], names: tuple[str, ...]) -> Run:
        """A run that is stored in parts, in memory."""
        return join_parts([self.get(columns, name) for name in names])

    def content(self, columns: tuple[str, ...], name: str) -> pa.Buffer:
        """The file of a run, with its checksum verified."""
        data: pa.Buffer | None = self.folder.map_file(run_file(name))
        if _name(columns, data) != name:
            data = self.folder.refetch(run_file(name))
            if data is None or _name(columns, data) != name:
                raise damaged_file_error(self.folder, run_file(name))
        return data

    def sweep(self, *kept: int, writing: int | None = None, needed: Set[str] = frozenset()) -> None:
        """Removes the manifests that none of these numbers has, and none after the last of them; and the files that
        only those have named, and that are not needed otherwise.

        A version may be written meanwhile, and needs files. Its manifest may still be that of a failed attempt."""
        numbers = [number for number in self.numbers() if number != writing]
        has = {max((number for number in numbers if number <= each), default=-1) for each in kept}
        self._remove({number for number in numbers if number < kept[-1]} - has, numbers, needed)

    def abandon(self, after: int) -> None:
        """Removes the manifests after a number, and the files that only those have named."""
        numbers = self.numbers()
        self._remove({number for number in numbers if number > after}, numbers)

    def _remove(self, unneeded: set[int], numbers: list[int], needed: Set[str] = frozenset()) -> None:
        """Removes some of the manifests, and the files that only those have named."""
        gone = list(self._existing(unneeded))
        if not gone:
            return
        held = _held(self._existing(number for number in numbers if number not in unneeded))
        for number in unneeded:
            self.folder.remove(_manifest(number))
        for name in _held(gone) - held - needed:
            self.folder.remove(name)

    def forget(self, after: int, before: int) -> None:
        """Removes the manifests with numbers between two, exclusively."""
        for number in self.numbers():
            if after < number < before:
                self.folder.remove(_manifest(number))

    def _existing(self, numbers: Iterable[int]) -> Iterator[Json]:
        """The manifests that still exist: another process may remove some meanwhile."""
        for number in numbers:
            try:
                yield self.manifest(number)
            except CheckpointError:
                if self.folder.exists(_manifest(number)):
                    raise

    def tidy(self, age: float = STRAY) -> None:
        """Removes files of failed attempts: temporary ones, and those that no manifest names."""
        held = _held(self._existing(self.numbers()))
        for under in (PARTS, STATES, MANIFESTS):
            for name, (_, old) in self.folder.files(under).items():
                stray = name.startswith(TEMPORARY) or (under != MANIFESTS and f"{under}/{name}" not in held)
                if stray and old >= age:
                    self.folder.remove(f"{under}/{name}")


def numbered_files(folder: Folder, under: str) -> list[int]:
    """The numbers of files such as `00000003.json`, in order. Other files are ignored."""
    names = [name.removesuffix(".json") for name in folder.names(under) if name.endswith(".json")]
    return [int(name) for name in names if name.isdecimal()]


def _manifest(number: int) -> str:
    return f"{MANIFESTS}/{number:08}.json"


def run_file(name: str) -> str:
    return f"{PARTS}/{name}.arrow"


def _state_name(state: bytes) -> str:
    return hashlib.blake2b(state, digest_size=16).hexdigest()


def files_of(state: bytes, storing: Storing) -> set[str]:
    """The files of a state that is being stored."""
    return _held([{"state": _state_name(state), "runs": storing.held}])


def _held(manifests: Iterable[Json]) -> set[str]:
    """The files that manifests name."""
    every = list(manifests)
    return {run_file(name) for each in every for name in each["runs"]} | {f"{STATES}/{each['state']}" for each in every}


def _name(columns: tuple[str, ...], data: pa.Buffer) -> str:
    content = Content(columns)
    content.write(memoryview(data))
    return content.name
