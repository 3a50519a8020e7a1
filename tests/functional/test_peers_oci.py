"""Both directions with what others run: docker-registry in all its dresses, oras, crane and its registry, tofu."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, GetModulesError, hash_tree
from getmodules.net.settings import NetSettings
from tests.support.certificates import Authority
from tests.support.dockerregistry import PASSWORD, USER, docker_registry, token_service
from tests.support.gotools import need_go
from tests.support.servers import free_port, listens
from tests.support.snapshots import write_tree
from tests.support.waiting import wait_until

FILES = {"main.tf": 'output "hello" {\n  value = "world"\n}\n', "modules/sub/main.tf": "# sub\n"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", FILES)
    return tmp_path / "tree"


def client(environ: Mapping[str, str] | None = None, **settings: Any) -> Client:
    return Client(environ=environ or {}, network=NetSettings(backoff_seconds=0.05, **settings))


def credentials(directory: Path, host: str, password: str = PASSWORD) -> dict[str, str]:
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    (directory / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))
    return {"DOCKER_CONFIG": str(directory)}


def there_and_back(one: Client, host: str, tree: Path, dest: Path) -> None:
    pushed = one.push(tree, f"oci://{host}/acme/vpc?tag=1.0.0")
    installed = one.get(f"oci://{host}/acme/vpc?tag=1.0.0", dest)
    assert installed.id == pushed.id
    assert installed.pinned == pushed.pinned
    assert installed.h1 == hash_tree(tree)
    again = one.push(tree, f"oci://{host}/acme/vpc?tag=1.0.0")
    assert (again.id, again.sent) == (pushed.id, 0)


# ------------------------------------------------------------------------------------------ docker-registry


def test_docker_registry_over_tls(tmp_path: Path, authority: Authority, tree: Path) -> None:
    with docker_registry(tmp_path, tls=authority) as host:
        there_and_back(client(ca_file=str(authority.ca)), host, tree, tmp_path / "dest")
        with pytest.raises(GetModulesError) as caught:
            client().get(f"oci://{host}/acme/vpc?tag=1.0.0", tmp_path / "other")
        assert caught.value.code == "network/certificate"


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_docker_registry_with_passwords(tmp_path: Path, authority: Authority, tree: Path, tls: bool) -> None:
    with docker_registry(tmp_path, tls=authority if tls else None, htpasswd=True) as host:
        settings = {"ca_file": str(authority.ca)} if tls else {}
        there_and_back(client(credentials(tmp_path, host), **settings), host, tree, tmp_path / "dest")
        for environ in ({}, credentials(tmp_path, host, "wrong-one")):
            with pytest.raises(GetModulesError) as caught:
                client(environ, **settings).get(f"oci://{host}/acme/vpc?tag=1.0.0", tmp_path / "other")
            assert caught.value.code == "authentication"
            assert "wrong-one" not in str(caught.value.as_json())


def test_docker_registry_with_tokens(tmp_path: Path, tree: Path) -> None:
    with (
        token_service(tmp_path) as (service, certificate),
        docker_registry(tmp_path, token=(f"{service.url}/token", certificate)) as host,
    ):
        there_and_back(client(credentials(tmp_path, host)), host, tree, tmp_path / "dest")
        asked = len(service.received)
        assert asked <= 4, "one token for each scope, not for each request"
        with pytest.raises(GetModulesError) as caught:
            client().get(f"oci://{host}/acme/vpc?tag=1.0.0", tmp_path / "other")
        assert caught.value.code == "authentication"


# ------------------------------------------------------------------------------------------ oras and crane


def run(*command: str | Path, **more: Any) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(more.pop("home", "/nonexistent")), **more.pop("env", {})}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_oras_publishes_we_install(tmp_path: Path, tree: Path) -> None:
    oras = need_go("oras")
    with zipfile.ZipFile(tmp_path / "pkg.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    with docker_registry(tmp_path) as host:
        run(
            oras, "push", "--plain-http", "--no-tty", "--artifact-type", "application/vnd.opentofu.modulepkg",
            f"{host}/acme/vpc:1.0.0", "pkg.zip:archive/zip", cwd=tmp_path,
        )  # fmt: skip
        installed = client().get(f"oci://{host}/acme/vpc?tag=1.0.0", tmp_path / "dest")
        assert installed.h1 == hash_tree(tree)
        run(oras, "cp", "--from-plain-http", "--to-oci-layout", f"{host}/acme/vpc:1.0.0", f"{tmp_path}/layout:1.0.0")
        assert client().get(f"oci-layout://{tmp_path}/layout?tag=1.0.0", tmp_path / "two").id == installed.id


def test_what_we_publish_oras_pulls(tmp_path: Path, tree: Path) -> None:
    oras = need_go("oras")
    with docker_registry(tmp_path) as host:
        pushed = client().push(tree, f"oci://{host}/acme/vpc?tag=1.0.0")
        run(oras, "pull", "--plain-http", "--no-tty", f"{host}/acme/vpc:1.0.0", "-o", tmp_path / "pulled")
        (archive,) = (tmp_path / "pulled").iterdir()
        with zipfile.ZipFile(archive) as opened:
            assert {name: opened.read(name).decode() for name in opened.namelist()} == FILES
        assert run(oras, "resolve", "--plain-http", f"{host}/acme/vpc:1.0.0").strip() == pushed.id


@contextmanager
def crane_registry() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [need_go("registry"), "-port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: listens(port), "the registry does not listen")
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def test_cranes_registry_and_crane(tmp_path: Path, tree: Path) -> None:
    crane = need_go("crane")
    with crane_registry() as host:
        there_and_back(client(), host, tree, tmp_path / "dest")
        run(crane, "copy", "--insecure", f"{host}/acme/vpc:1.0.0", f"{host}/acme/copy:2.0.0")
        assert (
            run(crane, "digest", "--insecure", f"{host}/acme/copy:2.0.0").strip()
            == client().resolve(f"oci://{host}/acme/vpc?tag=1.0.0").id
        )
        assert client().tags(f"oci://{host}/acme/copy") == ("2.0.0",)


# ------------------------------------------------------------------------------------------ tofu, where found


def test_what_we_publish_tofu_installs(tmp_path: Path, authority: Authority, tree: Path) -> None:
    tofu = shutil.which("tofu")
    if tofu is None:
        pytest.skip("tofu is not here; it is judged by where it is found")
    with docker_registry(tmp_path, tls=authority) as host:
        client(ca_file=str(authority.ca)).push(tree, f"oci://{host}/acme/vpc?tag=1.0.0")
        project = tmp_path / "project"
        project.mkdir()
        (project / "main.tf").write_text(f'module "vpc" {{\n  source = "oci://{host}/acme/vpc?tag=1.0.0"\n}}\n')
        run(tofu, "init", "-no-color", cwd=project, home=tmp_path, env={"SSL_CERT_FILE": str(authority.ca)})
        assert hash_tree(project / ".terraform" / "modules" / "vpc") == hash_tree(tree)
