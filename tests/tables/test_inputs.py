"""Every kind of data that an input takes gives the same rows."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import narwhals as nw
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import flo
from flo.tables.io import files as inputs


class Order(NamedTuple):
    id: int
    name: str | None
    price: float


ROWS = [Order(1, "a", 1.5), Order(2, None, 2.0), Order(2, None, 2.0)]
TABLE = pa.table({"price": [1.5, 2.0, 2.0], "id": [1, 2, 2], "name": ["a", None, None], "more": [True, True, False]})
COUNTS = Counter(ROWS)


def through(data: Any, collection: Any = flo.Bag[Order], **options: Any) -> Any:
    flow = flo.Flow("through")
    flow.output("rows", flow.input("rows", collection, bounded=True))
    return flow.on(flo.here).run(rows=data, **options)


def counted(data: Any, collection: Any = flo.Bag[Order]) -> Counter[Any]:
    found = through(data, collection)["rows"].to_pylist()
    return Counter({Order(row["id"], row["name"], row["price"]): row["_weight"] for row in found})


def lines(rows: list[Order]) -> str:
    return "".join(json.dumps({**row._asdict(), "more": [1]}) + "\n" for row in rows)


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        pl.from_arrow(TABLE),
        pl.from_arrow(TABLE).lazy(),  # type: ignore[union-attr]
        nw.from_native(TABLE),
        [TABLE.slice(0, 1), pl.from_arrow(TABLE.slice(1))],
        iter([TABLE.slice(0, 2), TABLE.slice(2)]),
        ROWS,
        iter(ROWS),
        iter([ROWS[:1], ROWS[1:]]),
        COUNTS,
        [row._asdict() for row in ROWS],
    ],
    ids=lambda data: type(data).__module__.split(".")[0] + "." + type(data).__name__,
)
def test_tables_frames_and_python(data: Any) -> None:
    assert counted(data) == COUNTS


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    assert counted(pandas.DataFrame({"id": [1], "name": ["a"], "price": [1.5]}, index=[7])) == Counter(ROWS[:1])


def write(folder: Path, kind: str) -> Path:
    path = folder / f"rows.{kind}"
    match kind:
        case "parquet":
            pq.write_table(TABLE, path, row_group_size=1)
        case "csv":
            pyarrow.csv.write_csv(TABLE.set_column(2, "name", pa.array(["a", "b", "b"])), path)
        case "csv.gz":
            path.write_bytes(gzip.compress(b"id,name,price\n1,a,1.5\n2,b,2\n2,b,2.0\n"))
        case "tsv":
            path.write_text("id\tname\tprice\n1\ta\t1.5\n2\tb\t2\n2\tb\t2\n")
        case "jsonl":
            path.write_text(lines(ROWS))
        case "ndjson.gz":
            path.write_bytes(gzip.compress(lines(ROWS).encode()))
        case "arrow":
            with pa.ipc.new_file(path, TABLE.schema) as writer:
                writer.write_table(TABLE)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "tsv", "jsonl", "ndjson.gz", "arrow"])
@pytest.mark.parametrize("given", [str, Path])
def test_files(kind: str, given: Any, tmp_path: Path) -> None:
    path = write(tmp_path, kind)
    expected = Counter(Order(r.id, r.name or "b", r.price) for r in ROWS) if kind[0] in "ct" else COUNTS
    assert counted(given(path)) == expected
    assert counted([given(path), given(path)]) == expected + expected


def test_a_folder_is_all_of_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    for number, day in enumerate(["2024-05-02", "2024-05-01"]):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        pq.write_table(pa.table({"id": [number]}), folder / "part.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.csv").touch()

    class Dated(NamedTuple):
        id: int
        day: date

    found = through(tmp_path, flo.Sequence[Dated])["rows"]
    assert found.to_pylist() == [{"id": 1, "day": date(2024, 5, 1)}, {"id": 0, "day": date(2024, 5, 2)}]


def test_a_sequence_keeps_its_order_across_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "SLICE", 3)
    numbers = list(range(10, 0, -1))
    assert through(pa.table({"any name": numbers}), flo.Sequence[int])["rows"]["value"].to_pylist() == numbers


def test_weights() -> None:
    table = pa.table({"value": [1, 2, 1], "_weight": pa.array([1, 3, 4], pa.int8())})
    assert through(table, flo.Bag[int])["rows"].sort_by("value").to_pydict() == {"value": [1, 2], "_weight": [5, 3]}
    taken_back = table.set_column(1, "_weight", pa.array([1, 3, -1]))
    assert through(taken_back, flo.ZSet[int])["rows"].to_pydict() == {"value": [2], "_weight": [3]}
    assert through(table, flo.Set[int])["rows"].sort_by("value").to_pydict() == {"value": [1, 2]}


class Colour(Enum):
    RED = 1
    BLUE = 2


class Inner(NamedTuple):
    a: int
    b: str | None


@dataclass(frozen=True)
class Everything:
    whole: int
    real: float
    yes: bool
    text: str
    raw: bytes
    money: Decimal
    exact: Annotated[Decimal, pa.decimal128(10, 2)]
    day: date
    moment: datetime
    zoned: Annotated[datetime, pa.timestamp("us", "Europe/Berlin")]
    hour: clock
    span: timedelta
    colour: Colour
    key: UUID
    side: Literal["buy", "sell"]
    some: tuple[int | None, ...]
    inner: Inner
    pair: tuple[int, str]
    perhaps: str | None


ONE = Everything(
    1,
    0.5,
    True,
    "é",
    b"\x00\xff",
    Decimal("1.5"),
    Decimal("2.25"),
    date(2024, 5, 1),
    datetime(2024, 5, 1, 12),
    datetime(2024, 5, 1, 12, tzinfo=UTC),
    clock(12, 30),
    timedelta(seconds=1),
    Colour.BLUE,
    UUID(int=5),
    "sell",
    (1, None),
    Inner(1, None),
    (1, "x"),
    None,
)


def test_every_type_goes_in_and_comes_out() -> None:
    from flo.columns.layout import Layout

    layout = Layout.of(Everything)
    assert layout is not None
    for collection in (flo.Bag[Everything], flo.ZSet[Everything], flo.Set[Everything], flo.Sequence[Everything]):
        from_python = through([ONE, ONE], collection)["rows"]
        assert set(layout.to_elements(from_python)) == {ONE}
        back = from_python.drop_columns(["_weight"]) if "_weight" in from_python.column_names else from_python
        again = through(pl.from_arrow(back), collection)["rows"]
        assert set(layout.to_elements(again)) == {ONE}


def test_texts_of_every_type(tmp_path: Path) -> None:
    class Texts(NamedTuple):
        whole: int
        yes: bool
        money: Decimal
        day: date
        moment: datetime
        zoned: Annotated[datetime, pa.timestamp("us", "UTC")]
        hour: clock
        colour: Colour
        key: UUID
        perhaps: int | None

    row = "1,true,1.50,2024-05-01,2024-05-01 12:00:00,2024-05-01T12:00:00Z,12:30:00,BLUE," + str(UUID(int=5)) + ","
    (tmp_path / "texts.csv").write_text(",".join(Texts._fields) + "\n" + row + "\n")
    found = through(tmp_path / "texts.csv", flo.Sequence[Texts])["rows"]
    from flo.columns.layout import Layout

    layout = Layout.of(Texts)
    assert layout is not None
    moment = datetime(2024, 5, 1, 12)
    assert layout.to_elements(found) == [
        Texts(
            1,
            True,
            Decimal("1.5"),
            date(2024, 5, 1),
            moment,
            moment.replace(tzinfo=UTC),
            clock(12, 30),
            Colour.BLUE,
            UUID(int=5),
            None,
        )
    ]
    values = row[:-1].split(",")
    (tmp_path / "texts.jsonl").write_text(
        json.dumps({**dict(zip(Texts._fields, values, strict=False)), "whole": 1, "yes": True, "perhaps": None}) + "\n"
    )
    assert through(tmp_path / "texts.jsonl", flo.Sequence[Texts])["rows"] == found


class Person(TypedDict):
    name: str
    age: int


def test_row_types_of_schemas_and_typed_dicts() -> None:
    schema = pa.schema(
        [pa.field("id", pa.int32(), False), ("the name", pa.large_string()), ("tags", pa.list_(pa.int8()))]
    )
    table = pa.table({"id": [1, 2], "the name": ["a", None], "tags": [[1], None]}, schema=schema)
    found = through(table, flo.Bag[flo.rows(schema)])["rows"]
    assert found.drop_columns(["_weight"]).sort_by("id").to_pylist() == table.to_pylist()
    assert found.schema.field("id").type == pa.int32()
    assert flo.rows(schema) is flo.rows(schema)
    row = flo.rows(Person)("Ann", 40)
    assert row["name"] == row.name == row[0]
    people = [{"name": "Ann", "age": 40}, {"name": "Ann", "age": 40}]
    assert through(people, flo.Bag[flo.rows(Person)])["rows"].to_pylist() == [{**people[0], "_weight": 2}]
    assert through(people, flo.Bag[Person])["rows"].to_pylist() == [{**people[0], "_weight": 2}]
    flow = flo.Flow("people")
    flow.output("names", flow.input("people", flo.Bag[Person]).map(lambda person: person["name"]))
    assert flow.run(people=people) == {"names": Counter({"Ann": 2})}
    assert flow.on(flo.here).run(people=people)["names"].to_pylist() == [{"value": "Ann", "_weight": 2}]
    with pytest.raises(flo.TypeMismatch, match=r"flo\.rows\(Person\)"):
        through(pa.Table.from_pylist(people), flo.Sequence[Person])
    with pytest.raises(flo.TypeMismatch, match="must get a schema of Arrow"):
        flo.rows(3)


def test_integers_of_any_width_and_dictionaries_are_cast() -> None:
    for kind in (pa.int8(), pa.uint64(), pa.int32()):
        assert through(pa.table({"value": pa.array([1], kind)}), flo.Sequence[int])["rows"]["value"].to_pylist() == [1]
    texts = pa.array(["a", "b", "a"]).dictionary_encode()
    assert through(pa.table({"value": texts}), flo.Sequence[str])["rows"]["value"].to_pylist() == ["a", "b", "a"]


def test_rows_of_something_without_columns_are_no_table() -> None:
    @dataclass(frozen=True)
    class Odd:
        members: frozenset[int]

    with pytest.raises(flo.TypeMismatch, match="its elements have no columns"):
        through([Odd(frozenset({1}))], flo.Sequence[Odd])
    flow = flo.Flow("odd")
    flow.output("sizes", flow.input("rows", flo.Sequence[Odd]).map(lambda odd: len(odd.members)))
    assert flow.on(flo.here).run(rows=[Odd(frozenset({1}))])["sizes"]["value"].to_pylist() == [1]


def test_nothing_at_all(tmp_path: Path) -> None:
    for nothing in ([], iter([]), TABLE.slice(0, 0), pl.from_arrow(TABLE.slice(0, 0))):
        assert through(nothing)["rows"].num_rows == 0


def test_dicts_and_lists_within_dicts_are_rows_and_tuples() -> None:
    """As JSON and `to_pylist` give them, on values too."""
    place = pa.struct([pa.field("x", pa.int64()), pa.field("names", pa.list_(pa.string()))])
    data = pa.table(
        {"at": [{"x": 1, "names": ["a", None]}, None], "all": [[{"x": 2, "names": None}], []]},
        schema=pa.schema([("at", place), ("all", pa.list_(place))]),
    )
    flow = flo.Flow("places")
    flow.output("places", flow.input("places", flo.Bag[flo.rows(data.schema)]))
    expected = flow.on(flo.here).run(places=data)["places"]
    assert flow.on(flo.here).run(places=data.to_pylist())["places"].equals(expected)
    assert {(row.at and row.at.names, len(row.all)) for row in flow.run(places=data.to_pylist())["places"]} == {
        (("a", None), 1),
        (None, 0),
    }
