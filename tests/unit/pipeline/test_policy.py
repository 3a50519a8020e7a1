"""Policies: what they let pass, what they say, and which files they are in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from getmodules import PackageAddress, VerificationError
from getmodules.addresses.comparison import Pattern
from getmodules.pipeline import policy as subject
from tests.support.refusals import refusal, words_of

ACME = "oci://registry.acme.example/*"


def policy(allow: tuple[str, ...] | None = None, deny: tuple[str, ...] = ()) -> subject.Policy:
    allowed = None if allow is None else tuple(map(Pattern.of, allow))
    return subject.Policy(file="/etc/policy.toml", allow=allowed, deny=tuple(map(Pattern.of, deny)))


def address(url: str) -> PackageAddress:
    return PackageAddress(getter=url.partition("://")[0], url=url)


@pytest.mark.parametrize(
    ("allow", "deny", "url", "passes"),
    [
        pytest.param((ACME,), (), "oci://registry.acme.example/vpc", True, id="allowed"),
        pytest.param((ACME,), (), "oci://ghcr.io/acme/vpc", False, id="not allowed"),
        pytest.param((ACME,), ("*/secret",), "oci://registry.acme.example/secret", False, id="deny beats allow"),
        pytest.param(None, ("oci://ghcr.io/*",), "oci://registry.acme.example/vpc", True, id="no allow"),
        pytest.param(None, ("oci://ghcr.io/*",), "oci://ghcr.io/acme/vpc", False, id="denied"),
        pytest.param((), (), "oci://registry.acme.example/vpc", False, id="empty allow"),
        pytest.param(None, (), "oci://registry.acme.example/vpc", True, id="nothing said"),
        pytest.param((), ("*",), "file:///srv/modules", True, id="a path"),
        pytest.param((), ("*",), "oci-layout:///srv/layout", True, id="a layout"),
        pytest.param(("https://allowed.example/*",), (), "https://allowed.example@evil.example/p", False, id="user"),
        pytest.param(("https://allowed.example/*",), (), "https://u:p@ALLOWED.example:443/p", True, id="spelling"),
        pytest.param(None, ("oci://ghcr.io/*",), "oci://GHCR.io.:443/acme/vpc", False, id="spelling, denied"),
    ],
)
def test_what_passes(allow: tuple[str, ...] | None, deny: tuple[str, ...], url: str, *, passes: bool) -> None:
    if passes:
        policy(allow, deny).check(address(url))
    else:
        error = refusal(VerificationError, "verification/policy", policy(allow, deny).check, address(url))
        assert error.exit_code == 3
        assert "/etc/policy.toml" in error.message


def test_a_refusal_names_url_and_file_and_what_to_write() -> None:
    error = refusal(VerificationError, "verification/policy", policy((ACME,)).check, address("oci://u.example/p"))
    assert error.message == "oci://u.example/p is not allowed by the policy in /etc/policy.toml"
    assert f'allow = ["{ACME}", "oci://u.example/p"]' in (error.hint or "")
    blob = PackageAddress(getter="http", url="https://cdn.example/x/y")
    error = refusal(VerificationError, "verification/policy", policy(()).check, blob)
    assert 'allow = ["https://cdn.example/x/y"]' in (error.hint or "")
    assert '"https://cdn.example/*"' in (error.hint or "")


def test_what_to_write_lets_it_pass() -> None:
    asked = address("git+x://h.example/a%2fb")
    error = refusal(VerificationError, "verification/policy", policy(()).check, asked)
    written = (error.hint or "").partition('["')[2].partition('"]')[0]
    policy((written,)).check(asked)


def test_a_refusal_shows_no_secret() -> None:
    error = refusal(VerificationError, "verification/policy", policy(()).check, address("https://u:s3cr3t@h.example/p"))
    assert "s3cr3t" not in words_of(error)


def test_a_denied_address_names_the_pattern() -> None:
    error = refusal(
        VerificationError, "verification/policy", policy(None, ("*/p",)).check, address("oci://h.example/p")
    )
    assert '"*/p"' in (error.hint or "")
    assert "is denied" in error.message


@pytest.mark.parametrize(("allow", "deny"), [((), ()), (None, ("*",))], ids=["not allowed", "denied"])
def test_one_url_is_one_cause(allow: tuple[str, ...] | None, deny: tuple[str, ...]) -> None:
    urls = ("oci://u@H.example/p", "oci://h.example:443/p", "oci://h.example/q")
    check = policy(allow, deny).check
    refusals = [refusal(VerificationError, "verification/policy", check, address(url)) for url in urls]
    assert [error.failed_at for error in refusals] == ["oci://h.example/p"] * 2 + ["oci://h.example/q"]


def test_long_lists_are_not_repeated() -> None:
    many = tuple(f"oci://h{number}.example/*" for number in range(20))
    error = refusal(VerificationError, "verification/policy", policy(many).check, address("oci://u.example/p"))
    assert "h7.example" not in (error.hint or "")
    assert '"oci://u.example/p"' in (error.hint or "")


def test_which_files(tmp_path: Path) -> None:
    machine, mine = tmp_path / "policy.toml", tmp_path / "mine.toml"
    assert subject.policy_files(machine, None) == ()
    assert subject.policy_files(tmp_path / "no" / "policy.toml", None) == ()
    machine.write_text("")
    assert subject.policy_files(machine / "below a file", None) == ()
    assert subject.policy_files(machine, mine) == (machine, mine)


@pytest.mark.parametrize(("value", "file"), [("", None), ("p.toml", "p.toml")])
def test_the_users_file(value: str, file: str | None) -> None:
    assert subject.user_file({}) is None
    assert subject.user_file({"GETMODULES_POLICY": value}) == (None if file is None else Path.cwd() / file)


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_to_nowhere_is_a_file_that_is_missing(tmp_path: Path) -> None:
    machine = tmp_path / "policy.toml"
    machine.symlink_to(tmp_path / "gone")
    assert subject.policy_files(machine, None) == (machine,)


def test_where_the_machines_is(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.name != "nt":
        assert subject.machine_file() == Path("/etc/getmodules/policy.toml")
        monkeypatch.setenv("PROGRAMDATA", "/tmp")
        assert subject.machine_file() == Path("/etc/getmodules/policy.toml")
