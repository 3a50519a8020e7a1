from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from getmodules.api.limits import Limits
from getmodules.api.model import Kind, Member, Members, Tree
from getmodules.api.ports import Progress
from getmodules.archive.target_dir import TargetDirectory
from getmodules.archive.write_thread import LARGE_BYTES
from getmodules.archive.writer import Output, write_members
from getmodules.errors import (
    CorruptArchiveError,
    GetModulesError,
    InstallError,
    LimitExceededError,
    PluginContractError,
    SubdirectoryNotFoundError,
    UnsafeContentError,
)
from tests.support.contexts import a_context
from tests.support.fakes import Notices
from tests.support.processes import as_each_user
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def file(name: str, data: bytes = b"hello", **more: Any) -> Member:
    return Member(name, size=len(data), open=lambda: (data,), **more)


def link(name: str, target: str) -> Member:
    return Member(name, Kind.SYMLINK, target=target)


def hardlink(name: str, target: str) -> Member:
    return Member(name, Kind.HARDLINK, target=target)


def folder(name: str) -> Member:
    return Member(name, Kind.DIRECTORY)


def chunks(name: str, *pieces: Any, size: int | None = None) -> Member:
    return Member(name, size=size, open=lambda: iter(pieces))


def write(place: Path, *members: Member, subdirs: tuple[str, ...] = ("",), **more: Any) -> tuple[Tree, ...]:
    packed = more.pop("packed_bytes", None)
    limits = {key: more.pop(key) for key in list(more) if hasattr(Limits, key) or key in Limits.__slots__}
    context = a_context(limits=replace(Limits(), **limits), **more)
    roots, others = [], set(threading.enumerate())
    for index, _ in enumerate(subdirs):
        (place / str(index)).mkdir()
        roots.append(os.open(place / str(index), os.O_RDONLY))
    try:
        outputs = [Output(subdir, root) for subdir, root in zip(subdirs, roots, strict=True)]
        return write_members(Members(members, strict=True), outputs, context, packed_bytes=packed)
    finally:
        for root in roots:
            os.close(root)
        assert not [thread for thread in set(threading.enumerate()) - others if thread.name.startswith("getmodules-")]
        assert {path.name for path in place.iterdir()} == {str(index) for index, _ in enumerate(subdirs)}


def paths(tree: Tree) -> list[str]:
    return [entry.path for entry in tree.entries]


def test_files_directories_and_hashes(tmp_path: Path) -> None:
    large = b"x" * (3 * LARGE_BYTES)
    pieces = [large[at : at + 300_000] for at in range(0, len(large), 300_000)]
    (tree,) = write(tmp_path, folder("empty/"), file("a/b/c", executable=True), chunks("big", *pieces), file("./d"))
    assert paths(tree) == ["a", "a/b", "a/b/c", "big", "d", "empty"]
    found = snapshot(tmp_path / "0")
    assert found["a/b/c"] == ("-rwxr-xr-x", b"hello")
    assert found["big"] == ("-rw-r--r--", large)
    assert found["empty"] == ("drwxr-xr-x", b"")
    assert {e.path: e.sha256 for e in tree.entries if e.kind is Kind.FILE} == {
        name: sha256(data).digest() for name, (mode, data) in found.items() if mode[0] == "-"
    }
    assert (tree.files, tree.bytes) == (3, 10 + len(large))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
@as_each_user
def test_modes_do_not_depend_on_the_umask(umask: int, place: Path) -> None:
    os.umask(0o022)
    context = a_context()
    root = os.open(place, os.O_RDONLY)
    os.umask(umask)
    large = chunks("big", *[b"x" * 300_000] * 9)
    write_members(
        Members((file("d/x", executable=True), file("d/y"), large, file("d/e/z"))), [Output("", root)], context
    )
    os.umask(0o022)
    assert {name: mode for name, (mode, _) in snapshot(place).items()} == {
        "d": "drwxr-xr-x", "d/x": "-rwxr-xr-x", "d/y": "-rw-r--r--", "big": "-rw-r--r--", "d/e": "drwxr-xr-x",
        "d/e/z": "-rw-r--r--",
    }  # fmt: skip


@pytest.fixture
def slow_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files go to the writer thread, after the first few."""
    monkeypatch.setattr("getmodules.archive.write_thread._SLOW_SECONDS", 0.0)
    monkeypatch.setattr("getmodules.archive.write_thread._TIMED", 1)


@pytest.mark.usefixtures("slow_system")
def test_many_files_are_written_by_the_writer_thread(tmp_path: Path) -> None:
    data = {f"d{n % 7}/f{n}": b"%d" % n * 3_000 for n in range(300)}
    write(tmp_path, *(file(name, content) for name, content in data.items()))
    assert {name: c for name, (mode, c) in snapshot(tmp_path / "0").items() if mode[0] == "-"} == data


@pytest.mark.parametrize("slow", [False, True])
def test_files_go_to_the_writer_thread_where_the_system_is_slow(
    slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getmodules.archive.write_thread._SLOW_SECONDS", 0.0 if slow else 60.0)
    names = set[str]()
    direct = TargetDirectory.write_file

    def write_file(self: TargetDirectory, path: str, data: bytes, executable: bool) -> None:
        names.add(threading.current_thread().name)
        direct(self, path, data, executable)

    monkeypatch.setattr(TargetDirectory, "write_file", write_file)
    data = {f"d{n % 7}/f{n}": b"%d" % n for n in range(2_000)}
    write(tmp_path, *(file(name, content) for name, content in data.items()))
    assert {name: c for name, (mode, c) in snapshot(tmp_path / "0").items() if mode[0] == "-"} == data
    assert ("getmodules-write" in names) is slow


@pytest.mark.usefixtures("slow_system")
def test_the_writer_thread_works_while_members_come(tmp_path: Path) -> None:
    seen = set()

    def items() -> Iterator[Member]:
        for number in range(300):
            yield file(f"f{number}", bytes(5_000))
            seen.update(thread.name for thread in threading.enumerate())

    (tree,) = write_members(Members(items()), [Output("", tmp_path)], a_context())
    assert "getmodules-write" in seen
    assert len(snapshot(tmp_path)) == tree.files == 300


def test_a_path_serves_where_there_are_no_directory_descriptors(tmp_path: Path) -> None:
    members = Members((file("a/b"), link("l", "a/b"), hardlink("h", "a/b")))
    write_members(members, [Output("", tmp_path)], a_context())
    assert (tmp_path / "l").read_bytes() == (tmp_path / "h").read_bytes() == b"hello"


# ---------------------------------------------------------------------------------------------- subdirectories

MODULES = (file("README"), file("mods/a/x"), file("mods/a/deep/y"), file("mods/b/z"), file("mods/.hidden/h"))


@pytest.mark.parametrize(
    ("subdir", "expected"),
    [
        pytest.param("", 5, id="whole"),
        pytest.param("mods/a", 2, id="one"),
        pytest.param("mods/[a]", 2, id="class"),
        pytest.param("*/b", 1, id="star"),
        pytest.param("mods/?", None, id="two match"),
        pytest.param("mods/.h*", 1, id="hidden, asked for"),
    ],
)
def test_subdirectories(subdir: str, expected: int | None, tmp_path: Path) -> None:
    if expected is None:
        refusal(
            SubdirectoryNotFoundError,
            "subdirectory-not-found/ambiguous-glob",
            write,
            tmp_path,
            *MODULES,
            subdirs=(subdir,),
        )
    else:
        assert write(tmp_path, *MODULES, subdirs=(subdir,))[0].files == expected


def test_several_outlets_are_written_in_one_pass(tmp_path: Path) -> None:
    whole, one, same = write(tmp_path, *MODULES, subdirs=("", "mods/a", "mods/a"))
    assert paths(one) == paths(same) == ["deep", "deep/y", "x"]
    assert one.h1 == same.h1 != whole.h1
    assert snapshot(tmp_path / "1") == snapshot(tmp_path / "2")


def test_outlets_may_lie_in_one_another(tmp_path: Path) -> None:
    trees = write(tmp_path, *MODULES, subdirs=("mods/a/deep", "mods/a", "mods", "m*/a", ""))
    assert [tree.files for tree in trees] == [1, 2, 4, 2, 5]
    assert paths(trees[0]) == ["y"]
    assert paths(trees[1]) == paths(trees[3]) == ["deep", "deep/y", "x"]
    assert trees[1].h1 == trees[3].h1


def test_each_of_many_outlets_must_be_there(tmp_path: Path) -> None:
    refusal(
        SubdirectoryNotFoundError,
        "subdirectory-not-found/not-a-directory",
        write,
        tmp_path,
        *MODULES,
        subdirs=("mods/a", "mods/a/x", "mods/b"),
    )


@pytest.mark.parametrize(
    ("subdir", "code", "hint"),
    [
        pytest.param("mods/c", "subdirectory-not-found", "mods/", id="absent"),
        pytest.param("a", "subdirectory-not-found", "'mods/a'", id="deeper than thought"),
        pytest.param("README", "subdirectory-not-found/not-a-directory", "its directories: mods", id="a file"),
        pytest.param("mods/a/x", "subdirectory-not-found/not-a-directory", "did you mean 'mods/a'", id="a file in one"),
        pytest.param("READ*", "subdirectory-not-found/not-a-directory", "its directories: mods", id="a glob of a file"),
        pytest.param("*", "subdirectory-not-found/ambiguous-glob", "one of them", id="file and directory"),
        pytest.param("mods/*d*", "subdirectory-not-found", None, id="hidden is not matched"),
    ],
)
def test_a_subdirectory_that_is_not_there(subdir: str, code: str, hint: str | None, tmp_path: Path) -> None:
    error = refusal(SubdirectoryNotFoundError, code, write, tmp_path, *MODULES, subdirs=(subdir,))
    assert hint is None or (error.hint and hint in error.hint)
    assert snapshot(tmp_path / "0") == {} or "glob" in code


def test_a_link_is_no_subdirectory(tmp_path: Path) -> None:
    error = refusal(
        SubdirectoryNotFoundError, "subdirectory-not-found/not-a-directory", write, tmp_path, file("v2/x"),
        link("v", "v2"), subdirs=("v",),
    )  # fmt: skip
    assert "a link to 'v2'" in error.message
    assert error.hint == "did you mean 'v2'?"


def test_a_package_without_directories_has_no_subdirectory(tmp_path: Path) -> None:
    error = refusal(
        SubdirectoryNotFoundError, "subdirectory-not-found", write, tmp_path, file("main.tf"), subdirs=("net",)
    )
    assert error.hint == "it has no directories: leave out //net"


def test_names_are_judged_everywhere_but_policy_where_it_is_installed(tmp_path: Path) -> None:
    write(tmp_path, file("mine/a"), Member("pipe", Kind.SPECIAL), link("l", "/etc"), subdirs=("mine",))
    (tmp_path / "other").mkdir()
    refusal(
        UnsafeContentError, "unsafe-content/parent-path", write, tmp_path / "other", file("mine/a"), file("../x"),
        subdirs=("mine",),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize("reverse", [False, True], ids=["in order", "backwards"])
def test_links_do_not_depend_on_their_order(reverse: bool, tmp_path: Path) -> None:
    members = [file("d/f"), link("to-file", "d/f"), link("to-link", "./to-file"), link("d/up", ".."), link("dir", "d/")]
    (tree,) = write(tmp_path, *(reversed(members) if reverse else members))
    by_path = {entry.path: entry for entry in tree.entries}
    hello = sha256(b"hello").digest()
    assert by_path["to-file"].sha256 == by_path["to-link"].sha256 == hello  # type: ignore[index]
    assert by_path["dir"].sha256 == sha256(b"\0link\0d/").digest()  # type: ignore[index]
    assert (tmp_path / "0" / "dir" / "up" / "to-link").read_bytes() == b"hello"
    assert tree.files == 5


ESCAPES, DANGLES, LOOPS = "unsafe-content/link-escapes", "unsafe-content/link-dangling", "unsafe-content/link-loop"


@pytest.mark.parametrize(
    ("links", "code"),
    [
        pytest.param([("l", "/etc/passwd")], ESCAPES, id="absolute"),
        pytest.param([("l", "../x")], ESCAPES, id="parent"),
        pytest.param([("d/l", "../../x")], ESCAPES, id="parent of a subdirectory"),
        pytest.param([("l", "d/../../x")], ESCAPES, id="out at the end"),
        pytest.param([("l", "../0/f")], ESCAPES, id="out and in again"),
        pytest.param([("d/up", ".."), ("l", "d/up/../f")], ESCAPES, id="out through a link"),
        pytest.param([("l", "nothing")], DANGLES, id="dangling"),
        pytest.param([("l", "")], DANGLES, id="empty"),
        pytest.param([("l", "f/x")], DANGLES, id="through a file"),
        pytest.param([("l", "f/")], DANGLES, id="a file with a slash"),
        pytest.param([("l", "f/../f")], DANGLES, id="up from a file"),
        pytest.param([("l", "a\0b")], DANGLES, id="NUL"),
        pytest.param([("l", "l")], LOOPS, id="itself"),
        pytest.param([("l", "m"), ("m", "l")], LOOPS, id="each other"),
        pytest.param([("l", "l/x")], LOOPS, id="through itself"),
        pytest.param([(f"l{n}", f"l{n + 1}") for n in range(40)] + [("l40", "f")], LOOPS, id="too many"),
    ],
)
def test_links_that_lead_nowhere_good(links: list[tuple[str, str]], code: str, tmp_path: Path) -> None:
    members = (file("f"), file("d/f"), *(link(name, target) for name, target in links))
    refusal(UnsafeContentError, code, write, tmp_path, *members)
    assert not any(path.is_symlink() for path in (tmp_path / "0").rglob("*")), "no link is made before all are judged"


def test_forty_links_are_followed(tmp_path: Path) -> None:
    write(tmp_path, file("f"), *(link(f"l{n}", f"l{n + 1}") for n in range(39)), link("l39", "f"))
    assert (tmp_path / "0" / "l0").read_bytes() == b"hello"


def test_a_link_out_of_the_subdirectory_offers_the_whole_package(tmp_path: Path) -> None:
    members = (file("a/x"), link("b/l", "../a/x"))
    error = refusal(UnsafeContentError, ESCAPES, write, tmp_path, *members, subdirs=("b",))
    assert error.hint
    assert "whole package" in error.hint


def test_hard_links_are_copies(tmp_path: Path) -> None:
    write(tmp_path, file("a", b"x" * 5_000, executable=True), hardlink("d/b", "./a"), hardlink("c", "d/b"))
    found = snapshot(tmp_path / "0")
    assert found["a"] == found["d/b"] == found["c"] == ("-rwxr-xr-x", b"x" * 5_000)
    assert (tmp_path / "0" / "a").stat().st_nlink == 1


@pytest.mark.parametrize(
    ("members", "subdir", "code"),
    [
        pytest.param((hardlink("b", "a"), file("a")), "", "hardlink", id="later file"),
        pytest.param((file("a"), link("l", "a"), hardlink("b", "l")), "", "hardlink", id="a link"),
        pytest.param((file("d/a"), hardlink("b", "d")), "", "hardlink", id="a directory"),
        pytest.param((file("d/a"), hardlink("b", "../a")), "", "parent-path", id="parent"),
        pytest.param((file("d/a"), hardlink("e/b", "d/a")), "e", "hardlink", id="outside of the subdirectory"),
        pytest.param((Member("p", Kind.SPECIAL),), "", "special-file", id="special"),
        pytest.param((link("a", "b"), file("a/x"), file("b/y")), "", "file-and-directory", id="file below a link"),
    ],
)
def test_refused_kinds(members: tuple[Member, ...], subdir: str, code: str, tmp_path: Path) -> None:
    error = refusal(UnsafeContentError, f"unsafe-content/{code}", write, tmp_path, *members, subdirs=(subdir,))
    assert not subdir or (error.hint and "whole package" in error.hint)


# ---------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("members", "more", "part"),
    [
        pytest.param((file("a", b"x" * 11),), {"file_bytes": 10}, "file-bytes", id="announced"),
        pytest.param((chunks("a", b"x" * 6, b"x" * 6),), {"file_bytes": 10}, "file-bytes", id="not announced"),
        pytest.param((file("a"), file("b"), file("c")), {"total_bytes": 14}, "total-bytes", id="total"),
        pytest.param(
            (file("a"), hardlink("b", "a"), hardlink("c", "a")), {"total_bytes": 14}, "total-bytes", id="copies"
        ),
        pytest.param((file("a"), file("d/b")), {"entries": 2}, "entries", id="directories count"),
        pytest.param((file("a"), link("b", "a"), link("c", "a")), {"entries": 2}, "entries", id="links count"),
        pytest.param((file("a/b/c"),), {"depth": 2}, "depth", id="depth"),
        pytest.param((file("é" * 6),), {"path_bytes": 11}, "path-bytes", id="path"),
        pytest.param((link("a", "x" * 12),), {"path_bytes": 11}, "path-bytes", id="target"),
        pytest.param((chunks("a", *[bytes(1 << 20)] * 66),), {"packed_bytes": 100}, "ratio", id="ratio"),
    ],
)
def test_limits(members: tuple[Member, ...], more: dict[str, int], part: str, tmp_path: Path) -> None:
    error = refusal(LimitExceededError, f"limit-exceeded/{part}", write, tmp_path, *members, **more)
    assert error.hint
    assert f"--limit {part.replace('-', '_')}=" in error.typed_hint


def test_limits_are_those_of_each_outlet(tmp_path: Path) -> None:
    write(tmp_path, file("a/x"), file("b/y"), subdirs=("a", "b", "b"), total_bytes=5, entries=1)


# ---------------------------------------------------------------------------------------------- what plugins do


@pytest.mark.parametrize(
    ("member", "kind"),
    [
        pytest.param(Member(b"a"), PluginContractError, id="name"),  # type: ignore[arg-type]
        pytest.param(Member("a", "file"), PluginContractError, id="kind"),  # type: ignore[arg-type]
        pytest.param(Member("a", size=-1), PluginContractError, id="negative size"),
        pytest.param(Member("a", size="1"), PluginContractError, id="size"),  # type: ignore[arg-type]
        pytest.param(Member("a", executable=2), PluginContractError, id="mode"),  # type: ignore[arg-type]
        pytest.param(Member("a", Kind.SYMLINK, target=None), PluginContractError, id="target"),  # type: ignore[arg-type]
        pytest.param(chunks("a", "text"), PluginContractError, id="chunk"),
        pytest.param(chunks("a", b"12", size=3), CorruptArchiveError, id="less"),
        pytest.param(chunks("a", b"12", b"34", size=3), CorruptArchiveError, id="more"),
        pytest.param(Member("a", size=3, open=lambda: (b"12",)), CorruptArchiveError, id="less in one piece"),
        pytest.param(Member("a", size=1, open=lambda: (b"12",)), CorruptArchiveError, id="more in one piece"),
    ],
)
def test_values_are_no_promise(member: Member, kind: type[GetModulesError], tmp_path: Path) -> None:
    refusal(kind, kind.base_code, write, tmp_path, member)


def test_any_kind_of_bytes_will_do(tmp_path: Path) -> None:
    write(tmp_path, chunks("a", bytearray(b"1"), memoryview(b"2"), b"", b"3"))
    assert (tmp_path / "0" / "a").read_bytes() == b"123"


class BoomError(Exception):
    pass


def failing(pieces: int) -> Callable[[], Iterator[bytes]]:
    def content() -> Iterator[bytes]:
        yield from [bytes(256 << 10)] * pieces
        raise BoomError

    return content


@pytest.mark.usefixtures("slow_system")
@pytest.mark.parametrize("pieces", [0, 1, 20], ids=["at once", "early", "with the writer thread at work"])
def test_a_foreign_exception_passes_unchanged_and_stops_everything(pieces: int, tmp_path: Path) -> None:
    many = [file(f"f{n}", b"x" * 4_000) for n in range(100)]
    with pytest.raises(BoomError):
        write(tmp_path, *many, Member("a", open=failing(pieces)))


def test_what_progress_raises_passes_unchanged(tmp_path: Path) -> None:
    class Impatient(Progress):
        def advance(self, package: str, amount: int) -> None:
            raise BoomError

    with pytest.raises(BoomError):
        write(tmp_path, chunks("a", *[bytes(256 << 10)] * 20), progress=Impatient())


def test_progress_counts_every_byte(tmp_path: Path) -> None:
    class Counting(Progress):
        done = 0

        def advance(self, package: str, amount: int) -> None:
            self.done += amount

    counting = Counting()
    (tree,) = write(tmp_path, file("a"), chunks("b", *[bytes(300_000)] * 9), hardlink("c", "a"), progress=counting)
    assert counting.done == tree.bytes


def test_a_cancelled_operation_ends_soon(tmp_path: Path) -> None:
    cancelled = threading.Event()

    def endless() -> Iterator[bytes]:
        while True:
            cancelled.set()
            yield b""

    refusal(InstallError, "install/cancelled", write, tmp_path, Member("a", open=endless), cancelled=cancelled)


@pytest.mark.parametrize("size", [10, 5_000, 4 << 20], ids=["tiny", "small", "large"])
def test_a_full_disk(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    members = [chunks("a", *[b"x" * min(size, 1 << 18)] * (1 + (size >> 18)))] * 1
    error = refusal(InstallError, "install/no-space", write, tmp_path, *members, file("b", b"x" * 5_000))
    assert "'a'" in error.message


@pytest.mark.usefixtures("slow_system")
def test_a_full_disk_is_noticed_by_the_writer_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed_in = set[str]()

    def full(descriptor: int, data: bytes) -> int:
        if data == b"last":
            failed_in.add(threading.current_thread().name)
            raise OSError(28, "No space left on device")
        return len(data)

    monkeypatch.setattr(os, "write", full)
    members = [*(file(f"f{n}") for n in range(40)), file("g", b"last"), *(file(f"h{n}") for n in range(100))]
    error = refusal(InstallError, "install/no-space", write, tmp_path, *members)
    assert "'g'" in error.message
    assert failed_in == {"getmodules-write"}


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:7]))
    write(tmp_path, file("a", b"x" * 5_000), chunks("b", b"y" * 5_000))
    monkeypatch.undo()
    assert (tmp_path / "0" / "a").read_bytes() == b"x" * 5_000
    assert (tmp_path / "0" / "b").read_bytes() == b"y" * 5_000


def test_nothing_is_written_through_what_is_there_already(tmp_path: Path) -> None:
    (tmp_path / "canary").write_text("alive")
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").symlink_to(tmp_path / "canary")
    refusal(InstallError, "install", write_members, Members((file("a"),)), [Output("", out)], a_context())
    assert (tmp_path / "canary").read_text() == "alive"


def test_members_are_closed(tmp_path: Path) -> None:
    closed = []

    def items() -> Iterator[Member]:
        try:
            yield file("../a")
        finally:
            closed.append(True)

    refusal(
        UnsafeContentError,
        "unsafe-content/parent-path",
        write_members,
        Members(items()),
        [Output("", tmp_path)],
        a_context(),
    )
    assert closed == [True]


def test_notices_of_names_are_passed_on(tmp_path: Path) -> None:
    notes = Notices()
    members = Members((file("con"), file("d/aux.tf")))
    write_members(members, [Output("", tmp_path)], a_context(progress=notes))
    assert notes.said == ["the name 'con' cannot exist on Windows (2 such names)"]


def test_the_top_of_an_archive_is_no_match_of_a_glob(tmp_path: Path) -> None:
    """``tar cf x.tar .`` stores it as a member."""
    (tree,) = write(tmp_path, folder("./"), folder("./net"), file("./net/a"), subdirs=("*",))
    assert paths(tree) == ["a"]
