"""The library's face."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from getmodules import Client, Context, Evidence, GetModulesError, Origin, Secret
from tests.support.fakes import (
    FILES,
    OTHER_SHA256,
    ZIP,
    ZIP_H1,
    ZIP_SHA256,
    FakeCredentials,
    FakeGetter,
    FakePlugin,
    Recorder,
    blob,
    client_with,
    installed_files,
    members_of,
)
from tests.support.snapshots import snapshot


def test_one_client_serves_many_threads(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)))
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda number: client.get("fake://h/p.zip", tmp_path / str(number)), range(16)))
    assert {result.h1 for result in results} == {ZIP_H1}
    assert len(list(tmp_path.iterdir())) == 16


def test_the_cache_stays_where_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever directory the program goes to."""
    plugin = FakePlugin(FakeGetter(answer=lambda *_: blob(ZIP)))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    client = Client(environ={"GETMODULES_PLUGINS": ""}, plugins=(plugin,), cache_dir="cache")
    monkeypatch.chdir(tmp_path / "elsewhere")
    client.get("fake://h/p.zip", tmp_path / "dest")
    assert (tmp_path / "cache/version").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_no_secret_comes_back_out(tmp_path: Path) -> None:
    source = "fake://user:hunter2@h/p.zip?version=1"
    recorder = Recorder()
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)), progress=recorder)
    installed = client.get(source, tmp_path / "dest")
    with pytest.raises(GetModulesError) as caught:
        client.get(source, tmp_path / "other", expect=f"sha256:{OTHER_SHA256}")
    said = f"{installed} {caught.value.as_json()} {caught.value} {recorder.events}"
    assert "hunter2" not in said
    assert "user:****@h" in said


def test_what_is_pinned_can_be_had_again_by_its_pin(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: blob(ZIP)))
    first = client.get("fake://h/package.zip//sub", tmp_path / "one")
    again = client.get(str(first.pinned), tmp_path / "two")
    assert (again.pinned, again.h1, again.id) == (first.pinned, first.h1, first.id)
    assert again.evidence == (
        Evidence(check="checksum", subject="archive", value=f"sha256:{ZIP_SHA256}", by="the address"),
    )


def test_a_getter_gets_credentials_for_one_origin_only(tmp_path: Path) -> None:
    found: list[Any] = []

    def look(context: Context) -> None:
        for origin in (Origin("https", "h.example", 443), Origin("http", "h.example", 80)):
            found.append(context.credentials(origin, "/x"))

    getter = FakeGetter(answer=members_of(), during_fetch=look)
    client_with(getter, credentials=(FakeCredentials(),)).get("fake://h/x", tmp_path / "dest")
    assert found[0].secret == Secret("s3cr3t")
    assert found[1] is None


@pytest.mark.parametrize("occupant", ["a file", "a link", "a work tree"])
def test_a_destination_that_nothing_can_replace_is_refused_before_anything_is_asked(
    occupant: str, tmp_path: Path
) -> None:
    if occupant == "a file":
        (tmp_path / "dest").write_text("mine")
    elif occupant == "a link":
        (tmp_path / "dest").symlink_to(tmp_path)
    else:
        (tmp_path / "dest/.git").mkdir(parents=True)
    getter = FakeGetter(answer=members_of())
    before = snapshot(tmp_path)
    with pytest.raises(GetModulesError) as caught:
        client_with(getter).get("fake://h/x", tmp_path / "dest")
    assert caught.value.code == "destination-exists"
    assert getter.asked == []
    assert snapshot(tmp_path) == before


def test_a_destination_with_something_in_it_is_refused_but_by_force(tmp_path: Path) -> None:
    (tmp_path / "dest").mkdir()
    (tmp_path / "dest" / "mine").write_text("mine")
    getter = FakeGetter(answer=members_of())
    before = snapshot(tmp_path)
    with pytest.raises(GetModulesError) as caught:
        client_with(getter).get("fake://h/x", tmp_path / "dest")
    assert caught.value.code == "destination-exists"
    assert snapshot(tmp_path) == before
    client_with(getter).get("fake://h/x", tmp_path / "dest", force=True)
    assert installed_files(tmp_path / "dest") == FILES
