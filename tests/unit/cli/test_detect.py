"""``getmodules detect``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commandline import call


def test_the_canonical_address() -> None:
    result = call("detect", "github.com/acme/vpc//net?ref=v1")
    assert result == (0, "git::https://github.com/acme/vpc.git//net?ref=v1\n", "")


def test_what_json_has() -> None:
    result = call("detect", "--json", "github.com/acme/vpc//net?ref=v1")
    assert (result.code, result.err) == (0, "")
    assert list(result.object.items()) == [
        ("source", "github.com/acme/vpc//net?ref=v1"),
        ("address", "git::https://github.com/acme/vpc.git//net?ref=v1"),
        ("getter", "git"),
        ("url", "https://github.com/acme/vpc.git"),
        ("subdir", "net"),
        ("arguments", {"ref": "v1"}),
    ]


@pytest.mark.parametrize(
    ("base", "address"),
    [
        pytest.param([], "file://{here}/a", id="the current directory"),
        pytest.param(["--base", "sub"], "file://{here}/sub/a", id="relative"),
        pytest.param(["--base", "/srv"], "file:///srv/a", id="absolute"),
        pytest.param(["--base=/srv/x/.."], "file:///srv/a", id="not tidy"),
    ],
)
def test_relative_sources_start_at_the_base(base: list[str], address: str, here: Path) -> None:
    assert call("detect", "./a", *base).out == address.format(here=here) + "\n"


def test_the_steps_for_people() -> None:
    result = call("detect", "--explain", "github.com/acme/vpc//net", "/a/b?archive=zip", "https://h/x.zip")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "git::https://github.com/acme/vpc.git//net",
        "  github: git::https://github.com/acme/vpc.git",
        "file:///a/b?archive=zip",
        "  file: file:///a/b",
        "https://h/x.zip",
    ]


def test_the_steps_in_json() -> None:
    result = call("detect", "--explain", "--json", "github.com/acme/vpc", "https://h/x.zip")
    first, second = result.objects
    assert first["steps"] == [{"detector": "github", "address": "git::https://github.com/acme/vpc.git"}]
    assert second["steps"] == []


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        pytest.param("https://u:secret@h/x.zip", {}, id="password"),
        pytest.param("https://secret@h/x.zip", {}, id="token as user"),
        pytest.param("https://h/x.zip?token=secret&a=1", {"token": "****", "a": "1"}, id="token"),
        pytest.param("git::ssh://git@h/x?sshkey=c2VjcmV0c2VjcmV0", {"sshkey": "****"}, id="sshkey"),
        pytest.param("https://h/x.zip?token=", {"token": ""}, id="an empty token"),
        pytest.param(
            "https://h/x.zip?checksum=file:https://u:secret@h/sums",
            {"checksum": "file:https://u:****@h/sums"},
            id="password in an argument",
        ),
    ],
)
def test_secrets_are_masked_wherever_they_are(source: str, arguments: dict[str, str]) -> None:
    for how in ([], ["--json"], ["--explain"], ["--explain", "--json"], ["-v"]):
        result = call("detect", source, *how)
        assert (result.code, result.err) == (0, "")
        assert "secret" not in result.out
    assert call("detect", source, "--json").object["arguments"] == arguments


def test_a_name_that_is_not_utf8_does_not_break_it() -> None:
    result = call("detect", "--json", "/caf\udce9", "/b")
    refused, answered = result.objects
    assert result.code == 2
    assert (result.out.isascii(), result.err.isascii()) == (True, True)
    assert (refused["source"], refused["error"]["code"]) == ("/caf\udce9", "address")
    assert answered["address"] == "file:///b"


def test_the_name_of_a_module_in_a_registry() -> None:
    typed = "acme/vpc/aws//net?version=~> 1.2"
    for answer in (
        call("detect", "--json", "--explain", typed, "--registry", "R.example"),
        call("detect", "--json", "--explain", typed, environ={"GETMODULES_REGISTRY": "r.example"}),
    ):
        assert answer.object["address"] == "tfr://r.example/acme/vpc/aws//net?version=~>%201.2"
        assert answer.object["arguments"] == {"version": "~> 1.2"}
        assert [step["detector"] for step in answer.object["steps"]] == ["registry"]
    refused = call("detect", "--json", typed, "--registry", "https://r.example/")
    assert (refused.code, refused.object["error"]["code"]) == (2, "config")
