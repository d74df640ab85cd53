"""SVG and HTML as text: escaping, the width of text, colours for light and dark, the picture that users get, and the
data of a page."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from flo.core import errors

MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
ADVANCE = 0.62
"""The width of a character of a monospaced font, in units of its size: the widest of those above, and a little more."""

COLOURS = {
    "paper": ("#ffffff", "#14171c"),
    "panel": ("#f7f8fa", "#1b2027"),
    "ink": ("#1b1f24", "#e8ebf0"),
    "muted": ("#5b6470", "#9aa5b4"),
    "line": ("#c9cfd8", "#38414d"),
    "edge": ("#8a94a3", "#748093"),
    "accent": ("#2f5bd8", "#86a8ff"),
    "accent-soft": ("#e9effd", "#1f2b47"),
    "good": ("#0f7452", "#54cf9f"),
    "good-soft": ("#e2f5ee", "#163329"),
    "bad": ("#c62a39", "#ff7f8a"),
    "bad-soft": ("#fdeaec", "#40202a"),
    "warm": ("#a35a00", "#f0b35c"),
    "warm-soft": ("#fdf1dd", "#382b17"),
}
"""Colours by name: where it is light, and where it is dark."""


def palette(selector: str) -> str:
    """Return the rules of CSS that give an element the colours as variables: `var(--ink)`."""

    def rule(place: int) -> str:
        return f"{selector}{{{';'.join(f'--{name}:{pair[place]}' for name, pair in COLOURS.items())}}}"

    return f"{rule(0)}@media (prefers-color-scheme:dark){{{rule(1)}}}"


def own_file(name: str) -> str:
    """Return a file of this package: a style, a script or a text."""
    return files("flo.pictures").joinpath(name).read_text(encoding="utf-8")


def text_width(text: str, size: float) -> float:
    """Return the width of a text in a monospaced font, rather too much than too little."""
    cells = sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)
    return cells * size * ADVANCE


def shorten(text: str, most: int) -> str:
    """Return the text in one line of at most `most` characters."""
    return errors.shorten(" ".join(text.split()), most)


def tag(name: str, content: str = "", /, **attributes: object) -> str:
    """Return an element. Attributes are escaped, the content is not. An underscore stands for a hyphen."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def _number(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """An SVG. Notebooks display it, `str` returns it, `save` writes it to a file."""

    svg: str

    def __str__(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="overflow:auto;max-width:100%">{self.svg}</div>'

    def save(self, path: str | PathLike[str]) -> None:
        """Write the SVG to a file, which any browser opens."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.svg):,} characters of SVG>"


PageData: TypeAlias = dict[str, Any]
"""Whatever JSON can hold, by name."""


def data_script(data: PageData) -> str:
    """Return the data of a page, as JSON that cannot end its script element."""
    text = to_json(data).replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{text}</script>'


def to_json(data: PageData) -> str:
    """Return data as short JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
