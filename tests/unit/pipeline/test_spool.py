"""What streams in is counted, and let go of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from getmodules import Blob, Digest, GetModulesError, Limits
from getmodules.api.model import FEW_BYTES
from getmodules.files.download_file import DownloadFile
from getmodules.pipeline.spool import spool
from tests.support.contexts import a_context
from tests.support.fakes import ZIP, FakeGetter, client_with


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


@pytest.mark.slow
@pytest.mark.parametrize("piece", [1, 1000, FEW_BYTES + 1], ids=["bytes", "pieces", "all at once"])
@pytest.mark.parametrize("size", [0, 1, FEW_BYTES, FEW_BYTES + 1])
def test_few_bytes_are_held_as_they_were_hashed(tmp_path: Path, size: int, piece: int) -> None:
    data = bytes(range(251)) * (size // 251) + b"x" * (size % 251)
    chunks = [b"", *(data[at : at + piece] for at in range(0, size, piece))]
    with closing(DownloadFile(lambda: tmp_path / "it")) as into:
        archive = spool(Blob(chunks=chunks), into, (), a_context())
        (tmp_path / "it").write_bytes(b"something else")
        with archive.open() as file:
            read = file.read()
    assert archive.size == size
    if size <= FEW_BYTES:
        assert read == data
        assert archive.digests["sha256"] == Digest.of(read)
    else:
        assert archive.content is None


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
