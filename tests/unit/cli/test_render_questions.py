"""Questions of the console: to people on a terminal, and to nobody else."""

from __future__ import annotations

import getpass
import io
import warnings
from collections.abc import Callable

import pytest

from getmodules.cli.render import Console
from getmodules.errors import ConfigError
from tests.support.commandline import Terminal
from tests.support.refusals import refusal, words_of


def console(stdin: io.StringIO | None, stderr: io.StringIO | None = None) -> Console:
    return Console(stdout=io.StringIO(), stderr=stderr, stdin=stdin, environ={})


@pytest.mark.parametrize(
    ("stdin", "stderr", "asks"),
    [
        pytest.param(Terminal(), Terminal(), True, id="both"),
        pytest.param(io.StringIO(), Terminal(), False, id="nobody-answers"),
        pytest.param(Terminal(), io.StringIO(), False, id="nobody-sees-it"),
        pytest.param(None, Terminal(), False, id="closed"),
    ],
)
def test_whom_it_asks(stdin: io.StringIO | None, stderr: io.StringIO | None, asks: bool) -> None:
    assert console(stdin, stderr).can_ask is asks


def test_a_question_and_its_answer() -> None:
    seen = Terminal()
    assert console(Terminal("ada\nmore\n"), seen).ask("User name: ") == "ada"
    assert seen.getvalue() == "User name: "


def test_no_answer() -> None:
    refusal(ConfigError, "config", console(Terminal(), Terminal()).ask, "User name: ")


def _shows_what_is_typed(prompt: str, stream: object) -> str:
    warnings.warn("s3cr3t would be shown", getpass.GetPassWarning, stacklevel=1)
    return "s3cr3t"


def _ends(prompt: str, stream: object) -> str:
    raise EOFError


def _no_text(prompt: str, stream: object) -> str:
    return b"s3cr3t\xff".decode()


@pytest.mark.parametrize("way", [_shows_what_is_typed, _ends, _no_text])
def test_a_secret_that_cannot_be_had_in_secret(
    way: Callable[[str, object], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(getpass, "getpass", way)
    error = refusal(ConfigError, "config", console(Terminal(), Terminal()).ask_secretly, "Password: ")
    assert "s3cr3t" not in words_of(error)
    assert error.__context__ is None


def test_standard_input_that_is_closed() -> None:
    refusal(ConfigError, "config", console(None).secret_of_stdin)


def test_standard_input_that_cannot_be_read() -> None:
    class Broken(io.StringIO):
        def read(self, size: int | None = -1, /) -> str:
            raise OSError(5, "Input/output error")

    assert "Input/output error" in refusal(ConfigError, "config", console(Broken()).secret_of_stdin).message
