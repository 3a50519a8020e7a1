"""Hints at the address that was meant: one address, and one that is accepted."""

from __future__ import annotations

import pytest

from getmodules import AddressError, Client, UnknownSchemeError
from getmodules.addresses.grammar import parse
from getmodules.pipeline.meant import meant_address, store_scheme
from tests.support.fakes import FakeGetter
from tests.support.refusals import refusal

SHA = "sha256:" + "0a" * 32


def _client(**more: object) -> Client:
    return Client(environ={"GETMODULES_PLUGINS": ""}, **more)  # type: ignore[arg-type]


def _refused(source: str) -> AddressError:
    with pytest.raises(AddressError) as caught:
        _client().detect(source, base="/base")
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize(
    ("source", "address"),
    [
        pytest.param("ghcr.io/acme/p:1.0", "oci://ghcr.io/acme/p?tag=1.0", id="a tag"),
        pytest.param("ghcr.io/acme/p", "oci://ghcr.io/acme/p", id="a registry that is known"),
        pytest.param("1.dkr.ecr.eu-west-1.amazonaws.com/p", "oci://1.dkr.ecr.eu-west-1.amazonaws.com/p", id="ECR"),
        pytest.param("host.example/p:1//net", "oci://host.example/p//net?tag=1", id="with a subdirectory"),
        pytest.param("localhost:5443/acme/p:1", "oci://localhost:5443/acme/p?tag=1", id="localhost"),
        pytest.param("localhost:5443/acme/p", "oci://localhost:5443/acme/p", id="localhost without a tag"),
        pytest.param("localhost/acme/p", "oci://localhost/acme/p", id="localhost without a port"),
        pytest.param("box:5000/p:1", "oci://box:5000/p?tag=1", id="a port"),
        pytest.param(f"ghcr.io/acme/p@{SHA}", f"oci://ghcr.io/acme/p?digest={SHA}", id="a digest"),
        pytest.param(f"ghcr.io/acme/p:1@{SHA}", f"oci://ghcr.io/acme/p?digest={SHA}", id="a tag and a digest"),
        pytest.param(f"acme/p@{SHA}", f"oci://docker.io/acme/p?digest={SHA}", id="a digest without a host"),
        pytest.param(f"alpine@{SHA}", f"oci://docker.io/library/alpine?digest={SHA}", id="an official image"),
        pytest.param("acme/p:1", "oci://docker.io/acme/p?tag=1", id="a tag without a host"),
        pytest.param("docker://ghcr.io/acme/p:1", "oci://ghcr.io/acme/p?tag=1", id="docker"),
        pytest.param("docker://acme/p", "oci://docker.io/acme/p", id="docker without a host"),
        pytest.param("Docker://alpine:3//x", "oci://docker.io/library/alpine//x?tag=3", id="docker in capitals"),
        pytest.param("oci://h/r:1//net", "oci://h/r//net?tag=1", id="oci"),
        pytest.param(f"oci://h/r:1@{SHA}", f"oci://h/r?digest={SHA}", id="oci with a digest"),
        pytest.param("oci:ghcr.io/a/b:1", "oci://ghcr.io/a/b?tag=1", id="oci without slashes"),
        pytest.param("dev.azure.com/o/p/_git/r", "git::https://dev.azure.com/o/p/_git/r", id="Azure"),
        pytest.param(
            "dev.azure.com/o/p/_git/r//net?ref=v1",
            "git::https://dev.azure.com/o/p/_git/r//net?ref=v1",
            id="a ref",
        ),
        pytest.param("git::dev.azure.com/o/p/_git/r", "git::https://dev.azure.com/o/p/_git/r", id="Azure, forced"),
        pytest.param("o.visualstudio.com/p/_git/r/net", "git::https://o.visualstudio.com/p/_git/r//net", id="old host"),
    ],
)
def test_the_hint_is_the_address_to_type(source: str, address: str) -> None:
    assert _refused(source).hint == f"write {address}"
    assert str(_client().detect(address)) == address


@pytest.mark.parametrize(
    "source",
    ["foo/bar", "a/b/c", "host.example/x", "host.example:8080/x", "nosuch:x", "git::h.example/x:1", "oci://h/R:1",
     "ghcr.io/acme/p:1?tag=2", "ghcr.io/acme/p:1?ref=v1", "ghcr.io/UPPER/p:1", "oci:/h/r", "x@sha256:00", "~/a:1"],
)  # fmt: skip
def test_what_is_not_an_image_or_would_be_no_address_is_no_hint(source: str) -> None:
    assert "oci://" not in (_refused(source).hint or "") or source == "oci:/h/r"


def test_a_hint_shows_no_secret() -> None:
    error = _refused("dev.azure.com/o/p/_git/r?sshkey=s3cr3t")
    assert "s3cr3t" not in f"{error} {error.hint} {error.address}"


STORES = [
    pytest.param("s3.amazonaws.com/bucket/key.zip", "s3", id="the path form"),
    pytest.param("bucket.s3.amazonaws.com/key.zip", "s3", id="the host form"),
    pytest.param("s3-eu-west-1.amazonaws.com/bucket/key", "s3", id="a region"),
    pytest.param("bucket.s3-eu-west-1.amazonaws.com/key", "s3", id="a bucket and a region"),
    pytest.param("bucket.s3.eu-west-1.amazonaws.com/key:1", "s3", id="the newer form"),
    pytest.param("my.bucket.s3.cn-north-1.amazonaws.com.cn/key", "s3", id="China"),
    pytest.param("www.googleapis.com/storage/v1/bucket/key", "gcs", id="Google"),
    pytest.param("storage.googleapis.com/bucket/key", "gcs", id="Google's newer host"),
    pytest.param("bucket.storage.googleapis.com/key", "gcs", id="Google, a bucket"),
    pytest.param("account.blob.core.windows.net/container/key", "az", id="Azure"),
]


@pytest.mark.parametrize(("source", "scheme"), STORES)
def test_the_host_of_a_store_is_for_a_plugin(source: str, scheme: str) -> None:
    assert store_scheme(source) == scheme
    error = _refused(source)
    assert error.code == "address"
    assert (error.hint or "").startswith("that is for the plugin getmodules-objectstore: docs/reference/plugins.rst ")
    assert ";" not in (error.hint or "")


@pytest.mark.parametrize(("source", "scheme"), STORES)
def test_the_host_of_a_store_with_https_is_a_web_address(source: str, scheme: str) -> None:
    assert _client().detect(f"https://{source}").package.getter == "https"


@pytest.mark.parametrize("force", ["s3", "gs", "gcs", "az", "hg"])
def test_a_forced_getter_of_a_plugin(force: str) -> None:
    error = refusal(UnknownSchemeError, "unknown-scheme", _client().detect, f"{force}::https://s3.amazonaws.com/b/k")
    assert (error.hint or "").count("getmodules-") == 1
    assert ";" not in (error.hint or "")


def test_with_the_plugin_there_is_no_hint_at_it() -> None:
    class Plugin:
        __name__ = "stores"

        def getmodules_getters(self) -> list[FakeGetter]:
            return [FakeGetter(schemes=("s3",))]

    from getmodules import hookimpl

    Plugin.getmodules_getters = hookimpl(Plugin.getmodules_getters)  # type: ignore[method-assign]
    client = _client(plugins=[Plugin()])
    assert client.detect("s3://bucket/key").package.getter == "s3"
    error = refusal(AddressError, "address", client.detect, "s3.amazonaws.com/bucket/key")
    assert "getmodules-objectstore" not in (error.hint or "")


@pytest.mark.parametrize("body", ["s3.example/x", "amazonaws.com/x", "s3.amazonaws.com", "xs3.amazonaws.com/x", "h/x"])
def test_other_hosts_are_no_stores(body: str) -> None:
    assert store_scheme(body) is None


def test_an_address_is_what_it_was_meant_to_be() -> None:
    assert meant_address(parse("./x")) is None
    assert meant_address(parse("https://dev.azure.com/o/p/_git/r")) is None
