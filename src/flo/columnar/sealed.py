"""Small files of JSON with a checksum: what is truncated or altered is seen."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from flo.columnar.folders import Folder
from flo.core.errors import CheckpointError

VERSION, SUM = "flo", "sum"
NEWEST = 2
"""Since 2, runs are named by SHA-256."""
MENDING = (
    ("a copy of the file, put back", "the checkpoint goes on"),
    ("another checkpoint", "begins anew"),
)
"""What to do about a file that cannot be read."""


def write_sealed(folder: Folder, name: str, content: dict[str, Any]) -> int:
    return folder.write(name, _sealed(content))


def create_sealed(folder: Folder, name: str, content: dict[str, Any]) -> None:
    """The same for a file that is not there yet; FileExistsError if it is."""
    folder.create(name, _sealed(content))


def _sealed(content: dict[str, Any]) -> bytes:
    content = {VERSION: NEWEST, **content}
    return json.dumps({**content, SUM: _sum(content)}, indent=1).encode()


def read_sealed(folder: Folder, name: str, **expected: Any) -> Any:
    """The content; refused with the file's name if it is missing, or not as it was written.

    `expected` says what must be in it: a type, or the value itself.
    """
    try:
        content = json.loads(folder.read(name))
        if content[VERSION] != NEWEST:
            raise CheckpointError(
                f"the file `{name}` of the checkpoint is of version {content[VERSION]}, "
                f"and this Flo reads version {NEWEST}",
                facts=(("folder", str(folder)),),
                instead=(("the Flo that has written it", "reads it"), *MENDING[1:]),
            )
        if content.pop(SUM) != _sum(content):
            raise damaged(folder, name)
    except FileNotFoundError:
        raise missing(folder, name) from None
    except OSError as error:
        raise unreadable(folder, name, error) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged(folder, name) from None
    for key, wanted in expected.items():
        found = content.get(key)
        if not (isinstance(found, wanted) if isinstance(wanted, type) else found == wanted):
            raise damaged(folder, name, f"is another file: its `{key}` is not what is expected there")
    return content


def _sum(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def missing(folder: Folder, name: str) -> CheckpointError:
    facts = (("folder", str(folder)),)
    return CheckpointError(f"the checkpoint lacks the file `{name}`", facts=facts, instead=MENDING)


def damaged(folder: Folder, name: str, how: str = "is truncated or altered") -> CheckpointError:
    facts = (("folder", str(folder)),)
    return CheckpointError(f"the file `{name}` of the checkpoint {how}", facts=facts, instead=MENDING)


def unreadable(folder: Folder, name: str, error: OSError) -> CheckpointError:
    return damaged(folder, name, f"cannot be read: {error.strerror or error}")
