"""How objects are displayed other than as text: in notebooks, as pictures and as pages.

The layer `pictures` draws them. It is above all layers that have something to display, so it registers here, and is
loaded when the first picture is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_pictures: list[Callable[[], Any]] = []


def register_pictures(load: Callable[[], Any]) -> None:
    """Register the function that loads the layer `pictures`."""
    _pictures.append(load)


def pictures() -> Any:
    """Return the layer `pictures`."""
    return _pictures[0]()


class Displayed:
    """Base class of what notebooks display as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = pictures().html_of(self)
        return html
