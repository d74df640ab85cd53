"""Diverted rows in a table: added, each with an id, and once though a version comes again."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flo
from flo.shards.sinks.dead_letters import DeadLetters, with_ids
from flo.shards.sinks.output_changes import OutputChanges
from flo.tables.io.diverted import SCHEMA

pytest.importorskip("adbc_driver_sqlite.dbapi")


class Sale(NamedTuple):
    shop: str
    price: int


class Killed(BaseException):
    """The process ends."""


def flow() -> flo.Flow:
    made = flo.Flow("totals")
    made.output("totals", made.input("sales", flo.ZSet[Sale]).group_by("shop").agg(total=flo.sum("price")))
    return made


def start(folder: Path, sink: Any = None) -> Any:
    given = flo.Upsert("sqlite", "dead", {"uri": str(folder / "dead.db")}) if sink is None else sink
    return (
        flow()
        .on(flo.here)
        .start({"sales diverted": given}, checkpoint=folder / "checkpoint", on_error="divert", shards=1)
    )


def found(folder: Path) -> list[Any]:
    with sqlite3.connect(folder / "dead.db") as connection:
        return sorted(connection.execute('SELECT "row", reason, number FROM dead').fetchall())


BAD = ("a", "x")


def test_diverted_rows_are_added_to_a_table(tmp_path: Path) -> None:
    with start(tmp_path) as query:
        query.push(sales=[Sale("a", 1), BAD, BAD])
        query.push(sales=[Sale("a", 2)])
        query.push(sales=[BAD, ("b\0", None)])
        assert query.view("totals").arrow().drop_columns(["_weight"]).to_pylist() == [{"shop": "a", "total": 3}]
    rows = found(tmp_path)
    assert [row[0] for row in rows] == ["('a', 'x')"] * 3 + ["('b\\x00', None)"]
    with start(tmp_path) as query:
        query.push(sales=[BAD])
    assert len(found(tmp_path)) == 5
    assert not list((tmp_path / "checkpoint" / "outputs").glob("*/*/*")), "no files of them are left"


def test_a_version_that_comes_again_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends after the table has taken the rows, and before the commit."""
    take = DeadLetters.take

    def killed(sink: DeadLetters, changes: OutputChanges) -> None:
        take(sink, changes)
        raise Killed

    query = start(tmp_path)
    monkeypatch.setattr(DeadLetters, "take", killed)
    with pytest.raises(Killed):
        query.push(sales=[Sale("a", 1), BAD, BAD])
    monkeypatch.undo()
    query.stop()
    assert len(found(tmp_path)) == 2
    with start(tmp_path) as query:
        query.push(sales=[Sale("a", 1), BAD, BAD])
    assert len(found(tmp_path)) == 2


def test_ids_do_not_depend_on_the_order_of_rows() -> None:
    one, two = {"row": "a\0", "reason": "r", "file": None, "number": None}, dict.fromkeys(SCHEMA.names)
    tables = [
        with_ids(SCHEMA.empty_table().from_pylist(rows, schema=SCHEMA), "x")
        for rows in ([one, two, one], [one, one, two])
    ]
    first, second = ({tuple(row.values()) for row in table.to_pylist()} for table in tables)
    assert first == second
    assert len({row[0] for row in first}) == 3
    assert {row[1] for row in first} == {"a\\u0000", None}
    other = with_ids(SCHEMA.empty_table().from_pylist([one], schema=SCHEMA), "y")
    assert other["id"][0].as_py() not in {row[0] for row in first}


def test_what_diverted_rows_cannot_have(tmp_path: Path) -> None:
    options = {"uri": str(tmp_path / "dead.db")}
    for sink, text in (
        (flo.Upsert("sqlite", "dead", options, key="number"), "takes no `key`"),
        (flo.Upsert("sqlite", "dead", options).reconcile(), "takes no `reconcile`"),
    ):
        with pytest.raises(flo.TypeMismatch, match=text):
            start(tmp_path, sink)
    with sqlite3.connect(tmp_path / "dead.db") as connection:
        connection.execute("CREATE TABLE dead (number INTEGER)")
    with pytest.raises(Exception, match="table dead has no column named id"):
        start(tmp_path)
