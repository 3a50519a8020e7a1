"""Publishing through the client, to a layout and to a registry alike."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, Progress
from getmodules.errors import (
    AddressError,
    ConfigError,
    DestinationExistsError,
    DigestMismatchError,
    GetModulesError,
    InstallError,
    UnsupportedContentError,
)
from getmodules.getters.oci.repository import MANIFEST_BYTES
from getmodules.net.settings import NetSettings
from getmodules.testing import Access, Registry, User
from tests.support.fakes import Notices
from tests.support.refusals import refusal
from tests.support.repositories import ENVIRON, git, repository
from tests.support.servers import replying, serving
from tests.support.snapshots import snapshot, write_tree

FILES = {"main.tf": "# main\n", "sub/a.tf": "# a\n"}
IMAGE = "org.opencontainers.image."


@dataclass
class Target:
    """Somewhere to publish to. ``address`` takes a query; ``state`` is all that is there."""

    address: Callable[[str], str]
    state: Callable[[], Any]
    written: Callable[[], int]


@pytest.fixture(params=["layout", "registry"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    if request.param == "layout":
        path = tmp_path / "registry"

        def state() -> Any:
            return snapshot(path) if path.exists() else None

        seen = [state()]

        def changed() -> int:
            seen.append(state())
            return int(seen[-1] != seen[-2])

        yield Target(lambda query: f"oci-layout://{path}{query}", state, changed)
        return
    with Registry() as registry:

        def writing() -> int:
            count = sum(each.method not in ("GET", "HEAD") for each in registry.requests)
            registry.forget_requests()
            return count

        def stored() -> Any:
            repository = registry.repository("acme/vpc")
            return dict(repository.tags), set(repository.manifests)

        yield Target(lambda query: f"oci://{registry.host}/acme/vpc{query}", stored, writing)


@pytest.fixture
def client() -> Client:
    return Client(environ=ENVIRON, network=NetSettings(backoff_seconds=0.01))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", FILES)
    return tmp_path / "tree"


def test_what_was_pushed_is_installed_by_tag_and_by_pin(
    client: Client, target: Target, tree: Path, tmp_path: Path
) -> None:
    pushed = client.push(tree, target.address("?tag=1.0.0"))
    assert pushed.pinned == target.address(f"?digest={pushed.id}")
    assert pushed.digests["manifest"] == pushed.id
    assert (pushed.files, pushed.dry_run) == (2, False)
    by_tag = client.get(target.address("?tag=1.0.0"), tmp_path / "a")
    by_pin = client.get(pushed.pinned, tmp_path / "b")
    assert by_tag.pinned == by_pin.pinned == pushed.pinned
    assert by_tag.digests["layer"] == pushed.digests["layer"]
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")
    assert (tmp_path / "a" / "sub" / "a.tf").read_text() == "# a\n"
    assert client.tags(target.address("")) == ("1.0.0",)


def test_the_manifest_is_what_oras_makes_of_it(client: Client, target: Target, tree: Path) -> None:
    pushed = client.push(tree, target.address("?tag=1.0.0"), annotations={"z": "1", "a": "ü\n"})
    inspected = client.inspect(target.address("?tag=1.0.0"))
    assert inspected.digest == pushed.id
    assert inspected.manifest == {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/vnd.opentofu.modulepkg",
        "config": {
            "mediaType": "application/vnd.oci.empty.v1+json",
            "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
            "size": 2,
            "data": "e30=",
        },
        "layers": [
            {
                "mediaType": "archive/zip",
                "digest": pushed.digests["layer"],
                "size": pushed.size,
                "annotations": {f"{IMAGE}title": "module.zip"},
            }
        ],
        "annotations": {"a": "ü\n", f"{IMAGE}version": "1.0.0", "z": "1"},
    }
    assert list(inspected.manifest["annotations"]) == sorted(inspected.manifest["annotations"])


def test_the_same_again_sends_nothing(client: Client, target: Target, tree: Path) -> None:
    first = client.push(tree, target.address("?tag=1.0.0"))
    assert target.written()
    again = client.push(tree, target.address("?tag=1.0.0"))
    assert (again.pinned, again.sent) == (first.pinned, 0)
    assert not target.written()
    assert first.sent > first.size


def test_a_blob_that_is_there_is_not_sent_again(client: Client, target: Target, tree: Path) -> None:
    first = client.push(tree, target.address("?tag=1.0.0"))
    second = client.push(tree, target.address("?tag=1.0.1"))
    assert second.digests["layer"] == first.digests["layer"]
    assert second.id != first.id  # the version is in the manifest
    body = json.dumps(client.inspect(second.pinned).manifest, ensure_ascii=False, separators=(",", ":"))
    assert second.sent == len(body.encode())


def test_a_tag_with_another_content_is_kept_unless_forced(
    client: Client, target: Target, tree: Path, tmp_path: Path
) -> None:
    first = client.push(tree, target.address("?tag=1.0.0"))
    write_tree(tree, {"main.tf": "# changed\n"})
    target.written()
    before = target.state()
    for dry_run in (True, False):
        error = refusal(
            DestinationExistsError,
            "destination-exists",
            client.push,
            tree,
            target.address("?tag=1.0.0"),
            dry_run=dry_run,
        )
        assert first.id in error.message
    assert target.state() == before
    assert not target.written()
    forced = client.push(tree, target.address("?tag=1.0.0"), force=True)
    assert client.resolve(target.address("?tag=1.0.0")).id == forced.id != first.id
    client.get(first.pinned, tmp_path / "old")
    assert (tmp_path / "old" / "main.tf").read_text() == "# main\n"


def test_a_dry_run_writes_nothing_and_tells_the_pin(client: Client, target: Target, tree: Path) -> None:
    dry = client.push(tree, target.address("?tag=1.0.0"), dry_run=True)
    assert (dry.sent, dry.dry_run) == (0, True)
    assert not target.written()
    assert client.push(tree, target.address("?tag=1.0.0")).pinned == dry.pinned
    write_tree(tree, {"main.tf": "# changed\n"})
    target.written()
    client.push(tree, target.address("?tag=1.0.0"), dry_run=True, force=True)
    assert not target.written()


def test_no_time_and_no_place_changes_the_digest(client: Client, target: Target, tree: Path, tmp_path: Path) -> None:
    first = client.push(tree, target.address("?tag=1.0.0"))
    shutil.copytree(tree, tmp_path / "elsewhere")
    os.utime(tmp_path / "elsewhere" / "main.tf", (1, 1))
    assert client.push(tmp_path / "elsewhere", target.address("?tag=1.0.0")).id == first.id


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("", id="no-tag"),
        pytest.param("?digest=sha256:" + "0" * 64, id="digest"),
        pytest.param("//sub?tag=1.0.0", id="subdirectory"),
        pytest.param("?tag=sha256-" + "0" * 64 + ".sig", id="a-signatures-tag"),
    ],
)
def test_addresses_that_cannot_be_published_to(client: Client, target: Target, tree: Path, query: str) -> None:
    assert refusal(AddressError, "address", client.push, tree, target.address(query)).address
    assert not target.written()


@pytest.mark.parametrize("address", ["https://example.com/x.zip", "git::https://example.com/x", "./x"])
def test_only_repositories_are_published_to_and_looked_into(client: Client, tree: Path, address: str) -> None:
    for call in (lambda: client.push(tree, address, base="/"), lambda: client.tags(address, base="/")):
        refusal(AddressError, "address", call)


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({"": "x"}, id="no-name"),
        pytest.param({"a b": "x"}, id="blank"),
        pytest.param({"a\n": "x"}, id="newline-in-name"),
        pytest.param({"a": "\x1b[2J"}, id="escape-sequence"),
        pytest.param({"a": "x" * 70_000}, id="huge"),
        pytest.param({f"a{n}": "x" * 60_000 for n in range(100)}, id="more-than-a-manifest-holds"),
    ],
)
def test_annotations_that_are_refused(client: Client, target: Target, tree: Path, annotations: dict[str, str]) -> None:
    refusal(ConfigError, "config", client.push, tree, target.address("?tag=1.0.0"), annotations=annotations)
    assert not target.written()


def test_an_empty_directory_is_not_published(client: Client, target: Target, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refusal(
        UnsupportedContentError, "unsupported-content", client.push, tmp_path / "empty", target.address("?tag=1.0.0")
    )
    assert not target.written()


def test_a_layout_gets_no_name_of_a_tar(client: Client, tree: Path, tmp_path: Path) -> None:
    address = f"oci-layout://{tmp_path}/new.tar?tag=1.0.0"
    assert refusal(InstallError, "install", client.push, tree, address).hint
    assert not (tmp_path / "new.tar").exists()
    (tmp_path / "new.tar").mkdir()
    assert client.push(tree, address).sent


def test_a_layout_in_the_directory_that_is_published_is_no_part_of_it(tmp_path: Path) -> None:
    write_tree(tmp_path / "d", {"main.tf": "", "registry.tf": "", "registryx/a": ""})
    told = Notices()
    client = Client(environ={}, progress=told, use_cache=False)
    address = f"oci-layout://{tmp_path}/d/registry?tag=1.0.0"
    first = client.push(tmp_path / "d", address)
    assert told.said == []
    second = client.push(tmp_path / "d", address)
    assert (second.id, second.sent, first.files) == (first.id, 0, 3)
    assert told.about("registry is what is published to")


def _gone(blob: Path) -> None:
    blob.unlink()


def _overwritten(blob: Path) -> None:
    blob.write_bytes(bytes(blob.stat().st_size))


def _cut(blob: Path) -> None:
    blob.write_bytes(blob.read_bytes()[:-1])


def _grown(blob: Path) -> None:
    os.truncate(blob, MANIFEST_BYTES + 1)


@pytest.mark.parametrize("damage", [_gone, _overwritten, _cut, _grown])
@pytest.mark.parametrize("damaged", ["manifest", "layer", "config"])
def test_a_damaged_layout_is_repaired_by_pushing_again(
    client: Client, tree: Path, tmp_path: Path, damaged: str, damage: Callable[[Path], None]
) -> None:
    address = f"oci-layout://{tmp_path}/registry?tag=1.0.0"
    first = client.push(tree, address)
    digest = {**first.digests, "config": client.inspect(address).manifest["config"]["digest"]}[damaged]
    before = snapshot(tmp_path / "registry")
    damage(tmp_path / "registry/blobs" / digest.replace(":", "/"))
    broken = snapshot(tmp_path / "registry")
    assert client.push(tree, address, dry_run=True).id == first.id
    assert snapshot(tmp_path / "registry") == broken
    again = client.push(tree, address)
    assert again.id == first.id
    assert again.sent
    assert snapshot(tmp_path / "registry") == before


def test_a_damaged_manifest_keeps_its_tag_unless_forced(client: Client, tree: Path, tmp_path: Path) -> None:
    address = f"oci-layout://{tmp_path}/registry?tag=1.0.0"
    first = client.push(tree, address)
    _overwritten(tmp_path / "registry/blobs" / first.id.replace(":", "/"))
    write_tree(tree, {"main.tf": "# changed\n"})
    before = snapshot(tmp_path / "registry")
    refusal(DigestMismatchError, "digest-mismatch", client.push, tree, address)
    assert snapshot(tmp_path / "registry") == before
    assert client.push(tree, address, force=True).id == client.resolve(address).id != first.id


# ---------------------------------------------------------------------------------------- annotations


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_source_and_revision_of_a_clean_work_tree(client: Client, tmp_path: Path) -> None:
    root = repository(tmp_path / "r", FILES)
    git(root, "remote", "add", "origin", "git@github.com:acme/vpc.git")
    address = f"oci-layout://{tmp_path}/registry?tag=1.0.0"
    known = client.push(root, address, dry_run=True).annotations
    assert known == {
        f"{IMAGE}revision": git(root, "rev-parse", "HEAD").decode().strip(),
        f"{IMAGE}source": "https://github.com/acme/vpc",
        f"{IMAGE}version": "1.0.0",
    }
    told = client.push(root, address, dry_run=True, annotations={f"{IMAGE}source": "x"}).annotations
    assert told[f"{IMAGE}source"] == "x"
    write_tree(root, {"main.tf": "# changed\n"})
    assert set(client.push(root, address, dry_run=True).annotations) == {f"{IMAGE}version"}


@pytest.mark.parametrize(
    ("files", "licenses"),
    [
        pytest.param({"LICENSE": "SPDX-License-Identifier: Apache-2.0\n"}, "Apache-2.0", id="a-line"),
        pytest.param(
            {"LICENCE.md": "<!-- SPDX-License-Identifier: MIT OR MPL-2.0 -->\n"}, "MIT OR MPL-2.0", id="comment"
        ),
        pytest.param({"copying": "x\n  SPDX-License-Identifier: MIT"}, "MIT", id="last-line"),
        pytest.param({"LICENSE": "Apache License Version 2.0"}, None, id="a-text-is-not-judged"),
        pytest.param({"main.tf": "# SPDX-License-Identifier: MIT\n"}, None, id="another-file"),
        pytest.param({"sub/LICENSE": "SPDX-License-Identifier: MIT\n"}, None, id="of-a-part"),
        pytest.param(
            {"LICENSE": "SPDX-License-Identifier: MIT\n", "COPYING": "SPDX-License-Identifier: ISC\n"}, None, id="two"
        ),
    ],
)
def test_licenses_where_a_file_says_them(
    client: Client, tmp_path: Path, files: dict[str, str], licenses: str | None
) -> None:
    write_tree(tmp_path / "d", files)
    pushed = client.push(tmp_path / "d", f"oci-layout://{tmp_path}/registry?tag=1", dry_run=True)
    assert pushed.annotations.get(f"{IMAGE}licenses") == licenses


# --------------------------------------------------------------------------------------- the registry


def test_the_requests_of_a_push(client: Client, tree: Path) -> None:
    with Registry() as registry:
        client.push(tree, f"oci://{registry.host}/acme/vpc?tag=1.0.0")
        assert [each.method for each in registry.requests] == [
            "GET",
            "HEAD",
            "POST",
            "PUT",
            "HEAD",
            "POST",
            "PUT",
            "PUT",
        ]


@pytest.mark.parametrize("ways", [{}, {"force": True}, {"dry_run": True}])
def test_a_web_page_is_no_registry(tree: Path, ways: dict[str, bool]) -> None:
    with serving(replying("200 OK", b"<html>sign in</html>", Content_Type="text/html")) as server:
        client = Client(environ=ENVIRON, network=NetSettings(retries=0, plain_http=frozenset({"127.0.0.1"})))
        address = f"oci://127.0.0.1:{server.port}/acme/vpc?tag=1.0.0"
        error = refusal(UnsupportedContentError, "unsupported-content", client.push, tree, address, **ways)
    assert "there is text/html where a manifest should be" in error.message


def test_a_tag_with_a_manifest_of_old_is_taken(tree: Path) -> None:
    body, kind = b'{"schemaVersion": 1, "tag": "1.0.0"}', "application/vnd.docker.distribution.manifest.v1+prettyjws"
    with serving(replying("200 OK", body, Content_Type=kind)) as server:
        client = Client(environ=ENVIRON, network=NetSettings(retries=0, plain_http=frozenset({"127.0.0.1"})))
        address = f"oci://127.0.0.1:{server.port}/acme/vpc?tag=1.0.0"
        refusal(DestinationExistsError, "destination-exists", client.push, tree, address)


def test_one_token_for_all_of_it(tree: Path) -> None:
    with Registry(access=Access(scheme="bearer", users={"ann": User("s3cret")})) as registry:
        name = registry.host.replace(".", "_").replace(":", "_")
        environ = {**ENVIRON, f"GETMODULES_USERNAME_{name}": "ann", f"GETMODULES_TOKEN_{name}": "s3cret"}
        Client(environ=environ).push(tree, f"oci://{registry.host}/acme/vpc?tag=1.0.0")
        assert sum(each.path.startswith("/token") for each in registry.requests) == 1


def test_nothing_is_tagged_when_a_blob_could_not_be_sent(client: Client, tree: Path) -> None:
    with Registry() as registry:
        with registry.fault("403", on="upload"), pytest.raises(GetModulesError):
            client.push(tree, f"oci://{registry.host}/acme/vpc?tag=1.0.0")
        assert not registry.repository("acme/vpc").tags


class Stops(Progress):
    def advance(self, package: str, amount: int) -> None:
        raise RuntimeError("the program had enough")


def test_a_push_that_is_stopped_leaves_no_trace(client: Client, target: Target, tree: Path) -> None:
    client.push(tree, target.address("?tag=1.0.0"))
    before = target.state()
    write_tree(tree, {"main.tf": "# changed\n"})
    with pytest.raises(RuntimeError):
        client.push(tree, target.address("?tag=2.0.0"), progress=Stops())
    assert target.state() == before


def test_a_tampered_blob_of_a_layout_is_refused(client: Client, tree: Path, tmp_path: Path) -> None:
    pushed = client.push(tree, f"oci-layout://{tmp_path}/registry?tag=1.0.0")
    blob = tmp_path / "registry/blobs" / pushed.digests["layer"].replace(":", "/")
    data = bytearray(blob.read_bytes())
    data[data.index(b"# main")] ^= 1
    blob.write_bytes(data)
    for address in (pushed.pinned, f"oci-layout://{tmp_path}/registry?tag=1.0.0"):
        with pytest.raises(GetModulesError) as caught:
            client.get(address, tmp_path / "dest")
        assert (caught.value.code, caught.value.exit_code) == ("digest-mismatch", 3)
        assert not (tmp_path / "dest").exists()
    assert hashlib.sha256(data).hexdigest() not in pushed.digests["layer"]
