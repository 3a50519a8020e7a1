"""What of a directory is published: names from git's index, contents from the work tree."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from getmodules.api.limits import Limits
from getmodules.errors import (
    FetchError,
    GetModulesError,
    LimitExceededError,
    NotFoundError,
    UnsupportedContentError,
)
from getmodules.files.private import PrivateDirectory
from getmodules.getters.oci import worktree
from getmodules.getters.oci.worktree import select
from tests.support.refusals import refusal
from tests.support.repositories import FILES, context_with, git, names, needs_git, repository
from tests.support.snapshots import write_tree

# ------------------------------------------------------------------------------------------ without git


def test_outside_of_a_work_tree_everything_but_git(tmp_path: Path) -> None:
    write_tree(tmp_path / "d", {**FILES, "x.log": "", "more/.git/config": "", "sub/.git": "gitdir: x"})
    write_tree(tmp_path / "d", {".GIT/config": "", "git~1": "", "sub/.g\u200cit/config": ""})
    context, said = context_with(tmp_path)
    assert names(tmp_path / "d", context) == {*FILES, "x.log"}
    assert said == []


def test_what_other_runs_are_at_work_in_is_not_published(tmp_path: Path) -> None:
    write_tree(tmp_path / "d", {"main.tf": "", ".getmodules-backup/main.tf": ""})
    private = PrivateDirectory(tmp_path / "d")
    private.create()
    try:
        (private.path / "half.tf").write_bytes(b"half")
        assert names(tmp_path / "d", context_with(tmp_path)[0]) == {"main.tf", ".getmodules-backup/main.tf"}
    finally:
        private.remove()


def test_the_ignore_file_counts_without_git_too(tmp_path: Path) -> None:
    write_tree(
        tmp_path / "d", {**FILES, ".getmodulesignore": "sub/\n.*\n!.gitignore\n", "sub/.getmodulesignore": "!a.tf"}
    )
    assert names(tmp_path / "d", context_with(tmp_path)[0]) == {"main.tf", ".gitignore"}


def test_an_ignore_file_behind_a_link_is_not_read(tmp_path: Path) -> None:
    write_tree(tmp_path, {"d/main.tf": "", "elsewhere": "main.tf"})
    (tmp_path / "d/.getmodulesignore").symlink_to("../elsewhere")
    error = refusal(FetchError, "fetch/unreadable", select, tmp_path / "d", context_with(tmp_path)[0])
    assert error.message.endswith(".getmodulesignore' is a link")
    assert error.hint


def test_without_git_there_is_a_notice_where_it_would_have_mattered(tmp_path: Path) -> None:
    write_tree(tmp_path / "d", {**FILES, ".git/config": ""})
    context, said = context_with(tmp_path, environ={"PATH": str(tmp_path)})
    assert names(tmp_path / "d", context) == set(FILES)
    assert len(said) == 1
    assert "git is not installed" in said[0]


def test_too_many_files_are_not_even_listed(tmp_path: Path) -> None:
    write_tree(tmp_path / "d", FILES)
    context, _ = context_with(tmp_path, limits=Limits(entries=2))
    refusal(LimitExceededError, "limit-exceeded/entries", select, tmp_path / "d", context)


@pytest.mark.parametrize(
    ("path", "kind", "code"),
    [
        pytest.param("nothing", NotFoundError, "not-found", id="not-there"),
        pytest.param("file", UnsupportedContentError, "unsupported-content", id="a-file"),
    ],
)
def test_what_is_no_directory(tmp_path: Path, path: str, kind: type[GetModulesError], code: str) -> None:
    (tmp_path / "file").write_text("")
    refusal(kind, code, select, tmp_path / path, context_with(tmp_path)[0])


# --------------------------------------------------------------------------------------------- with git


@needs_git
def test_only_what_git_tracks_with_a_notice_of_the_rest(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    write_tree(root, {"new.tf": "", "more/x.tf": "", "a.log": "ignored by git, so nobody misses it"})
    context, said = context_with(tmp_path)
    assert names(root, context) == set(FILES)
    assert said == ["left out, since git does not track it: 'more/x.tf' and 1 more"]


@needs_git
def test_what_the_ignore_file_names_is_not_missed(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {**FILES, ".getmodulesignore": "/sub/\nnew.tf\n.*ignore"})
    write_tree(root, {"new.tf": ""})
    context, said = context_with(tmp_path)
    assert names(root, context) == {"main.tf"}
    assert said == []


@needs_git
def test_names_from_the_index_contents_from_the_work_tree(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    write_tree(root, {"main.tf": "# changed\n", "staged.tf": ""})
    git(root, "add", "staged.tf")
    selection = select(root, context_with(tmp_path)[0])
    content = {member.name: b"".join(member.open()) for member in selection.members}
    assert content["main.tf"] == b"# changed\n"
    assert "staged.tf" in content
    assert selection.revision is None


@needs_git
def test_a_subdirectory_of_a_work_tree(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {**FILES, "sub/deep/b.tf": "", "sub/größe \n.tf": ""})
    assert names(root / "sub", context_with(tmp_path)[0]) == {"a.tf", "deep/b.tf", "größe \n.tf"}


def _missing(root: Path) -> None:
    (root / "sub/a.tf").unlink()


def _directory_instead(root: Path) -> None:
    (root / "main.tf").unlink()
    (root / "main.tf").mkdir()


def _file_instead_of_parent(root: Path) -> None:
    shutil.rmtree(root / "sub")
    (root / "sub").write_text("")


def _link_instead_of_parent(root: Path) -> None:
    (root / "sub").rename(root.parent / "moved")
    (root / "sub").symlink_to(root.parent / "moved")


@needs_git
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_missing, id="missing"),
        pytest.param(_directory_instead, id="a-directory-now"),
        pytest.param(_file_instead_of_parent, id="its-directory-is-a-file-now"),
        pytest.param(_link_instead_of_parent, id="its-directory-is-a-link-now"),
    ],
)
def test_a_tracked_file_that_is_not_there_is_named(tmp_path: Path, change: Any) -> None:
    root = repository(tmp_path / "r", FILES)
    change(root)
    error = refusal(NotFoundError, "not-found", select, root, context_with(tmp_path)[0])
    assert "main.tf" in error.message or "sub/a.tf" in error.message


@needs_git
def test_a_directory_that_becomes_a_link_after_it_was_listed_is_not_read(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    members = {member.name: member for member in select(root, context_with(tmp_path)[0]).members}
    _link_instead_of_parent(root)
    refusal(FetchError, "fetch/unreadable", lambda: list(members["sub/a.tf"].open()))


@needs_git
def test_a_directory_that_becomes_a_link_between_two_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "r", {**FILES, "sub/b.tf": "", "sub/c.tf": ""})
    real = worktree.member_at

    def swap_after_the_first(*arguments: Any) -> Any:
        member = real(*arguments)
        if member.name == "sub/a.tf":
            _link_instead_of_parent(root)
        return member

    monkeypatch.setattr(worktree, "member_at", swap_after_the_first)
    error = refusal(NotFoundError, "not-found", select, root, context_with(tmp_path)[0])
    assert "'sub/b.tf'" in error.message


@needs_git
def test_a_name_that_leads_out_is_not_looked_at(tmp_path: Path) -> None:
    """git refuses to add such a name; in an index that somebody else has written it lists it."""
    root = repository(tmp_path / "r", {"dd/file": ""})
    (tmp_path / "file").write_text("secret")
    index = root / ".git/index"
    body = index.read_bytes()[:-20].replace(b"dd/file", b"../file")
    index.write_bytes(body + hashlib.sha1(body).digest())
    refusal(FetchError, "fetch/unreadable", select, root, context_with(tmp_path)[0])


@needs_git
def test_a_submodule_is_refused_unless_it_is_left_out(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner", FILES)
    root = repository(tmp_path / "r", FILES)
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "mod")
    context, _ = context_with(tmp_path)
    error = refusal(UnsupportedContentError, "unsupported-content", select, root, context)
    assert "'mod'" in error.message
    write_tree(root, {".getmodulesignore": "mod"})
    assert names(root, context) == {*FILES, ".gitmodules"}


@needs_git
def test_a_conflict_is_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    git(root, "checkout", "-q", "-b", "b")
    write_tree(root, {"main.tf": "b"})
    git(root, "commit", "-qam", "b")
    git(root, "checkout", "-q", "main")
    write_tree(root, {"main.tf": "c"})
    git(root, "commit", "-qam", "c")
    with pytest.raises(Exception, match="merge"):
        git(root, "merge", "b")
    refusal(UnsupportedContentError, "unsupported-content", select, root, context_with(tmp_path)[0])
