"""The package itself: its names stay what they are, and importing it costs next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import getmodules

#: What takes longer to import than many a command takes as a whole.
HEAVY = (
    "requests",
    "urllib3",
    "pluggy",
    "furl",
    "oras",
    "git",
    "ssl",
    "socket",
    "importlib.metadata",
    "zipfile",
    "json",
)


def run(program: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120)
    return done.stdout.strip()


def test_no_submodule_replaces_a_public_name() -> None:
    """Importing a submodule sets its name on the package: ADR 0002."""
    program = (
        "import importlib, pkgutil, types, getmodules\n"
        "names = [name for name in dir(getmodules) if not name.startswith('_')]\n"
        "before = {name: getattr(getmodules, name) for name in names}\n"
        "before = {name: value for name, value in before.items() if not isinstance(value, types.ModuleType)}\n"
        "found = [each.name for each in pkgutil.walk_packages(getmodules.__path__, 'getmodules.')]\n"
        "for name in found:\n"
        "    if not name.endswith('__main__') and not name.startswith('getmodules.testing.fixtures'):\n"
        "        importlib.import_module(name)\n"
        "assert len(found) > 50 and len(before) > 50, (len(found), len(before))\n"
        "print([name for name, value in before.items() if getattr(getmodules, name) is not value])\n"
    )
    assert run(program) == "[]"


@pytest.mark.parametrize("name", dir(getmodules))
def test_each_name_that_is_listed_is_there(name: str) -> None:
    assert getattr(getmodules, name, None) is not None or name in ("__spec__", "__cached__")


def test_what_is_imported_when_it_is_used_is_listed_and_nothing_else_is_there() -> None:
    assert {"Client", "Digest", "Installed", "NetSettings", "Secret", "detect", "get", "resolve", "__version__"} <= set(
        dir(getmodules)
    )
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getmodules.nothing  # noqa: B018


def test_a_name_is_the_same_object_each_time() -> None:
    assert getmodules.Client is getmodules.Client
    assert getmodules.__version__ == run("import getmodules; print(getmodules.__version__)")


def test_importing_it_imports_nothing_heavy() -> None:
    program = (
        "import sys; before = set(sys.modules); import getmodules\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules and name not in before])"
    )
    assert run(program) == "[]"


def test_its_logger_is_silent_where_nobody_listens() -> None:
    program = "import getmodules, logging; logging.getLogger('getmodules').error('heard')"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("", "")
