"""``.git`` in packages of every kind: left out with one notice; other spellings and repositories are refused."""

from __future__ import annotations

import base64
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from getmodules import (
    Blob,
    Client,
    ConfigError,
    DigestMismatchError,
    GetModulesError,
    InstallError,
    Kind,
    LimitExceededError,
    Limits,
    Member,
    Members,
    SubdirectoryNotFoundError,
    UnsafeContentError,
    hash_tree,
)
from getmodules.api import Layers
from tests.support.fakes import FakeGetter, client_with, installed_files, member, zip_of
from tests.support.gitplaces import Notices
from tests.support.refusals import refusal
from tests.support.sites import first_party
from tests.support.snapshots import snapshot

#: A path and its content; ``None`` is a directory, text the target of a link, and of a hard link with ``=`` before it.
Content = Mapping[str, bytes | str | None]
CONFIG = b"[core]\n\tfsmonitor = touch /tmp/pwned\n"
MODULE: Content = {"main.tf": b"# main\n", "sub/a.tf": b"# a\n"}


def tar_of(content: Content) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for name, what in content.items():
            made = tarfile.TarInfo(name)
            if what is None:
                made.type = tarfile.DIRTYPE
            elif isinstance(what, str):
                made.type = tarfile.LNKTYPE if what.startswith("=") else tarfile.SYMTYPE
                made.linkname = what.removeprefix("=")
            else:
                made.size = len(what)
            tar.addfile(made, io.BytesIO(what if isinstance(what, bytes) else b""))
    return target.getvalue()


def on_disk(root: Path, content: Content) -> None:
    for name, what in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if what is None:
            path.mkdir(exist_ok=True)
        elif isinstance(what, str):
            path.symlink_to(what)
        else:
            path.write_bytes(what)


def as_members(content: Content) -> Members:
    return Members(
        tuple(
            Member(name, Kind.DIRECTORY)
            if what is None
            else Member(name, Kind.SYMLINK, target=what)
            if isinstance(what, str)
            else member(name, what)
            for name, what in content.items()
        )
    )


def a_directory(place: Path, content: Content) -> tuple[Client, str]:
    on_disk(place / "source", content)
    return first_party(), str(place / "source")


def a_tar(place: Path, content: Content) -> tuple[Client, str]:
    (place / "a.tar.gz").write_bytes(tar_of(content))
    return first_party(), str(place / "a.tar.gz")


def a_plugin(place: Path, content: Content) -> tuple[Client, str]:
    return client_with(FakeGetter(answer=as_members(content))), "fake://package"


def a_zip(place: Path, content: Content) -> tuple[Client, str]:
    (place / "a.zip").write_bytes(zip_of({name: what for name, what in content.items() if isinstance(what, bytes)}))
    return first_party(), str(place / "a.zip")


def layers(place: Path, content: Content) -> tuple[Client, str]:
    """Two layers, the second of which has half of the files again."""
    names = list(content)
    parts = (content, {name: content[name] for name in names[len(names) // 2 :]})
    blobs = tuple(Blob(chunks=(tar_of(part),), format="tar.gz") for part in parts)
    return client_with(FakeGetter(answer=Layers(blobs=blobs))), "fake://package"


Source = Callable[[Path, Content], tuple[Client, str]]
SOURCES = [a_directory, a_tar, a_plugin, a_zip, layers]


def refused(
    kind: type[GetModulesError], code: str, client: Client, source: str, place: Path, **more: object
) -> GetModulesError:
    """The error of the installation, which leaves nothing behind."""
    beside = set(os.listdir(place))
    error = refusal(kind, code, client.get, source, place / "dest", **more)
    assert set(os.listdir(place)) == beside, "nothing is left"
    return error


# ----------------------------------------------------------------------------------------------------- what is left out


def h1_of(content: Content) -> str:
    lines = "".join(
        f"{sha256(what).hexdigest()}  {name}\n" for name, what in sorted(content.items()) if isinstance(what, bytes)
    )
    return "h1:" + base64.b64encode(sha256(lines.encode()).digest()).decode()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("extra", "notice"),
    [
        pytest.param({".git/config": CONFIG, ".git/hooks/x": b"#!/bin/sh\n"}, "'.git' in", id="a directory"),
        pytest.param({".git": b"gitdir: /tmp/evil\n"}, "'.git' in", id="a file"),
        pytest.param({"sub/.git/config": CONFIG}, "'sub/.git' in", id="below"),
        pytest.param({".git/a": CONFIG, "sub/.git": b"x", ".git/b": b"x"}, "(2 such names)", id="two of them"),
        pytest.param({".git/.GIT/config": CONFIG, ".git/git~1": b""}, "'.git' in", id="another spelling in it"),
        pytest.param({".git/HEAD": b"", ".git/objects/a": b"", ".git/refs/b": b""}, "'.git' in", id="a repository"),
        pytest.param({".git/refs/x": b"", ".git/refs/X": b""}, "'.git' in", id="a case pair in it"),
    ],
)
def test_it_is_left_out_with_one_notice(source: Source, extra: Content, notice: str, tmp_path: Path) -> None:
    client, address = source(tmp_path, {**MODULE, **extra})
    said = Notices()
    installed = client.get(address, tmp_path / "dest", progress=said)
    assert installed_files(tmp_path / "dest") == MODULE
    assert not [path for path in tmp_path.joinpath("dest").rglob("*") if path.name == ".git"]
    assert installed.h1 == installed.package_h1 == hash_tree(tmp_path / "dest") == h1_of(MODULE)
    assert len(said.said) == 1
    assert notice in said.said[0]
    assert "no .git is installed" in said.said[0]


@pytest.mark.parametrize("source", [a_directory, a_tar, a_plugin])
def test_a_link_of_that_name_and_a_directory_with_nothing_else(source: Source, tmp_path: Path) -> None:
    client, address = source(tmp_path, {**MODULE, ".git": "../elsewhere", "only/.git/config": CONFIG})
    client.get(address, tmp_path / "dest")
    assert snapshot(tmp_path / "dest").keys() == {"main.tf", "sub", "sub/a.tf", "only"}


def test_members_in_any_order(tmp_path: Path) -> None:
    content: Content = {
        ".git/config": CONFIG,
        ".git": None,
        "x/.git": None,
        "x/.git/y": b"",
        "main.tf": b"#",
        ".git/z": None,
    }
    for number, names in enumerate([list(content), list(reversed(content))]):
        (tmp_path / f"{number}.tar.gz").write_bytes(tar_of({name: content[name] for name in names}))
        first_party().get(f"{tmp_path}/{number}.tar.gz", tmp_path / f"dest{number}")
        assert snapshot(tmp_path / f"dest{number}").keys() == {"main.tf", "x"}


def test_digests_of_archives_are_of_all_their_bytes(tmp_path: Path) -> None:
    data = tar_of({**MODULE, ".git/config": CONFIG})
    (tmp_path / "a.tar.gz").write_bytes(data)
    digest = f"sha256:{sha256(data).hexdigest()}"
    installed = first_party().get(f"{tmp_path}/a.tar.gz?checksum={digest}", tmp_path / "dest", expect=digest)
    assert installed.id == digest
    assert installed.h1 == h1_of(MODULE)


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1"])
def test_a_single_file_of_that_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"gitdir: /tmp/evil\n")
    address = f"{tmp_path}/x?filename={name}"
    if name == ".git":
        said = Notices()
        first_party().get(address, tmp_path / "dest", progress=said)
        assert snapshot(tmp_path / "dest") == {}
        assert said.about("'.git' in the package is left out")
    else:
        refused(UnsafeContentError, "unsafe-content/dot-git", first_party(), address, tmp_path)


def test_what_is_below_the_git_of_a_directory_is_not_looked_at(tmp_path: Path) -> None:
    on_disk(tmp_path / "source", MODULE)
    (tmp_path / "source" / ".git").mkdir()
    os.mkfifo(tmp_path / "source" / ".git" / "fsmonitor--daemon.ipc")
    before = snapshot(tmp_path / "source")
    first_party().get(str(tmp_path / "source"), tmp_path / "dest", limits=replace(Limits(), entries=4))
    assert installed_files(tmp_path / "dest") == MODULE
    assert snapshot(tmp_path / "source") == before


# ------------------------------------------------------------------------------------------------------- subdirectories


@pytest.mark.parametrize("source", SOURCES)
def test_only_what_would_have_been_installed_is_told(source: Source, tmp_path: Path) -> None:
    client, address = source(tmp_path, {**MODULE, ".git/config": CONFIG, "sub/b/.git": b"x"})
    for number, subdir in enumerate(["sub", "s*", "sub/b"]):
        said, dest = Notices(), tmp_path / f"dest{number}"
        client.get(f"{address}//{subdir}", dest, progress=said)
        assert len(said.said) == 1
        assert "'sub/b/.git' in the package is left out" in said.said[0]
        assert ".git" not in "".join(snapshot(dest))


@pytest.mark.parametrize("subdir", [".git", ".git/hooks", "sub/.git"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_git_is_no_subdirectory_to_install(source: Source, subdir: str, tmp_path: Path) -> None:
    client, address = source(tmp_path, {**MODULE, f"{subdir}/config": CONFIG})
    error = refused(SubdirectoryNotFoundError, "subdirectory-not-found", client, f"{address}//{subdir}", tmp_path)
    assert "no .git is installed" in error.message


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "extra",
    [
        pytest.param({".GIT/config": CONFIG}, id="case"),
        pytest.param({"sub/.Git": b"gitdir: x\n"}, id="a file below"),
        pytest.param({"git~1/config": CONFIG}, id="short name"),
        pytest.param({"a/b/.g\u200cit/config": CONFIG}, id="what HFS+ ignores"),
        pytest.param({".git /config": CONFIG}, id="a blank"),
        pytest.param({".git./config": CONFIG}, id="a dot"),
        pytest.param({".git::$INDEX_ALLOCATION/config": CONFIG}, id="a stream"),
        pytest.param({"HEAD": b"ref: x\n", "config": CONFIG, "objects/x": b"", "refs/x": b""}, id="a repository"),
        pytest.param({"x/HEAD": b"x", "x/objects": b"", "x/refs": b""}, id="files instead of directories"),
        pytest.param({"x/refs/a": b"", "x/objects/b": b"", "x/Head": b"x"}, id="another order and case"),
        pytest.param({"HEAD": b"x", "commondir": b"/tmp/evil\n", "config.worktree": CONFIG}, id="commondir"),
    ],
)
def test_other_spellings_and_repositories_are_refused(source: Source, extra: Content, tmp_path: Path) -> None:
    client, address = source(tmp_path, {**MODULE, **extra})
    error = refused(UnsafeContentError, "unsafe-content/dot-git", client, address, tmp_path)
    assert error.exit_code == 3


@pytest.mark.parametrize("source", [a_directory, a_tar, a_plugin])
def test_links_make_a_repository_too(source: Source, tmp_path: Path) -> None:
    content: Content = {"x/HEAD": "../sub/a.tf", "x/objects": "../sub", "x/refs": "../sub", **MODULE}
    client, address = source(tmp_path, content)
    refused(UnsafeContentError, "unsafe-content/dot-git", client, address, tmp_path)


def test_a_repository_is_judged_in_what_is_installed(tmp_path: Path) -> None:
    bare: Content = {"x.git/HEAD": b"x", "x.git/objects/a": b"", "x.git/refs/b": b"", **MODULE}
    client, address = a_tar(tmp_path, bare)
    refused(UnsafeContentError, "unsafe-content/dot-git", client, f"{address}//x.git", tmp_path)
    client.get(f"{address}//sub", tmp_path / "sub")
    client.get(f"{address}//x.git/refs", tmp_path / "refs")


@pytest.mark.parametrize("how", ["--bare", "worktree"])
def test_what_git_itself_makes_is_refused(how: str, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    run = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", "-C", str(tmp_path)]
    subprocess.run([*run, "init", "-q", *(["--bare"] if how == "--bare" else []), "source"], check=True)
    source = tmp_path / "source"
    if how == "worktree":
        subprocess.run([*run, "-C", "source", "commit", "-q", "--allow-empty", "-m", "x"], check=True)
        subprocess.run([*run, "-C", "source", "worktree", "add", "-q", "../other"], check=True)
        source = source / ".git" / "worktrees" / "other"
    refused(UnsafeContentError, "unsafe-content/dot-git", first_party(), str(source), tmp_path)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param({".git/config": CONFIG, "l": ".git/config"}, "link-dangling", id="a link into it"),
        pytest.param({".git/config": CONFIG, "l": ".git"}, "link-dangling", id="a link to it"),
        pytest.param({".git/config": CONFIG, "sub/l": "../.git/../main.tf"}, "link-dangling", id="a link through it"),
        pytest.param({".git/config": CONFIG, "l": "=.git/config"}, "hardlink", id="a hard link into it"),
        pytest.param({"l": "=.GIT/config"}, "dot-git", id="a hard link into another spelling"),
    ],
)
def test_a_link_into_it_is_refused(content: Content, code: str, tmp_path: Path) -> None:
    client, address = a_tar(tmp_path, {**MODULE, **content})
    refused(UnsafeContentError, f"unsafe-content/{code}", client, address, tmp_path)


def test_what_lies_in_it_may_be_anything_and_is_never_opened(tmp_path: Path) -> None:
    def never() -> tuple[bytes, ...]:
        raise AssertionError("it is not read")

    odd = Members(
        (
            Member(".git/hard", Kind.HARDLINK, target="nowhere"),
            Member(".git/pipe", Kind.SPECIAL),
            Member(".git/config", size=5, open=never),
            Member(".git/config", open=never),
            member("main.tf", b"#"),
        )
    )
    client_with(FakeGetter(answer=odd)).get("fake://package", tmp_path / "dest")
    assert installed_files(tmp_path / "dest") == {"main.tf": b"#"}


@pytest.mark.parametrize(
    ("limit", "amount", "content"),
    [
        pytest.param("entries", 10, {f".git/{number}": b"" for number in range(10)}, id="entries"),
        pytest.param("entries", 10, {f"a/{number}/.git": b"" for number in range(6)}, id="of many directories"),
        pytest.param("total_bytes", 1 << 20, {".git/pack": bytes(1 << 20)}, id="bytes"),
    ],
)
@pytest.mark.parametrize("source", [a_tar, a_zip, a_plugin])
def test_what_is_left_out_counts(source: Source, limit: str, amount: int, content: Content, tmp_path: Path) -> None:
    client, address = source(tmp_path, {**MODULE, **content})
    limits = replace(Limits(), **{limit: amount})
    code = f"limit-exceeded/{limit.replace('_', '-')}"
    refused(LimitExceededError, code, client, address, tmp_path, limits=limits)


# ---------------------------------------------------------------------------------------------- hashes and destinations


def test_the_hash_of_a_directory_is_of_what_is_there(tmp_path: Path) -> None:
    client, address = a_directory(tmp_path, {**MODULE, ".git/config": CONFIG})
    there = hash_tree(tmp_path / "source")
    assert there == h1_of({**MODULE, ".git/config": CONFIG})
    error = refused(DigestMismatchError, "digest-mismatch", client, address, tmp_path, expect=there)
    assert "its .git is left out" in (error.hint or "")
    assert client.get(address, tmp_path / "dest", expect=h1_of(MODULE)).id == h1_of(MODULE)


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", "x/.git", ".git /", "x/../.git", ".g\u200cit"])
def test_it_is_no_destination(name: str, tmp_path: Path) -> None:
    client, address = a_tar(tmp_path, MODULE)
    before = set(os.listdir(tmp_path))
    error = refusal(ConfigError, "config", client.get, address, f"{tmp_path}/{name}")
    assert error.exit_code == 2
    assert set(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    "dest", [".git/hooks", ".git/x/y", "vendor/hooks", "vendor/x/y", ".GIT/x", "a/.git./x", "git~1/b"]
)
@pytest.mark.parametrize("force", [False, True])
def test_nothing_in_it_is_a_destination(dest: str, force: bool, tmp_path: Path) -> None:
    """Nor behind a link: a repository that was cloned may have one, and git runs what lies in its hooks."""
    client, address = a_tar(tmp_path, {"pre-commit": b"#!/bin/sh\n"})
    on_disk(tmp_path, {".git/hooks/sample": b"", "vendor": ".git", "a": None})
    before = snapshot(tmp_path)
    error = refusal(ConfigError, "config", client.get, address, tmp_path / dest, force=force)
    assert (error.exit_code, "is not a place for a module" in error.message) == (2, True)
    assert snapshot(tmp_path) == before


def test_a_nul_in_the_way_to_a_destination(tmp_path: Path) -> None:
    client, address = a_tar(tmp_path, MODULE)
    refusal(InstallError, "install", client.get, address, f"{tmp_path}/a\0b/c")
