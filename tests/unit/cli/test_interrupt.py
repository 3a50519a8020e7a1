"""Signals become exceptions, once; each test is a child, because handlers belong to a process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from getmodules.cli import interrupt as subject
from getmodules.cli.interrupt import Interrupted
from tests import processes

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
each_signal = pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)


def _send(number: int) -> None:
    os.kill(os.getpid(), number)


def _in_child(work: Callable[[], None]) -> None:
    assert processes.run(work) == 0  # type: ignore[arg-type]


@each_signal
def test_a_signal_is_raised_where_the_program_is(number: signal.Signals) -> None:
    def child() -> None:
        with subject.raised():
            try:
                _send(number)
            except KeyboardInterrupt as error:  # what knows Ctrl-C knows all of them
                assert isinstance(error, Interrupted)
                assert error.number == number
            else:
                raise AssertionError("nothing was raised")

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

    def child() -> None:
        with subject.raised():
            try:
                try:
                    _send(signal.SIGTERM)
                finally:
                    clean()
            except Interrupted as error:
                _send(second)
                assert error.number == signal.SIGTERM
        assert cleaned == [True]

    _in_child(child)


def test_one_that_got_lost_does_not_make_deaf() -> None:
    class Careless:
        def __del__(self) -> None:
            _send(signal.SIGTERM)  # Python prints what is raised in here, and goes on

    def child() -> None:
        with subject.raised():
            import sys

            sys.unraisablehook = lambda _: None
            careless = Careless()
            del careless
            with pytest.raises(Interrupted):
                _send(signal.SIGTERM)

    _in_child(child)


@each_signal
def test_what_was_ignored_before_stays_ignored(number: signal.Signals) -> None:
    def child() -> None:
        signal.signal(number, signal.SIG_IGN)
        with subject.raised():
            _send(number)
        assert signal.getsignal(number) is signal.SIG_IGN

    _in_child(child)


@each_signal
def test_afterwards_the_process_only_ends(number: signal.Signals) -> None:
    def child() -> None:
        with subject.raised():
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
