"""What may happen to a sink, one after the other: a crash, a corrected function, a copy that is restored, a drop, a
sink that is added later, a changed program. After each the rows of the sink are compared with those of a view of the
same stream."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

import flo
from flo.spark.driver.query import Query


class Sale(NamedTuple):
    shop: str
    price: int


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # so that tasks get the factor of the moment
FACTOR = [1]
"""What the named function below does. To change it is to correct the function."""
SCHEMA = "shop string, price long"


def corrected(sale: Sale) -> Sale:
    return Sale(sale.shop, sale.price * FACTOR[0])


class Stop(Exception):
    """Raised by the sink beside the one that is tried, after that has taken a version."""


@dataclass
class Trial:
    """A query with a sink that is tried, one beside it that may raise, and a view of the same rows."""

    spark: Any
    folder: Path
    sink: Callable[[], Any]
    """Makes the sink."""
    rows: Callable[[], dict[Any, Any]]
    """The rows that it has."""
    drop: Callable[[], Any]
    """Removes all that it has."""
    checkpoint: str = "checkpoint"
    stop_at: int | None = None
    beside: Callable[[], Any] | None = None
    """Makes the sink beside it; by default a function that raises at a version."""
    files: int = field(default=0, init=False)
    is_changed: bool = field(default=False, init=False)
    """Whether the program is another one: with fewer rows, and one more column."""

    def flow(self) -> flo.Flow:
        flow = flo.Flow("trial")
        # the results of a function that is corrected must never be retracted
        corrections = flow.input("corrections", flo.ZSet[Sale]).map(corrected)
        sales = flow.input("sales", flo.ZSet[Sale]).union(corrections)
        sums = sales.group_by("shop").agg(total=flo.sum("price"))
        if self.is_changed:
            sums = sales.filter(nw.col("price") < 100).group_by("shop").agg(n=flo.count(), total=flo.sum("price"))
        for name in ("sums", "beside", "view"):
            flow.output(name, sums)
        return flow

    def put(self, *rows: tuple[str, int, int]) -> None:
        self._write("sales", ("shop", "price", "_weight"), rows)

    def put_for_function(self, *rows: tuple[str, int]) -> None:
        self._write("corrections", ("shop", "price"), rows)

    def _write(self, name: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        table = pa.table({column: [row[n] for row in rows] for n, column in enumerate(columns)})
        (self.folder / name).mkdir(exist_ok=True)
        pq.write_table(table, self.folder / name / f"{self.files:03}.parquet")
        self.files += 1

    def _read(self, name: str, schema: str) -> Any:
        (self.folder / name).mkdir(exist_ok=True)
        return self.spark.readStream.schema(schema).parquet(str(self.folder / name))

    def _beside(self, changes: pa.Table, version: int) -> None:
        if version == self.stop_at:
            raise Stop

    def run(self, sink: Any = ..., **more: Any) -> Query:
        sources = {"sales": self._read("sales", f"{SCHEMA}, _weight long")}
        sources["corrections"] = self._read("corrections", SCHEMA)
        beside = self._beside if self.beside is None else self.beside()
        outputs = {"beside": beside, "sums": self.sink() if sink is ... else sink}
        query: Query = (
            self.flow()
            .on(self.spark)
            .start(
                sources,
                outputs,
                checkpoint=self.folder / self.checkpoint,
                shards=2,
                trigger={"availableNow": True},
                **more,
            )
        )
        query.wait()
        return query

    def compare(self, query: Query) -> None:
        view = {row["shop"]: int(row["total"]) for row in query.view("view").arrow().to_pylist()}
        assert self.rows() == view

    def anew(self, name: str) -> None:
        """The way forward that errors name: another checkpoint, and an empty sink."""
        self.drop()
        self.checkpoint = name
        self.compare(self.run())

    def reconcile(self) -> None:
        """The way forward that goes on: the sink gets the difference."""
        self.compare(self.run(self.sink().reconcile()))
        self.put(("j", 1, 1))
        self.compare(self.run())

    # the trials, in the order in which they run

    def late_addition(self) -> None:
        """Rows of the view come first, also if no row arrives."""
        self.put(("a", 1, 1), ("b", 2, 1))
        self.run(None)
        self.compare(self.run())
        self.put(("b", 2, -1), ("c", 3, 1))
        self.compare(self.run())

    def crash(self) -> None:
        self.put(("a", 10, 1), ("c", 3, -1))
        version = self._stop()
        self.compare(self.run())
        assert self.run().view("view").version == version

    def _stop(self) -> int:
        """The next version, which the sink takes and which is not committed."""
        self.stop_at = 1 + self.run_to_see_version()
        with pytest.raises(Stop):
            self.run()
        version, self.stop_at = self.stop_at, None
        return version

    def run_to_see_version(self) -> int:
        return max(int(path.stem) for path in (self.folder / self.checkpoint / "commits").iterdir())

    def corrected_function(self) -> None:
        """The sink has rows of the wrong function, of which none may stay: changed, added and removed ones."""
        self.put(("a", 10, -1))
        self.put_for_function(("a", 1), ("d", 4), ("e", 5))
        FACTOR[0] = 7
        self._stop()
        FACTOR[0] = 1
        self.compare(self.run())
        self.put(("d", 4, -1), ("f", 6, 1))
        self.compare(self.run())

    def restored_checkpoint(self, message: str = "is ahead of the checkpoint") -> None:
        where, copy = self.folder / self.checkpoint, self.folder / "copy"
        shutil.copytree(where, copy)
        for row in (("a", 100, 1), ("g", 1, 1), ("g", 2, 1)):
            self.put(row)
            self.compare(self.run())
        shutil.rmtree(where)
        copy.rename(where)
        self.put(("h", 1, 1))
        for _ in range(2):
            with pytest.raises(flo.CheckpointError, match=message) as caught:
                self.run()
            assert ".reconcile()" in str(caught.value)
        self.reconcile()

    def dropped(self) -> None:
        self.drop()
        self.put(("i", 1, 1))
        for _ in range(2):
            with pytest.raises(flo.CheckpointError, match="holds nothing, but the checkpoint has given it changes"):
                self.run()
        self.reconcile()
        self.anew("after a drop")

    def changed_program(self) -> None:
        self.is_changed, self.beside = True, lambda: None  # a function could not be corrected
        self.compare(self.run(changed="fill"))
        self.put(("a", 1, 1), ("k", 100, 1), ("l", 3, 1))
        self.compare(self.run())

    def all(self) -> None:
        self.late_addition()
        self.crash()
        self.corrected_function()
        self.restored_checkpoint()
        self.dropped()
        self.changed_program()
