"""Writing into layouts: nothing is lost, and nothing is half there."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from getmodules.api.ports import Context
from getmodules.errors import (
    ContentError,
    DestinationExistsError,
    DigestMismatchError,
    FetchError,
    InstallError,
)
from getmodules.getters.oci.layout import Layout
from getmodules.util.digest import Digest
from tests.support.layouts import ONE, REF_NAME, THREE, TWO, HandMade, a_manifest, raw, sha256
from tests.support.processes import run, start, strike_at, wait
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot


def put(layout: Layout, body: bytes, tag: str, context: Context, *, replace: bool = False) -> None:
    layout.put_manifest(tag, raw(body), context, replace=replace)


def test_a_layout_is_made_where_there_is_none(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    put(Layout(path), ONE, "1.0.0", context)
    assert json.loads((path / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    assert sorted(each.name for each in path.iterdir()) == ["blobs", "index.json", "oci-layout"]
    assert Layout(path).manifest("1.0.0", context).body == ONE


def test_what_other_tools_wrote_is_kept(made: HandMade, context: Context) -> None:
    made.manifest(TWO, "other", platform={"os": "linux"}, annotations={"x": "y"}, unknown=[1, {"a": None}])
    made.write(annotations={"of": "the index"}, unknown=1.5)
    before = made.read_index()
    put(Layout(made.path), ONE, "1.0.0", context)
    after = made.read_index()
    assert after["manifests"][0] == before["manifests"][0]
    assert {**after, "manifests": []} == {**before, "manifests": []}
    assert after["manifests"][1]["annotations"] == {REF_NAME: "1.0.0"}


def test_a_tag_that_moves_leaves_its_manifest_listed(made: HandMade, context: Context) -> None:
    made.manifest(ONE, "1.0.0", annotations={"x": "y"})
    put(Layout(made.path), TWO, "1.0.0", context, replace=True)
    first, second = made.read_index()["manifests"]
    assert (first["digest"], first["annotations"]) == (sha256(ONE), {"x": "y"})
    assert (second["digest"], second["annotations"]) == (sha256(TWO), {REF_NAME: "1.0.0"})
    put(Layout(made.path), ONE, "1.0.0", context, replace=True)
    assert [each["digest"] for each in made.read_index()["manifests"]].count(sha256(ONE)) >= 1
    assert Layout(made.path).manifest(sha256(TWO), context).body == TWO


def test_a_tag_keeps_what_it_has_got_in_the_meantime(made: HandMade, context: Context) -> None:
    made.manifest(ONE, "1.0.0")
    before = made.read_index()
    refusal(DestinationExistsError, "destination-exists", put, Layout(made.path), TWO, "1.0.0", context)
    assert made.read_index() == before
    put(Layout(made.path), ONE, "1.0.0", context)


def test_by_digest_it_is_listed_once_without_a_name(made: HandMade, context: Context) -> None:
    for _ in range(2):
        Layout(made.path).put_manifest(sha256(ONE), raw(ONE), context, replace=False)
    (entry,) = made.read_index()["manifests"]
    assert "annotations" not in entry
    refusal(
        DigestMismatchError,
        "digest-mismatch",
        partial(Layout(made.path).put_manifest, sha256(TWO), raw(ONE), context, replace=False),
    )


@pytest.mark.parametrize(
    ("size", "content"),
    [
        pytest.param(4, b"blub", id="another-content"),
        pytest.param(5, b"blob", id="shorter"),
        pytest.param(3, b"blob", id="longer"),
    ],
)
def test_a_blob_that_is_something_else_is_not_written(
    made: HandMade, context: Context, size: int, content: bytes
) -> None:
    before = snapshot(made.path)
    digest = Digest.parse(sha256(b"blob"))
    refusal(
        DigestMismatchError, "digest-mismatch", Layout(made.path).put_blob, digest, size, lambda: (content,), context
    )
    assert snapshot(made.path) == before


def test_a_source_that_fails_leaves_nothing(made: HandMade, context: Context) -> None:
    def chunks() -> object:
        yield b"bl"
        raise FetchError("it is gone", part="changed")

    before = snapshot(made.path)
    refusal(FetchError, "fetch/changed", Layout(made.path).put_blob, Digest.parse(sha256(b"blob")), 4, chunks, context)
    assert snapshot(made.path) == before


def test_a_damaged_blob_is_not_taken_for_there(made: HandMade, context: Context) -> None:
    digest = Digest.parse(made.blob(b"blob"))
    layout = Layout(made.path)
    assert layout.has_blob(digest, context)
    made.blob_path(str(digest)).write_bytes(b"blub")
    assert not layout.has_blob(digest, context)
    layout.put_blob(digest, 4, lambda: (b"blob",), context)
    assert layout.has_blob(digest, context)


def test_nothing_is_written_through_a_link(made: HandMade, context: Context, tmp_path: Path) -> None:
    (tmp_path / "canary").mkdir()
    (made.path / "blobs/sha256").rmdir()
    (made.path / "blobs/sha256").symlink_to(tmp_path / "canary")
    refusal(
        InstallError, "install", Layout(made.path).put_blob, Digest.parse(sha256(b"x")), 1, lambda: (b"x",), context
    )
    assert list((tmp_path / "canary").iterdir()) == []


def test_what_is_no_layout_is_not_written_to(context: Context, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    before = snapshot(tmp_path / "precious")
    with pytest.raises(ContentError):
        put(Layout(tmp_path / "precious"), ONE, "1.0.0", context)
    assert snapshot(tmp_path / "precious") == before


def test_an_interrupted_making_is_taken_up(context: Context, tmp_path: Path) -> None:
    (tmp_path / "layout").mkdir()
    (tmp_path / "layout" / "oci-layout").touch()
    put(Layout(tmp_path / "layout"), ONE, "1.0.0", context)
    assert Layout(tmp_path / "layout").manifest("1.0.0", context).body == ONE


def test_eight_processes_lose_nothing(context: Context, tmp_path: Path) -> None:
    path, each_has = tmp_path / "layout", 6

    def child(number: int) -> None:
        for turn in range(each_has):
            put(Layout(path), a_manifest(number=number, turn=turn), f"{number}.{turn}", context)

    children = [start(partial(child, number)) for number in range(8)]
    assert [wait(pid) for pid in children] == [0] * 8
    layout = Layout(path)
    assert sorted(layout.tags(context)) == sorted(f"{n}.{t}" for n in range(8) for t in range(each_has))
    assert layout.manifest("7.5", context).body == a_manifest(number=7, turn=5)
    assert sorted(entry.name for entry in path.iterdir()) == ["blobs", "index.json", "oci-layout"]


def test_eight_processes_on_one_tag_have_one_winner(context: Context, tmp_path: Path) -> None:
    path = tmp_path / "layout"

    def child(number: int) -> int:
        try:
            put(Layout(path), a_manifest(number=number), "1.0.0", context)
        except DestinationExistsError:
            return 3
        return 0

    codes = [wait(pid) for pid in [start(partial(child, number)) for number in range(8)]]
    assert sorted(codes) == [0] + [3] * 7
    winner = codes.index(0)
    assert Layout(path).manifest("1.0.0", context).body == a_manifest(number=winner)


@pytest.mark.slow
@pytest.mark.parametrize("there", [pytest.param(False, id="making-it"), pytest.param(True, id="it-is-there")])
def test_whoever_is_killed_whenever_leaves_a_layout_that_works(context: Context, tmp_path: Path, there: bool) -> None:
    """SIGKILL instead of each thing that a writer does to the file system, from the making to the end."""
    finished, number = False, 0
    while not finished:
        number += 1
        path = tmp_path / str(number)
        if there:
            put(Layout(path), ONE, "kept", context)

        def child(number: int = number, path: Path = path) -> None:
            strike_at(number, lambda: os.kill(os.getpid(), signal.SIGKILL))
            put(Layout(path), TWO, "struck", context)

        finished = run(child) == 0
        put(Layout(path), THREE, "after", context)
        layout = Layout(path)
        assert layout.manifest("after", context).body == THREE
        assert not there or layout.manifest("kept", context).body == ONE
        assert set(layout.tags(context)) <= {"kept", "struck", "after"}
        if "struck" in layout.tags(context):
            assert layout.manifest("struck", context).body == TWO
        assert sorted(entry.name for entry in path.iterdir()) == ["blobs", "index.json", "oci-layout"]
    assert number > 20
