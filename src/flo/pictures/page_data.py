"""The data that a page shows, as JSON."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

PageData: TypeAlias = dict[str, Any]
"""Whatever JSON can hold, by name."""


def data_script(data: PageData) -> str:
    """Return the data of a page, as JSON that cannot end its script element."""
    text = to_json(data).replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{text}</script>'


def to_json(data: PageData) -> str:
    """Return data as short JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
