"""Checkpoints in a folder: resumed anywhere with the same result, written once, and refused when they are not whole."""

from __future__ import annotations

import json
import os
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import flo
from flo.local.here import TableLoop
from flo.tables.checkpoint import folders
from flo.tables.state import run


class Order(NamedTuple):
    user: int
    price: int


class User(NamedTuple):
    id: int
    name: str | None


def user_of(order: Order) -> int:
    return order.user


def id_of(user: User) -> int:
    return user.id


def program(key: Any = user_of) -> flo.Flow:
    flow = flo.Flow("orders")
    orders = flow.input("orders", flo.ZSet[Order])
    users = flow.input("users", flo.ZSet[User])
    flow.output("pairs", orders.join(users, key, id_of))
    flow.output("orders", orders)
    return flow


def orders(start: int, count: int) -> pa.Table:
    numbers = np.arange(start, start + count)
    return pa.table({"user": numbers % 97, "price": numbers})


USERS = pa.table({"id": list(range(97)), "name": [None, *map(str, range(1, 97))]})


def content(table: Any) -> Any:
    return sorted(map(str, table.to_pylist())) if isinstance(table, pa.Table) else table


def test_going_on_in_another_loop_gives_the_same(tmp_path: Path) -> None:
    whole = program().on(flo.here).loop()
    loop = program().on(flo.here).loop()
    for start in range(0, 500, 100):
        for each in (whole, loop):
            each.push(orders=orders(start, 100))
            if start == 200:
                each.push(users=USERS)
        loop.checkpoint(tmp_path)
        loop = program().on(flo.here).loop()
        loop.restore(tmp_path)
    for name, table in whole.result().items():
        assert content(loop.result()[name]) == content(table)
    assert loop.result().taken == {"orders": 500, "users": 97}


def test_what_ended_stays_ended_and_what_was_pulled_is_gone(tmp_path: Path) -> None:
    loop = program().on(flo.here).loop()
    loop.push(orders=orders(0, 10), users=USERS)
    loop.end("users")
    loop.run()
    assert loop.pull("pairs", 4).num_rows == 4
    loop.checkpoint(tmp_path)
    again = program().on(flo.here).loop()
    again.restore(tmp_path)
    assert again.pull("pairs").num_rows == 6
    with pytest.raises(flo.ElementError, match="has ended"):
        again.push(users=USERS)


def big() -> TableLoop:
    flow = flo.Flow("big")
    left = flow.input("left", flo.ZSet[Order])
    right = flow.input("right", flo.ZSet[Order])
    flow.output("pairs", left.join(right, user_of, user_of))
    return flow.on(flo.here).loop()


def test_the_bytes_follow_the_delta(tmp_path: Path) -> None:
    loop = big()
    loop.push(left=orders(0, 100_000))
    first = loop.checkpoint(tmp_path)
    assert first.bytes > 100_000 * 4
    loop.push(left=orders(100_000, 100))
    second = loop.checkpoint(tmp_path)
    assert second.bytes < first.bytes / 50
    assert (second.runs, second.written) == (2, 1)
    nothing_new = loop.checkpoint(tmp_path)
    assert nothing_new.written == 0
    assert nothing_new.bytes < 5_000


def test_runs_that_no_checkpoint_names_are_removed(tmp_path: Path) -> None:
    loop = big()
    for start in range(0, 800, 100):
        loop.push(left=orders(start, 100))
        saved = loop.checkpoint(tmp_path, keep=1)
        assert len(list((tmp_path / "runs").iterdir())) == saved.runs
        assert len(list((tmp_path / "manifests").iterdir())) == 1
        assert len(list((tmp_path / "states").iterdir())) == 1
    again = big()
    again.restore(tmp_path)
    assert again.state[0] == loop.state[0] == 800


def test_a_restored_loop_writes_what_is_new_only(tmp_path: Path) -> None:
    loop = big()
    loop.push(left=orders(0, 10_000))
    loop.checkpoint(tmp_path)
    again = big()
    again.restore(tmp_path)
    again.push(left=orders(10_000, 10))
    assert again.checkpoint(tmp_path).written == 1


def saved(folder: Path) -> Path:
    loop = program().on(flo.here).loop()
    loop.push(orders=orders(0, 10))
    loop.checkpoint(folder)
    return max((folder / "runs").iterdir(), key=lambda file: file.stat().st_size)


def refused(folder: Path, flow: flo.Flow | None = None) -> str:
    loop = (flow or program()).on(flo.here).loop()
    loop.push(orders=orders(0, 1))
    before = loop.state
    with pytest.raises(flo.CheckpointError) as caught:
        loop.restore(folder)
    assert loop.state == before, "what is refused changes nothing"
    return str(caught.value)


def test_a_missing_run(tmp_path: Path) -> None:
    file = saved(tmp_path)
    file.unlink()
    assert f"lacks the file `runs/{file.name}`" in refused(tmp_path)


@pytest.mark.parametrize("place", [0, 200, -1])
def test_a_damaged_run(tmp_path: Path, place: int) -> None:
    file = saved(tmp_path)
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    assert f"`runs/{file.name}` of the checkpoint is truncated or altered" in refused(tmp_path)


@pytest.mark.parametrize("size", [0, 10, 300])
def test_a_truncated_run(tmp_path: Path, size: int) -> None:
    file = saved(tmp_path)
    file.write_bytes(file.read_bytes()[:size])
    assert f"`runs/{file.name}` of the checkpoint is truncated or altered" in refused(tmp_path)


def test_a_damaged_manifest_and_state(tmp_path: Path) -> None:
    saved(tmp_path)
    (state,) = (tmp_path / "states").iterdir()
    good = state.read_bytes()
    state.write_bytes(good[:-1])
    assert f"`states/{state.name}` of the checkpoint is truncated" in refused(tmp_path)
    state.unlink()
    assert "lacks the file `states/" in refused(tmp_path)
    (manifest,) = (tmp_path / "manifests").iterdir()
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "flo": 9}))
    assert "has version 9" in refused(tmp_path)
    manifest.write_text("{")
    assert "`manifests/00000001.json` of the checkpoint is truncated" in refused(tmp_path)
    assert "there is no checkpoint in" in refused(tmp_path / "elsewhere")


def other_user_of(order: Order) -> int:
    return order.user + 1


def test_the_state_of_another_program(tmp_path: Path) -> None:
    saved(tmp_path)
    text = refused(tmp_path, program(other_user_of))
    assert "the state belongs to another program" in text
    assert "user_of" in text
    assert "other_user_of" in text


def test_a_crash_while_writing_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = big()
    loop.push(left=orders(0, 10))
    loop.checkpoint(tmp_path)
    loop.push(left=orders(10, 10))
    replace = os.replace

    def crash(source: Path, target: Path) -> None:
        if "manifests" in str(target):
            raise OSError("power cut")
        replace(source, target)

    monkeypatch.setattr("os.replace", crash)
    with pytest.raises(OSError, match="power cut"):
        loop.checkpoint(tmp_path)
    monkeypatch.undo()
    again = big()
    again.restore(tmp_path)
    assert again.state[0] == 10
    again.checkpoint(tmp_path)
    assert not [file for file in tmp_path.rglob(".*") if file.is_file()], "what was written aside is swept"


def test_large_runs_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LARGE", 100_000)
    loop = big()
    loop.push(left=orders(0, 100_000))
    loop.checkpoint(tmp_path)
    before = pa.total_allocated_bytes()
    again = big()
    again.restore(tmp_path)
    assert pa.total_allocated_bytes() - before < 100_000


def test_runs_of_an_earlier_version_go_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names are those of their files, in which no integers have few bytes."""
    loop, rows = program().on(flo.here).loop(), orders(0, 2 * run.FEWEST_NARROWED)
    with monkeypatch.context() as earlier:
        earlier.setattr(run, "FEWEST_NARROWED", 1 << 62)
        loop.push(orders=rows)
        loop.checkpoint(tmp_path / "earlier")
    for before, after in (("earlier", "one"), ("one", "other")):
        again = program().on(flo.here).loop()
        again.restore(tmp_path / before)
        again.checkpoint(tmp_path / after)
        last = program().on(flo.here).loop()
        last.restore(tmp_path / after)
        assert content(last.pull("orders").select(["user", "price"])) == content(rows)


class Event(NamedTuple):
    time: int
    key: int


def time_of(event: Event) -> int:
    return event.time


def key_of(event: Event) -> int:
    return event.key


def add(total: int, event: Event) -> int:
    return total + event.time


SCHEMA = pa.schema([pa.field("the key", pa.int64(), nullable=False), ("name", pa.string())])


def everything() -> TableLoop:
    """State on tables and on values, in windows and in bodies; rows of a schema; buffers and unsent outputs."""
    flow = flo.Flow("everything")
    rows = flow.input("rows", flo.Bag[flo.rows(SCHEMA)])
    events = flow.input("events", flo.Sequence[Event])
    changes = flow.input("changes", flo.ZSet[Event])
    flow.output("rows", rows)
    flow.output("distinct", rows.to_zset().distinct())
    flow.output("counts", events.tumbling(10, time=time_of).nest(lambda window: window.count()))
    flow.output("running", events.scan(0, add))
    flow.output("pairs", changes.join(changes, key_of, key_of))
    return flow.on(flo.here).loop()


PUSHES: list[dict[str, Any]] = [
    {"rows": pa.table({"the key": [1, 2, 2], "name": ["a", None, None]})},
    {"events": [Event(1, 1), Event(5, 1), Event(12, 2)], "changes": [Event(1, 1), Event(2, 1)]},
    {"events": [Event(25, 1), Event(3, 1)], "changes": {Event(1, 1): -1}},
    {"rows": [{"the key": 2, "name": None}]},
]


@pytest.mark.parametrize("stop", range(len(PUSHES) + 1))
def test_state_of_every_kind(stop: int, tmp_path: Path) -> None:
    whole, loop = everything(), everything()
    for number, push in enumerate([*PUSHES, {}]):
        if number == stop:
            loop.checkpoint(tmp_path)
            loop = everything()
            loop.restore(tmp_path)
        whole.push(**push)
        loop.push(**push)
    expected, found = whole.result(), loop.result()
    assert {name: content(output) for name, output in found.items()} == {
        name: content(output) for name, output in expected.items()
    }
    assert [content(late) for late in found.late.values()] == [["{'time': 3, 'key': 1}"]]


def test_a_sum_goes_on_where_what_is_stored_left_out_the_weights(tmp_path: Path) -> None:
    flow = flo.Flow("sum")
    flow.output("sum", flow.input("numbers", flo.Sequence[int], bounded=True).sum())
    loop = flow.on(flo.here).loop()
    loop.push(numbers=[1])  # one of weight 1, which follows from nothing being said
    loop.checkpoint(tmp_path)
    again = flow.on(flo.here).loop()
    again.restore(tmp_path)
    again.push(numbers=[2, 3])
    again.end("numbers")
    again.run()
    assert again.pull("sum").to_pydict() == {"value": [6]}


def test_the_cache_is_a_folder_of_this_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All users can write to the temporary directory: another one may have made a folder or a link of that name."""
    monkeypatch.delenv("FLO_CACHE", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = tmp_path / f"flo-cache-{os.getuid()}"
    assert folders._cache().path == mine
    assert mine.stat().st_mode & 0o777 == 0o700
    mine.chmod(0o777)
    assert folders._cache().path == mine
    assert mine.stat().st_mode & 0o777 == 0o700
    mine.rmdir()
    (tmp_path / "theirs").mkdir()
    mine.symlink_to(tmp_path / "theirs")
    private = folders._cache().path
    assert private not in (mine, tmp_path / "theirs")
    assert private.stat().st_mode & 0o777 == 0o700
    assert folders._cache().path == private
    mine.unlink()
    mine.mkdir()
    uid = os.getuid()
    monkeypatch.setattr("os.getuid", lambda: uid + 1)
    assert folders._private_folder(mine) != mine


@pytest.mark.parametrize("scheme", ["s3", "s3a", "https"])
def test_errors_of_an_address_do_not_show_its_password(scheme: str) -> None:
    with pytest.raises(flo.CheckpointError, match="ann:•••@bucket") as caught:
        flo.Changes(f"{scheme}://ann:s3cret@bucket/folder")
    assert "s3cret" not in "".join(traceback.format_exception(caught.value)).replace("s3cret@bucket/folder", "")


def test_an_address_is_shown_without_its_password() -> None:
    for sink in (flo.Changes("file://ann:s3cret@host/folder"), flo.Changes("file://ann:s3cret@host/folder", keep=3)):
        assert "s3cret" not in repr(sink)
        assert "ann:•••@host/folder" in repr(sink)
