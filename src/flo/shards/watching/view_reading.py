"""Reading the views of a query for its page: their first rows, the rows that contain a text, and the rows of an SQL
query on them.

    search   "lond"                                                rows in which a column contains it, in any case
    query    SELECT city, sum(revenue) FROM revenue GROUP BY 1     read-only, on the views alone

The diverted rows of the input `orders` are the view `orders diverted`. An SQL query runs in DuckDB, in memory: it has
no access to files, to the network or to the variables of this process, and it ends after a number of seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flo.core.errors import FloError
from flo.pictures.notebook import cell_text
from flo.pictures.svg import PageData
from flo.shards.micro_batches import MicroBatches
from flo.shards.sinks.output_changes import DIVERTED
from flo.shards.tasks.output_files import VIEW, read_diverted
from flo.shards.views import View

FOUND_ROWS = 200
"""The most rows that a search or a query shows."""
MOST_SECONDS = 10.0
"""The longest that a query may take."""
MEMORY = "1GB"
"""The most memory of a query."""


class PageViews:
    """The views of a query, as its page reads them."""

    def __init__(self, batches: MicroBatches, diverting: Sequence[str] = ()) -> None:
        """`diverting` are the inputs whose diverted rows no sink takes."""
        self._batches = batches
        self.names = [each.name for each in batches.outputs if each.how == VIEW]
        self._diverted = {f"{name}{DIVERTED}": name for name in diverting}
        self.names += self._diverted

    def read(self, name: str, count: int | None = None) -> tuple[int, pa.Table]:
        """A version and the rows of a view: the first ones, or all. Raises if nothing is committed yet."""
        version = View.newest(self._batches.folder)
        if name in self._diverted:
            rows = read_diverted(self._batches.folder, self._diverted[name], version)
            return version, rows if count is None else rows.slice(0, count)
        view = View.of(self._batches.folder, name, None, self._batches)
        return view.version, view.arrow() if count is None else view.first_rows(count)

    def search(self, name: str, text: str) -> PageData:
        """The rows of a view that contain a text."""
        version, rows = self.read(name)
        matching = rows.filter(contains(rows, text)) if text else rows
        cells = (row.values() for row in matching.slice(0, FOUND_ROWS).to_pylist())
        return {"version": version, **found_rows(matching.column_names, cells, matching.num_rows)}

    def query(self, text: str) -> PageData:
        """The rows of an SQL query on the views."""
        columns, rows = run_sql(text, self.names, lambda name: self.read(name)[1])
        return found_rows(columns, rows[:FOUND_ROWS], len(rows))


def found_rows(columns: list[str], rows: Iterable[Iterable[object]], count: int) -> PageData:
    """Rows as data of a page, and how many there are."""
    cells = [[cell_text(value) for value in row] for row in rows]
    return {"columns": columns, "rows": cells, "count": count, "limit": FOUND_ROWS}


def contains(rows: pa.Table, text: str) -> pa.ChunkedArray:
    """Which rows have a column that contains a text, in any case."""
    matches = pa.chunked_array([pa.array([False] * rows.num_rows, pa.bool_())])
    for column in rows.columns:
        try:
            words = column.cast(pa.string())
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists, structs and bytes
            words = pa.chunked_array([pa.array(map(cell_text, column.to_pylist()), pa.string())])
        matches = pc.or_(matches, pc.fill_null(pc.match_substring(words, text, ignore_case=True), False))
    return matches


def run_sql(
    text: str, names: Sequence[str], read: Callable[[str], pa.Table], seconds: float = MOST_SECONDS
) -> tuple[list[str], list[tuple[object, ...]]]:
    """The columns and rows of one SELECT on these views; at most one row more than a page shows. Only the views that it
    names are read."""
    try:
        import duckdb
    except ImportError:
        raise FloError(
            "SQL on views needs DuckDB, which is not installed",
            instead=(('pip install "flo-streams[duckdb]"', "then start the query again"),),
        ) from None
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            "SET enable_external_access = false; SET python_enable_replacements = false; "
            f"SET memory_limit = '{MEMORY}'; SET threads = 1; SET lock_configuration = true"
        )
        timer = threading.Timer(seconds, connection.interrupt)
        timer.daemon = True
        try:
            statements = connection.extract_statements(text)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise FloError(f"a query on views is one SELECT; got {_statement_kinds(statements)}")
            known = {name.casefold(): name for name in names}
            for asked in sorted(connection.get_table_names(text, qualified=False)):
                if asked.casefold() in known:
                    name = known[asked.casefold()]
                    connection.register(name, read(name))
            timer.start()
            rows = connection.execute(statements[0]).fetchmany(FOUND_ROWS + 1)
            return [column[0] for column in connection.description or ()], rows
        except duckdb.InterruptException:
            raise FloError(f"the query was stopped after {seconds:g} seconds") from None
        except duckdb.CatalogException as error:
            views = ", ".join(f'"{name}"' for name in names)
            raise FloError(_first_line(error), facts=(("views", views),)) from None
        except duckdb.Error as error:
            raise FloError(_first_line(error)) from None
        finally:
            timer.cancel()


def _statement_kinds(statements: Sequence[Any]) -> str:
    return ", ".join(each.type.name for each in statements) or "nothing"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].strip()
