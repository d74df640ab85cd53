"""Sums that tasks make of their rows before a shuffle give what the rows give, whichever tasks send sums.

Where an operator keeps values, equal rows are added up."""

from __future__ import annotations

import math
import random
from collections import Counter
from decimal import Decimal
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import flo
from flo.core.errors import FloError
from flo.program.retractions import causes_of_pushes, find_append_only
from flo.shards.plan.explain import explain_plan, plan_blocks
from flo.shards.plan.planning import plan_stages
from flo.shards.plan.rewrites import rewrites
from flo.shards.plan.stages import Delivery, Plan
from flo.shards.tasks import sending
from flo.shards.tasks.input_task import _run_operators
from flo.shards.tasks.sending import has_few_keys
from flo.shards.tasks.stage_task import _concat_rows
from flo.tables.state.keys import estimate_distinct, keys_of
from flo.tables.state.trace import text_of
from flo.tables.values import SUMMED, WEIGHT, Rows, rows_of
from flo.values.weighted import ZSet, ZSetValue
from tests.local.test_workers import in_workers
from tests.quick import times
from tests.rescaling import rescale
from tests.spark.simulated import Simulated

LARGEST = Decimal("9" * 20 + "." + "9" * 18)


class Row(NamedTuple):
    key: str | None
    group: float | None
    whole: int
    maybe: int | None
    real: float
    exact: Decimal
    flag: bool
    counts: bool


def draw_row(rng: random.Random) -> Row:
    return Row(
        rng.choice(["a", "b", "", None]),
        rng.choice([0.0, -0.0, math.nan, None, 5e-324]),
        rng.choice([2**63 - 1, -(2**63), 2**62, 1, 0, -1]),
        rng.choice([None, 2**63 - 1, -(2**63), 3]),
        rng.choice([1e308, -1e308, 5e-324, 0.1, -0.0, 2.0**53, *([math.nan, math.inf] if rng.random() < 0.1 else [])]),
        rng.choice([LARGEST, LARGEST.copy_negate(), Decimal("0.000000000000000001"), Decimal(0)]),
        rng.random() < 0.5,
        rng.random() < 0.5,
    )


def linear_flow() -> flo.Flow:
    flow = flo.Flow("linear")
    rows = flow.input("rows", flo.ZSet[Row])
    aggregates = {
        "n": flo.count(),
        "some": flo.count(where=nw.col("counts")),
        "filled": flo.count("maybe"),
        "whole": flo.avg("whole"),
        "maybe": flo.avg("maybe", where=nw.col("counts")),
        "real": flo.sum("real"),
        "mean": flo.avg("real"),
        "exact": flo.avg("exact"),
        "every": flo.bool_and("flag"),
        "spread": flo.var_pop("real"),
        "related": flo.corr("whole", "real"),
        "own": flo.linear("whole", finish=lambda total: float(total)),
    }
    flow.output("groups", rows.group_by("key", "group").agg(**aggregates))
    return flow


def sum_flow() -> flo.Flow:
    """Sums that may not fit their columns."""
    flow = flo.Flow("sums")
    rows = flow.input("rows", flo.ZSet[Row])
    flow.output(
        "groups", rows.group_by("key").agg(whole=flo.sum("whole"), exact=flo.sum("exact"), n=flo.count("maybe"))
    )
    return flow


def values_flow() -> flo.Flow:
    """Aggregates that keep values, some of them in part of the rows."""
    flow = flo.Flow("values")
    rows = flow.input("rows", flo.ZSet[Row])
    aggregates = {
        "n": flo.count(),
        "wholes": flo.count_distinct("whole"),
        "some": flo.count_distinct("maybe", where=nw.col("counts")),
        "least": flo.min("real"),
        "most": flo.max("exact", where=nw.col("counts")),
        "of": flo.arg_max("key", "maybe"),
        "middle": flo.median("maybe"),
        "often": flo.mode("group"),
    }
    flow.output("groups", rows.group_by("key").agg(**aggregates))
    return flow


def extremes_flow() -> flo.Flow:
    """One group without a key, with sums that may not fit their columns beside values."""
    flow = flo.Flow("extremes")
    rows = flow.input("rows", flo.ZSet[Row])
    flow.output("total", rows.agg(least=flo.min("whole"), most=flo.max("maybe"), sum=flo.sum("whole")))
    return flow


def first_flow() -> flo.Flow:
    """Aggregates that depend on some rows only, while none is retracted."""
    flow = flo.Flow("first")
    rows = flow.input("rows", flo.ZSet[Row])
    aggregates = {
        "n": flo.count(),
        "mean": flo.avg("maybe", where=nw.col("counts")),
        "real": flo.sum("real"),
        "least": flo.min("real"),
        "most": flo.max("real"),
        "exact": flo.max("exact", where=nw.col("counts")),
        "text": flo.min("key"),
        "by": flo.min("group"),
        "of": flo.arg_max("key", "maybe"),
        "at": flo.arg_min("group", "whole", where=nw.col("flag")),
        "first": flo.first("maybe", order_by="real"),
        "last": flo.last("key", order_by="whole"),
        "every": flo.bool_and("flag"),
        "wholes": flo.count_distinct("whole"),
        "some": flo.count_distinct("maybe", where=nw.col("counts")),
        "different": flo.avg("whole", distinct=True),
    }
    flow.output("groups", rows.group_by("key").agg(**aggregates))
    return flow


def distinct_flow() -> flo.Flow:
    flow = flo.Flow("distinct")
    flow.output("rows", flow.input("rows", flo.ZSet[Row]).select("key", "group", "exact").distinct())
    return flow


def total_flow() -> flo.Flow:
    """One group without a key."""
    flow = flo.Flow("total")
    flow.output("total", flow.input("rows", flo.ZSet[Row]).agg(n=flo.count(), real=flo.sum("real")))
    return flow


def plan_of(flow: flo.Flow) -> Plan:
    return plan_stages(flow.on(flo.here)._dag)


def appended_plan(flow: flo.Flow) -> Plan:
    """The plan if no input retracts rows."""
    return plan_of(flow).with_append_only(find_append_only(flow._identified(), {}))


def summed_delivery(plan: Plan) -> Delivery:
    (delivery,) = (each for each in plan.deliveries if each.sums_early)
    return delivery


def always(rows: int, keys: int) -> bool:
    return True


def consume(operator: Any, table: pa.Table) -> tuple[Any, Any]:
    """The operator after the rows, and what it emits or the text of the error."""
    try:
        after, (emitted,) = operator.consume(table)
    except FloError as error:
        return operator, error.summary
    changes: Counter[str] = Counter()
    for row in emitted.table.to_pylist() if emitted is not None else ():
        weight = row.pop(WEIGHT)
        changes[text_of(row)] += weight
    return after, {row: weight for row, weight in changes.items() if weight}


@pytest.mark.parametrize("build", [linear_flow, sum_flow, total_flow, values_flow, extremes_flow, distinct_flow])
@pytest.mark.parametrize("seed", range(times(30)))
@pytest.mark.every(test=5)
def test_parts_of_a_delta_give_what_the_delta_gives(build: Any, seed: int) -> None:
    rng = random.Random(seed)
    plan = plan_of(build())
    delivery, entry = summed_delivery(plan), plan.entries[0]
    by: Any = delivery.by
    plain, early = by, by
    pool = [draw_row(rng) for _ in range(8)]  # so that rows are equal, and retracted later
    weights = [1, -1, 2, 3] if seed % 3 else [2**62, -(2**62), 2**61, 1]
    for _ in range(4):
        delta = [(rng.choice(pool), rng.choice(weights)) for _ in range(rng.randint(1, 12))]
        of: Any = ZSet(Row)
        tables = [_run_operators(entry, rows_of(of, ZSetValue.of([unit])))[0].table for unit in delta]  # type: ignore[attr-defined]
        rows = pa.concat_tables(tables)
        cuts = sorted(rng.sample(range(len(delta) + 1), min(2, len(delta))))
        parts = [rows.slice(low, high - low) for low, high in zip([0, *cuts], [*cuts, len(delta)], strict=True)]
        parts = [part.combine_chunks() for part in parts if part.num_rows]
        sent = [by.sum_early(part, always)[0] if rng.random() < 0.7 else part for part in parts]
        plain, expected = consume(plain, rows)
        early, given = consume(early, _concat_rows(delivery, sent))
        assert given == expected


@pytest.mark.parametrize("build", [first_flow, extremes_flow])
@pytest.mark.parametrize("seed", range(times(30)))
@pytest.mark.every(test=5)
def test_rows_that_matter_give_what_all_rows_give(build: Any, seed: int) -> None:
    rng = random.Random(seed)
    plan = appended_plan(build())
    delivery, entry = summed_delivery(plan), plan.entries[0]
    assert delivery.reduces
    by: Any = delivery.by
    plain, early = by, by
    weights = [1, 2, 3] if seed % 3 else [2**61, 1]
    of: Any = ZSet(Row)
    for _ in range(4):
        delta = [(draw_row(rng), rng.choice(weights)) for _ in range(rng.randint(1, 20))]
        tables = [_run_operators(entry, rows_of(of, ZSetValue.of([unit])))[0].table for unit in delta]  # type: ignore[attr-defined]
        rows = pa.concat_tables(tables)
        cuts = sorted(rng.sample(range(len(delta) + 1), min(2, len(delta))))
        parts = [rows.slice(low, high - low) for low, high in zip([0, *cuts], [*cuts, len(delta)], strict=True)]
        parts = [part.combine_chunks() for part in parts if part.num_rows]
        sent = [by.sum_early(part, always, reduce=True)[0] if rng.random() < 0.7 else part for part in parts]
        plain, expected = consume(plain, rows)
        early, given = consume(early, _concat_rows(delivery, sent))
        assert given == expected


@pytest.mark.parametrize("build", [total_flow, extremes_flow, distinct_flow])
def test_weights_that_fit_together_need_not_fit_in_a_part(build: Any) -> None:
    plan = plan_of(build())
    delivery = summed_delivery(plan)
    by: Any = delivery.by
    row = Row("a", 0.0, 1, None, 0.5, Decimal(1), True, True)
    of: Any = ZSet(Row)
    weights = [2**62, 2**62, 2**62, -(2**62), -(2**62)]
    parts = [
        pa.concat_tables(
            _run_operators(plan.entries[0], rows_of(of, ZSetValue.of([(row, weight)])))[0].table  # type: ignore[attr-defined]
            for weight in some
        )
        for some in (weights[:3], weights[3:])
    ]
    sums = [by.sum_early(part, always)[0] for part in parts]
    assert [each.num_rows for each in sums] == [3, 1]
    _, emitted = consume(by, _concat_rows(delivery, sums))
    assert emitted == consume(by, pa.concat_tables(parts))[1]
    assert len(emitted) == 1


def shared_flow() -> flo.Flow:
    """Two readers of one shuffle."""
    flow = flo.Flow("shared")
    rows = flow.input("rows", flo.ZSet[Row])
    flow.output("sums", rows.group_by("key").agg(n=flo.sum("whole")))
    flow.output("least", rows.group_by("key").agg(n=flo.min("whole")))
    return flow


def set_flow() -> flo.Flow:
    """A set has no weights."""
    flow = flo.Flow("sets")
    rows = flow.input("rows", flo.Set[Row])
    flow.output("both", rows.intersection(rows.map(lambda each: each)))
    return flow


def appended_flow() -> flo.Flow:
    """Rows of a bag are never retracted."""
    flow = flo.Flow("appended")
    rows = flow.input("rows", flo.Bag[Row]).to_zset()
    flow.output(
        "groups", rows.group_by("key").agg(most=flo.max("real"), n=flo.count(), kinds=flo.count_distinct("flag"))
    )
    return flow


def retracting_flow() -> flo.Flow:
    """The counts of the first `group_by` are retracted when they change."""
    flow = flo.Flow("retracting")
    rows = flow.input("rows", flo.Bag[Row]).to_zset()
    counts = rows.group_by("key", "whole").agg(n=flo.count())
    flow.output("most", counts.group_by("key").agg(most=flo.max("n")))
    return flow


def listing_flow() -> flo.Flow:
    """`collect` needs all rows."""
    flow = flo.Flow("listing")
    rows = flow.input("rows", flo.Bag[Row]).to_zset()
    flow.output("groups", rows.group_by("key").agg(most=flo.max("real"), all=flo.collect("whole")))
    return flow


@pytest.mark.parametrize(
    ("build", "reduced"), [(appended_flow, [True]), (retracting_flow, [False, False]), (listing_flow, [False])]
)
def test_rows_are_left_out_where_none_is_retracted(build: Any, reduced: list[bool]) -> None:
    flow = build()
    causes = causes_of_pushes({stream.name: stream for stream in flow._scope.inputs})
    plan = plan_of(flow).with_append_only(find_append_only(flow._identified(), causes))
    assert [each.reduces for each in plan.deliveries if each.sums_early] == reduced
    assert all(each.reduces for stage in plan.stages for each in stage.inputs if each.sums_early) is any(reduced)


def test_the_plan_says_that_rows_are_left_out() -> None:
    assert "reduced and shuffled by key" in appended_flow().on(flo.here, workers=2).explain()


@pytest.mark.parametrize("build", [set_flow, shared_flow])
def test_where_rows_are_needed_they_are_sent(build: Any) -> None:
    assert not any(each.sums_early for each in plan_of(build()).deliveries)


def test_the_plan_says_it_and_can_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def explain() -> str:
        plan = plan_of(sum_flow())
        return explain_plan("sums", plan, plan_blocks(plan, ["rows"], ["groups"], 2, set()), set())

    assert "summed and shuffled by key" in explain()
    monkeypatch.setattr(rewrites, "early_sums", False)
    assert "   shuffled by key" in explain()


@pytest.mark.parametrize(
    ("keys", "few"),
    [
        (np.arange(10_000), False),
        (np.arange(10_000) % 5_000, False),
        (np.arange(10_000) % 1_000, True),
        (np.zeros(10_000, np.int64), True),
        (np.where(np.arange(100_000) % 10, 0, np.arange(100_000)), True),  # 90 % of the rows have one key
        (np.zeros(10, np.int64), False),
    ],
)
def test_rows_are_added_up_where_keys_are_few(keys: Any, few: bool) -> None:
    numbers = keys_of([pa.chunked_array([pa.array(keys)])]).numbers
    assert has_few_keys(len(keys), estimate_distinct(numbers)) is few


@pytest.mark.parametrize("build", [linear_flow, total_flow, values_flow, distinct_flow])
@pytest.mark.every(test=4)
def test_in_workers(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the deltas are large enough to be split."""
    monkeypatch.setattr(sending, "FEWEST_ROWS", 0)
    monkeypatch.setattr(sending, "ROWS_PER_KEY", 0)
    rng = random.Random(5)
    one = build().on(flo.here).loop(negative="allow")
    with in_workers(build(), negative="allow") as several:
        for size in (20, 10_000, 50, 9_000):
            delta = Counter({draw_row(rng): 1 for _ in range(size)})
            delta.update({draw_row(rng): -1 for _ in range(size // 3)})
            one.push(rows=dict(delta))
            several.push(rows=dict(delta))
            results = [Counter(map(text_of, next(iter(each.result().values())).to_pylist())) for each in (one, several)]
            assert results[0] == results[1]


def test_rows_are_left_out_in_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "FEWEST_ROWS", 0)
    monkeypatch.setattr(sending, "ROWS_PER_KEY", 0)
    rng = random.Random(6)
    one = appended_flow().on(flo.here).loop()
    with in_workers(appended_flow()) as several:
        for size in (20, 10_000):
            delta = [draw_row(rng) for _ in range(size)]
            one.push(rows=delta)
            several.push(rows=delta)
            results = [Counter(map(text_of, next(iter(each.result().values())).to_pylist())) for each in (one, several)]
            assert results[0] == results[1]


def test_a_table_of_sums_is_smaller() -> None:
    plan = plan_of(sum_flow())
    by: Any = summed_delivery(plan).by
    rng = random.Random(1)
    of: Any = ZSet(Row)
    value = rows_of(of, ZSetValue.of([(draw_row(rng), 1) for _ in range(500)]))
    (rows,) = _run_operators(plan.entries[0], value)
    assert isinstance(rows, Rows)
    sums, keys = by.sum_early(rows.table, always)
    assert sums.num_rows == 4
    assert SUMMED in sums.column_names
    assert keys.tolist() == by.key_numbers(0, sums).tolist()


def test_of_each_group_a_few_rows_are_sent() -> None:
    plan = appended_plan(first_flow())
    by: Any = summed_delivery(plan).by
    of: Any = ZSet(Row)
    rng = random.Random(3)
    (rows,) = _run_operators(plan.entries[0], rows_of(of, ZSetValue.of([(draw_row(rng), 1) for _ in range(2_000)])))
    reduced, keys = by.sum_early(rows.table, always, reduce=True)  # type: ignore[attr-defined]
    assert reduced.num_rows < 4 * 25  # keys, times the extreme rows and the distinct values of each
    assert keys.tolist() == by.key_numbers(0, reduced).tolist()
    assert sum(reduced[SUMMED].to_pylist()) == sum(rows.table[WEIGHT].to_pylist())  # type: ignore[attr-defined]
    sent, _ = by.sum_early(rows.table, lambda *_: False, reduce=True)
    assert SUMMED not in sent.column_names


@pytest.mark.parametrize("seed", range(times(2)))
def test_restarts_with_and_without_rows_that_were_left_out(
    seed: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "FEWEST_ROWS", 0)
    monkeypatch.setattr(sending, "ROWS_PER_KEY", 0)
    rng = random.Random(seed)
    flow, given = first_flow(), Counter[Row]()
    for _ in range(4):
        monkeypatch.setattr(rewrites, "early_sums", rng.random() < 0.8)
        query = Simulated(flow, tmp_path, seed=seed, retracting={} if rng.random() < 0.7 else None)
        for _ in range(2):
            delta = Counter({draw_row(rng): rng.randint(1, 2) for _ in range(rng.randint(0, 40))})
            query.turn({"rows": dict(delta)})
            given.update(delta)
        assert query.values()["groups"] == flow.run(rows=dict(given))["groups"]
        rescale(str(tmp_path), rng.randint(1, 3))


def test_a_retraction_is_rejected_where_rows_were_left_out(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "FEWEST_ROWS", 0)
    monkeypatch.setattr(sending, "ROWS_PER_KEY", 0)
    rng = random.Random(1)
    rows = [draw_row(rng)._replace(key="a", whole=place) for place in range(20)]
    Simulated(extremes_flow(), tmp_path, shards=1, retracting={}).turn({"rows": dict.fromkeys(rows, 1)})
    rescale(str(tmp_path), 3)
    later = Simulated(extremes_flow(), tmp_path)
    later.turn({"rows": {rows[3]: 1}})
    with pytest.raises(FloError, match="was built from rows that are never retracted"):
        later.turn({"rows": {rows[19]: -1}})


def test_equal_rows_are_sent_once() -> None:
    plan = plan_of(values_flow())
    by: Any = summed_delivery(plan).by
    of: Any = ZSet(Row)
    rng = random.Random(2)
    drawn = [draw_row(rng) for _ in range(20)]
    (rows,) = _run_operators(plan.entries[0], rows_of(of, ZSetValue.of([(row, 1) for row in drawn])))
    twice = pa.concat_tables([rows.table, rows.table.take(pa.array([3, 5]))])  # type: ignore[attr-defined]
    sums, keys = by.sum_early(twice, always)
    assert sums.num_rows == rows.table.num_rows  # type: ignore[attr-defined]
    assert sum(sums[WEIGHT].to_pylist()) == twice.num_rows
    assert keys.tolist() == by.key_numbers(0, sums).tolist()
    answers = iter([True, False])  # few keys, and many rows
    assert by.sum_early(twice, lambda rows, keys: next(answers))[0] is twice


class Priced(NamedTuple):
    shop: int
    price: int


def test_a_named_state_that_lacks_rows_rejects_retractions(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The input was a bag. Now it is a z-set, and the name says that the state is the same."""
    monkeypatch.setattr(sending, "FEWEST_ROWS", 0)
    monkeypatch.setattr(sending, "ROWS_PER_KEY", 0)

    def build(bag: bool) -> flo.Flow:
        flow = flo.Flow("named")
        kind: Any = flo.Bag[Priced] if bag else flo.ZSet[Priced]
        rows = flow.input("rows", kind)
        given = rows.to_zset() if bag else rows
        flow.output("most", given.group_by("shop").agg(most=flo.max("price")).named("most"))
        return flow

    with build(bag=True).on(flo.here).start(checkpoint=tmp_path, shards=2) as query:
        query.push(rows=[Priced(number % 3, number) for number in range(30)])
    with build(bag=False).on(flo.here).start(checkpoint=tmp_path, changed="fill") as query:
        query.push(rows=[Priced(0, 40)])
        with pytest.raises(FloError, match="was built from rows that are never retracted"):
            query.push(rows={Priced(0, 40): -1})
