"""Texts without the secrets in them: errors, and the settings on a page that others may see."""

from __future__ import annotations

import re

HIDDEN = "•••"
_IN_ADDRESS = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?:@[^\s/@]+)*@", re.IGNORECASE)
"""The password in `scheme://user:password@host`. A password may have an @ itself."""
_NAMED = re.compile(
    r"(?P<before>(?:[\w.-]*"
    r"(?:password|passwd|pwd|secret|token|credential|api[_-]?key|access[_-]?key|signature|sas)[\w.-]*|\bsig)"
    r"[\"']?\s*[=:]\s*)(?P<quote>[\"']?)(?P<value>[^\s\"'&;,}]+)",
    re.IGNORECASE,
)
"""The value of an option whose name says that it is a secret: `password=…`, `"sasl.password": "…"`."""


def hide_passwords(text: str) -> str:
    """Return a text with the passwords of addresses hidden."""
    return _IN_ADDRESS.sub(lambda match: f"{match['before']}{HIDDEN}@", text)


def hide_secrets(text: str) -> str:
    """Return a text with passwords, tokens and keys hidden."""
    text = hide_passwords(text)
    return _NAMED.sub(lambda match: f"{match['before']}{match['quote']}{HIDDEN}", text)
