"""``getmodules plugins``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.commandline import Result, call, make_plugin

GETTER = """
from getmodules import hookimpl

class Getter:
    schemes = {schemes}

    def fetch(self, pin, wants, context):
        raise NotImplementedError

@hookimpl
def getmodules_getters():
    return [Getter()]
"""


def _plugins(result: Result) -> dict[str, dict[str, Any]]:
    assert result.code == 0
    return {plugin["name"]: plugin for plugin in result.object["plugins"]}


def test_our_own_are_listed() -> None:
    result = call("plugins", "--json")
    assert list(result.object) == ["plugins", "conflicts"]
    assert result.object["conflicts"] == []
    file = _plugins(result)["file"]
    assert list(file) == ["name", "distribution", "version", "state", "offers", "why", "error"]
    assert file["distribution"] == "getmodules"
    assert (file["state"], file["why"], file["error"]) == ("loaded", None, None)
    assert file["offers"] == {"detectors": ["file"], "getters": ["file"]}
    assert "zip" in _plugins(result)["archives"]["offers"]["unpackers"]


def test_somebody_elses(site: Path) -> None:
    make_plugin(site, "getmodules-acme", GETTER.format(schemes="('acme', 'acme2')"), "2.5")
    acme = _plugins(call("plugins", "--json"))["getmodules-acme"]
    assert (acme["distribution"], acme["version"]) == ("getmodules-acme", "2.5")
    assert acme["offers"] == {"getters": ["acme", "acme2"]}
    assert "getmodules-acme  getmodules-acme 2.5\n  getters       acme, acme2\n" in call("plugins").out


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param("import nothing_like_it", "plugin-load", id="import fails"),
        pytest.param("raise SystemExit(3)", "plugin-load", id="it exits"),
        pytest.param(GETTER.format(schemes="'acme'"), "plugin-contract", id="a string for its schemes"),
        pytest.param(GETTER.format(schemes="('a\\x1b[2J',)"), "plugin-contract", id="a harmful scheme"),
        pytest.param(
            GETTER.format(schemes="('acme',)").replace("getmodules_getters", "getmodules_geters"),
            "plugin-load",
            id="a misspelt hook",
        ),
    ],
)
def test_one_that_failed_is_listed_with_its_reason(source: str, code: str, site: Path) -> None:
    make_plugin(site, "getmodules-acme", source)
    acme = _plugins(call("plugins", "--json"))["getmodules-acme"]
    assert (acme["state"], acme["offers"], acme["error"]["code"]) == ("failed", {}, code)
    assert "getmodules-acme 1.0" in acme["error"]["message"]
    text = call("plugins")
    assert text.code == 0
    assert "getmodules-acme  getmodules-acme 1.0  failed\n" in text.out
    assert f"  error         {acme['error']['message']}\n" in text.out
    assert "  hint          " in text.out
    assert all(line.isprintable() for line in text.out.splitlines())


def test_one_that_was_left_out(site: Path) -> None:
    make_plugin(site, "getmodules-acme", GETTER.format(schemes="('acme',)"))
    for result in (
        call("plugins", "--json", "--no-plugin", "getmodules-acme"),
        call("plugins", "--json", environ={"GETMODULES_PLUGINS": ""}),
    ):
        acme = _plugins(result)["getmodules-acme"]
        assert (acme["state"], acme["offers"], acme["error"]) == ("left-out", {}, None)
        assert acme["why"]
    text = call("plugins", "--no-plugin", "getmodules-acme").out
    assert "getmodules-acme  getmodules-acme 1.0  left-out\n  why           taken out by its name\n" in text


def test_conflicts_are_listed(site: Path) -> None:
    for name in ("getmodules-one", "getmodules-two"):
        make_plugin(site, name, GETTER.format(schemes="('acme', 'file')"))
    result = call("plugins", "--json")
    assert result.code == 0
    assert [conflict["code"] for conflict in result.object["conflicts"]] == ["plugin-conflict"] * 2
    both = result.object["conflicts"][0]["message"]
    assert "getmodules-one" in both
    assert "getmodules-two" in both
    text = call("plugins").out
    assert f"conflict        {both}\n  hint          " in text


def test_one_that_changes_its_mind(site: Path) -> None:
    changing = GETTER.format(schemes="property(lambda self: self.names.pop())").replace(
        "    def fetch", "    names = [('acme',)]\n\n    def fetch"
    )
    make_plugin(site, "getmodules-acme", changing)
    acme = _plugins(call("plugins", "--json"))["getmodules-acme"]
    assert (acme["state"], acme["offers"], acme["error"]["code"]) == ("failed", {}, "plugin-contract")
