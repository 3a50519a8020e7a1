"""``getmodules inspect``: trees for people, documents for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from getmodules.testing import Registry, artifact, index_package, module_package
from tests.support.commandline import call

SIGNATURE = "application/vnd.example.signature"


def test_a_package_and_what_refers_to_it() -> None:
    package = module_package({"main.tf": ""}, annotations={"team": "net"})
    signature = artifact(SIGNATURE, [("text/plain", b"signed")], subject=package)
    countersignature = artifact(SIGNATURE, [("text/plain", b"signed again")], subject=signature)
    with Registry() as registry:
        digest = registry.push("acme/vpc", package, "1.0.0")
        registry.push("acme/vpc", signature)
        registry.push("acme/vpc", countersignature)
        address = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
        shown, told = call("inspect", address), call("inspect", address, "--json")

    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert lines[:4] == [
        address,
        f"|-- digest {digest}",
        "|-- type application/vnd.oci.image.manifest.v1+json",
        "|-- artifact application/vnd.opentofu.modulepkg",
    ]
    assert any(line.startswith("|-- layer archive/zip sha256:") and line.endswith(" bytes") for line in lines)
    assert lines[lines.index("|-- annotations") + 1] == "|   `-- team: net"
    below = lines[lines.index(f"`-- referrer {SIGNATURE} {signature.digest}") :]
    assert f"    `-- referrer {SIGNATURE} {countersignature.digest}" in below

    assert list(told.object) == ["address", "digest", "media_type", "manifest", "referrers"]
    assert told.object["digest"] == str(digest)
    assert told.object["manifest"] == json.loads(package.manifest)
    (first,) = told.object["referrers"]
    assert list(first) == ["digest", "artifact_type", "manifest", "referrers"]
    assert first["artifact_type"] == SIGNATURE
    assert [each["digest"] for each in first["referrers"]] == [str(countersignature.digest)]


def test_an_index_shows_its_manifests_and_their_platforms() -> None:
    children = [module_package({"a.tf": ""}), module_package({"b.tf": ""})]
    with Registry() as registry:
        registry.push("acme/vpc", index_package(children), "1.0.0")
        result = call("inspect", f"oci://{registry.host}/acme/vpc?tag=1.0.0")
    assert result.code == 0
    shown = [line for line in result.out.splitlines() if "-- manifest " in line]
    assert len(shown) == 2
    assert str(children[0].digest) in shown[0]
    assert shown[0].endswith("linux/amd64")


HOSTILE: dict[str, Any] = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "artifactType": "\x1b[2Jevil",
    "config": {"mediaType": "a/b", "digest": "sha256:" + "0" * 64, "size": 2},
    "layers": [{"mediaType": "x\ny", "digest": "sha256:" + "0" * 64, "size": 1}],
    "annotations": {"source": "https://ada:s3cr3t@example.com/", "line": "one\ntwo\x1b[0m"},
}


def test_what_somebody_else_wrote_reaches_no_terminal() -> None:
    with Registry() as registry:
        registry.put_manifest("acme/vpc", json.dumps(HOSTILE).encode(), HOSTILE["mediaType"], "1.0.0")
        address = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
        shown, told = call("inspect", address), call("inspect", address, "--json")
    assert (shown.code, told.code) == (0, 0)
    for result in (shown, told):
        assert "\x1b" not in result.out + result.err
    assert "s3cr3t" not in shown.out
    assert "    |-- source: https://ada:****@example.com/\n" in shown.out
    assert r"one\ntwo\x1b[0m" in shown.out
    assert told.object["manifest"] == HOSTILE


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"annotations": {}}, id="no-annotations"),
        pytest.param({"layers": []}, id="no-layers"),
    ],
)
def test_what_is_not_there_has_no_line(change: dict[str, Any]) -> None:
    manifest = {**HOSTILE, **change}
    with Registry() as registry:
        registry.put_manifest("acme/vpc", json.dumps(manifest).encode(), HOSTILE["mediaType"], "1.0.0")
        result = call("inspect", f"oci://{registry.host}/acme/vpc?tag=1.0.0")
    assert result.code == 0
    assert f"-- {'annotations' if 'annotations' in change else 'layer'}" not in result.out


def test_a_layout_is_looked_into_in_the_same_way(here: Path) -> None:
    pinned = call("push", "tree", "oci-layout::./registry?tag=1.0.0").out.strip()
    result = call("inspect", "oci-layout::./registry?tag=1.0.0")
    assert result.out.splitlines()[1] == f"|-- digest {pinned.partition('?digest=')[2]}"


def test_nothing_there(here: Path) -> None:
    result = call("inspect", "oci-layout::./registry?tag=1.0.0", "--json")
    assert result.code == 1
    assert result.object["error"]["code"] == "not-found"
