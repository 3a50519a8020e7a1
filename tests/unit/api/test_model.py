"""The frozen values of the flow."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from getmodules import Arguments, Kind, Member, ModuleAddress, PackageAddress, Pin
from getmodules.addresses.grammar import parse_query
from getmodules.api import model as values
from getmodules.api.model import Archive, Entry, MemberPath, Tree


@pytest.mark.parametrize(
    "cls",
    [value for value in vars(values).values() if dataclasses.is_dataclass(value) and isinstance(value, type)],
    ids=lambda cls: cls.__name__,
)
def test_values_are_frozen_and_slotted(cls: Any) -> None:
    assert cls.__setattr__ is not object.__setattr__
    assert "__slots__" in vars(cls)


@pytest.mark.parametrize(
    ("subdir", "written"),
    [
        pytest.param("a/b", "a/b", id="plain"),
        pytest.param("a b", "a%20b", id="blank"),
        pytest.param("a?b#c%", "a%3Fb%23c%25", id="what ends a subdirectory"),
        pytest.param("net-*[12]", "net-*[12]", id="glob"),
        pytest.param("é", "%C3%A9", id="beyond ASCII"),
    ],
)
def test_a_module_address_is_written(subdir: str, written: str) -> None:
    package = PackageAddress(getter="git", url="https://h/r.git", arguments=parse_query("ref=v1"), forced=True)
    address = ModuleAddress(package=package, subdir=subdir)
    assert str(address) == f"git::https://h/r.git//{written}?ref=v1"
    assert str(package) == "git::https://h/r.git?ref=v1"
    assert package.with_arguments(Arguments()).display() == "git::https://h/r.git"


def test_what_is_shown_has_no_secret() -> None:
    package = PackageAddress(getter="https", url="https://u:S3cr3t@h/x", arguments=parse_query("token=S3cr3t"))
    assert package.display() == ModuleAddress(package=package).display() == "https://u:****@h/x?token=****"


def test_a_proof_is_nobodys_business() -> None:
    package = PackageAddress(getter="oci", url="oci://h/r")
    assert Pin(package=package, id="1", proof=b"a") == Pin(package=package, id="1", proof=b"b")
    assert "S3cr3t" not in repr(Pin(package=package, proof="S3cr3t"))


def test_a_member_needs_only_a_name() -> None:
    member = Member("a")
    assert (member.kind, member.size, member.executable, list(member.open())) == (Kind.FILE, None, False, [])


def test_a_tree_counts_what_is_in_it() -> None:
    entries = (
        Entry(MemberPath("d"), Kind.DIRECTORY, 0, False, None),
        Entry(MemberPath("d/f"), Kind.FILE, 5, False, b"x" * 32),
        Entry(MemberPath("l"), Kind.SYMLINK, 3, False, b"y" * 32, "d/f"),
    )
    assert (Tree(entries, "h1:x", "t1:x").files, Tree(entries, "h1:x", "t1:x").bytes) == (2, 8)


def test_an_archive_is_read_from_its_beginning_each_time(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    archive = Archive(path=tmp_path / "a", size=3, digests={})
    for _ in range(2):
        with archive.open() as file:
            assert file.read() == b"abc"
