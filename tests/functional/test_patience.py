"""The timeout, the retries and the place of a failure, as users of commands and of the library meet them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client
from getmodules.addresses.mirrors import Mirrors
from getmodules.errors import GetModulesError
from getmodules.net.settings import NetSettings
from tests.support.commandline import run
from tests.support.refusals import words_of
from tests.support.servers import Answer, Connection, Received, free_port, replying, serving, silent

HOST = frozenset({"127.0.0.1"})


def failure(source: str, tmp_path: Path, **more: Any) -> GetModulesError:
    network = NetSettings(timeout=2, retries=0, backoff_seconds=0.01, plain_http=HOST, **more)
    client = Client(environ={}, use_cache=False, network=network)
    with client, pytest.raises(GetModulesError) as caught:
        client.get(source, tmp_path / "dest")
    assert list(tmp_path.iterdir()) == []
    return caught.value


# ------------------------------------------------------------------------------------------ the place


def test_an_address_that_a_server_named(tmp_path: Path) -> None:
    port = free_port()
    with serving(replying("204 No Content", X_Terraform_Get=f"http://127.0.0.1:{port}/x.zip")) as server:
        error = failure(f"{server.url}/vpc", tmp_path)
        way = f"where 127.0.0.1:{server.port} sent us"
    assert f"connecting to 127.0.0.1:{port}, {way}: connection refused" in error.message


def test_a_repository_that_a_server_named(tmp_path: Path) -> None:
    port = free_port()
    with serving(replying("204 No Content", X_Terraform_Get=f"git::http://127.0.0.1:{port}/r.git")) as server:
        error = failure(f"{server.url}/vpc", tmp_path)
        way = f"where 127.0.0.1:{server.port} sent us"
    assert f"connecting to 127.0.0.1:{port}, {way}: the connection was refused" in error.message


@pytest.mark.parametrize("scheme", ["http", "git::http"])
def test_a_mirror(scheme: str, tmp_path: Path) -> None:
    port = free_port()
    mirrors = Mirrors.of({"http://modules.example": f"http://127.0.0.1:{port}"})
    error = failure(f"{scheme}://modules.example/x.zip", tmp_path, mirrors=mirrors)
    assert f"connecting to 127.0.0.1:{port}, the mirror of modules.example: " in error.message


def test_a_token_service(tmp_path: Path) -> None:
    port = free_port()
    challenge = f'Bearer realm="http://127.0.0.1:{port}/token?secret=s3cr3t",service="x"'
    with serving(replying("401 No", WWW_Authenticate=challenge)) as registry:
        error = failure(f"oci://127.0.0.1:{registry.port}/acme/vpc?tag=1", tmp_path)
        way = f"where 127.0.0.1:{registry.port} sent us"
    assert error.message == f"connecting to 127.0.0.1:{port}, {way}: connection refused"
    assert "s3cr3t" not in words_of(error)


def blobs_at(url: str) -> Answer:
    """A registry with a manifest, whose blobs are somewhere else."""
    layer = {"mediaType": "archive/zip", "digest": f"sha256:{'0' * 64}", "size": 10}
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/vnd.opentofu.modulepkg",
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": f"sha256:{'1' * 64}", "size": 2},
        "layers": [layer],
    }

    def answer(connection: Connection, request: Received) -> bool:
        if "/blobs/" in request.target:
            return connection.reply("307 Temporary Redirect", Location=f"{url}?X-Signature=s3cr3t")
        body = json.dumps(manifest).encode()
        return connection.reply("200 OK", body, Content_Type="application/vnd.oci.image.manifest.v1+json")

    return answer


def test_the_place_of_blobs(tmp_path: Path) -> None:
    port = free_port()
    with serving(blobs_at(f"http://127.0.0.1:{port}/blob")) as registry:
        error = failure(f"oci://127.0.0.1:{registry.port}/acme/vpc?tag=1", tmp_path)
        way = f"where 127.0.0.1:{registry.port} sent us"
    assert error.message == f"connecting to 127.0.0.1:{port}, {way}: connection refused"
    assert "s3cr3t" not in words_of(error)


# ------------------------------------------------------------------------------------------ the command line


def get(tmp_path: Path, server: str, *argv: str, **environ: str) -> Any:
    return run("get", f"{server}/x.zip", tmp_path / "dest", *argv, HOME=str(tmp_path / "home"), **environ)


def test_options_and_variables(tmp_path: Path) -> None:
    with serving(silent) as server:
        began = time.monotonic()
        result = get(tmp_path, server.url, "--retries", "1", GETMODULES_TIMEOUT="0.5", GETMODULES_RETRIES="9")
        took = time.monotonic() - began
    assert result.code == 1
    place = f"waiting for the answer of 127.0.0.1:{server.port}: no complete answer within 0.5 seconds"
    assert place in result.err
    assert "network/timeout" in result.err
    assert len(server.received) == 2
    assert took < 10
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["http", "git::http", "https"])
def test_a_server_that_accepts_and_never_speaks(scheme: str, tmp_path: Path) -> None:
    with serving(silent) as server:
        result = get(tmp_path, f"{scheme}://127.0.0.1:{server.port}", "--timeout", "0.5", "--retries=1")
    assert result.code == 1
    assert "network/timeout" in result.err
    assert f"127.0.0.1:{server.port}" in result.err
    assert server.connections == 2


def test_verbose_shows_tries_hosts_and_waiting(tmp_path: Path) -> None:
    with serving(replying("503 Busy")) as server:
        result = get(tmp_path, server.url, "-v", "--retries", "1")
    place = f"127.0.0.1:{server.port}"
    assert f"GET {place}/x.zip, try 2 of 2" in result.err
    assert f"try 1 of 2 failed: {place} answered 503" in result.err
    assert "seconds before the next try" in result.err
    assert f"connecting to {place}" in result.err


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["http", "git::http"])
def test_the_note_after_15_seconds_is_there_in_a_pipe_and_not_with_quiet(scheme: str, tmp_path: Path) -> None:
    for quiet in ([], ["-q"]):
        with serving(silent) as server:
            url = f"{scheme}://127.0.0.1:{server.port}"
            result = get(tmp_path, url, "--timeout", "16.5", "--retries", "0", *quiet)
        note = f"note: 127.0.0.1:{server.port} has sent nothing for 15 seconds"
        assert result.err.count(note) == (0 if quiet else 1)
        assert result.code == 1
