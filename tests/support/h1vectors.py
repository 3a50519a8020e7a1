"""Trees and zips with the h1 that Go's own code gives them."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.support.checkout import CASES

VECTORS = json.loads((CASES / "h1.json").read_text())


def content_of(file: dict[str, Any]) -> bytes:
    return base64.b64decode(file["b64"]) if "b64" in file else file["text"].encode()
