"""The installed command and its streams: pipes, terminals, full disks, locales."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import (
    COMMAND,
    PATIENCE,
    environment,
    make_plugin,
    make_slow_plugin,
    run,
    run_on_terminal,
)

#: macOS has no disk that is always full.
_HAS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    make_slow_plugin(tmp_path / "site", seconds=0.6)
    return tmp_path


def _slow(here: Path, *argv: str) -> tuple[list[str], dict[str, str]]:
    return ["get", "slow://x", "dest", *argv], {"PYTHONPATH": str(here / "site")}


def _shell(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script, "bash", str(COMMAND)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(),
        timeout=PATIENCE,
        check=False,
    )


# ---------------------------------------------------------------------------------------------- terminals


def test_a_terminal_sees_progress_and_keeps_nothing_of_it(here: Path) -> None:
    argv, env = _slow(here)
    result = run_on_terminal(*argv, cwd=here, COLUMNS="60", **env)
    assert result.code == 0
    assert result.out.startswith("installed  dest\n")
    drawn = result.err.split("\r")
    assert any(line.startswith("unpacking    ") for line in drawn)
    assert all(len(line) < 60 for line in drawn)
    assert drawn[-2].strip() == drawn[-1] == ""  # overwritten with blanks, and back at the start of the line
    assert "\n" not in result.err
    assert "\x1b" not in result.err


def test_a_pipe_does_not(here: Path) -> None:
    argv, env = _slow(here)
    result = run(*argv, cwd=here, **env)
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        pytest.param(["--progress", "none"], {}, id="none"),
        pytest.param(["-q"], {}, id="quiet"),
        pytest.param([], {"TERM": "dumb"}, id="dumb"),
    ],
)
def test_nor_does_a_terminal_where_it_is_not_wanted(argv: list[str], env: dict[str, str], here: Path) -> None:
    command, more = _slow(here, *argv)
    result = run_on_terminal(*command, cwd=here, **more, **env)
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        pytest.param({}, True, id="as usual"),
        pytest.param({"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param({"TERM": "dumb"}, False, id="dumb"),
    ],
)
def test_colours_on_a_terminal(env: dict[str, str], coloured: bool, here: Path) -> None:
    result = run_on_terminal("hash", "missing", cwd=here, **env)
    assert result.code == 1
    assert ("\x1b[1;31merror\x1b[0m: " in result.err) is coloured
    assert ("\x1b" in result.err) is coloured


def test_help_is_for_stdout_even_where_stderr_is_a_terminal(here: Path) -> None:
    result = run_on_terminal("get", "--help", cwd=here)
    assert (result.code, result.err) == (0, "")
    assert "\x1b" not in result.out


# ------------------------------------------------------------------------------------- pipes and full disks


@pytest.mark.parametrize("how", ["", "--json"])
def test_a_reader_that_has_seen_enough(how: str, here: Path) -> None:
    script = f'yes /a | head -n 20000 | "$1" detect {how} - | head -n 1; echo ${{PIPESTATUS[2]}}'
    done = _shell(script, here)
    assert done.stderr == ""
    first, code = done.stdout.splitlines()
    assert "file:///a" in first
    assert code == "141"


@_HAS_FULL
@pytest.mark.parametrize("command", ["detect /a", "detect --json /a", "--help", "hash site", "plugins"])
def test_a_full_disk_behind_stdout(command: str, here: Path) -> None:
    done = _shell(f'"$1" {command} >/dev/full', here)
    assert done.returncode == 1
    assert done.stderr == ("error: cannot write to standard output: No space left on device\n  code: output\n")


def test_a_closed_stdout(here: Path) -> None:
    done = _shell('"$1" detect /a >&-', here)
    assert done.returncode == 1
    assert done.stderr == "error: standard output is closed\n  code: output\n"


@pytest.mark.parametrize("redirection", ["2>&-", pytest.param("2>/dev/full", marks=_HAS_FULL)])
def test_without_stderr_it_works_all_the_same(redirection: str, here: Path) -> None:
    done = _shell(f'"$1" detect /a nonsense /b {redirection}', here)
    assert (done.returncode, done.stdout) == (2, "file:///a\nfile:///b\n")


def test_a_closed_stdin(here: Path) -> None:
    done = _shell('"$1" detect - <&-', here)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: standard input is closed")
    assert done.stderr.endswith("  code: config\n")


def test_answers_come_as_soon_as_the_questions() -> None:
    with subprocess.Popen(
        [COMMAND, "detect", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for name in ("a", "b"):
            child.stdin.write(f"/{name}\n")
            child.stdin.flush()
            assert child.stdout.readline() == f"file:///{name}\n"
        child.stdin.close()
    assert child.returncode == 0


# ------------------------------------------------------------------------------------------------ locales

ASCII_ONLY = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}


def test_a_locale_that_knows_no_accents(here: Path) -> None:
    (here / "café").mkdir()
    (here / "café" / "main.tf").write_text("x")
    result = run("get", "./café", "déjà", cwd=here, **ASCII_ONLY)
    assert result.code == 0
    assert result.out.startswith("installed  d\\")
    result = run("get", "./café", "déjà", "--json", "--force", cwd=here, **ASCII_ONLY)
    assert (result.code, result.err) == (0, "")
    assert run("hash", "né", cwd=here, **ASCII_ONLY).code == 1


@pytest.mark.parametrize("env", [{}, ASCII_ONLY], ids=["UTF-8", "ASCII"])
def test_bytes_that_are_no_text(env: dict[str, str], here: Path) -> None:
    result = run("detect", b"/\xff\xfe", "-", "--json", stdin=b"/a\xff\n/b\n", cwd=here, **env)
    assert result.code == 2
    assert [list(each)[:2] for each in result.objects][:2] == [["source", "error"]] * 2
    assert result.objects[2]["address"] == "file:///b"
    assert "Traceback" not in result.err


def test_what_a_plugin_prints_is_no_data(tmp_path: Path) -> None:
    """At import and at work, also while another one does the work."""
    make_plugin(tmp_path / "site", "getmodules-loud", _LOUD)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "main.tf").touch()
    env = environment(PYTHONPATH=str(tmp_path / "site"))
    for dest, source in (("one", "loud://x"), ("two", "./source")):
        done = subprocess.run(
            [COMMAND, "get", source, dest, "--json"],
            cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE, check=True,
        )  # fmt: skip
        assert json.loads(done.stdout)["files"] == 1
        assert "imported\n" in done.stderr
        assert ("fetching\n" in done.stderr) is (source == "loud://x")


_LOUD = """
from getmodules import Member, Members, hookimpl

print("imported")

class Getter:
    schemes = ("loud",)

    def fetch(self, pin, wants, context):
        print("fetching")
        return Members((Member("main.tf", open=lambda: (b"1",)),))

@hookimpl
def getmodules_getters():
    return [Getter()]
"""
