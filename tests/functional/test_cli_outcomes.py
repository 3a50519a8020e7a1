"""The installed command in a child: how each kind of failure ends, as people and as programs see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commandline import COMMAND, PATIENCE, Result, environment, make_plugin, run
from tests.support.fakes import FILES, zip_of
from tests.support.snapshots import snapshot, write_tree

RAISING = """
import getmodules
from getmodules import hookimpl

class Getter:
    schemes = ("raising",)
    arguments = None

    def fetch(self, pin, wants, context):
        raise {raised}

@hookimpl
def getmodules_getters():
    return [Getter()]
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", FILES)
    (tmp_path / "tree.zip").write_bytes(zip_of())
    (tmp_path / "half.zip").write_bytes(zip_of()[:-30])
    (tmp_path / "special").mkdir()
    os.mkfifo(tmp_path / "special" / "fifo")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    return tmp_path


def _outcome(exit_code: int, code: str, *argv: str, name: str | None = None) -> object:
    return pytest.param(exit_code, code, argv, id=name or code)


@pytest.mark.parametrize(
    ("exit_code", "code", "argv"),
    [
        _outcome(2, "config", "get", "./tree", "dest", "--limit", "entries=none"),
        _outcome(2, "config", "get", "./tree", name="usage"),
        _outcome(2, "address", "get", "nothing known", "dest"),
        _outcome(2, "unknown-scheme", "get", "nosuch://bucket/key", "dest"),
        _outcome(1, "not-found", "get", "./missing", "dest"),
        _outcome(1, "fetch/no-identity", "resolve", "./tree"),
        _outcome(1, "destination-exists", "get", "./tree", "full"),
        _outcome(1, "install/inside-source", "get", "./tree", "tree/dest"),
        _outcome(3, "unsafe-content/special-file", "get", "./special", "dest"),
        _outcome(3, "corrupt-archive", "get", "./half.zip", "dest"),
        _outcome(3, "unsupported-content", "get", "./tree/main.tf", "dest"),
        _outcome(3, "limit-exceeded/entries", "get", "./tree", "dest", "--limit", "entries=1"),
        _outcome(1, "subdirectory-not-found", "get", "./tree.zip//nope", "dest"),
        _outcome(1, "subdirectory-not-found/not-a-directory", "get", "./tree.zip//main.tf", "dest"),
        _outcome(3, "digest-mismatch", "get", "./tree.zip", "dest", "--expect", f"sha256:{'0' * 64}"),
        _outcome(3, "corrupt-archive", "hash", "./half.zip", name="hash"),
    ],
)
def test_a_failure(exit_code: int, code: str, argv: tuple[str, ...], here: Path) -> None:
    before = snapshot(here)
    told = run(*argv, cwd=here)
    assert (told.code, told.out) == (exit_code, "")
    assert told.err.startswith("error: ")
    assert told.err.endswith(f"  code: {code}\n")
    result = run(*argv, "--json", cwd=here)
    assert (result.code, result.err) == (exit_code, told.err)
    error = result.object["error"]
    assert list(error) == ["code", "message", "hint", "address"]
    assert error["code"] == code
    assert snapshot(here) == before


@pytest.mark.parametrize(
    ("raised", "exit_code", "code"),
    [
        pytest.param("getmodules.AuthenticationError('m')", 4, "authentication", id="authentication"),
        pytest.param("getmodules.OfflineError('m')", 6, "offline", id="offline"),
        pytest.param("getmodules.LockStaleError('m')", 5, "lock-stale", id="stale lock"),
        pytest.param("getmodules.NetworkError('m')", 1, "network", id="network"),
        pytest.param("ZeroDivisionError('m')", 1, "plugin-contract", id="a bug in a plugin"),
        pytest.param("SystemExit(0)", 1, "plugin-contract", id="a plugin that exits"),
    ],
)
def test_a_failure_of_a_getter(raised: str, exit_code: int, code: str, here: Path) -> None:
    make_plugin(here / "site", "getmodules-raising", RAISING.format(raised=raised))
    before = set(snapshot(here)) - {"site/__pycache__"}
    result = run(
        "get", "raising://x", "dest", "--json", cwd=here, PYTHONPATH=str(here / "site"), PYTHONDONTWRITEBYTECODE="1"
    )
    assert result.code == exit_code
    assert result.object["error"]["code"] == code
    assert result.err.endswith(f"  code: {code}\n")
    assert set(snapshot(here)) == before


def test_two_plugins_that_claim_one_scheme(here: Path) -> None:
    for name in ("getmodules-one", "getmodules-two"):
        make_plugin(here / "site", name, RAISING.format(raised="ValueError"))
    env = {"PYTHONPATH": str(here / "site")}
    result = run("detect", "raising://x", "--json", cwd=here, **env)
    assert result.code == 1
    assert result.object["error"]["code"] == "plugin-conflict"
    environ = environment(**env)
    del environ["GETMODULES_PLUGINS"]  # what it names cannot be done without
    command = [COMMAND, "detect", "raising://x", "--no-plugin", "getmodules-one"]
    subprocess.run(command, cwd=here, env=environ, capture_output=True, check=True)
    listed = run("plugins", "--json", cwd=here, **env)
    assert listed.code == 0
    assert [each["code"] for each in listed.object["conflicts"]] == ["plugin-conflict"]


def test_a_bug_is_told_in_one_sentence(here: Path) -> None:
    """``sitecustomize`` plants one where nobody guards."""
    (here / "site").mkdir()
    (here / "site" / "sitecustomize.py").write_text(
        "import getmodules.client as c\n"
        "def broken(*a, **k): raise ZeroDivisionError('at https://u:secret@h/')\n"
        "c.Client.get = broken\n"
    )
    env = {"PYTHONPATH": str(here / "site")}
    result = run("get", "./tree", "dest", "--json", cwd=here, **env)
    assert result.code == 1
    assert result.object["error"]["code"] == "internal"
    assert "Traceback" not in result.err
    verbose = run("get", "./tree", "dest", "-v", cwd=here, **env)
    assert (verbose.code, verbose.out) == (1, "")
    assert "Traceback (most recent call last):" in verbose.err
    assert "secret" not in result.out + result.err + verbose.err


def test_success(here: Path) -> None:
    result = run("get", "./tree.zip//sub", "modules/sub", "--json", cwd=here)
    assert (result.code, result.err) == (0, "")
    assert result.object["files"] == 2
    assert (here / "modules" / "sub" / "a.tf").read_bytes() == FILES["sub/a.tf"]
    assert run("hash", "modules/sub", cwd=here).out == f"{result.object['h1']}\n{result.object['t1']}\n"


def test_as_a_module(here: Path) -> None:
    def module(*argv: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "getmodules", *argv],
            capture_output=True,
            text=True,
            cwd=here,
            env=environment(),
            timeout=PATIENCE,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    for argv in (["--version"], ["detect", "./tree"], ["get", "./missing", "dest"], ["--help"], []):
        assert module(*argv) == run(*argv, cwd=here)


@pytest.mark.parametrize(
    "argv",
    [
        ["detect", "./a", "x y", "-", "--explain"],
        ["resolve", "./tree", "nope://x"],
        ["hash", "tree"],
        ["hash", "missing"],
        ["plugins"],
        ["get", "./tree", "dest", "--progress", "plain", "-v"],
        ["get", "./tree", "dest", "--progress", "nonsense"],
        ["get", "--force"],
        ["nothing"],
        ["detect", "--wrong"],
    ],
    ids=" ".join,
)
def test_with_json_there_is_nothing_but_json_on_stdout(argv: list[str], here: Path) -> None:
    result = run(*argv, "--json", stdin=b"/a\n\xff\n", cwd=here)
    assert result.objects
    assert result.out.endswith("\n")
    assert all(json.loads(line) for line in result.out.splitlines())
