from __future__ import annotations

import errno
import importlib
import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import getmodules
from getmodules.errors import DestinationExistsError, InstallError
from getmodules.files import staging
from getmodules.files.os_errors import translated
from getmodules.files.private import PrivateDirectories, Sweeper
from getmodules.files.staging import Staging
from getmodules.files.syscalls import exchange
from tests.support import processes
from tests.support.processes import as_each_user, bind_mount, in_mount_namespace, mount_tmpfs
from tests.support.snapshots import snapshot

# What is imported late, is so now: a fault must hit the work of a child, not the loading of its modules.
for late in ("ctypes", "fcntl", "pwd"):
    importlib.import_module(late)

PUBLISHED = 0
LOST = 3
INTERRUPTED = 5


@contextmanager
def staged(dest: Path, *, force: bool = False, source_root: Path | None = None) -> Iterator[Staging]:
    """An operation with one destination."""
    with (
        PrivateDirectories().removed_at_end() as private,
        Staging.beside(dest, private, force=force, source_root=source_root) as work,
    ):
        yield work


def install(
    dest: Path, content: str = "new", *, force: bool = False, before_publish: Callable[[], object] = bool
) -> None:
    """What the pipeline does, in small: two files in two directories, with one content."""
    with staged(dest, force=force) as work:
        with translated("the test cannot write"):
            work.spare("archive").write_text("bytes")
            (work.tree / "file").write_text(content)
            (work.tree / "sub").mkdir()
            (work.tree / "sub" / "file").write_text(content)
        before_publish()
        work.publish()


def content_of(dest: Path) -> str:
    """The content of one installation; it is never a mix of two."""
    assert sorted(str(path.relative_to(dest)) for path in dest.rglob("*")) == ["file", "sub", "sub/file"]
    first, second = (dest / "file").read_text(), (dest / "sub" / "file").read_text()
    assert first == second
    return first


def old_tree(dest: Path) -> None:
    install(dest, "old")
    (dest / "sub").chmod(0o500)


def no_exchange(patch: pytest.MonkeyPatch) -> None:
    """A file system, or a system, that cannot exchange."""
    patch.setattr(staging, "exchange", lambda a, b: False)


@pytest.fixture(params=["exchange", "two-steps"])
def replacing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to replace a directory."""
    if request.param == "two-steps":
        no_exchange(monkeypatch)
    return str(request.param)


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand installations in a row would measure the disk, not us."""
    monkeypatch.setattr(staging, "sync_filesystem", lambda fd: None)


# --------------------------------------------------------------------------------------- the private directory


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777], ids=oct)
@as_each_user
def test_the_directory_is_private_and_the_tree_is_not_whatever_the_umask(umask: int, place: Path) -> None:
    os.umask(umask)
    with staged(place / "dest") as work:
        (private,) = place.iterdir()
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert work.tree.parent == work.spare("archive").parent == private
        assert stat.S_IMODE(work.tree.stat().st_mode) == 0o755
        tree = work.open_tree()
        assert os.path.samestat(os.fstat(tree), work.tree.stat())
        os.close(tree)
        work.spare("archive").touch()
        work.publish()
        assert os.listdir(private) == ["lock"]
    assert stat.S_IMODE((place / "dest").stat().st_mode) == 0o755
    assert os.listdir(place) == ["dest"]


def test_nothing_is_touched_before_the_block(tmp_path: Path) -> None:
    Staging.beside(tmp_path / "a" / "b", PrivateDirectories(), force=False, source_root=None)
    assert os.listdir(tmp_path) == []


def test_a_group_that_a_directory_hands_down_is_handed_down(tmp_path: Path) -> None:
    tmp_path.chmod(0o2755)
    install(tmp_path / "dest")
    assert stat.S_IMODE((tmp_path / "dest").stat().st_mode) == 0o2755


# ------------------------------------------------------------------------------------------------- publishing


@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
@pytest.mark.parametrize(
    "dest",
    [
        pytest.param("dest", id="absent"),
        pytest.param("empty", id="empty"),
        pytest.param("empty/", id="trailing-slash"),
        pytest.param("a/b/c/dest", id="parents-absent"),
        pytest.param("empty/../dest", id="dot-dot"),
        pytest.param("link/dest", id="parent-is-a-link"),
    ],
)
@as_each_user
def test_what_is_published_is_the_tree_and_nothing_else_remains(dest: str, force: bool, place: Path) -> None:
    (place / "empty").mkdir()
    (place / "target").mkdir()
    (place / "link").symlink_to("target")
    before = snapshot(place)
    where = Path(f"{place}/{dest}")
    install(where, force=force)
    real = Path(os.path.realpath(where))
    assert content_of(real) == "new"
    made = {name for name in snapshot(place) if not (place / name).is_relative_to(real)}
    expected = {str(path.relative_to(place)) for path in real.parents if path.is_relative_to(place)} - {"."}
    assert made == (set(before) | expected) - {str(real.relative_to(place))}


@as_each_user
def test_force_replaces_a_directory_whole(place: Path) -> None:
    for exchangeable in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not exchangeable:
                no_exchange(patch)
            old_tree(place / "dest")
            (place / "dest" / "left-over").write_text("old")
            install(place / "dest", force=True)
        assert content_of(place / "dest") == "new"
        assert os.listdir(place) == ["dest"]
        (place / "dest").rename(place.with_name(f"{place.name}-gone"))
        processes.remove_tree(place.with_name(f"{place.name}-gone"))


def test_the_file_system_is_synced_before_the_tree_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def sync(fd: int) -> None:
        assert os.listdir(fd)
        seen.append(os.listdir(tmp_path))

    monkeypatch.setattr(staging, "sync_filesystem", sync)
    install(tmp_path / "dest")
    assert len(seen) == 1
    assert "dest" not in seen[0]


def test_what_cannot_be_brought_to_the_disk_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sync(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(staging, "sync_filesystem", sync)
    with pytest.raises(InstallError, match=r"cannot bring .* to the disk"):
        install(tmp_path / "dest")
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------------------------------------------- refusals


def full(dest: Path) -> None:
    dest.mkdir()
    (dest / "file").write_text("mine")
    (dest / "file").chmod(0o640)


def file(dest: Path) -> None:
    dest.write_text("mine")


def link(dest: Path) -> None:
    (dest.parent / "target").mkdir()
    dest.symlink_to("target")


def dangling_link(dest: Path) -> None:
    dest.symlink_to("nowhere")


def work_tree(dest: Path) -> None:
    (dest / ".git").mkdir(parents=True)


OCCUPANTS = [
    pytest.param(full, False, DestinationExistsError, "destination-exists", id="full"),
    pytest.param(file, False, DestinationExistsError, "destination-exists", id="file"),
    pytest.param(link, False, DestinationExistsError, "destination-exists", id="link"),
    pytest.param(dangling_link, False, DestinationExistsError, "destination-exists", id="dangling-link"),
    pytest.param(work_tree, False, DestinationExistsError, "destination-exists", id="work-tree"),
    pytest.param(file, True, InstallError, "install/protected", id="force-file"),
    pytest.param(link, True, InstallError, "install/protected", id="force-link"),
    pytest.param(dangling_link, True, InstallError, "install/protected", id="force-dangling-link"),
    pytest.param(work_tree, True, InstallError, "install/protected", id="force-work-tree"),
]


@pytest.mark.parametrize(("occupy", "force", "kind", "code"), OCCUPANTS)
def test_an_occupied_destination_is_refused_before_any_work(
    occupy: Callable[[Path], None], force: bool, kind: type[InstallError], code: str, tmp_path: Path
) -> None:
    occupy(tmp_path / "dest")
    before = snapshot(tmp_path)
    with (
        pytest.raises(InstallError) as caught,
        staged(tmp_path / "dest", force=force),
    ):
        pytest.fail("the block must not begin")
    assert (type(caught.value), caught.value.code) == (kind, code)
    assert snapshot(tmp_path) == before


@pytest.mark.usefixtures("replacing")
@pytest.mark.parametrize(("occupy", "force", "kind", "code"), OCCUPANTS)
def test_what_appears_during_the_work_is_refused_when_publishing(
    occupy: Callable[[Path], None], force: bool, kind: type[InstallError], code: str, tmp_path: Path
) -> None:
    seen: list[dict[str, tuple[str, bytes]]] = []

    def appear() -> None:
        occupy(tmp_path / "dest")
        seen.append({n: v for n, v in snapshot(tmp_path).items() if not n.startswith(".getmodules-")})

    with pytest.raises(InstallError) as caught:
        install(tmp_path / "dest", force=force, before_publish=appear)
    assert (type(caught.value), caught.value.code) == (kind, code)
    assert snapshot(tmp_path) == seen[0]


@pytest.mark.usefixtures("replacing")
def test_what_appears_and_may_be_replaced_is_replaced(tmp_path: Path) -> None:
    install(tmp_path / "dest", force=True, before_publish=lambda: old_tree(tmp_path / "dest"))
    assert content_of(tmp_path / "dest") == "new"
    assert os.listdir(tmp_path) == ["dest"]


@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
def test_a_source_that_would_hold_the_destination_is_refused(force: bool, tmp_path: Path) -> None:
    old_tree(tmp_path / "source")
    before = snapshot(tmp_path)
    with (
        pytest.raises(InstallError) as caught,
        staged(tmp_path / "source" / "x" / "y", force=force, source_root=tmp_path / "source"),
    ):
        pytest.fail("the block must not begin")
    assert caught.value.code == "install/inside-source"
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("intruder", [file, link], ids=lambda f: f.__name__)
def test_what_slips_in_between_check_and_exchange_comes_back(
    intruder: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dest = tmp_path / "dest"
    old_tree(dest)
    seen: list[dict[str, tuple[str, bytes]]] = []

    def late(a: Path, b: Path) -> bool:
        if not seen:
            dest.rename(tmp_path / "moved")
            intruder(dest)
            seen.append({n: v for n, v in snapshot(tmp_path).items() if not n.startswith(".getmodules-")})
        return exchange(a, b)

    monkeypatch.setattr(staging, "exchange", late)
    with pytest.raises(InstallError, match="changed in this moment") as caught:
        install(dest, force=True)
    assert caught.value.code == "install/protected"
    assert snapshot(tmp_path) == seen[0]


def test_a_directory_that_vanishes_before_it_is_replaced_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dest = tmp_path / "dest"
    old_tree(dest)

    def late(a: Path, b: Path) -> bool:
        processes.remove_tree(dest)
        return exchange(a, b)

    monkeypatch.setattr(staging, "exchange", late)
    install(dest, force=True)
    assert content_of(dest) == "new"
    assert os.listdir(tmp_path) == ["dest"]


# --------------------------------------------------------------------------------------- replacing in two steps


def in_between(patch: pytest.MonkeyPatch, work: Path, happens: Callable[[Path], None]) -> None:
    """Without exchange: something happens after the old tree was moved aside."""
    no_exchange(patch)
    rename = os.rename

    def renamed(a: Path, b: Path) -> None:
        rename(a, b)
        if a == work:
            patch.setattr(os, "rename", rename)
            happens(work)

    patch.setattr(os, "rename", renamed)


def fails(dest: Path) -> None:
    raise OSError(errno.EIO, "Input/output error")


def interrupted(dest: Path) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("happens", "kind"),
    [
        pytest.param(fails, InstallError, id="error"),
        pytest.param(interrupted, KeyboardInterrupt, id="interrupt"),
    ],
)
def test_a_failure_in_between_puts_the_old_tree_back(
    happens: Callable[[Path], None],
    kind: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old_tree(tmp_path / "dest")
    before = snapshot(tmp_path)
    in_between(monkeypatch, tmp_path / "dest", happens)
    with pytest.raises(kind):
        install(tmp_path / "dest", force=True)
    assert snapshot(tmp_path) == before


def test_another_run_in_between_is_replaced_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old_tree(tmp_path / "dest")
    in_between(monkeypatch, tmp_path / "dest", lambda dest: install(dest, "other"))
    install(tmp_path / "dest", force=True)
    assert content_of(tmp_path / "dest") == "new"
    assert os.listdir(tmp_path) == ["dest"]


def test_a_stranger_in_between_stays_and_the_old_tree_is_kept_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_tree(tmp_path / "dest")
    in_between(monkeypatch, tmp_path / "dest", file)
    with pytest.raises(InstallError, match="taken by another program") as caught:
        install(tmp_path / "dest", force=True)
    assert caught.value.code == "install"
    (kept,) = [path for path in tmp_path.iterdir() if path.name != "dest"]
    assert caught.value.hint is not None
    assert kept.name in caught.value.hint
    assert content_of(kept) == "old"
    assert (tmp_path / "dest").read_text() == "mine"


# ---------------------------------------------------------------------------------------------- nothing remains


@pytest.mark.parametrize("dest", ["dest", "a/b/dest"])
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_ends_the_block_leaves_nothing(dest: str, kind: type[BaseException], tmp_path: Path) -> None:
    def end() -> None:
        with staged(tmp_path / dest) as work:
            (work.tree / "sub").mkdir(mode=0o500)
            raise kind

    with pytest.raises(kind):
        end()
    assert os.listdir(tmp_path) == []


def test_a_block_that_publishes_nothing_leaves_nothing(tmp_path: Path) -> None:
    with staged(tmp_path / "a" / "b") as work:
        (work.tree / "file").touch()
    assert os.listdir(tmp_path) == []


def test_a_parent_that_somebody_else_uses_by_now_stays(tmp_path: Path) -> None:
    with staged(tmp_path / "a" / "b" / "dest"):
        (tmp_path / "a" / "theirs").touch()
    assert list(snapshot(tmp_path)) == ["a", "a/theirs"]


def test_a_parent_that_another_run_takes_away_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    sweep = Sweeper.sweep
    taken: list[Path] = []

    def take_away(self: Sweeper, parent: Path) -> None:
        sweep(self, parent)
        if not taken:
            taken.append(parent)
            parent.rmdir()

    monkeypatch.setattr(Sweeper, "sweep", take_away)
    install(tmp_path / "a" / "dest")
    assert taken == [tmp_path / "a"]
    assert content_of(tmp_path / "a" / "dest") == "new"


@as_each_user
def test_where_nothing_may_be_written_the_directory_is_named(place: Path) -> None:
    (place / "closed").mkdir(mode=0o555)

    def refused(message: str) -> None:
        before = snapshot(place)
        with pytest.raises(InstallError, match=message) as caught:
            install(place / "closed" / "a" / "dest")
        assert caught.value.code == "install/denied"
        assert f"{place}/closed" in caught.value.message
        assert snapshot(place) == before

    def read_only() -> None:
        bind_mount(place / "closed", place / "closed", read_only=True)
        refused("Read-only file system")

    if os.geteuid() == 0:  # permissions do not stop root
        in_mount_namespace(read_only)
    else:
        refused("Permission denied")


#: The root, "a", the private directory, its lock and the tree, and what install() writes: the archive, a directory,
#: two files.
ENOUGH_INODES = 9
TREE_IN_A = ("a/dest/file", "a/dest/sub", "a/dest/sub/file")


@pytest.mark.parametrize("inodes", range(2, 12))
def test_out_of_inodes_at_every_step(inodes: int, tmp_path: Path) -> None:
    def work() -> None:
        mount_tmpfs(tmp_path, f"nr_inodes={inodes}")
        codes: list[str] = []
        try:
            install(tmp_path / "a" / "dest")
        except InstallError as error:
            codes.append(error.code)
        assert codes == ([] if inodes >= ENOUGH_INODES else ["install/no-space"])
        assert sorted(snapshot(tmp_path)) == ([] if codes else ["a", "a/dest", *TREE_IN_A])

    in_mount_namespace(work)


# ------------------------------------------------------------------------- faults at each step, one after another


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    raise KeyboardInterrupt


def fail_with(number: int) -> None:
    raise OSError(number, os.strerror(number))


def attempt(dest: Path, arm: Callable[[], None], *, force: bool) -> int:
    """One installation in a child with a fault; how it ended."""

    def child() -> int:
        arm()
        try:
            install(dest, force=force)
        except InstallError:
            return LOST
        except KeyboardInterrupt:
            return INTERRUPTED
        return PUBLISHED

    return processes.run(child)


def prepared(place: Path, number: int, *, force: bool) -> tuple[Path, dict[str, tuple[str, bytes]]]:
    parent = place / str(number)
    parent.mkdir()
    if force:
        old_tree(parent / "dest")
    return parent / "dest", snapshot(parent)


def outcome(dest: Path, before: dict[str, tuple[str, bytes]]) -> str:
    """Old or new, whole, and alone in its directory."""
    if snapshot(dest.parent) == before:
        return "old"
    assert os.listdir(dest.parent) == ["dest"]
    assert content_of(dest) == "new"
    return "new"


def until_it_gets_through(step: Callable[[int], int], stride: int = 1) -> int:
    """Fault number 1, 2, 3 … until there is nothing left to hit; how many there were."""
    number = 1
    while step(number) != PUBLISHED:
        number += stride
    return number


@pytest.mark.slow
@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
def test_killed_at_any_step(force: bool, replacing: str, place: Path) -> None:
    outcomes: set[str] = set()

    def step(number: int) -> int:
        dest, _before = prepared(place, number, force=force)
        code = attempt(dest, partial(processes.strike_at, number, kill), force=force)
        assert code in (PUBLISHED, -signal.SIGKILL)
        if dest.exists():
            outcomes.add(content_of(dest))
        else:
            assert not force or replacing == "two-steps"
            outcomes.add("absent")
        Sweeper().sweep(dest.parent)
        assert os.listdir(dest.parent) == (["dest"] if dest.exists() else [])
        install(dest, "again", force=True)
        assert content_of(dest) == "again"
        assert os.listdir(dest.parent) == ["dest"]
        return code

    assert until_it_gets_through(step) > 12
    expected = {"new", "old"} if force else {"new", "absent"}
    assert outcomes == (expected | {"absent"} if replacing == "two-steps" else expected)


@pytest.mark.slow
@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
@pytest.mark.parametrize(
    "blow",
    [
        pytest.param(interrupt, id="interrupt"),
        *(
            pytest.param(partial(fail_with, number), id=errno.errorcode[number])
            for number in (errno.ENOSPC, errno.EACCES, errno.EMFILE, errno.EIO)
        ),
    ],
)
@pytest.mark.usefixtures("replacing", "unsynced")
def test_a_fault_at_any_step(blow: Callable[[], None], force: bool, place: Path) -> None:
    outcomes = set()
    for number in range(1, steps_of_an_installation(place, force=force) + 1):
        dest, before = prepared(place, number, force=force)
        code = attempt(dest, partial(processes.strike_at, number, blow), force=force)
        assert code in (PUBLISHED, LOST, INTERRUPTED)
        outcomes.add(outcome(dest, before))
    assert outcomes == {"old", "new"}


def steps_of_an_installation(place: Path, *, force: bool) -> int:
    dest, _before = prepared(place, 0, force=force)
    return processes.steps_of(lambda: install(dest, force=force))


@pytest.mark.slow
@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
@pytest.mark.usefixtures("replacing", "unsynced")
def test_an_interrupt_at_any_line(force: bool, place: Path) -> None:
    stride = 1 if os.environ.get("CI") else 7
    ours = Path(getmodules.__file__).parent
    outcomes = set()

    def step(number: int) -> int:
        dest, before = prepared(place, number, force=force)
        code = attempt(dest, partial(processes.strike_at_line, number, ours, interrupt), force=force)
        assert code in (PUBLISHED, INTERRUPTED)
        outcomes.add(outcome(dest, before))
        return code

    assert until_it_gets_through(step, stride) > 100
    assert outcomes == {"old", "new"}


# ------------------------------------------------------------------------------------------------ many at once


def all_at_once(count: int, work: Callable[[int], int]) -> list[int]:
    """Start ``work(0)`` … in processes that wait for each other; how each ended."""
    barrier, gate = os.pipe()

    def child(number: int) -> int:
        os.close(gate)
        os.read(barrier, 1)  # until everybody's parent closes the gate
        return work(number)

    children = [processes.start(partial(child, number)) for number in range(count)]
    os.close(barrier)
    os.close(gate)
    return [processes.wait(pid) for pid in children]


def contender(dest: Path, number: int, *, force: bool) -> int:
    try:
        install(dest, str(number), force=force)
    except DestinationExistsError:
        return LOST
    return PUBLISHED


@pytest.mark.slow
@pytest.mark.parametrize("dest", ["dest", "a/b/dest"], ids=["plain", "parents-absent"])
@pytest.mark.parametrize(("count", "rounds"), [(2, 10), (20, 3)], ids=["two", "twenty"])
def test_of_many_exactly_one_wins(count: int, rounds: int, dest: str, tmp_path: Path) -> None:
    for turn in range(rounds):
        where = tmp_path / str(turn) / dest
        ended = all_at_once(count, partial(contender, where, force=False))
        assert sorted(ended) == [PUBLISHED] + [LOST] * (count - 1)
        assert content_of(where) == str(ended.index(PUBLISHED))
        assert os.listdir(where.parent) == ["dest"]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "rounds"), [(2, 10), (20, 3)], ids=["two", "twenty"])
@pytest.mark.usefixtures("replacing", "unsynced")
def test_with_force_all_succeed_and_the_result_is_one_of_them(count: int, rounds: int, tmp_path: Path) -> None:
    for turn in range(rounds):
        where = tmp_path / str(turn) / "dest"
        old_tree(where)
        assert all_at_once(count, partial(contender, where, force=True)) == [PUBLISHED] * count
        assert int(content_of(where)) in range(count)
        assert os.listdir(where.parent) == ["dest"]


def test_a_reader_never_misses_a_directory_that_is_exchanged(tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    old_tree(dest)

    def replace(number: int) -> int:
        for turn in range(20):
            install(dest, f"{number}-{turn}", force=True)
        return PUBLISHED

    child = processes.start(partial(replace, 0))
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        opened = os.open(dest, os.O_RDONLY)  # would fail in a gap
        os.close(opened)
    assert content_of(dest) == "0-19"
