"""Outputs that take over the sinks of others, and sinks of another kind: each ends up with the rows of its output."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

import flo
from tests.local.sink_places import Place, Sale, flow_of, plain, push, start, sums

LEAST = 1


def flow_with(**outputs: Any) -> flo.Flow:
    """A program with an output for each function of the sales, and a view of each."""
    flow = flo.Flow("shops")
    sales = flow.input("sales", flo.ZSet[Sale])
    flow.output("kept", sales)
    for name, build in outputs.items():
        flow.output(name, build(sales))
        flow.output(f"view of {name}", build(sales))
    return flow


def largest(sales: Any) -> Any:
    return sales.group_by("shop").agg(total=flo.max("price"))


def sums_of_a(sales: Any) -> Any:
    return sums(sales.filter(nw.col("shop") == "a"))


def expect_rows(place: Place, query: Any, name: str) -> None:
    rows = query.view(f"view of {name}").arrow().drop_columns(["_weight"]).to_pylist()
    assert place.rows() == Counter(map(plain, rows))


def test_a_renamed_output_takes_over_the_sink(place: Place) -> None:
    checkpoint = place.folder / "c"
    with flow_with(before=sums).on(flo.here).start({"before": place.sink()}, checkpoint=checkpoint) as query:
        push(query, ("a", 1), ("b", 2))
    now = flow_with(after=sums_of_a).on(flo.here)
    with now.start({"after": place.sink()}, checkpoint=checkpoint, changed="fill") as query:
        expect_rows(place, query, "after")
        push(query, ("a", 3))
        expect_rows(place, query, "after")
    with now.start({"after": place.sink()}, checkpoint=checkpoint) as query:
        query.push(sales={Sale("a", 1): -1})
        expect_rows(place, query, "after")
    again = flow_with(before=sums).on(flo.here)
    with again.start({"before": place.sink()}, checkpoint=checkpoint, changed="fill") as query:
        expect_rows(place, query, "before")


def test_outputs_exchange_their_sinks(place: Place, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other, checkpoint = Place(tmp_path / "other", place.kind), place.folder / "c"
    run = flow_with(one=sums, two=largest).on(flo.here)
    with run.start({"one": place.sink(), "two": other.sink()}, checkpoint=checkpoint) as query:
        push(query, ("a", 1), ("a", 5), ("b", 2))
    exchanged = {"one": other.sink(), "two": place.sink()}
    with pytest.raises(flo.CheckpointError, match="holds the rows of `two`"):
        run.start(exchanged, checkpoint=checkpoint).stop()
    with run.start(exchanged, checkpoint=checkpoint, changed="fill") as query:
        expect_rows(other, query, "one")
        expect_rows(place, query, "two")
        query.push(sales={Sale("a", 5): -1, Sale("c", 1): 1})
        expect_rows(other, query, "one")
        expect_rows(place, query, "two")


def test_two_outputs_in_one_place(place: Place) -> None:
    (place.folder / "other").mkdir()
    for other in (place, Place(place.folder / "other" / "..", place.kind)):
        outputs = {"one": place.sink(), "two": other.sink()}
        with pytest.raises(flo.TypeMismatch, match="the outputs `one` and `two` have one sink"):
            flow_with(one=sums, two=largest).on(flo.here).start(outputs, checkpoint=place.folder / "c")


def test_a_function_in_the_place_of_a_table(place: Place) -> None:
    """It gets all rows first."""
    taken = Counter[Any]()

    def take(changes: pa.Table, version: int) -> None:
        for row in changes.to_pylist():
            taken[row["shop"], row["total"]] += row["_weight"]

    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    with pytest.raises(flo.CheckpointError, match="had another sink") as caught:
        start(place, sink=take)
    assert 'changed="fill"' in str(caught.value)
    with start(place, sink=take, changed="fill") as query:
        assert +taken == {("a", 1): 1, ("b", 2): 1}
        push(query, ("a", 3))
        assert +taken == {("a", 4): 1, ("b", 2): 1}
    with start(place, sink=take) as query:
        query.push(sales={Sale("b", 2): -1})
    assert {row: count for row, count in taken.items() if count} == {("a", 4): 1}


def test_a_view_in_between(place: Place) -> None:
    """A sink that was left out for a while gets the difference, if changes are filled."""
    with start(place) as query:
        push(query, ("a", 1), ("b", 2))
    with start(place, sink=None) as query:
        push(query, ("a", 3), ("c", 2))
    with start(place, changed="fill"):
        assert place.rows() == Counter({plain({"shop": s, "total": n}): 1 for s, n in (("a", 4), ("b", 2), ("c", 2))})


def test_a_lambda_that_reads_another_constant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be named for `refill`, so it is filled."""

    def run(**more: Any) -> Any:
        flow = flow_of(lambda sales: sums(sales.filter(lambda sale: sale.price > LEAST)))
        return flow.on(flo.here).start(checkpoint=tmp_path / "c", **more)

    with run() as query:
        push(query, ("a", 1), ("a", 5))
    monkeypatch.setattr(f"{__name__}.LEAST", 0)
    with pytest.raises(flo.CheckpointError, match="`LEAST` was 1, and is 0"):
        run()
    with run(changed="fill") as query:
        query.push(sales={Sale("a", 5): -1})
        assert [row.total for row in query.view("view").value()] == [1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"refill": "clean"}, "`refill` must be a list"), ({"fill": [Sale("a", 1)]}, "`fill` must have the rows by")],
)
def test_arguments_of_a_fill(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    with flow_of(sums).on(flo.here).start(checkpoint=tmp_path / "c") as query:
        push(query, ("a", 1))
    with pytest.raises(flo.TypeMismatch, match=message):
        flow_of(sums).on(flo.here).start(checkpoint=tmp_path / "c", changed="fill", **wrong)
