"""Which commit an address means."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from getmodules import NotFoundError
from getmodules.addresses.url import check_url
from getmodules.api.ports import Context
from getmodules.getters.git.environment import REMOTE, environment
from getmodules.getters.git.locate import _NOWHERE, Located, locate, refs_of, workshop_key
from getmodules.getters.git.remote import Remote
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.contexts import a_context
from tests.support.fakes import Notices
from tests.support.gitrepos import Repository, colliding
from tests.support.refusals import refusal
from tests.support.servers import replying, serving
from tests.support.tools import need


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    need("git")
    return Repository(tmp_path / "source.git")


@pytest.fixture
def context(tmp_path: Path) -> Context:
    workshop = tmp_path / "workshop"
    workshop.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    return a_context(workshop, environ=environ, network=ClientNetwork(NetSettings()))


def remote(repository: Repository) -> Remote:
    return Remote(check_url(f"file://{repository.path}"))


def test_a_whole_id_needs_nobody() -> None:
    assert locate(Remote(check_url("https://nowhere.invalid/r")), "AB" * 20, a_context()) == Located("ab" * 20)


def test_names(repository: Repository, context: Context) -> None:
    first = repository.commit_files({"a": b"1"})
    second = repository.commit_files({"a": b"2"}, first)
    repository.tag(repository.annotate(first, "v1"), "v1")
    assert locate(remote(repository), None, context) == Located(second, "refs/heads/main")
    assert locate(remote(repository), "v1", context) == Located(first, "refs/tags/v1")
    assert "main" in (refusal(NotFoundError, "not-found", locate, remote(repository), "mian", context).hint or "")


def test_a_repository_is_asked_once(repository: Repository, context: Context) -> None:
    first = repository.commit_files({"a": b"1"})
    assert locate(remote(repository), "main", context).commit == first
    repository.commit_files({"a": b"2"}, first)
    assert locate(remote(repository), "main", context).commit == first
    assert refs_of(remote(repository), context).tags() == []


def test_short_ids(repository: Repository, context: Context) -> None:
    """Also beside a tag of a tree, which git's own connectivity check stumbles over."""
    first = repository.commit_files({"a": b"1"})
    second = repository.commit_files({"a": b"2"}, first)
    repository.tag(repository.files({"a": b"1"}), "a-tree")
    assert locate(remote(repository), first[:7], context) == Located(first)
    assert locate(remote(repository), second[:12].upper(), context) == Located(second, "refs/heads/main")
    refusal(NotFoundError, "not-found", locate, remote(repository), "0123456", context)


@pytest.mark.parametrize("who", ["detached", "pull request", "before the detached", "annotated"])
def test_short_ids_of_what_no_branch_leads_to(who: str, repository: Repository, context: Context) -> None:
    first = repository.commit_files({"a": b"1"})
    before = repository.commit(repository.files({"a": b"2"}), first)
    detached = repository.commit(repository.files({"a": b"3"}), before)
    pulled, tagged = (repository.commit(repository.files({"a": name}), first) for name in (b"4", b"5"))
    (repository.path / "HEAD").write_text(detached + "\n")
    repository.ref("refs/pull/7/head", pulled)
    repository.ref("refs/other/x", repository.annotate(tagged, "x"))
    located = {
        "detached": Located(detached, "HEAD"),
        "pull request": Located(pulled, "refs/pull/7/head"),
        "before the detached": Located(before),
        "annotated": Located(tagged, "refs/other/x"),
    }[who]
    assert locate(remote(repository), located.commit[:8], context) == located


@pytest.mark.parametrize("kind", ["blob", "tree"])
def test_the_short_id_of_something_else_that_a_ref_names(kind: str, repository: Repository, context: Context) -> None:
    repository.commit_files({"a": b"1"})
    odd = repository.blob(b"2") if kind == "blob" else repository.files({"a": b"2"})
    repository.ref("refs/odd", odd)
    refusal(NotFoundError, "not-found", locate, remote(repository), odd[:8], context)


def test_more_digits_than_a_commit_has_are_looked_for_nowhere(repository: Repository, context: Context) -> None:
    repository.commit_files({"a": b"1"})
    refusal(NotFoundError, "not-found", locate, remote(repository), "1" * 41, context)
    with context.workshop(workshop_key(remote(repository))) as directory:
        assert list(directory.iterdir()) == []


def test_a_listed_id_that_begins_like_another_in_the_history(repository: Repository, context: Context) -> None:
    """The list alone would name one."""
    one, other = colliding(repository, 7)
    repository.ref("refs/pull/7/head", one)
    repository.commit_files({"a": b"1"}, other)
    error = refusal(NotFoundError, "not-found", locate, remote(repository), one[:7], context)
    assert "several" in error.message


@pytest.mark.parametrize("name", ["refs/heads/main", "HEAD"])
def test_short_ids_of_a_shallow_repository(name: str, repository: Repository, context: Context) -> None:
    """As a CI job has it: one commit, often without a branch."""
    first = repository.commit_files({"a": b"1"})
    second = repository.commit_files({"a": b"2"}, first)
    (repository.path / "shallow").write_text(second + "\n")
    repository.forget(first)
    if name == "HEAD":
        (repository.path / "HEAD").write_text(second + "\n")
        (repository.path / "refs" / "heads" / "main").unlink()
    assert locate(remote(repository), second[:8], context) == Located(second, name)
    refusal(NotFoundError, "not-found", locate, remote(repository), first[:8], context)


def test_an_ambiguous_id(repository: Repository, context: Context) -> None:
    one, other = colliding(repository, 7)
    repository.branch(one)
    repository.branch(other, "other")
    refusal(NotFoundError, "not-found", locate, remote(repository), one[:7], context)
    assert locate(remote(repository), one, context).commit == one


def test_a_tag_and_a_branch_of_one_name(repository: Repository, tmp_path: Path) -> None:
    notices = Notices()
    more: dict[str, Any] = {"progress": notices, "environ": {"PATH": os.environ["PATH"]}}
    first = repository.commit_files({"a": b"1"})
    repository.branch(repository.commit_files({"a": b"2"}, first), "both")
    repository.tag(first, "both")
    assert locate(remote(repository), "both", a_context(tmp_path, **more)).commit == first
    assert "tag" in notices.said[0]


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_an_empty_repository(algorithm: str, tmp_path: Path, context: Context) -> None:
    empty = Repository(tmp_path / "empty.git", algorithm=algorithm)
    error = refusal(NotFoundError, "not-found", locate, remote(empty), None, context)
    assert "push" in (error.hint or "")
    assert "'main'" in refusal(NotFoundError, "not-found", locate, remote(empty), "main", context).message


@pytest.mark.parametrize(
    ("status", "body"),
    [
        pytest.param("200 OK", b"<!doctype html><html><head><title>Sign in</title></head></html>", id="a page"),
        pytest.param("200 OK", b"<!doctype html>\n<html>Sign in</html>\n", id="a page, its last line ended"),
        pytest.param("200 OK", b'{"message":"Unauthorized"}', id="JSON"),
        pytest.param("200 OK", b"", id="nothing"),
        pytest.param("204 No Content", b"", id="nothing, said so"),
    ],
)
@pytest.mark.parametrize("ref", [None, "v1", "abcdef1"])
def test_what_is_no_repository(ref: str | None, status: str, body: bytes, context: Context) -> None:
    """For git a list that ends within its first line is an empty one."""
    need("git")
    with serving(replying(status, body, Content_Type="text/html")) as server:
        error = refusal(NotFoundError, "not-found", locate, Remote(check_url(f"{server.url}/r.git")), ref, context)
    assert "there is no repository" in error.message
    assert "is the address right?" in (error.hint or "")


def test_nowhere_is_no_repository_and_can_be_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is the current directory's, of which git would take the branch and the settings."""
    git = need("git")
    monkeypatch.chdir(Repository(tmp_path / ".git").path.parent)
    environ = environment({"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, _NOWHERE)
    done = subprocess.run([git, "rev-parse", "--git-dir"], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 128
    assert "not a git repository" in done.stderr
    # Everybody can see the remote's name, in git's command line.
    assert REMOTE not in str(_NOWHERE)
    assert _NOWHERE.parent == Path(_NOWHERE.anchor)
    assert not _NOWHERE.exists()


def test_a_workshop_is_named_without_a_password() -> None:
    assert workshop_key(Remote(check_url("https://ada:s3cr3t@h/r"))) == "git https://h/r"
