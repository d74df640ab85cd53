"""Sessions of rows on tables give what they give on values, however the rows are cut into deltas, and look at no more
rows than they must."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flo
from flo.core.graph import Node
from flo.core.stream_type import StreamType
from flo.tables.operators import session_columns
from flo.tables.operators.session_columns import SessionTables
from flo.tables.state import chains
from flo.values.keyed import Keyed
from flo.values.operators.per_key import PerKey
from flo.values.operators.session_columns import SessionColumns
from flo.values.weighted import ZSet
from tests.quick import tried
from tests.tables.harness import agree, forms, on_tables
from tests.tables.patches import colliding, whole_deltas

pytestmark = [pytest.mark.every(check=3)]

Berlin = Annotated[datetime, pa.timestamp("us", "Europe/Berlin")]
CHANGE = datetime(2024, 10, 27, tzinfo=UTC)
"""Clocks are set back in Berlin an hour later."""


class Row(NamedTuple):
    group: str | None
    at: int | None
    near: float
    day: date | None
    moment: datetime
    zoned: Berlin | None
    n: int


TYPES = (StreamType(ZSet(Row), bounded=True),)
GAPS: dict[Any, Any] = {
    "at": 3,
    "near": 0.1,
    "day": timedelta(hours=36),
    "moment": timedelta(seconds=50),
    "zoned": timedelta(minutes=30),
    "large": 2**61,
    "computed": 5,
}
TIMES: dict[str, Any] = {
    **{name: name for name in GAPS},
    "large": nw.col("at") * 2**57,
    "computed": nw.col("n") * 4 - nw.col("at"),
}
BYS = [None, "group", ["group", "n"], nw.col("at") > 2]


def operator(time: str, by: Any = None) -> SessionColumns:
    """The operator that the verb makes."""
    made = flo.Flow("sessions").input("rows", flo.ZSet[Row]).session(GAPS[time], TIMES[time], by=by)
    operator = None if made.source is None else made.source.operator
    assert isinstance(operator, SessionColumns)
    return operator


def row_of(number: int) -> Row:
    """A row with times of every type; some have none, and some are the same."""
    return Row(
        "ab"[number % 2] if number % 11 else None,
        None if number % 13 == 5 else number // 2 - 8,
        (number // 2) * 0.1 - 1,
        None if number % 7 == 3 else date(2024, 2, 20) + timedelta(days=number // 3),
        datetime(1969, 12, 31, 23, 58) + timedelta(seconds=17 * (number // 2)),
        None if number % 17 == 0 else CHANGE + timedelta(minutes=11 * (number // 3)),
        number % 3,
    )


rows = st.integers(0, 50).map(row_of)
deltas = st.lists(
    st.dictionaries(rows, st.sampled_from([1, 1, 1, 2, -1, -2]), max_size=12).map(lambda rows: (rows,)), max_size=6
)


@pytest.fixture(autouse=True, scope="module")
def _whole_deltas() -> Any:
    yield from whole_deltas()


@pytest.mark.parametrize("time", GAPS)
@pytest.mark.parametrize("by", range(len(BYS)))
def test_it_runs_on_tables(time: str, by: int) -> None:
    (form,) = forms(on_tables(operator(time, BYS[by]), TYPES)[0])
    assert isinstance(form, SessionTables)
    assert not form.by_row


@given(deltas, st.sampled_from(list(GAPS)), st.sampled_from(BYS))
@tried(90)
def test_as_on_values(chunks: Any, time: str, by: Any) -> None:
    """Rows may be retracted before they come."""
    agree(operator(time, by), TYPES, chunks, seeds=1)


def looks_around(patch: pytest.MonkeyPatch, rounds: int) -> None:
    """From here on only sessions around changes are looked at, however few there are in all."""
    patch.setattr(chains, "FEW_CHAINS", -1)
    patch.setattr(chains, "PER_ROW", 0)
    patch.setattr(chains, "ROUNDS", rounds)
    patch.setattr(chains, "FEW_KEYS", 0)


@given(deltas, st.sampled_from(list(GAPS)), st.sampled_from(BYS), st.sampled_from([1, 8]))
@tried(90)
@pytest.mark.thorough
def test_as_on_values_where_only_sessions_around_changes_are_looked_at(
    chunks: Any, time: str, by: Any, rounds: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        looks_around(patch, rounds)
        agree(operator(time, by), TYPES, chunks, seeds=1)


@pytest.mark.parametrize("time", ["at", "zoned"])
def test_rows_of_one_time_come_and_go_where_only_sessions_around_changes_are_looked_at(
    time: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks_around(monkeypatch, 8)
    some, others = ({row_of(number): 1 for number in range(first, 40, 4)} for first in (0, 1))
    later = {row_of(number): 1 for number in range(2, 40, 4)}
    chunks = [(some,), (others,), (later,), (dict.fromkeys(others, -1),), ({**dict.fromkeys(some, -1), row_of(3): 1},)]
    agree(operator(time, "group"), TYPES, chunks, seeds=1)


@given(deltas, st.sampled_from(list(GAPS)), st.sampled_from(BYS[1:]), st.booleans())
@tried(40)
def test_keys_that_share_a_number_are_told_apart(chunks: Any, time: str, by: Any, around: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        colliding(patch)
        if around:
            looks_around(patch, 8)
        agree(operator(time, by), TYPES, chunks, seeds=1)


@given(deltas, st.sampled_from(["at", "near"]))
@tried(20)
def test_of_every_key(chunks: Any, time: str) -> None:
    """Streams that have a key each."""
    keyed = [
        ({key: {row: weight for row, weight in rows.items() if row.n == key} for key in range(3)},)
        for (rows,) in chunks
    ]
    body = PerKey(Node(None, operator(time)))
    agree(body, (StreamType(Keyed(int, ZSet(Row)), bounded=True),), keyed, seeds=1)


def sessions(weights: dict[Any, int], gap: Any) -> Counter[Any]:
    """The rows with a positive weight, and the bounds of their sessions: of each row, and all that it leads to."""
    there = [row for row, weight in weights.items() if weight > 0 and row.at is not None]
    found = Counter[Any]({(*row, None, None): weight for row, weight in weights.items() if weight and row.at is None})
    for row in there:
        times = {other.at for other in there if other.group == row.group}
        reached = {row.at}
        while more := {at for at in times - reached if any(abs(at - other) < gap for other in reached)}:
            reached |= more
        found[(*row, min(reached), max(reached) + gap)] = weights[row]
    return found


class Click(NamedTuple):
    group: str
    at: int | None
    n: int


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.every(test=3)
def test_the_cuts_do_not_matter(seed: int) -> None:
    """Insertions and retractions in any order, cut into deltas of any size, as the definition says of what is there."""
    rng = random.Random(seed)
    times = [None, *range(0, 120, 3), *range(40)]
    units = [(Click(rng.choice("ab"), rng.choice(times), rng.randrange(2)), rng.choice((1, 2))) for _ in range(150)]
    units += [(row, -weight) for row, weight in rng.sample(units, 70)]
    units += [(Click("a", rng.choice(times), 2), -1) for _ in range(5)]  # they never come
    flow = flo.Flow("clicks")
    flow.output("found", flow.input("rows", flo.ZSet[Click]).session(4, "at", by="group"))
    for _ in range(2):
        rng.shuffle(units)
        on_values, on_tables = (each.loop(negative="allow") for each in (flow, flow.on(flo.here)))
        there = Counter[Any]()
        left = list(units)
        while left:
            size = rng.choice((1, 3, 60))
            delta = Counter[Any]()
            for row, weight in left[:size]:
                delta[row] += weight
            left = left[size:]
            there.update(delta)
            for loop in (on_values, on_tables):
                loop.push(rows=dict(delta))
                loop.run()
            expected = sessions(there, 4)
            assert {tuple(row): weight for row, weight in on_values.result()["found"].items()} == expected
            found = on_tables.result()["found"].to_pylist()
            assert {tuple(row.values())[:-1]: row["_weight"] for row in found} == expected


class At(NamedTuple):
    at: int


class Instant(NamedTuple):
    at: datetime


class Reading(NamedTuple):
    at: float


LAST = 2**63 - 1
EXTREMES: list[tuple[Any, Any, list[Any], dict[Any, Any]]] = [
    (
        At,
        5,
        [LAST - 5, LAST - 9, -LAST - 1, -LAST + 3],
        {LAST - 5: (LAST - 9, LAST), -LAST - 1: (-LAST - 1, -LAST + 8)},
    ),
    (At, 2**61, [-LAST - 1, -1, 0], {0: (-1, 2**61), -LAST - 1: (-LAST - 1, -LAST - 1 + 2**61)}),
    (
        Instant,
        timedelta(days=2),
        [datetime.max - timedelta(days=2), datetime.min, datetime.min + timedelta(days=1)],
        {datetime.min: (datetime.min, datetime.min + timedelta(days=3))},
    ),
    (Reading, 1e-3, [1e300, 1e300, -1e300, 0.1, 0.1004], {1e300: (1e300, 1e300), 0.1: (0.1, 0.1004 + 1e-3)}),
    (Reading, 0.1, [0.1, 0.2, 0.30000000000000004], {0.1: (0.1, 0.2)}),
]


@pytest.mark.parametrize("where", ["values", "tables"])
@pytest.mark.parametrize("case", range(len(EXTREMES)))
def test_times_near_the_ends_of_their_type(where: str, case: int) -> None:
    row, gap, times, expected = EXTREMES[case]
    flow = flo.Flow("extremes")
    flow.output("found", flow.input("rows", flo.ZSet[row]).session(gap, "at"))  # type: ignore[valid-type]
    loop = flow.loop() if where == "values" else flow.on(flo.here).loop()
    for at in times:
        loop.push(rows=[row(at)])
    loop.run()
    found = loop.result()["found"]
    rows = [tuple(each) for each in found] if where == "values" else [tuple(r.values()) for r in found.to_pylist()]
    bounds = {each[0]: (each[1], each[2]) for each in rows}
    assert {at: bounds[at] for at in expected} == expected


@pytest.mark.parametrize("where", ["values", "tables"])
@pytest.mark.parametrize(
    ("row", "gap", "good", "bad"),
    [
        (At, 5, LAST - 8, LAST - 4),
        (Instant, timedelta(days=1), datetime.max - timedelta(days=1), datetime.max),
        (Reading, 1.0, 1.5, float("inf")),
        (Reading, 1.0, 1.5, float("nan")),
    ],
)
def test_a_session_whose_end_its_type_does_not_have_is_an_error(
    where: str, row: Any, gap: Any, good: Any, bad: Any
) -> None:
    flow = flo.Flow("extremes")
    flow.output("found", flow.input("rows", flo.ZSet[row]).session(gap, "at"))
    loop = flow.loop() if where == "values" else flow.on(flo.here).loop()
    loop.push(rows=[row(good)])
    loop.run()
    with pytest.raises(flo.FloError, match=r"has a bound that its type does not have|is not a time"):
        _feed(loop, [row(bad)])


def _feed(loop: Any, rows: list[Any]) -> None:
    loop.push(rows=rows)
    loop.run()


def test_one_row_in_a_long_session_reads_no_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a session are taken from the state only if its bounds change."""
    flow = flo.Flow("clicks")
    flow.output("found", flow.input("rows", flo.ZSet[Click]).session(4, "at", by="group"))
    loop = flow.on(flo.here).loop()
    loop.push(rows=[Click("a", 3 * n, 0) for n in range(20_000)])
    loop.pull("found")
    taken: list[int] = []

    def take(table: pa.Table, indices: Any) -> pa.Table:
        taken.append(len(indices))
        return table.take(pa.array(indices))

    monkeypatch.setattr(session_columns, "take_rows", take)
    for row, weight in ((Click("a", 31, 1), 1), (Click("a", 31, 1), -1), (Click("a", 90_000, 1), 1)):
        loop.push(rows={row: weight})
        assert loop.pull("found").num_rows == 1
    assert sum(taken) < 50


def test_sessions_that_many_runs_make_together() -> None:
    """Rows far apart in each run, near each other in all: more chains than rounds."""
    flow = flo.Flow("clicks")
    flow.output("found", flow.input("rows", flo.ZSet[Click]).session(4, "at", by="group"))
    with pytest.MonkeyPatch.context() as patch:
        looks_around(patch, 3)
        loop = flow.on(flo.here).loop()
        for rest in (0, 6, 3, 9):
            loop.push(rows=[Click("a", at, 0) for at in range(rest, 1200, 12)])
        loop.run()
    found = loop.result()["found"].to_pylist()
    assert {(row["window_start"], row["window_end"]) for row in found} == {(0, 1201)}


def test_a_retraction_of_a_row_that_never_came_does_not_hide_the_next_one() -> None:
    chunks = [({row_of(30): 2, row_of(34): 1},), ({row_of(28): -1, row_of(30): -1, row_of(34): -1},)]
    (found,) = agree(operator("at", "group"), TYPES, chunks)
    assert [weight for row, weight in found.weights.items() if row[:7] == row_of(30)] == [1]
