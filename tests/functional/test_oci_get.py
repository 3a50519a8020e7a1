"""Module packages from a real registry on loopback, right and wrong ones, with and without credentials."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, GetModulesError, Installed, Limits
from getmodules.net.settings import NetSettings
from getmodules.testing import (
    FAULTS,
    Access,
    Package,
    Registry,
    User,
    artifact,
    helm_chart,
    image_package,
    index_package,
    module_package,
    provider_package,
    zip_of,
)
from tests.support.certificates import Authority
from tests.support.fakes import installed_files
from tests.support.snapshots import snapshot

FILES: Mapping[str, str] = {"main.tf": "# main\n" * 1000, "sub/a.tf": "# a\n"}
QUICK = NetSettings(connect_seconds=2, timeout=1.5, rate_window_seconds=1, rate_window_bytes=2000, backoff_seconds=0.01)
USER = {"ada": User("s3cr3t-p4ss")}


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as running:
        running.push_module("acme/vpc", "1.0.0", FILES)
        yield running


def client(environ: Mapping[str, str] | None = None, **settings: Any) -> Client:
    network = NetSettings(
        **{name: getattr(QUICK, name) for name in QUICK.__dataclass_fields__} | settings  # type: ignore[arg-type]
    )
    return Client(network=network, environ=environ or {}, limits=Limits(seconds=60))


def get(registry: Registry, dest: Path, what: str = "acme/vpc?tag=1.0.0", **more: Any) -> Installed:
    return client(**more).get(f"oci://{registry.host}/{what}", dest)


def test_a_pull_by_tag_is_two_requests_and_pinned_by_digest(registry: Registry, tmp_path: Path) -> None:
    first = get(registry, tmp_path / "one")
    assert [(r.method, r.path.split("/")[-2]) for r in registry.requests] == [("GET", "manifests"), ("GET", "blobs")]
    assert (tmp_path / "one" / "main.tf").read_text() == FILES["main.tf"]
    assert first.pinned == f"oci://{registry.host}/acme/vpc?digest={first.id}"
    assert set(first.digests) == {"manifest", "layer"}
    assert first.digests["manifest"] == first.id

    registry.forget_requests()
    again = client().get(str(first.pinned), tmp_path / "two")
    assert len(registry.requests) == 2
    assert (again.h1, again.pinned) == (first.h1, first.pinned)
    assert [(e.check, e.subject) for e in again.evidence] == [("digest", "pin"), ("digest", "archive")]


def test_resolve_is_one_request(registry: Registry) -> None:
    resolved = client().resolve(f"oci://{registry.host}/acme/vpc//sub?tag=1.0.0")
    assert resolved.pinned == f"oci://{registry.host}/acme/vpc//sub?digest={resolved.id}"
    assert len(registry.requests) == 1


def test_latest_is_what_no_tag_means(registry: Registry, tmp_path: Path) -> None:
    digest = registry.push_module("acme/vpc", "latest", {"latest.tf": ""})
    assert get(registry, tmp_path / "dest", "acme/vpc").id == str(digest)


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_pinning_by_any_strong_digest(registry: Registry, tmp_path: Path, algorithm: str) -> None:
    import hashlib

    package = module_package(FILES)
    registry.push("acme/vpc", package)
    digest = f"{algorithm}:{hashlib.new(algorithm, package.manifest).hexdigest()}"
    if algorithm == "sha256":
        assert get(registry, tmp_path / "dest", f"acme/vpc?digest={digest}").id == digest
    # A registry that answers with something else, whatever it claims.
    other = f"{algorithm}:{hashlib.new(algorithm, b'other').hexdigest()}"
    registry.fault("wrong-manifest")
    with pytest.raises(GetModulesError) as caught:
        get(registry, tmp_path / "other", f"acme/vpc?digest={digest}")
    assert caught.value.code in ("digest-mismatch", "not-found")
    registry.behave()
    with pytest.raises(GetModulesError) as caught:
        get(registry, tmp_path / "other", f"acme/vpc?digest={other}")
    assert caught.value.code == "not-found"
    assert not (tmp_path / "other").exists()


def test_a_digest_that_the_registry_answers_with_something_else(registry: Registry, tmp_path: Path) -> None:
    pinned = client().resolve(f"oci://{registry.host}/acme/vpc?tag=1.0.0").pinned
    registry.fault("wrong-manifest")
    with pytest.raises(GetModulesError) as caught:
        client().get(pinned, tmp_path / "dest")
    assert (caught.value.code, caught.value.exit_code) == ("digest-mismatch", 3)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------ what is no module


BELOW: Mapping[str, str] = {"main.tf": "# below\n", "gone.tf": "", "d/old.tf": "", "e/f": "", "file/becomes": ""}
ABOVE: Mapping[str, str] = {
    "main.tf": "# above\n",
    ".wh.gone.tf": "",
    "d/.wh..wh..opq": "",
    "d/new.tf": "",
    ".wh.e": "",
    "file": "",
}


@pytest.mark.parametrize("label", ["module", "modules"])
def test_an_image_that_is_labelled_as_a_module(registry: Registry, tmp_path: Path, label: str) -> None:
    registry.push("acme/image", image_package([BELOW, ABOVE], package_type=label), "1")
    installed = get(registry, tmp_path / "dest", "acme/image?tag=1")
    found = set(installed_files(tmp_path / "dest"))
    assert found == {"main.tf", "d/new.tf", "file"}
    assert (tmp_path / "dest" / "main.tf").read_text() == "# above\n"
    assert installed.digests == {"manifest": installed.id}


def as_buildx_pushes(image: Package) -> Package:
    """An index of the image and of what buildx says about how it was built."""
    provenance = artifact(
        None,
        [("application/vnd.in-toto+json", b'{"_type": "https://in-toto.io/Statement/v0.1"}')],
        config=("application/vnd.oci.image.config.v1+json", b'{"architecture": "unknown", "os": "unknown"}'),
    )
    about = {"vnd.docker.reference.digest": str(image.digest), "vnd.docker.reference.type": "attestation-manifest"}
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [
            image.descriptor(platform={"architecture": "amd64", "os": "linux"}),
            provenance.descriptor(annotations=about, platform={"architecture": "unknown", "os": "unknown"}),
        ],
    }
    return Package(json.dumps(index).encode(), str(index["mediaType"]), (), (image, provenance))


@pytest.mark.parametrize(
    "inside", [pytest.param(image_package([FILES]), id="an-image"), pytest.param(module_package(FILES), id="a-module")]
)
def test_the_index_that_buildx_pushes_is_installed_and_pinned(
    registry: Registry, tmp_path: Path, inside: Package
) -> None:
    index = as_buildx_pushes(inside)
    registry.push("acme/vpc", index, "2")
    client = Client(environ={}, network=QUICK, cache_dir=tmp_path / "cache")
    installed = client.get(f"oci://{registry.host}/acme/vpc?tag=2", tmp_path / "dest")
    assert set(installed_files(tmp_path / "dest")) == set(FILES)
    assert installed.id == str(index.digest)
    assert installed.pinned == f"oci://{registry.host}/acme/vpc?digest={index.digest}"
    assert client.resolve(f"oci://{registry.host}/acme/vpc?tag=2").id == installed.id

    registry.forget_requests()
    offline = Client(environ={}, cache_dir=tmp_path / "cache", offline=True)
    assert offline.get(installed.pinned, tmp_path / "again").h1 == installed.h1
    assert not registry.requests

    (tmp_path / "project").mkdir()
    (tmp_path / "project/getmodules.toml").write_text(
        f'[modules.vpc]\nsource = "oci://{registry.host}/acme/vpc?tag=2"\n'
    )
    client.lock(tmp_path / "project/getmodules.toml")
    assert f'id = "{index.digest}"' in (tmp_path / "project/getmodules.lock").read_text()


def test_an_index_whose_manifest_is_another_is_refused(registry: Registry, tmp_path: Path) -> None:
    index = as_buildx_pushes(image_package([FILES]))
    registry.push("acme/vpc", index, "2")
    pinned = f"oci://{registry.host}/acme/vpc?digest={index.digest}"
    client = Client(environ={}, network=QUICK, cache_dir=tmp_path / "cache")
    client.resolve(pinned)  # of the index: the next manifest that is asked for is the one in it
    registry.fault("wrong-manifest")
    with pytest.raises(GetModulesError) as caught:
        client.get(pinned, tmp_path / "dest")
    assert (caught.value.code, caught.value.exit_code) == ("digest-mismatch", 3)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.parametrize(
    ("package", "code", "said"),
    [
        pytest.param(
            provider_package({"terraform-provider-x": "x"}), "unsupported-content", "provider", id="a provider"
        ),
        pytest.param(
            index_package([module_package(FILES), module_package({"other.tf": ""})]),
            "unsupported-content",
            "index of 2 manifests",
            id="an index of two",
        ),
        pytest.param(
            index_package([index_package([module_package(FILES)])]), "unsupported-content", "index", id="nested indexes"
        ),
        pytest.param(helm_chart({"Chart.yaml": ""}), "unsupported-content", "Helm", id="a Helm chart"),
        pytest.param(image_package([FILES], package_type=None), "unsupported-content", "not intended", id="an image"),
        pytest.param(
            image_package([FILES], package_type="provider"), "unsupported-content", "provider", id="another label"
        ),
        pytest.param(
            artifact(None, [("archive/zip", zip_of(FILES))]), "unsupported-content", "artifactType", id="no type"
        ),
        pytest.param(
            artifact("application/vnd.opentofu.modulepkg", [("application/zip", zip_of(FILES))]),
            "unsupported-content",
            "application/zip",
            id="a zip of another media type",
        ),
        pytest.param(
            artifact("application/vnd.opentofu.modulepkg", [("archive/zip", zip_of(FILES))] * 2),
            "unsupported-content",
            "exactly one",
            id="two zips",
        ),
        pytest.param(
            artifact("application/x-sbom", [("x/y", b"z")]), "unsupported-content", "x-sbom", id="something else"
        ),
    ],
)
def test_what_is_no_module_package_says_what_it_is(
    registry: Registry, tmp_path: Path, package: Package, code: str, said: str
) -> None:
    registry.push("acme/other", package, "1.0.0")
    with pytest.raises(GetModulesError) as caught:
        get(registry, tmp_path / "dest", "acme/other?tag=1.0.0")
    assert caught.value.code == code
    assert said in caught.value.message
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------ faults

REFUSED = {
    "wrong-blob": "digest-mismatch",
    "short-blob": "digest-mismatch",
    "long-blob": "digest-mismatch",
    "empty-blob": "digest-mismatch",
    "other-blob": "digest-mismatch",
    "missing-blob": "not-found",
    "missing-manifest": "not-found",
    "size-too-small": "digest-mismatch",
    "size-too-large": "limit-exceeded/download-bytes",
    "size-negative": "corrupt-archive",
    "size-not-a-number": "corrupt-archive",
    "digest-is-path": "corrupt-archive",
    "digest-is-absolute-path": "corrupt-archive",
    "digest-too-short": "corrupt-archive",
    "digest-unknown-algorithm": "corrupt-archive",
    "layers-and-manifests": "corrupt-archive",
    "contradicting-media-type": "corrupt-archive",
    "duplicate-keys": "corrupt-archive",
    "deep-nesting": "corrupt-archive",
    "huge-manifest": "limit-exceeded/metadata",
    "endless-manifest": "limit-exceeded/metadata",
    "manifest-with-nan": "corrupt-archive",
    "manifest-not-json": "corrupt-archive",
    "manifest-is-list": "corrupt-archive",
    "redirect-private": "unsafe-content/elsewhere",
    "redirect-file": "unsafe-content/elsewhere",
    "redirect-userinfo": "unsafe-content/elsewhere",
    "redirect-loop": "fetch/too-many-hops",
    "redirect-endless": "fetch/too-many-hops",
    "redirect-without-location": "network",
    "429": "rate-limited",
    "429-day": "rate-limited",
    "429-garbage": "rate-limited",
    "401-basic-loop": "authentication",
    "403": "authentication/forbidden",
    "500": "network",
    "503": "network",
    "204": "network",
    "304": "network",
    "login-page": "unsupported-content",
    "huge-error-body": "network",
    "error-with-escapes": "not-found",
    "error-not-json": "not-found",
    "truncated": "network",
    "two-lengths": "network",
    "negative-length": "network",
    "length-and-chunks": "network",
    "bad-chunk": "network",
    "unfinished-chunks": "network",
    "content-encoding": "network",
    "content-encoding-unknown": "network",
    "unasked-206": "network",
    "reset-before-headers": "network",
    "close-before-headers": "network",
    "reset-in-headers": "network",
    "reset-in-body": "network",
    "silent": "network/timeout",
    "silent-in-body": "network/timeout",
    "slow-body": "network/timeout",
    "header-flood": "network",
    "long-header": "network",
    "not-http": "network",
}
HARMLESS = (
    "lying-digest-header",
    "digest-header-is-path",
    "title-is-path",
    "moving-tag",
    "redirect",
    "warning",
    "longer-than-announced",
)


#: What only the end of some patience ends.
SILENT = {fault for fault, code in REFUSED.items() if code == "network/timeout"}


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=[pytest.mark.slow] if fault in SILENT else []) for fault in REFUSED]
)
def test_a_registry_that_misbehaves(registry: Registry, tmp_path: Path, fault: str) -> None:
    assert fault in FAULTS
    registry.fault(fault)
    began = time.monotonic()
    with pytest.raises(GetModulesError) as caught:
        get(registry, tmp_path / "dest")
    assert caught.value.code == REFUSED[fault]
    assert "\x1b" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    assert time.monotonic() - began < 30
    assert len(registry.requests) <= 13


@pytest.mark.parametrize("fault", HARMLESS)
def test_misbehaviour_that_changes_nothing(registry: Registry, tmp_path: Path, fault: str) -> None:
    registry.fault(fault)
    assert (get(registry, tmp_path / "dest").path / "main.tf").read_text() == FILES["main.tf"]


@pytest.mark.parametrize("fault", ["503", "429", "500", "reset-before-headers", "reset-in-body", "truncated"])
def test_what_passes_is_waited_for(registry: Registry, tmp_path: Path, fault: str) -> None:
    registry.fault(fault, times=2)
    assert get(registry, tmp_path / "dest").files == 2


def test_a_blob_that_is_cut_is_resumed(registry: Registry, tmp_path: Path) -> None:
    import random

    noise = base64.b64encode(random.Random(1).randbytes(300_000)).decode()
    registry.push_module("acme/big", "1.0.0", {"noise": noise})
    registry.fault("reset-in-body", times=2, on="blob")
    assert get(registry, tmp_path / "dest", "acme/big?tag=1.0.0").files == 1
    ranges = [r.header("Range") for r in registry.requests if "/blobs/" in r.path]
    assert ranges[0] is None
    assert all(each is not None and each.startswith("bytes=") for each in ranges[1:])
    assert len(ranges) == 3


# ------------------------------------------------------------------------------------------ credentials


def with_access(access: Access) -> Registry:
    registry = Registry(access=access)
    registry.push_module("acme/vpc", "1.0.0", FILES)
    registry.push_module("acme/other", "1.0.0", FILES)
    return registry


def docker_config(home: Path, host: str, **entry: str) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    (home / "config.json").write_text(json.dumps({"auths": {host: entry}}))
    return {"DOCKER_CONFIG": str(home)}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_public_repository_behind_tokens_is_four_requests_then_three(tmp_path: Path) -> None:
    with with_access(Access(scheme="bearer", public=("*",))) as registry:
        one = client()
        for number, (repository, requests) in enumerate([("vpc", 4), ("other", 3), ("vpc", 2)]):
            registry.forget_requests()
            one.get(f"oci://{registry.host}/acme/{repository}?tag=1.0.0", tmp_path / str(number))
            assert len(registry.requests) == requests


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_credentials_from_the_standard_file_and_the_environment(tmp_path: Path, scheme: Any) -> None:
    with with_access(Access(scheme=scheme, users=USER)) as registry:
        suffix = registry.host.replace(".", "_").replace(":", "_")
        for number, environ in enumerate(
            [
                docker_config(tmp_path / "config", registry.host, auth=encoded("ada:s3cr3t-p4ss")),
                {f"GETMODULES_TOKEN_{suffix}": "s3cr3t-p4ss", f"GETMODULES_USERNAME_{suffix}": "ada"},
            ]
        ):
            assert get(registry, tmp_path / str(number), environ=environ).files == 2
        assert all("s3cr3t" not in r.target for r in registry.requests)


def test_an_identity_token_is_exchanged(tmp_path: Path) -> None:
    with with_access(Access(scheme="bearer", users=USER)) as registry:
        environ = docker_config(tmp_path / "c", registry.host, identitytoken=registry.identity_token("ada"))
        assert get(registry, tmp_path / "dest", environ=environ).files == 2
        posts = [r for r in registry.requests if r.method == "POST"]
        assert [r.path for r in posts] == ["/token"]


def test_a_token_that_ends_is_renewed(tmp_path: Path) -> None:
    with with_access(Access(scheme="bearer", public=("*",))) as registry:
        one = client()
        one.get(f"oci://{registry.host}/acme/vpc?tag=1.0.0", tmp_path / "one")
        registry.expire_tokens()
        one.get(f"oci://{registry.host}/acme/vpc?tag=1.0.0", tmp_path / "two")
        assert sum(request.path == "/token" for request in registry.requests) == 2


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
@pytest.mark.parametrize(
    ("password", "said"), [(None, "none were found"), ("wrong-passw0rd", "refused")], ids=["none", "wrong ones"]
)
def test_without_the_right_credentials(tmp_path: Path, scheme: Any, password: str | None, said: str) -> None:
    with with_access(Access(scheme=scheme, users=USER)) as registry:
        environ = docker_config(tmp_path / "c", registry.host, auth=encoded(f"ada:{password}")) if password else {}
        with pytest.raises(GetModulesError) as caught:
            get(registry, tmp_path / "dest", environ=environ)
    assert (caught.value.code, caught.value.exit_code) == ("authentication", 4)
    assert said in str(caught.value.hint)
    assert "passw0rd" not in str(caught.value.as_json())
    assert not (tmp_path / "dest").exists()


TOKEN_FAULTS = {
    "token-html": "authentication",
    "token-500": "network",
    "token-401": "authentication",
    "token-empty": "authentication",
    "token-not-a-string": "authentication",
    "token-with-newline": "authentication",
    "token-huge": "limit-exceeded/metadata",
    "token-useless": "authentication",
    "realm-userinfo": "authentication",
    "realm-file": "authentication",
    "realm-garbage": "authentication",
    "realm-missing": "authentication",
    "realm-private": "authentication",
    "realm-link-local": "authentication",
    "challenge-missing": "authentication",
    "challenge-unknown": "authentication",
    "401-loop": "authentication",
}


@pytest.mark.parametrize("fault", TOKEN_FAULTS)
def test_a_token_service_that_misbehaves(tmp_path: Path, fault: str) -> None:
    with with_access(Access(scheme="bearer", public=("*",))) as registry:
        registry.fault(fault)
        with pytest.raises(GetModulesError) as caught:
            get(registry, tmp_path / "dest")
        assert caught.value.code == TOKEN_FAULTS[fault]
        assert len(registry.requests) <= 5
    assert list(tmp_path.iterdir()) == []


def test_a_redirected_blob_never_sees_the_registrys_credentials(tmp_path: Path) -> None:
    """127.0.0.2 is another host: what stores blobs for a registry."""
    with Registry(host="127.0.0.2") as storage, with_access(Access(scheme="basic", users=USER)) as registry:
        storage.push_module("acme/vpc", "1.0.0", FILES)
        registry.fault("redirect-elsewhere", to=storage.url)
        environ = docker_config(tmp_path / "c", registry.host, auth=encoded("ada:s3cr3t-p4ss"))
        get(registry, tmp_path / "dest", environ=environ)
        assert storage.requests
        assert all(r.header("Authorization") is None for r in storage.requests)


def test_many_threads_share_one_client_and_one_token(tmp_path: Path) -> None:
    with with_access(Access(scheme="bearer", public=("*",))) as registry:
        one = client()
        with ThreadPoolExecutor(8) as pool:
            address = f"oci://{registry.host}/acme/vpc?tag=1.0.0"
            results = list(pool.map(lambda n: one.get(address, tmp_path / str(n)), range(16)))
        assert len({result.h1 for result in results}) == 1
        assert sum(r.path == "/token" for r in registry.requests) == 1


# ------------------------------------------------------------------------------------------ TLS


def test_tls_with_an_authority_of_ones_own(tmp_path: Path, authority: Authority) -> None:
    with Registry(tls=authority.server_context()) as registry:
        registry.push_module("acme/vpc", "1.0.0", FILES)
        assert get(registry, tmp_path / "one", ca_file=str(authority.ca)).files == 2
        host = registry.host
        assert get(registry, tmp_path / "two", ca_files={host: str(authority.ca)}).files == 2
        with pytest.raises(GetModulesError) as caught:
            get(registry, tmp_path / "three")
        assert caught.value.code == "network/certificate"
        assert all(r.method == "GET" for r in registry.requests), "never plain http after a certificate error"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_client_certificate_is_for_its_host(tmp_path: Path, authority: Authority) -> None:
    with Registry(tls=authority.server_context(wants_client_certificate=True)) as registry:
        registry.push_module("acme/vpc", "1.0.0", FILES)
        ca = str(authority.ca)
        pem = {registry.host: str(authority.client)}
        assert get(registry, tmp_path / "one", ca_file=ca, client_certificates=pem).files == 2
        with pytest.raises(GetModulesError) as caught:
            get(registry, tmp_path / "two", ca_file=ca)
        assert caught.value.code in ("network", "network/certificate")


def test_nothing_is_left_where_a_want_fails(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "dest").mkdir()
    before = snapshot(tmp_path)
    with pytest.raises(GetModulesError) as caught:
        get(registry, tmp_path / "dest", "acme/vpc//nowhere?tag=1.0.0")
    assert caught.value.code == "subdirectory-not-found"
    assert snapshot(tmp_path) == before
