"""Small files of JSON with a checksum: what is truncated or altered is seen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from flo.core.checkpoint import Running, load, save
from flo.core.errors import CheckpointError
from flo.core.graph import Graph
from flo.core.stream_type import StreamTypes
from flo.core.typing import program
from flo.tables.checkpoint.folders import ASIDE, Folder, folder
from flo.tables.checkpoint.storing import Mapped, Storing, collections
from flo.tables.state.run import Content, Run, read_ipc, write_ipc

VERSION, SUM = "flo", "sum"
NEWEST = 3
"""Since 2, runs are named by SHA-256; since 3, what is kept for every key is in the operator that runs for it."""
MENDING = (
    ("a copy of the file, put back", "the checkpoint goes on"),
    ("another checkpoint", "begins anew"),
)
"""What to do about a file that cannot be read."""


def write_sealed(folder: Folder, name: str, content: dict[str, Any]) -> int:
    return folder.write(name, _sealed(content))


def create_sealed(folder: Folder, name: str, content: dict[str, Any]) -> None:
    """The same for a file that is not there yet; FileExistsError if it is."""
    folder.create(name, _sealed(content))


def _sealed(content: dict[str, Any]) -> bytes:
    content = {VERSION: NEWEST, **content}
    return json.dumps({**content, SUM: _sum(content)}, indent=1).encode()


def read_sealed(folder: Folder, name: str, **expected: Any) -> Any:
    """The content; refused with the file's name if it is missing, or not as it was written.

    `expected` says what must be in it: a type, or the value itself.
    """
    try:
        content = json.loads(folder.read(name))
        if content[VERSION] != NEWEST:
            raise CheckpointError(
                f"the file `{name}` of the checkpoint is of version {content[VERSION]}, "
                f"and this Flo reads version {NEWEST}",
                facts=(("folder", str(folder)),),
                instead=(("the Flo that has written it", "reads it"), *MENDING[1:]),
            )
        if content.pop(SUM) != _sum(content):
            raise damaged(folder, name)
    except FileNotFoundError:
        raise missing(folder, name) from None
    except OSError as error:
        raise unreadable(folder, name, error) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged(folder, name) from None
    for key, wanted in expected.items():
        found = content.get(key)
        if not (isinstance(found, wanted) if isinstance(wanted, type) else found == wanted):
            raise damaged(folder, name, f"is another file: its `{key}` is not what is expected there")
    return content


def _sum(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def missing(folder: Folder, name: str) -> CheckpointError:
    facts = (("folder", str(folder)),)
    return CheckpointError(f"the checkpoint lacks the file `{name}`", facts=facts, instead=MENDING)


def damaged(folder: Folder, name: str, how: str = "is truncated or altered") -> CheckpointError:
    facts = (("folder", str(folder)),)
    return CheckpointError(f"the file `{name}` of the checkpoint {how}", facts=facts, instead=MENDING)


def unreadable(folder: Folder, name: str, error: OSError) -> CheckpointError:
    return damaged(folder, name, f"cannot be read: {error.strerror or error}")


PARTS, MANIFESTS, STATES = "runs", "manifests", "states"
STRAY = 86400.0
"""Seconds after which a file that no manifest names was left behind, and is not on its way to be named."""


@dataclass(frozen=True)
class Saved:
    """What a checkpoint wrote."""

    number: int
    bytes: int
    """Written now; what earlier checkpoints wrote and this one holds too is not counted."""
    runs: int
    """How many runs it holds."""
    written: int
    """How many of them are new."""


class Store:
    """A folder of checkpoints of one program."""

    def __init__(self, where: str | Path | Folder) -> None:
        self.folder = where if isinstance(where, Folder) else folder(where)

    def save(
        self,
        whole: Graph,
        inputs: StreamTypes,
        ends: tuple[str, ...],
        running: Running,
        more: Any,
        keep: int,
        beside: Iterable[Run] = (),
    ) -> Saved:
        """A checkpoint behind the others; the runs `beside` the program are kept with it."""
        storing = Storing(self, collections(program(whole, inputs)))
        state = save(whole, inputs, ends, running, storing.naming)
        for run in beside:
            storing.put(run)
        return self.write(max(self.numbers(), default=0) + 1, state, storing, more, keep)

    def write(self, number: int, state: bytes, storing: Storing, more: Any, keep: int) -> Saved:
        """A state, and at last the manifest that names it and its runs. `keep` of them stay."""
        name = hashlib.blake2b(state, digest_size=16).hexdigest()
        written = storing.bytes + self.folder.write(f"{STATES}/{name}", state)
        manifest = {"number": number, "state": name, "runs": sorted(storing.held), "more": more}
        written += write_sealed(self.folder, _manifest(number), manifest)
        self._sweep(keep)
        return Saved(number, written, len(storing.held), storing.written)

    def load(self, whole: Graph, inputs: StreamTypes, ends: tuple[str, ...]) -> tuple[Running, Any]:
        """The newest checkpoint."""
        number = max(self.numbers(), default=None)
        if number is None:
            raise CheckpointError(f"there is no checkpoint in {str(self.folder)!r}")
        state, more = self.read(number)
        known = collections(program(whole, inputs))
        return load(whole, inputs, ends, state, lambda names: Mapped(names, self, known)), more

    def read(self, number: int) -> tuple[bytes, Any]:
        """The state that a manifest names, and what was noted beside it."""
        manifest = self.manifest(number)
        name = f"{STATES}/{manifest['state']}"
        try:
            state = self.folder.read(name)
        except FileNotFoundError:
            raise missing(self.folder, name) from None
        except OSError as error:
            raise unreadable(self.folder, name, error) from None
        if hashlib.blake2b(state, digest_size=16).hexdigest() != manifest["state"]:
            raise damaged(self.folder, name)
        return state, manifest["more"]

    def manifest(self, number: int) -> Any:
        return read_sealed(self.folder, _manifest(number), number=number, state=str, runs=list)

    def numbers(self) -> list[int]:
        return numbers_in(self.folder, MANIFESTS)

    def put(self, run: Run) -> int:
        """Writes a run that is not there yet; gives the bytes that were written."""
        name = run_file(run.name)
        return 0 if self.folder.exists(name) else self.folder.keep(name, lambda sink: write_ipc(run, sink))

    def get(self, columns: tuple[str, ...], name: str) -> Run:
        """A run, mapped and not read."""
        try:
            run = read_ipc(columns, pa.BufferReader(self.content(columns, name)))
        except FileNotFoundError:
            raise missing(self.folder, run_file(name)) from None
        except (OSError, KeyError, ValueError, pa.ArrowException):
            raise damaged(self.folder, run_file(name)) from None
        run.__dict__["name"] = name
        return run

    def content(self, columns: tuple[str, ...], name: str) -> pa.Buffer:
        """The file of a run, once it is known to be what was written."""
        data: pa.Buffer | None = self.folder.kept(run_file(name))
        if _name(columns, data) != name:
            data = self.folder.refetched(run_file(name))
            if data is None or _name(columns, data) != name:
                raise damaged(self.folder, run_file(name))
        return data

    def _sweep(self, keep: int) -> None:
        """Removes manifests but the newest, and what these have named and the others do not."""
        numbers = self.numbers()
        gone = list(self._there(numbers[:-keep]))
        if not gone:
            return
        held = _held(self._there(numbers[-keep:]))
        for number in numbers[:-keep]:
            self.folder.remove(_manifest(number))
        for name in _held(gone) - held:
            self.folder.remove(name)

    def forget(self, after: int, before: int) -> None:
        """Removes the manifests between two."""
        for number in self.numbers():
            if after < number < before:
                self.folder.remove(_manifest(number))

    def _there(self, numbers: Iterable[int]) -> Iterator[Any]:
        """The manifests that nobody else has removed meanwhile."""
        for number in numbers:
            try:
                yield self.manifest(number)
            except CheckpointError:
                if self.folder.exists(_manifest(number)):
                    raise

    def tidy(self, age: float = STRAY) -> None:
        """Removes what was left by attempts that failed: files aside, and such as no manifest names."""
        held = _held(self._there(self.numbers()))
        for under in (PARTS, STATES, MANIFESTS):
            for name, (_, old) in self.folder.files(under).items():
                stray = name.startswith(ASIDE) or (under != MANIFESTS and f"{under}/{name}" not in held)
                if stray and old >= age:
                    self.folder.remove(f"{under}/{name}")


def numbers_in(folder: Folder, under: str) -> list[int]:
    """Of files such as `00000003.json`, in order; others are passed by."""
    names = [name.removesuffix(".json") for name in folder.names(under) if name.endswith(".json")]
    return [int(name) for name in names if name.isdecimal()]


def _manifest(number: int) -> str:
    return f"{MANIFESTS}/{number:08}.json"


def run_file(name: str) -> str:
    return f"{PARTS}/{name}.arrow"


def _held(manifests: Iterable[Any]) -> set[str]:
    """The files that manifests name."""
    every = list(manifests)
    return {run_file(name) for each in every for name in each["runs"]} | {f"{STATES}/{each['state']}" for each in every}


def _name(columns: tuple[str, ...], data: pa.Buffer) -> str:
    content = Content(columns)
    content.write(memoryview(data))
    return content.name
