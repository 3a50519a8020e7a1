from __future__ import annotations

from pathlib import Path

import pytest

from getmodules.api.model import Archive
from getmodules.archive.source import Window, opened, pieces
from getmodules.errors import CorruptArchiveError, FetchError
from tests.support.archives import spooled
from tests.support.refusals import refusal

DATA = bytes(range(256)) * 12_000


def test_a_window_reads_anywhere(tmp_path: Path) -> None:
    with opened(spooled(DATA, tmp_path)) as file:
        window = Window(file, len(DATA))
        for offset, length in ((0, 10), (2_000_000, 100), (5, 7), (1_048_570, 50), (len(DATA) - 3, 3), (9, 0)):
            assert window.bytes_at(offset, length) == DATA[offset : offset + length]
        assert b"".join(window.pieces(100, 900_000, 4_096)) == DATA[100:900_100]


@pytest.mark.parametrize(("offset", "length"), [(len(DATA), 1), (len(DATA) - 1, 2), (-1, 1), (1 << 62, 1)])
def test_a_window_ends_with_its_file(offset: int, length: int, tmp_path: Path) -> None:
    with opened(spooled(DATA, tmp_path)) as file:
        refusal(CorruptArchiveError, "corrupt-archive", Window(file, len(DATA)).bytes_at, offset, length)


def test_a_file_that_shrinks_is_noticed(tmp_path: Path) -> None:
    with opened(spooled(DATA, tmp_path)) as file:
        window = Window(file, len(DATA) + 50)
        refusal(CorruptArchiveError, "corrupt-archive", window.bytes_at, len(DATA), 50)
        refusal(CorruptArchiveError, "corrupt-archive", lambda: list(window.pieces(len(DATA) - 1, 51, 64)))


def test_pieces_look_at_the_clock(tmp_path: Path) -> None:
    looks = []
    with opened(spooled(DATA, tmp_path)) as file:
        assert b"".join(pieces(file, lambda: looks.append(1))) == DATA
    assert len(looks) > len(DATA) >> 20


def test_an_archive_that_is_gone(tmp_path: Path) -> None:
    archive = Archive(path=tmp_path / "gone", size=1, digests={})
    refusal(FetchError, "fetch/unreadable", opened(archive).__enter__)
