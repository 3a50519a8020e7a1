"""Many at the same time on one repository, and a workshop that somebody has been in before."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from getmodules import Client, OfflineError
from getmodules.addresses.types import Argument, Arguments, PackageAddress
from getmodules.api.model import Kind, Members, Want
from getmodules.api.ports import Context
from getmodules.getters.git.plugin import GitGetter
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.commandline import COMMAND, PATIENCE
from tests.support.contexts import a_context
from tests.support.gitplaces import Place
from tests.support.gitrepos import Gitlink, modules
from tests.support.gitservers import GitServer, git_http
from tests.support.processes import bind_mount, in_mount_namespace, mount_tmpfs
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot

MANY = 8


@pytest.fixture
def commits(place: Place) -> list[str]:
    repository, commits = place.repository(), []
    for number in range(MANY):
        files = {f"{name}/main.tf": b"# %d\n" % number * 100 for name in range(MANY)}
        commits.append(repository.commit_files(files, *commits[-1:]))
        repository.tag(commits[-1], f"v{number}")
    return commits


@pytest.fixture
def server(place: Place, commits: list[str]) -> Iterator[GitServer]:
    with git_http(place.root) as running:
        yield running


REFS = ["main", "v{n}", "{commit}"]


@pytest.mark.slow
@pytest.mark.parametrize("subdir", ["", "//{n}"], ids=["whole", "subdirectories"])
@pytest.mark.parametrize("ref", REFS)
def test_eight_threads(ref: str, subdir: str, place: Place, server: GitServer, commits: list[str]) -> None:
    with place.client() as client, ThreadPoolExecutor(MANY) as pool:

        def work(number: int) -> str:
            source = f"git::{server.url}/a.git{subdir}?ref={ref}".format(n=number, commit=commits[number])
            return client.get(source, place.work / str(number)).id

        ids = list(pool.map(work, range(MANY)))
    assert ids == ([commits[-1]] * MANY if ref == "main" else commits)
    for number in range(MANY):
        shown = MANY - 1 if ref == "main" else number
        file = place.work / str(number) / ("main.tf" if subdir else "0/main.tf")
        assert file.read_bytes() == b"# %d\n" % shown * 100


@pytest.mark.slow
@pytest.mark.parametrize("ref", REFS)
def test_eight_processes(ref: str, place: Place, server: GitServer, commits: list[str]) -> None:
    """All of one user: whatever they keep for the next time, they keep in one place."""
    children = [
        subprocess.Popen(
            [COMMAND, "get", f"git::{server.url}/a.git?ref={ref}".format(n=number, commit=commits[number]),
             place.work / str(number), "--json"],
            env=place.environ, cwd=place.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(MANY)
    ]  # fmt: skip
    for number, child in enumerate(children):
        out, err = child.communicate(timeout=PATIENCE)
        assert child.returncode == 0, out + err
        assert json.loads(out)["id"] == commits[-1 if ref == "main" else number]
    assert sorted(os.listdir(place.work)) == [str(number) for number in range(MANY)]


# --------------------------------------------------------------------------------------------- workshops


def in_a_workshop(place: Place) -> Context:
    """A context whose workshops stay."""
    workshop = place.top / "workshop"
    workshop.mkdir()
    return a_context(workshop, environ=place.environ, network=ClientNetwork(NetSettings()))


def read(context: Context, url: str, ref: str, subdir: str = "") -> dict[str, bytes]:
    """What the getter brings, read to its end."""
    package = PackageAddress(getter="git", url=url, arguments=Arguments((Argument("ref", ref, f"ref={ref}"),)))
    getter = GitGetter()
    pin = getter.resolve(getter.check(package), context)
    members = getter.fetch(pin, (Want(subdir=subdir, dest=Path("unused")),), context)
    assert isinstance(members, Members)
    try:
        return {each.name: b"".join(each.open()) for each in members.items if each.kind is Kind.FILE}
    finally:
        close = getattr(members.items, "close", None)
        if close is not None:
            close()


def objects_in(workshop: Path) -> list[Path]:
    return [path for path in workshop.rglob("*") if path.is_file() and "objects" in path.parts]


def flip(file: Path, place: int) -> None:
    file.chmod(0o644)
    data = bytearray(file.read_bytes())
    data[place % len(data)] ^= 0xFF
    file.write_bytes(data)


def flip_every_object(workshop: Path) -> None:
    for file in objects_in(workshop):
        if file.suffix in (".pack", ""):
            flip(file, -40)


def flip_every_index(workshop: Path) -> None:
    for file in objects_in(workshop):
        if file.suffix in (".idx", ".rev"):
            flip(file, 1100)


def lose_every_object(workshop: Path) -> None:
    for file in objects_in(workshop):
        file.unlink()


def empty_every_object(workshop: Path) -> None:
    for file in objects_in(workshop):
        file.chmod(0o644)
        file.write_bytes(b"")


def repositories_in(workshop: Path) -> list[Path]:
    found = [head.parent for head in workshop.rglob("HEAD")]
    assert found
    return found


def leave_locks(workshop: Path) -> None:
    for repository in repositories_in(workshop):
        for name in ("shallow.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "FETCH_HEAD.lock"):
            (repository / name).touch()
        (repository / "objects" / "pack" / "tmp_pack_x").write_bytes(b"PACK")


def write_a_hostile_config(workshop: Path) -> None:
    for repository in repositories_in(workshop):
        (repository / "config").write_text(
            "[core]\n\tbare = true\n\trepositoryformatversion = 1\n\tfsmonitor = touch executed\n"
            '[extensions]\n\tpartialClone = evil\n[remote "evil"]\n\turl = ext::touch executed\n\tpromisor = true\n'
            "[include]\n\tpath = /nonexistent\n"
        )


def write_rubbish(workshop: Path) -> None:
    for repository in repositories_in(workshop):
        for name in ("HEAD", "config", "shallow"):
            (repository / name).write_bytes(b"\0rubbish\n")


def leave_a_file_instead(workshop: Path) -> None:
    for repository in repositories_in(workshop):
        shutil.rmtree(repository)
        if repository != workshop:
            repository.write_text("rubbish")


DAMAGES = [
    flip_every_object, flip_every_index, lose_every_object, empty_every_object, leave_locks, write_a_hostile_config,
    write_rubbish, leave_a_file_instead,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.replace("_", " "))
@pytest.mark.parametrize("subdir", ["", "3"], ids=["whole", "subdirectory"])
def test_a_workshop_that_was_damaged_is_made_anew(
    damage: Callable[[Path], None], subdir: str, place: Place, server: GitServer, commits: list[str]
) -> None:
    """Never other bytes, and never an error that only removing a directory by hand would end."""
    context = in_a_workshop(place)
    url = f"{server.url}/a.git"
    first = read(context, url, commits[3], subdir)
    assert first["3/main.tf"] == b"# 3\n" * 100
    damage(place.top / "workshop")
    assert read(context, url, commits[3], subdir) == first
    assert read(context, url, "v5", subdir)["3/main.tf"] == b"# 5\n" * 100
    assert not any(path.name == "executed" for path in place.top.rglob("*"))


def test_what_is_there_is_not_fetched_again(place: Place, server: GitServer, commits: list[str]) -> None:
    context = in_a_workshop(place)
    url = f"{server.url}/a.git"
    first = read(context, url, commits[3])
    server.forget()
    assert read(context, url, commits[3]) == first
    assert server.exchanges == []


def test_after_a_subdirectory_the_whole_is_whole(place: Place, server: GitServer, commits: list[str]) -> None:
    """A filtered fetch leaves a store that lacks most blobs: nobody may take it for a complete one."""
    context = in_a_workshop(place)
    url = f"{server.url}/a.git"
    assert read(context, url, commits[3], "3")["3/main.tf"] == b"# 3\n" * 100
    assert len(read(context, url, commits[3])) == MANY
    assert read(context, url, commits[4], "2")["2/main.tf"] == b"# 4\n" * 100


def test_threads_in_one_workshop(place: Place, server: GitServer, commits: list[str]) -> None:
    context = in_a_workshop(place)
    start = threading.Barrier(MANY)

    def work(number: int) -> dict[str, bytes]:
        start.wait()
        return read(context, f"{server.url}/a.git", commits[number])

    with ThreadPoolExecutor(MANY) as pool:
        for number, files in enumerate(pool.map(work, range(MANY))):
            assert set(files.values()) == {b"# %d\n" % number * 100}


# --------------------------------------------------------------------------------------------- the cache


def test_a_pin_of_an_earlier_run_asks_nobody(place: Place, server: GitServer, commits: list[str]) -> None:
    """Not even which refs there are: an id is an id."""
    pinned = str(place.get(f"git::{server.url}/a.git?ref=v3", dest=place.work / "one").pinned)
    server.forget()
    again = place.get(pinned, dest=place.work / "two")
    inner = place.get(pinned.replace("?", "//4?"), dest=place.work / "three")
    assert (again.id, inner.id) == (commits[3], commits[3])
    assert (place.work / "three" / "main.tf").read_bytes() == b"# 3\n" * 100
    assert server.exchanges == []


def test_offline(place: Place, server: GitServer, commits: list[str]) -> None:
    url = f"git::{server.url}/a.git"
    place.get(f"{url}?ref=v3", dest=place.work / "one")
    server.forget()
    with Client(environ=place.environ, limits=place.limits, offline=True) as client:
        assert client.get(f"{url}?ref={commits[3]}", place.work / "two").id == commits[3]
        before = snapshot(place.work)
        for suffix in (f"?ref={commits[4]}", "?ref=v4", f"//absent?ref={commits[5]}"):
            refusal(OfflineError, "offline", client.get, f"{url}{suffix}", place.work / "three")
        assert snapshot(place.work) == before
    assert server.exchanges == []


def test_offline_reads_what_is_on_this_machine(place: Place, commits: list[str]) -> None:
    with Client(environ=place.environ, limits=place.limits, offline=True) as client:
        for number, ref in enumerate(("v3", commits[3], "main")):
            assert client.get(f"{place.file_url()}?ref={ref}", place.work / str(number)).id in (commits[3], commits[-1])


@pytest.mark.parametrize("subdir", ["", "//4"], ids=["whole", "subdirectory"])
def test_a_read_only_cache_is_read(subdir: str, place: Place, server: GitServer, commits: list[str]) -> None:
    """As on a layer of an image, which brings its modules."""
    source = f"git::{server.url}/a.git{subdir}?ref={commits[4]}"
    place.get(source, dest=place.work / "one")
    cache = place.home / ".cache" / "getmodules"
    before = snapshot(cache)
    server.forget()

    def work() -> None:
        bind_mount(cache, cache, read_only=True)
        with Client(environ=place.environ, limits=place.limits, offline=True) as client:
            client.get(source, place.work / "two")
            refusal(OfflineError, "offline", client.get, source.replace(commits[4], commits[5]), place.work / "three")
        with place.client() as client:
            client.get(source.replace(commits[4], commits[5]), place.work / "three")

    in_mount_namespace(work)
    assert snapshot(place.work / "two") == snapshot(place.work / "one")
    assert sorted(os.listdir(place.work)) == ["one", "three", "two"]
    assert snapshot(cache) == before
    assert server.exchanges  # for the one that was not there, when it was allowed


def test_a_rule_that_leads_away_from_this_machine_is_not_followed_offline(
    place: Place, server: GitServer, commits: list[str]
) -> None:
    for login in ("", "ada:pw@"):
        leads = server.url.replace("//", f"//{login}")
        (place.home / ".gitconfig").write_text(f'[url "{leads}/"]\n\tinsteadOf = file:///nope/\n')
        with Client(environ=place.environ, limits=place.limits, offline=True) as client:
            refusal(OfflineError, "offline", client.get, "git::file:///nope/a.git", place.dest)
    assert server.exchanges == []


@pytest.mark.parametrize("subdir", ["", "//4"], ids=["whole", "subdirectory"])
def test_a_cache_without_the_right_to_write_is_read(
    subdir: str, place: Place, server: GitServer, commits: list[str]
) -> None:
    source = f"git::{server.url}/a.git{subdir}?ref={commits[4]}"
    place.get(source, dest=place.work / "one")
    cache = place.home / ".cache" / "getmodules"
    every = [cache, *cache.rglob("*")]
    modes = {path: path.stat().st_mode for path in every}
    for path in every:
        path.chmod(modes[path] & 0o555)
    try:
        with place.client() as client:
            client.get(source, place.work / "two")
            client.get(source.replace(commits[4], commits[5]), place.work / "three")
    finally:
        for path in every:
            path.chmod(modes[path])
    assert snapshot(place.work / "two") == snapshot(place.work / "one")


@pytest.mark.slow
def test_a_cache_that_is_full(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """At every size: also where nothing fits but the first directories, or all but the end of the pack."""
    noise = os.urandom(300_000)
    repository = place.repository("noise")
    repository.tag(repository.commit_files({"noise": noise}), "v1")
    rooms = [(16, 100), (64, 100), (310, 100), (330, 100), (700, 100), *((900, inodes) for inodes in range(2, 30, 3))]
    with git_http(place.root) as server:

        def work() -> None:
            for number, (size, inodes) in enumerate(rooms):
                cache = place.root.parent / f"cache-{number}"
                cache.mkdir()
                mount_tmpfs(cache, f"size={size}k,nr_inodes={inodes},mode=700")
                environ = {**place.environ, "GETMODULES_CACHE_DIR": str(cache)}
                with Client(environ=environ, limits=place.limits) as client:
                    client.get(f"git::{server.url}/noise.git?ref=v1", place.work / str(number))
                assert (place.work / str(number) / "noise").read_bytes() == noise
                assert caplog.text.count("without") <= 1
                caplog.clear()
            assert sorted(os.listdir(place.work)) == sorted(str(number) for number in range(len(rooms)))

        in_mount_namespace(work)


def test_without_a_cache_nothing_is_kept(place: Place, server: GitServer, commits: list[str]) -> None:
    with Client(environ=place.environ, limits=place.limits, use_cache=False) as client:
        for number in range(2):
            client.get(f"git::{server.url}/a.git?ref={commits[3]}", place.work / str(number))
    assert server.packs == 2
    assert list(place.home.iterdir()) == []
    assert sorted(os.listdir(place.work)) == ["0", "1"]


def entangle(place: Place) -> None:
    """``x`` has ``y`` as a submodule, and ``y`` has ``x``: older commits of each other, and of themselves."""
    bases = {name: place.repository(name) for name in "xy"}
    first = {name: repository.commit_files({f"{name}.tf": b"# 1\n"}) for name, repository in bases.items()}
    for name, repository in bases.items():
        links = {other: Gitlink(first[other]) for other in "xy"}
        sections = {other: {"path": other, "url": f"../{other}.git"} for other in "xy"}
        files = {".gitmodules": modules(**sections), f"{name}.tf": b"# 2\n", **links}
        repository.commit_files(files, first[name])


def test_repositories_that_are_submodules_of_each_other(place: Place, server: GitServer) -> None:
    """Whoever held one workshop while waiting for the other would wait for ever."""
    entangle(place)
    with place.client() as client, ThreadPoolExecutor(MANY) as pool:

        def work(number: int) -> None:
            client.get(f"git::{server.url}/{'xy'[number % 2]}.git", place.work / str(number))

        list(pool.map(work, range(MANY)))
    for number in range(MANY):
        assert (place.work / str(number) / "x" / "x.tf").read_bytes() == b"# 1\n"
        assert (place.work / str(number) / "y" / "y.tf").read_bytes() == b"# 1\n"
