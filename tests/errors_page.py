"""docs/errors.md: every class of errors with its cause and its fix, and every message, read from the code.

`make errors` writes it. A class says in its docstring what has happened, and after "Fix:" what to do.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.parsed_modules import parsed_modules

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "errors.md"
GOLDEN = [ROOT / "tests" / "golden", ROOT / "tests" / "tables" / "golden", ROOT / "tests" / "sql" / "golden"]

INTRODUCTION = """\
# Errors

`make errors` writes this page from the code. Every error of a program is a `flo.FloError`. It says what failed, your
line, what was expected and what it got, and under `instead` what to write. Almost all are raised when the program is
built or started; those about data are raised when the data arrives.

An error that ends a script or a notebook cell is printed with the lines of your program only. Set `FLO_TRACEBACK=full`
in the environment to see the frames of Flo, too.

Search for the fixed words of a message. `…` stands for what depends on your program: names, types and values.
"""


@dataclass
class Kind:
    """A class of errors: its bases, its docstring, and the messages that it is raised with."""

    name: str
    bases: tuple[str, ...]
    cause: str
    fix: str
    messages: dict[str, str] = field(default_factory=dict)
    """What to write instead, by message."""


@cache
def kinds() -> dict[str, Kind]:
    """All classes that are derived from FloError, with those after their bases; by name."""
    classes, calls = {}, []
    for tree in parsed_modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name] = node
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                calls.append((node.func.id, node))
    found = {"FloError": kind_of(classes["FloError"])}
    while more := [
        node
        for name, node in classes.items()
        if name not in found and any(isinstance(base, ast.Name) and base.id in found for base in node.bases)
    ]:
        found |= {node.name: kind_of(node) for node in more}
    for name, call in calls:
        if name in found:
            for message in summaries(call.args[:1]):
                found[name].messages.setdefault(message, advice(call))
    return found


def kind_of(node: ast.ClassDef) -> Kind:
    cause, _, fix = " ".join((ast.get_docstring(node) or "").split()).partition(" Fix: ")
    bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
    return Kind(node.name, bases, cause, fix)


def summaries(arguments: list[ast.expr]) -> Iterator[str]:
    """The texts that an argument may be, with … for what is filled in. What is computed elsewhere gives none."""
    for argument in arguments:
        if isinstance(argument, ast.IfExp):
            yield from summaries([argument.body, argument.orelse])
        elif isinstance(argument, ast.JoinedStr) or (
            isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        ):
            yield template(argument)


def template(node: ast.expr) -> str:
    match node:
        case ast.Constant(str(text)):
            return text.replace("{input}", "…")
        case ast.JoinedStr(parts):
            return "".join(template(part) if isinstance(part, ast.Constant) else "…" for part in parts)
    return "…"


def advice(call: ast.Call) -> str:
    """What the error says to write instead, if that is written down where it is raised."""
    given = next((each.value for each in call.keywords if each.arg == "instead"), None)
    pairs = [pair.elts for pair in given.elts if isinstance(pair, ast.Tuple)] if isinstance(given, ast.Tuple) else []
    texts = [tuple(template(each) for each in pair) for pair in pairs if len(pair) == 2]
    return "; ".join(f"{as_code(code)} {why}".strip() for code, why in texts if code != "…")


def as_code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def examples() -> dict[str, str]:
    """One whole text for each class: the shortest of the golden files that says what to write instead."""
    texts = defaultdict(list)
    for folder in GOLDEN:
        for file in sorted(folder.glob("*.txt")):
            text = file.read_text(encoding="utf-8")
            name, colon, _ = text.partition(":")
            if colon and name.isidentifier():
                texts[name].append(text)
    return {name: min(each, key=lambda text: ("instead" not in text, len(text))) for name, each in texts.items()}


def page() -> str:
    found, shown, lines = kinds(), examples(), [INTRODUCTION]
    lines += ["| error | cause |", "|---|---|"]
    lines += [f"| [`{kind.name}`](#{kind.name.lower()}) | {cell(kind.cause)} |" for kind in found.values()]
    for kind in found.values():
        lines += ["", f"## {kind.name}", "", kind.cause]
        if kind.name != "FloError":
            lines[-1] += f" It is a `{next(base for base in kind.bases if base in found)}`."
        lines += ["", f"**Fix.** {kind.fix}"]
        if kind.name in shown:
            lines += ["", "```text", shown[kind.name].rstrip("\n"), "```"]
        if kind.messages:
            lines += ["", "| message | instead |", "|---|---|"]
            lines += [f"| {cell(message)} | {cell(fix)} |" for message, fix in sorted(kind.messages.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
