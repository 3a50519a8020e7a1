"""Known, resolved, fetched: with others who want the same at the same time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from getmodules import Blob, Digest, GetModulesError
from tests.support.fakes import ZIP, ZIP_H1, ZIP_SHA256, FakeGetter, Recorder, a_pin, blob
from tests.support.stores import blobs_of, caching_client, nothing_half

PATIENCE = 60


@pytest.mark.parametrize("promised", [False, True], ids=["unknown digest", "known digest"])
def test_of_many_one_downloads_and_the_others_say_that_they_wait(tmp_path: Path, promised: bool) -> None:
    """The one that downloads goes on when another one was heard to wait."""
    heard = threading.Event()
    reads: list[int] = []

    def chunks() -> Any:
        heard.wait(PATIENCE)
        reads.append(1)
        yield ZIP

    def answer(*_: Any) -> Blob:
        if not promised:
            return Blob(chunks=chunks(), name="p.zip")
        return Blob(chunks=chunks(), name="p.zip", digests=(Digest.of(ZIP, "sha512"),))

    class Watch(Recorder):
        def notice(self, package: str, message: str) -> None:
            super().notice(package, message)
            heard.set()

    getter = FakeGetter(answer=answer, pin=a_pin("v1"))
    recorder = Watch()
    client = caching_client(tmp_path / "store", getter, progress=recorder)
    results: list[str] = []

    def get(number: int) -> None:
        results.append(client.get("fake://h/p", tmp_path / f"d{number}").h1)

    threads = [threading.Thread(target=get, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert results == [ZIP_H1] * 6
    assert len(reads) == 1
    assert ("notice", "waiting for somebody else who fetches the same, or from the same place") in recorder.events
    assert len(blobs_of(tmp_path / "store")) == 1
    nothing_half(tmp_path / "store")


def test_when_the_one_that_downloads_fails_the_next_one_goes_on(tmp_path: Path) -> None:
    heard = threading.Event()
    attempts: list[int] = []

    def answer(*_: Any) -> Blob:
        attempts.append(1)
        if len(attempts) == 1:
            heard.wait(PATIENCE)
            return blob(ZIP[:-20])
        return blob(ZIP)

    class Watch(Recorder):
        def notice(self, package: str, message: str) -> None:
            heard.set()

    client = caching_client(tmp_path / "store", FakeGetter(answer=answer, pin=a_pin("v1")), progress=Watch())
    codes: list[str] = []

    def get(name: str) -> None:
        try:
            client.get("fake://h/p", tmp_path / name, expect=f"sha256:{ZIP_SHA256}")
            codes.append("ok")
        except GetModulesError as error:
            codes.append(error.code)

    threads = [threading.Thread(target=get, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(codes) == ["digest-mismatch", "ok"]
    assert len(attempts) == 2
    nothing_half(tmp_path / "store")


def test_of_a_known_package_nobody_waits(tmp_path: Path) -> None:
    """Two that only read may read at once."""
    recorder = Recorder()
    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=a_pin("v1"))
    client = caching_client(tmp_path / "store", getter, progress=recorder)
    client.get("fake://h/p", tmp_path / "first")
    threads = [threading.Thread(target=client.get, args=("fake://h/p", tmp_path / f"d{number}")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(list(tmp_path.iterdir())) == 10
    assert [event for event in recorder.events if event[0] == "notice"] == []
    assert [asked[0] for asked in getter.asked] == ["resolve", "fetch"]
