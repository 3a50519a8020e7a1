"""The program."""

from __future__ import annotations

import json
import shlex
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from getmodules.testing import FAULTS
from getmodules.testing.registry.__main__ import main
from getmodules.testing.registry.store import IMAGE_INDEX
from tests.support.registryclient import make_certificate


@contextmanager
def program(*arguments: object, stop: signal.Signals = signal.SIGTERM) -> Iterator[str]:
    """The address that it prints; it must end well."""
    command = [sys.executable, "-W", "error", "-m", "getmodules.testing.registry", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(stop)
            output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, errors) == (0, "", "")


def status(
    address: str,
    method: str = "GET",
    tls: ssl.SSLContext | None = None,
    data: bytes | None = None,
    media_type: str = "text/plain",
) -> int:
    request = urllib.request.Request(address, data, {"Content-Type": media_type}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20, context=tls) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_where_it_is_and_ends_when_told(stop: signal.Signals) -> None:
    with program("--port", 0, stop=stop) as address:
        assert address.startswith("http://127.0.0.1:")
        assert status(f"{address}/v2/") == 200


def test_it_keeps_what_it_is_given_in_a_layout(tmp_path: Path) -> None:
    for expected in (202, 202):
        with program("--layout", tmp_path / "deep" / "layouts") as address:
            assert status(f"{address}/v2/a/b/blobs/uploads/", "POST") == expected
    assert (tmp_path / "deep/layouts/a+b/oci-layout").is_file()


def test_tls(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    with program("--tls-cert", certificate, "--tls-key", key) as address:
        assert address.startswith("https://127.0.0.1:")
        assert status(f"{address}/v2/", tls=ssl.create_default_context(cafile=str(certificate))) == 200


@pytest.mark.parametrize(("options", "expected"), [([], 404), (["--sparse"], 201)])
def test_it_takes_manifests_of_what_is_not_there_only_where_it_is_told_to(options: list[str], expected: int) -> None:
    index = json.dumps({"manifests": [{"digest": "sha256:" + "0" * 64}]}).encode()
    with program(*options) as address:
        assert status(f"{address}/v2/a/manifests/x", "PUT", data=index, media_type=IMAGE_INDEX) == expected


@pytest.mark.parametrize(
    ("options", "method", "path", "expected"),
    [
        pytest.param(["--auth", "basic", "--user", "u:p"], "GET", "/v2/", 401, id="basic"),
        pytest.param(["--auth", "bearer", "--public", "*"], "GET", "/token", 200, id="bearer"),
        pytest.param(["--no-referrers"], "GET", "/v2/a/referrers/sha256:" + "0" * 64, 404, id="no-referrers"),
        pytest.param(["--no-delete"], "DELETE", "/v2/a/manifests/x", 405, id="no-delete"),
        pytest.param(["--fault", "503"], "GET", "/v2/", 503, id="fault"),
        pytest.param(["--host", "127.0.0.1", "--page-size", "5"], "GET", "/v2/", 200, id="page-size"),
    ],
)
def test_options(options: list[str], method: str, path: str, expected: int) -> None:
    with program(*options) as address:
        assert status(address + path, method) == expected


def test_a_fault_for_so_many_requests() -> None:
    with program("--fault", "503", "--fault-times", 2) as address:
        assert [status(f"{address}/v2/") for _ in range(3)] == [503, 503, 200]


def test_tokens_have_a_life() -> None:
    with (
        program("--auth", "bearer", "--token-seconds", 5) as address,
        urllib.request.urlopen(f"{address}/token", timeout=20) as answer,
    ):
        assert b'"expires_in":5,' in answer.read()


def test_chunks_have_a_least_length() -> None:
    with program("--chunk-min-length", 77) as address:
        request = urllib.request.Request(f"{address}/v2/a/blobs/uploads/", method="POST")
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.headers["OCI-Chunk-Min-Length"] == "77"


def test_the_faults_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-faults"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [tuple(line.split(maxsplit=1)) for line in lines] == [(f.name, f.summary) for f in FAULTS.values()]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(["--host", "0.0.0.0"], 2, "loopback", id="host"),
        pytest.param(["--port", "99999"], 2, "99999", id="port"),
        pytest.param(["--fault", "503", "--fault-times", "0"], 2, "once", id="fault-times"),
        pytest.param(["--layout", __file__], 2, "test_main.py: no layouts can be kept there", id="layout"),
        pytest.param(["--tls-cert", "missing.pem", "--tls-key", "missing.pem"], 2, "missing.pem", id="certificate"),
    ],
)
def test_what_it_refuses(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == code
    shown = capsys.readouterr()
    assert (shown.out, said in shown.err) == ("", True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the disk that is always full is Linux's")
@pytest.mark.parametrize("options", ["", "--list-faults"])
@pytest.mark.parametrize(
    ("output", "said"), [(">&-", "standard output is closed"), (">/dev/full", "cannot write to standard output: ")]
)
def test_nowhere_to_print_to(output: str, said: str, options: str) -> None:
    command = f"exec {shlex.quote(sys.executable)} -m getmodules.testing.registry {options} {output}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--tls-cert", "x"],
        ["--fault", "no-such"],
        ["--user", "nobody"],
        ["--auth", "magic"],
        ["--page-size", "0"],
        ["--page-size", "many"],
        ["--token-seconds", "-1"],
        ["--chunk-min-length", "0"],
    ],
)
def test_what_cannot_be_meant(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert arguments[0] in capsys.readouterr().err
