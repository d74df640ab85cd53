"""A SQL query that Spark's own streaming rejects, kept up to date: `python -m examples.sql_view`."""

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import flo.spark

BEST = """
SELECT *
FROM (SELECT shop, item, sum(price) AS revenue, rank() OVER (PARTITION BY shop ORDER BY sum(price) DESC) AS place
      FROM sales GROUP BY shop, item)
WHERE place <= 2"""

spark = SparkSession.builder.master("local[2]").getOrCreate()
folder = Path(tempfile.mkdtemp())
(folder / "sales").mkdir()
sales = spark.readStream.schema("shop string, item string, price double").csv(str(folder / "sales"))
views = flo.spark.views(spark, {"best": BEST}, inputs={"sales": sales})

for name, rows in (("1.csv", "A,tea,2.5\nA,cup,8\nA,pot,20\n"), ("2.csv", "A,tea,30\n")):
    (folder / "sales" / name).write_text(rows)
    query = views.start(checkpoint=folder / "checkpoint", trigger={"availableNow": True})
    query.wait()
    for row in query.view("best").arrow().sort_by("place").to_pylist():
        print(row["shop"], row["place"], row["item"], row["revenue"])
    print("--")
