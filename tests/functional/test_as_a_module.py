"""``python -m getmodules`` in a directory that is somebody else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import getmodules
from tests.support.commandline import PATIENCE, environment

EVIL = "raise SystemExit('taken from the current directory')\n"
CHECKOUT = Path(getmodules.__file__).parents[1]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A directory with modules that are called like dependencies, and with a plugin."""
    for name in ("requests", "furl", "oras", "tomllib", "evil", "git"):
        (tmp_path / f"{name}.py").write_text(EVIL)
    for name in ("pluggy", "urllib3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(EVIL)
    for info in ("evil-1.0.dist-info", "worse.egg-info"):
        (tmp_path / info).mkdir()
        (tmp_path / info / "entry_points.txt").write_text("[getmodules]\nevil = evil\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.tf").write_text("# main\n")
    return tmp_path


def module(cwd: Path, *argv: str, options: tuple[str, ...] = (), **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-m", "getmodules", *argv],
        cwd=cwd,
        env=environment() | env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("options", [(), ("-P",), ("-I",), ("-B",)], ids=str)
def test_nothing_is_taken_from_the_current_directory(hostile: Path, options: tuple[str, ...]) -> None:
    plugins = module(hostile, "plugins", options=options)
    assert (plugins.returncode, "evil" in plugins.stdout) == (0, False)
    installed = module(hostile, "get", "./src", "dest", options=options)
    assert (installed.returncode, installed.stderr) == (0, "")
    # Here requests, and what it needs, is imported; then nobody is there.
    refused = module(hostile, "resolve", "https://127.0.0.1:1/x.zip", "--no-cache", options=options)
    assert refused.returncode == 1
    assert "current directory" not in refused.stdout + refused.stderr


@pytest.mark.parametrize("name", ["a link", "a\udcff\udcfe", "a\n:b"], ids=ascii)
def test_nor_from_one_with_an_odd_name(hostile: Path, name: str) -> None:
    """Python has it on its path under the name that the system gives it."""
    odd = hostile.parent / f"{hostile.name} {name}"
    if "link" in name:
        odd.symlink_to(hostile)
    else:
        hostile.rename(odd)
    for env in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0"}):
        plugins = module(odd, "plugins", **env)
        assert (plugins.returncode, "evil" in plugins.stdout + plugins.stderr) == (0, False)


@pytest.mark.parametrize("path", [".", "{here}"], ids=["relative", "absolute"])
def test_what_the_user_names_is_kept(tmp_path: Path, path: str) -> None:
    """PYTHONPATH is the user's word, also where it is this directory."""
    (tmp_path / "own-1.0.dist-info").mkdir()
    (tmp_path / "own-1.0.dist-info" / "entry_points.txt").write_text("[getmodules]\nown = own\n")
    (tmp_path / "own.py").write_text("")
    assert "own 1.0" in module(tmp_path, "plugins", PYTHONPATH=path.format(here=tmp_path)).stdout
    assert "own 1.0" not in module(tmp_path, "plugins").stdout


@pytest.mark.parametrize("options", [(), ("-S", "-E")], ids=["installed", "not installed"])
def test_a_checkout_starts(options: tuple[str, ...]) -> None:
    """What is in it is the program itself. ``-S``: without the directories of installed distributions."""
    started = module(CHECKOUT, "--help", options=options)
    assert (started.returncode, started.stderr) == (0, "")
    assert "getmodules" in started.stdout


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    started = subprocess.run(
        ["sh", "-c", f"rmdir '{gone}' && exec '{sys.executable}' -m getmodules --version"],
        cwd=gone,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert started.returncode == 0, started.stderr


def test_the_registry_for_tests_starts_in_a_checkout() -> None:
    started = subprocess.run(
        [sys.executable, "-m", "getmodules.testing.registry", "--list-faults"],
        cwd=CHECKOUT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (started.returncode, started.stderr) == (0, "")
