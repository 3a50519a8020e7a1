"""Every documented name comes from ``getmodules.api``, no other name does, and importing it costs nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import getmodules
from getmodules import api
from tests.support.checkout import DOCS, PACKAGE

_DIRECTIVE = re.compile(r"^\.\. auto(?:class|data|function):: getmodules\.api\.(\w+)$", re.MULTILINE)
#: On the page of hooks they stand below ``currentmodule``.
_HOOK = re.compile(r"^\.\. (?:data|autofunction):: (\w+)$", re.MULTILINE)


def documented() -> list[str]:
    found = _HOOK.findall((DOCS / "reference" / "hooks.rst").read_text(encoding="utf-8"))
    for page in (DOCS / "reference").glob("*.rst"):
        found += _DIRECTIVE.findall(page.read_text(encoding="utf-8"))
    return sorted(found)


def test_the_table_has_what_is_documented_and_nothing_else() -> None:
    assert documented() == sorted(api.__all__)


@pytest.mark.parametrize("name", documented())
def test_each_documented_name_is_there(name: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"from getmodules.api import {name}", namespace)
    value = namespace[name]
    assert value is getattr(api, name)
    assert name in dir(api)
    assert value is getattr(getmodules, name, value), "the same object as in getmodules, where that has the name"


def test_another_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'getmodules\.api' has no attribute 'nothing'"):
        api.nothing  # noqa: B018
    with pytest.raises(ImportError):
        exec("from getmodules.api import nothing")


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(api.__file__ or "").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen == api._HOME_OF
    assert set(seen) == set(api.__all__)


def test_no_name_hides_a_module() -> None:
    assert {path.stem for path in (PACKAGE / "api").glob("*.py")} & set(api.__all__) == set()


def test_importing_it_imports_nothing() -> None:
    program = (
        "import sys, getmodules; before = set(sys.modules)\n"
        "import getmodules.api; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "['getmodules.api']"
