"""Signals become exceptions, once; each test is a child, because handlers belong to a process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from getmodules.cli import interrupt as subject
from getmodules.cli.interrupt import Interrupted
from tests.support import processes

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
each_signal = pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)


def _send(number: int) -> None:
    os.kill(os.getpid(), number)


def _in_child(work: Callable[[], None]) -> None:
    assert processes.run(work) == 0  # type: ignore[arg-type]


@each_signal
def test_a_signal_is_raised_where_the_program_is(number: signal.Signals) -> None:
    def child() -> None:
        with subject.signals_as_exceptions():
            with pytest.raises(KeyboardInterrupt) as caught:  # what knows Ctrl-C knows all of them
                _send(number)
            assert isinstance(caught.value, Interrupted)
            assert (caught.value.number, caught.value.exit_code) == (number, 128 + number)

    _in_child(child)


@pytest.mark.parametrize("second", SIGNALS, ids=lambda number: number.name)
def test_while_one_is_on_its_way_others_are_ignored(second: signal.Signals) -> None:
    cleaned = []

    def clean() -> None:
        try:
            _send(second)
            raise OSError("cleaning has its own troubles")
        except OSError:
            _send(second)
        cleaned.append(True)

    def interrupted() -> None:
        try:
            _send(signal.SIGTERM)
        finally:
            clean()

    def child() -> None:
        with subject.signals_as_exceptions():
            with pytest.raises(Interrupted) as caught:
                interrupted()
            _send(second)
            assert caught.value.number == signal.SIGTERM
        assert cleaned == [True]

    _in_child(child)


def test_one_that_got_lost_is_raised_again_at_the_next_check(capfd: pytest.CaptureFixture[str]) -> None:
    class Careless:
        def __del__(self) -> None:
            _send(signal.SIGTERM)  # Python drops what is raised in here

    def child() -> None:
        with subject.signals_as_exceptions():
            subject.check()
            careless = Careless()
            del careless
            for _ in range(2):
                with pytest.raises(Interrupted) as caught:
                    subject.check()
                assert caught.value.number == signal.SIGTERM

    _in_child(child)
    assert capfd.readouterr().err == ""


def test_other_things_that_python_drops_are_still_told(capfd: pytest.CaptureFixture[str]) -> None:
    class Careless:
        def __del__(self) -> None:
            raise ZeroDivisionError

    def child() -> None:
        with subject.signals_as_exceptions():
            careless = Careless()
            del careless

    _in_child(child)
    assert "ZeroDivisionError" in capfd.readouterr().err


@each_signal
def test_what_was_ignored_before_stays_ignored(number: signal.Signals) -> None:
    def child() -> None:
        signal.signal(number, signal.SIG_IGN)
        with subject.signals_as_exceptions():
            _send(number)
        assert signal.getsignal(number) is signal.SIG_IGN

    _in_child(child)


@each_signal
def test_afterwards_the_process_only_ends(number: signal.Signals) -> None:
    def child() -> None:
        with subject.signals_as_exceptions():
            pass
        _send(number)

    _in_child(child)


def test_importing_installs_nothing() -> None:
    def child() -> None:
        before = [signal.getsignal(number) for number in SIGNALS]
        import getmodules
        import getmodules.cli.main

        getmodules.detect("/a")
        assert [signal.getsignal(number) for number in SIGNALS] == before

    _in_child(child)
