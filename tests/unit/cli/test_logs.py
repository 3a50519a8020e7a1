"""What the library logs is shown as messages, and the library's logger is given back as it was."""

from __future__ import annotations

import io
import logging

import pytest

from getmodules.cli import logs as subject
from getmodules.cli.render import Console

LOGGER = logging.getLogger("getmodules.some.plugin")


def _shown(*, quiet: bool = False, verbose: bool = False) -> str:
    err = io.StringIO()
    console = Console(stdout=io.StringIO(), stderr=err, environ={})
    console.quiet, console.verbose = quiet, verbose
    with subject.show_logs(console):
        LOGGER.debug("in detail")
        LOGGER.warning("careful: %s", "https://u:secret@h/\x1b[2J")
        LOGGER.error("bad")
    return err.getvalue()


@pytest.mark.parametrize(
    ("how", "labels"),
    [
        pytest.param({}, ["warning", "error"], id="as usual"),
        pytest.param({"quiet": True}, ["error"], id="quiet"),
        pytest.param({"verbose": True}, ["debug", "warning", "error"], id="verbose"),
    ],
)
def test_how_much_is_shown(how: dict[str, bool], labels: list[str]) -> None:
    assert [line.partition(":")[0] for line in _shown(**how).splitlines()] == labels


def test_what_is_shown_is_harmless() -> None:
    assert "warning: careful: https://u:****@h/\\x1b[2J\n" in _shown()


def test_the_logger_is_given_back() -> None:
    logger = logging.getLogger("getmodules")
    before = (logger.level, list(logger.handlers))
    _shown(verbose=True)
    assert (logger.level, list(logger.handlers)) == before


def test_a_record_that_makes_no_sentence_does_not_end_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    console = Console(stdout=io.StringIO(), stderr=io.StringIO(), environ={})
    with subject.show_logs(console):
        LOGGER.error("%d things", "many")
        LOGGER.error("still here")
