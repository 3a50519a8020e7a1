"""Which commit an address means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from getmodules import NotFoundError
from getmodules.git.locate import Located, locate, refs_of, workshop_key
from getmodules.git.remote import Remote
from getmodules.ports import Context
from getmodules.url import check_url
from tests.contexts import a_context
from tests.fakes import Notices
from tests.gitrepos import Repository, colliding
from tests.refusals import refusal
from tests.tools import need


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    need("git")
    return Repository(tmp_path / "source.git")


@pytest.fixture
def context(tmp_path: Path) -> Context:
    workshop = tmp_path / "workshop"
    workshop.mkdir()
    return a_context(workshop, environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})


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
    assert locate(remote(repository), second[:12].upper(), context) == Located(second)
    refusal(NotFoundError, "not-found", locate, remote(repository), "0123456", context)


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


def test_a_workshop_is_named_without_a_password() -> None:
    assert workshop_key(Remote(check_url("https://ada:s3cr3t@h/r"))) == "git https://h/r"
