"""``checksum=`` where it names a file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, Elsewhere, GetModulesError, NotFoundError, Pin
from tests.support.fakes import (
    OTHER_SHA256,
    ZIP,
    ZIP_SHA256,
    FakeGetter,
    Recorder,
    blob,
    client_with,
    members_of,
    routes,
)


def checksum_client(text: bytes, **more: Any) -> Client:
    table = {"fake://h/p.zip": blob(ZIP, name="p.zip"), "fake://h/SUMS": blob(text, name="SUMS", **more)}
    return client_with(FakeGetter(answer=routes(table)))


def test_a_checksum_file_is_looked_up_by_name(tmp_path: Path) -> None:
    text = f"{OTHER_SHA256}  other.zip\n{ZIP_SHA256} *p.zip\n".encode()
    source = "fake://h/p.zip?checksum=file:fake://h/SUMS"
    installed = checksum_client(text).get(source, tmp_path / "dest")
    assert installed.pinned == f"fake://h/p.zip?checksum=sha256:{ZIP_SHA256}"
    assert checksum_client(text).resolve(source).id == f"sha256:{ZIP_SHA256}"


def test_a_checksum_file_may_be_one_bare_digest(tmp_path: Path) -> None:
    client = checksum_client(f"{ZIP_SHA256}\n".encode())
    installed = client.get("fake://h/p.zip?checksum=file:fake://h/SUMS", tmp_path / "dest")
    assert installed.pinned == f"fake://h/p.zip?checksum=sha256:{ZIP_SHA256}"


@pytest.mark.parametrize(
    ("text", "more", "code"),
    [
        pytest.param(f"{OTHER_SHA256}  p.zip\n", {}, "digest-mismatch", id="another digest"),
        pytest.param(f"{ZIP_SHA256}  q.zip\n", {}, "verification", id="another name"),
        pytest.param(f"{OTHER_SHA256}\n", {}, "digest-mismatch", id="another bare digest"),
        pytest.param(f"{ZIP_SHA256}  p.zip\n{OTHER_SHA256}  p.zip\n", {}, "verification", id="two that disagree"),
        pytest.param("<html>", {}, "verification", id="a web page"),
        pytest.param("\udcff", {}, "unsupported-content", id="not text"),
        pytest.param(" " * (1 << 20) + " ", {}, "limit-exceeded/metadata", id="too large"),
        pytest.param("x", {"size": 2}, "network", id="truncated"),
    ],
)
def test_a_checksum_file_that_does_not_help(tmp_path: Path, text: str, more: dict[str, Any], code: str) -> None:
    client = checksum_client(text.encode("utf-8", "surrogateescape"), **more)
    with pytest.raises(GetModulesError) as caught:
        client.get("fake://h/p.zip?checksum=file:fake://h/SUMS", tmp_path / "dest")
    assert caught.value.code == code
    mine = code != "digest-mismatch"
    assert caught.value.message.startswith("the checksum file 'fake://h/SUMS'") is mine
    assert list(tmp_path.iterdir()) == []


def test_a_checksum_file_that_is_not_there_is_told_from_the_package(tmp_path: Path) -> None:
    def answer(pin: Pin, *_: Any) -> Any:
        if pin.package.url == "fake://h/p.zip":
            return blob(ZIP, name="p.zip")
        if pin.package.url == "fake://h/SUMS":
            return Elsewhere(address="fake://h/other")
        raise NotFoundError("h answered 404")

    with pytest.raises(NotFoundError) as caught:
        client_with(FakeGetter(answer=answer)).get("fake://h/p.zip?checksum=file:fake://h/SUMS", tmp_path / "d")
    assert caught.value.code == "not-found"
    assert caught.value.address == "fake://h/p.zip?checksum=file:fake://h/SUMS"
    assert caught.value.message == ("the checksum file 'fake://h/SUMS': sent on to fake://h/other: h answered 404")
    assert list(tmp_path.iterdir()) == []


def test_a_checksum_file_that_is_a_directory(tmp_path: Path) -> None:
    table = {"fake://h/p.zip": blob(ZIP), "fake://h/SUMS": members_of()}
    with pytest.raises(GetModulesError) as caught:
        client_with(FakeGetter(answer=routes(table))).get("fake://h/p.zip?checksum=file:fake://h/SUMS", tmp_path / "d")
    assert caught.value.code == "address"


def test_a_weak_checksum_is_a_notice_and_never_a_pin(tmp_path: Path) -> None:
    recorder = Recorder()
    md5 = hashlib.md5(ZIP).hexdigest()
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)), progress=recorder)
    installed = client.get(f"fake://h/p.zip?checksum={md5}", tmp_path / "dest")
    assert installed.pinned == f"fake://h/p.zip?checksum=sha256:{ZIP_SHA256}"
    assert any(event[0] == "notice" and "md5" in event[1] for event in recorder.events)


def test_resolve_of_an_address_with_a_checksum_is_that_checksum() -> None:
    source = f"fake://h/x.zip//sub?checksum={ZIP_SHA256}"
    resolved = client_with(FakeGetter()).resolve(source)
    assert resolved.pinned == f"fake://h/x.zip//sub?checksum=sha256:{ZIP_SHA256}"
    assert resolved.id == f"sha256:{ZIP_SHA256}"


@pytest.mark.parametrize("arguments", ["", f"?checksum={'0' * 32}"], ids=["nothing", "md5"])
def test_resolve_says_when_only_fetching_would_tell(arguments: str) -> None:
    with pytest.raises(GetModulesError) as caught:
        client_with(FakeGetter()).resolve(f"fake://h/x.zip{arguments}")
    assert caught.value.code == "fetch/no-identity"
