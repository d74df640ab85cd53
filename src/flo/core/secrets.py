"""Texts without the secrets in them: errors, and the settings on a page that others may see."""

from __future__ import annotations

import re

HIDDEN = "•••"
_IN_ADDRESS = re.compile(r"(?P<before>://[^\s/:]*:)[^\s/@]+(?:@[^\s/@]+)*@")
"""The password in `scheme://user:password@host`. The user and the password may have an @ themselves."""
_NAMED = re.compile(
    r"(?P<before>(?<![\w.-])"  # each name is looked at once, however long it is
    r"(?=[\w.-]*?(?:password|passwd|pwd|secret|token|credential|api[_-]?key|access[_-]?key|signature"
    r"|(?<![a-z])sas(?!l)|\bsig(?![\w.-])))"
    r"[\w.-]++[\"']?\s*[=:]\s*)"
    r"(?:(?P<quote>\\?[\"'])(?:(?!(?P=quote))(?:\\.|.))+|[^\s\"'&;,}]+)",
    re.IGNORECASE,
)
"""The value of an option whose name says that it is a secret: `password=…`, `"sasl.password": "…"`."""


def hide_passwords(text: str) -> str:
    """Return a text with the passwords of addresses hidden."""
    return _IN_ADDRESS.sub(lambda match: f"{match['before']}{HIDDEN}@", text)


def hide_secrets(text: str) -> str:
    """Return a text with passwords, tokens and keys hidden."""
    text = hide_passwords(text)
    return _NAMED.sub(lambda match: f"{match['before']}{match['quote'] or ''}{HIDDEN}", text)
