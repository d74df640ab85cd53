"""Spark's logs at a micro-batch: what a tag keeps, what a copy has, and what a cut leaves. Spark does not run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flo.core.errors import CheckpointError
from flo.shards.checkpoint.spark_offsets import copy_logs, cut_logs, expect_no_spark_state, expect_offsets


def write_logs(where: Path, batches: range, committed: int, entries: list[str], kafka: bool = False) -> None:
    """Logs of a source of files, whose entry n is that of micro-batch n; and of Kafka, at the second place."""
    (where / "metadata").parent.mkdir(parents=True, exist_ok=True)
    (where / "metadata").write_text('{"id":"original"}')
    for batch in batches:
        sources = [f'{{"logOffset":{batch}}}', *(['{"clicks":{"0":7}}'] if kafka else [])]
        _write(where / "offsets" / str(batch), "\n".join(["v1", '{"batchWatermarkMs":0}', *sources]))
        if batch <= committed:
            _write(where / "commits" / str(batch), f'v1\n{{"nextBatchWatermarkMs":{batch}}}')
    for entry in entries:
        _write(where / "sources" / "0" / entry, f"v1\n{entry}")
    if kafka:
        _write(where / "sources" / "1" / "0", 'v1\n{"clicks":{"0":0}}')


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    (file.parent / f".{file.name}.crc").write_bytes(b"crc")


def names(where: Path) -> dict[str, list[str]]:
    """The entries of every log, and of their checksums."""
    folders = [each for each in where.rglob("*") if each.is_dir() and any(file.is_file() for file in each.iterdir())]
    return {str(each.relative_to(where)): sorted(file.name for file in each.iterdir()) for each in folders}


PLAIN = [str(number) for number in range(6)]
COMPACTED = ["2.compact", "3", "4", "5.compact", "6", "7"]


@pytest.mark.parametrize(
    ("entries", "batch", "copied"),
    [
        (PLAIN, 3, ["0", "1", "2", "3"]),
        (COMPACTED, 4, ["2.compact", "3", "4"]),
        (COMPACTED, 5, ["5.compact"]),
        (COMPACTED, 7, ["5.compact", "6", "7"]),
        (["5.compact", "6", "7"], 4, ["5.compact", "6", "7"]),  # what entry 4 says is in a later one only
    ],
)
def test_a_copy_has_what_a_start_reads(tmp_path: Path, entries: list[str], batch: int, copied: list[str]) -> None:
    write_logs(tmp_path / "spark", range(8), 7, entries, kafka=True)
    copy_logs(str(tmp_path / "spark"), str(tmp_path / "copy"), batch)
    assert names(tmp_path / "copy") == {
        "offsets": [str(batch - 1), str(batch)],
        "commits": [str(batch)],
        "sources/0": copied,
        "sources/1": ["0"],
    }
    id_of_copy = json.loads((tmp_path / "copy" / "metadata").read_text())["id"]
    assert id_of_copy != "original"


def test_a_copy_of_a_micro_batch_that_spark_has_not_committed(tmp_path: Path) -> None:
    write_logs(tmp_path / "spark", range(1), -1, ["0"])
    copy_logs(str(tmp_path / "spark"), str(tmp_path / "copy"), 0)
    assert names(tmp_path / "copy") == {"offsets": ["0"], "commits": ["0"], "sources/0": ["0"]}


def with_sums(entries: list[str]) -> list[str]:
    return sorted([*entries, *(f".{entry}.crc" for entry in entries)])


def test_a_cut_leaves_what_was_there_after_the_micro_batch(tmp_path: Path) -> None:
    write_logs(tmp_path, range(6), 4, PLAIN, kafka=True)
    for _ in range(2):  # the second time changes nothing
        cut_logs(str(tmp_path), 2)
        assert names(tmp_path) == {
            "offsets": with_sums(["0", "1", "2"]),
            "commits": with_sums(["0", "1", "2"]),
            "sources/0": with_sums(["0", "1", "2"]),
            "sources/1": with_sums(["0"]),
        }
    cut_logs(str(tmp_path), None)
    assert not names(tmp_path)
    assert not (tmp_path / "metadata").exists()


def test_a_cut_takes_what_spark_has_removed_from_the_copies_of_a_tag(tmp_path: Path) -> None:
    live, saved = tmp_path / "spark", tmp_path / "tag"
    write_logs(live, range(4), 3, ["0", "1", "2.compact", "3"])
    copy_logs(str(live), str(saved), 1)
    for number in range(4):
        (live / "offsets" / str(number)).unlink()
        (live / "commits" / str(number)).unlink()
    for entry in ("0", "1"):
        (live / "sources" / "0" / entry).unlink()
    write_logs(live, range(8, 10), 9, ["8.compact", "9"])
    with pytest.raises(CheckpointError, match="Spark no longer has the offsets of version 1"):
        expect_offsets(str(live), 1, 1)
    expect_offsets(str(live), 1, 1, str(saved))
    cut_logs(str(live), 1, str(saved))
    left = {under: [name for name in every if not name.startswith(".")] for under, every in names(live).items()}
    assert left == {"offsets": ["0", "1"], "commits": ["1"], "sources/0": ["0", "1"]}
    assert (live / "metadata").read_text() == '{"id":"original"}'


def test_a_source_log_that_was_compacted_stays_as_it_is(tmp_path: Path) -> None:
    """Spark then reads the files after micro-batch 4 in one micro-batch."""
    write_logs(tmp_path, range(3, 8), 7, ["5.compact", "6", "7"])
    cut_logs(str(tmp_path), 4)
    assert names(tmp_path)["sources/0"] == with_sums(["5.compact", "6", "7"])
    assert names(tmp_path)["offsets"] == with_sums(["3", "4"])


def test_state_of_spark_is_rejected(tmp_path: Path) -> None:
    expect_no_spark_state(str(tmp_path))
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    with pytest.raises(CheckpointError, match="keep state in Spark"):
        expect_no_spark_state(str(tmp_path))
