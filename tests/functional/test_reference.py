"""The reference has every public name, each from its docstring, none of an inner module; and its examples run."""

from __future__ import annotations

import html
import importlib
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType, UnionType

import pytest
import responses

from getmodules.testing import zip_of
from tests.support.checkout import DOCS, ROOT

REFERENCE = DOCS / "reference"
PAGE = REFERENCE / "library.rst"
PUBLIC = ("getmodules", "getmodules.api", "getmodules.errors", "getmodules.providers", "getmodules.testing")
_DIRECTIVE = re.compile(r"^\.\. (?:auto\w+|data):: ([\w.]+)", re.MULTILINE)
_CURRENT = re.compile(r"^\.\. currentmodule:: ([\w.]+)$", re.MULTILINE)
_DOTTED = re.compile(r"(?<![\w./@-])getmodules(?:\.[A-Za-z_]\w*)+")
#: Files and repositories that are called like modules.
_NO_MODULES = re.compile(r"getmodules\.(toml|lock|schema|git|1)\b")
#: Programs, and a plugin of pytest, that the page about tests names.
_RUN_OR_LOADED = {"getmodules.testing.registry", "getmodules.testing.fixtures"}
_MEMBERS_OF_MODULES = {"__version__"}


def public_names(name: str) -> dict[str, object]:
    """Return what a public module offers: its list, or else what it defines or passes on, but for modules."""
    module = importlib.import_module(name)
    offered = getattr(module, "__all__", None)
    names = [each for each in dir(module) if not each.startswith("_")] if offered is None else list(offered)
    found = {each: getattr(module, each) for each in names}
    return {
        each: value
        for each, value in found.items()
        if not isinstance(value, ModuleType) and (offered is not None or _is_of(name, value))
    }


def _is_of(module: str, value: object) -> bool:
    """Return whether a value is the module's own, and not there because its code uses it."""
    if isinstance(value, UnionType) or type(value).__name__ == "HookimplMarker":
        return True
    home = str(getattr(value, "__module__", ""))
    return home == module if module == "getmodules.errors" else home.startswith("getmodules")


def documented() -> set[str]:
    """Return the dotted names that the pages of the reference show."""
    found: set[str] = set()
    for path in REFERENCE.glob("*.rst"):
        text = path.read_text(encoding="utf-8")
        current = _CURRENT.search(text)
        for name in _DIRECTIVE.findall(text):
            found.add(name if "." in name else f"{current[1] if current else ''}.{name}")
    return found


def _value_of(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    assert module in PUBLIC, f"{name}: an inner module is no part of the reference"
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("module", PUBLIC)
def test_each_public_name_is_in_the_reference(module: str) -> None:
    shown = {id(_value_of(name)) for name in documented()}
    names = public_names(module)
    assert len(names) > 15
    assert sorted(name for name, value in names.items() if id(value) not in shown) == []


def test_nothing_else_is_in_the_reference() -> None:
    for name in documented():
        module, _, attribute = name.rpartition(".")
        assert attribute in public_names(module), name


@pytest.mark.parametrize("module", PUBLIC)
def test_each_public_class_and_function_says_what_it_is(module: str) -> None:
    described = {
        name: vars(value).get("__doc__") if isinstance(value, type) else getattr(value, "__doc__", None)
        for name, value in public_names(module).items()
        if getattr(value, "__module__", "").startswith("getmodules") and callable(value) and not _is_alias(value)
    }
    assert sorted(name for name, doc in described.items() if not doc) == []


def _is_alias(value: object) -> bool:
    return hasattr(value, "__supertype__")


@pytest.mark.slow
def test_no_page_shows_a_name_of_an_inner_module(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "-n",
            "-E",
            "-b",
            "html",
            "-d",
            tmp_path / "trees",
            "docs",
            tmp_path,
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    pages = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "reference").glob("*.html")}
    assert {"library.html", "exceptions.html", "ports.html", "providers.html", "testing.html"} <= pages.keys()
    assert '<dt class="sig sig-object py" id="getmodules.Client.install">' in pages["library.html"]
    for page, text in pages.items():
        named = _DOTTED.findall(html.unescape(re.sub(r"<[^>]+>", "", text)))
        assert [name for name in named if not _is_public(name)] == [], page


def _is_public(name: str) -> bool:
    if _NO_MODULES.match(name) or name in PUBLIC or name in _RUN_OR_LOADED:
        return True
    module = next(each for each in reversed(PUBLIC) if name.startswith(f"{each}."))
    first = name.removeprefix(f"{module}.").split(".")[0]
    return first in public_names(module) or first in _MEMBERS_OF_MODULES


# ------------------------------------------------------------------------------------------------ the examples


def program() -> str:
    page = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", page, re.MULTILINE)
    assert len(found) == 8, "client, projects, threads, progress, cancelling, errors, credentials, network"
    return "\n".join(map(textwrap.dedent, found))


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "network" / "subnets").mkdir(parents=True)
    for folder in ("network", "network/subnets"):
        (tmp_path / folder / "main.tf").write_text("# a module\n", encoding="utf-8")
    (tmp_path / "infra").mkdir()
    monkeypatch.chdir(tmp_path)
    with responses.RequestsMock() as server:
        server.get("https://modules.acme.example/vpc.zip", body=zip_of({"main.tf": b"# vpc"}))
        exec(compile(program(), str(PAGE), "exec"), {"__name__": "example"})
        first, second = (call.request.headers.get("Authorization") for call in server.calls)
    assert (first, second) == ("Bearer what-the-vault-says", None)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("h1:")
    assert said[0].endswith(" 2 installed")
    assert any(re.fullmatch(r"network None unchanged h1:\S+", line) for line in said)
    assert "[2, 1]" in said
    assert any(line.endswith(": network") for line in said)
    assert any(line.endswith(": unpacking") for line in said)
    assert "cancelled" in said
    assert any(line.startswith("subdirectory-not-found ") for line in said)
    there = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.tf") if "modules" in path.parts}
    assert "modules/vpc/main.tf" in there
    assert not {path for path in there if "never" in path or "nosuch" in path}


@pytest.mark.slow
def test_the_examples_are_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "example.py").write_text(program(), encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--follow-imports=silent",
            "--cache-dir",
            tmp_path / "cache",
            "example.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
