"""Many packages side by side."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from getmodules import Blob, Client, Limits, Phase, Progress
from getmodules.errors import InstallError, NotFoundError
from getmodules.pipeline.batch import Job, Outcome, Pace, ask_all, install_all, resolve_all
from getmodules.pipeline.gates import of_expectation
from getmodules.pipeline.operation import Operation
from tests.support.fakes import SUB_H1, ZIP, ZIP_H1, FakeGetter, a_pin, blob, client_with, installed_files, zip_of
from tests.support.stores import a_home

#: Nothing here takes long; what never ends is to fail, whatever the machine does besides.
PATIENCE = 60


class Crowd(FakeGetter):
    """Counts who is in ``fetch`` at the same time, for each host; all wait until ``enough`` are in."""

    def __init__(self, enough: int = 1) -> None:
        super().__init__()
        self.inside: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.enough = enough
        self._changed = threading.Condition()

    def fetch(self, pin: Any, wants: Any, context: Any) -> Blob:
        host = pin.package.url.split("/")[2]
        with self._changed:
            self.asked.append(("fetch", pin.package.url))
            self.inside[host] += 1
            self.most[host] = max(self.most[host], self.inside[host])
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.inside.total() >= self.enough, timeout=PATIENCE)
            self.enough = 0 if self.inside.total() >= self.enough else self.enough
        time.sleep(0.01)
        with self._changed:
            self.inside[host] -= 1
        return blob(ZIP)


def operation_of(client: Client, **more: Any) -> Operation:
    return Operation(**{"catalog": client.catalog, "limits": Limits(), "progress": Progress(), **more})


def a_job(client: Client, source: str, dest: Path, **more: Any) -> Job:
    return Job(name=dest.name, address=client.detect(source), dest=dest, source=source, **more)


def failed(outcome: Outcome[Any]) -> list[tuple[str, str]]:
    return [(failure.module, failure.error.code) for failure in outcome.failures]


def no_threads() -> bool:
    """None that does packages; those that watch connections belong to the client."""
    return not [thread for thread in threading.enumerate() if thread.name.startswith("getmodules_")]


def test_fifty_modules_of_one_package_are_one_fetch(tmp_path: Path) -> None:
    files = {f"m{number:02}/main.tf": b"# %d\n" % number for number in range(50)}
    getter = FakeGetter(answer=lambda *_: blob(zip_of(files)), pin=a_pin("v1"))
    client = client_with(getter)
    jobs = [a_job(client, f"fake://h/p.zip//m{number:02}", tmp_path / f"d{number:02}") for number in range(50)]
    outcome = install_all(jobs, operation_of(client))
    assert [asked[0] for asked in getter.asked] == ["resolve", "fetch"]
    assert list(outcome.done) == [job.name for job in jobs]
    assert outcome.failures == ()
    for number, installed in enumerate(outcome.done.values()):
        assert installed_files(installed.path) == {"main.tf": b"# %d\n" % number}
    assert no_threads()


def test_good_ones_are_installed_and_all_failures_are_told_in_order(tmp_path: Path) -> None:
    def answer(pin: Any, *_: Any) -> Blob:
        if pin.package.url == "fake://h/missing":
            raise NotFoundError("there is nothing at fake://h/missing")
        return blob(b"no zip" if pin.package.url == "fake://h/broken" else ZIP)

    getter = FakeGetter(answer=answer)
    client = client_with(getter)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").touch()
    jobs = [
        a_job(client, "fake://h/missing//sub", tmp_path / "missing-1"),
        a_job(client, "fake://h/p", tmp_path / "whole"),
        a_job(client, "fake://h/p//sub", tmp_path / "taken"),
        a_job(client, "fake://h/broken", tmp_path / "broken"),
        a_job(client, "fake://h/p//nowhere", tmp_path / "nowhere"),
        a_job(client, "fake://h/p//sub", tmp_path / "wrong", tree_demands=of_expectation(ZIP_H1)),
        a_job(client, "fake://h/p//sub", tmp_path / "part"),
        a_job(client, "fake://h/missing", tmp_path / "missing-2"),
        a_job(client, "fake://h/q", tmp_path / "other", demands=of_expectation("sha256:" + "0" * 64)),
    ]
    outcome = install_all(jobs, operation_of(client, open_cache=lambda: a_home(tmp_path / "store")))
    assert failed(outcome) == [
        ("missing-1", "not-found"),
        ("taken", "destination-exists"),
        ("broken", "corrupt-archive"),
        ("nowhere", "subdirectory-not-found"),
        ("wrong", "digest-mismatch"),
        ("missing-2", "not-found"),
        ("other", "digest-mismatch"),
    ]
    assert {name: each.h1 for name, each in outcome.done.items()} == {"whole": ZIP_H1, "part": SUB_H1}
    assert sorted(os.listdir(tmp_path)) == ["part", "store", "taken", "whole"]
    assert os.listdir(tmp_path / "taken") == ["mine"]
    assert no_threads()


def test_the_order_does_not_depend_on_who_is_first(tmp_path: Path) -> None:
    turns = {str(number): threading.Event() for number in range(4)}

    def answer(pin: Any, *_: Any) -> Blob:
        number = pin.package.url[-1]
        turns[number].wait(PATIENCE)
        if number != "0":
            turns[str(int(number) - 1)].set()
        raise NotFoundError(f"there is nothing at {number}")

    client = client_with(FakeGetter(answer=answer))
    jobs = [a_job(client, f"fake://h/{number}", tmp_path / f"d{number}") for number in range(4)]
    turns["3"].set()
    outcome = install_all(jobs, operation_of(client))
    assert [failure.module for failure in outcome.failures] == ["d0", "d1", "d2", "d3"]


def test_one_host_is_asked_for_so_much_at_a_time_and_keeps_no_other_one_waiting(tmp_path: Path) -> None:
    """All of them are in ``fetch`` at once: if one host's waited in the threads, the other's would never come in."""
    getter = Crowd(enough=3 + 2)
    client = client_with(getter)
    jobs = [a_job(client, f"fake://busy/{number}", tmp_path / f"b{number}") for number in range(12)]
    jobs += [a_job(client, f"fake://idle/{number}", tmp_path / f"i{number}") for number in range(2)]
    outcome = install_all(jobs, operation_of(client), Pace(jobs=5, per_host=3))
    assert len(outcome.done) == 14
    assert getter.most == {"busy": 3, "idle": 2}
    assert no_threads()


def test_no_more_threads_than_jobs(tmp_path: Path) -> None:
    getter = Crowd(enough=4)
    client = client_with(getter)
    jobs = [a_job(client, f"fake://h{number}/p", tmp_path / f"d{number}") for number in range(12)]
    assert len(install_all(jobs, operation_of(client), Pace(jobs=4)).done) == 12
    assert getter.most.total() == 12
    assert getter.enough == 0


@pytest.mark.parametrize("jobs", [0, -1])
def test_one_at_a_time_is_the_least(jobs: int, tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(zip_of())))
    pace = Pace(jobs=jobs, per_host=jobs)
    assert len(install_all([a_job(client, "fake://h/p", tmp_path / "d")], operation_of(client), pace).done) == 1


def test_an_executor_is_handed_in_and_stays_open(tmp_path: Path) -> None:
    names: set[str] = set()
    getter = FakeGetter(answer=lambda *_: blob(ZIP), during_fetch=lambda _: names.add(threading.current_thread().name))
    client = client_with(getter)
    with ThreadPoolExecutor(2, thread_name_prefix="mine") as executor:
        jobs = [a_job(client, f"fake://h/{number}", tmp_path / f"d{number}") for number in range(6)]
        assert len(install_all(jobs, operation_of(client), Pace(executor=executor)).done) == 6
        assert all(name.startswith("mine") for name in names)
        assert executor.submit(lambda: 1).result() == 1


class Stop(Progress):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
        if package.endswith("/0") and phase is Phase.UNPACKING:
            raise self.error


@pytest.mark.parametrize("error", [RuntimeError("enough"), KeyboardInterrupt()], ids=["exception", "interrupt"])
@pytest.mark.parametrize("own", [False, True], ids=["our threads", "the caller's"])
def test_an_exception_in_progress_ends_all_of_them(tmp_path: Path, error: BaseException, own: bool) -> None:
    """The others would never end by themselves."""

    def endless(pin: Any, *_: Any) -> Blob:
        def chunks() -> Iterator[bytes]:
            while not pin.package.url.endswith("/0"):
                time.sleep(0.01)
                yield b"x"
            yield ZIP

        return Blob(chunks=chunks(), name="p.zip")

    client = client_with(FakeGetter(answer=endless))
    jobs = [a_job(client, f"fake://h{number}/{number}", tmp_path / f"d{number}") for number in range(8)]
    with ThreadPoolExecutor(3) as executor:
        pace = Pace(executor=executor) if own else Pace(jobs=3)
        operation = operation_of(client, progress=Stop(error), open_cache=lambda: a_home(tmp_path / "store"))
        with pytest.raises(type(error)):
            install_all(jobs, operation, pace)
    assert os.listdir(tmp_path) == ["store"]
    assert os.listdir(tmp_path / "store" / "ingest") == []
    assert os.listdir(tmp_path / "store" / "locks") == []
    assert no_threads()


def test_what_is_cancelled_from_outside_says_so(tmp_path: Path) -> None:
    cancelled = threading.Event()
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP), during_fetch=lambda _: cancelled.set()))
    jobs = [a_job(client, f"fake://h/{number}", tmp_path / f"d{number}") for number in range(4)]
    outcome = install_all(jobs, operation_of(client, cancelled=cancelled), Pace(jobs=1))
    assert {failure.error.code for failure in outcome.failures} == {"install/cancelled"}
    assert {type(failure.error) for failure in outcome.failures} == {InstallError}
    assert list(tmp_path.iterdir()) == []


def test_a_bug_is_not_hidden_among_failures(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)))

    def bug() -> None:
        raise ZeroDivisionError

    package = client.detect("fake://h/p").package
    with pytest.raises(ZeroDivisionError):
        ask_all({"a": (package, bug), "b": (package, lambda: None)}, operation_of(client))
    assert no_threads()


def test_nothing_to_do(tmp_path: Path) -> None:
    outcome = install_all([], operation_of(client_with()))
    assert (outcome.done, outcome.failures) == ({}, ())


def test_all_are_resolved_and_failures_do_not_hide_the_others() -> None:
    def pin(package: Any, context: Any) -> Any:
        if package.url.endswith("missing"):
            raise NotFoundError("nothing there")
        return a_pin(package.url)

    client = client_with(FakeGetter(pin=pin))
    sources = {"a": "fake://h/x", "b": "fake://h/missing", "c": "fake://h/y//sub"}
    outcome = resolve_all({name: (each, client.detect(each)) for name, each in sources.items()}, operation_of(client))
    assert {name: each.id for name, each in outcome.done.items()} == {"a": "fake://h/x", "c": "fake://h/y"}
    assert failed(outcome) == [("b", "not-found")]
    assert no_threads()


def test_a_package_of_which_two_things_are_demanded_is_judged_twice(tmp_path: Path) -> None:
    """It is one to the store, and whoever comes first must not answer for the other."""
    getter = Crowd()
    getter.pin = a_pin("v1")
    client = client_with(getter)
    jobs = [
        a_job(client, "fake://h/p", tmp_path / "one"),
        a_job(client, "fake://h/p", tmp_path / "two", demands=of_expectation("sha256:" + "0" * 64)),
    ]
    outcome = install_all(jobs, operation_of(client, open_cache=lambda: a_home(tmp_path / "store")))
    assert (list(outcome.done), failed(outcome)) == (["one"], [("two", "digest-mismatch")])
