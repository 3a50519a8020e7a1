from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from getmodules.archive.writer import FileSink
from getmodules.errors import InstallError
from tests.support.refusals import refusal


def test_the_same_bytes_go_everywhere(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    sink = FileSink("a", [os.open(path, os.O_WRONLY | os.O_CREAT) for path in paths])
    for chunk in (b"hello, ", b"", b"world"):
        sink.write(chunk)
    sink.close()
    assert {path.read_bytes() for path in paths} == {b"hello, world"}
    assert sink.digest() == sha256(b"hello, world").digest()


def test_what_closing_reveals_is_reported(tmp_path: Path) -> None:
    first = os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT)
    second = os.open(tmp_path / "b", os.O_WRONLY | os.O_CREAT)
    os.close(first)
    sink = FileSink("a", [first, second])
    error = refusal(InstallError, "install", sink.close)
    assert "'a'" in error.message
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(second)
