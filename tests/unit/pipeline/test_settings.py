"""Settings from the environment."""

from __future__ import annotations

import pytest

from getmodules import Client, ConfigError, Limits
from getmodules.pipeline.settings import limits_from, registry_from, selection_from
from getmodules.plugins.loader import PluginSelection
from tests.support.refusals import refusal


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
    assert selection_from(environ, ["x"]) == PluginSelection(only=only, without=frozenset({"x"}))


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


@pytest.mark.parametrize(
    ("environ", "given", "host"),
    [
        pytest.param({}, None, None, id="none"),
        pytest.param({"GETMODULES_REGISTRY": ""}, None, None, id="empty"),
        pytest.param({"GETMODULES_REGISTRY": "r.example"}, None, "r.example", id="from the environment"),
        pytest.param({"GETMODULES_REGISTRY": "r.example"}, "Other.example:8443", "other.example:8443", id="given"),
        pytest.param({}, "r.example:443", "r.example", id="its own port"),
        pytest.param({}, "[::1]:8443", "[::1]:8443", id="IPv6"),
    ],
)
def test_which_registry(environ: dict[str, str], given: str | None, host: str | None) -> None:
    assert registry_from(environ, given) == host


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("", id="empty"),
        pytest.param("https://r.example", id="a URL"),
        pytest.param("r.example/", id="a slash"),
        pytest.param("r.example/acme", id="a path"),
        pytest.param("user:hunter22@r.example", id="a password"),
        pytest.param("r.example:0", id="no port"),
        pytest.param("r example", id="a blank"),
        pytest.param("bücher.example", id="beyond ASCII"),
    ],
)
def test_what_is_no_registry(given: str) -> None:
    error = refusal(ConfigError, "config", registry_from, {}, given)
    assert error.hint == "write HOST or HOST:PORT, without a scheme or a path"
    assert "hunter22" not in error.message
    refusal(ConfigError, "config", Client, environ={"GETMODULES_PLUGINS": "", "GETMODULES_REGISTRY": given or " "})
