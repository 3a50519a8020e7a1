from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.errors import DestinationExistsError, InstallError
from getmodules.files.staging import Destination
from tests.support.processes import as_each_user, bind_mount, in_mount_namespace
from tests.support.snapshots import snapshot


def check(dest: Path, *, force: bool = False, source_root: Path | None = None) -> None:
    Destination.from_path(dest, force=force, source_root=source_root).check()


def refused(
    kind: type[InstallError], code: str, dest: Path, *, force: bool = False, source_root: Path | None = None
) -> InstallError:
    """``check`` refuses with this class and code, and nothing around the destination changes."""
    before = snapshot(dest.parent)
    with pytest.raises(InstallError) as caught:
        check(dest, force=force, source_root=source_root)
    assert (type(caught.value), caught.value.code) == (kind, code)
    assert snapshot(dest.parent) == before
    return caught.value


# ------------------------------------------------------------------------------------------ what may be used


def absent(dest: Path) -> None:
    pass


def empty(dest: Path) -> None:
    dest.mkdir()


def parents_absent(dest: Path) -> None:
    dest.parent.rmdir()


@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
@pytest.mark.parametrize("prepare", [absent, empty, parents_absent], ids=lambda f: f.__name__)
def test_what_is_free_is_fine(prepare: Callable[[Path], None], force: bool, tmp_path: Path) -> None:
    dest = tmp_path / "parent" / "dest"
    dest.parent.mkdir()
    prepare(dest)
    check(dest, force=force)


def test_what_is_moved_away_in_this_moment_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by another run that replaces it in two steps."""
    (tmp_path / "dest").mkdir()

    def too_late(path: Path) -> None:
        path.rename(tmp_path / "old")
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "scandir", too_late)
    check(tmp_path / "dest", force=True)
    assert (tmp_path / "old").is_dir()


def full(dest: Path) -> None:
    dest.mkdir()
    (dest / "file").write_text("mine")


def only_a_hidden_file(dest: Path) -> None:
    dest.mkdir()
    (dest / ".hidden").touch()


@pytest.mark.parametrize("prepare", [full, only_a_hidden_file], ids=lambda f: f.__name__)
def test_an_ordinary_directory_needs_force(prepare: Callable[[Path], None], tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    prepare(dest)
    error = refused(DestinationExistsError, "destination-exists", dest)
    assert error.typed_hint == "--force replaces this directory"
    check(dest, force=True)


# ---------------------------------------------------------------------------------------- what is never replaced


def file(dest: Path) -> None:
    dest.write_text("mine")


def link_to_a_directory(dest: Path) -> None:
    (dest.parent / "target").mkdir()
    dest.symlink_to("target")


def link_to_a_full_directory(dest: Path) -> None:
    link_to_a_directory(dest)
    (dest / "file").write_text("mine")


def link_to_a_file(dest: Path) -> None:
    (dest.parent / "target").write_text("mine")
    dest.symlink_to("target")


def dangling_link(dest: Path) -> None:
    dest.symlink_to("nowhere")


def link_to_itself(dest: Path) -> None:
    dest.symlink_to(dest.name)


def fifo(dest: Path) -> None:
    os.mkfifo(dest)


def unix_socket(dest: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(dest.parent, os.O_RDONLY)
        os.fchdir(here)  # a socket's path must be short
        os.close(here)
        server.bind(dest.name)


def git_work_tree(dest: Path) -> None:
    (dest / ".git").mkdir(parents=True)


def git_submodule(dest: Path) -> None:
    dest.mkdir()
    (dest / ".git").write_text("gitdir: ../.git/modules/x")


def hg_work_tree(dest: Path) -> None:
    (dest / ".hg").mkdir(parents=True)


def svn_work_tree(dest: Path) -> None:
    (dest / ".svn").mkdir(parents=True)


def work_tree_below(dest: Path) -> None:
    (dest / "wt" / ".git").mkdir(parents=True)


def work_trees_far_below(dest: Path) -> None:
    (dest / "clients" / "acme" / "wt").mkdir(parents=True)
    (dest / "clients" / "acme" / "wt" / ".git").write_text("gitdir: elsewhere")


NEVER_REPLACED = [
    pytest.param(file, "a file", id="file"),
    pytest.param(link_to_a_directory, "a symbolic link", id="link-to-a-directory"),
    pytest.param(link_to_a_full_directory, "a symbolic link", id="link-to-a-full-directory"),
    pytest.param(link_to_a_file, "a symbolic link", id="link-to-a-file"),
    pytest.param(dangling_link, "a symbolic link", id="dangling-link"),
    pytest.param(link_to_itself, "a symbolic link", id="link-to-itself"),
    pytest.param(fifo, "a special file", id="fifo"),
    pytest.param(unix_socket, "a special file", id="socket"),
    pytest.param(git_work_tree, "a .git", id="git-work-tree"),
    pytest.param(git_submodule, "a .git", id="git-submodule"),
    pytest.param(hg_work_tree, "a .hg", id="hg-work-tree"),
    pytest.param(svn_work_tree, "a .svn", id="svn-work-tree"),
    pytest.param(work_tree_below, "a work tree inside ('wt' has a .git)", id="work-tree-below"),
    pytest.param(work_trees_far_below, "a work tree inside ('clients/acme/wt' has a .git)", id="work-tree-far-below"),
]


@pytest.mark.parametrize(("prepare", "what"), NEVER_REPLACED)
def test_what_is_never_replaced(
    prepare: Callable[[Path], None], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dest = tmp_path / "dest"
    prepare(dest)
    error = refused(DestinationExistsError, "destination-exists", dest)
    assert "--force" not in (error.hint or "")
    assert what in refused(InstallError, "install/protected", dest, force=True).message


@pytest.mark.parametrize(
    "work_tree",
    [
        pytest.param("1/2/3/4", id="deeper-than-is-looked"),
        pytest.param("z/wt", id="after-more-entries-than-are-looked-at"),
    ],
)
def test_the_search_for_work_trees_ends(work_tree: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getmodules.files.staging._MOST_ENTRIES", 5)
    dest = tmp_path / "dest"
    (dest / work_tree / ".git").mkdir(parents=True)
    for number in range(5):
        (dest / work_tree.split("/", maxsplit=1)[0] / f"file{number}").touch()
    check(dest, force=True)


def test_the_root_of_a_work_tree_is_known_among_any_number_of_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getmodules.files.staging._MOST_ENTRIES", 0)
    git_work_tree(tmp_path / "dest")
    refused(InstallError, "install/protected", tmp_path / "dest", force=True)


def test_a_work_tree_behind_a_link_is_not_inside(tmp_path: Path) -> None:
    git_work_tree(tmp_path / "wt")
    full(tmp_path / "dest")
    (tmp_path / "dest" / "link").symlink_to("../wt")
    check(tmp_path / "dest", force=True)


@as_each_user
def test_what_may_not_be_searched_for_work_trees_is_passed_over(place: Path) -> None:
    full(place / "dest")
    (place / "dest" / "closed").mkdir(mode=0o000)
    check(place / "dest", force=True)


@pytest.mark.parametrize("above", [0, 1, 2], ids=["itself", "its-parent", "above-that"])
def test_the_home_directory_and_what_is_above_are_never_replaced(
    above: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "x" / "homes" / "me"
    home.mkdir(parents=True)
    (home / "diary").touch()
    monkeypatch.setenv("HOME", str(home))
    dest = (home, *home.parents)[above]
    assert "home directory" in refused(InstallError, "install/protected", dest, force=True).message
    link = tmp_path / "link"
    link.symlink_to("x/homes")
    monkeypatch.setenv("HOME", str(link / "me"))
    refused(InstallError, "install/protected", dest, force=True)
    check(home / "module", force=True)


@as_each_user
def test_without_a_home_the_rest_still_holds(place: Path) -> None:
    os.environ.pop("HOME", None)
    git_work_tree(place / "dest")
    refused(InstallError, "install/protected", place / "dest", force=True)
    full(place / "other")
    check(place / "other", force=True)


@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
def test_who_stands_in_an_empty_directory_keeps_it(
    force: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    error = refused(InstallError, "install/protected", Path("../here"), force=force)
    assert "current directory" in error.message
    assert "cd .." in (error.hint or "")


@pytest.mark.parametrize("spelled", [".", "..", "../here", "below/.."])
def test_the_current_directory_and_what_is_above_are_never_replaced(
    spelled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "x" / "here"
    (here / "below").mkdir(parents=True)
    monkeypatch.chdir(here)
    error = refused(InstallError, "install/protected", Path(spelled), force=True)
    assert "current directory" in error.message


def test_the_root_is_never_replaced() -> None:
    for force, kind, code in (
        (False, DestinationExistsError, "destination-exists"),
        (True, InstallError, "install/protected"),
    ):
        with pytest.raises(InstallError) as caught:
            check(Path("/"), force=force)
        assert (type(caught.value), caught.value.code) == (kind, code)
    assert "root of the file system" in caught.value.message


def test_a_mount_point_is_never_replaced() -> None:
    mounted = next(path for path in (Path("/proc"), Path("/dev")) if os.path.ismount(path))
    with pytest.raises(InstallError, match="a mount point") as caught:
        check(mounted, force=True)
    assert caught.value.code == "install/protected"


def test_a_bind_mount_is_a_mount_point_too_even_empty_and_with_an_odd_name(tmp_path: Path) -> None:
    def work() -> None:
        outside, dest = tmp_path / "outside", tmp_path / "dest with\nodd \\ name"
        outside.mkdir()
        dest.mkdir()
        bind_mount(outside, dest)
        for force in (False, True):
            assert "mount point" in refused(InstallError, "install/protected", dest, force=force).message
        (outside / "file").touch()
        error = refused(DestinationExistsError, "destination-exists", dest)
        assert "--force" not in (error.hint or "")
        refused(InstallError, "install/protected", dest, force=True)

    in_mount_namespace(work)


def test_a_directory_with_a_mount_inside_is_never_replaced(tmp_path: Path) -> None:
    def work() -> None:
        outside, inside = tmp_path / "outside", tmp_path / "dest" / "data"
        outside.mkdir()
        inside.mkdir(parents=True)
        (tmp_path / "dest-2").mkdir()
        (tmp_path / "dest-2" / "file").touch()
        bind_mount(outside, inside)
        error = refused(InstallError, "install/protected", tmp_path / "dest", force=True)
        assert str(inside) in error.message
        check(tmp_path / "dest-2", force=True)

    in_mount_namespace(work)


# -------------------------------------------------------------------------------------------------- the source


@pytest.mark.parametrize(
    ("dest", "relation"),
    [
        pytest.param("repo/source", "is the source itself", id="itself"),
        pytest.param("repo/source/new", "inside the source", id="in-it"),
        pytest.param("repo/source/sub", "inside the source", id="a-directory-in-it"),
        pytest.param("repo/source/absent/new", "inside the source", id="in-it-with-absent-parents"),
        pytest.param("repo/source/sub/../new", "inside the source", id="in-it-with-dots"),
        pytest.param("link/new", "inside the source", id="in-it-through-a-link"),
        pytest.param("link/sub/new", "inside the source", id="in-it-through-a-link-and-below"),
        pytest.param("repo", "contains the source", id="its-parent"),
        pytest.param("repo/source/..", "contains the source", id="its-parent-with-dots"),
    ],
)
@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
@pytest.mark.parametrize("named", ["repo/source", "link", "repo/../repo/source"], ids=["plainly", "link", "dots"])
def test_a_destination_has_nothing_to_do_with_its_source(
    dest: str, relation: str, force: bool, named: str, tmp_path: Path
) -> None:
    (tmp_path / "repo" / "source" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("repo/source")
    source = tmp_path / named
    error = refused(InstallError, "install/inside-source", tmp_path / dest, force=force, source_root=source)
    assert relation in error.message


def test_an_archive_is_a_source_too(tmp_path: Path) -> None:
    full(tmp_path / "downloads")
    archive = tmp_path / "downloads" / "module.zip"
    archive.write_bytes(b"PK")
    refused(InstallError, "install/inside-source", archive.parent, force=True, source_root=archive)
    check(tmp_path / "downloads" / "module", source_root=archive)


@pytest.mark.parametrize("dest", ["repo/source-2", "repo/other", "source"])
def test_beside_the_source_is_fine(dest: str, tmp_path: Path) -> None:
    (tmp_path / "repo" / "source").mkdir(parents=True)
    check(tmp_path / dest, source_root=tmp_path / "repo" / "source")


def test_a_source_that_is_not_there_is_for_its_getter_to_say(tmp_path: Path) -> None:
    check(tmp_path / "dest", source_root=tmp_path / "absent")


def test_a_bind_mount_of_the_source_is_the_source(tmp_path: Path) -> None:
    def work() -> None:
        source, again = tmp_path / "source", tmp_path / "again"
        (source / "sub").mkdir(parents=True)
        again.mkdir()
        bind_mount(source, again)
        refused(InstallError, "install/inside-source", again / "new", source_root=source)

    in_mount_namespace(work)


# ------------------------------------------------------------------------------------------- how it is spelled


@pytest.mark.parametrize(
    ("spelled", "real"),
    [
        pytest.param("real/dest", "real/dest", id="plain"),
        pytest.param("real/dest/", "real/dest", id="trailing-slash"),
        pytest.param("real/./dest/.", "real/dest", id="dots"),
        pytest.param("real/sub/../dest", "real/dest", id="dot-dot"),
        pytest.param("link/dest", "real/dest", id="parent-is-a-link"),
        pytest.param("link/../dest", "dest", id="dot-dot-after-a-link-is-the-targets-parent"),
        pytest.param("real/sub/..", "real", id="ends-in-dot-dot"),
        pytest.param("absent/below/dest", "absent/below/dest", id="parents-are-absent"),
    ],
)
def test_where_a_spelling_leads(spelled: str, real: str, tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert Destination.from_path(Path(f"{tmp_path}/{spelled}"), force=False, source_root=None).path == tmp_path / real


def test_a_relative_one_is_where_we_are_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    destination = Destination.from_path(Path("dest"), force=False, source_root=None)
    monkeypatch.chdir(tmp_path)
    assert destination.path == tmp_path / "a" / "dest"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("a\0b", "NUL", id="nul"),
        pytest.param("a\0b/dest", "NUL", id="nul-in-a-parent"),
        pytest.param("x" * 300, "too long", id="name-too-long"),
        pytest.param("\ud800", "encode", id="no-name-at-all"),
        pytest.param("file/dest", "Not a directory", id="parent-is-a-file"),
    ],
)
def test_what_is_no_path_is_an_error_of_ours(name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    before = snapshot(tmp_path)
    with pytest.raises(InstallError, match=reason) as caught:
        check(Path(f"{tmp_path}/{name}"))
    assert caught.value.code == "install"
    assert snapshot(tmp_path) == before


def test_escape_sequences_in_a_name_do_not_reach_the_message(tmp_path: Path) -> None:
    dest = tmp_path / "\x1b[31mred"
    full(dest)
    assert "\x1b" not in refused(DestinationExistsError, "destination-exists", dest).message


@as_each_user
def test_what_may_not_be_looked_at_is_denied(place: Path) -> None:
    (place / "closed").mkdir(0o000)
    if os.geteuid() != 0:
        with pytest.raises(InstallError, match="Permission denied") as caught:
            check(place / "closed" / "dest")
        assert caught.value.code == "install/denied"
    else:
        check(place / "closed" / "dest")
