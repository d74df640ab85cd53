"""The page of a run without a browser: its history, its figures for Prometheus, and the server that it comes from."""

from __future__ import annotations

import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.pictures import run_history
from flo.pictures.run_history import AGAIN, FillFigures, History, HistoryEntry, format_metrics
from flo.pictures.run_page import run_page, view_data
from flo.pictures.serving import Answer, PageServer
from tests.pictures.test_pages import Checked

SAMPLE = re.compile(r'[a-z_]+\{[a-z]+="(\\.|[^"\\])*"(,[a-z]+="(\\.|[^"\\])*")*\} [0-9.e+-]+')


def entry(version: int, rows: int = 10, **more: Any) -> HistoryEntry:
    by_stage: Any = {1: rows, 2: 1}
    figures = HistoryEntry(
        version, 100.0 + version, 0.5, {"in": rows}, {"out": 2, "w.late": 1}, {"in": 0}, 7, by_stage, {1: 0.2}
    )
    return replace(figures, **more)


def page_data(count: int = 30, **more: Any) -> dict[str, Any]:
    """The data of a page, as a query on Spark gives it."""
    history = History()
    for version in range(count):
        history.add(entry(version, 10 + version % 7, stage_bytes={1: 1000 * version, 2: 10}, lag=0.6, waiting=0))
    operators = [["join(<b>a</b>, b)", "on tables", "keeps left", "here.py:1"]]
    plan = [
        {
            "level": 0,
            "title": "where the rows are",
            "operators": [],
            "sends": [["in", "shuffled by a", 1]],
            "outputs": [],
            "fixpoints": {},
        },
        {
            "level": 1,
            "title": "stage 1, 2 shards",
            "operators": operators,
            "sends": [["join", "by b", 2]],
            "outputs": [],
            "fixpoints": {"reach": "here.py:7"},
        },
        {
            "level": 2,
            "title": "stage 2, 2 shards",
            "operators": [],
            "sends": [],
            "outputs": ["out", "w.late"],
            "fixpoints": {},
        },
    ]
    views = [
        view_data("out", count - 1, ["name", "sum"], [["<i>Ada</i>", 3], ["Bob", 4]]),
        view_data("w.late", count - 1, ["text", "_weight"], [["long " * 60, 1]] * 30),
    ]
    known = {"name": "run", "plan": plan, "inputs": ["in"], "late": ["w.late"], "views": views, "graph": None}
    known |= {"settings": {}, "verbs": [], "shards": [], "clocks": [], "errors": []}
    now = {"state": "ended", "error": "", "started": 90.0, "now": 200.0, "fill": None}
    return {**known, **now, "history": history.to_data(), **more}


def test_a_history_is_thinned_out_and_loses_no_row() -> None:
    history = History(most=8)
    for version in range(100):
        history.add(entry(version, rows=version))
    assert len(history.entries) <= 8
    assert history.grain == 16
    assert [each.version for each in history.entries] == [15, 31, 47, 63, 79, 95, 99]
    total = history.total()
    assert total is not None
    assert total.taken == {"in": sum(range(100))}
    assert total.stage_rows == {1: sum(range(100)), 2: 100}
    assert (total.batches, total.version) == (100, 99)
    assert total.seconds == pytest.approx(50)


def test_a_page_gets_what_it_does_not_have() -> None:
    history = History(most=40)
    for version in range(40):
        history.add(entry(version))
    assert history.to_data()["from"] == 0
    new = history.to_data(grain=1, count=38)
    assert new["from"] == 38 - AGAIN
    assert [each["version"] for each in new["entries"]] == list(range(38 - AGAIN, 40))
    history.add(entry(40))
    assert history.to_data(grain=1, count=40)["from"] == 0, "entries were joined since"


def test_figures_that_come_later_belong_to_their_micro_batch() -> None:
    history = History(most=4)
    for version in range(5):
        history.add(entry(version))
    history.complete(1, lag=2.0)
    history.complete(4, stage_bytes={1: 5}, lag=1.0)
    history.complete(9, lag=9.0)
    assert [each.lag for each in history.entries] == [2.0, None, 1.0]
    total = history.total()
    assert total is not None
    assert (total.lag, total.stage_bytes) == (2.0, {1: 5})


def test_metrics_are_what_prometheus_reads() -> None:
    history = History()
    history.add(entry(2, 36, batches=3, lag=0.25, waiting=12, changes={"out": 1}))
    history.add(entry(3, 4, stage_bytes={1: 500, 2: 6}, changes={"out": 1, "w.late": 1}))
    text = format_metrics('a "flow"', "running", history, ["w.late"])
    lines = text.splitlines()
    assert all(SAMPLE.fullmatch(line) or line.startswith(("# HELP flo_", "# TYPE flo_")) for line in lines)
    for sample in (
        'flo_running{flow="a \\"flow\\""} 1',
        'flo_waiting_for_sink{flow="a \\"flow\\""} 0',
        'flo_micro_batches_total{flow="a \\"flow\\""} 4',
        'flo_rows_taken_total{flow="a \\"flow\\"",input="in"} 40',
        'flo_changes_total{flow="a \\"flow\\"",output="out"} 2',
        'flo_late_rows_total{flow="a \\"flow\\"",output="w.late"} 1',
        'flo_state_bytes{flow="a \\"flow\\"",stage="1"} 500',
        'flo_lag_seconds{flow="a \\"flow\\""} 0.25',
        'flo_waiting_rows{flow="a \\"flow\\""} 12',
    ):
        assert sample in lines
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    assert format_metrics("f", "ended", History(), []).count("\n") == 6


def test_a_saved_page_is_whole_and_its_text_stays_text() -> None:
    page = run_page(page_data(), live=False)
    checked = Checked(page)
    assert not checked.addresses
    assert "connect-src" not in page
    assert "default-src 'none'" in page
    assert "<b>a</b>" not in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


@pytest.fixture
def server() -> Iterator[PageServer]:
    def fail(asked: Any) -> str:
        raise ValueError("no data")

    answers = {
        "/": Answer("text/html", lambda asked: f"asked {dict(asked)}"),
        "/broken": Answer("text/plain", fail),
    }
    with PageServer("run", answers) as served:
        yield served


def status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=600) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_page_is_served_to_this_machine_only(server: PageServer) -> None:
    assert server._server.server_address[0] == "127.0.0.1"
    with urllib.request.urlopen(f"{server.url}?count=3", timeout=600) as answer:
        assert answer.read().decode() == "asked {'count': '3'}"
        assert answer.headers["Cache-Control"] == "no-store"
    assert status(f"{server.url}other") == 404
    assert status(f"{server.url}broken") == 500
    assert status(server.url, Host=f"evil.example:{server.port}") == 403, "a name that leads here from elsewhere"
    assert status(server.url, Host=f"localhost:{server.port}") == 200
    assert server.url in server._repr_html_()


def test_a_port_that_is_taken_or_impossible_is_rejected() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(flo.FloError, match="is not free"):
            PageServer("run", {}, taken.getsockname()[1])
    with pytest.raises(flo.FloError, match="`port` must be an integer from 0 to 65,535; got 99999"):
        PageServer("run", {}, 99_999)


def test_the_figures_of_a_fill() -> None:
    fill = FillFigures(rows=300, total=1200, began=100, started=time.monotonic() - 10)
    assert fill.rows_left == 900
    assert fill.seconds_left == pytest.approx(45, rel=0.1), "200 rows took 10 seconds"
    lines = format_metrics("run", "ended", History(), [], fill).splitlines()
    samples = dict(line.split(" ") for line in lines if not line.startswith("#"))
    assert samples['flo_filling{flow="run"}'] == "1"
    assert (samples['flo_fill_rows{flow="run"}'], samples['flo_fill_rows_left{flow="run"}']) == ("300", "900")
    assert float(samples['flo_fill_seconds_left{flow="run"}']) > 40
    fill.rows, fill.ended = 1190, fill.started + 50
    lines = format_metrics("run", "running", History(), [], fill).splitlines()
    samples = dict(line.split(" ") for line in lines if not line.startswith("#"))
    assert samples['flo_filling{flow="run"}'] == samples['flo_fill_rows_left{flow="run"}'] == "0"
    assert samples['flo_fill_seconds{flow="run"}'] == "50.0"
    unknown = FillFigures(rows=3)
    assert unknown.rows_left is unknown.seconds_left is None
    assert "flo_fill_rows_left" not in format_metrics("run", "ended", History(), [], unknown)
    assert "flo_fill" not in format_metrics("run", "running", History(), [])


def test_the_pages_name_the_metrics_that_there_are() -> None:
    """All of them in the table, and no other in rules and dashboards."""
    docs = Path(__file__).parent.parent.parent / "docs"
    source = Path(run_history.__file__).read_text(encoding="utf-8")
    metrics = set(re.findall(r'"(flo_[a-z_]+)"', source))
    named = {
        page: set(re.findall(r"\bflo_[a-z_]+", (docs / page).read_text(encoding="utf-8")))
        for page in ("pictures.md", "platform.md")
    }
    assert named["pictures.md"] == metrics
    assert named["platform.md"] <= metrics
    assert {"flo_running", "flo_lag_seconds"} <= named["platform.md"]
