"""The options that say how hosts are reached."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from getmodules.cli import network_options as subject
from getmodules.cli.main import COMMANDS
from getmodules.cli.options import Parser, add_network
from getmodules.cli.render import Console
from getmodules.errors import ConfigError
from getmodules.net.settings import NetSettings
from tests.support.certificates import Authority
from tests.support.commandline import call
from tests.support.refusals import refusal


def _options(*argv: str) -> argparse.Namespace:
    parser = Parser(usage="u", description="d", epilog="e")
    add_network(parser)
    return parser.parse(argv, Console(stdout=None, stderr=None, environ={}))


def _settings(*argv: str, **environ: str) -> NetSettings:
    return subject.network_of(_options(*argv), environ)


def test_without_options_the_environment_decides() -> None:
    environ = {"SSL_CERT_FILE": "/ca.pem", "https_proxy": "http://proxy:3128"}
    assert _settings(**environ) == NetSettings.from_environment(environ)
    assert subject.network_of(argparse.Namespace(), environ) == NetSettings.from_environment(environ)


def test_authorities_for_all_hosts_and_for_one(authority: Authority) -> None:
    ca = str(authority.ca)
    settings = _settings(
        "--ca-file", ca, "--ca-file", f"ghcr.io:5000={authority.certificate}", SSL_CERT_FILE="/env.pem"
    )
    assert settings.ca_for("any.example", 443) == ca
    assert settings.ca_for("ghcr.io", 443) == ca
    assert settings.ca_for("ghcr.io", 5000) == str(authority.certificate)


def test_authorities_for_one_host_leave_those_of_the_environment_to_the_others(authority: Authority) -> None:
    settings = _settings("--ca-file", f"ghcr.io={authority.ca}", SSL_CERT_FILE="/env.pem")
    assert settings.ca_for("ghcr.io", 443) == str(authority.ca)
    assert settings.ca_for("any.example", 443) == "/env.pem"


@pytest.mark.parametrize(
    ("written", "host", "port"),
    [
        pytest.param("GHCR.io", "ghcr.io", 443, id="case"),
        pytest.param("localhost:5000", "localhost", 5000, id="port"),
        pytest.param("[::1]:5000", "::1", 5000, id="ipv6"),
        pytest.param("[0:0:0:0:0:0:0:1]:5000", "::1", 5000, id="ipv6-in-full"),
        pytest.param("[::1]:5000", "0:0::1", 5000, id="ipv6-asked-for-in-full"),
        pytest.param("localhost:05000", "localhost", 5000, id="port-with-zeros"),
        pytest.param("docker.io", "registry-1.docker.io", 443, id="docker-hub"),
    ],
)
def test_a_host_is_found_as_requests_name_it(written: str, host: str, port: int, authority: Authority) -> None:
    client = str(authority.client)
    settings = _settings(
        "--ca-file", f"{written}={authority.ca}", "--client-cert", f"{written}={client}", "--plain-http", written
    )
    assert settings.ca_for(host, port) == str(authority.ca)
    assert settings.client_certificate_for(host, port) == client
    assert settings.allows_plain_http(host, port)
    assert not settings.allows_plain_http("other.example", port)


def test_a_certificate_and_its_key(authority: Authority) -> None:
    certificate, key = authority.certificate, authority.key
    settings = _settings("--client-cert", f"h={certificate},{key}")
    assert settings.client_certificate_for("h", 443) == (str(certificate), str(key))


def test_a_home_directory_behind_the_host(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(authority.ca.parent))
    assert _settings("--ca-file", "ghcr.io=~/ca.crt").ca_for("ghcr.io", 443) == str(authority.ca)


def test_a_file_whose_name_has_an_equals_sign(authority: Authority, tmp_path: Path) -> None:
    odd = tmp_path / "a=b.pem"
    odd.write_bytes(authority.ca.read_bytes())
    assert _settings("--ca-file", str(odd)).ca_file == str(odd)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(["--ca-file", "missing.pem"], "--ca-file cannot use 'missing.pem': No such file", id="missing"),
        pytest.param(["--ca-file", "h=missing.pem"], "--ca-file cannot use 'missing.pem'", id="missing-for-one"),
        pytest.param(["--ca-file", "."], "it is not a regular file", id="directory"),
        pytest.param(["--ca-file", "text"], "there is no certificate in it", id="no-certificate"),
        pytest.param(["--ca-file", ""], "--ca-file names no file", id="empty"),
        pytest.param(["--ca-file", "h="], "--ca-file names no file", id="empty-for-one"),
        pytest.param(["--ca-file", "h=CA", "--ca-file", "H=CA"], "twice for the host h", id="host-twice"),
        pytest.param(["--ca-file", "CA", "--ca-file", "CA"], "twice for all hosts", id="all-twice"),
        pytest.param(["--client-cert", "CLIENT"], "names no host", id="certificate-for-nobody"),
        pytest.param(["--client-cert", "h=missing"], "--client-cert cannot use 'missing'", id="missing-certificate"),
        pytest.param(["--client-cert", "h=CLIENT,missing"], "--client-cert cannot use 'missing'", id="missing-key"),
        pytest.param(["--client-cert", "h=CLIENT,"], "--client-cert names no file", id="empty-key"),
        pytest.param(["--client-cert", "h=CA"], "a certificate and its key", id="no-key"),
        pytest.param(["--client-cert", "h=LOCKED"], "not encrypted", id="encrypted-key"),
        pytest.param(["--plain-http", "http://h"], "'http://h' is not a host", id="url"),
        pytest.param(["--plain-http", "h:0"], "'h:0' is not a host", id="port-0"),
        pytest.param(["--plain-http", "[1.2]"], "'[1.2]' is not a host", id="brackets-around-something-else"),
        pytest.param(["--client-cert", "h:99999=CLIENT"], "names no host", id="no-such-port"),
        pytest.param(["--plain-http", ""], "'' is not a host", id="no-host"),
        pytest.param(["--plain-http", "h/repo"], "'h/repo' is not a host", id="repository"),
    ],
)
def test_what_cannot_be_used(
    argv: list[str], message: str, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("no certificate\n")
    words = {"CA": authority.ca, "CLIENT": authority.client, "LOCKED": _locked(authority, tmp_path)}
    for name, path in words.items():
        argv = [word.replace(name, str(path)) for word in argv]
    assert message in refusal(ConfigError, "config", _settings, *argv).message


def _locked(authority: Authority, directory: Path) -> Path:
    """The client's certificate with an encrypted key: OpenSSL would ask for its password on a terminal."""
    import subprocess

    from tests.support.tools import need

    key = subprocess.run(
        [need("openssl"), "pkey", "-in", authority.client, "-aes128", "-passout", "pass:locked"],
        check=True,
        capture_output=True,
    ).stdout
    locked = directory / "locked.pem"
    locked.write_bytes((authority.client.parent / "client.crt").read_bytes() + key)
    return locked


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["get", "./a", "dest"], id="get"),
        pytest.param(["resolve", "./a"], id="resolve"),
        pytest.param(["push", ".", "oci://h/a?tag=1"], id="push"),
        pytest.param(["tags", "oci://h/a"], id="tags"),
        pytest.param(["inspect", "oci://h/a"], id="inspect"),
        pytest.param(["login", "h", "-u", "ada", "--password-stdin"], id="login"),
        pytest.param(["auth", "check", "h/a"], id="auth"),
    ],
)
def test_each_command_that_asks_somebody_has_the_options(argv: list[str]) -> None:
    for option in (["--ca-file", "h=missing"], ["--client-cert", "h=missing"], ["--plain-http", "http://h"]):
        result = call(*argv, *option, stdin="x\n", environ={"HOME": "/nonexistent"})
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"error: {option[0]} ")


def test_mirrors_beat_those_of_the_environment() -> None:
    settings = _settings(
        "--mirror",
        "oci://a=oci://b",
        "--mirror",
        "oci://c=oci://d",
        GETMODULES_MIRRORS="oci://a=oci://x oci://e=oci://f",
    )
    assert settings.mirrors.table == {"oci://a": "oci://b", "oci://c": "oci://d", "oci://e": "oci://f"}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param("oci://a", "--mirror 'oci://a' is not URL=URL", id="one URL"),
        pytest.param("oci://a=https://b", "another scheme", id="another scheme"),
        pytest.param("a=b", "is no URL", id="no URLs"),
        pytest.param("oci://a=oci://u:hunter22@b", "cannot be mirrored", id="a password"),
    ],
)
def test_what_is_no_mirror(word: str, message: str) -> None:
    error = refusal(ConfigError, "config", _settings, "--mirror", word)
    assert message in error.message
    assert "hunter22" not in error.message


# ------------------------------------------------------------------------------------------ timeout and retries


@pytest.mark.parametrize(
    ("argv", "environ", "timeout", "retries"),
    [
        pytest.param([], {}, 30.0, 3, id="the defaults"),
        pytest.param([], {"GETMODULES_TIMEOUT": "9", "GETMODULES_RETRIES": "1"}, 9.0, 1, id="variables"),
        pytest.param(["--timeout", "2.5", "--retries=0"], {}, 2.5, 0, id="options"),
        pytest.param(
            ["--timeout", "2", "--retries", "0"],
            {"GETMODULES_TIMEOUT": "9", "GETMODULES_RETRIES": "1"},
            2.0,
            0,
            id="options beat variables",
        ),
        pytest.param(["--timeout", "2"], {"GETMODULES_RETRIES": "1"}, 2.0, 1, id="one of each"),
    ],
)
def test_timeout_and_retries(argv: list[str], environ: dict[str, str], timeout: float, retries: int) -> None:
    settings = _settings(*argv, **environ)
    assert (settings.timeout, settings.retries) == (timeout, retries)


@pytest.mark.parametrize("value", ["0", "-0.5", "x", "", "nan"])
def test_a_timeout_that_is_none(value: str) -> None:
    error = refusal(ConfigError, "config", _settings, f"--timeout={value}")
    assert error.message == f"--timeout {value!r} is not a number of seconds above 0, up to 1,000,000"


@pytest.mark.parametrize("value", ["-1", "1.5", "x", ""])
def test_retries_that_are_none(value: str) -> None:
    error = refusal(ConfigError, "config", _settings, f"--retries={value}")
    assert error.message == f"--retries {value!r} is not a whole number from 0 to 1,000"


def test_what_asks_servers_takes_both() -> None:
    """A command that can be told authorities connects to somebody, and waits."""
    for name in COMMANDS:
        shown = call(name, "--help-all").out
        for option in ("--timeout SECONDS", "--retries N"):
            assert (option in shown) == ("--ca-file" in shown), name


@pytest.mark.parametrize(
    ("command", "environ", "named"),
    [
        pytest.param("get https://h.example/x.zip d --timeout 0", {}, "--timeout '0'", id="an option"),
        pytest.param("login h.example --retries -1", {}, "--retries", id="of login"),
        pytest.param(
            "resolve https://h.example/x.zip", {"GETMODULES_TIMEOUT": "no"}, "GETMODULES_TIMEOUT 'no'", id="a variable"
        ),
        pytest.param(
            "auth check h.example", {"GETMODULES_RETRIES": "no"}, "GETMODULES_RETRIES 'no'", id="another variable"
        ),
    ],
)
def test_a_bad_value_is_exit_2_and_named(
    command: str, environ: dict[str, str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(*command.split(), environ=environ)
    assert (result.code, result.out) == (2, "")
    assert named in result.err
    assert list(tmp_path.iterdir()) == []
