"""Sessions of a web shop: how long visitors stay, how far they get, and which campaign brings buyers.

    python -m examples.shop_sessions

Clicks arrive in any order. A session is a row's window: clicks of a visitor that are less than half an hour apart. A
click that arrives late corrects what it concerns: here it joins two sessions into one, and the funnel changes.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import narwhals as nw

import flo

MORNING = datetime(2026, 11, 16, 9)
STEPS = ("visit", "basket", "payment")


class Click(NamedTuple):
    visitor: str
    at: datetime
    page: str
    campaign: str | None


def shop_sessions() -> flo.Flow:
    flow = flo.Flow("shop sessions")
    clicks = flow.input("clicks", flo.ZSet[Click])
    sessions = (
        clicks.session(timedelta(minutes=30), "at", by="visitor")
        .group_by("visitor", "window_start")
        .agg(
            clicks=flo.count(),
            first=flo.min("at"),
            last=flo.max("at"),
            campaign=flo.first("campaign", order_by="at"),
            basket=flo.bool_or(nw.col("page") == "basket"),
            payment=flo.bool_or(nw.col("page") == "payment"),
        )
    )
    flow.output("sessions", sessions)
    flow.output(
        "funnel",
        sessions.group_by(campaign=nw.col("campaign").fill_null("none")).agg(
            visit=flo.count(),
            basket=flo.count(where=nw.col("basket")),
            payment=flo.count(where=nw.col("payment")),
        ),
    )
    return flow


def click(visitor: str, minute: int, page: str, campaign: str | None = None) -> Click:
    return Click(visitor, MORNING + timedelta(minutes=minute), page, campaign)


CLICKS = [
    click("ann", 0, "home", "mail"),
    click("ann", 6, "tea"),
    click("ann", 50, "basket"),
    click("ann", 55, "payment"),
    click("bob", 2, "home", "search"),
    click("bob", 9, "basket"),
    click("cyd", 20, "home"),
    click("dan", 30, "home", "mail"),
    click("dan", 41, "basket"),
    click("dan", 44, "payment"),
]
LATE = [click("ann", 28, "cups")]
"""A phone sends it when it is online again: with it, the two sessions of ann are one, which the mail began."""


def show(result: Any) -> None:
    for row in sorted(result["sessions"].to_pylist(), key=lambda row: (row["visitor"], row["first"])):
        minutes = int((row["last"] - row["first"]).total_seconds()) // 60
        got = "payment" if row["payment"] else "basket" if row["basket"] else "visit"
        print(f"  {row['visitor']}  {row['first']:%H:%M}  {row['clicks']} clicks in {minutes:2} min, got to: {got}")
    for row in sorted(result["funnel"].to_pylist(), key=lambda row: row["campaign"]):
        bars = "   ".join(f"{step} {'█' * (6 * row[step])} {row[step]}" for step in STEPS)
        print(f"  {row['campaign']:7}{bars}")


def main() -> None:
    flow = shop_sessions()
    flow.draw().save("shop_sessions.svg")
    loop = flow.on(flo.here).loop()
    loop.push(clicks=CLICKS)
    print("at ten o'clock")
    show(loop.result())
    loop.push(clicks=LATE)
    print("and with a click of 9:28 that arrived late")
    show(loop.result())
    print("the program as a picture: shop_sessions.svg")


if __name__ == "__main__":
    main()
