"""NEXMark's 23 queries of an auction site, as functions from streams of rows to a stream of rows.

Every result is a maintained table: it is right after every delta, also when persons, auctions or bids are retracted.
Windows are columns. A tumbling window is its start, `dateTime` rounded down; a hopping window is the union of shifted
tumbling ones; a session is a number that grows with every gap. So nothing is late, and no watermark cuts anything off.
`benchmarks/nexmark_sql.py` says what each query means, in SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from inspect import signature
from typing import Any, TypeAlias

import narwhals as nw

import flo
from examples.nexmark_data import Auction, Bid, Person, Side

Rows: TypeAlias = flo.Stream[flo.ZSet[Any], flo.Unbounded]

EUROS = Decimal("0.908")
TEN_SECONDS = timedelta(seconds=10)
CHANNEL_IDS = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}

auction, price, extra, url = (nw.col(name) for name in ("auction", "price", "extra", "url"))
time, start = nw.col("dateTime"), nw.col("starttime")
day, minute = time.dt.to_string("%Y-%m-%d"), time.dt.to_string("%H:%M")
window = time.dt.truncate("10s")

LEVELS = {
    "total": None,
    "rank1": price < 10_000,
    "rank2": price.is_between(10_000, 1_000_000, closed="left"),
    "rank3": price >= 1_000_000,
}


def q0(bids: Rows) -> Rows:
    """Pass bids on."""
    return bids.select("auction", "bidder", "price", "dateTime", "extra")


def q1(bids: Rows) -> Rows:
    """Convert prices to euros."""
    return q0(bids).with_columns(price=price * EUROS)


def q2(bids: Rows) -> Rows:
    """Select the bids on some auctions."""
    return bids.filter(auction % 123 == 0).select("auction", "price")


def q3(persons: Rows, auctions: Rows) -> Rows:
    """Who sells in three states, in category 10?"""
    sellers = persons.filter(nw.col("state").is_in(["OR", "ID", "CA"])).rename({"id": "seller"})
    items = auctions.filter(nw.col("category") == 10).select("id", "seller")
    return items.join(sellers, on="seller").select("name", "city", "state", "id")


def timely_bids(auctions: Rows, bids: Rows) -> Rows:
    """Join auctions with the bids that came while they were open."""
    offers = bids.select("auction", "bidder", "price", id="auction", bid_dateTime="dateTime", bid_extra="extra")
    return auctions.join(offers, on="id", where=nw.col("bid_dateTime").is_between(time, nw.col("expires")))


def q4(auctions: Rows, bids: Rows) -> Rows:
    """The average closing price of each category."""
    closing = timely_bids(auctions, bids).group_by("id", "category").agg(price=flo.max("price"))
    return closing.group_by(id="category").agg(final=flo.avg("price"))


def earlier(rows: Rows, by: str) -> Rows:
    """The same rows in windows that start earlier."""
    return rows.with_columns(starttime=start.dt.offset_by(f"-{by}"))


def q5(bids: Rows) -> Rows:
    """The auctions with the most bids in the last ten seconds, every two seconds."""
    panes = bids.group_by("auction", starttime=time.dt.truncate("2s")).agg(num=flo.count())
    two = panes.union(earlier(panes, "2s"))
    five = two.union(earlier(two, "4s")).union(earlier(panes, "8s"))
    counts = five.group_by("auction", "starttime").agg(num=flo.sum("num"))
    return counts.top(1, by="starttime", order_by=flo.desc("num"), with_ties=True).select("auction", "num")


def q6(auctions: Rows, bids: Rows) -> Rows:
    """The average closing price of a seller's last auctions: each, and the ten before it."""
    in_turn = q9(auctions, bids).over(partition_by="seller", order_by="bid_dateTime")
    return in_turn.with_columns(avg_price=flo.avg("price", rows=(-10, 0))).select("seller", "avg_price")


def q7(bids: Rows) -> Rows:
    """The highest bids of every ten seconds."""
    highest = bids.group_by(starttime=window).agg(price=flo.max("price"))
    found = bids.join(highest, on="price", where=time.is_between(start, start + TEN_SECONDS))
    return found.select("auction", "bidder", "price", "dateTime", "extra")


def q8(persons: Rows, auctions: Rows) -> Rows:
    """The persons who sold something in the ten seconds in which they came."""
    sellers = auctions.select(id="seller", starttime=window)
    return persons.select("id", "name", starttime=window).join(sellers, on=("id", "starttime"), how="semi")


def q9(auctions: Rows, bids: Rows) -> Rows:
    """The winning bid of each auction."""
    return timely_bids(auctions, bids).top(1, by="id", order_by=[flo.desc("price"), "bid_dateTime"])


def q10(bids: Rows) -> Rows:
    """Bids with the day and the minute, to log them into a folder for each."""
    return q0(bids).with_columns(dt=day, hm=minute)


def q11(bids: Rows) -> Rows:
    """The number of bids in each session of a bidder, which a gap of ten seconds ends."""
    by_time = {"partition_by": "bidder", "order_by": "dateTime"}
    times = bids.select("bidder", "dateTime").over(**by_time).with_columns(previous=flo.lag("dateTime"))
    after_gap = time - nw.col("previous") >= TEN_SECONDS
    numbered = times.over(**by_time).with_columns(session=flo.count(where=after_gap, rows=(None, 0)))
    sessions = numbered.group_by("bidder", "session").agg(
        bid_count=flo.count(), starttime=flo.min("dateTime"), last=flo.max("dateTime")
    )
    return sessions.select("bidder", "bid_count", "starttime", endtime=nw.col("last") + TEN_SECONDS)


def q12(bids: Rows) -> Rows:
    """The number of bids of each bidder in every ten seconds."""
    counts = bids.group_by("bidder", starttime=window).agg(bid_count=flo.count())
    return counts.select("bidder", "bid_count", "starttime", endtime=start + TEN_SECONDS)


def q13(bids: Rows, side: Rows) -> Rows:
    """Bids with a value from a bounded side input."""
    found = bids.with_columns(key=auction % 10_000).join(side, on="key")
    return found.select("auction", "bidder", "price", "dateTime", "value")


def q14(bids: Rows) -> Rows:
    """Bids of some prices in euros, with the time of day and the number of letters "c"."""
    hour, night = time.dt.hour(), nw.when(time.dt.hour().is_between(7, 19)).then(nw.lit("otherTime"))
    part = nw.when(hour.is_between(8, 18)).then(nw.lit("dayTime")).otherwise(night.otherwise(nw.lit("nightTime")))
    letters = extra.str.len_chars() - extra.str.replace_all("c", "", literal=True).str.len_chars()
    some = q1(bids).filter(price.is_between(1_000_000, 50_000_000, closed="none"))
    return some.with_columns(bidTimeType=part, c_counts=letters)


def count_levels() -> dict[str, Any]:
    return {f"{level}_bids": flo.count(where=where) for level, where in LEVELS.items()}


def count_distinct_levels(column: str) -> dict[str, Any]:
    return {f"{level}_{column}s": flo.count_distinct(column, where=where) for level, where in LEVELS.items()}


def q15(bids: Rows) -> Rows:
    """How many bids, bidders and auctions of each level of prices are there each day?"""
    levels = count_levels() | count_distinct_levels("bidder") | count_distinct_levels("auction")
    return bids.group_by(day=day).agg(**levels)


def q16(bids: Rows) -> Rows:
    """The same for each channel, with the minute of its last bid."""
    levels = count_levels() | count_distinct_levels("bidder") | count_distinct_levels("auction")
    return bids.group_by("channel", day=day).agg(minute=flo.max(minute), **levels)


def q17(bids: Rows) -> Rows:
    """How many bids does an auction have each day, and at which prices?"""
    return bids.group_by("auction", day=day).agg(
        **count_levels(),
        min_price=flo.min("price"),
        max_price=flo.max("price"),
        avg_price=flo.avg("price"),
        sum_price=flo.sum("price"),
    )


def q18(bids: Rows) -> Rows:
    """The last bid of each bidder on each auction."""
    return bids.top(1, by=("bidder", "auction"), order_by=flo.desc("dateTime"))


def q19(bids: Rows) -> Rows:
    """The ten highest bids on each auction, numbered."""
    return bids.top(10, by="auction", order_by=[flo.desc("price"), "dateTime"], rank="rank_number")


def q20(auctions: Rows, bids: Rows) -> Rows:
    """Bids with their auctions in category 10."""
    items = auctions.filter(nw.col("category") == 10).rename({"id": "auction", "extra": "auction_extra"})
    offers = bids.rename({"dateTime": "bid_dateTime", "extra": "bid_extra"})
    return offers.join(items.rename({"dateTime": "auction_dateTime"}), on="auction")


def q21(bids: Rows) -> Rows:
    """Bids with the id of their channel: a known one, or the one in the url."""
    in_url = nw.when(url.str.contains("&channel_id=")).then(url.str.replace_all("^.*&channel_id=|&.*$", ""))
    known = nw.col("channel").str.to_lowercase().replace_strict(CHANNEL_IDS, default=in_url)
    with_id = bids.select("auction", "bidder", "price", "channel", channel_id=known)
    return with_id.filter(~nw.col("channel_id").is_null())


def q22(bids: Rows) -> Rows:
    """Bids with the folders of their urls."""
    parts = {f"dir{number}": url.str.split("/").list.get(number + 2) for number in (1, 2, 3)}
    return bids.select("auction", "bidder", "price", "channel", **parts)


INPUTS: dict[str, Any] = {"persons": Person, "auctions": Auction, "bids": Bid, "side": Side}
QUERIES: tuple[Callable[..., Rows], ...] = (
    q0,
    q1,
    q2,
    q3,
    q4,
    q5,
    q6,
    q7,
    q8,
    q9,
    q10,
    q11,
    q12,
    q13,
    q14,
    q15,
    q16,
    q17,
    q18,
    q19,
    q20,
    q21,
    q22,
)


def nexmark(*names: str, logs: bool = False) -> flo.Flow:
    """Return the program with an output for each of these queries; without names, for all of them. If the inputs are
    `logs`, they are bags: no row of theirs is ever retracted."""
    flow = flo.Flow("nexmark")
    wanted = [query for query in QUERIES if not names or query.__name__ in names]
    streams: dict[str, Any] = {}
    for name in dict.fromkeys(name for query in wanted for name in signature(query).parameters):
        rows = flow.input(name, (flo.Bag if logs else flo.ZSet)[INPUTS[name]], bounded=name == "side")  # type: ignore[misc]
        streams[name] = rows.to_zset() if logs else rows
    for query in wanted:
        flow.output(query.__name__, query(*(streams[name] for name in signature(query).parameters)))
    return flow
