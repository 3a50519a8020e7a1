"""git asked in isolation, and what it says about revisions."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from getmodules.errors import (
    ConfigError,
    FetchError,
)
from getmodules.getters.oci import worktree as workgit
from getmodules.getters.oci.worktree import public_source, select
from tests.support.refusals import refusal
from tests.support.repositories import ENVIRON, FILES, context_with, git, names, needs_git, repository
from tests.support.snapshots import write_tree


@needs_git
def test_the_callers_git_variables_do_not_count(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    other = repository(tmp_path / "other", {"other.tf": ""})
    environ = {**ENVIRON, "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": "/x"}
    assert names(root, context_with(tmp_path, environ=environ)[0]) == set(FILES)


@needs_git
def test_nothing_that_the_repository_configures_runs(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    canary = tmp_path / "canary"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(hook))
    for name in ("post-index-change", "pre-commit", "post-checkout"):
        shutil.copy(hook, root / ".git/hooks" / name)
    os.utime(root / "main.tf", (1, 1))
    assert names(root, context_with(tmp_path)[0]) == set(FILES)
    assert not canary.exists()


def _filter(root: Path, command: str, *, name: str = "evil", key: str = "clean") -> None:
    write_tree(root, {".git/info/attributes": f"* filter={name}\n"})
    git(root, "config", f"filter.{name}.required", "true")
    with (root / ".git/config").open("a") as config:
        config.write(f'[filter "{name}"]\n\t{key} = "{command}; cat"\n')
    os.utime(root / "main.tf", (1, 1))


def _included_filter(root: Path, command: str) -> None:
    write_tree(root, {".git/more": f'[FILTER "Evil.x"]\n\tCLEAN = "{command}; cat"\n'})
    write_tree(root, {".git/info/attributes": "* filter=Evil.x\n"})
    git(root, "config", "include.path", "more")
    os.utime(root / "main.tf", (1, 1))


def _submodule(root: Path, command: str) -> None:
    inner = repository(root.parent / "inner", FILES)
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "mod")
    write_tree(root, {".getmodulesignore": "mod"})
    git(root, "commit", "-qam", "mod")
    git(root / "mod", "config", "filter.evil.clean", f"{command}; cat")
    write_tree(root, {".git/modules/mod/info/attributes": "* filter=evil\n"})
    os.utime(root / "mod/main.tf", (1, 1))


def _partial_clone(root: Path, command: str, missing: str = "HEAD^{tree}") -> None:
    for name, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", str(root)),
        ("remote.origin.uploadpack", f"sh -c '{command}'"),
        ("protocol.allow", "always"),
        ("protocol.file.allow", "always"),
    ):
        git(root, "config", name, value)
    lacking = git(root, "rev-parse", missing).decode().strip()
    (root / ".git/index").unlink()  # it remembers trees; what is staged in its place differs from the commit
    git(root, "add", "main.tf")
    (root / ".git/objects" / lacking[:2] / lacking[2:]).unlink()


@needs_git
@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(_filter, id="clean-filter"),
        pytest.param(partial(_filter, key="process"), id="filter-process"),
        pytest.param(partial(_filter, name="a=b"), id="filter-with-an-equals-sign-in-its-name"),
        pytest.param(partial(_filter, name="evil.clean"), id="filter-with-a-dot-in-its-name"),
        pytest.param(_included_filter, id="filter-of-an-included-file"),
        pytest.param(_submodule, id="filter-of-a-submodule"),
        pytest.param(_partial_clone, id="lazy-fetch-of-a-tree"),
        pytest.param(partial(_partial_clone, missing="HEAD"), id="lazy-fetch-of-the-commit"),
    ],
)
@pytest.mark.parametrize("lazy", ["git-knows-no-lazy-fetch", "git-of-today"])
def test_no_command_of_the_configuration_runs(
    tmp_path: Path, arrange: Any, lazy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "r", FILES)
    canary = tmp_path / "canary"
    arrange(root, f"touch {canary}")
    canary.unlink(missing_ok=True)  # to arrange it may have run it
    if lazy == "git-knows-no-lazy-fetch":
        real = workgit._environment
        monkeypatch.setattr(workgit, "_environment", lambda e: {**real(e), "GIT_NO_LAZY_FETCH": "0"})
    with suppress(FetchError):  # what is missing is an error, or there is no revision
        select(root, context_with(tmp_path)[0])
    assert not canary.exists()


@needs_git
def test_a_filter_that_had_no_say_leaves_the_revision(tmp_path: Path) -> None:
    """As that of git-lfs, which the user's configuration has for every repository."""
    root = repository(tmp_path / "r", FILES)
    for key, value in (("clean", "false"), ("process", "false"), ("required", "true")):
        git(root, "config", f"filter.lfs.{key}", value)
    os.utime(root / "main.tf", (1, 1))
    assert select(root, context_with(tmp_path)[0]).revision is not None


@needs_git
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_a_repository_of_somebody_else(place: Path) -> None:
    root = repository(place / "r", FILES)
    for path in (root, root / ".git"):
        os.chown(path, 12_345, 12_345)
    refusal(ConfigError, "config", select, root, context_with(place)[0])


@needs_git
def test_a_broken_repository_is_an_error_and_not_no_repository(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    (root / ".git/index").write_bytes(b"garbage")
    refusal(FetchError, "fetch/unreadable", select, root, context_with(tmp_path)[0])


def _moved_away(root: Path) -> Path:
    git(root, "worktree", "add", "-q", "../other", "-b", "other")
    root.rename(root.with_name("away"))
    return root.with_name("other")


def _without_head(root: Path) -> Path:
    (root / ".git/HEAD").unlink()
    return root


def _bare(root: Path) -> Path:
    git(root, "config", "core.bare", "true")
    return root


def _dangling(root: Path) -> Path:
    shutil.rmtree(root / ".git")
    (root / ".git").symlink_to(root.parent / "gone")
    return root


@needs_git
@pytest.mark.parametrize("below", ["", "sub"])
@pytest.mark.parametrize("damage", [_moved_away, _without_head, _bare, _dangling])
def test_a_repository_that_git_cannot_read_does_not_publish_what_is_untracked(
    tmp_path: Path, damage: Any, below: str
) -> None:
    root = damage(repository(tmp_path / "r", FILES))
    write_tree(root, {"sub/secret.tfvars": ""})
    error = refusal(ConfigError, "config", select, root / below, context_with(tmp_path)[0])
    assert "git" in error.message
    assert error.hint


def test_what_is_mounted_into_a_work_tree_is_a_part_of_it(tmp_path: Path) -> None:
    """git would look no further up than to where another file system begins."""
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nif [ "$GIT_DISCOVERY_ACROSS_FILESYSTEM" = 1 ]; then echo true; fi\n')
    program.chmod(0o755)
    context, _ = context_with(tmp_path, environ={"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"})
    assert workgit.WorktreeGit.of(tmp_path, context) is not None


@needs_git
@pytest.mark.parametrize("damage", [_without_head, _bare, lambda root: root])
def test_in_a_git_directory_itself_nothing_is_tracked(tmp_path: Path, damage: Any) -> None:
    root = damage(repository(tmp_path / "r", FILES))
    write_tree(root / ".git/modules.d", FILES)
    assert names(root / ".git/modules.d", context_with(tmp_path)[0]) == set(FILES)


# -------------------------------------------------------------------------------------------- revisions


@needs_git
def test_the_revision_of_a_clean_work_tree(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    git(root, "remote", "add", "origin", "https://user:s3cret@git.example.com/acme/vpc.git?token=s3cret")
    write_tree(root, {"untracked": ""})
    revision = select(root, context_with(tmp_path)[0]).revision
    assert revision is not None
    assert revision.commit == git(root, "rev-parse", "HEAD").decode().strip()
    assert revision.source == "https://git.example.com/acme/vpc"


@needs_git
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda root: write_tree(root, {"main.tf": "changed"}), id="changed"),
        pytest.param(lambda root: (write_tree(root, {"new.tf": ""}), git(root, "add", "new.tf")), id="staged"),
        pytest.param(lambda root: write_tree(root, {"elsewhere/x.tf": "changed"}), id="changed-elsewhere"),
    ],
)
def test_no_revision_of_anything_else(tmp_path: Path, change: Any) -> None:
    root = repository(tmp_path / "r", {**FILES, "elsewhere/x.tf": ""})
    assert select(root / "sub", context_with(tmp_path)[0]).revision is not None
    change(root)
    assert select(root / "sub", context_with(tmp_path)[0]).revision is None


@needs_git
@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_no_revision_where_git_was_told_not_to_look(tmp_path: Path, flag: str) -> None:
    root = repository(tmp_path / "r", {**FILES, "left-out.tf": "", ".getmodulesignore": "left-out.tf"})
    git(root, "update-index", "--skip-worktree", "left-out.tf")
    (root / "left-out.tf").unlink()
    assert select(root, context_with(tmp_path)[0]).revision is not None
    git(root, "update-index", flag, "main.tf")
    write_tree(root, {"main.tf": "changed"})
    assert select(root, context_with(tmp_path)[0]).revision is None


@needs_git
def test_no_revision_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "r")
    write_tree(tmp_path / "r", FILES)
    git(tmp_path / "r", "add", "-A")
    selection = select(tmp_path / "r", context_with(tmp_path)[0])
    assert (len(selection.members), selection.revision) == (3, None)


@pytest.mark.parametrize(
    ("origin", "public"),
    [
        pytest.param("https://h.example/a/b.git", "https://h.example/a/b", id="https"),
        pytest.param("https://tok3n@h.example:8443/a/b", "https://h.example:8443/a/b", id="token-and-port"),
        pytest.param("git@github.com:acme/vpc.git", "https://github.com/acme/vpc", id="scp-of-a-forge"),
        pytest.param("ssh://git@gitlab.com/acme/vpc.git", "https://gitlab.com/acme/vpc", id="ssh-of-a-forge"),
        pytest.param("git@h.example:a/b.git", "ssh://git@h.example/a/b.git", id="scp"),
        pytest.param("ssh://git:pw@h.example:22/a/b", "ssh://git@h.example:22/a/b", id="ssh-with-a-password"),
        pytest.param("git://h.example/a", "git://h.example/a", id="git"),
        pytest.param("/srv/git/vpc.git", None, id="path"),
        pytest.param("file:///srv/git/vpc.git", None, id="file"),
        pytest.param("../vpc", None, id="relative"),
        pytest.param("ext::sh -c id", None, id="command"),
        pytest.param("", None, id="none"),
        pytest.param("https://h.example/\x1b[2J", None, id="escape-sequence"),
        pytest.param("ssh://git@[host.example]:2222/x.git", None, id="brackets-around-a-name"),
        pytest.param("https://[bad/x.git", None, id="one-bracket"),
        pytest.param("ssh://git@[::1]:2222/x.git", "ssh://git@[::1]:2222/x.git", id="brackets-around-an-address"),
    ],
)
def test_the_source_as_others_may_read_it(origin: str, public: str | None) -> None:
    assert public_source(origin) == public
