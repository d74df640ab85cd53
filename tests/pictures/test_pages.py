"""Pages of state graphs: all states and steps are there, runs lead through them, and text stays text."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import flo
from flo.pictures.pages import save_stepper
from flo.pictures.rules import RULES, rule_html
from flo.pictures.state_layout import arrange, count_ways
from flo.pictures.states import StateGraph
from tests.paper_rules import SMALL_STEPS
from tests.seeded import SEEDED
from tests.seeded.base import Seeded
from tests.seeded.lvars import CurrentValue
from tests.seeded.operators import Endless, Hasty

EMPTY = {"meta", "input", "br"}


class Checked(HTMLParser):
    """Reads a page: its elements must be closed in order; collects its text, ids and addresses."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.scripts: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += [] if tag in EMPTY else [tag]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def read(path: Path) -> dict[str, Any]:
    """Return the data of a page, which must be well-formed and ask for nothing."""
    page = path.read_text(encoding="utf-8")
    checked = Checked(page)
    assert not checked.addresses
    assert len(set(checked.ids)) == len(checked.ids)
    assert "default-src 'none'" in page
    assert not re.search(r"https?://", page)
    data: dict[str, Any] = json.loads(checked.scripts[0])
    return data


def increment(x: int) -> int:
    return x + 1


def incremented() -> flo.Flow:
    flow = flo.Flow("one <b>step</b> & more")
    flow.output("out", flow.input("numbers", flo.Sequence[int]).map(increment))
    return flow


def race() -> flo.Flow:
    flow = flo.Flow("race")
    (seen,) = flow.input("largest", flo.LVar[flo.Max[int]]).apply(CurrentValue())
    flow.output("seen", seen)
    return flow


def test_a_page_has_every_state_and_one_final_one(tmp_path: Path) -> None:
    found = incremented().explore(numbers=[1, 2, 3])
    found.save(tmp_path / "page.html")
    data = read(tmp_path / "page.html")
    assert len(data["states"]) == found.states * len(data["slots"])
    (end,) = data["outcomes"]
    assert data["ways"][end] == found.schedules
    assert not data["open"]
    assert not data["bad"]
    (run,) = data["runs"]
    assert data["edges"][3 * run[0]] == 0
    assert data["edges"][3 * run[-1] + 1] == end
    assert "<b>step</b>" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_random_schedules_are_drawn_beside_the_states_near_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flo.pictures.pages.MOST_STATES", 8)
    found = incremented().explore(numbers=list(range(6)), most_states=20, seed=1)
    assert not found.complete
    found.save(tmp_path / "page.html")
    data = read(tmp_path / "page.html")
    assert data["cut"]
    (run,) = data["runs"]
    assert data["outcomes"] == [data["edges"][3 * run[-1] + 1]]
    assert len(run) == 12


def test_a_race_has_two_final_states_and_two_runs(tmp_path: Path) -> None:
    found = race().explore(largest=[1, 2])
    found.save(tmp_path / "page.html")
    data = read(tmp_path / "page.html")
    assert data["bad"]
    ends = [data["edges"][3 * run[-1] + 1] for run in data["runs"]]
    assert sorted(ends) == sorted(data["outcomes"])
    assert [len(run) for run in data["runs"]] == [len(trace.split()) for trace in found.traces]
    outputs = [data["contents"][-1][str(data["states"][(end + 1) * len(data["slots"]) - 1])]["plain"] for end in ends]
    assert sorted(outputs) == [["[1, 2]"], ["[2]"]]


@pytest.mark.parametrize("operator", [Hasty(), CurrentValue(), Endless()])
def test_the_report_of_a_broken_law_has_its_runs(operator: flo.Operator, tmp_path: Path) -> None:
    report = flo.verify.check(operator)
    assert report.counterexample is not None
    report.save(tmp_path / "page.html")
    data = read(tmp_path / "page.html")
    assert len(data["runs"]) == len(report.counterexample.columns)
    assert report.counterexample.law.name in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.every(test=8)
@pytest.mark.parametrize("seeded", SEEDED, ids=lambda seeded: seeded.name)
def test_every_broken_law_has_a_page(seeded: Seeded, tmp_path: Path) -> None:
    report = flo.verify.check(deepcopy(seeded.subject), *seeded.types, **seeded.arguments | {"tries": 5, "most": 2})
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(Checked(page).scripts) in (0, 2)
    Checked(report._repr_html_())


def test_reports_without_runs_are_saved_as_text(tmp_path: Path) -> None:
    for report in (flo.verify.check(increment, int), flo.verify.check(lambda a, b: a - b, int, int)):
        report.save(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        Checked(page)
        assert "data" not in Checked(page).ids


def test_a_stepper_says_where_it_was_cut(tmp_path: Path) -> None:
    scenario = incremented()._scenario({"numbers": [1, 2, 3]})
    whole = save_stepper(scenario, tmp_path / "whole.html")
    assert len(whole.states) == 10
    assert not read(tmp_path / "whole.html")["cut"]
    assert not save_stepper(scenario, tmp_path / "exact.html", 10).open
    part = save_stepper(scenario, tmp_path / "part.html", 5)
    data = read(tmp_path / "part.html")
    assert len(part.states) == 5
    assert data["open"]
    assert not data["outcomes"]
    assert "cut at 5 states" in data["cut"]
    assert data["cut"] in (tmp_path / "part.html").read_text(encoding="utf-8")


def test_steps_have_their_rules_and_names_with_the_elements_that_they_take() -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("bag", flo.Bag[int]).map(increment))
    found = StateGraph(flow._scenario({"bag": [1, 2]}))
    found.search(100)
    texts = {move["text"] for move in found.moves}
    assert {"bag ← {1: 1}", "map-bag(1)", "map-bag(2)"} <= texts
    assert all(move["path"][-1] == "map-bag" for move in found.moves if move["slot"] >= 0)
    data = found.to_data()
    assert all(data["rules"][rule] for rule in ("operator",))
    assert all("→" not in move["text"] for move in data["moves"])


def test_a_function_that_raises_ends_the_way(tmp_path: Path) -> None:
    flow = flo.Flow()
    flow.output("out", flow.input("numbers", flo.Sequence[int]).map(lambda x: 1 // x))
    found = save_stepper(flow._scenario({"numbers": [1, 0]}), tmp_path / "page.html")
    assert any("ZeroDivisionError" in reason for reason in found.broken.values())


def test_text_from_the_data_cannot_end_the_script(tmp_path: Path) -> None:
    flow = flo.Flow("</script><i>")
    flow.output("</title>", flow.input("texts", flo.Sequence[str]).map(str.upper))
    flow.explore(texts=["</script><script>alert(1)</script>", "<!--"]).save(tmp_path / "page.html")
    assert len(Checked((tmp_path / "page.html").read_text(encoding="utf-8")).scripts) == 2


def test_every_small_step_of_the_paper_has_its_rule() -> None:
    assert set(RULES) == {item.name for item in SMALL_STEPS}
    for name in RULES:
        html = rule_html(name)
        Checked(html)
        assert html.index('class="premises"') < html.index('class="conclusion"')
    assert rule_html("window-emit").count("<sub>") > 8
    assert "<i>I</i><sub>next</sub>" in rule_html("nest-run-step")
    assert "collect_defer" in rule_html("nest-run-step")
    assert rule_html("no-such-rule") == ""


def grid(side: int) -> tuple[int, list[tuple[int, int]]]:
    """The states of two independent sequences of steps."""
    edges = [(side * i + j, side * i + j + 1) for i in range(side) for j in range(side - 1)]
    return side * side, edges + [(side * i + j, side * (i + 1) + j) for i in range(side - 1) for j in range(side)]


def test_states_are_in_columns_by_their_number_of_moves() -> None:
    count, edges = grid(4)
    dots = arrange(count, edges, [])
    assert max(dots.columns) == 6
    assert dots.states == [[state] for state in sorted(range(16), key=lambda state: state // 4 + state % 4)]
    assert len(set(zip(dots.columns, dots.heights, strict=True))) == count
    assert count_ways(count, edges)[-1] == 20


def test_columns_are_folded_where_there_are_too_many_states() -> None:
    count, edges = grid(30)
    kept = [29, 870, 899]
    dots = arrange(count, edges, kept, most=300)
    assert len(dots.states) <= 300
    assert sorted(state for states in dots.states for state in states) == list(range(count))
    assert all([state] in dots.states for state in kept)
    assert all(0 <= end < len(dots.states) for link in dots.links for end in link)
    assert sum(dots.to_data()["folded"].values()) + sum(len(each) == 1 for each in dots.states) == count
