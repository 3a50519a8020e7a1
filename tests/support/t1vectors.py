"""Trees with their t1, and a t1 of our own that shares no code with the one that is tested."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.checkout import CASES

VECTORS = json.loads((CASES / "t1.json").read_text())


def make_tree(directory: Path, files: Mapping[str, Any]) -> None:
    """Make what a vector names: content, ``["x", content]``, ``["link", target]``, or null for a directory."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        elif isinstance(content, list) and content[0] == "link":
            path.symlink_to(content[1])
        else:
            path.write_text(content if isinstance(content, str) else content[1])
            path.chmod(0o644 if isinstance(content, str) else 0o755)


def t1_on_disk(directory: Path) -> str:
    """The t1 of a directory, as the documentation defines it."""
    root, records = os.fsencode(directory), {}
    for place, directories, files in os.walk(root):
        for name in (*directories, *files):
            path = os.path.join(place, name)
            if os.path.islink(path):
                letter, value = b"l", os.readlink(path)
            elif os.path.isfile(path):
                letter = b"x" if os.stat(path).st_mode & 0o111 else b"f"
                value = hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).hexdigest().encode()
            else:
                continue
            records[os.path.relpath(path, root)] = (letter, value)
    text = b"".join(b"%s\0%s\0%s\0" % (records[path][0], path, records[path][1]) for path in sorted(records))
    return "t1:" + base64.b64encode(hashlib.sha256(text).digest()).decode()
