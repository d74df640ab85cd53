"""Checkpoints in a folder: runs as Arrow files named by their content, and a manifest that names them.

A run is written once, whatever the number of checkpoints that hold it: the bytes of a checkpoint follow what is new.
The manifest is written last, aside and then renamed: a crash leaves the checkpoint before it as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from flo.columnar.run import Run, read_ipc, write_ipc
from flo.columnar.storing import Mapped, Storing, collections
from flo.core.checkpoint import Running, load, save
from flo.core.derivation import StreamTypes
from flo.core.errors import CheckpointError
from flo.core.graph import Graph
from flo.core.typing import program

PARTS, MANIFESTS, STATES = "runs", "manifests", "states"


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

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

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
        """A checkpoint, the oldest ones but so many removed; the runs `beside` the program are kept with it."""
        for name in (PARTS, MANIFESTS, STATES):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        storing = Storing(self, collections(program(whole, inputs)))
        state = save(whole, inputs, ends, running, storing.naming)
        for run in beside:
            storing.put(run)
        number = max(self.numbers(), default=0) + 1
        name = hashlib.blake2b(state, digest_size=16).hexdigest()
        written = storing.bytes + self._write(Path(STATES) / name, lambda file: Path(file).write_bytes(state))
        manifest = {"flo": 1, "number": number, "state": name, "runs": sorted(storing.held), "more": more}
        text = json.dumps(manifest, indent=1).encode()
        written += self._write(Path(MANIFESTS) / f"{number:08}.json", lambda file: Path(file).write_bytes(text))
        self._sweep(keep)
        return Saved(number, written, len(storing.held), storing.written)

    def load(self, whole: Graph, inputs: StreamTypes, ends: tuple[str, ...]) -> tuple[Running, Any]:
        """The newest checkpoint."""
        number = max(self.numbers(), default=None)
        if number is None:
            raise CheckpointError(f"there is no checkpoint in {str(self.folder)!r}")
        manifest = self._manifest(number)
        state = self._bytes(Path(STATES) / manifest["state"])
        if hashlib.blake2b(state, digest_size=16).hexdigest() != manifest["state"]:
            raise self._damaged(Path(STATES) / manifest["state"])
        known = collections(program(whole, inputs))
        return load(whole, inputs, ends, state, lambda names: Mapped(names, self, known)), manifest["more"]

    def numbers(self) -> list[int]:
        folder = self.folder / MANIFESTS
        return sorted(int(file.stem) for file in folder.glob("*.json")) if folder.exists() else []

    def put(self, run: Run) -> int:
        """Writes a run that is not there yet; gives the bytes that were written."""
        path = Path(PARTS) / f"{run.name}.arrow"
        if (self.folder / path).exists():
            return 0

        def write(file: str) -> None:
            with pa.OSFile(file, "wb") as sink:
                write_ipc(run, sink)

        return self._write(path, write)

    def get(self, columns: tuple[str, ...], name: str) -> Run:
        """A run, mapped and not read, once it is known to be what was written."""
        path = Path(PARTS) / f"{name}.arrow"
        try:
            mapped = pa.memory_map(str(self.folder / path))
        except OSError:
            raise self._missing(path) from None
        digest = hashlib.blake2b(repr(columns).encode(), digest_size=16)
        if mapped.size():
            digest.update(memoryview(mapped.read_buffer()))
        if digest.hexdigest() != name:
            raise self._damaged(path)
        mapped.seek(0)
        run = read_ipc(columns, mapped)
        run.__dict__["name"] = name
        return run

    def _write(self, path: Path, write: Callable[[str], Any]) -> int:
        """Aside, to the disk, and then under its name: it is there as a whole or not at all."""
        target = self.folder / path
        aside = target.with_name(f".{target.name}.{os.getpid()}")
        write(str(aside))
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        size = aside.stat().st_size
        aside.replace(target)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return size

    def _sweep(self, keep: int) -> None:
        """Removes manifests but the newest, and what none of these names."""
        numbers = self.numbers()
        for number in numbers[:-keep]:
            (self.folder / MANIFESTS / f"{number:08}.json").unlink(missing_ok=True)
        manifests = [self._manifest(number) for number in numbers[-keep:]]
        held = {f"{name}.arrow" for manifest in manifests for name in manifest["runs"]}
        held |= {manifest["state"] for manifest in manifests}
        for folder in (PARTS, STATES):
            for file in (self.folder / folder).iterdir():
                if file.name not in held:
                    file.unlink(missing_ok=True)

    def _manifest(self, number: int) -> Any:
        path = Path(MANIFESTS) / f"{number:08}.json"
        try:
            manifest = json.loads(self._bytes(path))
            if manifest["flo"] != 1:
                raise CheckpointError(f"the checkpoint is of version {manifest['flo']}, and this Flo reads version 1")
        except (ValueError, KeyError, TypeError):
            raise self._damaged(path) from None
        return manifest

    def _bytes(self, path: Path) -> bytes:
        try:
            return (self.folder / path).read_bytes()
        except OSError:
            raise self._missing(path) from None

    def _missing(self, path: Path) -> CheckpointError:
        return CheckpointError(f"the checkpoint lacks the file `{path}`", facts=(("folder", str(self.folder)),))

    def _damaged(self, path: Path) -> CheckpointError:
        facts = (("folder", str(self.folder)),)
        return CheckpointError(f"the file `{path}` of the checkpoint is truncated or altered", facts=facts)
