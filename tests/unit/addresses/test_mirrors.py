"""Asking somewhere else for what keeps its address."""

from __future__ import annotations

import pytest

from getmodules import Client, ConfigError, PackageAddress
from getmodules.addresses.mirrors import Mirrors
from getmodules.net.settings import NetSettings
from tests.support.fakes import FakeGetter, FakePlugin, a_pin, blob, zip_of
from tests.support.refusals import refusal, words_of

TABLE = Mirrors.of(
    {
        "oci://ghcr.io": "oci://mirror.example/ghcr",
        "oci://ghcr.io/acme/": "oci://acme.example:5000",
        "http://old.example": "https://new.example",
    }
)


def _package(url: str) -> PackageAddress:
    return PackageAddress(getter="oci", url=url)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        pytest.param("oci://ghcr.io/x/y", "oci://mirror.example/ghcr/x/y", id="a host"),
        pytest.param("oci://ghcr.io/acme/y", "oci://acme.example:5000/y", id="the longest"),
        pytest.param("oci://ghcr.io/acmes/y", "oci://mirror.example/ghcr/acmes/y", id="whole components only"),
        pytest.param("oci://ghcr.io.evil.example/x", "oci://ghcr.io.evil.example/x", id="a whole host only"),
        pytest.param("oci://ghcr.io:5000/x", "oci://ghcr.io:5000/x", id="another port"),
        pytest.param("https://ghcr.io/x", "https://ghcr.io/x", id="another scheme"),
        pytest.param("http://old.example", "https://new.example", id="the host alone"),
    ],
)
def test_what_is_asked(url: str, asked: str) -> None:
    package = _package(url)
    assert TABLE.mirrored(package).url == asked
    assert TABLE.original(package, _package("oci://whatever/it/answers")).url == (
        url if asked != url else "oci://whatever/it/answers"
    )


@pytest.mark.parametrize(
    ("there", "here"),
    [
        pytest.param("oci://a", "https://a", id="another scheme"),
        pytest.param("https://a", "http://b", id="without TLS"),
        pytest.param("ghcr.io", "oci://a", id="no URL"),
        pytest.param("oci://a", "b", id="no URL either"),
        pytest.param("oci://a", "oci://user:hunter22@b", id="a password"),
        pytest.param("file:///a", "file:///b", id="no host"),
    ],
)
def test_what_is_no_mirror(there: str, here: str) -> None:
    assert "hunter22" not in words_of(refusal(ConfigError, "config", Mirrors.of, {there: here}))


def test_from_the_environment() -> None:
    found = Mirrors.from_environment({"GETMODULES_MIRRORS": " oci://a=oci://b  https://c=https://d "})
    assert found.table == {"oci://a": "oci://b", "https://c": "https://d"}
    assert Mirrors.from_environment({}) == Mirrors()
    assert NetSettings.from_environment({"GETMODULES_MIRRORS": "oci://a=oci://b"}).mirrors.table == {
        "oci://a": "oci://b"
    }
    error = refusal(ConfigError, "config", Mirrors.from_environment, {"GETMODULES_MIRRORS": "oci://a"})
    assert "GETMODULES_MIRRORS 'oci://a' is not URL=URL" in error.message


def test_words_beat_what_is_there() -> None:
    assert Mirrors({"oci://a": "oci://b"}).with_pairs(["oci://a=oci://c"], "--mirror").table == {"oci://a": "oci://c"}


def test_only_the_getter_sees_the_mirror(tmp_path: object) -> None:
    from pathlib import Path

    assert isinstance(tmp_path, Path)
    getter = FakeGetter(answer=lambda *_: blob(zip_of()), pin=lambda package, _: a_pin("id-1"))
    settings = NetSettings(mirrors=Mirrors({"fake://h": "fake://mirror/h"}))
    getter.pin = lambda package, _: type(a_pin())(package=package, id="id-1")
    client = Client(
        plugins=(FakePlugin(getter),), environ={"GETMODULES_PLUGINS": ""}, network=settings, use_cache=False
    )
    installed = client.get("fake://h/x", tmp_path / "dest")
    assert installed.pinned == "fake://h/x"
    assert [asked[:2] for asked in getter.asked] == [("resolve", "fake://mirror/h/x"), ("fetch", "fake://mirror/h/x")]
