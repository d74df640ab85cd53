"""NEXMark: events are functions of their numbers, DuckDB's answers are those of plain Python, and the queries give
DuckDB's answers after every delta, also when events are retracted."""

from __future__ import annotations

import hashlib
import os
import random
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import flo
from benchmarks.columnar_programs import WEIGHTS
from benchmarks.nexmark import Digest, Oracle, compare, programs
from benchmarks.nexmark_sql import QUERIES, answers
from examples import nexmark, nexmark_data
from examples.nexmark_data import START, Auction, Bid, Events, Person, Side, events, schema_of, side_input
from flo.columns.layout import Layout

pytestmark = pytest.mark.every(check=5)

ROWS = {"person": Person, "auction": Auction, "bid": Bid, "side": Side}
TEN = timedelta(seconds=10)
LEVELS = ((0, 10**9), (0, 10_000), (10_000, 1_000_000), (1_000_000, 10**9))
"""Levels of prices: all, and three."""


@pytest.fixture(scope="module")
def some() -> Events:
    return events(0, 20_000)


@pytest.fixture(scope="module")
def answered(some: Events) -> dict[str, pa.Table]:
    return answers(some)


def rows(table: pa.Table, kind: Any = None) -> list[Any]:
    found = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return list(found) if kind is None else list(map(kind._make, found))


# Events.


@pytest.mark.parametrize("cuts", [(0, 60, 300), (0, 1, 2, 3, 4, 5, 50, 51, 54, 99, 300), (0, 0, 300, 300)])
def test_a_range_is_its_parts_in_a_row(cuts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = events(0, 300)
    monkeypatch.setattr(nexmark_data, "PIECE", 77)
    parts = [events(first, last) for first, last in pairwise(cuts)]
    for table, *pieces in zip(whole, *parts, strict=True):
        assert pa.concat_tables(pieces).equals(table)


def test_every_machine_makes_the_same_events() -> None:
    text = repr([rows(table) for table in events(5_000_000, 5_000_200)])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "a66e8cb7fe26a30a"


def test_ids_and_times_follow_from_the_number(some: Events) -> None:
    expected: dict[str, list[tuple[int, datetime]]] = {"person": [], "auction": [], "bid": []}
    for number in range(20_000):
        kind = "person" if number % 50 < 1 else "auction" if number % 50 < 4 else "bid"
        expected[kind].append((1000 + len(expected[kind]), START + number * timedelta(milliseconds=10)))
    for name in ("person", "auction"):
        table = getattr(some, name)
        assert list(zip(*(table[each].to_pylist() for each in ("id", "dateTime")), strict=True)) == expected[name]
    assert some.bid["dateTime"].to_pylist() == [time for _, time in expected["bid"]]


def test_half_of_the_bids_are_for_a_hot_auction_and_the_others_for_open_ones(some: Events) -> None:
    offsets, hot, hot_bidders = Counter[int](), 0, 0
    for bid in rows(some.bid, Bid):
        number = (bid.dateTime - START) // timedelta(milliseconds=10)
        latest = 3 * (number // 50) + 2
        place = bid.auction - 1000
        if place == latest // 100 * 100:
            hot += 1
        else:
            offsets[latest - place] += 1
        hot_bidders += bid.bidder == 1000 + number // 50 // 100 * 100 + 1
        assert 1000 <= bid.bidder <= 1000 + number // 50 + 10
    assert set(offsets) == set(range(-10, 101))
    assert 0.49 < hot / some.bid.num_rows < 0.52
    assert 0.74 < hot_bidders / some.bid.num_rows < 0.77


def test_prices_spread_over_six_orders_of_magnitude(some: Events) -> None:
    digits = Counter(len(str(price)) for price in some.bid["price"].to_pylist())
    assert set(digits) == set(range(3, 9))
    assert all(0.15 < count / some.bid.num_rows < 0.18 for count in digits.values())
    assert pc.all(pc.greater(some.auction["reserve"], some.auction["initialBid"])).as_py()
    assert set(some.auction["category"].to_pylist()) == set(range(10, 15))


def test_auctions_end_later_than_they_begin(some: Events) -> None:
    lengths = [each.expires - each.dateTime for each in rows(some.auction, Auction)]
    assert timedelta() < min(lengths) < timedelta(seconds=1)
    assert timedelta(seconds=32) < max(lengths) <= timedelta(seconds=33.32)


def test_nine_in_ten_channels_that_are_not_hot_have_an_id(some: Events) -> None:
    hot = pc.is_in(some.bid["channel"], pa.array(nexmark_data.HOT_CHANNELS))
    assert 0.48 < pc.mean(hot).as_py() < 0.52
    with_id = pc.match_substring(some.bid["url"], "&channel_id=")
    assert not pc.any(with_id.filter(hot)).as_py()
    assert 0.88 < pc.mean(with_id.filter(pc.invert(hot))).as_py() < 0.92


@pytest.mark.parametrize(
    ("name", "size", "left_out"), [("person", 200, ()), ("auction", 500, ()), ("bid", 100, (3, 4))]
)
def test_sizes(some: Events, name: str, size: int, left_out: tuple[int, ...]) -> None:
    table = getattr(some, name)
    kept = [row[place] for row in rows(table) for place in range(len(row)) if place not in left_out]
    mean = sum(len(each) if isinstance(each, str) else 8 for each in kept) / table.num_rows
    assert mean == pytest.approx(size, rel=0.05)


@pytest.mark.parametrize("name", ROWS)
def test_tables_are_those_of_the_row_types(name: str, some: Events) -> None:
    layout = Layout.of(ROWS[name])
    assert layout is not None
    assert layout.schema.equals(schema_of(name))
    table = side_input() if name == "side" else getattr(some, name)
    assert table.schema.equals(schema_of(name))
    table.validate(full=True)
    assert layout.to_elements(table.slice(0, 5)) == rows(table.slice(0, 5), ROWS[name])


def test_a_program_takes_the_tables(some: Events) -> None:
    flow = flo.Flow("sums")
    bids = flow.input("bid", flo.ZSet[Bid])
    flow.output("sums", bids.group_by("auction").agg(sum=flo.sum("price")))
    loop = flow.on(flo.here).loop()
    loop.push("bid", some.bid)
    sums: Counter[int] = Counter()
    for bid in rows(some.bid, Bid):
        sums[bid.auction] += bid.price
    pulled = loop.pull("sums")
    assert sorted(zip(*(column.to_pylist() for column in pulled.columns[:2]), strict=True)) == sorted(sums.items())


@pytest.mark.parametrize(("first", "last"), [(-1, 5), (5, 4)])
def test_a_range_that_is_none_is_rejected(first: int, last: int) -> None:
    with pytest.raises(ValueError, match="0 ≤ first ≤ last"):
        events(first, last)


# Answers.


def test_every_query_has_answers(answered: dict[str, pa.Table]) -> None:
    assert list(answered) == [f"q{number}" for number in range(23)]
    for name, table in answered.items():
        assert table.num_rows, name
        assert not any(column.null_count for column in table.columns), name


def test_the_example_has_every_query() -> None:
    assert [query.__name__ for query in nexmark.QUERIES] == list(QUERIES)


def test_rows_that_pass(some: Events, answered: dict[str, pa.Table]) -> None:
    for name in ("q0", "q1", "q10", "q13", "q22"):
        assert answered[name].num_rows == some.bid.num_rows, name
    assert set(answered["q10"]["dt"].to_pylist()) == {"2024-02-28", "2024-02-29"}


def winning(some: Events) -> dict[int, tuple[Auction, Bid]]:
    """The winning bid of each auction that has one."""
    auctions = {each.id: each for each in rows(some.auction, Auction)}
    found: dict[int, tuple[Auction, Bid]] = {}
    for bid in rows(some.bid, Bid):
        auction = auctions.get(bid.auction)
        if auction is not None and auction.dateTime <= bid.dateTime <= auction.expires:
            if auction.id not in found or found[auction.id][1].price < bid.price:
                found[auction.id] = auction, bid
    return found


def test_winning_bids_and_averages_of_them(some: Events, answered: dict[str, pa.Table]) -> None:
    won = winning(some)
    assert Counter(rows(answered["q9"])) == Counter(
        (*auction, bid.auction, bid.bidder, bid.price, bid.dateTime, bid.extra) for auction, bid in won.values()
    )
    by_category, by_seller = defaultdict(list), defaultdict(list)
    for auction, bid in sorted(won.values(), key=lambda pair: pair[1].dateTime):
        by_category[auction.category].append(bid.price)
        by_seller[auction.seller].append(bid.price)
    means = {category: sum(prices) / len(prices) for category, prices in by_category.items()}
    assert dict(rows(answered["q4"])) == means
    last = Counter[tuple[int, float]]()
    for seller, prices in by_seller.items():
        for place in range(len(prices)):
            frame = prices[max(0, place - 10) : place + 1]
            last[seller, sum(frame) / len(frame)] += 1
    assert Counter(rows(answered["q6"])) == last


def test_windows(some: Events, answered: dict[str, pa.Table]) -> None:
    def rounded(time: datetime, seconds: int) -> datetime:
        return time - timedelta(seconds=time.second % seconds, microseconds=time.microsecond)

    hops: dict[datetime, Counter[int]] = defaultdict(Counter)
    highest: dict[datetime, list[Bid]] = defaultdict(list)
    counts: Counter[tuple[int, datetime]] = Counter()
    for bid in rows(some.bid, Bid):
        for back in range(5):
            hops[rounded(bid.dateTime, 2) - back * timedelta(seconds=2)][bid.auction] += 1
        highest[rounded(bid.dateTime, 10)].append(bid)
        counts[bid.bidder, rounded(bid.dateTime, 10)] += 1
    hottest: list[tuple[int, int]] = []
    for each in hops.values():
        most = max(each.values())
        hottest += [(auction, count) for auction, count in each.items() if count == most]
    assert Counter(rows(answered["q5"])) == Counter(hottest)
    dearest: list[Bid] = []
    for bids in highest.values():
        price = max(bid.price for bid in bids)
        dearest += [bid for bid in bids if bid.price == price]
    assert Counter(rows(answered["q7"])) == Counter((*bid[:3], *bid[5:]) for bid in dearest)
    expected = [(bidder, count, start, start + TEN) for (bidder, start), count in counts.items()]
    assert Counter(rows(answered["q12"])) == Counter(expected)
    sold = {(each.seller, rounded(each.dateTime, 10)) for each in rows(some.auction, Auction)}
    came = [(each.id, each.name, rounded(each.dateTime, 10)) for each in rows(some.person, Person)]
    assert Counter(rows(answered["q8"])) == Counter(each for each in came if (each[0], each[2]) in sold)


def test_sessions(some: Events, answered: dict[str, pa.Table]) -> None:
    sessions: dict[int, list[list[datetime]]] = defaultdict(list)
    for bid in rows(some.bid, Bid):
        of_bidder = sessions[bid.bidder]
        if of_bidder and bid.dateTime - of_bidder[-1][-1] < TEN:
            of_bidder[-1].append(bid.dateTime)
        else:
            of_bidder.append([bid.dateTime])
    expected = [(who, len(each), each[0], each[-1] + TEN) for who, found in sessions.items() for each in found]
    assert Counter(rows(answered["q11"])) == Counter(expected)
    assert max(map(len, sessions.values())) > 3


def test_ranks(some: Events, answered: dict[str, pa.Table]) -> None:
    by_auction, last = defaultdict(list), {}
    for bid in rows(some.bid, Bid):
        by_auction[bid.auction].append(bid)
        last[bid.bidder, bid.auction] = bid
    dearest = [
        (*bid, place)
        for bids in by_auction.values()
        for place, bid in enumerate(sorted(bids, key=lambda bid: (-bid.price, bid.dateTime))[:10], start=1)
    ]
    assert Counter(rows(answered["q19"])) == Counter(dearest)
    assert Counter(rows(answered["q18"])) == Counter(last.values())


def test_reports(some: Events, answered: dict[str, pa.Table]) -> None:
    groups: dict[tuple[str, str], list[Bid]] = defaultdict(list)
    for bid in rows(some.bid, Bid):
        groups[bid.channel, f"{bid.dateTime:%Y-%m-%d}"].append(bid)

    def levels(bids: list[Bid]) -> list[int]:
        """How many bids, bidders and auctions there are. Bids differ in their times."""
        parts = [[bid for bid in bids if low <= bid.price < high] for low, high in LEVELS]
        names = ("dateTime", "bidder", "auction")
        return [len(set(map(attrgetter(name), part))) for name in names for part in parts]

    expected = [
        (channel, day, max(f"{bid.dateTime:%H:%M}" for bid in bids), *levels(bids))
        for (channel, day), bids in groups.items()
    ]
    assert Counter(rows(answered["q16"])) == Counter(expected)
    assert pc.sum(answered["q15"]["total_bids"]).as_py() == some.bid.num_rows
    assert pc.sum(answered["q17"]["sum_price"]).as_py() == pc.sum(some.bid["price"]).as_py()


def test_texts(some: Events, answered: dict[str, pa.Table]) -> None:
    known = {"Apple": "0", "Google": "1", "Facebook": "2", "Baidu": "3"}
    expected_ids, folders = Counter[Any](), Counter[Any]()
    for bid in rows(some.bid, Bid):
        _, _, in_url = bid.url.partition("&channel_id=")
        if found := known.get(bid.channel, in_url):
            expected_ids[*bid[:4], found] += 1
        folders[*bid[:4], *bid.url.split("/")[3:6]] += 1
    assert Counter(rows(answered["q21"])) == expected_ids
    assert Counter(rows(answered["q22"])) == folders


@pytest.mark.parametrize(
    ("hour", "parts"), [(6, {"nightTime", "otherTime"}), (7, {"otherTime", "dayTime"}), (18, {"dayTime", "otherTime"})]
)
def test_the_times_of_day(hour: int, parts: set[str]) -> None:
    few = events(0, 12_000, start=datetime(2024, 1, 1, hour, 59))
    answer = answers(few, ["q14"])["q14"]
    assert set(answer["bidTimeType"].to_pylist()) == parts
    assert answer["c_counts"].to_pylist() == [text.count("c") for text in answer["extra"].to_pylist()]


# The queries.

RUNNING = list(programs(QUERIES)[0])
INPUTS = {"persons": "person", "auctions": "auction", "bids": "bid"}


class Changing:
    """Events that come in deltas, with retractions of some that came before, and those that are there."""

    def __init__(self, first: int, last: int, parts: int, seed: int = 1) -> None:
        rng, size = random.Random(seed), (last - first) // parts
        self.deltas: list[dict[str, pa.Table]] = []
        self.present: list[Events] = []
        """The events that are there after each delta."""
        there = {name: schema_of(name).empty_table() for name in Events._fields}
        for start in range(first, last, size):
            delta = {}
            for name, new in events(start, start + size)._asdict().items():
                whole = pa.concat_tables([there[name], new])
                gone = pa.array([rng.random() < 0.1 for _ in range(whole.num_rows)], pa.bool_())
                delta[name] = pa.concat_tables([weighted(new, 1), weighted(whole.filter(gone), -1)])
                there[name] = whole.filter(pc.invert(gone))
            self.deltas.append({name: delta[table] for name, table in INPUTS.items()})
            self.present.append(Events(**there))


def weighted(table: pa.Table, weight: int) -> pa.Table:
    return table.append_column(WEIGHTS, pa.array([weight] * table.num_rows, pa.int64()))


def rows_as_often(table: pa.Table) -> Counter[Any]:
    """The rows of a table, each as often as its weight says."""
    counts: Counter[Any] = Counter()
    for row in table.to_pylist():
        counts[tuple(value for name, value in row.items() if name != WEIGHTS)] += row.get(WEIGHTS, 1)
    return +counts


def test_all_queries_run() -> None:
    assert list(QUERIES) == RUNNING


def test_the_queries_are_right_after_every_delta() -> None:
    changing = Changing(8_500, 12_500, parts=5)  # midnight is at 10,000
    loop = nexmark.nexmark(*RUNNING).on(flo.here).loop()
    loop.push(side=side_input())
    loop.end("side")
    digests, pulled = dict.fromkeys(RUNNING, Digest()), defaultdict(list)
    for delta, present in zip(changing.deltas, changing.present, strict=True):
        loop.push(**delta)
        oracle = Oracle([present])
        for name in RUNNING:
            pulled[name].append(loop.pull(name))
            digests[name] += oracle.digest_of(name, pulled[name][-1])
            if digests[name] != oracle.digest(name):  # show the rows that differ
                ours, theirs = rows_as_often(pa.concat_tables(pulled[name])), answers(present, [name])[name]
                assert ours == rows_as_often(theirs), name
                pytest.fail(f"{name}: rows are the same, weights are not")
    assert all(digests[name].rows for name in RUNNING)


def test_a_digest_sees_what_differs(some: Events) -> None:
    oracle = Oracle([some])
    right = answers(some, ["q2"])["q2"]
    assert oracle.digest_of("q2", right) == oracle.digest("q2")
    twice = pa.concat_tables([right, right.slice(0, 1)])
    assert oracle.digest_of("q2", twice.slice(1)) == oracle.digest("q2")  # in another order
    assert oracle.digest_of("q2", twice) != oracle.digest("q2")
    assert rows(right)[0] != rows(right)[1]
    assert oracle.digest_of("q2", pa.concat_tables([right.slice(1), right.slice(1, 1)])) != oracle.digest("q2")
    retracted = pa.concat_tables([weighted(twice, 1), weighted(right.slice(0, 1), -1)])
    assert oracle.digest_of("q2", retracted) == oracle.digest("q2")


@pytest.mark.thorough
def test_the_benchmark_runs() -> None:
    from rich.console import Console

    assert compare(["q2", "q3", "q13"], 3_000, 1_000, Console(quiet=True)).row_count == 3


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        pytest.param(["q3", "q7", "q15"], 4, id="some"),
        pytest.param(RUNNING, 10, id="all", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.thorough
def test_the_queries_are_right_on_spark(names: list[str], parts: int, spark: Any, tmp_path: Path) -> None:
    from tests.spark.harness import frame, reading, reading_once

    changing = Changing(8_500, 12_500, parts)
    flow = nexmark.nexmark(*names)
    inputs: dict[str, Any] = {}
    for stream in flow._scope.inputs:
        if stream.name == "side":
            of: Any = stream.type.collection
            inputs["side"] = frame(spark, of, {Side(*row): 1 for row in rows(side_input())})
            continue
        folder = tmp_path / stream.name
        folder.mkdir()
        for number, delta in enumerate(changing.deltas):
            file = folder / f"{number:03}.parquet"
            pq.write_table(delta[stream.name], file)
            os.utime(file, (number, number))  # Spark takes the oldest file first
        inputs[stream.name] = reading(spark, folder)
    started = flow.on(spark).start(inputs, checkpoint=tmp_path / "state", shards=2, trigger={"availableNow": True})
    started.wait()
    assert len(started.progress) == parts
    expected = answers(changing.present[-1], names)
    with reading_once():
        for name in names:
            assert rows_as_often(started.view(name).arrow()) == rows_as_often(expected[name]), name
