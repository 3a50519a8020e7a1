from __future__ import annotations

import os
from pathlib import Path

import pytest

from getmodules.errors import ConfigError
from getmodules.files.durable import read_user_file
from tests.support.refusals import refusal


def test_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\r\n\xff")
    assert read_user_file(tmp_path / "file", 100) == b"a\r\n\xff"
    (tmp_path / "link").symlink_to("file")
    assert read_user_file(tmp_path / "link", 100) == b"a\r\n\xff"


@pytest.mark.parametrize("there", [99, 100, 101, 1000])
def test_of_too_much_one_byte_shows_it(there: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * there)
    assert read_user_file(tmp_path / "file", 100) == b"x" * min(there, 101)


@pytest.mark.parametrize("name", ["nothing", "nowhere/file", "dangling"])
def test_where_there_is_none(name: str, tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("away")
    assert read_user_file(tmp_path / name, 100) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("directory", "is not a file", id="a directory"),
        pytest.param("fifo", "is not a file", id="a fifo, which is not waited for"),
        pytest.param("file/below", "Not a directory", id="below a file"),
        pytest.param("loop", "symbolic links", id="links in a circle"),
        pytest.param("x" * 300, "name too long", id="too long a name"),
        pytest.param("a\0b", "the path is not possible", id="no path"),
    ],
)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos here")
def test_what_cannot_be_read(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "fifo")
    descriptors = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    error = refusal(ConfigError, "config", read_user_file, tmp_path / name, 100)
    assert words in error.message
    assert "\0" not in error.message
    assert not descriptors or len(os.listdir("/proc/self/fd")) <= len(descriptors)
