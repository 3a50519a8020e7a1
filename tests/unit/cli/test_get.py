"""``getmodules get``."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import getmodules
from tests.support.commandline import call
from tests.support.fakes import FILES, zip_of
from tests.support.snapshots import snapshot

DIGEST = f"sha256:{hashlib.sha256(zip_of()).hexdigest()}"
MD5 = f"md5:{hashlib.md5(zip_of()).hexdigest()}"
SIZE = sum(map(len, FILES.values()))


@pytest.fixture
def h1(here: Path) -> str:
    return getmodules.hash_tree(here / "tree")


def test_what_people_see_of_an_archive(here: Path, h1: str) -> None:
    result = call("get", "./tree.zip", "modules/tree")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "installed  modules/tree",
        f"pinned     file://{here}/tree.zip?checksum={DIGEST}",
        f"h1         {h1}",
        f"t1         {getmodules.hash_tree(here / 'tree', 't1')}",
        f"content    4 files, {SIZE} bytes",
    ]
    assert snapshot(here / "modules/tree").keys() == snapshot(here / "tree").keys()


def test_what_people_see_of_a_directory(here: Path, h1: str) -> None:
    result = call("get", "./tree", "copy")
    assert result.code == 0
    assert "pinned     nothing pins a directory; --expect with its t1 verifies it\n" in result.out
    assert f"h1         {h1}\n" in result.out


def test_what_people_see_of_what_was_verified(here: Path, h1: str) -> None:
    result = call("get", f"./tree.zip?checksum={DIGEST}", "copy", "--expect", h1)
    assert result.code == 0
    assert f"verified   checksum {DIGEST}, by the address\n" in result.out
    assert f"verified   expect {h1}, by the caller\n" in result.out


def test_one_is_no_plural(here: Path) -> None:
    (here / "one").mkdir()
    (here / "one" / "f").write_text("x")
    assert "content    1 file, 1 byte\n" in call("get", "./one", "copy").out


def test_what_json_has(here: Path, h1: str) -> None:
    result = call("get", "./tree.zip", "./modules/../copy", "--json", "--expect", DIGEST)
    assert (result.code, result.err) == (0, "")
    *shown, (last, seconds) = result.object.items()
    assert last == "seconds"
    assert isinstance(seconds, float)
    assert round(seconds, 3) == seconds
    assert shown == [
        ("path", "./modules/../copy"),  # as it was given
        ("source", "./tree.zip"),
        ("address", f"file://{here}/tree.zip"),
        ("pinned", f"file://{here}/tree.zip?checksum={DIGEST}"),
        ("id", DIGEST),
        ("h1", h1),
        ("t1", getmodules.hash_tree(here / "tree", "t1")),
        ("package_h1", h1),
        ("digests", {"archive": DIGEST}),
        ("files", len(FILES)),
        ("bytes", SIZE),
        ("evidence", [{"check": "expect", "subject": "archive", "value": DIGEST, "by": "the caller"}]),
        ("action", "installed"),
    ]
    assert (here / "copy" / "main.tf").is_file()


def test_base_is_for_the_source_and_not_for_the_destination(here: Path) -> None:
    assert call("get", "./sub", "copy", "--base", "tree").code == 0
    assert sorted(path.name for path in (here / "copy").iterdir()) == ["a.tf", "deep"]


def test_force_replaces_a_directory(here: Path) -> None:
    (here / "copy").mkdir()
    (here / "copy" / "mine").write_text("x")
    before = snapshot(here)
    refused = call("get", "./tree", "copy")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.endswith("  hint: --force replaces this directory\n  code: destination-exists\n")
    assert snapshot(here) == before
    assert call("get", "./tree", "copy", "--force").code == 0
    assert not (here / "copy" / "mine").exists()


def _links(dest: Path) -> None:
    (dest / "main.tf").unlink()
    (dest / "main.tf").symlink_to("sub/a.tf")


@pytest.mark.parametrize(
    ("edit", "difference"),
    [
        pytest.param(lambda dest: (dest / "main.tf").chmod(0o755), "main.tf differs", id="an execute bit"),
        pytest.param(lambda dest: (dest / "main.tf").write_text("x"), "main.tf differs", id="a content"),
        pytest.param(lambda dest: (dest / "a new file").touch(), "a new file is not part of it", id="a file more"),
        pytest.param(lambda dest: (dest / "main.tf").unlink(), "main.tf is missing", id="a file less"),
        pytest.param(_links, "main.tf differs", id="a link"),
        pytest.param(lambda dest: os.mkfifo(dest / "pipe"), "pipe is not part of it", id="a fifo"),
    ],
)
@pytest.mark.parametrize("source", ["./tree", "./tree.zip"])
def test_a_destination_that_is_just_this_is_left_alone(
    source: str, edit: Callable[[Path], object], difference: str, here: Path
) -> None:
    assert call("get", source, "copy", "--json").object["action"] == "installed"
    (here / "copy" / "an empty directory").mkdir()  # no part of what t1 sees
    before, inode = snapshot(here), (here / "copy").stat().st_ino
    t1 = getmodules.hash_tree(here / "tree", "t1")
    again = call("get", source, "copy", "--json", "--expect", t1)
    assert (again.code, again.err, again.object["action"], again.object["t1"]) == (0, "", "unchanged", t1)
    assert call("get", source, "copy").out.startswith("unchanged  copy\n")
    assert call("get", source, "copy", "--expect", f"t1:{'A' * 43}=").code == 3
    assert (snapshot(here), (here / "copy").stat().st_ino) == (before, inode)

    edit(here / "copy")
    before = snapshot(here)
    refused = call("get", source, "copy", "--json")
    assert (refused.code, refused.object["error"]["code"]) == (1, "destination-exists")
    assert refused.object["error"]["message"].endswith(f" is not what would be installed: {difference}")
    assert snapshot(here) == before
    assert call("get", source, "copy", "--force", "--json").object["action"] == "installed"


def test_a_link_to_just_this_is_in_the_way(here: Path) -> None:
    call("get", "./tree", "copy")
    (here / "link").symlink_to("copy")
    before = snapshot(here)
    assert call("get", "./tree", "link", "--json").object["error"]["code"] == "destination-exists"
    assert snapshot(here) == before


def test_quiet_is_quiet(here: Path) -> None:
    assert call("get", f"./tree.zip?checksum={MD5}", "copy", "-q", "--progress", "plain") == (0, "", "")
    assert (here / "copy" / "main.tf").is_file()


def test_quiet_still_tells_errors_and_writes_json(here: Path) -> None:
    assert call("get", "./missing", "copy", "-q").err.startswith("error: there is nothing at ")
    assert call("get", "./tree", "copy", "-q", "--json").object["files"] == len(FILES)


def test_a_notice_goes_to_stderr(here: Path) -> None:
    result = call("get", f"./tree.zip?checksum={MD5}", "copy", "--json")
    assert result.object["pinned"].endswith(f"?checksum={DIGEST}")
    assert result.err.startswith("note: a md5 checksum can be forged; sha256 cannot\n  address: file://")


def test_plain_progress_goes_to_stderr(here: Path) -> None:
    result = call("get", "./tree", "copy", "--progress", "plain", "--json")
    assert result.object["files"] == len(FILES)
    assert result.err == "installed tree\n"


def _bad(*argv: str, error: type[getmodules.GetModulesError], code: str, name: str) -> object:
    return pytest.param(list(argv), error, code, id=name)


@pytest.mark.parametrize(
    ("argv", "error", "code"),
    [
        _bad("./tree", "", error=getmodules.ConfigError, code="config", name="empty destination"),
        _bad("", "dest", error=getmodules.AddressError, code="address", name="empty source"),
        _bad("./tree", "dest", "--progress", "x", error=getmodules.ConfigError, code="config", name="progress"),
        _bad("./tree", "dest", "--limit", "x=1", error=getmodules.ConfigError, code="config", name="limit"),
        _bad("./tree", "dest", "--expect", "", error=getmodules.ConfigError, code="config", name="empty expect"),
        _bad("./tree", "dest", "--expect", "md5:0", error=getmodules.ConfigError, code="config", name="expect"),
        _bad(
            "./tree", "dest", "--expect", "h1:AAAA",
            error=getmodules.DigestMismatchError, code="digest-mismatch", name="not what was expected",
        ),
        _bad(
            "./tree", "dest", "--limit", "entries=1",
            error=getmodules.LimitExceededError, code="limit-exceeded/entries", name="too much",
        ),
        _bad("./missing", "dest", error=getmodules.NotFoundError, code="not-found", name="missing"),
        _bad(
            "./tree//nope", "dest",
            error=getmodules.SubdirectoryNotFoundError, code="subdirectory-not-found", name="no such subdirectory",
        ),
        _bad("./tree", "tree/copy", error=getmodules.InstallError, code="install/inside-source", name="inside"),
    ],
)  # fmt: skip
def test_a_refusal_leaves_everything_as_it_was(
    argv: list[str], error: type[getmodules.GetModulesError], code: str, here: Path
) -> None:
    before = snapshot(here)
    for how in ([], ["--force"]):
        result = call("get", *argv, "--json", *how)
        assert result.code == error.exit_code
        assert list(result.object) == ["error"]
        assert result.object["error"]["code"] == code
        assert result.err.startswith(f"error: {result.object['error']['message']}\n")
        assert result.err.endswith(f"  code: {code}\n")
        assert snapshot(here) == before
