"""The documentation is true: its code runs and prints what is shown, and its links lead somewhere.

    python -m tests.test_docs     writes the shown outputs anew, to be read before they are committed

The ```python blocks of a page are one script, in their order; its name is the page's. What a block prints is the
```text block that follows it, and a block that has none prints nothing. A ```py block is not run: it is an excerpt of
the file that its first line names.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import flo
from flo.core import term

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
ON_SPARK = [
    ROOT / "docs" / name
    for name in ("change-data.md", "connectors.md", "migrating.md", "reading-views.md", "spark.md", "sql.md")
]
"""Run by tests/spark, which has a session."""
WITH_BROKER = [ROOT / "docs" / "tutorial-kafka.md", ROOT / "docs" / "ten-changes.md"]
"""Run by tests/connectors, which has a broker and a database."""
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A block of Python, and the output that the page shows for it, if any; with its place in the page."""

    code: str
    shown: str
    place: tuple[int, int] | None = None


def examples(page: str) -> list[Example]:
    found: list[Example] = []
    after_code = False
    for block in FENCED.finditer(page):
        if block[1] == "python":
            found.append(Example(block[2], ""))
        elif block[1] in ("text", "output") and after_code:
            found[-1] = Example(found[-1].code, block[2], block.span(2))
        after_code = block[1] == "python"
    return found


def printed(name: str, parts: list[str], file: Path) -> list[str]:
    """What each part of the script prints. It is a file, so that errors can quote its lines."""
    file.write_text("\n".join(parts), encoding="utf-8")
    module, before = ModuleType(name), sys.modules.get(name)
    module.__file__ = str(file)
    outputs, line = [], 0
    sys.modules[name] = module
    try:
        for part in parts:
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile("\n" * line + part, str(file), "exec"), vars(module))
            outputs.append(output.getvalue())
            line += part.count("\n") + 1
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
    return outputs


def run_page(page: Path, folder: Path) -> list[tuple[Example, str]]:
    found = examples(page.read_text(encoding="utf-8"))
    name = page.stem.lower()
    is_script = page in [*ON_SPARK, *WITH_BROKER]  # what it defines goes along to the workers
    code = [example.code for example in found]
    with without_tests():
        return list(zip(found, printed("__main__" if is_script else name, code, folder / f"{name}.py"), strict=True))


@contextlib.contextmanager
def without_tests() -> Iterator[None]:
    """As in a process of its own: operators of the tests may have the names that a page gives its own."""
    before = dict(term._constructors)
    term.forget({name for name in sys.modules if name.startswith("tests.")})
    try:
        yield
    finally:
        of_flo = {name: made for name, made in term._constructors.items() if str(made.__module__).startswith("flo.")}
        term._constructors.clear()
        term._constructors.update(before | of_flo)  # modules of Flo that the page has loaded stay loaded


def identity(page: Path) -> str:
    return str(page.relative_to(ROOT))


LONG = [ROOT / "docs" / "tutorial-model.md", ROOT / "docs" / "testing.md"]
"""Pages that take seconds."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.thorough] * (page in LONG))
        for page in PAGES
        if page not in [*ON_SPARK, *WITH_BROKER]
    ],
    ids=identity,
)
@pytest.mark.always
def test_code_prints_what_is_shown(page: Path, tmp_path: Path) -> None:
    for example, output in run_page(page, tmp_path):
        assert output == example.shown, f"after\n{example.code}"


@pytest.mark.parametrize("page", PAGES, ids=identity)
def test_excerpts_are_in_the_files_they_name(page: Path) -> None:
    for language, excerpt in FENCED.findall(page.read_text(encoding="utf-8")):
        if language == "py":
            file, lines = excerpt.split("\n", 1)
            source = (ROOT / file.removeprefix("# ")).read_text(encoding="utf-8")
            assert lines.strip("\n") in source, f"{file} has changed"


@pytest.mark.parametrize("page", PAGES, ids=identity)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{identity(page)} links to {target}"
        if anchor:
            assert anchor in anchors(file), f"{identity(page)} links to {target}"


def anchors(file: Path) -> set[str]:
    """The headings of a page, as links name them."""
    titles = HEADING.findall(FENCED.sub("", file.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def verbs(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]


@pytest.mark.parametrize("kind", [flo.Stream, flo.Flow, flo.FlowLoop], ids=lambda kind: kind.__name__)
def test_every_verb_is_in_the_table_of_operators(kind: type) -> None:
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert [verb for verb in verbs(kind) if f"`{verb}(" not in page] == []


def test_every_program_of_the_paper_has_a_page() -> None:
    programs = {file.stem for file in (ROOT / "examples" / "paper").glob("*.py")} - {"__init__", "__main__"}
    assert {file.stem for file in (ROOT / "docs" / "programs").glob("*.md")} == programs


def rewrite(page: Path, folder: Path) -> None:
    """Puts what the code prints where the page shows it."""
    text = page.read_text(encoding="utf-8")
    for example, output in reversed(run_page(page, folder)):
        if example.place:
            start, end = example.place
            text = text[:start] + output + text[end:]
        elif output:
            print(f"{identity(page)}: no ```text block for what this prints:\n{example.code}\n{output}")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    wanted = [ROOT / name for name in sys.argv[1:]] or [page for page in PAGES if page not in WITH_BROKER]
    with tempfile.TemporaryDirectory() as temporary:
        for each in wanted:
            rewrite(each, Path(temporary))
