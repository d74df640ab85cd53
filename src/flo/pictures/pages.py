"""Pages: one file of HTML each, with its data, style and scripts inside. A page asks no other host for anything."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path

from flo.pictures.state_layout import MOST_DOTS, arrange, count_ways
from flo.pictures.states import MOST_STATES, StateGraph
from flo.pictures.svg import MONO, SANS, PageData, data_script, own_file, palette
from flo.verify.exploration.arrivals import Scenario
from flo.verify.exploration.explore import Exploration
from flo.verify.exploration.source import format_values
from flo.verify.report import Counterexample, Report

LARGEST_NUMBER = 2**53
"""Larger integers are not exact in JavaScript."""


def save_exploration(exploration: Exploration, path: str | PathLike[str]) -> None:
    """Write the states of an exploration, and its traces step by step."""
    assert exploration.scenario is not None
    summary, _, _ = str(exploration).partition("\n")
    states = exploration.states if exploration.complete else MOST_STATES
    count = "one outcome" if exploration.ok else f"{len(exploration.outcomes)} outcomes"
    head = _head(exploration.scenario.name, count, not exploration.ok, summary)
    outcomes = [format_values(each) for each in exploration.outcomes]
    content = _runs(
        exploration.scenario, exploration.traces, outcomes, not exploration.ok, states, exploration.counterexample
    )
    _write(path, f"{exploration.scenario.name}: {count}", head + content)


def save_report(report: Report, path: str | PathLike[str]) -> None:
    """Write the verdict of a check. If runs break a law, they are shown step by step."""
    plain = report.subject.replace("`", "")
    broken = report.counterexample
    bad = broken is not None
    laws = f"laws: {', '.join(law.name for law in report.laws)}"
    head = _head(plain, report.verdict, not report.ok, f"{report.strength}; {laws}")
    content = f'<pre class="panel" style="padding:14px">{escape(str(report))}</pre>'
    if broken is not None and broken.scenario is not None:
        content = _runs(broken.scenario, broken.traces, list(broken.outcomes), bad, MOST_STATES, broken)
    _write(path, f"{plain}: {report.verdict}", head + content)


def save_stepper(scenario: Scenario, path: str | PathLike[str], most: int = MOST_STATES) -> StateGraph:
    """Write a page that runs a program one small step at a time, as the reader chooses; return its states."""
    graph = StateGraph(scenario)
    graph.search(most)
    states = f"{len(graph.states):,} states, {len(graph.edges):,} steps between them"
    whole = "every schedule and every cut of the data" if not graph.open else "the nearest ones only"
    head = _head(scenario.name, "", False, f"{states}: {whole}") + _cut_note(graph)
    stepper = """
<div class="controls"><button id="start" aria-label="to the start">«</button><button id="back">← back</button>
<button id="forth">forward →</button><button id="end" aria-label="to the end">»</button><output id="count"></output>
<span class="hint long"><kbd>←</kbd> <kbd>→</kbd> back and forward, <kbd>1</kbd> to <kbd>9</kbd> choose</span></div>
<main class="stepper"><section><h2 id="enabled"></h2><ul class="choices" id="choices"></ul>
<h2>steps taken</h2><ol class="steps" id="way"></ol></section><section id="step"></section></main>"""
    content = _graph(graph, False, 1) + stepper + _program(scenario)
    content += _data(graph, (), bad=False) + _scripts("stepper.js")
    _write(path, f"{scenario.name}, step by step", head + content)
    return graph


def _head(title: str, badge: str, bad: bool, facts: str) -> str:
    verdict = f'<span class="badge{" bad" * bad}">{escape(badge)}</span>' if badge else ""
    return f'<header><h1>{escape(title)}</h1>{verdict}<div class="facts">{escape(facts)}</div></header>'


def _runs(
    scenario: Scenario,
    traces: tuple[str, ...],
    outcomes: list[str],
    bad: bool,
    most: int,
    broken: Counterexample | None,
) -> str:
    graph = StateGraph(scenario)
    graph.search(most)
    runs = [graph.follow(trace) for trace in traces]
    columns = "".join(
        f'<section class="run {"ab"[number]}{" bad" * bad}"><div class="ends mono"><small>ends with</small>'
        f'{escape(outcome)}</div><ol class="steps" id="steps{number}"></ol><div id="step{number}"></div></section>'
        for number, outcome in enumerate(outcomes[: len(runs)])
    )
    controls = """
<div class="controls"><button id="first" aria-label="first step">«</button>
<button id="previous" aria-label="previous step">←</button>
<input type="range" id="slider" min="0" value="0" aria-label="step"><button id="next" aria-label="next step">→</button>
<button id="last" aria-label="last step">»</button><output id="count"></output></div>"""
    return "".join(
        [
            _law_note(broken) if broken is not None else "",
            _cut_note(graph),
            _graph(graph, bad, len(runs)),
            '<div id="inspected"></div>',
            controls,
            f'<main class="columns{" one" * (len(runs) == 1)}">{columns}</main>',
            _program(scenario),
            _data(graph, runs, bad=bad),
            _scripts("runs.js"),
        ]
    )


def _program(scenario: Scenario) -> str:
    """Return the picture of the program, if it is a flow."""
    if scenario.draw is None:
        return ""
    svg = str(scenario.draw()).replace(' xmlns="http://www.w3.org/2000/svg"', "")  # it is inside a page
    return f'<section class="program"><h2>the program</h2><div class="panel">{svg}</div></section>'


def _law_note(broken: Counterexample) -> str:
    law = broken.law
    advice = f"<br>Instead: {escape(broken.instead)}" if broken.instead else ""
    again = f"<br>Again: <code>{escape(broken.reproduce)}</code>" if broken.reproduce else ""
    about = f"{escape(law.statement)}; broken {escape(broken.about)}"
    return f'<p class="note law"><b>{escape(law.name)}</b> ({escape(law.paper)}): {about}.{advice}{again}</p>'


def _cut_note(graph: StateGraph) -> str:
    return f'<p class="note">{escape(_cut(graph))}</p>' if graph.open else ""


def _cut(graph: StateGraph) -> str:
    if not graph.open:
        return ""
    return (
        f"The page was cut at {len(graph.states):,} states: the next steps of {len(graph.open):,} of them, "
        "which are dashed, are not on it."
    )


def _graph(graph: StateGraph, bad: bool, runs: int) -> str:
    outcomes = len(graph.outcomes())
    ends = "one final state" if outcomes == 1 else f"{outcomes} final states"
    kinds = [("", "a state"), *([("bad" if bad else "good", ends)] if outcomes else [])]
    kinds += [("a", "this run")] if runs == 1 else [("a", "one run"), ("b", "the other")]
    kinds += [("open", "cut here")] if graph.open else []
    kinds += [("fold", "several states")] if len(graph.states) > MOST_DOTS else []
    legend = "".join(f'<span><i class="dot {kind}"></i>{text}</span>' for kind, text in kinds)
    label = escape(f"the graph of {len(graph.states):,} states with {ends}")
    tools = "".join(
        f'<button id="{name}" aria-label="{about}">{sign}</button>'
        for name, about, sign in (("closer", "zoom in", "+"), ("farther", "zoom out", "−"), ("whole", "whole", "whole"))
    )
    hint = "point to a state, click to go there, drag to move"
    return f"""
<div class="panel"><div class="bar"><span id="about" data-hint="{hint}">{hint}</span>
<div class="tools">{tools}</div></div>
<canvas id="graph" tabindex="0" role="img" aria-label="{label}"></canvas><div class="legend">{legend}</div></div>"""


def _data(graph: StateGraph, runs: list[list[int]] | tuple[()], *, bad: bool) -> str:
    data: PageData = graph.to_data()
    pairs = [(one, other) for one, other, _ in graph.edges]
    kept = [state for run in runs for edge in run for state in pairs[edge]]
    ways = count_ways(len(graph.states), pairs)
    data["dots"] = arrange(len(graph.states), pairs, [0, *kept, *data["outcomes"]]).to_data()
    data["ways"] = [each if each < LARGEST_NUMBER else f"{each:.1e}" for each in ways]
    data |= {"runs": runs, "bad": bad, "cut": _cut(graph)}
    return data_script(data)


def own_script(*names: str) -> str:
    """Return scripts of this package, as one."""
    return f"<script>{''.join(own_file(name) for name in names)}</script>"


def _scripts(last: str) -> str:
    return own_script("dom.js", "view.js", "graph.js", last)


def _write(path: str | PathLike[str], title: str, content: str) -> None:
    Path(path).write_text(page_text(title, content), encoding="utf-8")


def page_text(
    title: str, content: str, *, styles: tuple[str, ...] = ("page.css",), asks_own_server: bool = False
) -> str:
    """Return a whole page, which may ask nobody for anything, or only the server that it comes from."""
    own = "".join(map(own_file, styles))
    style = f":root{{--mono:{MONO};--sans:{SANS}}}{palette(':root')}{own}"
    allowed = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    allowed += "; connect-src 'self'; img-src data:" if asks_own_server else ""
    icon = '<link rel="icon" href="data:,">' if asks_own_server else ""  # a browser asks a server for one
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{allowed}">{icon}<title>{escape(title)}</title>
<style>{style}</style></head><body><div class="wrap">{content}</div></body></html>
"""
