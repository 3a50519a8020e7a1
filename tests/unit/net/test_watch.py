"""Exchanges that are ended from outside, at the right moment, and only then."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from getmodules.api.limits import Deadline
from getmodules.net import watch as watching
from getmodules.net.route import Route
from getmodules.net.settings import NetSettings
from getmodules.net.watch import Guardian, Watch, in_seconds
from tests.support.contexts import a_context
from tests.support.waiting import wait_until

SETTINGS = NetSettings(connect_seconds=1, timeout=3, rate_window_seconds=10, rate_window_bytes=1000)

ROUTE = Route(server="registry.example:443")


class Clock:
    """The time that the watch goes by; a test lets it pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody sleeps on this clock")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    wait_until(lambda: guardians() == 0)  # that of an earlier test would sleep on this clock
    made = Clock()
    monkeypatch.setattr(watching, "time", made)
    return made


@pytest.fixture
def line() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        one.settimeout(5)
        yield one, other


def code_of(watch: Watch) -> str | None:
    watch.judge()
    return watch.ended.code if watch.ended else None


Step = Callable[[Watch, Clock], None]


def passes(seconds: float) -> Step:
    def step(_: Watch, clock: Clock) -> None:
        clock.now += seconds

    return step


def brings(amount: int) -> Step:
    return lambda watch, _: watch.received(amount)


def reading(watch: Watch, _: Clock) -> None:
    watch.reading()


def away(watch: Watch, _: Clock) -> None:
    watch.away()


def sent(watch: Watch, _: Clock) -> None:
    watch.sent()


def judged(watch: Watch, _: Clock) -> None:
    watch.judge()


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        pytest.param([passes(2.9)], None, id="headers may take their time"),
        pytest.param([passes(3)], "network/timeout", id="headers that do not come"),
        pytest.param([reading, passes(9.9)], None, id="a window that is not over"),
        pytest.param([reading, passes(10)], "network/timeout", id="a body that does not come"),
        pytest.param([reading, brings(999), passes(10)], "network/timeout", id="a body that is too slow"),
        pytest.param([reading, brings(1000), passes(10)], None, id="a body that is just fast enough"),
        pytest.param(
            [reading, brings(9000), passes(10), judged, passes(10)], "network/timeout", id="each window counts"
        ),
        pytest.param([reading, away, passes(1000)], None, id="a reader who is away"),
        pytest.param([reading, away, passes(1000), reading, passes(9)], None, id="who is back"),
        pytest.param(
            [reading, passes(6), away, passes(1000), reading, passes(4)], "network/timeout", id="only reading counts"
        ),
        pytest.param([passes(2), reading, passes(9)], None, id="the wait for headers is not the body's"),
        pytest.param([reading, passes(9), sent, passes(2)], None, id="an upload has its own time"),
        pytest.param([reading, passes(9), sent, passes(3)], "network/timeout", id="an upload that nobody answers"),
    ],
)
def test_when_an_exchange_is_ended(clock: Clock, steps: list[Step], code: str | None) -> None:
    watch = Watch(a_context(deadline=Deadline.after(1e9)), SETTINGS, ROUTE)
    for step in steps:
        step(watch, clock)
    assert code_of(watch) == code


@pytest.mark.parametrize("state", [reading, away, sent], ids=["reading", "away", "sent"])
def test_the_deadline_and_cancelling_end_it_in_any_state(clock: Clock, state: Step) -> None:
    late = Watch(a_context(deadline=Deadline.after(-1)), SETTINGS, ROUTE)
    state(late, clock)
    assert code_of(late) == "network/timeout"
    cancelled = threading.Event()
    cancelled.set()
    stopped = Watch(a_context(cancelled=cancelled), SETTINGS, ROUTE)
    state(stopped, clock)
    assert code_of(stopped) == "install/cancelled"


def test_the_first_reason_stays(clock: Clock) -> None:
    cancelled = threading.Event()
    watch = Watch(a_context(cancelled=cancelled), SETTINGS, ROUTE)
    clock.now += 60
    assert code_of(watch) == "network/timeout"
    cancelled.set()
    assert code_of(watch) == "network/timeout"


def test_ending_it_ends_the_read_that_waits(line: tuple[socket.socket, socket.socket], clock: Clock) -> None:
    one, _ = line
    watch = Watch(a_context(), SETTINGS, ROUTE)
    watch.attach(one.dup())
    clock.now += 60
    watch.judge()
    assert one.recv(1) == b""
    watch.detach()
    watch.detach()


def test_a_connection_that_comes_after_the_end_is_ended_too(
    line: tuple[socket.socket, socket.socket], clock: Clock
) -> None:
    one, _ = line
    watch = Watch(a_context(), SETTINGS, ROUTE)
    clock.now += 60
    watch.judge()
    watch.attach(one.dup())
    assert one.recv(1) == b""
    watch.detach()


def test_a_detached_connection_serves_on(line: tuple[socket.socket, socket.socket], clock: Clock) -> None:
    one, other = line
    watch = Watch(a_context(), SETTINGS, ROUTE)
    watch.attach(one.dup())
    watch.detach()
    clock.now += 60
    watch.judge()
    other.send(b"x")
    assert one.recv(1) == b"x"


def test_a_connection_that_is_gone_already_is_no_problem(clock: Clock) -> None:
    one, other = socket.socketpair()
    watch = Watch(a_context(), SETTINGS, ROUTE)
    watch.attach(one.dup())
    one.shutdown(socket.SHUT_RDWR)
    one.close()
    other.close()
    clock.now += 60
    assert code_of(watch) == "network/timeout"
    watch.detach()


def guardians() -> int:
    return sum(thread.name == "getmodules-guardian" for thread in threading.enumerate())


def test_the_guardian_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_IDLE_SECONDS", 0.1)
    wait_until(lambda: guardians() == 0)
    guardian = Guardian()
    cancelled = threading.Event()
    one, other = (Watch(a_context(cancelled=cancelled), SETTINGS, ROUTE) for _ in range(2))
    guardian.add(one)
    guardian.add(other)
    assert guardians() == 1
    cancelled.set()
    wait_until(lambda: one.ended is not None and other.ended is not None)
    # Nobody took them away: their readers were interrupted, and the thread must not stay for them.
    wait_until(lambda: guardians() == 0)
    third = Watch(a_context(cancelled=cancelled), SETTINGS, ROUTE)
    guardian.add(third)
    wait_until(lambda: third.ended is not None)
    guardian.remove(third)
    guardian.remove(third)
    wait_until(lambda: guardians() == 0)


def test_an_answer_that_is_dropped_is_not_watched_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_IDLE_SECONDS", 0.1)
    guardian = Guardian()
    dropped = Watch(a_context(), SETTINGS, ROUTE)
    guardian.add(dropped)
    assert guardians() == 1
    del dropped
    wait_until(lambda: guardians() == 0)


@pytest.mark.parametrize(("number", "said"), [(1, "1 second"), (1.5, "1.5 seconds"), (30.0, "30 seconds")])
def test_seconds_in_words(number: float, said: str) -> None:
    assert in_seconds(number) == said
