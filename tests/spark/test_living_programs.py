"""Changed programs on Spark: what the state does not hold is read again from the sources, inputs come and go."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import narwhals as nw
import pytest
from pyspark.sql import SparkSession

import flo
import flo.spark
from tests.local.killed_fill import Sale, Shop

pytestmark = pytest.mark.slow


SCHEMAS = {"sales": "shop string not null, price long not null", "shops": "shop string not null, city string not null"}


class Pipeline:
    """A program whose outputs are chosen, over folders of JSON."""

    def __init__(self, spark: SparkSession, where: Path) -> None:
        self.spark, self.where = spark, where
        self.rows: dict[str, list[dict[str, Any]]] = {"sales": [], "shops": []}
        for name in self.rows:
            (where / name).mkdir(exist_ok=True)

    def add(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.rows[name] += rows
        file = self.where / name / f"{len(self.rows[name])}.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(self, *outputs: str, **options: Any) -> dict[str, list[Any]]:
        """Runs a program with these outputs on what is new, and returns its views."""
        flow, inputs = flo.Flow("sales"), {}
        if "cities" in outputs:
            shops = flow.input("shops", flo.Bag[Shop]).to_zset()
            inputs["shops"] = self._read("shops")
        sales = flow.input("sales", flo.Bag[Sale]).to_zset()
        inputs["sales"] = self._read("sales")
        if "counts" in outputs:
            flow.output("counts", sales.group_by("shop").agg(n=flo.count()))
        if "most" in outputs:
            flow.output("most", sales.filter(nw.col("price") > 1).group_by("shop").agg(most=flo.max("price")))
        if "cities" in outputs:
            flow.output("cities", sales.join(shops, on="shop").group_by("city").agg(n=flo.count()))
        options = {"checkpoint": self.where / "checkpoint", "trigger": {"availableNow": True}} | options
        query = flow.on(self.spark).start(inputs, **options)
        query.wait()
        return {
            name: sorted(tuple(row.values())[:-1] for row in view.arrow().to_pylist())
            for name, view in query.views().items()
        }

    def expected(self, *outputs: str) -> dict[str, list[Any]]:
        sales, city = self.rows["sales"], {row["shop"]: row["city"] for row in self.rows["shops"]}
        dear = [row for row in sales if row["price"] > 1]
        every = {
            "counts": Counter(row["shop"] for row in sales),
            "most": {
                shop: max(row["price"] for row in dear if row["shop"] == shop) for shop in {row["shop"] for row in dear}
            },
            "cities": Counter(city[row["shop"]] for row in sales if row["shop"] in city),
        }
        return {name: sorted(every[name].items()) for name in outputs}

    def _read(self, name: str) -> Any:
        return self.spark.readStream.schema(SCHEMAS[name]).json(str(self.where / name))


def sales(turn: int) -> list[dict[str, Any]]:
    return [{"shop": "abc"[number % 3], "price": number + turn} for number in range(5)]


def test_views_and_inputs_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, tmp_path)
    pipeline.add("shops", [{"shop": shop, "city": city} for shop, city in (("a", "x"), ("b", "y"), ("c", "x"))])
    steps = [("counts",), ("counts", "most"), ("counts", "most", "cities"), ("most", "cities"), ("counts",)]
    for turn, (outputs, shards) in enumerate(zip(steps, (3, None, 2, 4, None), strict=True)):
        pipeline.add("sales", sales(turn))
        assert pipeline.run(*outputs, changed="fill", shards=shards) == pipeline.expected(*outputs)
    for shards in (2, 2, None):  # another number of shards is no change of the program
        pipeline.add("sales", sales(shards or 0))
        assert pipeline.run("counts", shards=shards) == pipeline.expected("counts")
    left = [each.name for each in (tmp_path / "checkpoint").iterdir() if each.name.startswith("spark")]
    assert len(left) == 1, "the logs of programs that no version is of are removed"
    assert [each.name for each in (tmp_path / "checkpoint" / "state").iterdir()] == ["00002"]
    with pytest.raises(flo.CheckpointError, match="the output `most` was added"):
        pipeline.run("counts", "most")


def test_a_source_that_has_lost_its_files(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, tmp_path)
    pipeline.add("sales", sales(0))
    pipeline.run("counts")
    for file in (tmp_path / "sales").iterdir():
        file.unlink()
    with pytest.raises(flo.CheckpointError, match="the input `sales` has had so far cannot be read again") as caught:
        pipeline.run("counts", "most", changed="fill")
    assert caught.value.instead[0][0] == 'fill={"sales": rows}'
    own = [Sale(**row) for row in pipeline.rows["sales"]]
    found = pipeline.run("counts", "most", changed="fill", fill={"sales": own})
    assert found == pipeline.expected("counts", "most")


VIEWS: list[dict[str, str]] = [
    {"counts": "SELECT shop, count(*) AS n FROM sales GROUP BY shop"},
    {
        "counts": "SELECT shop, count(*) AS n FROM sales GROUP BY shop",
        "dear": "SELECT * FROM sales WHERE price > 3",
    },
    {
        "dear": "SELECT * FROM sales WHERE price > 4",
        "counts": "SELECT shop, count(*) AS n, sum(price) AS total FROM sales GROUP BY shop",
    },
]


@pytest.mark.thorough
def test_queries_change(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, tmp_path)
    for turn, queries in enumerate(VIEWS):
        pipeline.add("sales", sales(turn))
        views = flo.spark.views(spark, queries, {"sales": pipeline._read("sales")})
        query = views.start(checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True}, changed="fill")
        query.wait()
        spark.createDataFrame(pipeline.rows["sales"]).createOrReplaceTempView("sales")  # type: ignore[type-var]
        for name, text in queries.items():
            table = query.view(name).arrow().to_pylist()
            found = [tuple(row.values())[:-1] for row in table for _ in range(row["_weight"])]
            columns = [each for each in query.view(name).arrow().column_names if each != "_weight"]
            wanted = [tuple(row[each] for each in columns) for row in spark.sql(text).collect()]
            assert sorted(found) == sorted(wanted), (turn, name)
