"""What the library hands back."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules.util.values import FrozenValueError
from tests.support.fakes import FakeGetter, blob, client_with, zip_of


def test_results_are_frozen_and_have_exactly_the_promised_fields(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(zip_of())))
    installed = client.get("fake://h/p.zip", tmp_path / "dest")
    assert list(installed.__dataclass_fields__) == [
        "path",
        "source",
        "address",
        "pinned",
        "id",
        "h1",
        "t1",
        "package_h1",
        "digests",
        "files",
        "bytes",
        "evidence",
        "archive",
        "archive_bytes",
        "action",
    ]
    with pytest.raises(FrozenValueError):
        installed.h1 = "h1:other"  # type: ignore[misc]
    resolved = client.resolve(str(installed.pinned))
    assert list(resolved.__dataclass_fields__) == ["source", "address", "pinned", "id"]
