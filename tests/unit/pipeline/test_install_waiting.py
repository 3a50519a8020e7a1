"""Packages side by side: what one of them waits for holds up no other one."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from getmodules import Blob, Client, Gate, Kind, Member, Pin, Progress, hookimpl
from getmodules.api.model import Layers, Members
from getmodules.api.ports import Phase
from getmodules.pipeline.batch import Job, Pace, install_all
from getmodules.pipeline.install import SMALL_BYTES
from tests.support.fakes import ZIP, FakeGetter, FakePlugin, FakeVerifier, blob, zip_of

PACKAGES = 4
PATIENCE = 60


class Meeting:
    """All packages have to be in here at one time."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(PACKAGES)

    def attend(self, *_: object) -> None:
        self._barrier.wait(PATIENCE)


class Unpacker:
    names = ("slow",)
    suffixes = (".slow",)
    media_types = ()
    layer_media_types = ("slow/layer",)

    def __init__(self, wait: Callable[[], None], *, at_once: bool) -> None:
        self._wait = wait
        self._at_once = at_once

    def unpack(self, archive: Any, context: Any) -> Iterator[Member] | tuple[Member, ...]:
        member = Member("a", Kind.FILE, 1, executable=False, open=lambda: (b"x",))
        if self._at_once:
            self._wait()
            return (member,)
        return self._later(member)

    def _later(self, member: Member) -> Iterator[Member]:
        self._wait()
        yield member


class Plugin(FakePlugin):
    def __init__(self, *getters: Any, unpackers: Any = (), **offers: Any) -> None:
        super().__init__(*getters, **offers)
        self._unpackers = unpackers

    @hookimpl
    def getmodules_unpackers(self) -> Any:
        return self._unpackers


class Waiting(Progress):
    def __init__(self, phase: Phase, wait: Callable[[], None]) -> None:
        self._phase = phase
        self._wait = wait

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        if phase is self._phase:
            self._wait()


def by_url(package: Any, context: Any) -> Pin:
    return Pin(package=package, id=f"id of {package.url}")


def getter_of(content: Callable[[], Any]) -> FakeGetter:
    return FakeGetter(answer=lambda *_: content(), pin=by_url)


def client_of(plugin: FakePlugin, progress: Progress | None = None) -> Client:
    return Client(plugins=(plugin,), environ={"GETMODULES_PLUGINS": ""}, progress=progress, use_cache=False)


def jobs_of(client: Client, place: Path) -> list[Job]:
    sources = [f"fake://h{number}/p" for number in range(PACKAGES)]
    return [
        Job(name=str(number), address=client.detect(source), dest=place / str(number), source=source)
        for number, source in enumerate(sources)
    ]


def all_installed(client: Client, place: Path) -> bool:
    outcome = install_all(jobs_of(client, place), client._services.operation())
    return outcome.failures == () and len(outcome.done) == PACKAGES


def test_verifiers(tmp_path: Path) -> None:
    meeting = Meeting()

    class Verifier(FakeVerifier):
        def verify(self, gate: Gate, subject: Any, context: Any) -> str | None:
            meeting.attend()
            return None

    plugin = Plugin(getter_of(lambda: blob(ZIP)), verifiers=(Verifier(gates=(Gate.TREE,)),))
    assert all_installed(client_of(plugin), tmp_path)


def test_a_verifier_that_installs_something_with_the_same_client(tmp_path: Path) -> None:
    clients: list[Client] = []

    class Verifier(FakeVerifier):
        def verify(self, gate: Gate, subject: Any, context: Any) -> str | None:
            if "tool" not in context.package:
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(clients[0].get, "fake://tool/p", tmp_path / "tool").result(PATIENCE)
            return None

    plugin = Plugin(getter_of(lambda: blob(ZIP)), verifiers=(Verifier(gates=(Gate.TREE,)),))
    clients.append(client_of(plugin))
    clients[0].get("fake://h/p", tmp_path / "dest")
    assert sorted(os.listdir(tmp_path)) == ["dest", "tool"]


@pytest.mark.parametrize("at_once", [True, False], ids=["while it is called", "while it is read"])
@pytest.mark.parametrize("size", [10, SMALL_BYTES + 1], ids=["small", "large"])
def test_unpackers_of_others(tmp_path: Path, size: int, *, at_once: bool) -> None:
    meeting = Meeting()
    getter = getter_of(lambda: Blob(chunks=(b"x" * size,), name="p.slow"))
    plugin = Plugin(getter, unpackers=(Unpacker(meeting.attend, at_once=at_once),))
    assert all_installed(client_of(plugin), tmp_path)


def test_unpackers_of_layers(tmp_path: Path) -> None:
    """Two passes over each: so two meetings."""
    meeting = Meeting()
    getter = getter_of(lambda: Layers(blobs=(Blob(chunks=(b"x",), format="slow"),)))
    plugin = Plugin(getter, unpackers=(Unpacker(meeting.attend, at_once=False),))
    assert all_installed(client_of(plugin), tmp_path)


def test_layers_that_come_one_by_one(tmp_path: Path) -> None:
    meeting = Meeting()

    def layers() -> Iterator[Blob]:
        meeting.attend()
        yield Blob(chunks=(ZIP,), format="zip")

    assert all_installed(client_of(Plugin(getter_of(lambda: Layers(blobs=layers())))), tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("phase", [Phase.RESOLVING, Phase.DOWNLOADING, Phase.UNPACKING, Phase.INSTALLING])
@pytest.mark.parametrize("size", [10, SMALL_BYTES + 1], ids=["small", "large"])
def test_the_callers_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: Phase, size: int) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    getter = getter_of(lambda: Blob(chunks=(b"x" * size,), name="p.bin"))
    client = client_of(Plugin(getter), Waiting(phase, Meeting().attend))
    jobs = [
        Job(
            name=job.name,
            address=client.detect(f"{job.source}?filename=f"),
            dest=job.dest,
            source=job.source,
        )
        for job in jobs_of(client, tmp_path)
    ]
    assert len(install_all(jobs, client._services.operation()).done) == PACKAGES


WAITING = "fake://h0/waits"


class OthersAreDone(Progress):
    """``wait`` returns when all packages but the one that waits are installed."""

    def __init__(self) -> None:
        self._ended = threading.Semaphore(0)

    def finished(self, package: str, error: BaseException | None) -> None:
        if package != WAITING and error is None:
            self._ended.release()

    def wait(self) -> None:
        assert all(self._ended.acquire(timeout=PATIENCE) for _ in range(PACKAGES)), "they wait for a plugin"


def getter_beside_archives(of_waiting: Callable[[], Any]) -> FakeGetter:
    """``of_waiting`` for the package that waits; all others are small archives."""
    return FakeGetter(answer=lambda pin, *_: of_waiting() if pin.package.url == WAITING else blob(ZIP), pin=by_url)


def members_that_wait(others: OthersAreDone) -> Plugin:
    def items() -> Iterator[Member]:
        others.wait()
        yield Member("a", Kind.FILE, 1, executable=False, open=lambda: (b"x",))

    return Plugin(getter_beside_archives(lambda: Members(items())))


def content_that_waits(others: OthersAreDone) -> Plugin:
    def content() -> Iterator[bytes]:
        others.wait()
        yield b"x"

    member = Member("a", Kind.FILE, 1, executable=False, open=content)
    return Plugin(getter_beside_archives(lambda: Members((member,))))


def an_unpacker_that_waits(others: OthersAreDone, *, at_once: bool) -> Plugin:
    getter = getter_beside_archives(lambda: Blob(chunks=(b"x",), name="p.slow"))
    return Plugin(getter, unpackers=(Unpacker(others.wait, at_once=at_once),))


def layers_that_wait(others: OthersAreDone) -> Plugin:
    getter = getter_beside_archives(lambda: Layers(blobs=(Blob(chunks=(b"x",), format="slow"),)))
    waited = [False]

    def wait() -> None:
        if not waited[0]:  # layers are read twice
            others.wait()
        waited[0] = True

    return Plugin(getter, unpackers=(Unpacker(wait, at_once=False),))


def a_verifier_that_waits(others: OthersAreDone) -> Plugin:
    class Verifier(FakeVerifier):
        def verify(self, gate: Gate, subject: Any, context: Any) -> str | None:
            if context.package == WAITING:
                others.wait()
            return None

    return Plugin(getter_beside_archives(lambda: blob(ZIP)), verifiers=(Verifier(gates=(Gate.TREE,)),))


@pytest.mark.parametrize(
    "plugin_of",
    [
        pytest.param(members_that_wait, id="a getter, of its members"),
        pytest.param(content_that_waits, id="a getter, of a file"),
        pytest.param(partial(an_unpacker_that_waits, at_once=True), id="an unpacker, while it is called"),
        pytest.param(partial(an_unpacker_that_waits, at_once=False), id="an unpacker, while it is read"),
        pytest.param(layers_that_wait, id="an unpacker of layers"),
        pytest.param(a_verifier_that_waits, id="a verifier of trees"),
    ],
)
def test_a_plugin_that_waits_for_ever_delays_no_other_package(
    tmp_path: Path, plugin_of: Callable[[OthersAreDone], Plugin]
) -> None:
    others = OthersAreDone()
    client = client_of(plugin_of(others), others)
    waiting = Job(name="waiting", address=client.detect(WAITING), dest=tmp_path / "waiting", source=WAITING)
    outcome = install_all([waiting, *jobs_of(client, tmp_path)], client._services.operation())
    assert outcome.failures == ()
    assert len(outcome.done) == PACKAGES + 1


def test_small_archives_are_written_and_published_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = most = 0

    def sync(_: int) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.01)
        inside -= 1

    monkeypatch.setattr("getmodules.files.staging.sync_filesystem", sync)
    assert all_installed(client_of(Plugin(getter_of(lambda: blob(ZIP)))), tmp_path)
    assert most == 1


def test_a_progress_may_make_small_packages_wait_for_each_other(tmp_path: Path) -> None:
    client = client_of(Plugin(getter_of(lambda: blob(ZIP))), Waiting(Phase.INSTALLING, Meeting().attend))
    assert all_installed(client, tmp_path)


def test_a_thread_that_publishes_may_install_something_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a signal handler does, or a handler of logs."""
    client = client_of(Plugin(getter_of(lambda: blob(ZIP))))
    syncs: list[int] = []

    def sync(fd: int) -> None:
        syncs.append(fd)
        if len(syncs) == 1:
            client.get("fake://h/inner", tmp_path / "inner")

    monkeypatch.setattr("getmodules.files.staging.sync_filesystem", sync)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(client.get, "fake://h/outer", tmp_path / "outer").result(PATIENCE)
    assert sorted(os.listdir(tmp_path)) == ["inner", "outer"]


def test_large_archives_are_published_side_by_side(tmp_path: Path) -> None:
    large = zip_of({"noise": random.Random(1).randbytes(SMALL_BYTES)})
    client = client_of(Plugin(getter_of(lambda: blob(large))), Waiting(Phase.INSTALLING, Meeting().attend))
    assert all_installed(client, tmp_path)


def test_operations_of_one_client_write_small_archives_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = most = 0

    def sync(_: int) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.01)
        inside -= 1

    monkeypatch.setattr("getmodules.files.staging.sync_filesystem", sync)
    client = client_of(Plugin(getter_of(lambda: blob(ZIP))))
    with ThreadPoolExecutor(PACKAGES) as pool:
        list(pool.map(lambda job: client.get(job.source, job.dest), jobs_of(client, tmp_path)))
    assert most == 1


@pytest.mark.parametrize("threads", [0, 1], ids=["in the same thread", "in another one"])
def test_a_progress_that_installs_something_with_the_same_client(tmp_path: Path, threads: int) -> None:
    client = client_of(Plugin(getter_of(lambda: blob(ZIP))))

    def install() -> None:
        if threads:
            with ThreadPoolExecutor(threads) as pool:
                pool.submit(client.get, "fake://tool/p", tmp_path / "tool").result(PATIENCE)
        else:
            client.get("fake://tool/p", tmp_path / "tool")

    client.get("fake://h/p", tmp_path / "dest", progress=Waiting(Phase.INSTALLING, install))
    assert sorted(os.listdir(tmp_path)) == ["dest", "tool"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_installs_although_its_parent_was_publishing_when_it_was_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publishing, release, process = threading.Event(), threading.Event(), os.getpid()

    def sync(_: int) -> None:
        if os.getpid() == process:
            publishing.set()
            release.wait(PATIENCE)

    monkeypatch.setattr("getmodules.files.staging.sync_filesystem", sync)
    client = client_of(Plugin(getter_of(lambda: blob(ZIP))))
    with ThreadPoolExecutor(1) as pool:
        parent = pool.submit(client.get, "fake://h/p", tmp_path / "a")
        publishing.wait(PATIENCE)
        child = os.fork()
        if not child:
            signal.alarm(PATIENCE)
            with suppress(BaseException):
                client.get("fake://h/q", tmp_path / "b")
                os._exit(0)
            os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        release.set()
        parent.result(PATIENCE)
    assert status == 0
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize("stopped", [False, True], ids=["it is full", "it is shut down meanwhile"])
def test_an_executor_that_never_comes_to_a_task_is_not_waited_for(tmp_path: Path, *, stopped: bool) -> None:
    release = threading.Event()
    client = client_of(Plugin(getter_of(lambda: blob(ZIP))))
    operation = client._services.operation()
    executor = ThreadPoolExecutor(1)
    try:
        executor.submit(release.wait, PATIENCE)

        def stop() -> None:
            if stopped:
                executor.shutdown(wait=False, cancel_futures=True)
            else:
                operation.cancelled.set()
                executor.submit(lambda: None).cancel()

        timer = threading.Timer(0.2, stop)
        timer.start()
        if stopped:
            with pytest.raises((RuntimeError, CancelledError)):
                install_all(jobs_of(client, tmp_path), operation, Pace(executor=executor))
        else:
            threading.Timer(0.5, release.set).start()
            outcome = install_all(jobs_of(client, tmp_path), operation, Pace(executor=executor))
            assert {failure.error.code for failure in outcome.failures} == {"install/cancelled"}
        timer.join()
    finally:
        release.set()
        executor.shutdown()
    assert os.listdir(tmp_path) == []
