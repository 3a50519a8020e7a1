"""The files of downloads that ended early: what of one is used, who may have it, and how many stay."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path

import pytest

from getmodules.cache import locks, partials as subject
from getmodules.cache.partials import MOST_PARTIALS, Partial, open_partial, partials
from getmodules.errors import DigestMismatchError, InstallError, NetworkError
from getmodules.files.locking import FileLock
from tests.support.stores import a_session

IDENTITY = "sha256:" + "0a" * 32


def opened(root: Path, identity: str = IDENTITY) -> Partial:
    found = open_partial(root, identity)
    assert found is not None
    return found


def begin(root: Path, content: bytes, identity: str = IDENTITY, *, noted: int | None = None) -> Path:
    """One that ended after ``content``, of which ``noted`` bytes are noted."""
    part = opened(root, identity)
    os.write(part.descriptor, content)
    size = len(content) if noted is None else noted
    part.note(size, hashlib.sha256(content[:size]).hexdigest())
    os.close(part.descriptor)
    return part.path


@pytest.mark.parametrize("noted", [4, 6])
def test_it_is_gone_on_with_from_where_it_was_noted(noted: int, tmp_path: Path) -> None:
    begin(tmp_path, b"abcdef", noted=noted)
    part = opened(tmp_path)
    assert part.size == noted
    os.write(part.descriptor, b"X")
    os.close(part.descriptor)
    assert part.path.read_bytes() == b"abcdef"[:noted] + b"X"


@pytest.mark.parametrize(
    "note",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"6", id="torn"),
        pytest.param(b"7 " + hashlib.sha256(b"abcdef").hexdigest().encode() + b"\n", id="more-than-there-is"),
        pytest.param(b"6 " + b"0" * 64 + b"\n", id="of-other-bytes"),
        pytest.param(b"9" * 30 + b" " + b"0" * 64 + b"\n", id="a-size-beyond-all-files"),
    ],
)
def test_with_another_note_it_starts_over(note: bytes, tmp_path: Path) -> None:
    path = begin(tmp_path, b"abcdef")
    path.with_name(f"{path.name}.sum").write_bytes(note)
    part = opened(tmp_path)
    assert (part.size, path.read_bytes()) == (0, b"")
    os.close(part.descriptor)


def test_one_user_at_a_time(tmp_path: Path) -> None:
    part = opened(tmp_path)
    assert open_partial(tmp_path, IDENTITY) is None
    os.close(part.descriptor)
    os.close(opened(tmp_path).descriptor)


def test_without_locks_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "try_lock", lambda *_, **__: FileLock.UNSUPPORTED)
    assert open_partial(tmp_path, IDENTITY) is None


def test_they_are_few_and_not_old(tmp_path: Path) -> None:
    paths = [begin(tmp_path, b"x", str(number)) for number in range(MOST_PARTIALS)]
    now = time.time()
    for number, path in enumerate(paths):
        os.utime(path, (now - number, now - number))
    os.utime(paths[1], (now - subject.LONGEST_SECONDS - 60,) * 2)
    used = opened(tmp_path, str(MOST_PARTIALS - 1))  # the longest unused but one
    begin(tmp_path, b"x", "one more")
    left = set(partials(tmp_path))
    assert paths[1] not in left
    assert used.path in left
    assert len(left) == MOST_PARTIALS
    assert not paths[1].with_name(f"{paths[1].name}.sum").exists()
    os.close(used.descriptor)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    path = begin(tmp_path, b"abc")
    (tmp_path / "mine").write_bytes(b"mine")
    path.unlink()
    path.symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match=r"(?i)symbolic link"):
        open_partial(tmp_path, IDENTITY)
    assert (tmp_path / "mine").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        pytest.param(KeyboardInterrupt(), True, id="a signal"),
        pytest.param(NetworkError("the line was cut"), True, id="a broken line"),
        pytest.param(InstallError("cancelled", part="cancelled"), True, id="cancelled"),
        pytest.param(DigestMismatchError("something else"), False, id="other bytes"),
        pytest.param(None, False, id="an end without a blob"),
    ],
)
def test_what_a_session_leaves(error: BaseException | None, stays: bool, tmp_path: Path) -> None:
    def work() -> None:
        with a_session(tmp_path) as session:
            file = session.download_file("package", IDENTITY)
            file.write(b"abc")
            file.note(hashlib.sha256(b"abc").hexdigest())
            if error is not None:
                raise error

    if error is None:
        work()
    else:
        with pytest.raises(type(error)):
            work()
    assert len(partials(tmp_path)) == stays
    if stays:
        with a_session(tmp_path) as session:
            assert session.download_file("package", IDENTITY).size == 3
