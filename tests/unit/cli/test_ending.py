"""How a call ended: exit codes and words, whatever was raised."""

from __future__ import annotations

import errno
import io
import json
import os
import signal

import pytest

from getmodules.cli import ending as subject
from getmodules.cli.interrupt import Interrupted
from getmodules.cli.render import Console, OutputError, ReaderGoneError
from getmodules.errors import (
    AddressError,
    AuthenticationError,
    ConfigError,
    DigestMismatchError,
    FetchError,
    GetModulesError,
    InstallError,
    LockStaleError,
    OfflineError,
    PluginLoadError,
    UnsafeContentError,
)


def _conclude(error: BaseException, *, json_wanted: bool = False, verbose: bool = False) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    console = Console(stdout=out, stderr=err, environ={})
    console.json, console.verbose = json_wanted, verbose
    return subject.report_ending(error, console), out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("m"), 2),
        (AddressError("m"), 2),
        (PluginLoadError("m"), 1),
        (FetchError("m"), 1),
        (AuthenticationError("m"), 4),
        (OfflineError("m"), 6),
        (UnsafeContentError("m", part="hardlink"), 3),
        (DigestMismatchError("m"), 3),
        (InstallError("m"), 1),
        (LockStaleError("m"), 5),
        (OutputError("m"), 1),
    ],
    ids=lambda value: getattr(value, "code", value),
)
def test_an_error_of_ours(error: GetModulesError, code: int) -> None:
    assert _conclude(error) == (code, "", f"error: m\n  code: {error.code}\n")
    assert _conclude(error, json_wanted=True)[:2] == (code, json.dumps({"error": error.as_json()}) + "\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(KeyboardInterrupt(), 130, id="Ctrl-C before we listen"),
        pytest.param(Interrupted(signal.SIGINT), 130, id="SIGINT"),
        pytest.param(Interrupted(signal.SIGTERM), 143, id="SIGTERM"),
        pytest.param(Interrupted(signal.SIGHUP), 129, id="SIGHUP"),
    ],
)
def test_an_interrupt(error: KeyboardInterrupt, code: int) -> None:
    assert _conclude(error) == (code, "", "interrupted\n")
    told = _conclude(error, json_wanted=True)
    assert (told[0], told[2]) == (code, "interrupted\n")
    assert json.loads(told[1]) == {
        "error": {"code": "interrupted", "message": "interrupted", "hint": None, "address": None}
    }


def test_a_reader_that_went_away_hears_nothing() -> None:
    assert _conclude(ReaderGoneError(), json_wanted=True) == (141, "", "")


@pytest.mark.parametrize(("raised", "code"), [(0, 0), (3, 3), (None, 0)])
def test_argparse_ended_it(raised: int | None, code: int) -> None:
    assert _conclude(SystemExit(raised)) == (code, "", "")


# -------------------------------------------------------------------------------------------------- bugs


def _bug() -> Exception:
    try:
        raise ZeroDivisionError("at https://u:secret@h/\x1b[2J")
    except ZeroDivisionError as error:
        return error


def test_a_bug_is_one_sentence() -> None:
    code, out, err = _conclude(_bug())
    assert (code, out) == (1, "")
    assert err == (
        "error: this is a bug in getmodules: ZeroDivisionError: at https://u:****@h/\\x1b[2J\n"
        "  hint: please report it with what you did; -v shows where it happened\n"
        "  code: internal\n"
    )


def test_a_bug_without_words() -> None:
    assert _conclude(ValueError())[2].startswith("error: this is a bug in getmodules: ValueError\n")


def test_a_bug_is_json_as_well() -> None:
    code, out, _ = _conclude(_bug(), json_wanted=True)
    assert code == 1
    assert json.loads(out)["error"]["code"] == "internal"
    assert "secret" not in out


def test_where_a_bug_happened_is_shown_on_request() -> None:
    code, out, err = _conclude(_bug(), verbose=True)
    assert (code, out) == (1, "")
    assert err.startswith("Traceback (most recent call last):\n")
    assert "in _bug" in err
    assert "secret" not in err
    assert "\x1b" not in err
    assert err.endswith("  hint: please report it with what you did\n  code: internal\n")


# -------------------------------------------------------------------------------- trouble while it is told


class Broken(io.StringIO):
    def flush(self) -> None:
        raise OSError(self.number, os.strerror(self.number))

    number = errno.ENOSPC


class Gone(Broken):
    number = errno.EPIPE


@pytest.mark.parametrize("stdout", [None, Broken(), Gone()], ids=["closed", "full", "nobody reads"])
def test_an_error_that_cannot_be_written_as_json_keeps_its_exit_code(stdout: io.StringIO | None) -> None:
    err = io.StringIO()
    console = Console(stdout=stdout, stderr=err, environ={})
    console.json = True
    assert subject.report_ending(DigestMismatchError("m"), console) == 3
    assert err.getvalue() == "error: m\n  code: digest-mismatch\n"


def test_an_interrupt_while_an_error_is_told() -> None:
    class Impatient(io.StringIO):
        def flush(self) -> None:
            raise Interrupted(signal.SIGTERM)

    err = io.StringIO()
    console = Console(stdout=Impatient(), stderr=err, environ={})
    console.json = True
    with pytest.raises(Interrupted):  # one that never stops; a real one comes once
        subject.report_ending(ConfigError("m"), console)
    console = Console(stdout=OnceImpatient(), stderr=err, environ={})
    console.json = True
    assert subject.report_ending(ConfigError("m"), console) == 143


class OnceImpatient(io.StringIO):
    asked = False

    def flush(self) -> None:
        if not self.asked:
            self.asked = True
            raise Interrupted(signal.SIGTERM)


@pytest.mark.parametrize("deep", [1, 3])
def test_an_interrupt_that_python_wrapped_is_one(deep: int) -> None:
    """What is raised while a class is made is a RuntimeError before Python 3.12."""
    error: BaseException = Interrupted(signal.SIGTERM)
    for kind in (RuntimeError, ValueError, PluginLoadError)[:deep]:
        wrapped = kind("Error calling __set_name__")
        wrapped.__cause__ = error
        error = wrapped
    code, _, err = _conclude(error)
    assert (code, err) == (143, "interrupted\n")
    of_a_plugin = InstallError("wrapped")
    of_a_plugin.__cause__ = KeyboardInterrupt()  # no signal came
    assert _conclude(of_a_plugin)[0] == 1
    round_and_round = InstallError("boom")
    round_and_round.__cause__ = round_and_round
    assert _conclude(round_and_round)[0] == 1
    late = InstallError("cannot clean up")
    late.__context__ = Interrupted(signal.SIGTERM)  # what happened meanwhile is news of its own
    assert _conclude(late)[0] == 1


def test_no_more_threads_are_no_bug() -> None:
    code, out, err = _conclude(RuntimeError("can't start new thread"), json_wanted=True)
    assert code == 1
    assert json.loads(out)["error"]["code"] == "install"
    assert "ulimit -u" in err
