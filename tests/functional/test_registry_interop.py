"""Other people's clients and the registry of ``getmodules.testing``: what they push it has, what it has they pull."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from getmodules.testing import Access, Registry, User, image_package, module_package, zip_of
from tests.support.gotools import need_go
from tests.support.registryclient import ask, sha
from tests.support.tools import need

FILES = {"main.tf": 'output "hello" {}\n', "modules/net/main.tf": "# net\n"}
MODULE_TYPE = "application/vnd.opentofu.modulepkg"


def run(home: Path, *command: object, text: str | None = None) -> str:
    """What a program prints; it must end well."""
    ran = subprocess.run(
        list(map(str, command)),
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)},
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("scheme", ["none", "basic", "bearer"])
def test_oras_pushes_and_pulls(tmp_path: Path, scheme: str) -> None:
    oras = need_go("oras")
    (tmp_path / "pkg.zip").write_bytes(zip_of(FILES))
    access = Access(scheme=scheme, users={"user": User("password")})  # type: ignore[arg-type]
    with Registry(access=access) as registry:
        address = f"{registry.host}/acme/vpc:1.0"
        plain = ("--plain-http",)
        if scheme != "none":
            run(tmp_path, oras, "login", *plain, "-u", "user", "--password-stdin", registry.host, text="password")
        push = (oras, "push", *plain, "--no-tty", "--artifact-type", MODULE_TYPE, address, "pkg.zip:archive/zip")
        run(tmp_path, *push)
        repository = registry.repository("acme/vpc")
        stored = repository.resolve("1.0")
        assert stored is not None
        assert stored.artifact_type == MODULE_TYPE
        (tmp_path / "pulled").mkdir()
        run(tmp_path, oras, "pull", *plain, "--no-tty", "-o", "pulled", address)
        assert (tmp_path / "pulled" / "pkg.zip").read_bytes() == zip_of(FILES)


def test_oras_attaches_and_discovers_referrers(tmp_path: Path) -> None:
    oras = need_go("oras")
    (tmp_path / "note.txt").write_text("signed")
    with Registry() as registry:
        registry.push_module("acme/vpc", "1.0", FILES)
        address = f"{registry.host}/acme/vpc:1.0"
        attach = (oras, "attach", "--plain-http", "--no-tty", "--artifact-type", "a/signature", address, "note.txt")
        run(tmp_path, *attach)
        found = json.loads(run(tmp_path, oras, "discover", "--plain-http", "--format", "json", address))
        (referrer,) = found.get("referrers") or found["manifests"]
        assert referrer["artifactType"] == "a/signature"
        assert ask(registry, "GET", "/v2/acme/vpc/tags/list").json()["tags"] == ["1.0"]


def test_crane_reads_copies_and_deletes(tmp_path: Path) -> None:
    crane = need_go("crane")
    package = image_package([FILES])
    with Registry() as registry:
        registry.push("acme/image", package, "1.0")
        address = f"{registry.host}/acme/image"
        assert run(tmp_path, crane, "manifest", f"{address}:1.0").encode().strip() == package.manifest
        run(tmp_path, crane, "copy", f"{address}:1.0", f"{registry.host}/other/place:2.0")
        assert run(tmp_path, crane, "digest", f"{registry.host}/other/place:2.0").strip() == str(package.digest)
        assert any(request.argument("mount") for request in registry.requests)
        run(tmp_path, crane, "tag", f"{address}:1.0", "1.1")
        assert run(tmp_path, crane, "ls", address).split() == ["1.0", "1.1"]
        run(tmp_path, crane, "delete", f"{address}@{package.digest}")
        assert run(tmp_path, crane, "ls", address).split() == []


def test_skopeo_copies_in_both_directions(tmp_path: Path) -> None:
    skopeo = need("skopeo")
    package = image_package([FILES, {"README.md": "hello"}])
    with Registry() as registry:
        registry.push("acme/image", package, "1.0")
        there, back = f"docker://{registry.host}/acme/image:1.0", f"docker://{registry.host}/acme/back:1.0"
        copy = (skopeo, "--insecure-policy", "copy", "--src-tls-verify=false")
        run(tmp_path, *copy, there, "oci:layout:1.0")
        run(tmp_path, skopeo, "--insecure-policy", "copy", "--dest-tls-verify=false", "oci:layout:1.0", back)
        reply = ask(registry, "GET", "/v2/acme/back/manifests/1.0")
        assert sha(reply.body) == str(package.digest)


def test_a_repository_on_disk_is_a_layout_to_others(tmp_path: Path) -> None:
    skopeo = need("skopeo")
    package = image_package([FILES])
    with Registry(layout=tmp_path / "layouts") as registry:
        registry.push("acme/image", package, "1.0", "latest")
    shown = json.loads(run(tmp_path, skopeo, "inspect", f"oci:{tmp_path}/layouts/acme+image:1.0"))
    assert shown["Digest"] == str(package.digest)
    run(tmp_path, need("umoci"), "unpack", "--rootless", "--image", f"{tmp_path}/layouts/acme+image:1.0", "bundle")
    assert (tmp_path / "bundle/rootfs/main.tf").read_text() == FILES["main.tf"]


def test_a_layout_that_others_wrote_is_served(tmp_path: Path) -> None:
    oras = need_go("oras")
    package = module_package(FILES)
    with Registry() as registry:
        registry.push("acme/vpc", package, "1.0")
        copy = (oras, "cp", "--no-tty", "--from-plain-http", "--to-oci-layout")
        run(tmp_path, *copy, f"{registry.host}/acme/vpc:1.0", "layouts/acme+vpc:1.0")
    with Registry(layout=tmp_path / "layouts") as registry:
        assert ask(registry, "GET", "/v2/acme/vpc/manifests/1.0").body == package.manifest
