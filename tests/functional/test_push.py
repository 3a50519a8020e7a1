"""Publishing to what others run, and read by what others run: docker-registry, skopeo, umoci."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules import Client, Inspected, Pushed
from getmodules.errors import DestinationExistsError
from getmodules.net.settings import NetSettings
from tests.support.dockerregistry import docker_registry as running_docker_registry
from tests.support.refusals import refusal
from tests.support.repositories import ENVIRON
from tests.support.snapshots import snapshot, write_tree
from tests.support.tools import need

FILES = {"main.tf": "# main\n", "sub/a.tf": "# a\n", "größe.tf": ""}


def run(program: str, *arguments: str | Path) -> bytes:
    command = (need(program), *arguments)
    return subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60).stdout


@pytest.fixture
def client() -> Client:
    return Client(environ=ENVIRON, network=NetSettings(backoff_seconds=0.05))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", FILES)
    (tmp_path / "tree" / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "tree" / "run.sh").chmod(0o755)
    return tmp_path / "tree"


@pytest.fixture
def docker_registry(tmp_path: Path) -> Iterator[str]:
    with running_docker_registry(tmp_path) as host:
        yield host


def test_to_a_docker_registry_and_back(client: Client, docker_registry: str, tree: Path, tmp_path: Path) -> None:
    address = f"oci://{docker_registry}/acme/vpc?tag=1.0.0"
    pushed = client.push(tree, address)
    assert isinstance(pushed, Pushed)
    assert client.push(tree, address).sent == 0
    installed = client.get(pushed.pinned, tmp_path / "dest")
    assert installed.id == pushed.id
    assert snapshot(tmp_path / "dest") == snapshot(tree)
    assert client.tags(f"oci://{docker_registry}/acme/vpc") == ("1.0.0",)
    inspected = client.inspect(address)
    assert isinstance(inspected, Inspected)
    assert inspected.digest == pushed.id
    (tree / "main.tf").write_text("# changed\n")
    refusal(DestinationExistsError, "destination-exists", client.push, tree, address)
    assert client.push(tree, address, force=True).id == client.resolve(address).id


def test_a_large_package_to_a_docker_registry(client: Client, docker_registry: str, tree: Path, tmp_path: Path) -> None:
    (tree / "large").write_bytes(os.urandom(1 << 20) * 70)
    pushed = client.push(tree, f"oci://{docker_registry}/acme/large?tag=1.0.0")
    assert pushed.sent > 70 << 20
    client.get(pushed.pinned, tmp_path / "dest")
    assert (tmp_path / "dest" / "large").stat().st_size == 70 << 20


def test_skopeo_copies_what_we_published(client: Client, docker_registry: str, tree: Path, tmp_path: Path) -> None:
    """From our layout to a registry, from there to a layout of its own: the same digest everywhere."""
    pushed = client.push(tree, f"oci-layout://{tmp_path}/ours?tag=1.0.0")
    run("skopeo", "copy", "--dest-tls-verify=false", f"oci:{tmp_path}/ours:1.0.0", f"docker://{docker_registry}/a/b:1")
    assert client.resolve(f"oci://{docker_registry}/a/b?tag=1").id == pushed.id
    run("skopeo", "copy", "--src-tls-verify=false", f"docker://{docker_registry}/a/b:1", f"oci:{tmp_path}/theirs:x")
    installed = client.get(f"oci-layout://{tmp_path}/theirs?tag=x", tmp_path / "dest")
    assert installed.id == pushed.id
    assert snapshot(tmp_path / "dest") == snapshot(tree)


def test_skopeo_and_we_write_into_one_layout(client: Client, tree: Path, tmp_path: Path) -> None:
    first = client.push(tree, f"oci-layout://{tmp_path}/ours?tag=1.0.0")
    run("skopeo", "copy", f"oci:{tmp_path}/ours:1.0.0", f"oci:{tmp_path}/ours:copied")
    (tree / "main.tf").write_text("# changed\n")
    second = client.push(tree, f"oci-layout://{tmp_path}/ours?tag=2.0.0")
    tags = {tag: client.resolve(f"oci-layout://{tmp_path}/ours?tag={tag}").id for tag in ("1.0.0", "copied", "2.0.0")}
    assert tags == {"1.0.0": first.id, "copied": first.id, "2.0.0": second.id}
    run("skopeo", "copy", f"oci:{tmp_path}/ours:2.0.0", f"oci:{tmp_path}/nameless")
    assert client.resolve(f"oci-layout://{tmp_path}/nameless").id == second.id


def test_an_image_that_umoci_made(client: Client, tmp_path: Path) -> None:
    """An image-style package: umoci's layout, its manifest without a mediaType, a label that says what it is."""
    layout, bundle = tmp_path / "image", tmp_path / "bundle"
    run("umoci", "init", "--layout", layout)
    run("umoci", "new", "--image", f"{layout}:v1")
    # Not `umoci insert`: what 0.4 writes there is a tar without an end, at which GNU tar complains as we do.
    run("umoci", "unpack", "--rootless", "--image", f"{layout}:v1", bundle)
    write_tree(bundle / "rootfs", FILES)
    run("umoci", "repack", "--image", f"{layout}:v1", bundle)
    (bundle / "rootfs/main.tf").unlink()
    write_tree(bundle / "rootfs", {"main2.tf": ""})
    run("umoci", "repack", "--refresh-bundle", "--image", f"{layout}:v1", bundle)
    run("umoci", "config", "--image", f"{layout}:v1", "--config.label", "org.opentofu.package-type=module")
    assert client.tags(f"oci-layout://{layout}") == ("v1",)
    client.get(f"oci-layout://{layout}?tag=v1", tmp_path / "dest")
    found = {"main2.tf", *FILES} - {"main.tf"}
    assert {path.relative_to(tmp_path / "dest").as_posix() for path in (tmp_path / "dest").rglob("*.tf")} == found
    run("tar", "-cf", tmp_path / "image.tar", "-C", layout, ".")
    client.get(f"oci-layout://{tmp_path}/image.tar?tag=v1", tmp_path / "from-tar")
    assert snapshot(tmp_path / "from-tar") == snapshot(tmp_path / "dest")


def test_umoci_collects_nothing_that_a_pin_may_need(client: Client, tree: Path, tmp_path: Path) -> None:
    first = client.push(tree, f"oci-layout://{tmp_path}/ours?tag=1.0.0")
    (tree / "main.tf").write_text("# changed\n")
    client.push(tree, f"oci-layout://{tmp_path}/ours?tag=1.0.0", force=True)
    run("umoci", "gc", "--layout", tmp_path / "ours")
    client.get(first.pinned, tmp_path / "dest")
    assert (tmp_path / "dest" / "main.tf").read_text() == "# main\n"


def test_other_readers_of_zips(client: Client, tree: Path, tmp_path: Path) -> None:
    pushed = client.push(tree, f"oci-layout://{tmp_path}/ours?tag=1.0.0")
    blob = tmp_path / "ours/blobs" / pushed.digests["layer"].replace(":", "/")
    run("unzip", "-q", blob, "-d", tmp_path / "unzipped")
    assert snapshot(tmp_path / "unzipped") == snapshot(tree)
    with zipfile.ZipFile(blob) as archive:
        assert archive.testzip() is None
    body = (tmp_path / "ours/blobs" / pushed.id.replace(":", "/")).read_bytes()
    assert json.loads(body)["layers"][0]["size"] == blob.stat().st_size
