"""Another number of shards: the state is cut anew, or it is refused and left as it was."""

from __future__ import annotations

import random
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow.parquet as pq
import pytest

import flo
from flo.shards.checkpoint.inspect import Checkpoint
from flo.tables.operator import OnTables, Placement
from flo.tables.state import merging
from flo.tools.cli import main
from tests.rescaling import rescale
from tests.spark.harness import streamed
from tests.spark.programs import add, thirds
from tests.spark.shops import (
    DATA,
    Sale,
    everything,
    expected,
    last_of,
    merged,
    sales,
    sales_table,
    shop_of,
    snapshot,
    sums,
)
from tests.spark.simulated import Simulated

pytestmark = pytest.mark.every(check=5, test=2)


def tenth_of(sale: Sale) -> int:
    return sale.price // 10


MORE = [
    pytest.param(2, 7, marks=pytest.mark.slow),
    *(pytest.param(*pair, marks=pytest.mark.thorough) for pair in [(1, 3), (7, 2), (3, 4)]),
]


@pytest.mark.parametrize(("before", "after"), [(3, 1), *MORE])
def test_another_number_of_shards(tmp_path: Path, before: int, after: int) -> None:
    where = str(tmp_path)
    query = Simulated(everything(), where, shards=before)
    for data in DATA[:2]:
        query.turn(data)
    rescale(where, after)
    assert main(["state", "verify", where]) == 0
    query = Simulated(everything(), where)
    assert query.batches.shards == after
    assert query.values() == expected(2)
    for turn in (2, 3):
        query.turn(DATA[turn])
        assert query.values() == expected(turn + 1), turn
    newest = query.version - 1
    held = {each.name: 0 for each in Checkpoint(where).sizes(newest)}
    for each in Checkpoint(where).sizes(newest):
        held[each.name] += each.rows
    assert held["join_sets"] == 2 * (len(merged(DATA)["some"]) + len(merged(DATA)["others"])), "every row is known"
    rescale(where, before)
    assert Simulated(everything(), where).values() == expected(4)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2)])
def test_rows_that_wait_and_ends_are_cut_too(tmp_path: Path, before: int, after: int) -> None:
    def program() -> flo.Flow:
        flow = flo.Flow("waiting")
        left, right = flow.input("left", flo.Set[Sale]), flow.input("right", flo.Set[Sale], bounded=True)
        flow.output("rest", left.difference(right))
        flow.output("count", right.count())
        return flow

    where = str(tmp_path)
    Simulated(program(), where, shards=before).turn({"left": set(sales(0, 30)), "right": set(sales(0, 10))}, ends=False)
    rescale(where, after)
    query = Simulated(program(), where)
    assert query.values()["rest"] == set()
    query.turn({"left": set(sales(20, 30))})
    found = dict(program().run(left=set(sales(0, 50)), right=set(sales(0, 10))))
    assert query.values() == found
    rescale(where, before)
    query = Simulated(program(), where)
    query.turn({"left": set(sales(5, 50))})
    assert query.values() == dict(program().run(left=set(sales(0, 55)), right=set(sales(0, 10))))


def test_what_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    flow = flo.Flow("partners")
    left, right = flow.input("left", flo.ZSet[Sale]), flow.input("right", flo.ZSet[Sale])
    flow.output("known", left.join(right, last_of, last_of, how="semi"))
    query = Simulated(flow, tmp_path)
    query.turn({"left": sales(0, 10), "right": sales(5, 10)})
    before = snapshot(str(tmp_path))
    with pytest.raises(flo.CheckpointError, match=r"`semi_join` cannot be cut .* its key is computed"):
        rescale(str(tmp_path), 3)
    after = snapshot(str(tmp_path))
    assert {name: after[name] for name in before} == before
    assert Checkpoint(str(tmp_path)).shards(0) == 2


class Case(NamedTuple):
    """A program with one input, and the operator whose state is cut."""

    operator: str
    build: Any
    bounded: bool = False


def per_key(body: Any) -> Any:
    return lambda sales: sales.key_by("shop").per_key(body).entries()


def in_windows(cut: Any) -> Any:
    def body(some: Any) -> Any:
        windows = cut(some)
        return summed(windows), windows.late

    return lambda sales: [each.entries() for each in sales.key_by("shop").per_key(body)]


def prices(some: Any) -> Any:
    return some.map("price")


def summed(streams: Any) -> Any:
    return streams.nest(lambda some: prices(some).sum()).flatten()


def aggregates() -> dict[str, Any]:
    """Of each kind of state: totals, different values, values in order with the first of each group, all values."""
    return {
        "count": flo.count(),
        "spread": flo.var_pop("price"),
        "different": flo.count_distinct("price"),
        "greatest": flo.max("price", where=nw.col("price") > 10),
        "middle": flo.median("price"),
    }


def retained(sales: Any) -> Any:
    kept = sales.to_zset().retain("price", sales.fold_lattice(flo.Max(int), "price"), 30)
    return [kept, kept.expired]


def within_an_interval(sales: Any) -> Any:
    clock = sales.clock("price", 40)
    return [clock.rows.join_interval(clock.rows, "shop", (-10, 10)), clock.late]


def final_groups(**given: Any) -> Any:
    def build(sales: Any) -> Any:
        clock = sales.clock("price", 20)
        rows = clock.rows.to_zset().hop(20, 10, "price")
        return [rows.group_by("shop", "window_start").agg(**given).final(clock), clock.late]

    return build


OF_ZSETS = [
    Case("group_by_tables", lambda sales: sales.group_by("shop").agg(**aggregates())),
    Case("group_by_tables", lambda sales: sales.group_by(tens=nw.col("price") // 10).agg(n=flo.count("shop"))),
    Case("group_by_tables", lambda sales: sales.agg(**aggregates())),
    Case("group_by_tables", lambda sales: sales.rollup("shop").agg(**aggregates())),
    Case("form_of_every_key", per_key(lambda some: some.group_by("price").agg(**aggregates()))),
    Case("group_by_tables", lambda sales: sales.group_by(key=last_of).agg(n=flo.count_distinct(tenth_of))),
    Case("top_k_tables", lambda sales: sales.top(2, "price", by="shop")),
    Case(
        "over_tables", lambda sales: sales.over("shop", "price").with_columns(row=flo.row_number(), b=flo.lag("price"))
    ),
    Case("distinct_tables", lambda sales: sales.map(shop_of).distinct()),
    Case("join_tables", lambda sales: sales.join(sales, "shop", "shop")),
    Case("filtering_tables", lambda sales: sales.join(sales.filter(nw.col("price") > 20), "shop", "shop", how="semi")),
    Case("outer_tables", lambda sales: sales.join(sales.filter(nw.col("price") > 20), "shop", "shop", how="left")),
    Case("asof_tables", lambda sales: sales.join_asof(sales.filter(nw.col("price") % 3 == 0), "price", "shop")),
    Case("asof_tables", lambda sales: sales.join_asof(sales, "price", nw.col("price") % 7, direction="forward")),
    Case("from_zset_tables", lambda sales: sales.to_set(), True),
    Case("form_of_every_key", per_key(lambda some: some.map("price").distinct())),
    Case("form_of_every_key", per_key(lambda some: some.over(None, "price").with_columns(n=flo.rank()))),
    Case("session_tables", lambda sales: sales.session(3, "price", by=nw.col("price") % 7)),
    Case("form_of_every_key", per_key(lambda some: some.session(3, "price"))),
]
OF_SETS = [
    Case("new_tables", lambda sales: sales.to_zset()),
    Case("difference_tables", lambda sales: sales.difference(sales.filter(nw.col("price") > 20)), True),
    Case("join_set_tables", lambda sales: sales.join(sales, "shop", "shop")),
    Case("intersection_tables", lambda sales: sales.intersection(sales.filter(nw.col("price") > 20))),
]
OF_SEQUENCES = [
    Case("retain_tables", retained),
    Case("interval_tables", within_an_interval),
    Case("final_tables", final_groups(**aggregates())),
    Case("final_sums", final_groups(n=flo.count(), spread=flo.var_pop("price"))),
    Case("keys_tables", per_key(prices)),
    Case("form_of_every_key", per_key(lambda some: prices(some).enumerate())),
    Case("form_of_every_key", per_key(lambda some: prices(some).take(3))),
    Case("form_of_every_key", per_key(lambda some: prices(some).scan(0, add))),
    Case("form_of_every_key", per_key(lambda some: prices(some).fold(0, add)), True),
    Case("form_of_every_key", per_key(lambda some: prices(some).sum()), True),
    Case("form_of_every_key", per_key(lambda some: prices(some).last()), True),
    Case("form_of_every_key", per_key(lambda some: summed(some.batch(4)))),
    Case("form_of_every_key", in_windows(lambda some: some.tumbling(20, "price"))),
    Case("form_of_every_key", in_windows(lambda some: some.sliding(40, 20, "price"))),
    Case("form_of_every_key", in_windows(lambda some: some.session(20, "price"))),
    Case("form_of_every_key", per_key(lambda some: prices(some).sort()), True),
    Case("join_keyed_tables", lambda sales: sales.key_by("shop").join(sales.key_by("shop")).entries()),
]
OF_TABLES = {"upsert_tables": None, "ordered_upsert_tables": "price"}
"""The operators of tables with a key, and the column that orders their changes."""
ELSEWHERE = {
    "key_partitions_tables": "test_partitions.py",
    "clocked_of_every_key": "test_partitions.py",
    "current_tables": "test_current.py",
}
"""The operators that have other inputs than these, and where they are cut."""
UNCUT: dict[str, str] = {}
CASES = [
    pytest.param(kind, case, id=f"{case.operator}-{number}")
    for number, (kind, case) in enumerate(
        [
            (kind, case)
            for kind, cases in ((flo.ZSet, OF_ZSETS), (flo.Set, OF_SETS), (flo.Sequence, OF_SEQUENCES))
            for case in cases
        ]
    )
]


@pytest.mark.every(test=3)
@pytest.mark.parametrize(("kind", "case"), CASES)
def test_what_every_operator_keeps_by_key_is_cut(tmp_path: Path, kind: Any, case: Case) -> None:
    def program() -> flo.Flow:
        flow = flo.Flow("cut")
        made = case.build(flow.input("sales", kind[Sale], bounded=case.bounded))
        for number, stream in enumerate(made if isinstance(made, list) else [made]):
            flow.output(f"found {number}", stream)
        return flow

    where, taken = str(tmp_path), {flo.ZSet: {}, flo.Set: set(), flo.Sequence: []}[kind]
    query = Simulated(program(), where, shards=1)
    assert case.operator in {each.name for stage in query.batches.plan.stages for each in operators(stage)}
    for turn, shards in enumerate((3, 2, None)):
        given = sales(turn * 15, 30) | (
            sales(turn * 10, 4, -2) if kind is flo.ZSet and turn and not case.bounded else {}
        )
        rows = given if kind is flo.ZSet else set(given) if kind is flo.Set else list(given)
        taken = (
            merged([{"sales": taken}, {"sales": rows}])["sales"] if kind is flo.ZSet else type(rows)([*taken, *rows])
        )
        query.turn({"sales": rows}, ends=shards is None)
        found = query.values()
        if not case.bounded or shards is None:
            assert found == dict(program().run(negative="allow", sales=taken)), turn
        if shards is not None:
            rescale(where, shards)
            assert main(["state", "verify", where]) == 0
            query = Simulated(program(), where)
            assert (query.batches.shards, query.values()) == (shards, found)


@pytest.mark.parametrize("operator", OF_TABLES)
def test_tables_with_a_key_are_cut(tmp_path: Path, operator: str) -> None:
    order = OF_TABLES[operator]

    def program() -> flo.Flow:
        flow = flo.Flow("cut")
        flow.output("sales", flow.table("sales", Sale, key="shop", order_by=order))
        return flow

    where, taken = str(tmp_path), list[Any]()
    query = Simulated(program(), where, shards=1)
    assert operator in {each.name for stage in query.batches.plan.stages for each in operators(stage)}
    for turn, shards in enumerate((3, 2, None)):
        changes: list[Any] = list(sales(7 * turn, 9))
        changes += [flo.delete(sale.shop, **({order: sale.price + turn} if order else {})) for sale in changes[::4]]
        taken += changes
        query.turn({"sales": changes})
        assert query.values() == dict(program().run(sales=taken)), turn
        if shards is not None:
            rescale(where, shards)
            query = Simulated(program(), where)
            assert query.values() == dict(program().run(sales=taken)), turn


class Summand(NamedTuple):
    key: int
    number: int


def test_sums_whose_parts_have_other_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run that was merged in parts, some have larger sums than others, and more columns for these."""
    monkeypatch.setattr(merging, "SMALLEST_PART", 4)
    flow = flo.Flow("sums")
    rows = flow.input("rows", flo.ZSet[Summand])
    flow.output("sums", rows.group_by("key").agg(total=flo.sum("number")))
    query, every, rng = Simulated(flow, tmp_path, shards=2), [], random.Random(1)
    for turn in range(40):
        given = [Summand(rng.randrange(4000), 1 if turn % 3 else 1 << 61) for _ in range(20)]
        every += given
        query.turn({"rows": given})
        if turn % 10 == 9:
            rescale(str(tmp_path), turn % 4 + 1)
            assert not list(Checkpoint(str(tmp_path)).problems())
            query = Simulated(flow, tmp_path)
    query.turn({"rows": every})
    assert query.values() == dict(flow.run(rows=every + every))


def test_every_operator_that_keeps_rows_by_key_is_cut_or_the_reason_is_known() -> None:
    """One that is new here needs a case above."""
    keeping = {
        each.name
        for each in every_subclass(OnTables)
        if each.__module__.startswith("flo.")
        and "name" in vars(each)
        and each.placement is Placement.BY_KEY
        and {field.name for field in fields(each)} - {"like", "inputs", "outputs", "keys"}
    }
    covered = {case.operator for case in (*OF_ZSETS, *OF_SETS, *OF_SEQUENCES)} | set(OF_TABLES) | set(ELSEWHERE)
    assert keeping == covered | set(UNCUT)
    assert not covered & set(UNCUT)


def every_subclass(of: type) -> set[Any]:
    return {each for some in of.__subclasses__() for each in (some, *every_subclass(some))}


def operators(stage: Any) -> list[Any]:
    return [vertex.operator for vertex in stage.dag.vertices]


def test_what_runs_by_key_on_values_is_not_taken_for_one_place(tmp_path: Path) -> None:
    """One shard has all keys, and three would each have some. A frozenset has no columns."""

    def gather(seen: frozenset[int], x: int) -> frozenset[int]:
        return seen | {x}

    def count(entry: tuple[int, frozenset[int]]) -> int:
        return len(entry[1])

    flow = flo.Flow("different numbers")
    keyed = flow.input("numbers", flo.Sequence[int]).key_by(thirds)
    flow.output("counts", keyed.per_key(lambda some: some.scan(frozenset(), gather)).entries().map(count))
    query = Simulated(flow, tmp_path, shards=1)
    query.turn({"numbers": [1, 2, 3, 4, 5, 6]})
    with pytest.raises(flo.CheckpointError, match="cannot be cut into other shards"):
        rescale(str(tmp_path), 3)


@pytest.mark.slow
def test_a_query_goes_on_with_other_shards(spark: Any, tmp_path: Path) -> None:
    query = streamed(spark, sums(), {"sales": sales(0, 40)}, tmp_path, parts=2, shards=2)
    assert query.view("sums").value() == dict(sums().run(sales=sales(0, 40)))["sums"]
    checkpoint = tmp_path / "checkpoint"
    rescale(str(checkpoint), 3)
    source = tmp_path / "in" / "sales"
    pq.write_table(sales_table(sales(10, 20, -1)), source / "900.parquet")
    reader = spark.readStream.schema(spark.read.parquet(str(source)).schema).parquet(str(source))
    again = sums().on(spark).start({"sales": reader}, checkpoint=checkpoint, trigger={"availableNow": True})
    again.wait()
    left = merged([{"sales": sales(0, 40)}, {"sales": sales(10, 20, -1)}])["sales"]
    assert again.view("sums").value() == dict(sums().run(sales=left))["sums"]
