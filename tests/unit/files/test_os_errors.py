from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from getmodules.errors import InstallError
from getmodules.files.os_errors import ANOTHER_TMPDIR, install_error, naming_full_disk, translated


@pytest.mark.parametrize(
    ("number", "code", "hinted"),
    [
        pytest.param(errno.ENOSPC, "install/no-space", True, id="disk-full"),
        pytest.param(errno.EDQUOT, "install/no-space", True, id="quota"),
        pytest.param(errno.EACCES, "install/denied", False, id="no-permission"),
        pytest.param(errno.EPERM, "install/denied", False, id="not-permitted"),
        pytest.param(errno.EROFS, "install/denied", False, id="read-only"),
        pytest.param(errno.EMFILE, "install", True, id="open-files-of-the-process"),
        pytest.param(errno.ENFILE, "install", True, id="open-files-of-the-system"),
        pytest.param(errno.ENOENT, "install", False, id="absent"),
        pytest.param(errno.ENAMETOOLONG, "install", False, id="name-too-long"),
        pytest.param(errno.EIO, "install", False, id="broken-disk"),
    ],
)
def test_the_number_decides_the_code_and_the_message_has_both_halves(number: int, code: str, hinted: bool) -> None:
    error = install_error(OSError(number, os.strerror(number)), "cannot write main.tf")
    assert (type(error), error.code) == (InstallError, code)
    assert error.message == f"cannot write main.tf: {os.strerror(number)}"
    assert (error.hint is not None) is hinted


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_where_the_disk_is_full_another_place_is_named(number: int) -> None:
    full = OSError(number, os.strerror(number))
    assert "a destination on another file system" in str(install_error(full, "cannot write x").hint)
    with pytest.raises(InstallError) as caught, translated("cannot write x", ANOTHER_TMPDIR):
        raise full
    assert str(caught.value.hint).endswith("or name a directory on another file system in TMPDIR")


def test_an_error_without_a_number_says_what_it_can() -> None:
    assert install_error(OSError("odd"), "cannot write x").message == "cannot write x: odd"
    assert install_error(OSError(), "cannot write x").message == "cannot write x: OSError"


def test_translated_keeps_the_cause_and_touches_nothing_else() -> None:
    cause = OSError(errno.ENOSPC, "full")
    with pytest.raises(InstallError) as caught, translated("cannot write x"):
        raise cause
    assert caught.value.code == "install/no-space"
    assert caught.value.__cause__ is cause
    with pytest.raises(KeyError), translated("cannot write x"):
        raise KeyError("not the system's")


def test_a_full_disk_is_named_with_the_directory_nearest_to_the_fault(tmp_path: Path) -> None:
    near, far = tmp_path / "near" / "absent", tmp_path / "far"
    with pytest.raises(InstallError) as caught, naming_full_disk(far), naming_full_disk(near), translated("no x"):
        raise OSError(errno.ENOSPC, "full")
    assert caught.value.message == f"{near}: no x: full"
    assert caught.value.failed_at is not None
    assert os.path.ismount(caught.value.failed_at)
    assert near.is_relative_to(caught.value.failed_at)
    with pytest.raises(InstallError) as caught, naming_full_disk(near), translated("no x"):
        raise OSError(errno.EACCES, "denied")
    assert (caught.value.message, caught.value.failed_at) == ("no x: denied", None)
