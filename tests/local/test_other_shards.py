"""A start with another number of shards: the state is cut, and the switch is one commit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import flo
import flo.local.evolution as evolution
from flo.shards.checkpoint.inspect import Checkpoint
from flo.shards.checkpoint.stored_views import StoredViews
from flo.shards.checkpoint.tags import add_tag, remove_tag
from flo.shards.views import View
from flo.tables.state import run
from tests.local.killed_fill import Sale, Shop

SHOPS = [Shop(str(number), "xyz"[number % 3]) for number in range(20)]


def sales(turn: int) -> list[Sale]:
    return [Sale(str(number % 20), number * turn) for number in range(40)]


def program(*more: str) -> flo.Flow:
    flow = flo.Flow("cities")
    given, shops = flow.input("sales", flo.ZSet[Sale]), flow.input("shops", flo.ZSet[Shop])
    joined = given.join(shops, on="shop")
    flow.output("cities", joined.group_by("city").agg(n=flo.count(), total=flo.sum("price")))
    flow.output("sales", given.distinct())
    flow.output("all", given)
    if "most" in more:
        flow.output("most", joined.group_by("shop").agg(most=flo.max("price")))
    return flow


def rows(view: Any) -> list[Any]:
    return sorted(tuple(row.values()) for row in view.arrow().to_pylist())


def expected(pushes: int, *more: str) -> dict[str, list[Any]]:
    given = [sale for turn in range(pushes) for sale in sales(turn)]
    result = program(*more).on(flo.here).run(sales=given, shops=SHOPS)
    return {name: sorted(tuple(row.values()) for row in table.to_pylist()) for name, table in result.items()}


def views(query: Any) -> dict[str, list[Any]]:
    return {name: rows(view) for name, view in query.views().items()}


def test_state_of_an_earlier_version_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in one place moves as it is, with the names of its files. In these, no integers had few bytes."""
    flow, given = flo.Flow("log"), list(range(2 * run.FEWEST_NARROWED))
    flow.output("log", flow.input("numbers", flo.Sequence[int]))
    with monkeypatch.context() as earlier, flow.on(flo.here).start(checkpoint=tmp_path, shards=2) as query:
        earlier.setattr(run, "FEWEST_NARROWED", 1 << 62)
        query.push(numbers=given)
    for shards in (3, None, 1, None):
        with flow.on(flo.here).start(checkpoint=tmp_path, shards=shards) as query:
            assert query.view("log").value() == given


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.every(test=2)
def test_shards_and_programs_change(workers: int, tmp_path: Path) -> None:
    """Without a change of the program, nothing has to be allowed."""
    steps: list[tuple[int | None, tuple[str, ...], bool]] = [
        (2, (), False),
        (5, (), False),
        (None, (), False),
        (1, ("most",), True),
        (3, (), True),
        (3, (), False),
        (2, (), False),
    ]
    given: list[int] = []
    sinks = {"all": lambda changes, version: given.extend([changes.num_rows] if changes.num_rows else [])}
    for turn, (shards, more, is_changed) in enumerate(steps):
        options: dict[str, Any] = {"changed": "fill"} if is_changed else {}
        with (
            program(*more)
            .on(flo.here, workers=workers)
            .start(sinks, checkpoint=tmp_path, shards=shards, **options) as query
        ):
            if turn:
                at_start = expected(turn, *more)
                assert views(query) == {name: each for name, each in at_start.items() if name != "all"}
            query.push(sales=sales(turn), **({} if turn else {"shops": SHOPS}))
            now = expected(turn + 1, *more)
            assert views(query) == {name: each for name, each in now.items() if name != "all"}
        assert [len(given), given[-1]] == [turn + 1, len(set(sales(turn)))], "a sink gets nothing when state is cut"
    checkpoint = Checkpoint(str(tmp_path))
    assert [checkpoint.shards(version) for version in checkpoint.versions()] == [2, 2]
    assert not list(checkpoint.problems())


@pytest.mark.thorough
def test_versions_before_stay_readable(tmp_path: Path) -> None:
    with program().on(flo.here).start(checkpoint=tmp_path, shards=2) as query:
        query.push(sales=sales(0), shops=SHOPS)
        query.push(sales=sales(1))
    add_tag(str(tmp_path), "two")
    with program().on(flo.here).start(checkpoint=tmp_path, shards=3, keep=3) as query:
        query.push(sales=sales(2))
        versions = [1, 2, 3]
        assert Checkpoint(str(tmp_path)).versions() == versions
        assert [rows(query.view("cities", version)) for version in versions] == [
            expected(count)["cities"] for count in (2, 2, 3)
        ]
        assert rows(View.of(str(tmp_path), "cities", 1)) == expected(2)["cities"]
        parts, _ = StoredViews(str(tmp_path)).parts("cities", 1, 2)
        assert sum(part.changes().num_rows for part in parts) == 0, "readers of changes see none"
        query.push(sales=sales(3))
        query.push(sales=sales(4))
        assert Checkpoint(str(tmp_path)).versions() == [1, 3, 4, 5]
        assert rows(query.view("cities", 1)) == expected(2)["cities"], "a tag keeps the other shards, too"
    assert not list(Checkpoint(str(tmp_path)).problems())
    with program().on(flo.here).start(checkpoint=tmp_path, version="two") as query:
        assert Checkpoint(str(tmp_path)).shards(1) == 2
        query.push(sales=sales(2))
        assert rows(query.view("cities")) == expected(3)["cities"]
    with program().on(flo.here).start(checkpoint=tmp_path, version="two", shards=4) as query:
        query.push(sales=sales(2))
        assert rows(query.view("cities")) == expected(3)["cities"]
    remove_tag(str(tmp_path), "two")
    with program().on(flo.here).start(checkpoint=tmp_path) as query:
        for turn in (3, 4):
            query.push(sales=sales(turn))
    assert [each.name for each in (tmp_path / "state").iterdir()] == ["00004"], "nothing needs other shards any more"


@pytest.mark.parametrize("moment", ["_fill_states", "_notes", "_differences"])
@pytest.mark.every(test=3)
def test_an_interrupted_start_changes_nothing(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with program().on(flo.here).start(checkpoint=tmp_path, shards=2) as query:
        query.push(sales=sales(0), shops=SHOPS)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patches:
        patches.setattr(evolution.Evolution, moment, interrupt)
        for shards in (3, 5):
            with pytest.raises(KeyboardInterrupt):
                program("most").on(flo.here).start(checkpoint=tmp_path, shards=shards, changed="fill")
            assert rows(View.of(str(tmp_path), "cities")) == expected(1)["cities"]
    assert Checkpoint(str(tmp_path)).shards(0) == 2
    with program("most").on(flo.here).start(checkpoint=tmp_path, shards=3, changed="fill") as query:
        query.push(sales=sales(1))
        assert views(query) == expected(2, "most")
    assert {each.name for each in (tmp_path / "state").iterdir()} <= {"00002", "00003"}


def test_a_changed_program_is_rejected_with_other_shards_too(tmp_path: Path) -> None:
    with program().on(flo.here).start(checkpoint=tmp_path, shards=2) as query:
        query.push(sales=sales(0), shops=SHOPS)
    with pytest.raises(flo.CheckpointError, match="the output `most` was added"):
        program("most").on(flo.here).start(checkpoint=tmp_path, shards=3)
    assert Checkpoint(str(tmp_path)).shards(0) == 2


def last_digit(sale: Sale) -> int:
    return sale.price % 10


def partners(*more: str) -> flo.Flow:
    flow = flo.Flow("partners")
    left, right = flow.input("left", flo.ZSet[Sale]), flow.input("right", flo.ZSet[Sale])
    if "semi" in more:
        flow.output("known", left.join(right, last_digit, last_digit, how="semi"))
    flow.output("count", left.union(right).agg(n=flo.count()))
    return flow


def test_state_that_cannot_be_cut(tmp_path: Path) -> None:
    """It is rejected, with the way to go on; and if the program no longer has it, it does not matter."""
    with partners("semi").on(flo.here).start(checkpoint=tmp_path, shards=2) as query:
        query.push(left=sales(1), right=sales(2))
        known = query.view("known").value()
    with pytest.raises(flo.CheckpointError, match=r"`semi_join` cannot be cut .* its key is computed") as caught:
        partners("semi").on(flo.here).start(checkpoint=tmp_path, shards=3)
    assert caught.value.instead[0][0] == "without `shards=…`"
    with partners("semi").on(flo.here).start(checkpoint=tmp_path) as query:
        assert query.view("known").value() == known
    with partners().on(flo.here).start(checkpoint=tmp_path, shards=3, changed="fill") as query:
        assert query.view("count").arrow().to_pylist()[0]["n"] == 80


@dataclass(frozen=True)
class Note:
    word: str | None
    n: int


def test_a_full_join_on_a_column_with_nulls_is_cut(tmp_path: Path) -> None:
    """Null meets nothing there, so the key is computed. The rows of its partners are those of the other side."""
    flow = flo.Flow("notes")
    left, right = flow.input("left", flo.ZSet[Note]), flow.input("right", flo.ZSet[Note])
    flow.output("both", left.join(right, on="word", how="full"))
    words, left_rows, right_rows = ["a", "b", None, "c", "d"], dict[Note, int](), dict[Note, int]()
    for turn, shards in enumerate([2, 3, 1, 4]):
        some = {Note(words[(turn + n) % 5], n): 1 for n in range(3)}
        gone = {note: -1 for note in left_rows if turn == 2}
        with flow.on(flo.here).start(checkpoint=tmp_path, shards=shards) as query:
            query.push(left={Note(words[turn], turn): 1, **gone}, right=some)
            left_rows = {} if gone else left_rows
            left_rows |= {Note(words[turn], turn): 1}
            right_rows = {note: right_rows.get(note, 0) + some.get(note, 0) for note in {**right_rows, **some}}
            assert query.view("both").value() == flow.run(left=left_rows, right=right_rows)["both"]
