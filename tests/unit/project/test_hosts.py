"""What a manifest says about hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules import ConfigError
from getmodules.addresses.mirrors import Mirrors
from getmodules.net.settings import NetSettings
from getmodules.project import hosts as subject
from getmodules.project.manifest import parse_manifest
from tests.support.fakes import Recorder
from tests.support.refusals import refusal


def _around(text: str, directory: Path = Path("/p")) -> subject.HostSettings:
    return parse_manifest(text, directory / "getmodules.toml").host_settings


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("ca.pem", "c.pem", "k.pem"):
        (tmp_path / name).write_text("")
    return tmp_path


def test_how_a_host_is_reached(files: Path) -> None:
    text = (
        '[hosts."h.example"]\nca_file = "ca.pem"\nclient_cert = "c.pem"\nclient_key = "k.pem"\n'
        '[hosts."h.example:5000"]\nplain_http = true\n[mirrors]\n"oci://a" = "oci://b"\n'
    )
    settings = _around(text, files).network(NetSettings())
    assert settings.ca_files == {"h.example": str(files / "ca.pem")}
    assert settings.client_certificates == {"h.example": f"{files / 'c.pem'},{files / 'k.pem'}"}
    assert settings.plain_http == {"h.example:5000"}
    assert settings.mirrors == Mirrors({"oci://a": "oci://b"})


def test_what_the_caller_says_comes_first(files: Path) -> None:
    text = '[hosts."h"]\nca_file = "ca.pem"\nclient_cert = "c.pem"\n[mirrors]\n"oci://a" = "oci://b"\n"oci://c" = "oci://d"'
    mine = NetSettings(
        ca_files={"h": "mine"},
        client_certificates={"h": "mine"},
        plain_http=frozenset({"x"}),
        mirrors=Mirrors({"oci://a": "oci://mine"}),
    )
    settings = _around(text, files).network(mine)
    assert (settings.ca_files, settings.client_certificates) == ({"h": "mine"}, {"h": "mine"})
    assert settings.plain_http == {"x"}
    assert settings.mirrors.table == {"oci://a": "oci://mine", "oci://c": "oci://d"}


@pytest.mark.parametrize(
    ("host", "variable"),
    [
        ("ghcr.io", "GETMODULES_TOKEN_ghcr_io"),
        ("ghcr.io:443", "GETMODULES_TOKEN_ghcr_io"),
        ("my-registry:5000", "GETMODULES_TOKEN_my__registry_5000"),
        ("[::1]:5000", "GETMODULES_TOKEN___1_5000"),
    ],
)
def test_a_token_is_put_where_it_is_looked_for(host: str, variable: str) -> None:
    around = _around(f'[hosts."{host}"]\ntoken_variable = "GETMODULES_ACME_TOKEN"')
    assert around.environ({"GETMODULES_ACME_TOKEN": "s3cr3t", "A": "b"}) == {
        "GETMODULES_ACME_TOKEN": "s3cr3t",
        "A": "b",
        variable: "s3cr3t",
    }
    assert around.environ({"GETMODULES_ACME_TOKEN": "s3cr3t", variable: "nearer"})[variable] == "nearer"
    assert around.environ({}) == {}


def test_what_the_manifest_decides_is_told() -> None:
    around = _around(
        '[hosts."a.example"]\ntoken_variable = "GETMODULES_A_TOKEN"\n[hosts."b.example"]\nplain_http = true'
    )
    seen = Recorder()
    around.announce({"GETMODULES_A_TOKEN": "s3cr3t"}, seen)
    assert seen.events == [
        ("notice", "GETMODULES_A_TOKEN is the token for a.example: getmodules.toml says so"),
        ("notice", "b.example is spoken to without TLS: getmodules.toml says so"),
    ]
    quiet = Recorder()
    _around('[hosts."a.example"]\ntoken_variable = "GETMODULES_A_TOKEN"').announce({}, quiet)
    assert quiet.events == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('[hosts."https://h"]', "'https://h' is not a host", id="a URL"),
        pytest.param('[hosts."H.example"]', "'H.example' is not a host", id="upper case"),
        pytest.param('[hosts."u@h"]', "'u@h' is not a host", id="a user"),
        pytest.param('[hosts."h/x"]', "'h/x' is not a host", id="a path"),
        pytest.param('[hosts."h:0"]', "'h:0' is not a host", id="a port"),
        pytest.param('[hosts."h"]\nca = "x"', "[hosts.h]: there is no key 'ca'", id="a key"),
        pytest.param('[hosts."h"]\nca_file = "none.pem"', "[hosts.h]: ca_file is not a file", id="no such file"),
        pytest.param('[hosts."h"]\nclient_cert = "none.pem"', "client_cert is not a file", id="no such certificate"),
        pytest.param('[hosts."h"]\nca_file = "."', "ca_file is not a file", id="a directory"),
        pytest.param('[hosts."h"]\nclient_key = "k.pem"', "client_key has no client_cert", id="a key alone"),
        pytest.param('[hosts."h"]\nplain_http = 1', "plain_http is not true or false", id="no flag"),
        pytest.param('[hosts."h"]\ntoken_variable = "a b"', "is no name of a variable", id="no variable"),
        pytest.param('[hosts."h"]\ntoken_variable = "GITHUB_TOKEN"', "may be meant for others", id="another secret"),
        pytest.param(
            '[hosts."evil.example"]\ntoken_variable = "GETMODULES_TOKEN_ghcr_io"',
            "of another host",
            id="another host's",
        ),
    ],
)
def test_what_is_wrong(text: str, message: str, files: Path) -> None:
    assert message in refusal(ConfigError, "config", _around, text, files).message


def test_a_path_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "a,b").write_text("")
    text = '[hosts."h"]\nclient_cert = "a,b"'
    assert "comma" in refusal(ConfigError, "config", _around, text, tmp_path).message
