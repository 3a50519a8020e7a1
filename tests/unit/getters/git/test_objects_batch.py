"""Objects as git hands them out, believed only when their bytes say the same."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

from getmodules import CorruptArchiveError, LimitExceededError, Limits, NetworkError
from getmodules.api.limits import Deadline
from getmodules.getters.git import objects as under_test
from getmodules.getters.git.objects import MISSING, Batch, Header
from tests.support.gitrepos import Repository
from tests.support.gitstores import a_git, a_store_of
from tests.support.refusals import refusal

Open = Callable[..., Batch]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "source")


@pytest.fixture
def opened(repository: Repository, tmp_path: Path) -> Iterator[Open]:
    batches: list[Batch] = []

    def make(*, many: bool = False, **more: Any) -> Batch:
        batches.append(Batch(a_store_of(repository, tmp_path), a_git(**more), many=many))
        return batches[-1]

    yield make
    for batch in batches:
        batch.close()
        assert batch._process.poll() is not None


def asked(batch: Batch, object_id: str) -> Header:
    batch.ask([object_id])
    return batch.answer(object_id)


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_small_object(algorithm: str, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "source", algorithm=algorithm)
    blob = repository.blob(b"content\n")
    batch = Batch(a_store_of(repository, tmp_path), a_git())
    try:
        header = asked(batch, blob)
        assert header == Header(blob, "blob", 8)
        assert batch.whole(header) == b"content\n"
        assert batch.whole(asked(batch, blob)) == b"content\n"
    finally:
        batch.close()


@pytest.mark.parametrize("size", [0, 1, 65_535, 262_143, 262_144, 1_000_000])
def test_sizes_around_those_of_pipes_and_pieces(size: int, repository: Repository, opened: Open) -> None:
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    blob, other = repository.blob(data), repository.blob(b"other")
    batch = opened()
    assert batch.whole(asked(batch, blob)) == data
    assert b"".join(batch.pieces(asked(batch, blob))) == data
    assert batch.whole(asked(batch, other)) == b"other"


def test_many(repository: Repository, opened: Open) -> None:
    ids = [repository.blob(b"%d" % number) for number in range(3000)]
    batch = opened(many=True)
    batch.feed(ids)
    assert [batch.whole(batch.answer(each)) for each in ids] == [b"%d" % number for number in range(3000)]


@pytest.mark.parametrize(
    ("is_wide", "many", "waits"),
    [
        pytest.param(True, True, True, id="many answers that have room"),
        pytest.param(False, True, False, id="many in a narrow pipe, which is full all the time"),
        pytest.param(True, False, False, id="one, which somebody waits for"),
    ],
)
def test_git_is_let_run_ahead_where_it_can(
    is_wide: bool, many: bool, waits: bool, repository: Repository, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps: list[float] = []
    monkeypatch.setattr(under_test, "_widen", lambda stream: is_wide)
    monkeypatch.setattr(under_test.time, "sleep", naps.append)
    blob = repository.blob(b"x")
    batch = opened(many=many)
    batch.feed([blob])
    assert batch.whole(batch.answer(blob)) == b"x"
    assert bool(naps) is waits


NAME = sha1(b"blob 4\0good").hexdigest()


@pytest.mark.parametrize(
    ("arrived", "expected"),
    [
        pytest.param(f"{NAME} blob 4\ngood\n", b"good", id="all of it"),
        pytest.param(f"{NAME} blob 4\ngood\n{NAME} blob", b"good", id="and more"),
        pytest.param("", None, id="nothing"),
        pytest.param(f"{NAME} blob", None, id="a part of its first line"),
        pytest.param(f"{NAME} blob 4\ngoo", None, id="a part of it"),
        pytest.param(f"{NAME} blob 4\ngood", None, id="all but its end"),
        pytest.param(f"{NAME} blob 4\ngoodness\n", None, id="more than it said"),
        pytest.param(f"{NAME} blob 4\nevil\n", None, id="other bytes"),
        pytest.param(f"{NAME} tree 4\ngood\n", None, id="another kind"),
        pytest.param(f"{'12' * 20} blob 4\ngood\n", None, id="another object"),
        pytest.param(f"{NAME} missing\n", None, id="missing"),
        pytest.param(f"{NAME} blob -4\ngood\n", None, id="no number"),
        pytest.param(f"{NAME} blob {'9' * 5000}\ngood\n", None, id="a number without an end"),
    ],
)
def test_what_has_arrived_is_taken_at_once(arrived: str, expected: bytes | None, opened: Open) -> None:
    batch = opened()
    batch._buffer = b"before" + arrived.encode()
    batch._at = len(b"before")
    assert batch.next_buffered(NAME, "blob") == expected
    read = f"{NAME} blob 4\ngood\n" if expected else ""
    assert batch._at == len(b"before" + read.encode())  # what is not taken is left for the careful way


def test_what_is_not_there(repository: Repository, opened: Open) -> None:
    there = repository.blob(b"x")
    batch = opened()
    assert asked(batch, "12" * 20) == Header("12" * 20, MISSING, 0)
    assert batch.whole(asked(batch, there)) == b"x"


def tampered(repository: Repository) -> str:
    """A loose object with other bytes than its name says: git gives them out."""
    blob = repository.blob(b"good")
    repository.damage(blob, zlib.compress(b"blob 4\0evil"))
    return blob


@pytest.mark.parametrize(
    "read", [Batch.whole, lambda batch, header: list(batch.pieces(header))], ids=["whole", "pieces"]
)
def test_other_bytes_than_the_id_says(
    read: Callable[[Batch, Header], object], repository: Repository, opened: Open
) -> None:
    blob = tampered(repository)
    batch = opened()
    refusal(CorruptArchiveError, "corrupt-archive", read, batch, asked(batch, blob))


def test_an_object_that_git_cannot_read(repository: Repository, opened: Open) -> None:
    blob = repository.blob(b"good")
    repository.damage(blob, b"rubbish")
    batch = opened()
    assert asked(batch, blob).kind == MISSING


def test_too_large_to_hold(repository: Repository, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "METADATA_BYTES", 3)
    blob = repository.blob(b"long")
    batch = opened()
    refusal(LimitExceededError, "limit-exceeded/metadata", batch.whole, asked(batch, blob))


def test_a_process_that_does_not_answer_is_ended_in_time(tmp_path: Path, repository: Repository) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nsleep 1000\n", encoding="ascii")
    program.chmod(0o755)
    git = a_git(
        environ={"PATH": f"{program.parent}:/bin:/usr/bin"}, limits=Limits(seconds=1), deadline=Deadline.after(1)
    )
    batch = Batch(a_store_of(repository, tmp_path), git)
    try:
        refusal(NetworkError, "network/timeout", asked, batch, "12" * 20)
    finally:
        batch.close()


def test_closed_while_questions_are_on_their_way(repository: Repository, opened: Open) -> None:
    ids = [repository.blob(bytes(100_000) + b"%d" % number) for number in range(50)]
    batch = opened(many=True)
    batch.feed(ids)
    batch.whole(batch.answer(ids[0]))
    batch.close()
