"""``--header``: two words, and no secret in either."""

from __future__ import annotations

import pytest

from getmodules.api.ports import Origin
from getmodules.cli.network_options import network_of
from getmodules.cli.options import Parser, add_headers
from getmodules.cli.render import Console
from getmodules.errors import ConfigError
from getmodules.net.settings import NetSettings
from tests.support.commandline import call
from tests.support.refusals import refusal, words_of

ENVIRON = {"TOKEN": "s3cr3t", "LINE": "s3cr3t\n", "EMPTY": "", "BLANK": " ", "BAD": "s3c\nr3t", "ODD": "s3crét"}


def settings(*words: str) -> NetSettings:
    parser = Parser(usage="u", description="d", epilog="e")
    add_headers(parser)
    argv = [word for pair in zip(words[::2], words[1::2], strict=True) for word in ("--header", *pair)]
    return network_of(parser.parse(argv, Console(stdout=None, stderr=None, environ=ENVIRON)), ENVIRON)


def shown(found: NetSettings, host: str, port: int = 443) -> dict[str, str]:
    return {name: value.reveal() for name, value in found.headers_for(Origin("https", host, port)).items()}


def test_a_header_for_a_host() -> None:
    found = settings("H.example", "PRIVATE-TOKEN=env:TOKEN", "h.example", "X=env:LINE", "i:8443", "Y=env:TOKEN")
    assert shown(found, "h.example") == {"PRIVATE-TOKEN": "s3cr3t", "X": "s3cr3t"}
    assert shown(found, "i", 8443) == {"Y": "s3cr3t"}
    assert shown(found, "i") == {}
    assert "s3cr3t" not in repr(found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["https://h", "X=env:TOKEN"], "'https://h' is not a host", id="url"),
        pytest.param(["h:99999", "X=env:TOKEN"], "'h:99999' is not a host", id="no such port"),
        pytest.param(["h:0", "X=env:TOKEN"], "'h:0' is not a host", id="port 0"),
        pytest.param(["", "X=env:TOKEN"], "'' is not a host", id="no host"),
        pytest.param(["X=env:TOKEN", "h"], "is not a host", id="other way round"),
        pytest.param(["h", "X: s3cr3t"], "is not NAME=env:VARIABLE", id="as in curl"),
        pytest.param(["h", "=env:TOKEN"], "is not NAME=env:VARIABLE", id="no name"),
        pytest.param(["h", "X Y=env:TOKEN"], "is not NAME=env:VARIABLE", id="blank in the name"),
        pytest.param(["h", "X=s3cr3t"], "must come from the environment", id="the value itself"),
        pytest.param(["h", "X=env:"], "'' for X is not set", id="no variable"),
        pytest.param(["h", "X=env:NONE"], "'NONE' for X is not set, or empty", id="not set"),
        pytest.param(["h", "X=env:EMPTY"], "not set, or empty", id="empty"),
        pytest.param(["h", "X=env:BLANK"], "not set, or empty", id="blank"),
        pytest.param(["h", "X=env:BAD"], "that no header can have", id="line end inside"),
        pytest.param(["h", "X=env:ODD"], "that no header can have", id="not ascii"),
        pytest.param(["h", "Host=env:TOKEN"], "sets by itself", id="Host"),
        pytest.param(["h", "range=env:TOKEN"], "sets by itself", id="Range"),
        pytest.param(["h", "X=env:TOKEN", "H", "x=env:LINE"], "given twice for the host h", id="twice"),
    ],
)
def test_what_cannot_be_sent(words: list[str], said: str) -> None:
    error = refusal(ConfigError, "config", settings, *words)
    assert said in error.message
    assert "s3cr3t" not in words_of(error)


def test_one_word_is_too_few() -> None:
    result = call("get", "https://h/a.zip", "dest", "--header", "h")
    assert (result.code, result.out) == (2, "")
    assert "--header" in result.err


@pytest.mark.parametrize(
    "argv", [["get", "https://h/a.zip", "dest"], ["resolve", "https://h/a.zip"]], ids=["get", "resolve"]
)
def test_what_fetches_has_the_option(argv: list[str]) -> None:
    result = call(*argv, "--header", "h", "X=s3cr3t")
    assert result.code == 2
    assert "must come from the environment" in result.err
    assert "s3cr3t" not in result.err


@pytest.mark.parametrize(
    "argv", [["push", ".", "oci://h/r?tag=1"], ["tags", "oci://h/r"], ["login", "h"]], ids=["push", "tags", "login"]
)
def test_what_only_speaks_to_registries_has_not(argv: list[str]) -> None:
    assert "there is no option '--header' here" in call(*argv, "--header", "h", "X=env:TOKEN").err
