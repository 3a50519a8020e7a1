"""Settings from the environment."""

from __future__ import annotations

import pytest

from getmodules import Client, ConfigError, Limits
from getmodules.config import limits_from, selection_from
from getmodules.plugins import Selection
from tests.refusals import refusal


@pytest.mark.parametrize(
    ("environ", "only"),
    [
        pytest.param({}, None, id="unset: all"),
        pytest.param({"GETMODULES_PLUGINS": ""}, frozenset(), id="empty: none"),
        pytest.param({"GETMODULES_PLUGINS": "a"}, frozenset({"a"}), id="one"),
        pytest.param({"GETMODULES_PLUGINS": " a ,, b,"}, frozenset({"a", "b"}), id="several"),
    ],
)
def test_which_plugins(environ: dict[str, str], only: frozenset[str] | None) -> None:
    assert selection_from(environ, ["x"]) == Selection(only=only, without=frozenset({"x"}))


def test_limits() -> None:
    assert limits_from({}) == Limits()
    assert limits_from({"GETMODULES_LIMIT_ENTRIES": "5"}) == Limits(entries=5)


def test_a_client_reads_the_environment_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GETMODULES_LIMIT_ENTRIES", "many")
    assert "GETMODULES_LIMIT_ENTRIES" in refusal(ConfigError, "config", Client).message
    Client(environ={})
    Client(limits=Limits())
    monkeypatch.setenv("GETMODULES_PLUGINS", "")
    monkeypatch.delenv("GETMODULES_LIMIT_ENTRIES")
    client = Client()
    monkeypatch.setenv("GETMODULES_LIMIT_ENTRIES", "many")
    assert str(client.detect("https://h/x")) == "https://h/x"
