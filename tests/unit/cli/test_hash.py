"""``getmodules hash``."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path

import pytest

import getmodules
from tests.support.commandline import call
from tests.support.fakes import zip_of

ZH = f"zh:{hashlib.sha256(zip_of()).hexdigest()}"


@pytest.fixture
def h1(here: Path) -> str:
    return getmodules.hash_tree(here / "tree")


@pytest.fixture
def t1(here: Path) -> str:
    return getmodules.hash_tree(here / "tree", "t1")


def test_a_directory_has_an_h1_and_a_t1(here: Path, h1: str, t1: str) -> None:
    assert call("hash", "tree") == (0, f"{h1}\n{t1}\n", "")
    shown = call("hash", "--json", "tree").object
    assert list(shown.items()) == [("path", "tree"), ("h1", h1), ("t1", t1), ("zh", None)]


def test_a_zip_has_both(here: Path, h1: str) -> None:
    assert call("hash", "tree.zip") == (0, f"{h1}\n{ZH}\n", "")
    assert call("hash", "--json", "tree.zip").object == {"path": "tree.zip", "h1": h1, "t1": None, "zh": ZH}


def test_a_zip_is_known_by_its_content(here: Path, h1: str) -> None:
    (here / "tree.zip").rename(here / "provider")
    assert call("hash", "provider").out == f"{h1}\n{ZH}\n"


@pytest.mark.parametrize("content", [b"", b"PK", b"resource {}\n"], ids=["empty", "short", "text"])
def test_another_file_has_a_zh(content: bytes, here: Path) -> None:
    (here / "file.zip").write_bytes(content)
    zh = f"zh:{hashlib.sha256(content).hexdigest()}"
    assert call("hash", "file.zip") == (0, f"{zh}\n", "")
    assert call("hash", "--json", "file.zip").object == {"path": "file.zip", "h1": None, "t1": None, "zh": zh}


def test_a_link_that_was_typed_is_followed(here: Path, h1: str, t1: str) -> None:
    (here / "link").symlink_to("tree")
    (here / "link.zip").symlink_to("tree.zip")
    assert call("hash", "link").out == f"{h1}\n{t1}\n"
    assert call("hash", "link.zip").out == f"{h1}\n{ZH}\n"


@pytest.mark.parametrize(
    ("path", "code", "exit_code"),
    [
        pytest.param("missing", "not-found", 1, id="missing"),
        pytest.param("", "not-found", 1, id="empty"),
        pytest.param("tree.zip/x", "not-found", 1, id="below a file"),
        pytest.param("dangling", "not-found", 1, id="a link that leads nowhere"),
        pytest.param("loop", "fetch/unreadable", 1, id="a link to itself"),
        pytest.param("fifo", "fetch/unreadable", 1, id="a fifo"),
        pytest.param("socket", "fetch/unreadable", 1, id="a socket"),
        pytest.param("broken", "corrupt-archive", 3, id="half a zip"),
        pytest.param("special", "unsafe-content/special-file", 3, id="a fifo in a directory"),
    ],
)
def test_what_has_no_hash(path: str, code: str, exit_code: int, here: Path) -> None:
    (here / "dangling").symlink_to("missing")
    (here / "loop").symlink_to("loop")
    os.mkfifo(here / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")  # relative: such names are short
    (here / "broken").write_bytes(zip_of()[:100])
    (here / "special").mkdir()
    os.mkfifo(here / "special" / "fifo")
    result = call("hash", path, "--json")
    assert result.code == exit_code
    assert result.object["error"]["code"] == code
    assert result.err.startswith("error: ")
