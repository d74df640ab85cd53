"""The figures of a run in the text format of Prometheus, which reads it from the address `/metrics` of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flo.pictures.run_history import History

Sample = tuple[Mapping[str, object], float]
Samples = Sequence[Sample]


def format_metrics(flow: str, running: bool, history: History, late: Sequence[str]) -> str:
    """Return the metrics of a flow: of all its micro-batches since it was started, and of the last one."""
    return "".join(_metrics({"flow": flow}, running, history, late))


def _metrics(flow: Mapping[str, object], running: bool, history: History, late: Sequence[str]) -> Iterator[str]:
    def gauge(name: str, about: str, samples: Samples) -> str:
        return _family(name, "gauge", about, flow, samples)

    def counter(name: str, about: str, samples: Samples) -> str:
        return _family(name, "counter", about, flow, samples)

    yield gauge("flo_running", "whether the query runs", [({}, int(running))])
    total = history.total()
    if total is None:
        return
    last = history.entries[-1]
    lag = next((each for each in reversed(history.entries) if each.lag is not None), last)
    yield gauge("flo_version", "the newest committed version", [({}, last.version)])
    yield counter("flo_micro_batches_total", "micro-batches committed since the start", [({}, total.batches)])
    yield counter("flo_seconds_total", "seconds that micro-batches took", [({}, total.seconds)])
    yield counter("flo_rows_taken_total", "rows read from an input", _by("input", total.taken))
    on_time = {name: count for name, count in total.changes.items() if name not in late}
    yield counter("flo_changes_total", "rows of changes of an output", _by("output", on_time))
    yield counter(
        "flo_late_rows_total", "late rows", _by("output", {name: total.changes.get(name, 0) for name in late})
    )
    yield counter("flo_diverted_rows_total", "rows that an input has diverted", _by("input", total.diverted))
    yield counter("flo_state_written_bytes_total", "bytes of state written", [({}, total.written)])
    yield counter("flo_stage_rows_total", "rows that a stage has received", _by("stage", total.stage_rows))
    yield counter(
        "flo_stage_seconds_total", "seconds of the slowest tasks of a stage", _by("stage", total.stage_seconds)
    )
    yield gauge("flo_state_bytes", "bytes of state of a stage", _by("stage", total.stage_bytes))
    mean = last.seconds / last.batches
    yield gauge("flo_micro_batch_seconds", "seconds that the last micro-batch took", [({}, mean)])
    if lag.lag is not None:
        yield gauge("flo_lag_seconds", "seconds from asking the sources for rows to the commit", [({}, lag.lag)])
    if lag.waiting is not None:
        yield gauge("flo_waiting_rows", "rows that the sources have and that were not read", [({}, lag.waiting)])


def _by(label: str, figures: Mapping[str, float] | Mapping[int, float]) -> Samples:
    return [({label: name}, value) for name, value in figures.items()]


def _family(name: str, kind: str, about: str, flow: Mapping[str, object], samples: Samples) -> str:
    """Return a metric with its samples; nothing if it has none."""
    if not samples:
        return ""
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        named = ",".join(f'{label}="{_escape(text)}"' for label, text in {**flow, **labels}.items())
        lines.append(f"{name}{{{named}}} {value}")
    return "\n".join(lines) + "\n"


def _escape(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
