"""``getmodules.lock``: strict to read, stable to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules import ConfigError, LockStaleError
from getmodules.archive.tree_hash import TreeHashes
from getmodules.project import lockfile as subject
from getmodules.project.manifest import ProjectFiles
from tests.support.refusals import refusal

H1 = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
T1 = H1.replace("h1:", "t1:")
DIGEST = "sha256:" + "ab" * 32
PACKAGE = f"oci://ghcr.io/acme/vpc?digest={DIGEST}"

FULL = f"""\
# This file is written by getmodules, and belongs into version control. "getmodules lock" changes it.
version = 1

[[package]]
address = "./here"
id = "{H1}"
getter = "file"

[[package]]
address = "{PACKAGE}"
id = "{DIGEST}"
getter = "oci"
archive = "{DIGEST}"
size = 1234
package_h1 = "{H1}"

[[module]]
name = "here"
source = "./here"
expect = "{H1}"
package = "./here"
dest = "modules/here"
h1 = "{H1}"

[[module]]
name = "vpc"
source = "oci://ghcr.io/acme/vpc//net"
version = "~> 1.2"
selected = "v1.3.0"
package = "{PACKAGE}"
subdir = "net"
dest = "modules/vpc"
h1 = "{H1}"
t1 = "{T1}"
"""


def _parse(text: str) -> subject.Lock:
    return subject.parse_lock(text, "getmodules.lock")


def test_what_is_written_reads_back_and_is_written_alike() -> None:
    lock = _parse(FULL)
    assert subject.format_lock(lock) == FULL
    module, package = lock.entry("vpc")
    assert (module.selected, module.subdir, module.version) == ("v1.3.0", "net", "~> 1.2")
    assert (package.archive, package.size, package.package_h1) == (DIGEST, 1234, H1)
    assert lock.entry("here")[0].expect == H1


def test_the_order_of_what_is_known_does_not_matter() -> None:
    lock = _parse(FULL)
    turned = subject.Lock(dict(reversed(lock.packages.items())), dict(reversed(lock.modules.items())))
    assert subject.format_lock(turned) == FULL


def test_modules_of_one_package_share_it() -> None:
    module, package = _parse(FULL).entry("vpc")
    less = subject.LockedPackage(address=package.address, id=package.id, getter="oci", archive=DIGEST, size=1234)
    for pairs in ([(module, package), (module, less)], [(module, less), (module, package)]):
        assert subject.Lock.of(pairs).packages == {PACKAGE: package}


def test_a_package_that_no_module_is_of_means_nothing() -> None:
    leftover = f'[[package]]\naddress = "./x"\nid = "{H1}"\ngetter = "file"\n\n'
    assert subject.format_lock(_parse(FULL.replace("[[module]]", f"{leftover}[[module]]", 1))) == FULL


def test_an_empty_lock() -> None:
    assert _parse("version = 1\n") == subject.Lock()
    assert _parse(subject.format_lock(subject.Lock())) == subject.Lock()


def test_reading_the_file(tmp_path: Path) -> None:
    path = tmp_path / "getmodules.lock"
    assert subject.read_lock(path) is None
    path.write_text(FULL)
    assert subject.read_lock(path) == _parse(FULL)
    path.write_text(FULL.replace("\n", "\r\n"))  # git on Windows may do that
    assert subject.read_lock(path) == _parse(FULL)


@pytest.mark.parametrize(
    ("manifest", "hint"),
    [pytest.param(True, "getmodules lock", id="a project"), pytest.param(False, "getmodules add", id="no project")],
)
def test_a_lock_that_is_needed(tmp_path: Path, manifest: bool, hint: str) -> None:
    if manifest:
        (tmp_path / "getmodules.toml").write_text("")
    files = ProjectFiles.from_path(tmp_path)
    error = refusal(LockStaleError, "lock-stale", subject.require_lock, files)
    assert (error.typed_hint or "").startswith(hint)
    files.lock.write_text(FULL)
    assert subject.require_lock(files) == _parse(FULL)


def _without(key: str, occurrence: int = 0) -> str:
    lines = FULL.splitlines(keepends=True)
    places = [number for number, line in enumerate(lines) if line.startswith(f"{key} =")]
    del lines[places[occurrence]]
    return "".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "there is no version", id="empty"),
        pytest.param(
            FULL.replace("version = 1", "version = 2", 1), "version is 2, and this getmodules reads 1", id="newer"
        ),
        pytest.param(FULL.replace("version = 1", 'version = "1"', 1), "version is not a whole number", id="a string"),
        pytest.param(FULL + "[extra]\n", "there is no key 'extra'", id="an unknown table"),
        pytest.param(
            FULL.replace("subdir", "subdirr"), "line 25: [module]: there is no key 'subdirr'", id="an unknown key"
        ),
        pytest.param(
            FULL + f'[[package]]\naddress = "./here"\nid = "{H1}"\ngetter = "file"\n', "twice", id="a package twice"
        ),
        pytest.param(
            FULL + FULL[FULL.rindex("[[module]]") :],
            "line 35: [module]: name 'vpc' is there twice",
            id="a module twice",
        ),
        pytest.param(FULL.replace("<", "<") + "<<<<<<< HEAD\n", "a conflict of a merge", id="a merge"),
        pytest.param(_without("id"), "line 4: [package]: there is no id", id="no id"),
        pytest.param(_without("getter"), "there is no getter", id="no getter"),
        pytest.param(_without("size"), "archive and size belong together", id="no size"),
        pytest.param(_without("h1"), "line 17: [module]: there is no h1", id="no h1"),
        pytest.param(_without("source"), "there is no source", id="no source"),
        pytest.param(_without("package", 0), "there is no package", id="no package"),
        pytest.param(_without("dest"), "there is no dest", id="no dest"),
        pytest.param(_without("version", 1), "selected is there without a version", id="a tag without a version"),
        pytest.param(
            FULL.replace(f'archive = "{DIGEST}"', 'archive = "md5:00"'), "no digest that can be trusted", id="md5"
        ),
        pytest.param(FULL.replace(f'archive = "{DIGEST}"', 'archive = "new:00"'), "no digest", id="an unknown digest"),
        pytest.param(
            FULL.replace(f'h1 = "{H1}"', 'h1 = "h2:abc"'), "a scheme that this getmodules", id="an unknown hash"
        ),
        pytest.param(FULL.replace(f'h1 = "{H1}"', 'h1 = "h1:abc"'), "is no h1", id="a short hash"),
        pytest.param(FULL.replace(T1, "t1:abc"), "t1: 't1:abc' is no t1", id="a short t1"),
        pytest.param(FULL.replace(T1, ""), "t1 is empty", id="an empty t1"),
        pytest.param(FULL.replace(T1, H1), "a scheme that this getmodules", id="an h1 as t1"),
        pytest.param(FULL.replace(f'h1 = "{H1}"', f'h1 = "{T1}"'), "a scheme that this getmodules", id="a t1 as h1"),
        pytest.param(FULL.replace(f'"{T1}"', "1"), "t1", id="a t1 that is a number"),
        pytest.param(
            FULL.replace('package = "./here"', 'package = "./x"'), "there is no such [[package]]", id="dangling"
        ),
        pytest.param(
            FULL + f'[[package]]\naddress = "./x"\nid = "{H1}"\n', "[package]: there is no getter", id="unused, and bad"
        ),
        pytest.param(FULL.replace("modules/here", "modules/vpc/x"), "the same, or one in the other", id="nested"),
        pytest.param(FULL.replace("modules/here", "../x"), "dest: '../x' does not lie", id="outside"),
        pytest.param(FULL.replace('name = "here"', 'name = "../x"'), "no name for a module", id="a path for a name"),
        pytest.param(FULL.replace('subdir = "net"', 'subdir = "../net"'), "no clean path", id="a way out"),
        pytest.param(FULL.replace('"./here"', '"https://u:hunter22@h/x"'), "there is a secret", id="a secret"),
        pytest.param("version = 1\npackage = 1\n", "write [[package]]", id="no list"),
        pytest.param(FULL + 'x = "', "getmodules.lock", id="cut short"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    error = refusal(ConfigError, "config", _parse, text)
    assert message in error.message
    assert error.message.startswith("getmodules.lock")
    assert error.exit_code == 2
    assert "hunter22" not in error.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param(FULL.replace(f'archive = "{DIGEST}"', 'archive = "md5:00"'), "version control", id="a digest"),
        pytest.param(FULL.replace(f'h1 = "{H1}"', 'h1 = "h1:abc"'), "version control", id="a hash"),
        pytest.param(
            FULL.replace(f'h1 = "{H1}"', 'h1 = "h2:abc"'), "a newer getmodules", id="a hash of another scheme"
        ),
        pytest.param(FULL.replace('subdir = "net"', 'subdir = "../net"'), "version control", id="a subdirectory"),
        pytest.param(FULL.replace("modules/here", "modules/vpc/x"), "version control", id="destinations"),
        pytest.param(
            FULL.replace('package = "./here"', 'package = "./x"'), "remove this [[module]]", id="only this entry"
        ),
    ],
)
def test_a_lock_that_was_edited_comes_back_from_version_control(text: str, hint: str) -> None:
    assert hint in (refusal(ConfigError, "config", _parse, text).hint or "")


def test_a_t1_may_be_missing() -> None:
    lock = _parse(FULL)
    assert [lock.modules[name].t1 for name in ("here", "vpc")] == [None, T1]
    assert lock.modules["vpc"].hashes == TreeHashes(H1, T1)


def test_a_newer_format_says_what_to_do() -> None:
    error = refusal(ConfigError, "config", _parse, "version = 99\n")
    assert "a newer getmodules wrote this file" in (error.hint or "")
