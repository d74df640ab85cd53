"""Texts in columns, that fit a terminal: cells that are too long go on in the next line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

WIDTH = 100
"""The characters of a line."""
NARROWEST, NARROW = 16, 30
"""A column is not made narrower than this, and the others not as long as the first is wider than that."""
BETWEEN = 3


def format_rows(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Return the lines of rows that have the same number of cells."""
    return [line for lines in lines_of_rows(rows, indent) for line in lines]


def lines_of_rows(rows: Sequence[Sequence[str]], indent: str) -> list[list[str]]:
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    widths = _fit(widths, WIDTH - len(indent) - BETWEEN * sum(each > 0 for each in widths[1:]))
    return [_lines_of_row(row, widths, indent) for row in rows]


def _lines_of_row(row: Sequence[str], widths: list[int], indent: str) -> list[str]:
    cells = [_wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = []
    for number in range(max(map(len, cells))):
        parts = [
            (cell[number] if number < len(cell) else "").ljust(width) for cell, width in zip(cells, widths, strict=True)
        ]
        lines.append(f"{indent}{(' ' * BETWEEN).join(part for part in parts if part)}".rstrip())
    return lines


def format_heading(text: str, where: str, indent: str) -> list[str]:
    """Return a text with the line of the program at the right margin."""
    first, *more = wrap_text(text, indent, f"{indent}      ", WIDTH - len(where) - 2)
    return [f"{first.ljust(WIDTH - len(where))}{where}".rstrip(), *more]


def wrap_text(text: str, indent: str, below: str = "", width: int = WIDTH) -> list[str]:
    """Return a text in lines that begin with the indent, and those after the first with the one below."""
    return wrap(text, width, initial_indent=indent, subsequent_indent=below or f"{indent}  ")


def wrap(text: str, width: int, initial_indent: str = "", subsequent_indent: str = "") -> list[str]:
    """Break a text at blanks; a word that is too long for a line after `(` or before `.name`, as in code."""
    lines = [initial_indent]
    is_new = True
    for part, glue in _parts(text, width - len(subsequent_indent)):
        if not is_new and len(lines[-1]) + len(glue) + len(part) > width:
            lines.append(subsequent_indent)
            is_new = True
        lines[-1] += part if is_new else f"{glue}{part}"
        is_new = False
    return [] if is_new else lines


def _parts(text: str, most: int) -> Iterator[tuple[str, str]]:
    """Yield the parts between which a text may be broken, each with what stands before it."""
    for word in text.split():
        glue = " "
        for piece in [word] if len(word) <= most else re.split(r"(?<=[(\[])|(?=\.[A-Za-z_])", word):
            for start in range(0, len(piece), max(most, 1)):
                yield piece[start : start + most], glue
                glue = ""


def _fit(widths: list[int], most: int) -> list[int]:
    """Make the first column narrower, and then the widest, until all fit."""
    widths = list(widths)
    widths[0] -= max(0, min(sum(widths) - most, widths[0] - NARROW))
    while sum(widths) > most and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _wrap(cell: str, width: int) -> list[str]:
    """Return the lines of a cell; those after the first begin further to the right."""
    margin = " " * (len(cell) - len(cell.lstrip()))
    return wrap(cell, max(width, 1), margin, f"{margin}  ") or [""]
