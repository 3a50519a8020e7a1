"""Rooms for getters."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from getmodules import Context, Limits, NetworkError
from tests.support.fakes import FakeGetter, a_pin, client_with, members_of
from tests.support.refusals import refusal
from tests.support.stores import caching_client, nothing_half


def test_a_getter_works_in_its_workshop_and_is_alone_there(tmp_path: Path) -> None:
    seen: list[Path] = []

    def work(context: Context) -> None:
        for _ in range(2):
            with context.workshop("https://h/repository") as room:
                seen.append(room)
                (room / "object").touch()
        with context.workshop("https://h/other") as room:
            assert list(room.iterdir()) == []

    getter = FakeGetter(answer=members_of(), during_fetch=work)
    client_with(getter).get("fake://h/x", tmp_path / "dest")
    assert seen[0] == seen[1]
    assert not seen[0].exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["dest"]


def test_who_waits_for_a_room_waits_no_longer_than_the_deadline(tmp_path: Path) -> None:
    """Even for himself."""

    def work(context: Context) -> None:
        with context.workshop("key"), context.workshop("key"):
            raise AssertionError("two in one room")

    client = client_with(FakeGetter(answer=members_of(), during_fetch=work))
    refusal(NetworkError, "network/timeout", client.get, "fake://h/x", tmp_path / "dest", limits=Limits(seconds=1))
    assert list(tmp_path.iterdir()) == []


def test_a_workshop_without_a_destination_is_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    rooms: list[Path] = []

    def resolve(package: Any, context: Context) -> Any:
        with context.workshop("key") as room:
            rooms.append(room)
        return a_pin()

    client_with(FakeGetter(pin=resolve)).resolve("fake://h/x")
    assert rooms[0].is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_in_a_store_a_room_stays_for_the_next_run(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def work(context: Context) -> None:
        with context.workshop("https://h/repository") as room:
            seen.append(os.listdir(room))
            (room / "object").touch()

    getter = FakeGetter(answer=members_of(), during_fetch=work)
    for name in ("one", "two"):
        caching_client(tmp_path / "store", getter).get("fake://h/x", tmp_path / name)
    assert seen == [[], ["object"]]
    nothing_half(tmp_path / "store")


def test_two_are_never_in_one_room(tmp_path: Path) -> None:
    inside: list[int] = []

    def work(context: Context) -> None:
        with context.workshop("key") as room:
            inside.append(1)
            (room / "alone").touch(exist_ok=False)
            (room / "alone").unlink()
            inside.pop()
            assert inside == []

    client = caching_client(tmp_path / "store", FakeGetter(answer=lambda *_: members_of(), during_fetch=work))
    with ThreadPoolExecutor(6) as pool:
        for number in range(6):
            pool.submit(client.get, f"fake://h/{number}", tmp_path / str(number))
    assert sorted(os.listdir(tmp_path)) == [*map(str, range(6)), "store"]
