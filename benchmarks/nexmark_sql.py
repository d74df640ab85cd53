"""The answers to NEXMark's queries, by DuckDB: the oracle of `examples/nexmark.py`.

The queries mean what those of nexmark-flink mean, on all events at once. A maintained view is the whole table of
answers, so every window has closed and there is no watermark; times are event times, without a zone. Where the
definition leaves the answer open, or where it depends on when a program runs, it is settled here:

- Averages (q4, q6, q17) are floats. Flink cuts off what follows the point.
- q6 averages a seller's auction and the ten before it, in the order of their winning bids' times. A winning bid is that
  of q9: the dearest, and of equally dear ones the first.
- q7 takes both ends of a window, as the definition does: a bid at the end of a window counts if it is as dear as the
  dearest bid of the window.
- q11: bids less than ten seconds apart are in one session, which ends ten seconds after its last bid.
- q12 counts in windows of processing time. No two runs of it agree, so event time is taken instead.
- q13 looks up the side input as of processing time. The side input is bounded and never changes, so a join is the same.
- q14's user-defined function counts the letters "c".
- q18 and q19 number bids by time and by price. Bids never have the same time; of equally dear ones the first is first.
- q10 writes files, in a folder for each day and minute. The answer is the rows with these two columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from examples.nexmark_data import Events, side_input

if TYPE_CHECKING:
    from collections.abc import Iterable

WINNING = """
SELECT a.*, b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra
FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) = 1
"""

LEVELS = """
count(*) AS total_bids,
count(*) FILTER (price < 10000) AS rank1_bids,
count(*) FILTER (price >= 10000 AND price < 1000000) AS rank2_bids,
count(*) FILTER (price >= 1000000) AS rank3_bids
"""


def _distinct(column: str, plural: str) -> str:
    return f"""
    count(DISTINCT {column}) AS total_{plural},
    count(DISTINCT {column}) FILTER (price < 10000) AS rank1_{plural},
    count(DISTINCT {column}) FILTER (price >= 10000 AND price < 1000000) AS rank2_{plural},
    count(DISTINCT {column}) FILTER (price >= 1000000) AS rank3_{plural}
    """


QUERIES = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM bid",
    "q1": "SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price, dateTime, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """
        SELECT p.name, p.city, p.state, a.id
        FROM auction a JOIN person p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
    """,
    "q4": """
        WITH closing AS (
            SELECT a.id, a.category, max(b.price) AS price
            FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
            GROUP BY a.id, a.category)
        SELECT category AS id, avg(price) AS final FROM closing GROUP BY category
    """,
    "q5": """
        WITH hops AS (
            SELECT auction, time_bucket(INTERVAL 2 SECONDS, dateTime) - hop * INTERVAL 2 SECONDS AS starttime
            FROM bid, range(5) hops(hop)),
        counts AS (SELECT auction, starttime, count(*) AS num FROM hops GROUP BY auction, starttime)
        SELECT auction, num FROM counts QUALIFY num = max(num) OVER (PARTITION BY starttime)
    """,
    "q6": f"""
        SELECT seller, avg(price) OVER (
            PARTITION BY seller ORDER BY bid_dateTime ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS avg_price
        FROM ({WINNING})
    """,
    "q7": """
        WITH highest AS (
            SELECT max(price) AS price, time_bucket(INTERVAL 10 SECONDS, dateTime) AS starttime
            FROM bid GROUP BY starttime)
        SELECT b.auction, b.bidder, b.price, b.dateTime, b.extra
        FROM bid b JOIN highest h ON b.price = h.price
            AND b.dateTime BETWEEN h.starttime AND h.starttime + INTERVAL 10 SECONDS
    """,
    "q8": """
        SELECT p.id, p.name, time_bucket(INTERVAL 10 SECONDS, p.dateTime) AS starttime
        FROM person p SEMI JOIN auction a ON p.id = a.seller
            AND time_bucket(INTERVAL 10 SECONDS, p.dateTime) = time_bucket(INTERVAL 10 SECONDS, a.dateTime)
    """,
    "q9": WINNING,
    "q10": """
        SELECT auction, bidder, price, dateTime, extra,
            strftime(dateTime, '%Y-%m-%d') AS dt, strftime(dateTime, '%H:%M') AS hm
        FROM bid
    """,
    "q11": """
        WITH gaps AS (
            SELECT *, dateTime - lag(dateTime) OVER each_bidder >= INTERVAL 10 SECONDS AS opens
            FROM bid WINDOW each_bidder AS (PARTITION BY bidder ORDER BY dateTime)),
        sessions AS (
            SELECT *, count(*) FILTER (opens) OVER (PARTITION BY bidder ORDER BY dateTime) AS session FROM gaps)
        SELECT bidder, count(*) AS bid_count, min(dateTime) AS starttime,
            max(dateTime) + INTERVAL 10 SECONDS AS endtime
        FROM sessions GROUP BY bidder, session
    """,
    "q12": """
        SELECT bidder, count(*) AS bid_count, time_bucket(INTERVAL 10 SECONDS, dateTime) AS starttime,
            time_bucket(INTERVAL 10 SECONDS, dateTime) + INTERVAL 10 SECONDS AS endtime
        FROM bid GROUP BY ALL
    """,
    "q13": """
        SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
        FROM bid b JOIN side_input s ON b.auction % 10000 = s.key
    """,
    "q14": """
        SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price, dateTime, extra,
            CASE WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
                 WHEN hour(dateTime) BETWEEN 7 AND 19 THEN 'otherTime'
                 ELSE 'nightTime' END AS bidTimeType,
            length(extra) - length(replace(extra, 'c', '')) AS c_counts
        FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000
    """,
    "q15": f"""
        SELECT strftime(dateTime, '%Y-%m-%d') AS day,
            {LEVELS}, {_distinct("bidder", "bidders")}, {_distinct("auction", "auctions")}
        FROM bid GROUP BY day
    """,
    "q16": f"""
        SELECT channel, strftime(dateTime, '%Y-%m-%d') AS day, max(strftime(dateTime, '%H:%M')) AS minute,
            {LEVELS}, {_distinct("bidder", "bidders")}, {_distinct("auction", "auctions")}
        FROM bid GROUP BY channel, day
    """,
    "q17": f"""
        SELECT auction, strftime(dateTime, '%Y-%m-%d') AS day, {LEVELS},
            min(price) AS min_price, max(price) AS max_price, avg(price) AS avg_price,
            CAST(sum(price) AS BIGINT) AS sum_price
        FROM bid GROUP BY auction, day
    """,
    "q18": "SELECT * FROM bid QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) = 1",
    "q19": """
        SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, dateTime) AS rank_number
        FROM bid QUALIFY rank_number <= 10
    """,
    "q20": """
        SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime AS bid_dateTime, b.extra AS bid_extra,
            a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS auction_dateTime, a.expires, a.seller,
            a.category, a.extra AS auction_extra
        FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10
    """,
    "q21": """
        SELECT auction, bidder, price, channel,
            CASE lower(channel)
                WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
                ELSE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '') END AS channel_id
        FROM bid WHERE channel_id IS NOT NULL
    """,
    "q22": """
        SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2,
            split_part(url, '/', 6) AS dir3
        FROM bid
    """,
}
"""The text of each query, over the tables `person`, `auction`, `bid` and `side_input`."""


def answers(events: Events, names: Iterable[str] = tuple(QUERIES)) -> dict[str, pa.Table]:
    """Return the answer to each query, with its rows in any order."""
    with duckdb.connect() as connection:
        for name, table in {**events._asdict(), "side_input": side_input()}.items():
            connection.register(name, table)
        return {name: connection.execute(QUERIES[name]).to_arrow_table() for name in names}
