"""An org chart in SQL: who reports to whom, directly or not, and how many people each has below. It follows changes.

    python -m examples.org_chart

    ann ─┬─ bob ─── dan ─── eve        after dan moves to cyd:   ann ─┬─ bob
         └─ cyd                                                       └─ cyd ─── dan ─── eve

`chart` is a recursive query, as Spark runs it on a batch: one level of the chart after the other. `below` is a set
(UNION): it would end even if the data had a cycle. When somebody moves, the rows of those below change, and no others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import flo

CHART = """
WITH RECURSIVE chart(name, depth, path) AS (
  SELECT name, 0L, name FROM staff WHERE boss IS NULL
  UNION ALL
  SELECT staff.name, depth + 1, concat(path, ' / ', staff.name) FROM chart JOIN staff ON staff.boss = chart.name
)
SELECT * FROM chart"""

BELOW = """
WITH RECURSIVE below(boss, name) AS (
  SELECT boss, name FROM staff WHERE boss IS NOT NULL
  UNION
  SELECT below.boss, staff.name FROM below JOIN staff ON staff.boss = below.name
)
SELECT boss, count(*) AS people FROM below GROUP BY boss"""


class Person(NamedTuple):
    name: str
    boss: str | None


STAFF = [Person("ann", None), Person("bob", "ann"), Person("cyd", "ann"), Person("dan", "bob"), Person("eve", "dan")]
MOVE = {Person("dan", "bob"): -1, Person("dan", "cyd"): 1}


def org_chart() -> flo.Flow:
    flow = flo.Flow("org chart")
    staff = flow.input("staff", flo.ZSet[Person])
    flow.output("chart", flow.sql(CHART, staff=staff))
    flow.output("below", flow.sql(BELOW, staff=staff))
    return flow


def changes() -> list[dict[str, list[tuple[Any, ...]]]]:
    """Return the changes of both views: when all are hired, and when one moves."""
    loop = org_chart().on(flo.here).loop()
    results = []
    for given in (STAFF, MOVE):
        loop.push(staff=given)
        tables = {name: loop.pull(name) for name in ("chart", "below")}
        results.append({name: sorted(tuple(row.values()) for row in each.to_pylist()) for name, each in tables.items()})
    return results


if __name__ == "__main__":
    for title, views in zip(("hired", "dan moves to cyd"), changes(), strict=True):
        print(title)
        for view, rows in views.items():
            for *row, weight in rows:
                print(f"  {weight:+} {view}:", *row)
