"""Web servers, right and wrong ones: what arrives, who sees which credential, and what is left when it fails."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, Credential, GetModulesError, Installed, Origin, Secret
from getmodules.net.settings import NetSettings
from tests.support.certificates import Authority
from tests.support.commandline import Result, call, run
from tests.support.fakes import FILES, ZIP, ZIP_H1, ZIP_SHA256, FakePlugin, Recorder, installed_files, zip_of
from tests.support.servers import Connection, Received, Server, serving

QUICK = NetSettings(connect_seconds=5, timeout=5, rate_window_seconds=5, rate_window_bytes=1000, backoff_seconds=0.01)
Reply = Callable[[Connection, Received], bool | None]


def reply(body: bytes = ZIP, status: str = "200 OK", **headers: str) -> Reply:
    return lambda connection, _: connection.reply(status, body, **headers)


WORKERS = {"getmodules-spool", "getmodules-write"}


@dataclass
class Site:
    """Answers by path, without the query."""

    pages: dict[str, Reply] = field(default_factory=dict)

    def __call__(self, connection: Connection, request: Received) -> bool | None:
        page = self.pages.get(request.target.partition("?")[0], reply(b"nothing here", "404 Not Found"))
        return page(connection, request)


def client(environ: Mapping[str, str] | None = None, **more: Any) -> Client:
    environ = {"GETMODULES_PLUGINS": "", **(environ or {})}
    return Client(**{"network": QUICK, "environ": environ, "use_cache": False, **more})


def get(source: str, dest: Path, **more: Any) -> Installed:
    with client(**more) as made:
        return made.get(source, dest)


def failure(source: str, directory: Path, **more: Any) -> GetModulesError:
    """The error of getting ``source``, of which nothing is left."""
    before = set(directory.iterdir())
    with pytest.raises(GetModulesError) as caught:
        get(source, directory / "dest", **more)
    assert set(directory.iterdir()) == before
    assert not [thread for thread in threading.enumerate() if thread.name in WORKERS]
    return caught.value


def tar_gz(files: Mapping[str, bytes] = FILES) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


# ------------------------------------------------------------------------------------------------- what arrives


@pytest.mark.parametrize(
    ("path", "body", "media_type"),
    [
        pytest.param("/vpc.zip", ZIP, "application/octet-stream", id="zip by its suffix"),
        pytest.param("/vpc.tar.gz", tar_gz(), "text/plain", id="tar.gz by its suffix"),
        pytest.param("/vpc.zip", ZIP, "application/gzip", id="the suffix comes before the type"),
        pytest.param("/download", ZIP, "application/zip", id="zip by its type"),
        pytest.param("/download", tar_gz(), "Application/X-GZip; charset=binary", id="tar.gz by its type"),
        pytest.param("/download?archive=zip", ZIP, "text/html", id="zip by archive="),
    ],
)
def test_an_archive(tmp_path: Path, path: str, body: bytes, media_type: str) -> None:
    with serving(Site({path.partition("?")[0]: reply(body, Content_Type=media_type)})) as server:
        installed = get(f"{server.url}{path}", tmp_path / "dest")
        assert installed_files(tmp_path / "dest") == FILES
        assert installed.id == f"sha256:{hashlib.sha256(body).hexdigest()}"
        again = get(str(installed.pinned), tmp_path / "again")
        assert (again.h1, again.pinned) == (installed.h1, installed.pinned)
        assert [evidence.check for evidence in again.evidence] == ["checksum"]


def test_a_subdirectory_by_the_command_line(tmp_path: Path) -> None:
    with serving(Site({"/vpc.zip": reply()})) as server:
        result = run("get", f"{server.url}/vpc.zip//sub", tmp_path / "dest", "--json", HOME=str(tmp_path / "home"))
    assert (result.code, result.err) == (0, "")
    assert result.object["pinned"] == f"{server.url}/vpc.zip//sub?checksum=sha256:{ZIP_SHA256}"
    assert installed_files(tmp_path / "dest") == {"a.tf": b"# a\n", "deep/b.tf": b"# b\n"}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        pytest.param("archive=false", "main.tf", id="archive=false"),
        pytest.param("filename=other.tf", "other.tf", id="filename"),
        pytest.param(f"archive=false&checksum={hashlib.sha256(b'# x').hexdigest()}", "main.tf", id="checksum"),
    ],
)
def test_a_single_file(tmp_path: Path, arguments: str, name: str) -> None:
    """A server's own name for it counts for nothing."""
    page = reply(b"# x", Content_Type="text/html", Content_Disposition='attachment; filename="../../evil"')
    with serving(Site({"/a/main.tf": page})) as server:
        get(f"{server.url}/a/main.tf?{arguments}", tmp_path / "dest")
    assert installed_files(tmp_path / "dest") == {name: b"# x"}


def test_a_large_body_is_hashed_as_a_whole(tmp_path: Path) -> None:
    body = zip_of({"large.bin": bytes(range(256)) * 40_000, "noise": hashlib.shake_256(b"").digest(9 << 20)})
    recorder = Recorder()
    with serving(Site({"/large.zip": reply(body)})) as server:
        installed = get(f"{server.url}/large.zip", tmp_path / "dest", progress=recorder)
    assert installed.id == f"sha256:{hashlib.sha256(body).hexdigest()}"
    assert not [thread for thread in threading.enumerate() if thread.name in WORKERS]
    assert ("phase", "downloading", len(body)) in recorder.events


def test_a_body_that_is_cut_goes_on_where_it_ended(tmp_path: Path) -> None:
    cuts = iter([10, len(ZIP) // 2])
    ranges: list[str | None] = []

    def page(connection: Connection, request: Received) -> bool:
        ranges.append(request.headers.get("Range"))
        start = int((ranges[-1] or "bytes=0-")[6:-1])
        status = "206 Partial Content" if start else "200 OK"
        where = f"Content-Range: bytes {start}-{len(ZIP) - 1}/{len(ZIP)}\r\n" if start else ""
        connection.send(f'HTTP/1.1 {status}\r\nETag: "1"\r\nContent-Length: {len(ZIP) - start}\r\n{where}\r\n')
        end = next(cuts, None)
        connection.send(ZIP[start:end])
        return end is None

    with serving(Site({"/vpc.zip": page})) as server:
        installed = get(f"{server.url}/vpc.zip", tmp_path / "dest")
    assert ranges == [None, "bytes=10-", f"bytes={len(ZIP) // 2}-"]
    assert installed.id == f"sha256:{ZIP_SHA256}"


def test_many_threads_share_the_connections_of_one_client(tmp_path: Path) -> None:
    with serving(Site({"/vpc.zip": reply()})) as server, client() as shared:

        def one(number: int) -> Installed:
            return shared.get(f"{server.url}/vpc.zip?n={number}", tmp_path / str(number))

        with ThreadPoolExecutor(8) as pool:
            assert {installed.h1 for installed in pool.map(one, range(40))} == {ZIP_H1}
        assert len(server.received) == 40
        assert server.connections <= 8


def test_resolve_asks_nobody(tmp_path: Path) -> None:
    with serving(Site()) as server, client() as made:
        with pytest.raises(GetModulesError) as caught:
            made.resolve(f"{server.url}/vpc.zip")
        assert caught.value.code == "fetch/no-identity"
        assert "getmodules get" in str(caught.value.typed_hint)
        pinned = made.resolve(f"{server.url}/vpc.zip//sub?checksum={ZIP_SHA256}").pinned
        assert pinned == f"{server.url}/vpc.zip//sub?checksum=sha256:{ZIP_SHA256}"
        assert server.received == []


# ------------------------------------------------------------------------------------------------- checksums

SHA512 = hashlib.sha512(ZIP).hexdigest()
OTHER = "0" * 64


@pytest.mark.parametrize(
    ("sums", "code"),
    [
        pytest.param(f"{OTHER}  net.zip\n{ZIP_SHA256}  vpc.zip\n", None, id="GNU"),
        pytest.param(f"{ZIP_SHA256} *./vpc.zip\r\n", None, id="GNU, binary"),
        pytest.param(f"SHA512 (vpc.zip) = {SHA512}\n", None, id="BSD"),
        pytest.param(f"{OTHER}  vpc.zip\n", "digest-mismatch", id="another digest"),
        pytest.param(f"{ZIP_SHA256}  net.zip\n", "verification", id="another name"),
        pytest.param("<html>log in</html>", "verification", id="a web page"),
    ],
)
def test_a_checksum_file(tmp_path: Path, sums: str, code: str | None) -> None:
    site = Site({"/vpc.zip": reply(), "/SHA256SUMS": reply(sums.encode(), Content_Type="text/html")})
    with serving(site) as server:
        source = f"{server.url}/vpc.zip?checksum=file:{server.url}/SHA256SUMS"
        if code is None:
            assert get(source, tmp_path / "dest").h1 == ZIP_H1
        else:
            assert failure(source, tmp_path).code == code


def test_a_checksum_file_on_another_host_sees_its_own_credentials_only(tmp_path: Path) -> None:
    sums = Site({"/SUMS": reply(f"{ZIP_SHA256}  vpc.zip\n".encode())})
    with serving(Site({"/vpc.zip": reply()})) as server, serving(sums, host="127.0.0.2") as other:
        tokens = {
            f"GETMODULES_TOKEN_127_0_0_1_{server.port}": "for-the-archive",
            f"GETMODULES_TOKEN_127_0_0_2_{other.port}": "for-the-sums",
        }
        get(f"{server.url}/vpc.zip?checksum=file:{other.url}/SUMS", tmp_path / "dest", environ=tokens)
        assert [request.headers["Authorization"] for request in server.received] == ["Bearer for-the-archive"]
        assert [request.headers["Authorization"] for request in other.received] == ["Bearer for-the-sums"]


# ------------------------------------------------------------------------------------------------- sent on


@pytest.mark.parametrize(
    ("location", "code"),
    [
        pytest.param("/real.zip", None, id="path"),
        pytest.param("./real.zip//sub", None, id="relative path, subdirectory"),
        pytest.param("/there", None, id="once more"),
        pytest.param("file:///etc", "unsafe-content/local-source", id="file"),
        pytest.param("file::/etc", "unsafe-content/local-source", id="forced file"),
        pytest.param("/etc/passwd", "not-found", id="a path is one on the server"),
        pytest.param("git::file:///srv/r", "unsafe-content/local-source", id="local repository"),
        pytest.param("oci-layout::/srv/l", "unsafe-content/local-source", id="local layout"),
        pytest.param("/real.zip?checksum=file:/etc/passwd", "unsafe-content/local-source", id="local checksum file"),
        pytest.param("nonsense", "unsafe-content/elsewhere", id="no address"),
        pytest.param("//evil.example/x", "unsafe-content/elsewhere", id="no scheme"),
        pytest.param("/real.zip//../../x", "unsafe-content/elsewhere", id="out of the package"),
        pytest.param("http://10.0.0.1:1/x.zip", "unsafe-content/elsewhere", id="further in"),
        pytest.param("http://[::ffff:169.254.169.254]/x", "unsafe-content/elsewhere", id="metadata service"),
        pytest.param("/here", "fetch/too-many-hops", id="in a circle"),
        pytest.param("x" * 20_000, "unsafe-content/elsewhere", id="without an end"),
    ],
)
@pytest.mark.parametrize("by", ["header", "page"])
def test_x_terraform_get(tmp_path: Path, location: str, code: str | None, by: str) -> None:
    def named(location: str) -> Reply:
        if by == "header":
            return reply(b"", "204 No Content", X_Terraform_Get=location)
        page = f'<html><head><meta name="terraform-get" content="{location}"></head></html>'
        return reply(page.encode(), Content_Type="text/html; charset=utf-8")

    site = Site({"/here": named(location), "/there": named("/real.zip"), "/real.zip": reply()})
    with serving(site) as server:
        if code is not None:
            assert failure(f"{server.url}/here", tmp_path).code == code
            assert len(server.received) <= 11
            return
        installed = get(f"{server.url}/here", tmp_path / "dest")
        assert str(installed.pinned).startswith(f"{server.url}/real.zip")
        assert str(installed.pinned).endswith(f"?checksum=sha256:{ZIP_SHA256}")


def test_over_tls_nobody_is_sent_into_the_clear(tmp_path: Path, authority: Authority) -> None:
    with (
        serving(Site({"/x.zip": reply()})) as clear,
        serving(
            Site({"/a": reply(b"", "204 No", X_Terraform_Get=f"{clear.url}/x.zip")}), tls=authority.server_context()
        ) as server,
    ):
        trusting = replace(QUICK, ca_file=str(authority.ca))
        assert failure(f"{server.url}/a", tmp_path, network=trusting).code == "unsafe-content/elsewhere"
        assert clear.received == []


# ------------------------------------------------------------------------------------------------- what goes wrong


def test_a_server_that_has_no_time_now_is_asked_again(tmp_path: Path) -> None:
    busy = iter(["503 Busy", "429 Slow"])

    def page(connection: Connection, _: Received) -> bool:
        status = next(busy, None)
        return connection.reply("200 OK", ZIP) if status is None else connection.reply(status, b"", Retry_After="0")

    with serving(Site({"/x.zip": page})) as server:
        assert get(f"{server.url}/x.zip", tmp_path / "dest").h1 == ZIP_H1
        assert len(server.received) == 3


def test_a_web_page_on_the_command_line(tmp_path: Path) -> None:
    page = reply(b"<!DOCTYPE html><title>Sign in</title>", Content_Type="text/html; charset=utf-8")
    with serving(Site({"/o/r": page})) as server:
        result = run("get", f"{server.url}/o/r", tmp_path / "dest", HOME=str(tmp_path))
    assert (result.code, result.out) == (3, "")
    assert "web page (Content-Type: text/html)" in result.err
    assert f"git::{server.url}/o/r" in result.err
    assert not (tmp_path / "dest").exists()


def test_ctrl_c_of_a_progress_ends_a_large_download(tmp_path: Path) -> None:
    """Whatever ends it: no thread is left, and no file."""

    class Enough(Recorder):
        def advance(self, package: str, amount: int) -> None:
            super().advance(package, amount)
            if sum(event[1] for event in self.events if event[0] == "advance") > 6 << 20:
                raise KeyboardInterrupt

    body = bytes(8 << 20)
    with serving(Site({"/x.zip": reply(body)})) as server, pytest.raises(KeyboardInterrupt):
        get(f"{server.url}/x.zip", tmp_path / "dest", progress=Enough())
    assert list(tmp_path.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name in WORKERS]


# ------------------------------------------------------------------------------------------------- credentials

PASSWORD = "p4ss:w0rd/%é"
BASIC = "Basic " + base64.b64encode(f"ada:{PASSWORD}".encode()).decode()


@dataclass
class Two:
    """A server that knows us, and a second origin that must never see what it knows."""

    first: Server
    second: Server

    def seen(self) -> list[str]:
        return [request.headers.get("Authorization", "") for request in self.first.received]

    def assert_the_second_knows_nothing(self) -> None:
        assert self.second.received, "it was never asked"
        for request in self.second.received:
            assert not {"Authorization", "Private-Token", "Cookie"} & set(request.headers)
            assert all(secret not in f"{request.line}{request.headers}" for secret in ("p4ss", "t0ken"))


@pytest.fixture
def two() -> Iterator[Two]:
    first = Site({"/x.zip": reply()})
    second = Site({"/y.zip": reply()})
    with serving(first) as server, serving(second, host="127.0.0.2") as other:
        first.pages["/away.zip"] = reply(b"", "302 Found", Location=f"{other.url}/y.zip")
        first.pages["/port.zip"] = reply(b"", "307 Found", Location=f"{other.url}/y.zip?from=port")
        yield Two(server, other)


def netrc(directory: Path, host: str) -> dict[str, str]:
    directory.mkdir()
    (directory / ".netrc").write_text(f'machine {host} login ada password "{PASSWORD}"\n', encoding="utf-8")
    (directory / ".netrc").chmod(0o600)
    return {"HOME": str(directory)}


class Vault:
    name = "vault"

    def lookup(self, origin: Origin, path: str) -> Credential | None:
        known = origin.host == "127.0.0.1"
        return Credential(secret=Secret("t0ken"), found_in="vault") if known else None


@pytest.mark.parametrize("how", ["netrc", "token", "user and token", "address", "header", "plugin"])
def test_a_credential_goes_to_its_own_origin_only(two: Two, tmp_path: Path, how: str) -> None:
    suffix = f"127_0_0_1_{two.first.port}"
    url, more, expected = two.first.url, {}, BASIC
    if how == "netrc":
        more["environ"] = netrc(tmp_path / "home", "127.0.0.1")
    elif how == "token":
        more["environ"], expected = {f"GETMODULES_TOKEN_{suffix}": "t0ken"}, "Bearer t0ken"
    elif how == "user and token":
        more["environ"] = {f"GETMODULES_TOKEN_{suffix}": PASSWORD, f"GETMODULES_USERNAME_{suffix}": "ada"}
    elif how == "address":
        url = url.replace("://", "://ada:p4ss%3Aw0rd%2F%25%C3%A9@")
    elif how == "header":
        headers = {f"127.0.0.1:{two.first.port}": {"Authorization": Secret("Own t0ken")}}
        more["network"], expected = replace(QUICK, headers=headers), "Own t0ken"
    else:
        more["plugins"], expected = [FakePlugin(credentials=[Vault()])], "Bearer t0ken"
    get(f"{url}/x.zip", tmp_path / "one", **more)
    get(f"{url}/away.zip", tmp_path / "two", **more)
    get(f"{url}/port.zip", tmp_path / "three", **more)
    assert two.seen() == [expected] * 3
    two.assert_the_second_knows_nothing()


def test_a_header_on_the_command_line(two: Two, tmp_path: Path) -> None:
    host = f"127.0.0.1:{two.first.port}"
    options = ("--header", host, "PRIVATE-TOKEN=env:T", "--header", host, "Cookie=env:C")
    environ = {"T": "t0ken-1", "C": "session=t0ken-2", "GETMODULES_PLUGINS": ""}
    for name in ("x", "away"):
        assert call("get", f"{two.first.url}/{name}.zip", tmp_path / name, *options, environ=environ).code == 0
    for request in two.first.received:
        assert (request.headers["Private-Token"], request.headers["Cookie"]) == ("t0ken-1", "session=t0ken-2")
    two.assert_the_second_knows_nothing()


def test_where_a_server_sends_us_on_the_other_origin_has_its_own(
    two: Two, tmp_path: Path, authority: Authority
) -> None:
    """In the clear it has none; over TLS it has what is known of it, and of nobody else."""
    environ = netrc(tmp_path / "home", "127.0.0.2")
    site = Site({"/a": reply(b"", "204 No", X_Terraform_Get=f"{two.second.url}/y.zip")})
    with serving(site) as server:
        get(f"{server.url}/a", tmp_path / "clear", environ=environ)
    two.assert_the_second_knows_nothing()

    with serving(Site({"/y.zip": reply()}), host="127.0.0.2", tls=authority.server_context()) as other:
        site.pages["/a"] = reply(b"", "204 No", X_Terraform_Get=f"{other.url}/y.zip")
        with serving(site) as server:
            trusting = replace(QUICK, ca_file=str(authority.ca))
            get(f"{server.url}/a", tmp_path / "tls", environ=environ, network=trusting)
            assert "Authorization" not in server.received[0].headers
        assert [request.headers["Authorization"] for request in other.received] == [BASIC]


def echo(status: str) -> Reply:
    """Says back whatever it was told, wherever it can."""

    def answer(connection: Connection, request: Received) -> bool:
        said = request.headers.get("Authorization", "") + " " + request.headers.get("Private-Token", "")
        said += " " + base64.b64decode(said.split()[1]).decode() if said.startswith("Basic ") else ""
        said += f" {request.target}"
        body = f"<!doctype html> you said {said}".encode()
        header = said.encode().decode("latin-1")
        connection.send(
            f"HTTP/1.1 {status} {header}\r\nContent-Length: {len(body)}\r\nContent-Type: x/{header}\r\n"
            f'Location: ftp://x/{header.replace(" ", "")}\r\nETag: "{header}"\r\nWarning: 299 - "{header}"\r\n\r\n'
        )
        connection.send(body)
        return True

    return answer


@pytest.mark.parametrize("status", ["200", "302", "401", "403", "404", "429", "418", "500"])
@pytest.mark.parametrize("how", [(), ("-v",), ("--json",), ("-v", "--json")], ids=str)
@pytest.mark.usefixtures("quick_retries")
def test_what_a_server_says_back_is_never_shown(tmp_path: Path, status: str, how: tuple[str, ...]) -> None:
    with serving(Site({"/x.zip": echo(status)})) as server:
        source = f"{server.url.replace('://', '://ada:s3cr3t-p4ss@')}/x.zip?token=s3cr3t-query"
        options = ("--header", f"127.0.0.1:{server.port}", "PRIVATE-TOKEN=env:T", "--limit", "seconds=60", *how)
        result: Result = call(
            "get", source, tmp_path / "dest", *options, environ={"T": "s3cr3t-header", "GETMODULES_PLUGINS": ""}
        )
        assert server.received
        assert "s3cr3t" in server.received[0].headers["Private-Token"]
    assert result.code != 0
    encoded = base64.b64encode(b"ada:s3cr3t-p4ss").decode()
    for secret in ("s3cr3t", encoded):
        assert secret not in result.out + result.err
    assert not (tmp_path / "dest").exists()


# ------------------------------------------------------------------------------------------------- TLS


def test_certificates_on_the_command_line(tmp_path: Path, authority: Authority) -> None:
    tls = authority.server_context(wants_client_certificate=True)
    with serving(Site({"/x.zip": reply()}), tls=tls) as server:
        host, source = f"127.0.0.1:{server.port}", f"{server.url}/x.zip"
        environ = {"GETMODULES_PLUGINS": ""}
        ca = ("--ca-file", f"{host}={authority.ca}")
        certificate = ("--client-cert", f"{host}={authority.client}")
        assert call("get", source, tmp_path / "a", *certificate, environ=environ).code == 1
        assert call("get", source, tmp_path / "b", *ca, environ=environ).code == 1
        assert call("get", source, tmp_path / "c", *ca, *certificate, environ=environ).code == 0
        trusted = {**environ, "SSL_CERT_FILE": str(authority.ca)}
        assert call("get", source, tmp_path / "d", *certificate, environ=trusted).code == 0
        assert len(server.received) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "d"]


def test_a_certificate_that_nobody_vouches_for_is_not_tried_again(tmp_path: Path, authority: Authority) -> None:
    began = time.monotonic()
    with serving(Site(), tls=authority.server_context()) as server:
        error = failure(f"{server.url}/x.zip", tmp_path)
        assert error.code == "network/certificate"
        assert "--ca-file" in str(error.typed_hint)
        assert server.connections == 1
    assert time.monotonic() - began < 5
