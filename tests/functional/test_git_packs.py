"""A server that is no git at all: packs, refs and messages made by hand."""

from __future__ import annotations

import itertools
import os
import zlib
from pathlib import Path

import pytest

from getmodules import (
    CorruptArchiveError,
    GetModulesError,
    LimitExceededError,
    Limits,
    NetworkError,
    NotFoundError,
)
from tests.support.gitpacks import HandMade, hand_made, object_header, pack_of, package, packet, sealed
from tests.support.gitplaces import Place
from tests.support.refusals import words_of

FILES = {"main.tf": b"# main\n", "sub/a.tf": b"# a\n"}


@pytest.fixture
def honest(tmp_path: Path) -> tuple[HandMade, list[tuple[str, bytes]]]:
    """An answer that is right, and the objects in its pack."""
    commit, objects = package(tmp_path / "honest.git", FILES)
    return HandMade({b"HEAD": commit, b"refs/heads/main": commit}, pack_of(objects)), objects


Honest = tuple[HandMade, list[tuple[str, bytes]]]


def test_an_answer_that_is_right(honest: Honest, place: Place) -> None:
    answer, _ = honest
    with hand_made(answer) as server:
        place.get(f"git::{server.url}/x.git")
    assert place.files() == FILES


@pytest.mark.parametrize("ref", ["", "?ref={commit}"], ids=["HEAD", "commit"])
@pytest.mark.parametrize(
    ("spoiled", "code"),
    [
        ("trailer", "corrupt-archive"),
        ("a missing object", "corrupt-archive"),
        # Nobody can tell these from a connection that ended early.
        ("count", "network"),
        ("cut off", "network"),
        ("rubbish", "network"),
        ("empty", "network"),
    ],
)
def test_a_pack_that_is_broken(spoiled: str, code: str, ref: str, honest: Honest, place: Place) -> None:
    answer, objects = honest
    answer.pack = {
        "trailer": pack_of(objects, trailer=bytes(20)),
        "count": pack_of(objects, count=len(objects) + 1),
        "cut off": answer.pack[:-30],
        "rubbish": b"PACK" + bytes(100),
        "empty": b"",
        "a missing object": pack_of(objects[1:]),
    }[spoiled]
    kind = NetworkError if code == "network" else CorruptArchiveError
    with hand_made(answer) as server:
        place.refused(f"git::{server.url}/x.git{ref.format(commit=answer.refs[b'HEAD'])}", kind, code)


def test_a_pack_of_something_else(honest: Honest, place: Place, tmp_path: Path) -> None:
    """Whole, and its objects are sound: but what was promised a moment ago is not in it."""
    answer, _ = honest
    _, other = package(tmp_path / "other.git", {"main.tf": b"# other\n"})
    answer.pack = pack_of(other)
    with hand_made(answer) as server:
        place.refused(f"git::{server.url}/x.git", CorruptArchiveError, "corrupt-archive")


@pytest.mark.parametrize("broken", ["cut off", "a missing object", "too much"])
def test_what_a_broken_answer_left_is_no_obstacle_to_the_next(broken: str, honest: Honest, place: Place) -> None:
    """Both runs share one cache, and nothing but a complete answer counts in it."""
    answer, objects = honest
    whole, limits = answer.pack, place.limits
    with hand_made(answer) as server:
        source = f"git::{server.url}/x.git?ref={answer.refs[b'HEAD']}"
        answer.pack = {"cut off": whole[:-30], "a missing object": pack_of(objects[1:]), "too much": whole}[broken]
        if broken == "too much":
            place.limits = Limits(seconds=60, download_bytes=10)
        with pytest.raises((NetworkError, CorruptArchiveError, LimitExceededError)):
            place.get(source)
        answer.pack, place.limits = whole, limits
        place.get(source)
    assert place.files() == FILES


def test_objects_that_nobody_asked_for_are_not_installed(honest: Honest, place: Place) -> None:
    answer, objects = honest
    answer.pack = pack_of([*objects, ("blob", b"extra")])
    with hand_made(answer) as server:
        place.get(f"git::{server.url}/x.git")
    assert place.files() == FILES


def test_words_of_the_server_are_shown_escaped(honest: Honest, place: Place) -> None:
    answer, _ = honest
    answer.error = b"go \x1b[31maway\x07 now\n"
    with hand_made(answer) as server:
        error = place.refused(f"git::{server.url}/x.git", NetworkError, "network")
    assert "away" in words_of(error)
    assert "\x07" not in words_of(error)


def test_progress_of_the_server_cannot_reach_the_terminal(honest: Honest, place: Place) -> None:
    answer, _ = honest
    answer.progress = [b"\x1b[2J\x1b]0;title\x07evil\r", b"Counting objects: 100% (5/5)\r", b"\n"]
    with hand_made(answer) as server:
        place.get(f"git::{server.url}/x.git")
    assert not any("\x1b" in said or "\x07" in said for said in place.notices.said)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["progress", "refs"])
def test_a_server_that_never_ends(what: str, honest: Honest, place: Place) -> None:
    """It sends as fast as it can; what is kept of it is bounded, and the deadline ends it."""
    answer, _ = honest
    commit = answer.refs[b"HEAD"]
    if what == "progress":
        answer.progress = itertools.repeat(b"still working on it " * 3_000 + b"\n")
    else:
        first = packet(b"# service=git-upload-pack\n") + b"0000" + packet(f"{commit} HEAD\0".encode() + b"shallow\n")
        lines = (packet(f"{commit} refs/heads/{'n' * 2_000}{number}\n".encode()) for number in itertools.count())
        answer.advertisement = itertools.chain([first], lines)
    place.limits = Limits(seconds=2)
    with hand_made(answer) as server, pytest.raises(GetModulesError) as caught:
        place.get(f"git::{server.url}/x.git")
    assert caught.value.code in ("network/timeout", "limit-exceeded/download-bytes", "limit-exceeded/metadata")
    place.nothing_is_left()
    assert os.listdir(place.work) == []


HOSTILE_REFS = [
    b"refs/heads/../../../escaped", b"refs/heads/a b", b"refs/heads/-x", b"refs/heads/\x1b[31m", b"refs/heads/a\\b",
    b"../HEAD", b"refs/heads/.lock", b"refs/heads/a~1", b"--upload-pack=x",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_REFS, ids=ascii)
def test_refs_of_other_names_do_no_harm(name: bytes, honest: Honest, place: Place) -> None:
    answer, _ = honest
    commit = answer.refs[b"HEAD"]
    answer.refs = {b"HEAD": commit, name: commit, b"refs/heads/main": commit}
    with hand_made(answer) as server:
        place.get(f"git::{server.url}/x.git?ref=main")
        assert place.files() == FILES
        error = place.refused(
            f"git::{server.url}/x.git?ref=absent", NotFoundError, "not-found", dest=place.work / "other"
        )
    assert "\x1b" not in words_of(error)
    assert set(os.listdir(place.top)) == {"root", "home", "work", "temporary"}


def test_a_list_of_refs_that_is_rubbish(honest: Honest, place: Place) -> None:
    answer, _ = honest
    answer.advertisement = [b"<html><body>Please log in</body></html>"]
    with hand_made(answer) as server, pytest.raises(GetModulesError) as caught:
        place.get(f"git::{server.url}/x.git")
    assert caught.value.code in ("network", "not-found", "corrupt-archive")


@pytest.mark.parametrize("kind", ["commit", "tree", "tag"])
def test_an_object_that_asks_for_all_memory(kind: str, honest: Honest, place: Place) -> None:
    """git takes as much as an object says that it needs before it sees whether it does."""
    answer, objects = honest
    short = object_header(kind, 8 << 30) + zlib.compress(b"short")
    answer.pack = sealed(pack_of(objects, count=len(objects) + 1)[:-20] + short)
    with hand_made(answer) as server:
        place.refused(f"git::{server.url}/x.git", LimitExceededError, "limit-exceeded/metadata")


def test_a_file_that_inflates_a_thousand_times(place: Place, honest: Honest, tmp_path: Path) -> None:
    answer, _ = honest
    commit, objects = package(tmp_path / "bomb.git", {"bomb": bytes(60_000_000)})
    answer.refs, answer.pack = {b"HEAD": commit, b"refs/heads/main": commit}, pack_of(objects)
    assert len(answer.pack) < 1_000_000
    place.limits = Limits(seconds=60, file_bytes=1_000_000, download_bytes=10_000_000)
    with hand_made(answer) as server:
        place.refused(f"git::{server.url}/x.git", LimitExceededError, "limit-exceeded/file-bytes")
