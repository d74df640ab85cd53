"""The documentation site: `make docs` builds it into build/docs. It asks no other host for anything.

Pages link to source files, which are outside of docs; each file that a page links to gets a page of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

ROOT = Path(__file__).resolve().parent.parent
INCLUDED = re.compile(r"\]\((?:\.\./)+(CONTRIBUTING|CHANGELOG)\.md")

project = "Flo"
author = "The Flo authors"
project_copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["README.md"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

default_role = "code"  # docstrings put names between single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "Flo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["search-in-files.js"]
html_search_scorer = str(ROOT / "docs" / "search_scorer.js")
html_copy_source = False
html_show_sourcelink = False
templates_path: list[str] = []


class SourceLinks(SphinxTransform):
    """Makes links to files outside of docs lead to the pages of these files."""

    default_priority = 10

    def apply(self, **kwargs: Any) -> None:
        here = self.env.docname
        for link in list(self.document.findall(download_reference)):
            path = (Path(self.env.doc2path(here)).parent / link["reftarget"]).resolve()
            name = str(path.relative_to(ROOT))
            if path.is_dir():
                link.replace_self(nodes.literal(name, name))
                continue
            sources(self.env).add(name)
            uri = relative_uri(self.app.builder.get_target_uri(here), page_of(name) + ".html")
            link.replace_self(nodes.reference("", "", *link.children, internal=True, refuri=uri))


def page_of(name: str) -> str:
    return f"source/{name}"


def sources(env: Any) -> set[str]:
    """The source files that pages link to."""
    if not hasattr(env, "flo_sources"):
        env.flo_sources = set()
    return env.flo_sources  # type: ignore[no-any-return]


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yields a page for each source file that a page links to."""
    for name in sorted(sources(app.env)):
        text = (ROOT / name).read_text(encoding="utf-8")
        language = {".py": "python", ".md": "markdown", ".sql": "sql"}.get(Path(name).suffix, "text")
        body = app.builder.highlighter.highlight_block(text, language)  # type: ignore[attr-defined]
        yield page_of(name), {"title": name, "body": f"<h1>{name}</h1>{body}"}, "page.html"


def link_to_included(app: Sphinx, page: str, text: list[str]) -> None:
    """Makes links to the pages at the root of the repository lead to the pages that include them."""
    up = "../" * page.count("/")
    text[0] = INCLUDED.sub(lambda found: f"]({up}{found[1].lower()}.md", text[0])


def leave_out_notes(app: Sphinx, doctree: nodes.document) -> None:
    """Keeps notes on the design out of the search: they are not for users."""
    if app.env.docname.startswith("notes/"):
        app.env.metadata[app.env.docname]["nosearch"] = "yes"


def setup(app: Sphinx) -> None:
    app.add_transform(SourceLinks)
    app.connect("source-read", link_to_included)
    app.connect("doctree-read", leave_out_notes)
    app.connect("html-collect-pages", source_pages)
