"""The page of a program: its picture, on which every verb can be expanded to its operators."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from os import PathLike
from pathlib import Path

from flo.pictures.pages import own_script, page_text


def save_program(
    path: str | PathLike[str], name: str, svg: str, expanded: Sequence[tuple[tuple[float, float], str, str]]
) -> None:
    """Write the page. Each verb that can be expanded has a place, a text and the picture of its operators."""
    panels = "".join(
        f'<section class="operators" id="operators{number}" style="left:{left:.0f}px;top:{bottom + 4:.0f}px" hidden>'
        f"<h2>the operators of <code>{escape(text)}</code></h2>{_inside(picture)}</section>"
        for number, ((left, bottom), text, picture) in enumerate(expanded)
    )
    hint = "Click a verb, or select it with Tab and press Enter, to see its operators. Esc closes them."
    head = f'<header><h1>{escape(name)}</h1><div class="facts">{hint}</div></header>'
    content = f'{head}<main class="panel canvas"><div class="place">{_inside(svg)}{panels}</div></main>'
    content += own_script("program.js")
    Path(path).write_text(page_text(name, content, styles=("page.css", "program.css")), encoding="utf-8")


def _inside(svg: str) -> str:
    return svg.replace(' xmlns="http://www.w3.org/2000/svg"', "")
