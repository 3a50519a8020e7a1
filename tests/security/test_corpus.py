"""Each hostile archive through a whole ``get``, beside a canary; and a second opinion on those that are accepted."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from getmodules import (
    Client,
    CorruptArchiveError,
    GetModulesError,
    LimitExceededError,
    Limits,
    UnsafeContentError,
    UnsupportedContentError,
)
from tests.support import readers
from tests.support.archives import Z, zip_bytes
from tests.support.corpus import CASES
from tests.support.refusals import refusal, words_of
from tests.support.securitycases import CANARY, Case, Executable, Wanted
from tests.support.snapshots import snapshot

#: The slowest of them inflates some 64 MiB.
SECONDS = 20.0

CLASSES = {
    cls.base_code: cls for cls in (CorruptArchiveError, LimitExceededError, UnsafeContentError, UnsupportedContentError)
}

REFUSED = [case for case in CASES if case.code]
ACCEPTED = [case for case in CASES if not case.code]
#: What is packed and unpacked for seconds before it is too much.
BOMBS = ("too high a ratio", "too long a name", "too many names")


def _as_parameter(case: Case) -> Any:
    return pytest.param(case, id=case.id, marks=[pytest.mark.slow] if case.id.endswith(BOMBS) else [])


each_refused = pytest.mark.parametrize("case", [_as_parameter(case) for case in REFUSED])
each_accepted = pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.id)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A destination's directory with something on each side of it that must never change."""
    (tmp_path / "canary").write_text("alive")
    work = tmp_path / "work"
    work.mkdir()
    (work / "canary").write_text("alive")
    return work


def get(case: Case, here: Path) -> str | None:
    """The code of a whole ``get`` into ``here / "dest"``; everything else stays as it was, in bounds."""
    archive = here.parent / f"package.{case.kind}"
    archive.write_bytes(case.build())
    before = snapshot(here.parent)
    descriptors, began = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else [], time.monotonic()
    refused: GetModulesError | None = None
    try:
        Client(environ={}).get(str(archive), here / "dest", limits=replace(Limits(), **case.limits))
    except GetModulesError as error:
        refused = error
    assert refused is None or words_of(refused).replace("\n", "").isprintable()
    assert time.monotonic() - began < SECONDS
    # No more than before; fewer where something of an earlier test was closed meanwhile.
    assert not descriptors or len(os.listdir("/proc/self/fd")) <= len(descriptors)
    assert not os.path.lexists(CANARY)
    after = snapshot(here.parent)
    assert {name: what for name, what in after.items() if not _is_in_dest(name)} == before
    if refused is None:
        return None
    assert type(refused) is CLASSES[refused.base_code]
    return refused.code


def _is_in_dest(name: str) -> bool:
    return name == "work/dest" or name.startswith("work/dest/")


@each_refused
def test_refused(case: Case, here: Path) -> None:
    assert get(case, here) == case.code
    assert sorted(os.listdir(here)) == ["canary"]


@each_accepted
def test_accepted(case: Case, here: Path) -> None:
    assert get(case, here) is None
    assert case.tree is not None
    assert found(here / "dest") == case.tree


def found(dest: Path) -> Wanted:
    """What is installed, with nothing in the modes that does not belong there."""
    assert stat.S_IMODE(dest.lstat().st_mode) == 0o755
    tree: dict[str, bytes | str | Executable | None] = {}
    for name, (mode, content) in snapshot(dest).items():
        assert mode in ("-rw-r--r--", "-rwxr-xr-x", "drwxr-xr-x") or mode[0] == "l"
        if mode[0] == "d":
            tree[name] = None
        elif mode[0] == "l":
            tree[name] = os.fsdecode(content)
        else:
            tree[name] = Executable(content) if "x" in mode else content
    return tree


# --------------------------------------------------------------------------------------------- the second opinion


def _files_and_links(case: Case) -> dict[str, bytes]:
    assert case.tree is not None
    contents = {name: what.data if isinstance(what, Executable) else what for name, what in case.tree.items()}
    return {
        name: os.fsencode(what) if isinstance(what, str) else what
        for name, what in contents.items()
        if what is not None
    }


@each_accepted
def test_other_readers_unpack_the_same(case: Case, tmp_path: Path) -> None:
    archive = tmp_path / f"package.{case.kind}"
    archive.write_bytes(case.build())
    opinions = readers.unpacked(archive, case.kind, tmp_path)
    assert opinions, "no other reader accepts it"
    for reader, seen in opinions.items():
        assert seen == _files_and_links(case), reader


@pytest.mark.parametrize("case", [case for case in REFUSED if case.disputed], ids=lambda case: case.id)
def test_other_readers_disagree_about_it(case: Case, tmp_path: Path) -> None:
    archive = tmp_path / f"package.{case.kind}"
    archive.write_bytes(case.build())
    opinions = readers.opinions(archive, case.kind)
    assert any(one != other for one in opinions.values() for other in opinions.values()), opinions


def test_the_corpus_is_sound() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)
    assert all((case.code is None) == (case.tree is not None) for case in CASES)


# --------------------------------------------------------------------------------------------- subdirectories

SUB = Z(name=b"sub/main.tf")


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        pytest.param((SUB, Z(name=b"../canary")), "unsafe-content/parent-path", id="parent"),
        pytest.param((SUB, Z(name=b"a\x1b")), "unsafe-content/bad-name", id="control character"),
        pytest.param((SUB, Z(), Z()), "unsafe-content/duplicate-name", id="twice"),
        pytest.param((SUB, Z(name=b"SUB/x")), "unsafe-content/case-collision", id="case pair"),
        pytest.param((SUB, Z(name=b"x"), Z(name=b"x/y")), "unsafe-content/file-and-directory", id="both"),
    ],
)
def test_names_are_checked_wherever_they_are(entries: tuple[Z, ...], code: str, here: Path) -> None:
    archive = here.parent / "package.zip"
    archive.write_bytes(zip_bytes(*entries))
    before = snapshot(here.parent)
    refusal(UnsafeContentError, code, Client(environ={}).get, f"{archive}//sub", here / "dest")
    assert snapshot(here.parent) == before


@pytest.mark.parametrize("target", ["../other.tf", "../sub/main.tf", "../../canary"])
def test_a_link_out_of_the_subdirectory_is_refused_and_the_hint_says_what_helps(target: str, here: Path) -> None:
    link = Z(name=b"sub/link", data=target.encode(), mode=stat.S_IFLNK | 0o777)
    archive = here.parent / "package.zip"
    archive.write_bytes(zip_bytes(SUB, Z(name=b"other.tf"), link))
    before = snapshot(here.parent)
    get_sub = Client(environ={}).get
    error = refusal(UnsafeContentError, "unsafe-content/link-escapes", get_sub, f"{archive}//sub", here / "dest")
    assert "whole package" in (error.hint or "")
    assert snapshot(here.parent) == before
