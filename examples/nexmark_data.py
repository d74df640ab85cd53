"""NEXMark's events: an auction site's persons, auctions and bids, each a function of its number alone.

Of every 50 events, one is a person, three are auctions and 46 are bids. They are 10 ms apart. Half of the bids are for
one hot auction of the last hundred, three quarters are by one hot bidder, and three quarters of the auctions are by one
hot seller. The others spread over the last 100 auctions and 1,000 persons, and a few that are still to come.

Any range of events can be made alone: `events(0, 100)` is `events(0, 60)` followed by `events(60, 100)`. Names,
proportions and sizes are those of nexmark-flink. The random numbers are not: here they are hashes of the event's
number, in integer arithmetic, so that every machine makes the same events. Texts are drawn from pools.
"""

# ruff: noqa: N815 - the columns have the names that NEXMark gives them
from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import NamedTuple, get_type_hints

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


class Person(NamedTuple):
    id: int
    name: str
    emailAddress: str
    creditCard: str
    city: str
    state: str
    dateTime: datetime
    extra: str


class Auction(NamedTuple):
    id: int
    itemName: str
    description: str
    initialBid: int
    reserve: int
    dateTime: datetime
    expires: datetime
    seller: int
    category: int
    extra: str


class Bid(NamedTuple):
    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    dateTime: datetime
    extra: str


class Side(NamedTuple):
    """A row of the side input, which query 13 looks up."""

    key: int
    value: str


class Events(NamedTuple):
    """The events of a range, in three tables, each in the order of the events."""

    person: pa.Table
    auction: pa.Table
    bid: pa.Table


START = datetime(2024, 2, 28, 23, 58, 20)
"""The time of event 0. A midnight follows after 10,000 events."""
EVERY = 10_000
"""Microseconds between events."""
PERSONS, AUCTIONS, ROUND = 1, 3, 50
"""How many of a round of 50 events are persons, and how many are auctions. They come first; bids follow."""
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1000, 10, 5
ACTIVE_PERSONS, AUCTIONS_IN_FLIGHT, LEAD = 1000, 100, 10
"""How many persons sell and bid, how many auctions get bids, and how many of either are named before they exist."""
HOT_AUCTIONS, HOT_BIDDERS, HOT_SELLERS, HOT_AMONG = 2, 4, 4, 100
"""All but one in so many choices fall on the hot auction, bidder or seller. One in a hundred is hot."""
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000
SIDE_ROWS = 10_000
PERSON_SIZE, AUCTION_SIZE, BID_SIZE = 200, 500, 100
"""Bytes of an event on average. As in nexmark-flink, the channel and the url of a bid are not counted."""
PIECE = 200_000
"""The number of events that are made at once: their numbers fit into the processor's cache."""

FIRST_NAMES = ("Ada", "Alan", "Barbara", "Donald", "Edsger", "Frances", "Grace", "John", "Kurt", "Leslie", "Tony")
LAST_NAMES = ("Allen", "Dijkstra", "Gödel", "Hoare", "Hopper", "Knuth", "Lamport", "Liskov", "Lovelace")
CITIES = ("Bend", "Boise", "Cheyenne", "Eugene", "Fresno", "Los Angeles", "Phoenix", "Portland", "Seattle", "Tucson")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")

Numbers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


def schema_of(table: str) -> pa.Schema:
    """Return the columns of `person`, `auction`, `bid` or `side`. None of them has nulls."""
    rows = {"person": Person, "auction": Auction, "bid": Bid, "side": Side}[table]
    types = {int: pa.int64(), str: pa.string(), datetime: pa.timestamp("us")}
    return pa.schema([pa.field(name, types[kind], nullable=False) for name, kind in get_type_hints(rows).items()])


def events(first: int, last: int, start: datetime = START) -> Events:
    """Return the events with the numbers from `first` up to but without `last`."""
    if not 0 <= first <= last:
        raise ValueError(f"`first` and `last` must be 0 ≤ first ≤ last; got {first} and {last}")
    pieces = [(at, min(at + PIECE, last)) for at in range(first, last, PIECE)] or [(first, first)]
    made = [(_persons(*each, start), _auctions(*each, start), _bids(*each, start)) for each in pieces]
    return Events(*(pa.concat_tables(tables) for tables in zip(*made, strict=True)))


def side_input(rows: int = SIDE_ROWS) -> pa.Table:
    """Return the side input: each number below `rows`, and the number as a text."""
    keys = pa.array(np.arange(rows))
    return pa.Table.from_arrays([keys, keys.cast(pa.string())], schema=schema_of("side"))


def _persons(first: int, last: int, start: datetime) -> pa.Table:
    numbers = _numbers(first, last, 0, PERSONS)
    one, two = _random(numbers, 1), _random(numbers, 2)
    columns = {
        "id": FIRST_ID + _last_person(numbers),
        "name": _drawn("names", one),
        "emailAddress": _drawn("emails", one >> _16),
        "creditCard": _cards(_random(numbers, 3)),
        "city": _drawn("cities", one >> _32),
        "state": _drawn("states", one >> _48),
        "dateTime": _times(numbers, start),
        "extra": _drawn("person", two),
    }
    return _table("person", columns)


def _auctions(first: int, last: int, start: datetime) -> pa.Table:
    numbers = _numbers(first, last, PERSONS, PERSONS + AUCTIONS)
    one, two, three = (_random(numbers, salt) for salt in (4, 5, 6))
    until_as_many_more = AUCTIONS_IN_FLIGHT * ROUND // AUCTIONS * EVERY // 1000  # milliseconds
    initial = _prices(one)
    columns = {
        "id": FIRST_ID + _last_auction(numbers),
        "itemName": _drawn("items", two),
        "description": _drawn("descriptions", two >> _16),
        "initialBid": initial,
        "reserve": initial + _prices(one >> _32),
        "dateTime": _times(numbers, start),
        "expires": _times(numbers, start, 1000 * (1 + _below(two >> _32, 32, 2 * until_as_many_more))),
        "seller": FIRST_ID + _chosen_persons(numbers, three, HOT_SELLERS, hot=0),
        "category": FIRST_CATEGORY + _below(three >> _32, 16, CATEGORIES),
        "extra": _drawn("auction", three >> _48),
    }
    return _table("auction", columns)


def _bids(first: int, last: int, start: datetime) -> pa.Table:
    numbers = _numbers(first, last, PERSONS + AUCTIONS, ROUND)
    one, two = _random(numbers, 7), _random(numbers, 8)
    hot, other = _below(two >> _32, 16, len(HOT_CHANNELS)), _below(one >> np.uint64(44), 20, CHANNELS)
    channels = np.where(one >> np.uint64(43) & _1, hot, len(HOT_CHANNELS) + other)
    columns = {
        "auction": FIRST_ID + _chosen_auctions(numbers, one),
        "bidder": FIRST_ID + _chosen_persons(numbers, one >> np.uint64(21), HOT_BIDDERS, hot=1),
        "price": _prices(two),
        "channel": _pool("channels").take(pa.array(channels)),
        "url": _pool("urls").take(pa.array(channels)),
        "dateTime": _times(numbers, start),
        "extra": _drawn("bid", two >> _48),
    }
    return _table("bid", columns)


def _table(name: str, columns: dict[str, pa.Array | Numbers]) -> pa.Table:
    return pa.Table.from_arrays([pa.array(each) for each in columns.values()], schema=schema_of(name))


# Numbers of events, and what they say about ids and times.


def _numbers(first: int, last: int, low: int, high: int) -> Numbers:
    """Return the numbers of the events of one kind: those at the places `low` to `high` of each round."""
    rounds = np.arange(first // ROUND, -(-last // ROUND), dtype=np.int64)
    numbers = (ROUND * rounds[:, None] + np.arange(low, high)).ravel()
    return numbers[slice(*np.searchsorted(numbers, [first, last]))]


def _last_person(numbers: Numbers) -> Numbers:
    """Return the number of the last person until each event, that event included."""
    return numbers // ROUND * PERSONS + np.minimum(numbers % ROUND, PERSONS - 1)


def _last_auction(numbers: Numbers) -> Numbers:
    """Return the number of the last auction until each event that is not a person, that event included."""
    return numbers // ROUND * AUCTIONS + np.minimum(numbers % ROUND - PERSONS, AUCTIONS - 1)


def _times(numbers: Numbers, start: datetime, more: Numbers | int = 0) -> pa.Array:
    microseconds = np.datetime64(start, "us").astype(np.int64) + EVERY * numbers + more
    return pa.array(microseconds).view(pa.timestamp("us"))


# Random numbers: the bits of a hash.

_1, _16, _32, _48 = (np.uint64(bits) for bits in (1, 16, 32, 48))


def _random(numbers: Numbers, salt: int) -> Bits:
    """Return 64 random bits for each number, by the finaliser of SplitMix64."""
    bits = numbers.astype(np.uint64)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits += np.uint64(salt * 0xD1B54A32D192ED03 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits


def _below(bits: Bits, width: int, limit: int | Numbers) -> Numbers:
    """Return numbers from 0 up to but without `limit`, made of the lowest `width` bits."""
    some = (bits & np.uint64(2**width - 1)).view(np.int64)
    some *= limit
    some >>= width
    return some


def _chosen_auctions(numbers: Numbers, bits: Bits) -> Numbers:
    """Choose the hot auction of the last hundred, or one that may be open. Takes 21 bits."""
    latest = _last_auction(numbers)
    least = np.maximum(latest - AUCTIONS_IN_FLIGHT, 0)
    any_open = least + _below(bits >> _1, 20, latest - least + 1 + LEAD)
    return np.where(_below(bits, 1, HOT_AUCTIONS), latest // HOT_AMONG * HOT_AMONG, any_open)


def _chosen_persons(numbers: Numbers, bits: Bits, ratio: int, hot: int) -> Numbers:
    """Choose the hot person of the last hundred, or one that is active. Takes 22 bits."""
    latest = _last_person(numbers)
    active = np.minimum(latest + 1, ACTIVE_PERSONS)
    any_active = latest + 1 - active + _below(bits >> np.uint64(2), 20, active + LEAD)
    return np.where(_below(bits, 2, ratio), latest // HOT_AMONG * HOT_AMONG + hot, any_active)


def _prices(bits: Bits) -> Numbers:
    """Return prices from 100 to 100,000,000, as many in each order of magnitude. Takes 32 bits.

    Between the points of a table they are interpolated, with integers only."""
    points = _points()
    place = _below(bits >> np.uint64(20), 12, len(points) - 1)
    rest = _below(bits, 20, points[place + 1] - points[place])
    rest += points[place]
    return rest


@cache
def _points() -> Numbers:
    return np.array([round(100 * 10 ** (6 * place / 4096)) for place in range(4097)])


# Texts.


def _drawn(pool: str, bits: Bits) -> pa.Array:
    """Draw texts from a pool. Takes 16 bits."""
    return _pool(pool).take(pa.array(_below(bits, 16, len(_pool(pool)))))


@cache
def _pool(name: str) -> pa.Array:
    match name:
        case "names":
            return pa.array([f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES])
        case "cities":
            return pa.array(CITIES)
        case "states":
            return pa.array(STATES)
        case "emails":
            users, hosts = _texts(11, 2**14, 3, 7), _texts(12, 2**14, 3, 5)
            return pc.binary_join_element_wise(pc.binary_join_element_wise(users, hosts, "@"), "com", ".")
        case "items":
            return _texts(13, 2**14, 3, 20, gap=" ")
        case "descriptions":
            return _texts(14, 2**14, 3, 100, gap=" ")
        case "person":
            return _padding(15, 2**13, PERSON_SIZE - 63)
        case "auction":
            return _padding(16, 2**13, AUCTION_SIZE - 110)
        case "bid":
            return _padding(17, 2**16, BID_SIZE - 32)
        case "channels":
            return pa.array([*HOT_CHANNELS, *(f"channel-{number}" for number in range(CHANNELS))])
        case "urls":
            return _urls()
        case _:
            raise KeyError(name)


def _urls() -> pa.Array:
    """Return the url of each channel: three folders, and for nine in ten of those that are not hot the channel's id."""
    count = len(HOT_CHANNELS) + CHANNELS
    folders = zip(*(_texts(salt, count, 3, 5, gap="_").to_pylist() for salt in (18, 19, 20)), strict=True)
    urls = [f"https://www.nexmark.com/{'/'.join(each)}/item.htm?query=1" for each in folders]
    has_id = _below(_random(np.arange(CHANNELS), 21), 16, 10)
    for number in np.flatnonzero(has_id).tolist():
        urls[len(HOT_CHANNELS) + number] += f"&channel_id={int(f'{number:031b}'[::-1], 2)}"
    return pa.array(urls)


def _padding(salt: int, count: int, mean: int) -> pa.Array:
    """Return texts that are `mean` letters long, a fifth more or less."""
    return _texts(salt, count, mean - mean // 5, mean + mean // 5 + 1)


def _texts(salt: int, count: int, shortest: int, longest: int, gap: str = "") -> pa.Array:
    """Return texts of random letters, shorter than `longest`. One place in thirteen is a `gap`, if there is one."""
    lengths = shortest + _below(_random(np.arange(count), salt), 16, longest - shortest)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    bits = _random(np.arange(ends[-1]), -salt)
    letters = (ord("a") + _below(bits, 16, 26)).astype(np.uint8)
    if gap:
        letters[_below(bits >> _16, 16, 13) == 0] = ord(gap)
    texts = pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(ends), pa.py_buffer(letters)])
    return pc.utf8_trim(texts, gap) if gap == " " else texts


def _cards(bits: Bits) -> pa.Array:
    """Return numbers of credit cards: four groups of four digits."""
    digits = (bits % np.uint64(10**16))[:, None] // 10 ** np.arange(15, -1, -1, dtype=np.uint64) % np.uint64(10)
    letters = np.full((len(bits), 19), ord(" "), dtype=np.uint8)
    letters[:, [place for place in range(19) if place % 5 < 4]] = ord("0") + digits
    ends = np.arange(0, 19 * len(bits) + 1, 19, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(bits), [None, pa.py_buffer(ends), pa.py_buffer(letters)])
