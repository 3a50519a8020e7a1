"""The t1 of what the writer wrote is that of the directory, whoever computes it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings, strategies as st

from getmodules import hash_tree
from getmodules.api.model import Kind, Member, Members, Tree
from getmodules.archive.writer import Output, write_members
from tests.support.contexts import a_context
from tests.support.t1vectors import t1_on_disk

# Names of which some differ in a byte only, some sort elsewhere as bytes than as characters.
COMPONENTS = st.text("aB-._ é😀￿", min_size=1, max_size=3).filter(lambda name: name.strip("."))
PATHS = st.lists(COMPONENTS, min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(PATHS, st.tuples(st.binary(max_size=50), st.booleans()), max_size=8)


def _written(members: list[Member], root: Path) -> Tree:
    descriptor = os.open(root, os.O_RDONLY)
    try:
        (tree,) = write_members(Members(members), [Output("", descriptor)], a_context())
    finally:
        os.close(descriptor)
    return tree


def _is_inside(path: str, others: list[str]) -> bool:
    return any(other.startswith(f"{path}/") for other in others)


@settings(max_examples=80, deadline=None)
@given(files=FILES, empty=PATHS, links=st.integers(0, 3))
def test_the_writer_the_disk_and_the_definition_agree(
    files: dict[str, tuple[bytes, bool]], empty: str, links: int
) -> None:
    files = {path: file for path, file in files.items() if not _is_inside(path, [*files, empty])}
    members = [
        Member(path, size=len(data), executable=executable, open=lambda data=data: (data,))  # type: ignore[misc]
        for path, (data, executable) in files.items()
    ]
    if not any(path == empty or _is_inside(path, [empty]) for path in files):
        members.append(Member(empty, Kind.DIRECTORY))
    for number, path in enumerate(list(files)[:links]):
        members.append(Member(f"link-{number}", Kind.SYMLINK, target=path))
        members.append(Member(f"hard-{number}", Kind.HARDLINK, target=path))
    with tempfile.TemporaryDirectory() as name:
        tree = _written(members, Path(name))
        assert tree.t1 == hash_tree(name, "t1") == t1_on_disk(Path(name))
        assert tree.h1 == hash_tree(name)


def test_so_they_do_where_a_name_is_not_utf_8(tmp_path: Path) -> None:
    names = ["\udc80", "￿", "é", "z"]
    members = [Member(name, size=1, executable=name == "z", open=lambda: (b"x",)) for name in names]
    tree = _written([*members, Member("link", Kind.SYMLINK, target="\udc80")], tmp_path)
    assert tree.t1 == hash_tree(tmp_path, "t1") == t1_on_disk(tmp_path)
