"""Files of certificates that are missing, broken or locked are the user's to mend, and said so at once."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from getmodules.api.http import Call
from getmodules.errors import ConfigError
from getmodules.net.settings import ClientNetwork, NetSettings, unusable_file
from tests.support.certificates import Authority
from tests.support.contexts import a_context
from tests.support.refusals import refusal
from tests.support.servers import serving
from tests.support.tools import need


def settings(authority: Authority, **more: Any) -> NetSettings:
    return NetSettings(**{"ca_file": str(authority.ca), "retries": 2, "backoff_seconds": 0.01, **more})


def get(chosen: NetSettings, url: str) -> bytes:
    network = ClientNetwork(chosen)
    try:
        answer: bytes = network.session().send(Call(method="GET", url=url), a_context()).read()
        return answer
    finally:
        network.close()


@pytest.mark.parametrize("where", ["ca_file", "ca_files", "client_certificates"])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="missing"),
        pytest.param(b"", id="empty"),
        pytest.param(b"no certificate\n", id="something else"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", id="broken"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, authority: Authority, where: str, content: bytes | None) -> None:
    file = tmp_path / "file.pem"
    if content is not None:
        file.write_bytes(content)
    chosen = settings(authority, **{where: str(file) if where == "ca_file" else {"127.0.0.1": str(file)}})
    with serving(lambda connection, _: connection.reply("200 OK", b"x"), tls=authority.server_context()) as server:
        error = refusal(ConfigError, "config", get, chosen, f"{server.url}/x")
        assert "file.pem" in error.message
        assert ("SSL_CERT_FILE" in (error.hint or "")) is (where != "client_certificates")
        assert server.connections <= 1, "it is not tried again"


def test_a_key_with_a_password_is_never_asked_for_one(tmp_path: Path, authority: Authority) -> None:
    locked = tmp_path / "locked.key"
    command = [
        need("openssl"),
        "ec",
        "-in",
        str(authority.key),
        "-aes128",
        "-passout",
        "pass:hunter2",
        "-out",
        str(locked),
    ]
    subprocess.run(command, check=True, capture_output=True)
    chosen = settings(authority, client_certificates={"h": f"{authority.certificate},{locked}"})
    error = unusable_file(chosen, "h", 443)
    assert error is not None
    assert "locked.key" in error.message


def test_what_can_be_used_is_not_complained_of(tmp_path: Path, authority: Authority) -> None:
    pair = f"{authority.certificate},{authority.key}"
    assert (
        unusable_file(settings(authority, client_certificates={"h": pair, "i": str(authority.client)}), "h", 443)
        is None
    )
    assert unusable_file(settings(authority, client_certificates={"i": str(authority.client)}), "i", 443) is None
    assert unusable_file(settings(authority, ca_file=str(tmp_path)), "h", 443) is None, "a directory of authorities"
    assert unusable_file(NetSettings(), "h", 443) is None


def test_files_of_another_host_are_not_looked_at(authority: Authority) -> None:
    assert unusable_file(settings(authority, ca_files={"other": "/nowhere"}), "h", 443) is None
