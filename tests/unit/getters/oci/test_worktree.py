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


def _key(kind: str) -> str:
    return f"-----BEGIN {kind}-----\nMIIB\n-----END {kind}-----\n"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".terraform/modules/modules.json", id="what-terraform-downloaded"),
        pytest.param("example/.terraform/x", id="in-a-subdirectory"),
        pytest.param("terraform.tfstate", id="state"),
        pytest.param("example/x.tfstate.1670000.backup", id="its-backup"),
        pytest.param("terraform.tfstate.d/prod/terraform.tfstate", id="states-of-workspaces"),
        pytest.param(".env", id="environment"),
        pytest.param(".env.local", id="local-environment"),
        pytest.param("sub/.envrc", id="direnv"),
    ],
)
def test_what_may_be_secret_by_its_name_is_left_out_unless_it_is_meant(path: str, tmp_path: Path) -> None:
    write_tree(tmp_path / "d", {**FILES, path: "secret"})
    context, said = context_with(tmp_path)
    assert names(tmp_path / "d", context) == set(FILES)
    (notice,) = said
    assert notice.startswith("left out, since it may be secret: ")
    assert notice.endswith(" (!PATTERN in .getmodulesignore takes it in)")

    meant = "".join(f"!{part}\n" for part in path.split("/"))
    write_tree(tmp_path / "d", {".getmodulesignore": f"{meant}!.env*\n!*.tfstate*\n!.terraform/"})
    context, said = context_with(tmp_path)
    assert names(tmp_path / "d", context) == {*FILES, path, ".getmodulesignore"}
    assert said == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_key("PRIVATE KEY"), id="plain"),
        pytest.param(_key("RSA PRIVATE KEY"), id="rsa"),
        pytest.param(_key("EC PRIVATE KEY"), id="ec"),
        pytest.param(_key("OPENSSH PRIVATE KEY"), id="openssh"),
        pytest.param(_key("ENCRYPTED PRIVATE KEY"), id="encrypted"),
        pytest.param(_key("PGP PRIVATE KEY BLOCK"), id="openpgp"),
        pytest.param(_key("EC PARAMETERS") + _key("EC PRIVATE KEY"), id="after-its-parameters"),
        pytest.param("\ufeff\r\n" + _key("PRIVATE KEY"), id="after-a-mark-and-a-blank-line"),
        pytest.param(_key("PRIVATE KEY") + "x" * (1 << 20), id="before-much-else"),
    ],
)
def test_private_keys_are_left_out_unless_they_are_meant(text: str, tmp_path: Path) -> None:
    write_tree(tmp_path / "d", {**FILES, "sub/harmless": text})
    context, said = context_with(tmp_path)
    assert names(tmp_path / "d", context) == set(FILES)
    assert said == ["left out, since it may be secret: 'sub/harmless' (!PATTERN in .getmodulesignore takes it in)"]

    write_tree(tmp_path / "d", {".getmodulesignore": "!/sub/harmless"})
    context, said = context_with(tmp_path)
    assert names(tmp_path / "d", context) == {*FILES, "sub/harmless", ".getmodulesignore"}
    assert said == []


def test_public_keys_certificates_and_locks_stay_in(tmp_path: Path) -> None:
    files = {
        "id_ed25519.pub": "ssh-ed25519 AAAA",
        "ca.pem": _key("CERTIFICATE"),
        "key.pem": _key("PUBLIC KEY"),
        "notes.md": f"such as\n\n{_key('PRIVATE KEY')}",
        ".terraform.lock.hcl": "",
        "environment.tf": "",
        "tfstate.tf": "",
        "empty": "",
    }
    write_tree(tmp_path / "d", files)
    context, said = context_with(tmp_path)
    assert names(tmp_path / "d", context) == set(files)
    assert said == []


def test_logs_and_variables_are_published_and_named(tmp_path: Path) -> None:
    files = {
        "main.tf": "",
        "sub/crash.log": "",
        "crash.1.log": "",
        "x.tfvars": "",
        "y.auto.tfvars.json": "",
        "a.log": "",
    }
    write_tree(tmp_path / "d", files)
    context, said = context_with(tmp_path)
    assert names(tmp_path / "d", context) == set(files)
    (notice,) = said
    assert notice == (
        "in the package, and perhaps not for others: 'crash.1.log', 'sub/crash.log', 'x.tfvars', 'y.auto.tfvars.json' "
        "(PATTERN in .getmodulesignore leaves it out, !PATTERN says that it is meant)"
    )
    write_tree(tmp_path / "d", {".getmodulesignore": "!*.tfvars*\ncrash.*\n.getm*"})
    context, said = context_with(tmp_path)
    assert names(tmp_path / "d", context) == {"main.tf", "x.tfvars", "y.auto.tfvars.json", "a.log"}
    assert said == []


def test_no_notice_is_endless(tmp_path: Path) -> None:
    write_tree(tmp_path / "d", {"main.tf": "", **{f".env{number}": "" for number in range(7)}})
    context, said = context_with(tmp_path)
    names(tmp_path / "d", context)
    assert "'.env4' and 2 more (" in said[0]


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
def test_what_git_tracks_is_published_and_named_where_it_may_be_secret(tmp_path: Path) -> None:
    secret = {".env": "", "sub/.terraform/x": "", "key": _key("PRIVATE KEY"), "prod.tfvars": ""}
    root = repository(tmp_path / "r", {**FILES, **secret})
    context, said = context_with(tmp_path)
    assert names(root, context) == {*FILES, *secret}
    (notice,) = said
    assert notice.startswith(
        "in the package, and perhaps not for others: '.env', 'key', 'prod.tfvars', 'sub/.terraform/x' ("
    )
    write_tree(root, {".getmodulesignore": "!.env\n!key\n!*.tfvars\n!.terraform/"})
    git(root, "add", "-A")
    context, said = context_with(tmp_path)
    assert names(root, context) == {*FILES, *secret, ".getmodulesignore"}
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
