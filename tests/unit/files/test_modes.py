"""Whether a file system has execute bits and links."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from getmodules.files import modes as subject
from tests.support.snapshots import snapshot


def _failing(number: int) -> Callable[..., None]:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_this_one_has_them(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    assert subject.keeps_modes_and_links(tmp_path / "private")
    assert set(snapshot(tmp_path)) == {"private", "private/file", "private/link"}


@pytest.mark.parametrize(
    ("call", "how"),
    [
        pytest.param("chmod", lambda *_, **__: None, id="no file is executable, and no error"),
        pytest.param("chmod", _failing(errno.EPERM), id="modes are refused"),
        pytest.param("chmod", _failing(errno.ENOTSUP), id="modes are unknown"),
        pytest.param("symlink", _failing(errno.EPERM), id="links are refused"),
        pytest.param("symlink", _failing(errno.ENOSYS), id="links are unknown"),
    ],
)
def test_one_that_has_not(call: str, how: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, call, how)
    assert not subject.keeps_modes_and_links(tmp_path)


def test_one_on_which_every_file_is_executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o777)
    monkeypatch.setattr(os, "chmod", lambda *_, **__: None)
    assert not subject.keeps_modes_and_links(tmp_path)


@pytest.mark.parametrize("call", ["chmod", "symlink"])
def test_a_failure_is_no_answer(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk must not make a changed mode look like a file system without them."""
    monkeypatch.setattr(os, call, _failing(errno.ENOSPC))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        subject.keeps_modes_and_links(tmp_path)
