"""What a manifest says about hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules import ConfigError
from getmodules.addresses.mirrors import Mirrors
from getmodules.addresses.url import check_url
from getmodules.api.limits import Limits
from getmodules.api.ports import Origin, Progress
from getmodules.net.credentials import from_environment
from getmodules.net.settings import NetSettings
from getmodules.pipeline.settings import Settings
from getmodules.plugins.loader import PluginSelection
from getmodules.project import hosts as subject
from getmodules.project.manifest import parse_manifest
from tests.support.fakes import Recorder
from tests.support.refusals import refusal


def _around(text: str, directory: Path = Path("/p")) -> subject.HostSettings:
    return parse_manifest(text, directory / "getmodules.toml").host_settings


def settings() -> Settings:
    return Settings(
        limits=Limits(), progress=Progress(), selection=PluginSelection(), plugins=(), network=NetSettings(),
        registry=None, environ={}, cache_dir=None, offline=False,
    )  # fmt: skip


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
    named = variable.replace("GETMODULES_", "GETMODULES_ACME_2_")
    around = _around(f'[hosts."{host}"]\ntoken_variable = "{named}"')
    substitutes = around.applied(settings()).token_variables
    assert substitutes == {variable: named}
    url = check_url(f"https://{host}")
    origin = Origin("https", url.host.strip("[]"), url.port or 443)

    def found(**environ: str) -> tuple[str, str] | None:
        credential = from_environment(environ, origin, substitutes)
        return None if credential is None else (credential.found_in, credential.secret.reveal())

    assert found(**{named: "s3cr3t", "A": "b"}) == (named, "s3cr3t")
    assert found(**{named.upper(): "s3cr3t\n"}) == (named.upper(), "s3cr3t")
    assert found(**{named: "s3cr3t", variable: "nearer"}) == (variable, "nearer")
    assert found(**{named: "s3cr3t", variable.upper(): "nearer"}) == (variable.upper(), "nearer")
    assert found() is None


def test_what_the_manifest_decides_is_told() -> None:
    around = _around(
        '[hosts."a.example"]\ntoken_variable = "GETMODULES_A_TOKEN_a_example"\n[hosts."b.example"]\nplain_http = true'
    )
    seen = Recorder()
    around.announce({"GETMODULES_A_TOKEN_a_example": "s3cr3t"}, seen)
    assert seen.events == [
        ("notice", "GETMODULES_A_TOKEN_a_example is the token for a.example: getmodules.toml says so"),
        ("notice", "b.example is spoken to without TLS: getmodules.toml says so"),
    ]
    quiet = Recorder()
    _around('[hosts."a.example"]\ntoken_variable = "GETMODULES_A_TOKEN_a_example"').announce({}, quiet)
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
    ],
)
def test_what_is_wrong(text: str, message: str, files: Path) -> None:
    assert message in refusal(ConfigError, "config", _around, text, files).message


@pytest.mark.parametrize(
    ("host", "name", "proposed"),
    [
        pytest.param("ghcr.io", "a b", "GETMODULES_TOKEN_ghcr_io", id="no variable"),
        pytest.param("ghcr.io", "GITHUB_TOKEN", "GETMODULES_TOKEN_ghcr_io", id="another secret"),
        pytest.param("ghcr.io", "TF_TOKEN_ghcr_io", "GETMODULES_TOKEN_ghcr_io", id="another program's"),
        pytest.param("ghcr.io", "GETMODULES_ACME_TOKEN", "GETMODULES_ACME_TOKEN_ghcr_io", id="no host"),
        pytest.param("ghcr.io", "GETMODULES_ACME", "GETMODULES_ACME_TOKEN_ghcr_io", id="no token"),
        pytest.param("ghcr.io", "GETMODULES_TOKEN", "GETMODULES_TOKEN_ghcr_io", id="nothing behind TOKEN"),
        pytest.param("evil.example", "GETMODULES_TOKEN_ghcr_io", "GETMODULES_TOKEN_evil_example", id="another host's"),
        pytest.param("evil.example", "GETMODULES_A_TOKEN_ghcr_io", "GETMODULES_A_TOKEN_evil_example", id="with a word"),
        pytest.param("h.example", "GETMODULES_TOKEN_TOKEN_h_example", "GETMODULES_TOKEN_h_example", id="the first one"),
        pytest.param("h.example", "GETMODULES_MYTOKEN_TOKEN_h_example", "GETMODULES_MY_TOKEN_h_example", id="in it"),
        pytest.param("h.example", "GETMODULES_XTOKEN", "GETMODULES_TOKEN_h_example", id="a word that ends so"),
        pytest.param("h.example", "GETMODULES_acme_TOKEN_h_example", "GETMODULES_TOKEN_h_example", id="lower case"),
        pytest.param("h.example", "GETMODULES_A__B_TOKEN_h_example", "GETMODULES_A_TOKEN_h_example", id="two of _"),
        pytest.param("h.example", "GETMODULES__TOKEN_h_example", "GETMODULES_TOKEN_h_example", id="no word"),
        pytest.param("h.example", "XGETMODULES_TOKEN_h_example", "GETMODULES_TOKEN_h_example", id="before it"),
        pytest.param("h.example", "GETMODULES_TOKEN_h_example_5000", "GETMODULES_TOKEN_h_example", id="another port"),
        pytest.param("h.example:5000", "GETMODULES_TOKEN_h_example", "GETMODULES_TOKEN_h_example_5000", id="no port"),
        pytest.param("h.example", "GETMODULES_TOKEN_H_Example", "GETMODULES_TOKEN_h_example", id="mixed case"),
        pytest.param("h.example", "GETMODULES_A_TOKEN_x_h_example", "GETMODULES_A_TOKEN_h_example", id="ends with it"),
    ],
)  # fmt: skip
def test_a_variable_that_is_not_named_after_its_host(host: str, name: str, proposed: str) -> None:
    error = refusal(ConfigError, "config", _around, f'[hosts."{host}"]\ntoken_variable = "{name}"')
    assert f"does not say that it is for {host}" in error.message
    assert f"name it {proposed}: " in str(error.hint)
    _around(f'[hosts."{host}"]\ntoken_variable = "{proposed}"')


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("ghcr.io", "GETMODULES_TOKEN_ghcr_io"),
        ("ghcr.io", "GETMODULES_TOKEN_GHCR_IO"),
        ("ghcr.io", "GETMODULES_ACME_2_TOKEN_ghcr_io"),
        ("token.example", "GETMODULES_A_TOKEN_token_example"),
        ("my-registry.example:5000", "GETMODULES_1_TOKEN_my__registry_example_5000"),
    ],
)
def test_a_variable_that_is_named_after_its_host(host: str, name: str) -> None:
    assert _around(f'[hosts."{host}"]\ntoken_variable = "{name}"').hosts[0].token_variable == name


def test_a_host_whose_variables_would_be_anothers_has_none() -> None:
    text = '[hosts."my_host.example"]\ntoken_variable = "GETMODULES_TOKEN_my_host_example"'
    assert "has no variable of its own" in refusal(ConfigError, "config", _around, text).message


def test_a_manifest_never_says_where_credentials_go_without_tls() -> None:
    text = '[hosts."h.example:5000"]\nplain_http = true'
    settings = _around(text).network(NetSettings(plain_http=frozenset({"mine.example"})))
    assert settings.allows_plain_http("h.example", 5000)
    for host, port, allowed in (
        ("h.example", 5000, False),
        ("h.example", 80, False),
        ("mine.example", 5000, True),
        ("localhost", 5000, True),
        ("127.0.0.1", 5000, True),
        ("::1", 5000, True),
        ("localhost.example", 80, False),
    ):
        assert settings.allows_credentials(Origin("http", host, port)) is allowed
        assert settings.allows_credentials(Origin("https", host, port))
        assert NetSettings().allows_credentials(Origin("http", host, port)), "an address of the user's own"
    asked_by = Origin("http", "mine.example", 5000)
    assert settings.allows_credentials(Origin("http", "tokens.example", 80), asked_by)
    assert not settings.allows_credentials(Origin("http", "tokens.example", 80), Origin("http", "localhost", 5000))
    assert settings.allows_credentials(Origin("http", "127.0.0.1", 80), Origin("http", "h.example", 5000))


def test_a_path_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "a,b").write_text("")
    text = '[hosts."h"]\nclient_cert = "a,b"'
    assert "comma" in refusal(ConfigError, "config", _around, text, tmp_path).message
