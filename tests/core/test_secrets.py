"""Texts of errors, and settings on a page, have no passwords in them, and are else as they were."""

from __future__ import annotations

import pytest

from flo.core.errors import brief
from flo.core.secrets import hide_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ann:s3cret@db/x", "postgresql://ann:•••@db/x"),
        ("postgresql://ann:p@ss:w@db:5432/x", "postgresql://ann:•••@db:5432/x"),
        (
            "jdbc:postgresql://db/x?user=ann&password=s3cret&ssl=true",
            "jdbc:postgresql://db/x?user=ann&password=•••&ssl=true",
        ),
        ("{'kafka.sasl.password': 's3cret', 'topic': 'a'}", "{'kafka.sasl.password': '•••', 'topic': 'a'}"),
        ('"token": "abc"', '"token": "•••"'),
        ("fs.s3a.secret.key=abc, keep=2", "fs.s3a.secret.key=•••, keep=2"),
        (
            "https://acc.blob.core/x?sv=1&sig=s3cret&se=2, design=a",
            "https://acc.blob.core/x?sv=1&sig=•••&se=2, design=a",
        ),
        ("s3a://bucket/folder, at 12:30", "s3a://bucket/folder, at 12:30"),
        ("postgresql://ann@corp.com:s3cret@db/x", "postgresql://ann@corp.com:•••@db/x"),
        ("{'password': 'two words', 'n': 1}", "{'password': '•••', 'n': 1}"),
        (
            r'"jaas.config": "required username=\"ann\" password=\"s3 cret\";", "topic": "a"',
            r'"jaas.config": "required username=\"ann\" password=\"•••\";", "topic": "a"',
        ),
        ("conf: token=abc", "conf: token=•••"),
        ("fs.azure.sas.acc=abc", "fs.azure.sas.acc=•••"),
        ("'sasl.mechanism': 'PLAIN', Kansas: 5", "'sasl.mechanism': 'PLAIN', Kansas: 5"),
        (
            "https://host:8080/a:b@c, ann@corp.com, ssh://git@host:22/x",
            "https://host:8080/a:b@c, ann@corp.com, ssh://git@host:22/x",
        ),
        ("SELECT 'x://' || a WHERE b = ':' AND c LIKE '%@%'", "SELECT 'x://' || a WHERE b = ':' AND c LIKE '%@%'"),
    ],
)
def test_secrets_are_hidden(text: str, shown: str) -> None:
    assert hide_secrets(text) == shown


@pytest.mark.parametrize("part", ["a", "a://b:c@", "token", "token ", 'token="\\'])
def test_a_long_text_is_read_once(part: str) -> None:
    """What takes longer than in proportion would take minutes."""
    text = part * 100_000
    assert len(hide_secrets(text)) <= 2 * len(text)


def test_a_password_is_hidden_before_its_address_is_shortened() -> None:
    assert "s3cret" not in brief(f"postgresql://ann:{'s3cret' * 20}@db")
