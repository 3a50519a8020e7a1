"""``getmodules resolve``."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.support.commandline import call
from tests.support.fakes import zip_of

DIGEST = f"sha256:{hashlib.sha256(zip_of()).hexdigest()}"


def test_the_pinned_address_stands_alone_on_its_line(here: Path) -> None:
    result = call("resolve", f"./tree.zip//sub?checksum={DIGEST}")
    assert result == (0, f"file://{here}/tree.zip//sub?checksum={DIGEST}\n", "")


def test_what_json_has(here: Path) -> None:
    result = call("resolve", "--json", f"./tree.zip?checksum={DIGEST}")
    assert (result.code, result.err) == (0, "")
    assert list(result.object.items()) == [
        ("source", f"./tree.zip?checksum={DIGEST}"),
        ("pinned", f"file://{here}/tree.zip?checksum={DIGEST}"),
        ("id", DIGEST),
    ]


def test_without_an_identity_that_is_cheap_it_says_so_and_goes_on(here: Path) -> None:
    result = call("resolve", "./tree", "--json", f"./tree.zip?checksum={DIGEST}")
    assert result.code == 1
    first, second = result.objects
    assert list(first) == ["source", "error"]
    assert first["error"]["code"] == "fetch/no-identity"
    assert second["id"] == DIGEST
    assert result.err.startswith("error: there is nothing to pin it by without fetching it\n")


def test_base(here: Path) -> None:
    result = call("resolve", f"./tree.zip?checksum={DIGEST}", "--base", "/srv")
    assert result.out == f"file:///srv/tree.zip?checksum={DIGEST}\n"
