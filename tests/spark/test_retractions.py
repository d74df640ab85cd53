"""Which outputs retract rows, and which sinks accept them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import flo
from flo.program.retractions import Cause, find_retractions
from flo.shards.sinks.sinks import Callback, Changes, Console, Memory, Nowhere, Sink, ViewSink
from flo.shards.tasks import sending
from flo.shards.tasks.shard_record import ShardRecord
from flo.spark import SparkSink
from flo.spark.driver.spark_changes import SparkChanges
from flo.tables.io.files import WEIGHTS
from flo.tables.io.fitting import table_of
from flo.tables.values import Rows
from tests.spark.programs import add, drawn, first, second
from tests.spark.simulated import agree_simulated, simulated
from tests.spark.sources import files, stream

pytestmark = pytest.mark.every(test=2)


class Message(NamedTuple):
    key: str
    value: str


def louder(word: str) -> str:
    return word.upper()


Pairs = Any
"""A stream of pairs."""


def shift(pair: tuple[int, int]) -> tuple[int, int]:
    return pair[0] + 1, pair[1]


def small(pair: tuple[int, int]) -> bool:
    return pair[0] < 3


def both(pair: tuple[int, int]) -> list[tuple[int, int]]:
    return [pair, (pair[1], pair[0])]


ADDING: dict[str, Callable[[Pairs, Pairs], Any]] = {
    "the input itself": lambda a, b: a,
    "map": lambda a, b: a.map(shift),
    "filter": lambda a, b: a.filter(small),
    "flat_map": lambda a, b: a.flat_map(both),
    "union": lambda a, b: a.union(b),
    "join": lambda a, b: a.join(b, first, first),
    "semi_join": lambda a, b: a.join(b, first, first, how="semi"),
    "distinct": lambda a, b: a.distinct(),
    "entries": lambda a, b: a.key_by(first).map_values(second).entries(),
    "join of keyed streams": lambda a, b: a.key_by(first).join(b.key_by(first)).entries(),
    "a body for each key": lambda a, b: a.key_by(first).per_key(lambda one: one.map(second)).entries(),
}
TAKING_BACK: dict[str, Callable[[Pairs, Pairs], Any]] = {
    "agg": lambda a, b: a.map(shift).group_by(key=first).agg(n=flo.count()).filter(small),
    "agg of all": lambda a, b: a.agg(max=flo.max(second)),
    "top": lambda a, b: a.top(2, second),
    "join left": lambda a, b: a.join(b, first, first, how="left"),
    "join right": lambda a, b: a.join(b, first, first, how="right"),
    "join full": lambda a, b: a.join(b, first, first, how="full"),
    "join anti": lambda a, b: a.join(b, first, first, how="anti"),
    "minus": lambda a, b: a.minus(b).distinct(),
    "negate": lambda a, b: a.union(b.negate()),
    "map_weights": lambda a, b: a.map_weights(lambda pair, weight: -weight),
    "agg for each key": lambda a, b: (
        a.key_by(first).per_key(lambda one: one.group_by(second).agg(n=flo.count())).entries()
    ),
}


def causes(verb: Callable[[Pairs, Pairs], Any], weighted: bool = False) -> Cause | None:
    flow = flo.Flow("one")
    a, b = flow.input("a", flo.ZSet[tuple[int, int]]), flow.input("b", flo.ZSet[tuple[int, int]])
    flow.output("out", verb(a, b))
    flow.output("read", a.union(b))
    given = Cause("a") if weighted else None
    return find_retractions(flow._dag(), [given, None])[0]


@pytest.mark.parametrize("name", ADDING)
def test_what_only_adds(name: str) -> None:
    assert causes(ADDING[name]) is None
    assert causes(ADDING[name], weighted=True) == Cause("a")


@pytest.mark.parametrize("name", TAKING_BACK)
def test_what_takes_back(name: str) -> None:
    cause = causes(TAKING_BACK[name])
    assert cause is not None
    verb = name.split()[0]
    assert cause.name == verb
    assert cause.origin is not None
    assert f".{verb}(" in cause.origin.text


def outputs_of(flow: flo.Flow) -> list[Cause | None]:
    return find_retractions(flow._dag(), [None] * len(flow._scope.inputs))


def test_collections_that_only_grow() -> None:
    """Whatever was done to z-sets before: what is read at their end stays."""
    flow = flo.Flow("grown")
    rows, numbers = flow.input("rows", flo.ZSet[int], bounded=True), flow.input("numbers", flo.Sequence[int])
    flow.output("bag", rows.negate().to_bag())
    flow.output("set", numbers.to_set())
    flow.output("sequence", numbers.scan(0, add))
    flow.output("highest", numbers.fold_lattice(flo.Max(int)))
    flow.output("added", numbers.to_zset())
    assert outputs_of(flow) == [None] * 5


def test_constants_and_bodies() -> None:
    flow = flo.Flow("constants")
    numbers = flow.input("numbers", flo.Sequence[int])
    flow.output("added", flow.constant(flo.ZSet[int], {1: 2}).union(numbers.to_zset()))
    flow.output("less", flow.constant(flo.ZSet[int], {1: -1}).union(numbers.to_zset()))
    batches = numbers.batch(2)
    flow.output("copied", batches.nest(lambda batch: batch.to_zset()).flatten())
    flow.output("counted", batches.nest(lambda batch: batch.to_zset().agg(n=flo.count())).flatten())
    found = [cause and cause.name for cause in outputs_of(flow)]
    assert found == [None, "constant", None, "agg"]


def test_what_is_carried_from_round_to_round_is_not_known() -> None:
    def hop(edges: Any, loop: flo.Loop) -> Any:
        known = loop.read_defer("known", flo.ZSet[int], initial={0: 1})
        loop.write_defer("known", known.negate())
        return known

    flow = flo.Flow("rounds")
    edges = flow.input("edges", flo.Set[int], bounded=True)
    flow.output("reached", edges.repeat_nested(2).nest(hop).flatten())
    (cause,) = outputs_of(flow)
    assert cause is not None
    assert cause.name == "read_defer"


def positive(data: Any) -> Any:
    return {row: abs(weight) or 1 for row, weight in data.items()} if isinstance(data, dict) else data


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(24), pytest.param(range(24, 84), marks=pytest.mark.thorough)], ids=str)
def test_what_is_derived_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range) -> None:
    """Of drawn programs whose inputs are only added to: no change of an output that only adds is below zero."""
    least: dict[str, int] = {}
    take = ShardRecord.add_changes

    def noted(self: Any, output: Any, value: Any, *more: Any) -> int:
        if isinstance(value, Rows) and isinstance(value.of, flo.ZSet) and value.table.num_rows:
            weight = pc.min(table_of(value)[WEIGHTS]).as_py()
            least[output.name] = min(least.get(output.name, 1), 1 if weight is None else weight)
        return take(self, output, value, *more)

    monkeypatch.setattr(ShardRecord, "add_changes", noted)
    added = taken_back = 0
    for seed in seeds:
        least.clear()
        case = drawn(seed)
        flow, data = case.build(), {name: positive(items) for name, items in case.data.items()}
        simulated(flow, data, tmp_path / str(seed), parts=2, shards=2, seed=seed)
        for name, cause in zip((*flow._outputs, *flow._late()), outputs_of(flow), strict=True):
            if name in least:
                assert cause is not None or least[name] > 0, f"{name} of seed {seed}"
                added += cause is None
                taken_back += least[name] < 0
    assert added > len(seeds) // 8
    assert taken_back > len(seeds) // 8


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(24), pytest.param(range(24, 84), marks=pytest.mark.thorough)], ids=str)
def test_random_programs_whose_tasks_leave_out_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: range
) -> None:
    """Of inputs that are only added to."""
    monkeypatch.setattr(sending, "FEWEST_ROWS", 0)
    monkeypatch.setattr(sending, "ROWS_PER_KEY", 0)
    reduced = 0
    for seed in seeds:
        case = drawn(seed)
        flow, data = case.build(), {name: positive(items) for name, items in case.data.items()}
        query = agree_simulated(flow, data, tmp_path / str(seed), parts=2, shards=2, seed=seed, retracting={})
        reduced += any(each.reduces for each in query.batches.plan.deliveries)
    assert reduced


def test_every_sink_says_whether_it_keeps_weights() -> None:
    keeping = [ViewSink(), Nowhere(), Callback(print), Console(), Memory(), Changes("x")]
    assert all(sink.keeps_weight for sink in keeping)
    assert not Sink().keeps_weight
    for name in ("parquet", "orc", "json", "csv", "avro", "delta", "iceberg", "jdbc", "Parquet"):
        assert SparkSink(name).keeps_weight, name
    for name in ("kafka", "text", "some.company.Queue"):
        assert not SparkSink(name).keeps_weight, name
    assert SparkSink("some.company.Table", keeps_weight=True).keeps_weight


NOW = {"availableNow": True}


def counts() -> flo.Flow:
    flow = flo.Flow("counts")
    hits = flow.input("hits", flo.ZSet[Message])
    flow.output("pages", hits.group_by("key").agg(n=flo.count()))
    flow.output("messages", hits)
    return flow


def test_a_sink_that_cannot_take_back_is_refused(spark: Any, tmp_path: Path) -> None:
    """Before anything runs, and with the line that takes back."""
    plain = files(spark, [pa.table({"key": ["a"], "value": ["b"]})], tmp_path / "plain")
    weighted = files(spark, [pa.table({"key": ["a"], "value": ["b"], WEIGHTS: [1]})], tmp_path / "weighted")

    def start(source: Any, output: str, sink: Any) -> Any:
        checkpoint = tmp_path / "checkpoint"
        return counts().on(spark).start({"hits": source}, {output: sink}, checkpoint=checkpoint, trigger=NOW)

    with pytest.raises(flo.TypeMismatch) as caught:
        start(plain, "pages", SparkSink("kafka", {"kafka.sasl.jaas.config": "secret"}))
    said = str(caught.value)
    assert (
        'the output `pages` retracts rows, but its sink SparkSink("kafka") would write each retraction as one more row'
        in said
    )
    assert "agg" in said
    assert 'flow.output("pages", hits' in said
    assert "test_retractions.py" in said
    assert "flo.spark.Changes(path)" in said
    assert "keeps_weight=True" not in said, "kafka has no column for it"
    assert "secret" not in said
    both = {name: Changes(str(tmp_path / "changes")) for name in ("pages", "messages")}
    with pytest.raises(flo.TypeMismatch, match="the outputs `pages` and `messages` have one sink"):
        counts().on(spark).start({"hits": plain}, both, checkpoint=tmp_path / "checkpoint", trigger=NOW)
    with pytest.raises(flo.TypeMismatch, match="the output `messages` retracts rows") as caught:
        start(weighted, "messages", SparkSink("some.company.Queue"))
    assert "its DataFrame has a column `_weight`" in str(caught.value)
    assert 'SparkSink("some.company.Queue", …, keeps_weight=True)' in str(caught.value)
    assert not (tmp_path / "checkpoint").exists()
    query = start(weighted, "messages", SparkSink("json", {"path": str(tmp_path / "json")}))
    query.wait()
    assert spark.read.json(str(tmp_path / "json")).toArrow().to_pylist() == [{"key": "a", "value": "b", WEIGHTS: 1}]


def extremes() -> flo.Flow:
    flow = flo.Flow("extremes")
    hits = flow.input("hits", flo.ZSet[Message])
    aggregates = {"least": flo.min("value"), "most": flo.arg_max("value", "value"), "n": flo.count()}
    flow.output("values", hits.group_by("key").agg(**aggregates))
    return flow


def test_rows_of_a_dataframe_without_weights_are_left_out(spark: Any, tmp_path: Path) -> None:
    turns = [pa.table({"key": ["a", "b", "c"] * 2000, "value": [f"{turn}{n}" for n in range(6000)]}) for turn in "213"]
    received, views = [], []
    for name, weights in (("plain", {}), ("weighted", {WEIGHTS: pa.array([1] * 6000)})):
        tables = [pa.table({**dict(zip(each.column_names, each.columns, strict=True)), **weights}) for each in turns]
        given = {"hits": files(spark, tables, tmp_path / name)}
        query = extremes().on(spark).start(given, checkpoint=tmp_path / f"{name} state", shards=2, trigger=NOW)
        query.wait()
        views.append(sorted(query.view("values").arrow().to_pylist(), key=str))
        received.append(sum(sum(each.figures.shard_rows[1].values()) for each in query.progress))
    assert views[0] == views[1]
    assert [each["n"] for each in views[0]] == [6000] * 3
    assert received[0] < 100
    assert received[1] == 18_000


def test_a_sink_without_weights_is_given_a_row_as_often_as_it_came(spark: Any, tmp_path: Path) -> None:
    flow = flo.Flow("words")
    words = flow.input("words", flo.Bag[str])
    flow.output("bag", words)
    flow.output("zset", words.to_zset().map(louder))
    paths = {name: SparkSink("text", {"path": str(tmp_path / name)}) for name in ("bag", "zset")}
    source = stream(spark, flo.Bag[str], [{"a": 2, "b": 1}, {"a": 1}], tmp_path / "words")
    flow.on(spark).start({"words": source}, paths, checkpoint=tmp_path / "checkpoint", trigger=NOW).wait()
    for name, expected in (("bag", "aaab"), ("zset", "AAAB")):
        assert sorted(row.value for row in spark.read.text(str(tmp_path / name)).collect()) == sorted(expected)


class Writer:
    """What a sink of Spark asks of a writer."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    @property
    def write(self) -> Writer:
        return self

    def format(self, name: str) -> Writer:
        self.given["format"] = name
        return self

    def mode(self, name: str) -> Writer:
        self.given["mode"] = name
        return self

    def options(self, **options: Any) -> Writer:
        self.given |= options
        return self

    def save(self) -> None:
        self.given["saved"] = True


def written(spark: Any, sink: SparkSink, checkpoint: str, version: int = 3) -> dict[str, Any]:
    writer = Writer()

    class Given(SparkChanges):
        def frame(self) -> Any:
            return writer

    sink.take(Given("/a/path", "sums", version, 2, pa.schema([]), (), checkpoint=checkpoint, spark=spark))
    return writer.given


def test_a_transaction_is_named_by_the_checkpoint_and_the_version(spark: Any) -> None:
    expected = {"format": "delta", "mode": "append", "txnAppId": "1f sums", "txnVersion": 3, "path": "x", "saved": True}
    assert written(spark, SparkSink("delta", {"path": "x"}), "1f") == expected
    assert written(spark, SparkSink("delta", {"path": "x"}), "2e")["txnAppId"] == "2e sums"
    assert written(spark, SparkSink("delta", {"txnAppId": "mine"}), "1f")["txnAppId"] == "mine"
