"""The page of a run: its program and plan with figures, where its time went, charts, clocks, shards, views and
settings. Live, or saved as one file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from flo.pictures.notebook import MOST_ROWS, cell_text
from flo.pictures.pages import own_script, page_text
from flo.pictures.svg import PageData, data_script

LIVE = "live"
"""The field of the data that tells the script to ask for more."""
PARTS = ("phases", "graph", "views", "details")
"""The parts of the page that have a script of their own."""


def run_page(data: PageData, *, live: bool) -> str:
    """Return the page of a run, with its data inside. A live one asks its own server for more."""
    graph, figures = data["graph"], {**data, "graph": bool(data["graph"]), LIVE: live}
    content = f"""
<header><h1 id="name"></h1><span class="badge" id="state"></span><div class="facts" id="facts"></div></header>
<p class="note law" id="error" hidden></p>
<section class="tiles" id="tiles" aria-label="figures"></section>
<section id="of-graph"><h2>program <small class="hint" id="graph-note"></small></h2>
<div class="choice" id="spans" role="group" aria-label="which micro-batches the program shows"></div>
<div class="panel graph" id="graph" tabindex="0" role="region" aria-label="the program">{graph or ""}</div></section>
<section><h2>where the time went</h2><div id="phases"></div></section>
<section><h2 id="of-plan">plan</h2><div class="panel stages" id="plan"></div></section>
<section><h2><span id="of-charts">micro-batches</span> <small class="hint" id="at"></small></h2>
<div class="charts" id="charts"></div></section>
<section id="of-clocks"><h2>clocks and watermarks</h2><div class="cards" id="clocks"></div></section>
<section id="of-shards"><h2>rows per shard</h2><div class="cards" id="shards"></div></section>
<section id="of-views"><h2>views</h2><div id="views"></div></section>
<section id="of-sql" hidden><h2>SQL on views</h2><div class="panel" id="sql"></div></section>
<section id="of-errors"><h2>errors and diverted rows</h2><div id="errors"></div></section>
<section id="of-settings"><h2>configuration</h2><dl class="panel settings" id="settings"></dl></section>"""
    script = own_script("dom.js", "charts.js", *(f"run_{part}.js" for part in PARTS), "run.js")
    content += data_script(figures) + script
    return page_text(f"{data['name']}: {data['state']}", content, styles=("page.css", "run.css"), asks_own_server=live)


def save_run(data: PageData, path: str | PathLike[str]) -> None:
    """Write the page of a run as one file that needs nothing else."""
    Path(path).write_text(run_page(data, live=False), encoding="utf-8")


def view_data(name: str, version: int, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> PageData:
    """Return the first rows of a view as data of a page."""
    cells = [[cell_text(value) for value in row] for row in rows]
    return {
        "name": name,
        "version": version,
        "columns": list(columns),
        "rows": cells[:MOST_ROWS],
        "more": len(cells) > MOST_ROWS,
    }
