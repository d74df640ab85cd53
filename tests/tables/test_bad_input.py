"""Rows, files and functions that go wrong: the error names the input, the file and the row; or they are put aside.

pytest tests/tables/test_bad_input.py --update-golden     writes the texts anew, to be read before they are committed
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flo

GOLDEN = Path(__file__).parent / "golden"


class Order(NamedTuple):
    id: int
    price: int | None


def inverse(order: Order) -> float:
    return 1 / order.id


def same(kind: Any = flo.Bag[Order]) -> flo.Flow:
    flow = flo.Flow("orders")
    flow.output("orders", flow.input("orders", kind))
    return flow


def inverses(kind: Any = flo.Bag[Order]) -> flo.Flow:
    flow = flo.Flow("orders")
    flow.output("orders", flow.input("orders", kind).map(inverse))
    return flow


def table(ids: Any, prices: Any) -> pa.Table:
    return pa.table({"id": ids, "price": prices})


def file(name: str, text: str) -> Path:
    Path(name).write_text(text)
    return Path(name)


def parquet(name: str, *tables: pa.Table, cut: int = 0) -> Path:
    path = Path(name)
    with pq.ParquetWriter(path, tables[0].schema) as writer:
        for each in tables:
            writer.write_table(each)
    if cut:
        path.write_bytes(path.read_bytes()[:-cut])
    return path


@dataclass
class Case:
    """Data that is bad; how many rows of it are good, and what is put aside: (row number, file)."""

    data: Callable[[], Any]
    good: int
    aside: list[tuple[int | None, str | None]]
    flow: Callable[[], flo.Flow] = same


CASES = {
    "no_such_column": Case(lambda: pa.table({"id": [1]}), 0, [(1, None)]),
    "column_of_another_type": Case(lambda: table(["a"], [1]), 0, [(1, None)]),
    "null_where_there_is_none": Case(lambda: table([1, None, 3], [1, 2, 3]), 2, [(2, None)]),
    "number_too_large": Case(lambda: table(pa.array([1, 2**63], pa.uint64()), [1, 2]), 1, [(2, None)]),
    "text_in_a_csv": Case(lambda: file("a.csv", "id,price\n1,2\nx,3\n4,y\n5,\n"), 2, [(2, "a.csv"), (3, "a.csv")]),
    "csv_row_of_another_length": Case(
        lambda: file("a.csv", "id,price\n1,2\n3\n4,z\n"), 1, [(2, "a.csv"), (3, "a.csv")]
    ),
    "csv_without_a_column": Case(lambda: file("a.csv", "id,cost\n1,2\n"), 0, [(None, "a.csv")]),
    "json_of_another_type": Case(
        lambda: file("a.jsonl", '{"id": 1, "price": 2}\n{"id": "x"}\n{"id": 3}\n'), 2, [(2, "a.jsonl")]
    ),
    "json_cut_off": Case(lambda: file("a.jsonl", '{"id": 1, "price": 2}\n{"id": 2, "pr'), 1, [(2, "a.jsonl")]),
    "json_without_a_field": Case(lambda: file("a.jsonl", '{"id": 1}\n{"price": 2}\n'), 1, [(2, "a.jsonl")]),
    "truncated_parquet": Case(lambda: parquet("a.parquet", table([1], [1]), cut=9), 0, [(None, "a.parquet")]),
    "parquet_of_another_schema": Case(
        lambda: [parquet("a.parquet", table([1], [1])), parquet("b.parquet", pa.table({"no": [1]}))],
        1,
        [(None, "b.parquet")],
    ),
    "no_such_file": Case(lambda: "nowhere.csv", -1, []),
    "address_of_a_file": Case(lambda: "s3://ann:s3cret@bucket/a.csv", -1, []),
    "file_of_an_unknown_kind": Case(lambda: file("a.xlsx", ""), -1, []),
    "empty_folder": Case(lambda: _folder(), -1, []),
    "element_that_does_not_belong": Case(lambda: [Order(1, 2), "x", Order(3, None)], 2, [(2, None)]),
    "number_that_fits_no_column": Case(lambda: [Order(1, 2), Order(2**70, 3)], 1, [(2, None)]),
    "dict_without_a_field": Case(lambda: [{"id": 1, "price": 2}, {"id": 2}], 1, [(2, None)]),
    "function_that_raises_on_a_table": Case(lambda: table([1, 0, 2], [1, 2, 3]), 2, [(2, None)], inverses),
    "function_that_raises_on_a_file": Case(
        lambda: [file("a.csv", "id,price\n1,2\n"), file("b.csv", "id,price\n5,2\n7,3\n0,4\n")],
        3,
        [(3, "b.csv")],
        inverses,
    ),
    "function_that_raises_on_python": Case(
        lambda: [Order(1, 1), Order(0, 1)], 1, [(2, None)], lambda: inverses(flo.Sequence[Order])
    ),
    "count_below_one": Case(lambda: table([1], [1]).append_column("_weight", pa.array([0])), 0, [(1, None)]),
}


def _folder() -> Path:
    Path("nothing").mkdir()
    return Path("nothing")


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    data = case.data()
    with pytest.raises(flo.FloError) as caught:
        case.flow().on(flo.here).run(orders=data)
    assert caught.value.where is not None
    caught.value.where = None  # a line of this file
    text = f"{type(caught.value).__name__}: {caught.value}\n"
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    assert "orders" in text


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.aside])
@pytest.mark.parametrize("as_slices", [False, True])
def test_diverted(name: str, as_slices: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flo.tables.io import files as inputs

    monkeypatch.chdir(tmp_path)
    if as_slices:
        monkeypatch.setattr(inputs, "SLICE", 1)
    case = CASES[name]
    result = case.flow().on(flo.here).run(orders=case.data(), on_error="divert")
    aside = result.diverted["orders"]
    assert sorted(zip(aside["number"].to_pylist(), aside["file"].to_pylist(), strict=True), key=str) == sorted(
        case.aside, key=str
    )
    assert all(aside["reason"].to_pylist())
    assert result["orders"].num_rows == result.taken["orders"] == case.good


def test_every_golden_file_has_its_case() -> None:
    assert {golden.stem for golden in GOLDEN.glob("*.txt")} == set(CASES)


def test_many_bad_rows_among_many_good_ones() -> None:
    ids = [0 if n % 100 == 7 else n + 1 for n in range(5_000)]
    result = inverses().on(flo.here).run(orders=table(ids, ids), on_error="divert")
    assert result.diverted["orders"]["number"].to_pylist() == [n + 1 for n in range(5_000) if n % 100 == 7]
    assert result.taken["orders"] == 4_950
    assert "ZeroDivisionError" in result.diverted["orders"]["reason"][0].as_py()


def test_a_loop_diverts_as_well() -> None:
    loop = inverses().on(flo.here).loop(on_error="divert")
    loop.push(orders=[Order(1, 1), Order(0, 1)])
    loop.push(orders=table([0, 2], [1, 1]))
    assert loop.diverted["orders"].num_rows == 2
    assert loop.pull("orders").num_rows == 2


def test_what_was_diverted_is_in_the_checkpoint(tmp_path: Path) -> None:
    """Written once, though every checkpoint holds it."""
    loop = inverses().on(flo.here).loop(on_error="divert")
    loop.push(orders=table([0] * 1000, range(1000)))
    first = loop.checkpoint(tmp_path)
    loop.push(orders=table([0, 2], [1, 1]))
    second = loop.checkpoint(tmp_path)
    assert second.bytes < first.bytes / 2
    loop.push(orders=table([0], [7]))
    again = inverses().on(flo.here).loop(on_error="divert")
    again.restore(tmp_path)
    assert again.diverted["orders"].num_rows == 1001
    again.push(orders=table([0], [7]))
    assert again.diverted["orders"].equals(loop.diverted["orders"])
    for _ in range(3):
        third = again.checkpoint(tmp_path, keep=1)
    assert third.written == 0
    last = inverses().on(flo.here).loop(on_error="divert")
    last.restore(tmp_path)
    assert last.diverted["orders"].equals(loop.diverted["orders"])


class Basket(NamedTuple):
    first: Order
    others: tuple[int, ...]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Basket(Order(None, 1), ()), "is None; expected int"),  # type: ignore[arg-type]
        (Basket(Order(1, 1), (1, None)), "is (1, None); expected tuple[int, ...]"),  # type: ignore[arg-type]
        (Basket(None, ()), "is None; expected Order"),  # type: ignore[arg-type]
    ],
)
def test_none_in_a_field_that_has_no_nulls(bad: Basket, reason: str) -> None:
    flow = same(flo.Bag[Basket])
    good = Basket(Order(1, None), (1,))
    with pytest.raises(flo.ElementError, match=re.escape(reason)):
        flow.on(flo.here).run(orders=[good, bad])
    result = flow.on(flo.here).run(orders=[good, bad], on_error="divert")
    assert (result["orders"].num_rows, result.diverted["orders"]["number"].to_pylist()) == (1, [2])
    assert reason in result.diverted["orders"]["reason"][0].as_py()


@pytest.mark.parametrize("kind", [flo.Bag, flo.Sequence])
def test_rows_at_fault_are_found_in_few_calls(kind: Any) -> None:
    """Rows are halved until those at fault are alone. No operator consumes the others of a push that fails."""
    calls = 0

    def counted(order: Order) -> float:
        nonlocal calls
        calls += 1
        return inverse(order)

    flow = flo.Flow("orders")
    flow.output("orders", flow.input("orders", kind[Order]).map(counted))
    rows = 1024
    data = table([number % 128 for number in range(rows)], range(rows))
    result = flow.on(flo.here).run(orders=data, on_error="divert")
    assert result.diverted["orders"].num_rows == rows // 128
    assert calls < 4 * rows
