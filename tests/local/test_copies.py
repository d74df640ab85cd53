"""Copies of checkpoints take one version along, under an id of their own."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import flo
from flo.core.errors import CheckpointError, NameTakenError
from flo.shards.checkpoint.copies import copy_checkpoint
from flo.shards.checkpoint.program_changes import read_description
from flo.shards.checkpoint.tags import add_tag, list_tags
from flo.shards.sinks.sinks import Changes
from flo.shards.sinks.upserts import Upsert
from tests.local.shop_totals import (
    expect_sound,
    expected,
    push,
    push_meanwhile,
    sales,
    start,
    views,
    with_a_column,
)


def test_a_copy_while_pushes_go_on(tmp_path: Path) -> None:
    where, copies = tmp_path / "original", dict[Path, int]()

    def keep_copying() -> None:
        while len(copies) < 3:
            to = tmp_path / f"copy-{len(copies)}"
            copies[to] = copy_checkpoint(str(where), str(to))

    with start(where, shards=2) as query:
        turns = push_meanwhile(query, keep_copying)
        assert list_tags(str(where)) == {}
    ids = {read_description(str(where))["id"]}
    for to, version in copies.items():
        ids.add(read_description(str(to))["id"])
        expect_sound(to)
        with start(to) as query:
            assert views(query) == expected(list(range(version + 1)))
            push(query, range(100, 103))
            assert views(query) == expected([*range(version + 1), 100, 101, 102])
    assert len(ids) == len(copies) + 1
    expect_sound(where)
    with start(where) as query:
        assert views(query) == expected(list(range(turns)))


def test_a_copy_of_a_version(tmp_path: Path) -> None:
    where = str(tmp_path / "original")
    with start(tmp_path / "original") as query:
        push(query, range(2))
        add_tag(where, "early")
        push(query, range(2, 8))
    assert copy_checkpoint(where, str(tmp_path / "copy"), "early") == 1
    with start(tmp_path / "copy") as query:
        assert views(query) == expected([0, 1])
        assert query.progress.maxlen
    for to, why in (("copy", "empty or new"), ("original/inside", "in the checkpoint itself")):
        with pytest.raises(NameTakenError, match=why):
            copy_checkpoint(where, str(tmp_path / to))
    with pytest.raises(CheckpointError, match="version 3 is no longer kept"):
        copy_checkpoint(where, str(tmp_path / "another"), 3)
    assert not (tmp_path / "another").exists()
    assert list_tags(where) == {"early": 1}


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    where = str(tmp_path / "original")
    with start(tmp_path / "original") as query:
        push(query, range(2))
    for path in (tmp_path / "original").glob("state/*/*/*/runs/*"):
        path.unlink()
    with pytest.raises(CheckpointError, match="lacks the file `runs/"):
        copy_checkpoint(where, str(tmp_path / "copy"))
    assert not list((tmp_path / "copy").iterdir())
    assert list_tags(where) == {}


def test_the_sinks_of_the_original_are_not_those_of_the_copy(tmp_path: Path) -> None:
    database = str(tmp_path / "totals.db")
    given = {
        "totals": Upsert("sqlite", "totals", {"uri": database}),
        "large": Changes(str(tmp_path / "large")),
    }
    where, copy = tmp_path / "original", tmp_path / "copy"
    with start(where, given) as query:
        push(query, range(3))
        copy_checkpoint(str(where), str(copy))
        for name in given:
            with pytest.raises(
                CheckpointError, match=f"output `{name}` belongs to the checkpoint that this one is a cop"
            ):
                start(copy, {**dict.fromkeys(given, "noop"), name: given[name]})
        push(query, range(3, 5))
    with sqlite3.connect(database) as connection:
        found = sorted(connection.execute("SELECT shop, n, total FROM totals"))
    assert found == [row[:-1] for row in expected(list(range(5)))["totals"]]


def test_a_changed_program_runs_on_a_copy(tmp_path: Path) -> None:
    where, copy = tmp_path / "original", tmp_path / "copy"
    with start(where) as query:
        push(query, range(3))
        copy_checkpoint(str(where), str(copy))
        given = [each for turn in range(3) for each in sales(turn)]
        changed = with_a_column().on(flo.here).start(checkpoint=copy, changed="fill", fill={"sales": given})
        with changed as other:
            for each in (query, other):
                push(each, range(3, 5))
            columns = ["shop", "n", "total"]
            both = [each.view("totals").arrow().select(columns).sort_by("shop") for each in (query, other)]
        assert both[0].equals(both[1])
    copy_checkpoint(str(copy), str(tmp_path / "again"))
    described = read_description(str(tmp_path / "again"))
    assert described["copied"] == [read_description(str(each))["id"] for each in (where, copy)]
    with with_a_column().on(flo.here).start(checkpoint=tmp_path / "again") as query:
        assert query.view("totals").arrow().select(columns).sort_by("shop").equals(both[0])
