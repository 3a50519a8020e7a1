"""Addresses of git: what is refused before git is started, what is fetched, and what is pinned."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from getmodules import AddressError, Client, Gate, NotFoundError
from getmodules.getters.git.plugin import GitGetter, check_ref
from tests.support.contexts import a_context
from tests.support.gitrepos import Gitlink, Repository, modules
from tests.support.refusals import refusal, words_of
from tests.support.sites import NO_STRANGERS, first_party
from tests.support.tools import need

KEY = base64.b64encode(b"a private key").decode()


@pytest.mark.parametrize(
    "ref",
    [
        "main", "v1.0.0", "feature/x", "refs/tags/v1", "refs/heads/a/b", "a" * 40, "pkg@1.2.3", "1.0+build", "_x",
        "a=b", "a.lockfile", "x-", "HEAD",
    ],
)  # fmt: skip
def test_a_ref(ref: str) -> None:
    check_ref(ref)


@pytest.mark.parametrize(
    "ref",
    [
        pytest.param("", id="empty"),
        pytest.param("-x", id="an option"),
        pytest.param("--upload-pack=x", id="a long option"),
        pytest.param("a..b", id="a range"),
        pytest.param("HEAD@{1}", id="the reflog"),
        pytest.param("@", id="an @ alone"),
        pytest.param("a//b", id="two slashes"),
        pytest.param("/a", id="a slash in front"),
        pytest.param("a/", id="a slash behind"),
        pytest.param("a/.b", id="a hidden part"),
        pytest.param(".a", id="a dot in front"),
        pytest.param("a.", id="a dot behind"),
        pytest.param("a.lock", id="a lock"),
        pytest.param("a.lock/b", id="a lock in the middle"),
        pytest.param("a b", id="a blank"),
        pytest.param("a~1", id="a parent"),
        pytest.param("a^{}", id="peeled"),
        pytest.param("a:b", id="a refspec"),
        pytest.param("+a", id="a forced refspec"),
        pytest.param("a*", id="a glob"),
        pytest.param("a\\b", id="a backslash"),
        pytest.param("a\n", id="a line feed"),
        pytest.param("ä", id="beyond ASCII"),
        pytest.param("١", id="a digit of another script"),
    ],
)
def test_what_is_no_ref(ref: str) -> None:
    refusal(AddressError, "address", check_ref, ref)


@pytest.mark.parametrize(
    "source",
    [
        "git::https://h/r.git?ref=v1&depth=1&submodules=false",
        "git::https://h/r.git?submodules=true",
        f"git::ssh://git@h/r.git?sshkey={KEY}",
        "git::https://h/r.git?depth=999999999",
        "git::https://h:8443/r",
        "git::http://h/r",
        "git::git://h/r",
        "git::file:///srv/r.git",
        "git::ssh://git@h/~/r.git",
    ],
)
def test_an_address(source: str) -> None:
    assert str(first_party().detect(source)) == source


@pytest.mark.parametrize(
    ("source", "word"),
    [
        pytest.param("git::https://h/r?ref=a&ref=b", "twice", id="two refs"),
        pytest.param("git::https://h/r?depth=0", "depth", id="depth 0"),
        pytest.param("git::https://h/r?depth=-1", "depth", id="negative depth"),
        pytest.param("git::https://h/r?depth=", "depth", id="empty depth"),
        pytest.param("git::https://h/r?depth=1e3", "depth", id="an exponent"),
        pytest.param("git::https://h/r?depth=9999999999", "depth", id="an endless depth"),
        pytest.param("git::https://h/r?depth=%D9%A3", "depth", id="a digit of another script"),
        pytest.param("git::https://h/r?submodules=True", "submodules", id="submodules=True"),
        pytest.param("git::https://h/r?submodules=1", "submodules", id="submodules=1"),
        pytest.param("git::https://h/r?submodules=", "submodules", id="submodules, empty"),
        pytest.param("git::https://h/r?branch=x", "branch", id="an unknown argument"),
        pytest.param(f"git::https://h/r?sshkey={KEY}", "ssh://", id="a key for https"),
        pytest.param("git::ssh://h/r?sshkey=", "base64", id="an empty key"),
        pytest.param("git::ssh://h/r?sshkey=%25", "base64", id="a key that is not base64"),
        pytest.param("git::ssh://h/r?sshkey=%C3%A9", "base64", id="a key beyond ASCII"),
        pytest.param("git::ext://sh/x", "transport", id="ext"),
        pytest.param("git::fd://x/y", "transport", id="fd"),
        pytest.param("git::ftp://h/r", "transport", id="ftp"),
        pytest.param("git::s3://h/r", "transport", id="s3"),
        pytest.param("git::https://h", "no repository", id="only a host"),
        pytest.param("git::https://h/", "no repository", id="only a host and a slash"),
        pytest.param("git::https:///r", "names a host", id="no host"),
        pytest.param("git::file://h/r", "names a host", id="a file on another host"),
        pytest.param("git::file:///", "no repository", id="the root directory"),
    ],
)
def test_an_address_that_is_refused(source: str, word: str) -> None:
    error = refusal(AddressError, "address", first_party().detect, source)
    assert word in error.message
    assert KEY not in words_of(error)


# --------------------------------------------------------------------------------------------- fetching


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    need("git")
    return Repository(tmp_path / "source.git")


def a_client(tmp_path: Path) -> Client:
    return Client(environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **NO_STRANGERS})


def test_a_commit_is_the_identity(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit_files({"main.tf": b"# main\n"})
    repository.tag(repository.annotate(commit, "v1"), "v1")
    source = f"git::file://{repository.path}?depth=7&ref=v1"
    with a_client(tmp_path) as client:
        installed = client.get(source, tmp_path / "dest")
        assert client.resolve(source).pinned == installed.pinned
    assert installed.pinned == f"git::file://{repository.path}?ref={commit}"
    assert installed.id == commit
    assert installed.digests == {"commit": commit, "tree": repository.files({"main.tf": b"# main\n"})}
    assert [path.name for path in (tmp_path / "dest").iterdir()] == ["main.tf"]


@pytest.mark.parametrize(
    ("ref", "demanded"),
    [
        pytest.param("v1", [], id="a tag"),
        pytest.param("c0ffee00", [], id="the beginning of a commit"),
        pytest.param("ab" * 20, ["ab" * 20], id="a commit"),
        pytest.param("AB" * 32, ["ab" * 32], id="a commit by sha256, in capitals"),
    ],
)
def test_a_commit_is_demanded_where_it_is_named(ref: str, demanded: list[str]) -> None:
    """So that nothing else that is said of the address, by a store for example, counts as it."""
    package = first_party().detect(f"git::https://h/x?ref={ref}").package
    assert [(demand.gate, demand.value) for demand in GitGetter().demands(package)] == [
        (Gate.PIN, commit) for commit in demanded
    ]


def test_a_pin_keeps_what_shapes_the_tree_and_no_secret() -> None:
    source = "git::https://ada:s3cr3t@h/r.git//sub?submodules=false&depth=3&ref=" + "ab" * 20
    resolved = first_party().resolve(source)
    assert resolved.pinned == f"git::https://h/r.git//sub?ref={'ab' * 20}&submodules=false"
    assert "s3cr3t" not in str(resolved)
    keyed = first_party().resolve(f"git::ssh://git@h/r.git?sshkey={KEY}&ref={'AB' * 20}")
    assert keyed.pinned == f"git::ssh://git@h/r.git?ref={'ab' * 20}"


def test_submodules_are_fetched_unless_they_are_not_wanted(repository: Repository, tmp_path: Path) -> None:
    lib = Repository(tmp_path / "lib.git").commit_files({"lib.tf": b"# lib\n"})
    files = {".gitmodules": modules(lib={"path": "lib", "url": "../lib.git"}), "lib": Gitlink(lib)}
    repository.commit_files(files)
    with a_client(tmp_path) as client:
        client.get(f"git::file://{repository.path}", tmp_path / "with")
        client.get(f"git::file://{repository.path}?submodules=false", tmp_path / "without")
        written = client.get(f"git::file://{repository.path}?submodules=true", tmp_path / "written-out")
        again = client.get(str(written.pinned), tmp_path / "again")
    assert "submodules=" not in str(written.pinned)
    for dest in ("written-out", "again"):
        assert (tmp_path / dest / "lib" / "lib.tf").read_bytes() == b"# lib\n"
    assert again.h1 == written.h1
    assert (tmp_path / "with" / "lib" / "lib.tf").read_bytes() == b"# lib\n"
    assert not (tmp_path / "without" / "lib").exists()


def test_versions_are_tags(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit_files({"main.tf": b"# main\n"})
    repository.tag(commit, "v1.0.0")
    repository.tag(repository.annotate(commit, "v1.1.0"), "v1.1.0")
    package = first_party().detect(f"git::file://{repository.path}").package
    context = a_context(environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    assert list(GitGetter().versions(package, context)) == ["v1.0.0", "v1.1.0"]


def test_a_failure_leaves_nothing(repository: Repository, tmp_path: Path) -> None:
    repository.commit_files({"main.tf": b"# main\n"})
    with a_client(tmp_path) as client:
        source = f"git::file://{repository.path}?ref={'12' * 20}"
        refusal(NotFoundError, "not-found", client.get, source, tmp_path / "dest")
    assert not (tmp_path / "dest").exists()
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".getmodules-")]
