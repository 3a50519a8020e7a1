"""Repositories as image layouts: what another start, and another tool, finds in the directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from getmodules import ConfigError
from getmodules.testing import Registry, artifact, index_package, module_package
from getmodules.testing.registry.layout_store import LayoutStore
from tests.support.refusals import refusal
from tests.support.registryclient import ask


def test_what_was_pushed_is_there_at_the_next_start(tmp_path: Path) -> None:
    module = module_package({"main.tf": "x"})
    with Registry(layout=tmp_path) as registry:
        registry.push("acme/vpc", module, "1.0", "latest")
        registry.push("acme/vpc", artifact("a/b", [], subject=module))
        registry.push("acme", index_package([module]), "all")
    with Registry(layout=tmp_path) as registry:
        assert ask(registry, "GET", "/v2/acme/vpc/tags/list").json()["tags"] == ["1.0", "latest"]
        reply = ask(registry, "GET", "/v2/acme/vpc/manifests/1.0")
        assert (reply.body, reply.header("Content-Type")) == (module.manifest, module.media_type)
        assert len(ask(registry, "GET", f"/v2/acme/vpc/referrers/{module.digest}").json()["manifests"]) == 1
        assert ask(registry, "GET", f"/v2/acme/manifests/{module.digest}").status == 200


def test_a_repository_is_a_layout_of_its_own(tmp_path: Path) -> None:
    module = module_package({"main.tf": "x"})
    with Registry(layout=tmp_path) as registry:
        registry.push("acme/blobs", module, "1.0")
        registry.push("acme", module)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["acme", "acme+blobs"]
    layout = tmp_path / "acme+blobs"
    assert json.loads((layout / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    (listed,) = json.loads((layout / "index.json").read_text())["manifests"]
    assert listed["digest"] == str(module.digest)
    assert listed["annotations"] == {"org.opencontainers.image.ref.name": "1.0"}
    assert sorted(path.name for path in layout.iterdir()) == ["blobs", "index.json", "oci-layout"]


def test_what_is_deleted_is_gone_from_the_disk(tmp_path: Path) -> None:
    module = module_package({"main.tf": "x"})
    with Registry(layout=tmp_path) as registry:
        registry.push("a", module, "1.0")
        assert ask(registry, "DELETE", f"/v2/a/manifests/{module.digest}").status == 202
    assert json.loads((tmp_path / "a/index.json").read_text())["manifests"] == []
    assert not (tmp_path / "a/blobs/sha256" / module.digest.hex).exists()


def test_manifests_below_an_index_are_found_although_they_are_not_listed(tmp_path: Path) -> None:
    children = [module_package({"a": "1"}), module_package({"b": "2"})]
    with Registry(layout=tmp_path) as registry:
        top = registry.push("a", index_package(children), "all")
    index = tmp_path / "a/index.json"
    listed = json.loads(index.read_text())
    listed["manifests"] = [entry for entry in listed["manifests"] if entry["digest"] == str(top)]
    index.write_text(json.dumps(listed))
    store = LayoutStore(tmp_path)
    (repository,) = store.repositories()
    assert set(repository.manifests) == {top, *(child.digest for child in children)}


def test_a_listed_manifest_whose_bytes_are_gone_is_unknown(tmp_path: Path) -> None:
    module = module_package({"main.tf": "x"})
    with Registry(layout=tmp_path) as registry:
        registry.push("a", module, "1.0")
    (tmp_path / "a/blobs/sha256" / module.digest.hex).unlink()
    with Registry(layout=tmp_path) as registry:
        assert ask(registry, "GET", "/v2/a/manifests/1.0").code == "MANIFEST_UNKNOWN"


@pytest.mark.parametrize("index", ["", "[]", "{}", '{"manifests":[{}]}', '{"manifests":[{"digest":"sha256:../x"}]}'])
def test_a_directory_that_is_no_layout_is_refused(tmp_path: Path, index: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (tmp_path / "a/index.json").write_text(index)
    assert str(tmp_path / "a") in refusal(ConfigError, "config", LayoutStore, tmp_path).message


def test_a_layout_whose_name_is_no_repositorys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Acme").mkdir()
    (tmp_path / "Acme/oci-layout").write_text("{}")
    refusal(ConfigError, "config", LayoutStore, tmp_path)


def test_what_is_no_layout_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "sources").mkdir()
    assert LayoutStore(tmp_path).repositories() == []
