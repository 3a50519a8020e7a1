"""The three gates: what is demanded there holds, or nothing is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from getmodules import Digest, GetModulesError, SignatureError, hash_tree
from getmodules.api.model import Gate, Installed, Members
from tests.support.fakes import (
    OTHER_SHA256,
    SUB_H1,
    ZIP,
    ZIP_H1,
    ZIP_SHA256,
    FakeGetter,
    FakeVerifier,
    a_pin,
    blob,
    client_with,
    member,
    members_of,
)
from tests.support.snapshots import snapshot


def test_demands_at_each_gate_become_evidence(tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP, digests=(Digest("sha256", ZIP_SHA256),)), pin=a_pin("v1"))
    verifier = FakeVerifier()
    client = client_with(getter, verifiers=(verifier,))
    installed = client.get(f"fake://h/p.zip?digest=v1&checksum=sha256:{ZIP_SHA256}", tmp_path / "d", expect=ZIP_H1)

    assert [(e.check, e.subject, e.value, e.by) for e in installed.evidence] == [
        ("digest", "pin", "v1", "the address"),
        ("watchman", "pin", "looked at it", "this program"),
        ("digest", "archive", f"sha256:{ZIP_SHA256}", "the source"),
        ("checksum", "archive", f"sha256:{ZIP_SHA256}", "the address"),
        ("watchman", "archive", "looked at it", "this program"),
        ("expect", "tree", ZIP_H1, "the caller"),
        ("watchman", "tree", "looked at it", "this program"),
    ]
    assert [gate for gate, _ in verifier.seen] == [Gate.PIN, Gate.BYTES, Gate.TREE]


def test_a_wrong_pin_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    getter = FakeGetter(answer=blob(ZIP), pin=a_pin("v1"))
    with pytest.raises(GetModulesError) as caught:
        client_with(getter).get("fake://h/p.zip?digest=v2", tmp_path / "dest")
    assert caught.value.code == "digest-mismatch"
    assert [asked[0] for asked in getter.asked] == ["resolve"]
    assert list(tmp_path.iterdir()) == []


def test_a_demand_on_the_pin_is_not_skipped_where_there_is_none(tmp_path: Path) -> None:
    getter = FakeGetter(answer=blob(ZIP))
    with pytest.raises(GetModulesError) as caught:
        client_with(getter).get("fake://h/p.zip?digest=v2", tmp_path / "dest")
    assert caught.value.code == "digest-mismatch"
    assert [asked[0] for asked in getter.asked] == ["resolve"]


@pytest.mark.parametrize(
    ("arguments", "expect", "more"),
    [
        pytest.param(f"?checksum=sha256:{OTHER_SHA256}", None, {}, id="checksum sha256"),
        pytest.param(f"?checksum={'0' * 32}", None, {}, id="checksum md5"),
        pytest.param("", f"sha256:{OTHER_SHA256}", {}, id="expect sha256"),
        pytest.param("", "sha512:" + "0" * 128, {}, id="expect sha512"),
        pytest.param("", SUB_H1, {}, id="expect h1"),
        pytest.param("", SUB_H1.replace("h1:", "t1:"), {}, id="expect t1"),
        pytest.param("", "t1:", {}, id="expect a t1 that is none"),
        pytest.param("", None, {"digests": (Digest("sha384", "0" * 96),)}, id="promised by the protocol"),
    ],
)
def test_content_that_is_not_what_was_demanded(
    tmp_path: Path, arguments: str, expect: str | None, more: dict[str, Any]
) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP, **more)))
    (tmp_path / "dest").mkdir()
    before = snapshot(tmp_path)
    with pytest.raises(GetModulesError) as caught:
        client.get(f"fake://h/p.zip{arguments}", tmp_path / "dest", expect=expect)
    assert (caught.value.code, caught.value.exit_code) == ("digest-mismatch", 3)
    assert caught.value.hint
    assert snapshot(tmp_path) == before


def test_t1_demands_what_h1_does_not_see(tmp_path: Path) -> None:
    def install(name: str, executable: bool, expect: str | None = None) -> Installed:
        getter = FakeGetter(answer=lambda *_: Members((member("run.sh", b"#!/bin/sh", executable=executable),)))
        return client_with(getter).get("fake://h/d", tmp_path / name, expect=expect)

    plain = install("plain", False)
    assert (plain.h1, plain.t1) == tuple(hash_tree(plain.path, scheme) for scheme in ("h1", "t1"))
    (evidence,) = install("again", False, plain.t1).evidence
    assert (evidence.check, evidence.subject, evidence.value) == ("expect", "tree", plain.t1)
    assert install("executable", True, plain.h1).t1 != plain.t1
    before = snapshot(tmp_path)
    with pytest.raises(GetModulesError) as caught:
        install("dest", True, plain.t1)
    assert (caught.value.code, caught.value.exit_code) == ("digest-mismatch", 3)
    assert plain.t1 in caught.value.message
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("gate", list(Gate))
def test_a_verifier_can_refuse_at_its_gate(tmp_path: Path, gate: Gate) -> None:
    verifier = FakeVerifier(gates=(gate,), raises=SignatureError("not signed"))
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP), pin=a_pin()), verifiers=(verifier,))
    with pytest.raises(SignatureError):
        client.get("fake://h/p.zip", tmp_path / "dest")
    assert list(tmp_path.iterdir()) == []


def test_a_verifier_cannot_overrule_a_refusal(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)), verifiers=(FakeVerifier(says="all is well"),))
    with pytest.raises(GetModulesError) as caught:
        client.get("fake://h/p.zip", tmp_path / "dest", expect=f"sha256:{OTHER_SHA256}")
    assert caught.value.code == "digest-mismatch"


@pytest.mark.parametrize(
    ("arguments", "expect", "code"),
    [
        pytest.param(f"?checksum=sha256:{ZIP_SHA256}", None, "address", id="checksum"),
        pytest.param("?filename=x.tf", None, "address", id="filename"),
        pytest.param("?archive=zip", None, "address", id="archive"),
        pytest.param("", f"sha256:{ZIP_SHA256}", "config", id="expect sha256"),
    ],
)
def test_what_needs_bytes_is_refused_for_members_not_skipped(
    tmp_path: Path, arguments: str, expect: str | None, code: str
) -> None:
    client = client_with(FakeGetter(answer=members_of()))
    with pytest.raises(GetModulesError) as caught:
        client.get(f"fake://h/d{arguments}", tmp_path / "dest", expect=expect)
    assert (caught.value.code, caught.value.exit_code) == (code, 2)
    assert list(tmp_path.iterdir()) == []


def test_an_expectation_that_cannot_be_is_a_config_error(tmp_path: Path) -> None:
    for expect in ("md5:" + "0" * 32, "sha256:abc", "nonsense", ""):
        with pytest.raises(GetModulesError) as caught:
            client_with(FakeGetter()).get("fake://h/d", tmp_path / "dest", expect=expect)
        assert caught.value.code == "config"
    assert list(tmp_path.iterdir()) == []


def test_what_is_demanded_is_shown_on_one_line(tmp_path: Path) -> None:
    """A script may have it from anywhere."""
    with pytest.raises(GetModulesError) as caught:
        client_with(FakeGetter(answer=blob(ZIP))).get(
            "fake://h/p.zip", tmp_path / "d", expect="t1:\x1b]0;x\x07\n  code: none"
        )
    assert caught.value.code == "digest-mismatch"
    assert caught.value.message.isprintable()
    assert "t1:\\x1b]0;x\\x07\\n  code: none" in caught.value.message
