"""``file:`` — directories, archives and single files of this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from getmodules import (
    AddressError,
    Client,
    ConfigError,
    DigestMismatchError,
    NotFoundError,
    Shorthand,
    UnsafeContentError,
    UnsupportedContentError,
    VerificationError,
)
from getmodules.files.private import PrivateDirectory
from getmodules.getters.file import PathDetector
from tests.support.fakes import FILES, OTHER_SHA256, ZIP, ZIP_SHA256, installed_files
from tests.support.gitplaces import Notices
from tests.support.refusals import refusal
from tests.support.sites import first_party
from tests.support.snapshots import snapshot, write_tree


@pytest.fixture
def client() -> Client:
    return first_party()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory with an archive, a checksum file and a module."""
    root = tmp_path / "source"
    write_tree(root / "module", {**FILES, ".hidden": b"dot"})
    (root / "vpc.zip").write_bytes(ZIP)
    (root / "SHA256SUMS").write_text(f"{OTHER_SHA256}  other.zip\n{ZIP_SHA256}  vpc.zip\n")
    (root / "main.tf").write_bytes(b"# alone\n")
    return root


@pytest.mark.parametrize(
    ("path", "base", "url"),
    [
        pytest.param(".", "/b", "file:///b", id="dot"),
        pytest.param("..", "/b/c", "file:///b", id="two dots"),
        pytest.param("./x", "/b/", "file:///b/x", id="a base with a final slash"),
        pytest.param("../../../x", "/b", "file:///x", id="more dots than directories"),
        pytest.param("/x/./y/../z", None, "file:///x/z", id="dots in an absolute path"),
        pytest.param("/", None, "file:///", id="root"),
        pytest.param("C:\\x\\..\\y", None, "file:///C:/y", id="a drive"),
        pytest.param("..\\x", "C:\\b\\c", "file:///C:/b/x", id="a base on a drive")
        if os.name == "nt"
        else pytest.param("..\\x", "/b/c", "file:///b/x", id="backslashes"),
        pytest.param("./100%", "/b", "file:///b/100%25", id="a percent sign"),
        pytest.param("./a?b", "/b", "file:///b/a%3Fb", id="a question mark from a detector"),
        pytest.param(".x", "/b", None, id="a hidden name"),
        pytest.param("...", "/b", None, id="three dots"),
        pytest.param("//x", "/b", None, id="two slashes"),
        pytest.param("x/y", "/b", None, id="a bare name"),
        pytest.param("~/x", "/b", None, id="a home"),
        pytest.param("C:x", "/b", None, id="relative to a drive"),
    ],
)
def test_a_path(path: str, base: str | None, url: str | None) -> None:
    assert PathDetector().detect(Shorthand(path, None, base)) == url


@pytest.mark.parametrize(
    ("url", "word"),
    [
        pytest.param("file://h/x", "another host", id="a host"),
        pytest.param("file://localhost/x", "another host", id="localhost"),
        pytest.param("file://C:/x", "port", id="a drive as host"),
        pytest.param("file://", "no path", id="nothing"),
        pytest.param("file::https://h/x", "paths", id="another URL"),
        pytest.param("file:///a/../b", "'..'", id="dots"),
        pytest.param("file:///a/%2e%2e/b", "'..'", id="encoded dots"),
        pytest.param("file:///a%00b", "control", id="NUL"),
    ],
)
def test_a_url_that_is_refused(client: Client, url: str, word: str) -> None:
    assert word in refusal(AddressError, "address", client.detect, url).message


@pytest.mark.parametrize("url", ["file:///a/./b", "file:///a/b/", "file:///a/b/."])
def test_one_directory_has_one_address(client: Client, url: str) -> None:
    assert str(client.detect(url)) == "file:///a/b"


def test_a_directory_is_copied_and_left_alone(client: Client, source: Path, tmp_path: Path) -> None:
    before = snapshot(source)
    installed = client.get("./module", tmp_path / "dest", base=source)
    assert installed_files(tmp_path / "dest") == {**FILES, ".hidden": b"dot"}
    assert (installed.pinned, installed.id) == (None, installed.h1)
    (tmp_path / "dest" / "main.tf").write_bytes(b"edited")
    assert snapshot(source) == before


@pytest.mark.parametrize(
    ("repository", "source_of", "told"),
    [
        pytest.param("", "./module", "'.git' in", id="a checkout"),
        pytest.param("", "./module//sub", None, id="a part of a checkout"),
        pytest.param("sub", "./module//sub", "'sub/.git' in", id="a checkout in a directory"),
        pytest.param("sub", "./module", "'sub/.git' in", id="a directory with a checkout in it"),
    ],
)
def test_the_git_of_a_checkout_is_left_out_with_a_word(
    source: Path, tmp_path: Path, repository: str, source_of: str, told: str | None
) -> None:
    root = source / "module"
    (root / repository / ".git").mkdir()
    (root / repository / ".git" / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    said = Notices()
    first_party().get(source_of, tmp_path / "dest", base=source, progress=said)
    assert not [path for path in (tmp_path / "dest").rglob("*") if path.name == ".git"]
    assert [told is not None and told in each for each in said.said] == ([] if told is None else [True])


def test_an_archive_is_unpacked_and_pinned(client: Client, source: Path, tmp_path: Path) -> None:
    installed = client.get("./vpc.zip//sub", tmp_path / "dest", base=source)
    assert installed_files(tmp_path / "dest") == {"a.tf": b"# a\n", "deep/b.tf": b"# b\n"}
    assert installed.pinned == f"file://{source}/vpc.zip//sub?checksum=sha256:{ZIP_SHA256}"


@pytest.mark.parametrize(
    ("query", "name"), [("archive=false", "main.tf"), ("filename=other.tf", "other.tf")], ids=["archive", "filename"]
)
def test_a_single_file(client: Client, source: Path, tmp_path: Path, query: str, name: str) -> None:
    client.get(f"./main.tf?{query}", tmp_path / "dest", base=source)
    assert installed_files(tmp_path / "dest") == {name: b"# alone\n"}


def test_an_archive_that_stays_one(client: Client, source: Path, tmp_path: Path) -> None:
    client.get("./vpc.zip?archive=false", tmp_path / "dest", base=source)
    assert installed_files(tmp_path / "dest") == {"vpc.zip": ZIP}


@pytest.mark.parametrize("checksum", [f"sha256:{ZIP_SHA256}", ZIP_SHA256, "file:./SHA256SUMS"])
def test_a_checksum_that_holds(client: Client, source: Path, tmp_path: Path, checksum: str) -> None:
    installed = client.get(f"./vpc.zip?checksum={checksum}", tmp_path / "dest", base=source)
    assert installed.pinned == f"file://{source}/vpc.zip?checksum=sha256:{ZIP_SHA256}"
    assert [each.check for each in installed.evidence] == ["checksum"]


@pytest.mark.parametrize(
    ("what", "kind", "code"),
    [
        pytest.param("nowhere", NotFoundError, "not-found", id="nothing there"),
        pytest.param("main.tf/x", NotFoundError, "not-found", id="below a file"),
        pytest.param("main.tf", UnsupportedContentError, "unsupported-content", id="a file that is no archive"),
        pytest.param(f"vpc.zip?checksum={OTHER_SHA256}", DigestMismatchError, "digest-mismatch", id="a wrong checksum"),
        pytest.param("vpc.zip?checksum=file:./nowhere", NotFoundError, "not-found", id="no checksum file"),
        pytest.param("vpc.zip?checksum=file:./main.tf", VerificationError, "verification", id="no line for it"),
        pytest.param(
            "vpc.zip?checksum=file:./module", AddressError, "address", id="a checksum file that is a directory"
        ),
        pytest.param(f"module?checksum={ZIP_SHA256}", AddressError, "address", id="a checksum of a directory"),
        pytest.param("module?archive=zip", AddressError, "address", id="a directory as archive"),
        pytest.param("module?filename=x", AddressError, "address", id="a directory as single file"),
    ],
)
def test_what_is_refused(client: Client, source: Path, tmp_path: Path, what: str, kind: type, code: str) -> None:
    before = snapshot(tmp_path)
    error = refusal(kind, code, client.get, f"./{what}", tmp_path / "dest", base=source)
    assert error.hint, "somebody can do something about each of these"
    assert snapshot(tmp_path) == before


def test_an_archives_digest_is_nothing_to_expect_of_a_directory(client: Client, source: Path, tmp_path: Path) -> None:
    expect = f"sha256:{ZIP_SHA256}"
    error = refusal(ConfigError, "config", client.get, str(source / "module"), tmp_path / "dest", expect=expect)
    assert "--expect t1:" in (error.typed_hint or "")
    assert not (tmp_path / "dest").exists()


@pytest.mark.skipif(os.name == "nt", reason="no such files")
@pytest.mark.parametrize("inside", [False, True], ids=["itself", "in a directory"])
@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_a_special_file_is_refused_and_never_waited_for(
    client: Client, place: Path, kind: str, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "here").mkdir()
    monkeypatch.chdir(place / "here")
    if kind == "fifo":
        os.mkfifo("odd")
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("odd")
    before = snapshot(place)
    refusal(
        UnsafeContentError,
        "unsafe-content/special-file",
        client.get,
        "." if inside else "./odd",
        place / "dest",
        base=place / "here",
    )
    assert snapshot(place) == before


def test_a_device_is_refused(client: Client, tmp_path: Path) -> None:
    refusal(UnsafeContentError, "unsafe-content/special-file", client.get, "/dev/zero", tmp_path / "dest")
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_an_archive_is_followed_and_one_in_a_directory_is_not(
    client: Client, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "link.zip").symlink_to(source / "vpc.zip")
    assert client.get(str(tmp_path / "link.zip"), tmp_path / "dest").files == 4
    (source / "module" / "out").symlink_to("/etc/passwd")
    refusal(
        UnsafeContentError,
        "unsafe-content/link-escapes",
        client.get,
        str(source / "module"),
        tmp_path / "other",
    )
    assert not (tmp_path / "other").exists()


def test_what_other_runs_are_at_work_in_is_left_out(client: Client, source: Path, tmp_path: Path) -> None:
    module = source / "module"
    private = PrivateDirectory(module)
    private.create()
    (private.path / "half.tf").write_bytes(b"half")
    (module / ".getmodules-backup").mkdir()
    (module / ".getmodules-backup/main.tf").write_bytes(b"mine")
    (module / ".getmodules-0123456789abcdef").write_bytes(b"a file is none of ours")
    try:
        client.get(str(module), tmp_path / "dest")
    finally:
        private.remove()
    assert installed_files(tmp_path / "dest") == {
        **FILES,
        ".hidden": b"dot",
        ".getmodules-backup/main.tf": b"mine",
        ".getmodules-0123456789abcdef": b"a file is none of ours",
    }
