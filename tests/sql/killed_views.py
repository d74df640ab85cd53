"""Maintains the views of `test_views` on a folder, and prints each version, in a process that the test kills."""

from __future__ import annotations

import sys
from pathlib import Path

from flo.spark.session import embedded
from tests.sql.maintained_views import register_functions
from tests.sql.test_views import ONE_FILE, QUERIES, views


def main(folder: Path) -> None:
    spark = embedded("killed views", cores=2)
    register_functions(spark)
    started = views(spark, folder / "sales", {**QUERIES, "all": "SELECT shop FROM sales"})
    query = started.start(
        {"all": lambda changes, version: print("version", version, flush=True)},
        checkpoint=folder / "checkpoint",
        shards=3,
        trigger=ONE_FILE,
    )
    query.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
