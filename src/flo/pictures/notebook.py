"""What notebooks display: small tables in HTML, of flows, streams, results, reports and errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from html import escape
from itertools import islice, zip_longest
from typing import Any

from flo.api.flow import Flow
from flo.api.running import Result
from flo.api.scope import AnyBase, StreamBase
from flo.core.errors import FloError, brief
from flo.core.type_names import row_columns
from flo.pictures.program import draw_flow
from flo.pictures.svg import MONO, SANS, own_file, palette
from flo.verify.exploration.explore import Exploration
from flo.verify.exploration.replay import Replay
from flo.verify.report import Counterexample, Report

MOST_ROWS = 20
MOST_OF_A_CELL = 120
STYLE = f"{palette('.flo-html')}\n{own_file('notebook.css')}".replace("var(--mono)", MONO).replace("var(--sans)", SANS)


def html_of(thing: object) -> str:
    """Return the HTML of anything that Flo gives to users."""
    match thing:
        case Flow():
            return draw_flow(thing)._repr_html_()
        case StreamBase():
            return html_block(_stream(thing))
        case Result():
            return html_block(*(_output(name, data, thing.fixed(name)) for name, data in thing.items()))
        case Exploration():
            line, _, _ = str(thing).partition("\n")
            return html_block(_verdict(line, thing.ok), _counterexample(thing.counterexample))
        case Report():
            laws = f"laws: {', '.join(law.name for law in thing.laws)}"
            facts = [_line(f"{thing.strength}"), _line(laws)]
            counterexample = _counterexample(thing.counterexample)
            return html_block(
                _verdict(f"{thing.subject} {thing.verdict}", thing.ok), *([counterexample] if counterexample else facts)
            )
        case Counterexample():
            return html_block(_counterexample(thing))
        case Replay():
            steps = html_table(("", "step"), enumerate(thing.events, start=1))
            return html_block(steps, *(_output(name, data, thing.fixed[name]) for name, data in thing.outputs.items()))
        case FloError():
            return html_block(_error(thing))
    return html_text(str(thing))


def html_block(*parts: str) -> str:
    """Return parts of HTML with the style that they share."""
    return f'<div class="flo-html"><style>{STYLE}</style>{"".join(parts)}</div>'


def html_text(text: str) -> str:
    """Return plain text as it is."""
    return html_block(f"<pre>{escape(text)}</pre>")


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", count: int = 0) -> str:
    """Return a table; of many rows the first ones. `count` is how many there are, if `rows` has fewer."""
    given = list(islice(rows, MOST_ROWS + 1))
    first = given[:MOST_ROWS]
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in first)
    if count > len(first) or len(given) > len(first):
        more = f"{count - len(first):,} more" if count else "more"
        body += f'<tr><td class="muted" colspan="{len(columns)}">… {more}</td></tr>'
    head = "".join(f"<th>{escape(str(column))}</th>" for column in columns)
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{named}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell_text(value: object) -> str:
    """Return a value as the text of a cell."""
    if not isinstance(value, (str, Decimal, date, time, timedelta)):
        return brief(value, 10 * MOST_OF_A_CELL)
    text = str(value)
    return text if len(text) <= 10 * MOST_OF_A_CELL else f"{text[: 10 * MOST_OF_A_CELL - 1]}…"


def _cell(value: object) -> str:
    text = cell_text(value)
    if len(text) <= MOST_OF_A_CELL:
        return escape(text)
    return f'<span title="{escape(text)}">{escape(text[: MOST_OF_A_CELL - 1])}…</span>'


def _line(text: str) -> str:
    return f'<div class="muted">{escape(text)}</div>'


def _verdict(text: str, good: bool) -> str:
    return f'<div class="{"good" if good else "bad"}">{escape(text)}</div>'


def _stream(stream: AnyBase) -> str:
    name = stream.name if stream.assigned else f"the result of {stream.name}"
    where = f" ({stream.origin})" if stream.origin else ""
    known = stream.known_type
    columns = row_columns(getattr(known.collection, "row", None) or getattr(known.collection, "element", None))
    if not columns:
        return html_table(("stream", "type"), [(f"{name}{where}", known.in_full())])
    return html_table(("column", "type"), columns, f"{name}: {known.described()}{where}", len(columns))


def _output(name: str, data: Any, ended: bool) -> str:
    """Return an output as a table: rows with a column for each field, weights beside the elements."""
    caption = f"{name}, ended" if ended else name
    if hasattr(data, "column_names"):  # an Arrow table
        rows = (list(row.values()) for row in data.slice(0, MOST_ROWS).to_pylist())
        return html_table(data.column_names, rows, caption, data.num_rows)
    if isinstance(data, Mapping):
        return html_table(("element", "weight"), data.items(), caption, len(data))
    if not isinstance(data, (list, tuple, set, frozenset)) or hasattr(data, "_fields"):
        return html_table(("value",), [(data,)], caption)
    first = next(iter(data), None)
    columns = getattr(first, "_fields", None)
    if columns is None and is_dataclass(first):
        columns = tuple(field.name for field in fields(first))
    if columns is None:
        return html_table(("value",), ((item,) for item in data), caption, len(data))
    return html_table(
        columns, ([getattr(item, column, None) for column in columns] for item in data), caption, len(data)
    )


def _counterexample(broken: Counterexample | None) -> str:
    if broken is None:
        return ""
    law = broken.law
    rows: list[tuple[str, ...]] = [
        (str(number), *row) for number, row in enumerate(zip_longest(*broken.columns, fillvalue=""), start=1)
    ]
    titles = ("", "one run", "the other") if len(broken.columns) == 2 else ("", *[""] * len(broken.columns))
    table = html_table(titles, [*rows, ("=", *broken.outcomes)])
    name = f"<b>{escape(law.name)}</b> ({escape(law.paper)}): {escape(law.statement)}; broken {escape(broken.about)}"
    instead = f"<div>instead: {escape(broken.instead)}</div>" if broken.instead else ""
    again = f"<pre>{escape(broken.reproduce)}</pre>" if broken.reproduce else ""
    return f"<div>{name}</div>{table}{instead}{again}"


def _error(error: FloError) -> str:
    """Return an error: what failed, then the facts, then what to write instead."""
    summary, *lines = str(error).splitlines()
    kind = f"<b>{escape(type(error).__name__)}</b> "
    return f'<div class="bad">{kind}{escape(summary)}</div><pre>{escape(chr(10).join(lines))}</pre>'
