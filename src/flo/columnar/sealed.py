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


def write_sealed(folder: Folder, name: str, content: dict[str, Any]) -> int:
    content = {VERSION: NEWEST, **content}
    return folder.write(name, json.dumps({**content, SUM: _sum(content)}, indent=1).encode())


def read_sealed(folder: Folder, name: str) -> Any:
    """Refuses with the file's name what is missing, or not as it was written."""
    try:
        content = json.loads(folder.read(name))
        if content[VERSION] != NEWEST:
            version = content[VERSION]
            raise CheckpointError(f"the checkpoint is of version {version}, and this Flo reads version {NEWEST}")
        if content.pop(SUM) != _sum(content):
            raise damaged(folder, name)
        return content
    except FileNotFoundError:
        raise missing(folder, name) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise damaged(folder, name) from None


def _sum(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def missing(folder: Folder, name: str) -> CheckpointError:
    return CheckpointError(f"the checkpoint lacks the file `{name}`", facts=(("folder", str(folder)),))


def damaged(folder: Folder, name: str) -> CheckpointError:
    facts = (("folder", str(folder)),)
    return CheckpointError(f"the file `{name}` of the checkpoint is truncated or altered", facts=facts)
