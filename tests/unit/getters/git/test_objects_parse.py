"""Commits, tags and trees, byte by byte."""

from __future__ import annotations

import pytest

from getmodules import CorruptArchiveError, UnsafeContentError
from getmodules.getters.git.objects import Mode, TreeEntry, target_of, tree_entries, tree_of
from tests.support.refusals import refusal

ID = "12" * 20
LONG = "34" * 32


def entry(mode: bytes, name: bytes, object_id: str = ID) -> bytes:
    return mode + b" " + name + b"\0" + bytes.fromhex(object_id)


def entries(tree: bytes, id_bytes: int = 20) -> list[TreeEntry]:
    return list(tree_entries(tree, id_bytes))


@pytest.mark.parametrize("object_id", [ID, LONG])
def test_a_commit(object_id: str) -> None:
    assert tree_of(f"tree {object_id}\nparent {object_id}\n".encode()) == object_id


@pytest.mark.parametrize(
    "commit", [b"", b"parent x\n", f"tree {ID}".encode(), f"tree {ID[1:]}\n".encode(), f"\ntree {ID}\n".encode()]
)
def test_a_commit_without_a_tree(commit: bytes) -> None:
    refusal(CorruptArchiveError, "corrupt-archive", tree_of, commit)


def test_a_tag() -> None:
    assert target_of(f"object {ID}\ntype commit\ntag v1\n".encode()) == (ID, "commit")
    refusal(CorruptArchiveError, "corrupt-archive", target_of, f"object {ID}\ntype device\n".encode())


@pytest.mark.parametrize(("object_id", "id_bytes"), [(ID, 20), (LONG, 32)])
def test_a_tree(object_id: str, id_bytes: int) -> None:
    tree = b"".join(
        (
            entry(b"100644", b"a", object_id),
            entry(b"100755", b"a.sh", object_id),
            entry(b"120000", b"link", object_id),
            entry(b"160000", b"module", object_id),
            entry(b"40000", b"sub", object_id),
        )
    )
    assert entries(tree, id_bytes) == [
        TreeEntry(Mode.FILE, "a", object_id),
        TreeEntry(Mode.EXECUTABLE, "a.sh", object_id),
        TreeEntry(Mode.SYMLINK, "link", object_id),
        TreeEntry(Mode.GITLINK, "module", object_id),
        TreeEntry(Mode.DIRECTORY, "sub", object_id),
    ]


@pytest.mark.parametrize(
    ("raw", "mode"),
    [(b"100664", Mode.FILE), (b"100600", Mode.FILE), (b"104755", Mode.EXECUTABLE), (b"100645", Mode.FILE)],
)
def test_old_modes_of_files(raw: bytes, mode: int) -> None:
    assert entries(entry(raw, b"a"))[0].mode == mode


def test_a_directory_sorts_as_if_a_slash_were_behind_it() -> None:
    tree = entry(b"100644", b"a.b") + entry(b"40000", b"a") + entry(b"100644", b"a0")
    assert [each.name for each in entries(tree)] == ["a.b", "a", "a0"]


def test_a_name_that_is_not_utf8_is_kept() -> None:
    assert entries(entry(b"100644", b"\xff"))[0].name == "\udcff"


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param(entry(b"100644", b"a")[:-1], id="an id cut off"),
        pytest.param(b"100644 a", id="a name without an end"),
        pytest.param(b"100644", id="a mode alone"),
        pytest.param(b"100644 a\0", id="no id"),
        pytest.param(b"1006440000 a\0" + bytes(20), id="an endless mode"),
        pytest.param(entry(b"", b"a"), id="no mode"),
        pytest.param(entry(b"040000", b"a"), id="a padded mode"),
        pytest.param(entry(b"020000", b"a"), id="a device"),
        pytest.param(entry(b"60000", b"a"), id="another device"),
        pytest.param(entry(b"x", b"a"), id="a mode of letters"),
        pytest.param(entry(b"100644", b"b") + entry(b"100644", b"a"), id="out of order"),
        pytest.param(entry(b"100644", b"a") * 2, id="twice"),
    ],
)
def test_a_broken_tree(tree: bytes) -> None:
    refusal(CorruptArchiveError, "corrupt-archive", entries, tree)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (b"", "bad-name"), (b".", "bad-name"), (b"..", "parent-path"), (b"/etc", "absolute-path"), (b"a/b", "bad-name"),
        (b".git", "dot-git"), (b".GIT", "dot-git"), (b".Git.", "dot-git"), (b".git ", "dot-git"),
        (b"git~1", "dot-git"), (b"GIT~1", "dot-git"), (b".git::$INDEX_ALLOCATION", "dot-git"),
        (".g\u200cit".encode(), "dot-git"), ("\ufeff.git".encode(), "dot-git"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", [b"100644", b"40000", b"120000", b"160000"])
def test_a_hostile_name(name: bytes, part: str, mode: bytes) -> None:
    refusal(UnsafeContentError, f"unsafe-content/{part}", entries, entry(mode, name))


@pytest.mark.parametrize(
    "name", [b".gitignore", b".gitmodules", b".github", b"git", b"git~2", b"x.git", b"...", b".gi"]
)
def test_an_honest_name(name: bytes) -> None:
    assert entries(entry(b"100644", name))[0].name == name.decode()
