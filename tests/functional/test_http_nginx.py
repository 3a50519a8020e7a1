"""The http getter and a web server that nobody here wrote: nginx, in the clear and with TLS."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from getmodules import Client, GetModulesError, Installed, NetworkError
from getmodules.net.settings import NetSettings
from tests.support.certificates import Authority
from tests.support.commandline import run
from tests.support.fakes import FILES, ZIP, ZIP_H1, ZIP_SHA256, installed_files, zip_of
from tests.support.nginx import Nginx, nginx, passwords
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot, write_tree

QUICK = NetSettings(connect_seconds=20, timeout=20, backoff_seconds=0.01)
LARGE = zip_of({"noise": hashlib.shake_256(b"").digest(3 << 20)})

LOCATIONS = """
location /basic/ { alias root/; auth_basic "modules"; auth_basic_user_file passwords; }
location /bearer/ { alias root/; if ($http_authorization != "Bearer t0ken") { return 401 "who are you?"; } }
location /header/ { alias root/; if ($http_private_token != "t0ken") { return 403 "who are you?"; } }
location /moved/ { rewrite ^/moved/(.*)$ /$1 permanent; }
location /found/ { rewrite ^/found/(.*)$ /$1 redirect; }
location /loop/ { return 302 /loop/; }
location /signed/ { alias root/; if ($arg_signature != "a%2Fb") { return 403; } }
location = /module { add_header X-Terraform-Get "./vpc.zip//sub"; return 204; }
location = /page { default_type text/html; return 200 '<meta name="terraform-get" content="/vpc.zip">'; }
location /busy/ { return 503; }
"""


def fill(root: Path) -> None:
    (root / "vpc.zip").write_bytes(ZIP)
    (root / "download").write_bytes(ZIP)
    (root / "large.zip").write_bytes(LARGE)
    (root / "main.tf").write_bytes(b"# main\n")
    (root / "SHA256SUMS").write_text(f"{ZIP_SHA256}  vpc.zip\n")
    for name, options in (("vpc.tar.gz", "-czf"), ("vpc.tar", "-cf")):
        tree = root / "tree"
        write_tree(tree, FILES)
        subprocess.run(["tar", options, root / name, "-C", tree, "."], check=True)


@contextmanager
def a_server(directory: Path, locations: str = LOCATIONS, **more: Any) -> Iterator[Nginx]:
    directory.mkdir(parents=True)
    passwords(directory / "passwords", ada="s3cr3t")
    (directory / "root").mkdir()
    fill(directory / "root")
    with nginx(directory, locations, **more) as server:
        yield server


@pytest.fixture(scope="module", params=["clear", "tls"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, authority: Authority
) -> Iterator[Nginx]:
    tls = authority if request.param == "tls" else None
    with a_server(tmp_path_factory.mktemp("nginx") / "first", authority=tls) as server:
        yield server


@pytest.fixture
def client(authority: Authority) -> Iterator[Client]:
    with a_client(authority) as made:
        yield made


def a_client(authority: Authority, environ: Mapping[str, str] | None = None, **more: Any) -> Client:
    network = replace(QUICK, ca_file=str(authority.ca), **more.pop("network", {}))
    environ = {"GETMODULES_PLUGINS": "", **(environ or {})}
    return Client(**{"network": network, "environ": environ, "use_cache": False, **more})


def new(server: Nginx, before: int) -> list[Any]:
    return server.asked()[before:]


# ------------------------------------------------------------------------------------------ what arrives


@pytest.mark.parametrize(
    "path",
    [
        "vpc.zip", "vpc.tar.gz", "vpc.tar", "download?archive=zip", "page", "moved/vpc.zip", "found/vpc.zip",
    ],
)  # fmt: skip
def test_an_archive(server: Nginx, client: Client, tmp_path: Path, path: str) -> None:
    installed = client.get(f"{server.url}/{path}", tmp_path / "dest")
    assert installed_files(tmp_path / "dest") == FILES
    again = client.get(str(installed.pinned), tmp_path / "again")
    assert again.h1 == installed.h1
    assert snapshot(tmp_path / "again") == snapshot(tmp_path / "dest")


def test_a_module_that_is_elsewhere(server: Nginx, client: Client, tmp_path: Path) -> None:
    installed = client.get(f"{server.url}/module", tmp_path / "dest")
    assert installed_files(tmp_path / "dest") == {"a.tf": b"# a\n", "deep/b.tf": b"# b\n"}
    assert str(installed.pinned) == f"{server.url}/vpc.zip//sub?checksum=sha256:{ZIP_SHA256}"


def test_a_signature_is_sent_as_it_was_written(server: Nginx, client: Client, tmp_path: Path) -> None:
    """And stands in no pin."""
    installed = client.get(f"{server.url}/signed/vpc.zip?signature=a%2Fb", tmp_path / "dest")
    assert installed_files(tmp_path / "dest") == FILES
    assert "a%2Fb" not in str(installed.pinned)


def test_a_single_file(server: Nginx, client: Client, tmp_path: Path) -> None:
    client.get(f"{server.url}/main.tf?filename=other.tf", tmp_path / "dest")
    assert installed_files(tmp_path / "dest") == {"other.tf": b"# main\n"}


def test_a_checksum_file(server: Nginx, client: Client, tmp_path: Path) -> None:
    source = f"{server.url}/vpc.zip?checksum=file:{server.url}/SHA256SUMS"
    assert client.get(source, tmp_path / "dest").h1 == ZIP_H1


def test_nobody_gets_it_compressed_on_the_way(server: Nginx, client: Client, tmp_path: Path) -> None:
    """nginx would, for whoever says that it takes that."""
    assert client.get(f"{server.url}/large.zip", tmp_path / "dest").id == f"sha256:{hashlib.sha256(LARGE).hexdigest()}"
    assert server.asked()[-1].sent == str(len(LARGE))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("nothing.zip", "not-found"),
        ("loop/", "fetch/too-many-hops"),
        ("basic/vpc.zip", "authentication"),
        ("header/vpc.zip", "authentication/forbidden"),
        ("busy/vpc.zip", "network"),
    ],
)
def test_what_it_refuses(server: Nginx, client: Client, tmp_path: Path, path: str, code: str) -> None:
    with pytest.raises(GetModulesError) as caught:
        client.get(f"{server.url}/{path}", tmp_path / "dest")
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------ who may have it


@pytest.mark.parametrize("how", ["netrc", "user and token", "token", "header"])
def test_credentials_on_the_command_line(server: Nginx, authority: Authority, tmp_path: Path, how: str) -> None:
    home, suffix = tmp_path / "home", f"127_0_0_1_{server.port}"
    home.mkdir()
    env, options, path = {"HOME": str(home), "GETMODULES_CACHE_DIR": ""}, [], "basic"
    if how == "netrc":
        (home / ".netrc").write_text("machine 127.0.0.1 login ada password s3cr3t\n")
        (home / ".netrc").chmod(0o600)
    elif how == "user and token":
        env |= {f"GETMODULES_USERNAME_{suffix}": "ada", f"GETMODULES_TOKEN_{suffix}": "s3cr3t"}
    elif how == "token":
        env[f"GETMODULES_TOKEN_{suffix}"], path = "t0ken", "bearer"
    else:
        env["T"], path = "t0ken", "header"
        options = ["--header", f"127.0.0.1:{server.port}", "PRIVATE-TOKEN=env:T"]
    source = f"{server.url}/{path}/vpc.zip"
    result = run("get", source, tmp_path / "dest", "--ca-file", authority.ca, *options, **env)
    assert (result.code, result.err) == (0, ""), result
    assert installed_files(tmp_path / "dest") == FILES


def test_a_wrong_password_is_tried_once_and_not_shown(server: Nginx, authority: Authority, tmp_path: Path) -> None:
    before = len(server.asked())
    url = server.url.replace("://", "://ada:wr0ng@")
    result = run(
        "get", f"{url}/basic/vpc.zip", tmp_path / "dest", "--ca-file", authority.ca, "-v", HOME=str(tmp_path / "home")
    )
    assert result.code == 4
    assert "wr0ng" not in result.out + result.err
    assert [each.status for each in new(server, before)] == ["401"]
    assert not (tmp_path / "dest").exists()


def test_another_origin_sees_no_credential(authority: Authority, tmp_path: Path) -> None:
    with a_server(tmp_path / "second", host="127.0.0.2", authority=authority) as second:
        away = f"location /away/ {{ return 302 {second.url}/vpc.zip; }}"
        with a_server(tmp_path / "first", away, authority=authority) as first:
            known = {f"GETMODULES_TOKEN_127_0_0_1_{first.port}": "t0ken"}
            with a_client(authority, known) as client:
                client.get(f"{first.url}/away/vpc.zip", tmp_path / "dest")
            assert [each.authorization for each in first.asked()] == ["Bearer t0ken"]
            assert [(each.path, each.authorization) for each in second.asked()] == [("/vpc.zip", "")]


def test_a_client_certificate_is_for_its_own_origin(authority: Authority, tmp_path: Path) -> None:
    demanding = {"authority": authority, "wants_client_certificate": True}
    with (
        a_server(tmp_path / "first", **demanding) as first,
        a_server(tmp_path / "second", host="127.0.0.2", **demanding) as second,
    ):
        mine = {"client_certificates": {f"127.0.0.1:{first.port}": str(authority.client)}}
        with a_client(authority, network=mine) as client:
            assert client.get(f"{first.url}/vpc.zip", tmp_path / "dest").h1 == ZIP_H1
            with pytest.raises(GetModulesError):
                client.get(f"{second.url}/vpc.zip", tmp_path / "no")
        assert [each.client for each in first.asked()] == ["CN=client"]
        assert [(each.status, each.client) for each in second.asked()] == [("400", "")]
        assert not (tmp_path / "no").exists()


def test_an_authority_that_nobody_knows(authority: Authority, tmp_path: Path) -> None:
    with a_server(tmp_path / "first", authority=authority) as server, Client(environ={}, use_cache=False) as client:
        error = refusal(NetworkError, "network/certificate", client.get, f"{server.url}/vpc.zip", tmp_path / "dest")
        assert "--ca-file" in str(error.typed_hint)
        assert server.asked() == []


# ------------------------------------------------------------------------------------------ what is interrupted


class Cutter:
    """A proxy that ends connections after so many bytes from the server; when nothing is left to cut, none."""

    def __init__(self, port: int, cuts: list[int], before_each_cut: Callable[[], object] = lambda: None) -> None:
        self._target = ("127.0.0.1", port)
        self._cuts = cuts
        self._before_each_cut = before_each_cut
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = [self._listener]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _start(self, work: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._sockets += [near, far]
                self._start(self._pump, near, far, None)
                self._start(self._pump, far, near, self._cuts.pop(0) if self._cuts else None)

    def _pump(self, source: socket.socket, target: socket.socket, left: int | None) -> None:
        with suppress(OSError):
            while (left is None or left > 0) and (piece := source.recv(1 << 14)):
                target.sendall(piece if left is None else piece[:left])
                left = None if left is None else left - len(piece)
        if left is not None:
            self._before_each_cut()
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def test_what_is_cut_is_taken_up_where_it_ended(server: Nginx, client: Client, tmp_path: Path) -> None:
    before = len(server.asked())
    with Cutter(server.port, [2_000_000, 20_000, 1_000_000]) as cutter:
        url = server.url.replace(f":{server.port}", f":{cutter.port}")
        installed = client.get(f"{url}/large.zip", tmp_path / "dest")
    assert installed.id == f"sha256:{hashlib.sha256(LARGE).hexdigest()}"
    asked = new(server, before)
    assert len(asked) == 4
    assert sorted(each.status for each in asked) == ["200", "206", "206", "206"]
    for each in asked:
        assert bool(each.range) == bool(each.if_range) == (each.status == "206")
    starts = sorted(int(each.range.removeprefix("bytes=").removesuffix("-") or 0) for each in asked)
    assert starts == sorted(set(starts)), "what came once was asked for again"
    assert 1_000_000 < starts[1] < 2_000_000


def test_another_file_of_the_same_name_is_never_appended(server: Nginx, client: Client, tmp_path: Path) -> None:
    """It is another one when the rest is asked for: nginx sends that as a whole, of which we have the beginning."""
    file = server.root / "changing.zip"
    file.write_bytes(LARGE)
    with Cutter(server.port, [2_000_000], lambda: os.utime(file, (1, 1))) as cutter:
        url = server.url.replace(f":{server.port}", f":{cutter.port}")
        error = refusal(NetworkError, "network", client.get, f"{url}/changing.zip", tmp_path / "dest")
    assert "changed" in error.message
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------ what is known already


def test_what_is_in_the_store_is_asked_about_and_not_fetched(
    server: Nginx, authority: Authority, tmp_path: Path
) -> None:
    before = len(server.asked())

    def get(source: str, name: str) -> Installed:
        environ = {"GETMODULES_CACHE_DIR": str(tmp_path / "store")}
        with a_client(authority, environ, use_cache=True) as client:
            return client.get(source, tmp_path / name)

    first = get(f"{server.url}/large.zip", "first")
    second = get(f"{server.url}/large.zip", "second")
    asked = new(server, before)
    assert [(each.status, each.sent) for each in asked] == [("200", str(len(LARGE))), ("304", "0")]
    assert asked[1].if_none_match

    third = get(str(first.pinned), "third")
    assert len(new(server, before)) == 2, "what is pinned needs no server"
    assert first.h1 == second.h1 == third.h1
    assert snapshot(tmp_path / "first") == snapshot(tmp_path / "second") == snapshot(tmp_path / "third")


def test_what_has_changed_since_is_fetched(server: Nginx, authority: Authority, tmp_path: Path) -> None:
    file = server.root / "current.zip"
    for name, content in (("first", ZIP), ("second", zip_of({"other.tf": b""}))):
        file.write_bytes(content)
        os.utime(file, (len(content), len(content)))
        with a_client(authority, use_cache=True, cache_dir=tmp_path / "store") as client:
            installed = client.get(f"{server.url}/current.zip", tmp_path / name)
        assert installed.id == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert [each.status for each in server.asked()[-2:]] == ["200", "200"]
