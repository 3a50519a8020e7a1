"""Names of modules, and where they may go."""

from __future__ import annotations

import pytest

from getmodules import ConfigError
from getmodules.project import names as subject
from tests.support.refusals import refusal, words_of


@pytest.mark.parametrize("name", ["vpc", "VPC", "my-vpc_2", "0", "_x", "a" * 64])
def test_names(name: str) -> None:
    subject.check_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "-x", "a b", "a.b", "a/b", "..", "ü", "a" * 65, "a\n", "https://user:hunter22@h"],
)
def test_what_is_no_name(name: str) -> None:
    assert "hunter22" not in words_of(refusal(ConfigError, "config", subject.check_name, name))


@pytest.mark.parametrize(
    ("text", "dest"),
    [("modules/vpc", "modules/vpc"), ("./a//b/", "a/b"), ("a", "a"), ("ünïcode/x", "ünïcode/x"), ("a b", "a b")],
)
def test_destinations(text: str, dest: str) -> None:
    assert subject.check_dest(text) == dest


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("/etc", id="absolute"),
        pytest.param("../x", id="above"),
        pytest.param("a/../../x", id="above, later"),
        pytest.param("a/..", id="back"),
        pytest.param(".", id="the directory itself"),
        pytest.param("./", id="the same"),
        pytest.param("C:/x", id="a drive"),
        pytest.param("a\\b", id="a backslash"),
        pytest.param("a\tb", id="a control character"),
        pytest.param("con", id="reserved on Windows"),
        pytest.param("a/nul.txt", id="reserved, deeper"),
        pytest.param("a./b", id="a trailing dot"),
        pytest.param("a:b", id="a colon"),
        pytest.param(".getmodules", id="ours"),
        pytest.param(".GetModules/x", id="ours, on some systems"),
        pytest.param("getmodules.toml", id="the manifest"),
        pytest.param("getmodules.lock/x", id="below the lock"),
        pytest.param(".git/hooks", id="a repository's own"),
        pytest.param("sub/.GIT/hooks", id="that of another one"),
        pytest.param("sub/git~1/hooks", id="that by its short name"),
        pytest.param("sub/.g\u200cit", id="that with a character that HFS+ ignores"),
    ],
)
def test_what_is_no_destination(text: str) -> None:
    assert refusal(ConfigError, "config", subject.check_dest, text).hint


@pytest.mark.parametrize(
    ("dests", "found"),
    [
        pytest.param(["a", "b", "a-b", "ab"], None, id="different"),
        pytest.param(["a/x", "a/y"], None, id="beside each other"),
        pytest.param(["a", "b", "a"], ("0", "2", True), id="equal"),
        pytest.param(["a/b/c", "x", "a"], ("2", "0", False), id="nested"),
        pytest.param(["a", "a-b", "a/b"], ("0", "2", False), id="nested, with another in between by spelling"),
        pytest.param(["A/b", "a/B"], ("0", "1", True), id="equal on some systems"),
        pytest.param(["caf\u00e9", "cafe\u0301"], ("0", "1", True), id="equal with other accents"),
    ],
)
def test_collisions(dests: list[str], found: object) -> None:
    assert subject.find_collision((str(number), dest) for number, dest in enumerate(dests)) == found


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("https://user:hunter22@h/x.zip", id="a password"),
        pytest.param("https://hunter22@h/x.zip", id="a token"),
        pytest.param("git::ssh://git@h/x?sshkey=hunter22", id="a key"),
        pytest.param("https://h/x.zip?token=hunter22", id="an argument"),
        pytest.param("https://h/x.zip?X-Amz-Signature=hunter22", id="a signed URL"),
    ],
)
def test_an_address_with_a_secret_is_not_written_down(source: str) -> None:
    error = refusal(ConfigError, "config", subject.check_source, source)
    assert "secret" in error.message
    assert "hunter22" not in words_of(error)


@pytest.mark.parametrize("source", ["", "a::b::c", "https://h/x?a=1&a=2", "oci://h/x//../y"])
def test_what_is_no_address(source: str) -> None:
    refusal(ConfigError, "config", subject.check_source, source)


def test_an_address() -> None:
    assert subject.check_source("git::ssh://git@h/x.git//net?ref=v1") == "git::ssh://git@h/x.git//net?ref=v1"
