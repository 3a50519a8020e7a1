"""Following "ask there instead", and the pin at the end of the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from getmodules import (
    Client,
    Context,
    DigestMismatchError,
    Elsewhere,
    Gate,
    GetModulesError,
    NotFoundError,
    UnsafeContentError,
)
from getmodules.api.model import Shape
from tests.support.fakes import (
    OTHER_SHA256,
    ZIP,
    ZIP_H1,
    ZIP_SHA256,
    FakeGetter,
    FakePlugin,
    FakeVerifier,
    a_pin,
    blob,
    client_with,
    elsewhere,
    installed_files,
    members_of,
    routes,
)
from tests.support.refusals import refusal


@pytest.mark.parametrize("by", ["resolve", "fetch"])
def test_elsewhere_leads_on_and_the_final_address_is_pinned(tmp_path: Path, by: str) -> None:
    there = elsewhere("fake://h/real.zip//sub")
    getter = FakeGetter(answer=lambda pin, *_: blob(ZIP) if "real" in pin.package.url else there)
    if by == "resolve":
        getter.pin = lambda package, _: there if "real" not in package.url else None
    installed = client_with(getter).get("fake://h/registry//deep", tmp_path / "dest")

    assert installed_files(tmp_path / "dest") == {"b.tf": b"# b\n"}
    assert installed.address == "fake://h/registry//deep"
    assert installed.pinned == f"fake://h/real.zip//sub/deep?checksum=sha256:{ZIP_SHA256}"
    assert getter.asked[-1][2] == ("sub/deep",)


def test_core_arguments_hold_for_what_finally_arrives(tmp_path: Path) -> None:
    table = {"fake://h/a": elsewhere("fake://h/b?archive=tar"), "fake://h/b": blob(ZIP, name="download")}
    client = client_with(FakeGetter(answer=routes(table)))
    installed = client.get(f"fake://h/a?archive=zip&checksum=sha256:{ZIP_SHA256}", tmp_path / "dest")
    assert installed.h1 == ZIP_H1


@pytest.mark.parametrize(
    ("users", "servers"),
    [
        pytest.param(ZIP_SHA256, OTHER_SHA256, id="the server's"),
        pytest.param(OTHER_SHA256, ZIP_SHA256, id="the user's"),
    ],
)
def test_checksums_of_user_and_server_must_both_hold(tmp_path: Path, users: str, servers: str) -> None:
    table = {
        "fake://h/a": elsewhere(f"fake://h/b.zip?checksum=sha256:{servers}"),
        "fake://h/b.zip": blob(ZIP),
    }
    with pytest.raises(GetModulesError) as caught:
        client_with(FakeGetter(answer=routes(table))).get(f"fake://h/a?checksum=sha256:{users}", tmp_path / "dest")
    assert caught.value.code == "digest-mismatch"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "code"),
    [
        pytest.param("file:///etc", "unsafe-content/local-source", id="file URL"),
        pytest.param("/etc", "unsafe-content/local-source", id="absolute path"),
        pytest.param("./x", "unsafe-content/elsewhere", id="relative path"),
        pytest.param("git::file:///srv/r", "unsafe-content/local-source", id="local repository"),
        pytest.param("oci-layout:///srv/l", "unsafe-content/local-source", id="local layout"),
        pytest.param("FILE:///etc", "unsafe-content/local-source", id="upper case"),
        pytest.param("fake://h/b?checksum=file:/etc/SUMS", "unsafe-content/local-source", id="local checksum file"),
        pytest.param("fake://h/b?checksum=file:./SUMS", "unsafe-content/elsewhere", id="relative checksum file"),
        pytest.param("nosuch://h/x", "unsafe-content/elsewhere", id="unknown scheme"),
        pytest.param("fake://h/../x", "unsafe-content/elsewhere", id="parent path"),
        pytest.param("fake://h/x\r\nSet-Cookie: a", "unsafe-content/elsewhere", id="control characters"),
        pytest.param("", "unsafe-content/elsewhere", id="empty"),
    ],
)
def test_where_an_answer_may_not_lead(tmp_path: Path, target: str, code: str) -> None:
    with pytest.raises(UnsafeContentError) as caught:
        client_with(FakeGetter(answer=elsewhere(target))).get("fake://h/a", tmp_path / "dest")
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


def test_a_demand_that_means_nothing_elsewhere_is_not_dropped(tmp_path: Path) -> None:
    """And it is no mistake of the user's, who asked for an archive."""
    client = client_with(FakeGetter(answer=elsewhere("git::https://127.0.0.1:1/r")))
    with pytest.raises(UnsafeContentError) as caught:
        client.get(f"fake://h/a?checksum=sha256:{ZIP_SHA256}", tmp_path / "dest")
    assert caught.value.code == "unsafe-content/elsewhere"
    assert "checksum" in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_ten_hops_are_followed_and_no_more(tmp_path: Path) -> None:
    def hop(pin: Any, *_: Any) -> Any:
        left = int(pin.package.url.rpartition("/")[2])
        return elsewhere(f"fake://h/{left - 1}") if left else members_of()

    client = client_with(FakeGetter(answer=hop))
    assert client.get("fake://h/10", tmp_path / "ten").h1 == ZIP_H1
    with pytest.raises(GetModulesError) as caught:
        client.get("fake://h/11", tmp_path / "eleven")
    assert caught.value.code == "fetch/too-many-hops"
    assert [entry.name for entry in tmp_path.iterdir()] == ["ten"]


@pytest.mark.parametrize("by", ["resolve", "fetch"])
def test_what_fails_behind_a_hop_says_where(tmp_path: Path, by: str) -> None:
    """Else a 404 of the place that a registry names looks like one of the module that was asked for."""

    def missing(*_: Any) -> Any:
        raise NotFoundError("h answered 404")

    getter = FakeGetter(
        answer=lambda pin, *_: missing() if "there" in pin.package.url else elsewhere("fake://h/there.zip?version=s1gn")
    )
    if by == "resolve":
        getter.pin = lambda package, _: None if "there" not in package.url else missing()
    error = refusal(NotFoundError, "not-found", client_with(getter).get, "fake://h/here", tmp_path / "dest")
    assert error.message == "sent on to fake://h/there.zip: h answered 404"
    assert error.address == "fake://h/here"
    assert list(tmp_path.iterdir()) == []


def test_bytes_that_are_not_the_right_ones_say_where_they_are_from(tmp_path: Path) -> None:
    getter = FakeGetter(
        answer=lambda pin, *_: blob(ZIP) if "real" in pin.package.url else elsewhere("fake://h/real.zip")
    )
    wanted = f"fake://h/x?checksum={OTHER_SHA256}"
    error = refusal(DigestMismatchError, "digest-mismatch", client_with(getter).get, wanted, tmp_path / "dest")
    assert error.message.startswith("sent on to fake://h/real.zip: ")


def test_resolve_gives_the_pin_and_fetches_nothing(tmp_path: Path) -> None:
    getter = FakeGetter(pin=lambda package, _: a_pin("c1"))
    resolved = client_with(getter).resolve("fake://h/x//sub?archive=zip")
    assert (resolved.pinned, resolved.id) == ("fake://h/x//sub?archive=zip", "c1")
    assert [asked[0] for asked in getter.asked] == ["resolve"]


@pytest.mark.parametrize("by", ["resolve", "fetch"])
def test_a_hop_does_not_shake_off_what_the_address_demanded(tmp_path: Path, by: str) -> None:
    there = elsewhere("fake://h/real.zip")
    getter = FakeGetter(answer=lambda pin, *_: blob(ZIP) if "real" in pin.package.url else there)
    if by == "resolve":
        getter.pin = lambda package, _: a_pin("v1") if "real" in package.url else there
        assert client_with(getter).get("fake://h/x?digest=v1", tmp_path / "good").evidence[0].value == "v1"
    with pytest.raises(GetModulesError) as caught:
        client_with(getter).get("fake://h/x?digest=v2", tmp_path / "dest")
    assert caught.value.code == "digest-mismatch"
    assert not (tmp_path / "dest").exists()


# ------------------------------------------------------------------------------ what a getter is told of the way


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ("fake://h/a", Shape.PACKAGE),
        ("fake://h/a.zip", Shape.ARCHIVE),
        ("fake://h/a.zip.txt", Shape.PACKAGE),
        ("fake://h/a?archive=zip", Shape.ARCHIVE),
        ("fake://h/a.zip?archive=false", Shape.FILE),
        ("fake://h/a.zip?filename=x", Shape.FILE),
    ],
)
def test_what_the_address_says_about_what_lies_there(tmp_path: Path, source: str, shape: Shape) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP), during_fetch=lambda context: seen.append(context.shape))
    seen: list[Shape] = []
    client_with(getter).get(source, tmp_path / "dest")
    assert seen == [shape]


def test_a_checksum_file_is_a_file_whatever_it_is_called(tmp_path: Path) -> None:
    seen: list[tuple[Shape, str]] = []
    sums = f"{ZIP_SHA256}  a.zip\n".encode()
    getter = FakeGetter(
        answer=routes({"fake://h/a.zip": blob(ZIP), "fake://h/sums.zip": blob(sums)}),
        during_fetch=lambda context: seen.append((context.shape, context.home)),
    )
    client_with(getter).get("fake://h/a.zip?checksum=file:fake://h/sums.zip", tmp_path / "dest")
    assert seen == [(Shape.ARCHIVE, "fake://h/a.zip"), (Shape.FILE, "fake://h/sums.zip")]


def test_what_a_server_may_lead_to_holds_from_there_on(tmp_path: Path) -> None:
    """Its checksum file included; and everybody knows where it began."""

    def first(address: str) -> None: ...
    def second(address: str) -> None: ...

    seen: list[tuple[Any, str]] = []
    table = {
        "fake://h/a": Elsewhere(address="fake://h/b", check_address=first),
        "fake://h/b": elsewhere("fake://h/c"),
        "fake://h/c": Elsewhere(address="fake://h/d.zip?checksum=file:fake://h/s", check_address=second),
        "fake://h/d.zip": blob(ZIP),
        "fake://h/s": blob(f"{ZIP_SHA256}  d.zip\n".encode()),
    }
    getter = FakeGetter(
        answer=routes(table), during_fetch=lambda context: seen.append((context.check_address, context.home))
    )
    client_with(getter).get("fake://h/a", tmp_path / "dest")
    home = "fake://h/a"
    assert seen == [(None, home), (first, home), (first, home), (second, home), (second, home)]


def test_a_verifier_is_led_no_further_in_than_the_getter(tmp_path: Path) -> None:
    def check(address: str) -> None: ...

    class Verifier(FakeVerifier):
        def verify(self, gate: Gate, subject: Any, context: Context) -> str | None:
            contexts.append((gate, context.check_address, context.home))
            return None

    contexts: list[tuple[Gate, Any, str]] = []
    table = {"fake://h/a": Elsewhere(address="fake://h/b.zip", check_address=check), "fake://h/b.zip": blob(ZIP)}
    plugin = FakePlugin(FakeGetter(answer=routes(table)), verifiers=(Verifier(),))
    Client(plugins=[plugin], environ={"GETMODULES_PLUGINS": ""}).get("fake://h/a", tmp_path / "dest")
    home = "fake://h/a"
    assert contexts[0] == (Gate.PIN, None, home)  # of the address that was typed
    assert contexts[1:] == [(gate, check, home) for gate in (Gate.PIN, Gate.BYTES, Gate.TREE)]


@pytest.mark.parametrize(
    ("here", "there", "code"),
    [
        pytest.param("https://h/a", "http://h/b.zip", "unsafe-content/elsewhere", id="down"),
        pytest.param("https://h/a", "git::http://h/b", "unsafe-content/elsewhere", id="down to git"),
        pytest.param("https://h/a", "git::git://h/b", "unsafe-content/elsewhere", id="down to git's own protocol"),
        pytest.param("https://h/a", "https://i/b.zip", None, id="same"),
        pytest.param("http://h/a", "https://h/b.zip", None, id="up"),
        pytest.param("http://h/a", "http://h/b.zip", None, id="in the clear, as it was asked for"),
    ],
)
def test_nobody_is_sent_from_https_to_http(tmp_path: Path, here: str, there: str, code: str | None) -> None:
    getter = FakeGetter(answer=routes({here: elsewhere(there), there: blob(ZIP)}), schemes=("http", "https"))
    client = Client(plugins=[FakePlugin(getter)], without_plugins=["http"], environ={"GETMODULES_PLUGINS": ""})
    if code is None:
        assert client.get(here, tmp_path / "dest").h1 == ZIP_H1
        return
    with pytest.raises(GetModulesError) as caught:
        client.get(here, tmp_path / "dest")
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


def test_a_check_that_cannot_be_called_is_the_plugins_fault(tmp_path: Path) -> None:
    wrong = Elsewhere(address="fake://h/b", check_address="no")  # type: ignore[arg-type]
    with pytest.raises(GetModulesError) as caught:
        client_with(FakeGetter(answer=lambda *_: wrong)).get("fake://h/a", tmp_path / "dest")
    assert caught.value.code == "plugin-contract"
