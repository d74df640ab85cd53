"""Every file of a checkpoint, damaged in every way: what reads it is refused by its name, and says what to do."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.shards.checkpoint.commits import committed_versions
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.lease import Lease
from flo.shards.checkpoint.spark_logs import expect_sound_logs, find_log_problems
from flo.shards.tasks import output_files, stage_task
from flo.shards.views import View
from flo.tables.checkpoint.folders import folder
from flo.tables.checkpoint.store import NEWEST as FORMAT
from flo.tables.checkpoint.store import write_sealed
from flo.tables.io.diverted import Diverted
from flo.tools.cli import main
from tests.rescaling import rescale
from tests.spark.harness import streamed
from tests.spark.shops import Sale, sales, sums
from tests.spark.simulated import Simulated

NEWEST = 2


def offsets(where: Path) -> None:
    """As Spark writes them on a local disk, with checksums beside them."""
    log = {
        "metadata": '{"id":"dcbc1aab-b9f2-4bef-a7ff-e8ba1642e211"}',
        **{f"offsets/{n}": f'v1\n{{"batchWatermarkMs":0,"conf":{{}}}}\n{{"logOffset":{n}}}' for n in range(NEWEST + 1)},
        **{f"commits/{n}": 'v1\n{"nextBatchWatermarkMs":0}' for n in range(NEWEST + 1)},
        **{f"sources/0/{n}": f'v1\n{{"path":"file:///in/{n}.parquet","batchId":{n}}}' for n in range(NEWEST + 1)},
    }
    for name, text in log.items():
        file, size = where / name, 512
        file.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        file.write_bytes(data)
        sums = [zlib.crc32(data[start : start + size]).to_bytes(4, "big") for start in range(0, len(data), size)]
        file.with_name(f".{file.name}.crc").write_bytes(b"crc\0" + size.to_bytes(4, "big") + b"".join(sums))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with all that there may be in one."""
    where = tmp_path_factory.mktemp("whole") / "checkpoint"
    query = Simulated(sums(), where, shards=2)
    for version in range(NEWEST + 1):
        query.turn({"sales": sales(version * 10, 10)})
    file = output_files.write_diverted(str(where), "sales", [Diverted({"shop": 1}, "does not fit")])
    output_files.record_diverted(str(where), "sales", NEWEST, [file])
    Lease.take(str(where), "sums").release()
    offsets(where / "spark")
    return where


def start(where: Path) -> None:
    """As `start` does, up to the first micro-batch, which reads the state."""
    lease = Lease.take(str(where), "sums")
    try:
        stage_task._shards.clear()
        query = Simulated(sums(), where)
        expect_sound_logs(f"{where}/spark", max(committed_versions(str(where)), default=None))
        query.turn({"sales": sales(100, 10)})
        assert query.values() == dict(sums().run(sales=sales(0, 10 * query.version - 10) | sales(100, 10)))
    finally:
        lease.release()


def command(action: str, *more: str) -> Callable[[Path], None]:
    def run(where: Path) -> None:
        status = main(["state", action, str(where), *more])
        if status:
            raise flo.CheckpointError(f"status {status}")

    return run


DOING: dict[str, Callable[[Path], Any]] = {
    "view": lambda where: View.of(str(where), "sums").arrow(),
    "diverted": lambda where: output_files.read_diverted(str(where), "sales", 2**31),
    "show": command("show"),
    "verify": command("verify"),
    "start": start,
}
STATE = {"start", "show", "verify"}
KINDS: dict[str, tuple[str, set[str]]] = {
    "flo.json": ("flo.json", {"view"} | STATE),
    "the newest commit": (f"commits/*{NEWEST}.json", {"view"} | STATE),
    "an older commit": (f"commits/*{NEWEST - 1}.json", STATE),
    "a manifest": (f"state/00002/01/00001/manifests/*{NEWEST}.json", {"view"} | STATE),
    "a state": ("state/00002/01/00001/states/*", STATE),
    "a run": ("state/00002/01/00001/runs/*", {"view"} | STATE),
    "the lease": ("leases/*.json", {"start", "verify"}),
    "rows put aside": ("diverted/sales/*.arrow", {"diverted", "verify"}),
    "what names them": ("diverted/sales/*.json", {"diverted", "verify"}),
    "the metadata of Spark": ("spark/metadata", {"start", "verify"}),
    "the newest offsets": (f"spark/offsets/{NEWEST}", {"start", "verify"}),
    "the newest commit of Spark": (f"spark/commits/{NEWEST}", {"start", "verify"}),
    "what a source has written": (f"spark/sources/0/{NEWEST}", {"verify"}),
}
"""The newest file of each kind, and its readers. A micro-batch writes the parts of outputs that it reads."""
GONE = {"the newest commit": set(), "an older commit": set(), "the lease": set(), "what names them": set()}
"""Who is refused if the file is missing: nobody, where a crash may leave it so."""
GONE |= {"the newest commit of Spark": set()}


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda data: None,
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "garbage": lambda data: b"\xff\x00\x9c garbage" * 9,
    "of another shape": lambda data: b'[{"flo": 2, "sum": []}]',
    "with a bit flipped": flipped,
}


@pytest.mark.every(test=3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "damage", [pytest.param(each, marks=[] if each == "garbage" else pytest.mark.slow) for each in DAMAGES]
)
def test_a_damaged_file_is_refused_by_its_name(
    whole: Path, tmp_path: Path, capsys: Any, kind: str, damage: str
) -> None:
    pattern, readers = KINDS[kind]
    if damage == "missing":
        readers = GONE.get(kind, readers)
    files = sorted(whole.glob(pattern))
    assert files, "the checkpoint of the test has such a file"
    refused: set[str] = set()
    for name, do in DOING.items():
        where = tmp_path / name
        shutil.copytree(whole, where)
        for file in files if kind in ("a state", "a run") else files[-1:]:  # which are read is not seen by the name
            changed = DAMAGES[damage](file.read_bytes())
            mine = where / file.relative_to(whole)
            mine.unlink() if changed is None else mine.write_bytes(changed)
        capsys.readouterr()
        try:
            do(where)
        except flo.CheckpointError as error:
            output = capsys.readouterr()
            said = f"{error}{output.out}{output.err}"
            assert any(file.name in said for file in files) or place(files[-1]) in said, said
            assert "Traceback" not in said
            assert name == "verify" or "instead" in said, said
            refused.add(name)
    assert refused == readers


def place(file: Path) -> str:
    """Of a manifest that is missing, the shard is named."""
    return f"its state is missing in {file.parts[-4]}/{file.parts[-3]}"


@pytest.mark.parametrize("file", ["flo.json", f"commits/0000000{NEWEST}.json", "leases/00000001.json"])
def test_a_file_that_is_sealed_and_another_is_refused(whole: Path, tmp_path: Path, file: str) -> None:
    """Copied there by mistake: its checksum is right."""
    where = tmp_path / "checkpoint"
    shutil.copytree(whole, where)
    write_sealed(folder(where), file, {"version": 1, "epoch": 9, "number": 4, "shards": "two"})
    with pytest.raises(flo.CheckpointError, match=f"`{file}` of the checkpoint is another file"):
        start(where)


@pytest.mark.parametrize("file", ["flo.json", "leases/00000001.json", "spark/metadata"])
def test_a_folder_in_the_place_of_a_file(whole: Path, tmp_path: Path, file: str) -> None:
    where = tmp_path / "checkpoint"
    shutil.copytree(whole, where)
    (where / file).unlink()
    (where / file).mkdir()
    with pytest.raises(
        flo.CheckpointError, match=f"{Path(file).name}` of the checkpoint cannot be read: .*(folder|directory)"
    ):
        start(where)


def test_a_program_that_belongs_to_another_checkpoint(whole: Path, tmp_path: Path, capsys: Any) -> None:
    """`flo.json` was copied from there: it is sound, and the state is not of it."""
    where = tmp_path / "checkpoint"
    shutil.copytree(whole, where)
    flow = flo.Flow("others")
    sold = flow.input("sales", flo.ZSet[Sale])
    flow.output("sums", sold.distinct().group_by("shop").agg(sum=flo.sum("price")))
    flow.output("left", sold.join(sold, "shop", "shop", how="left"))
    Simulated(flow, tmp_path / "others", shards=2)
    shutil.copy(tmp_path / "others" / "flo.json", where)
    for action in ("show", "verify"):
        with pytest.raises(flo.CheckpointError, match="status"):
            command(action)(where)
        said = capsys.readouterr()
        assert "does not belong to the program that `flo.json` describes" in said.out + said.err
    with pytest.raises(flo.CheckpointError, match="does not belong to the program"):
        start(where)


def test_a_shard_that_is_missing_is_not_passed_by(whole: Path, tmp_path: Path) -> None:
    """The rows of the others are not the view."""
    where = tmp_path / "checkpoint"
    shutil.copytree(whole, where)
    assert View.of(str(where), "sums").arrow().num_rows == 13
    shutil.rmtree(where / "state" / "00002" / "01" / "00001")
    with pytest.raises(flo.CheckpointError, match=r"lacks the file `manifests/00000002.json`") as caught:
        View.of(str(where), "sums").arrow()
    assert "01/00001" in str(caught.value)


def test_a_file_of_a_later_version_of_flo(whole: Path, tmp_path: Path) -> None:
    where = tmp_path / "checkpoint"
    shutil.copytree(whole, where)
    text = (where / "flo.json").read_text()
    (where / "flo.json").write_text(text.replace(f'"flo": {FORMAT}', f'"flo": {FORMAT + 1}', 1))
    with pytest.raises(flo.CheckpointError, match=rf"`flo.json` of the checkpoint has version {FORMAT + 1}"):
        Checkpoint(str(where))


def test_strange_files_are_passed_by(whole: Path, tmp_path: Path) -> None:
    where = tmp_path / "checkpoint"
    shutil.copytree(whole, where)
    for under in ("commits", "leases", "state/00002/01/00000/manifests", "diverted/sales", "spark/offsets"):
        (where / under / "notes.txt").write_text("mine")
        (where / under / "old.json").write_text("mine")
    assert not list(Checkpoint(str(where)).problems())
    start(where)


def test_offsets_that_spark_has_written_are_sound(spark: Any, tmp_path: Path) -> None:
    """And a start on damaged ones is refused by the name of the file, without an error of Java."""
    query = streamed(spark, sums(), {"sales": sales(0, 40)}, tmp_path, parts=2)
    checkpoint, source = tmp_path / "checkpoint", tmp_path / "in" / "sales"
    part, expected = checkpoint / "spark", query.view("sums").value()
    assert not list(find_log_problems(str(part), 1))
    assert {file.name for file in part.glob("offsets/[!.]*")} == {"0", "1"}
    reader = spark.readStream.schema(spark.read.parquet(str(source)).schema).parquet(str(source))

    def again() -> Any:
        started = sums().on(spark).start({"sales": reader}, checkpoint=checkpoint, trigger={"availableNow": True})
        started.wait()
        return started

    for name in ("metadata", "offsets/1", "commits/1", "sources/0/1"):
        data = (part / name).read_bytes()
        for damage in ("empty", "with a bit flipped"):
            (part / name).write_bytes(DAMAGES[damage](data) or b"")
            with pytest.raises(flo.CheckpointError, match=f"`{name}` of the checkpoint is truncated or altered"):
                again()
        (part / name).write_bytes(data)
    for name in ("sources/0/0", "sources/0/1"):
        data = (part / name).read_bytes()
        (part / name).unlink()
        with pytest.raises(flo.CheckpointError, match=f"lacks the file `{name}`"):
            again()
        (part / name).write_bytes(data)
    assert again().view("sums").value() == expected


def test_the_id_of_a_checkpoint(tmp_path: Path) -> None:
    """Random, kept by restarts and when it is cut anew; another checkpoint at the same path has another."""
    where = tmp_path / "checkpoint"

    def taken(turns: int) -> str:
        query = Simulated(sums(), where, shards=None)
        for _ in range(turns):
            query.turn({"sales": sales(query.version * 10, 10)})
        found: str = Checkpoint(str(where)).description["id"]
        return found

    first = taken(0)
    assert taken(1) == first, "a version may have reached a sink before it is committed"
    assert taken(1) == first
    rescale(str(where), 3)
    assert taken(1) == first
    shutil.rmtree(where)
    second = taken(1)
    assert second != first
    about = Checkpoint(str(where)).description
    write_sealed(folder(where), "flo.json", {name: each for name, each in about.items() if name not in ("id", "flo")})
    assert taken(1) == str(where), "what sinks have known it by until now"
    assert taken(0) == str(where)


def test_another_program_that_replaces_one_without_commits_has_another_id(tmp_path: Path) -> None:
    """A sink that has taken the first version of the one must not pass by that of the other."""
    Simulated(sums(), tmp_path).take({"sales": sales(0, 10)})
    first = Checkpoint(str(tmp_path)).description["id"]
    Simulated(sums(lambda sale: sale.shop), tmp_path)
    assert Checkpoint(str(tmp_path)).description["id"] != first
