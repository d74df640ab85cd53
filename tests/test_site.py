"""The documentation site: every page is in the navigation, and the API reference has everything that users import.

`make thorough` builds the site, with broken links as errors, and searches it (tests/pictures/test_browser.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import flo
import flo.authoring
import flo.spark
from tests.errors_page import PAGE, kinds, page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TOCTREE = re.compile(r"^:::\{toctree\}\n(.*?)^:::$", re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)$", re.MULTILINE)


def pages_below(page: Path) -> list[Path]:
    """The pages that the tables of contents of a page name, in their order."""
    found = []
    for block in TOCTREE.findall(page.read_text(encoding="utf-8")):
        for entry in block.splitlines():
            if entry and not entry.startswith(":"):
                named = sorted(file for suffix in ("md", "rst") for file in page.parent.glob(f"{entry}.{suffix}"))
                assert named, f"the navigation has no page for {entry}"
                found += named
    return found


def test_every_page_is_in_the_navigation_once() -> None:
    found = [DOCS / "index.md"]
    for each in found:  # grows
        found += pages_below(each)
    assert len(found) == len(set(found))
    assert set(found) == {*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")}


@pytest.mark.parametrize(
    ("page", "module"),
    [("*", flo), ("spark", flo.spark), ("verify", flo.verify), ("authoring", flo.authoring)],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_the_api_reference_has_every_public_name(page: str, module: Any) -> None:
    text = "\n".join(
        file.read_text(encoding="utf-8")
        for file in [*(DOCS / "api").glob(f"{page}.rst"), *(DOCS / "api").glob(f"{page}.md")]
    )
    there = {name.rpartition(".")[2] for name in DIRECTIVE.findall(text)}
    public = {name for name in module.__all__ if not name.endswith("_LAWS")}
    assert sorted(public - there - {"verify"}) == []


@pytest.mark.xdist_group("parsed modules")
def test_the_page_of_errors_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make errors"


@pytest.mark.xdist_group("parsed modules")
def test_every_error_says_its_cause_and_its_fix() -> None:
    assert [kind.name for kind in kinds().values() if not (kind.cause and kind.fix)] == []
