"""From a root tree to what is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from getmodules import LimitExceededError, Limits
from getmodules.getters.git.tree import PathSelection, RepositoryEntry, Walk
from tests.support.refusals import refusal

FILE_ID = "f" * 40


def tree(**entries: tuple[str, str]) -> bytes:
    ordered = sorted(entries.items(), key=lambda item: item[0] + ("/" if item[1][0] == "40000" else ""))
    return b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(where) for name, (mode, where) in ordered)


A_FILE = ("100644", FILE_ID)


class Trees:
    """Reads trees by id, and remembers which."""

    def __init__(self, **trees: bytes) -> None:
        self.trees = {name * 40: content for name, content in trees.items()}
        self.read: list[str] = []

    def __call__(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for each in ids:
            self.read.append(each[0])
            yield each, self.trees[each]


def directory(letter: str) -> tuple[str, str]:
    return ("40000", letter * 40)


def walk(trees: Trees, *subdirs: str, limits: Limits | None = None) -> list[RepositoryEntry]:
    selection = PathSelection.of(subdirs or ("",))
    return list(Walk(limits or Limits(), selection, 20, lambda: None).run("a" * 40, trees))


def a_project() -> Trees:
    return Trees(
        a=tree(main=A_FILE, modules=directory("b"), other=directory("c")),
        b=tree(vpc=directory("d"), vpn=directory("e")),
        c=tree(file=A_FILE),
        d=tree(file=A_FILE, link=("120000", FILE_ID)),
        e=tree(file=A_FILE),
    )


def test_everything() -> None:
    trees = a_project()
    entries = walk(trees)
    assert [entry.path for entry in entries if entry.wanted] == [
        "main", "modules", "other", "modules/vpc", "modules/vpn", "other/file",
        "modules/vpc/file", "modules/vpc/link", "modules/vpn/file",
    ]  # fmt: skip
    assert trees.read == list("abcde")


def test_only_what_leads_to_a_subdirectory_is_read() -> None:
    trees = a_project()
    entries = walk(trees, "modules/vpc")
    assert trees.read == list("abd")
    assert [entry.path for entry in entries if entry.wanted] == ["modules/vpc", "modules/vpc/file", "modules/vpc/link"]
    assert "modules/vpn" in [entry.path for entry in entries]  # for who asks what is there instead


def test_a_glob_counts_from_its_first_wildcard() -> None:
    trees = a_project()
    assert [entry.path for entry in walk(trees, "modules/vp?") if entry.wanted][:2] == ["modules", "modules/vpc"]
    assert "c" not in trees.read


def test_a_selection_within_a_submodule() -> None:
    selection = PathSelection.of(["lib/deep/er", "else"])
    assert selection.leads_to("lib")
    assert selection.leads_to("lib/deep")
    assert not selection.leads_to("li")
    assert selection.relative_to("lib") == PathSelection(("deep/er",))
    assert selection.relative_to("else/where") == PathSelection(("",))


@pytest.mark.parametrize(
    ("limits", "part"),
    [(Limits(entries=5), "entries"), (Limits(depth=3), "depth")],
)
def test_a_tree_that_holds_itself_a_thousand_times_ends(limits: Limits, part: str) -> None:
    class Endless(Trees):
        def __call__(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
            return ((each, tree(x=("40000", each))) for each in ids)

    refusal(LimitExceededError, f"limit-exceeded/{part}", walk, Endless(), limits=limits)


def test_a_subdirectory_may_lie_deeper_than_the_limit() -> None:
    trees = Trees(a=tree(x=directory("b")), b=tree(x=directory("c")), c=tree(x=directory("d")), d=tree(file=A_FILE))
    assert walk(trees, "x/x/x", limits=Limits(depth=1))[-1].path == "x/x/x/file"
