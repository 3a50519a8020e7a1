"""What streams in is counted, and let go of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getmodules import Blob, GetModulesError, Limits
from tests.fakes import ZIP, FakeGetter, client_with


def test_the_deadline_ends_a_download_that_goes_on_for_ever(tmp_path: Path) -> None:
    def endless(*_: Any) -> Blob:
        def chunks() -> Iterator[bytes]:
            while True:
                yield b""

        return Blob(chunks=chunks(), name="p.zip")

    with pytest.raises(GetModulesError) as caught:
        client_with(FakeGetter(answer=endless)).get("fake://h/p.zip", tmp_path / "d", limits=Limits(seconds=1))
    assert caught.value.code == "network/timeout"
    assert list(tmp_path.iterdir()) == []


def test_a_blob_is_closed_whatever_happens(tmp_path: Path) -> None:
    closed: list[bool] = []

    def chunks() -> Iterator[bytes]:
        try:
            yield ZIP
            yield b"x"
        finally:
            closed.append(True)

    client = client_with(FakeGetter(answer=lambda *_: Blob(chunks=chunks(), size=len(ZIP), name="p.zip")))
    with pytest.raises(GetModulesError):
        client.get("fake://h/p.zip", tmp_path / "dest")
    assert closed == [True]
