"""Image layouts: read as other tools make them, and written so that nothing is lost."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from getmodules.digest import Digest
from getmodules.errors import (
    ContentError,
    CorruptArchiveError,
    DestinationExistsError,
    DigestMismatchError,
    FetchError,
    GetModulesError,
    InstallError,
    LimitExceededError,
    NotFoundError,
    UnsafeContentError,
    UnsupportedContentError,
)
from getmodules.limits import Limits
from getmodules.oci.layout import Layout
from getmodules.oci.repository import OCI_INDEX, OCI_MANIFEST, Descriptor, RawManifest, referrers_tag
from getmodules.ports import Context
from tests.contexts import a_context
from tests.processes import start, wait
from tests.refusals import refusal
from tests.snapshots import snapshot
from tests.unit.oci.layouts import REF_NAME, HandMade, a_manifest, encoded, sha256

ONE, TWO, THREE = a_manifest(), a_manifest(n=2), a_manifest(n=3)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return a_context(tmp_path)


@pytest.fixture
def made(tmp_path: Path) -> HandMade:
    return HandMade(tmp_path / "layout")


def raw(body: bytes, media_type: str = OCI_MANIFEST) -> RawManifest:
    return RawManifest(media_type=media_type, body=body)


def packed(made: HandMade, tar: Path, prefix: str = "") -> Path:
    with tarfile.open(tar, "w") as archive:
        archive.add(made.path, prefix or ".")
    return tar


# ------------------------------------------------------------------------------------------------ tags


@pytest.mark.parametrize(
    ("names", "tag", "found"),
    [
        pytest.param(["1.0.0", "2.0.0"], "2.0.0", TWO, id="exact"),
        pytest.param(["docker.io/acme/vpc:1.0.0", "x"], "1.0.0", ONE, id="containerds-full-name"),
        pytest.param(["h/a:1.0.0", "1.0.0"], "1.0.0", TWO, id="exact-before-full"),
        pytest.param([None], "latest", ONE, id="the-only-one-without-a-name"),
        pytest.param(["1.0.0", "1.0.0", "1.0.0"], "1.0.0", None, id="three-under-one-tag"),
        pytest.param(["a:1.0.0", "b:1.0.0"], "1.0.0", None, id="two-full-names-that-end-alike"),
    ],
)
def test_tags_as_other_tools_write_them(
    made: HandMade, context: Context, names: list[str | None], tag: str, found: bytes | None
) -> None:
    for body, name in zip((ONE, TWO, THREE), names, strict=False):
        made.manifest(body, name)
    read = partial(Layout(made.path).manifest, tag, context)
    if found is None:
        refusal(UnsafeContentError, "unsafe-content/ambiguous-archive", read)
    else:
        assert read().body == found


def test_one_manifest_twice_under_one_tag_is_that_manifest(made: HandMade, context: Context) -> None:
    made.manifest(ONE, "1.0.0")
    made.manifest(ONE, "1.0.0")
    assert Layout(made.path).manifest("1.0.0", context).body == ONE


@pytest.mark.parametrize(
    ("names", "tag"),
    [
        pytest.param(["1.0.0"], "2.0.0", id="another-tag"),
        pytest.param([None, None], "latest", id="two-without-a-name"),
        pytest.param([None, "1.0.0"], "latest", id="not-the-only-one"),
        pytest.param([None], "1.0.0", id="a-name-was-asked-for"),
        pytest.param(["x1.0.0"], "1.0.0", id="no-colon-before-it"),
        pytest.param([], "latest", id="nothing-there"),
    ],
)
def test_a_tag_that_is_not_there(made: HandMade, context: Context, names: list[str | None], tag: str) -> None:
    for body, name in zip((ONE, TWO), names, strict=False):
        made.manifest(body, name)
    refusal(NotFoundError, "not-found", Layout(made.path).manifest, tag, context)


def test_the_tags_in_their_order(made: HandMade, context: Context) -> None:
    for name in ("2.0.0", "docker.io/x:1.0.0", None, "1.0.0", "a name", "2.0.0"):
        made.manifest(ONE, name)
    assert list(Layout(made.path).tags(context)) == ["2.0.0", "1.0.0"]


def test_by_digest(made: HandMade, context: Context) -> None:
    listed = made.manifest(ONE, "1.0.0")
    unlisted = made.blob(TWO)
    untyped = made.blob(encoded({"schemaVersion": 2, "manifests": []}))
    layout = Layout(made.path)
    assert layout.manifest(listed, context) == raw(ONE)
    assert layout.manifest(unlisted, context) == raw(TWO)
    assert layout.manifest(untyped, context).media_type == OCI_INDEX
    refusal(NotFoundError, "not-found", layout.manifest, sha256(THREE), context)


# ------------------------------------------------------------------------------------- tars of layouts


@pytest.mark.parametrize("prefix", [pytest.param("", id="dot"), pytest.param("/", id="bare")])
def test_a_tar_of_a_layout(made: HandMade, context: Context, tmp_path: Path, prefix: str) -> None:
    digest = made.manifest(ONE, "1.0.0")
    blob = made.blob(b"x" * 100_000)
    layout = Layout(packed(made, tmp_path / "layout.tar", prefix))
    assert layout.manifest("1.0.0", context).body == ONE
    assert layout.manifest(digest, context).body == ONE
    descriptor = Descriptor(media_type="x", digest=Digest.parse(blob), size=100_000)
    assert b"".join(layout.blob(descriptor, context)) == b"x" * 100_000
    assert list(layout.tags(context)) == ["1.0.0"]


def test_a_tar_is_not_written_to(made: HandMade, context: Context, tmp_path: Path) -> None:
    tar = packed(made, tmp_path / "layout.tar")
    before = tar.read_bytes()
    refusal(InstallError, "install", Layout(tar).for_publishing)
    assert tar.read_bytes() == before


def test_a_tar_with_two_files_of_one_name(made: HandMade, context: Context, tmp_path: Path) -> None:
    tar = packed(made, tmp_path / "layout.tar")
    with tarfile.open(tar, "a") as archive:
        archive.add(made.path / "index.json", "index.json")
    refusal(UnsafeContentError, "unsafe-content/ambiguous-archive", Layout(tar).manifest, "x", context)


def test_a_tar_with_too_many_files(made: HandMade, context: Context, tmp_path: Path) -> None:
    few = a_context(tmp_path, limits=Limits(entries=3))
    refusal(LimitExceededError, "limit-exceeded/entries", Layout(packed(made, tmp_path / "x.tar")).manifest, "x", few)


def test_what_is_neither_a_directory_nor_a_tar(context: Context, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK\3\4" + bytes(600))
    refusal(CorruptArchiveError, "corrupt-archive", Layout(tmp_path / "x.zip").manifest, "x", context)


# --------------------------------------------------------------------------------------- broken layouts


def _remove(name: str) -> Callable[[HandMade], object]:
    return lambda made: (made.path / name).unlink()


def _mark(text: str) -> Callable[[HandMade], object]:
    return lambda made: (made.path / "oci-layout").write_text(text)


def _index(text: str) -> Callable[[HandMade], object]:
    return lambda made: (made.path / "index.json").write_text(text)


def _entry(**changes: object) -> Callable[[HandMade], object]:
    def change(made: HandMade) -> None:
        made.entries[0].update(changes)
        made.write()

    return change


def _link_blobs(made: HandMade) -> None:
    (made.path / "blobs").rename(made.path / "elsewhere")
    (made.path / "blobs").symlink_to("elsewhere")


def _link_blob(made: HandMade) -> None:
    path = made.blob_path(sha256(ONE))
    path.rename(made.path / "elsewhere")
    path.symlink_to(made.path / "elsewhere")


def _fifo(made: HandMade) -> None:
    made.blob_path(sha256(ONE)).unlink()
    os.mkfifo(made.blob_path(sha256(ONE)))


BROKEN = [
    pytest.param(_remove("oci-layout"), UnsupportedContentError, "unsupported-content", id="no-mark"),
    pytest.param(_remove("index.json"), UnsupportedContentError, "unsupported-content", id="no-index"),
    pytest.param(_mark(""), NotFoundError, "not-found", id="being-made"),
    pytest.param(_mark("{}"), CorruptArchiveError, "corrupt-archive", id="mark-without-version"),
    pytest.param(_mark('{"imageLayoutVersion":"2.0"}'), UnsupportedContentError, "unsupported-content", id="version"),
    pytest.param(_mark(" " * 5_000), LimitExceededError, "limit-exceeded/metadata", id="huge-mark"),
    pytest.param(_index(""), CorruptArchiveError, "corrupt-archive", id="empty-index"),
    pytest.param(_index("[]"), CorruptArchiveError, "corrupt-archive", id="list"),
    pytest.param(_index('{"schemaVersion":1,"manifests":[]}'), CorruptArchiveError, "corrupt-archive", id="schema"),
    pytest.param(_index('{"schemaVersion":2}'), CorruptArchiveError, "corrupt-archive", id="no-manifests"),
    pytest.param(
        _index('{"schemaVersion":2,"manifests":[],"manifests":[]}'), CorruptArchiveError, "corrupt-archive", id="twice"
    ),
    pytest.param(_index(" " * (9 << 20)), LimitExceededError, "limit-exceeded/metadata", id="huge-index"),
    pytest.param(_entry(digest="sha256:../../x"), CorruptArchiveError, "corrupt-archive", id="digest-is-a-path"),
    pytest.param(_entry(digest="md5:" + "0" * 32), CorruptArchiveError, "corrupt-archive", id="weak-digest"),
    pytest.param(_entry(size=-1), CorruptArchiveError, "corrupt-archive", id="negative-size"),
    pytest.param(_entry(size=1), DigestMismatchError, "digest-mismatch", id="wrong-size"),
    pytest.param(_entry(digest=sha256(TWO)), NotFoundError, "not-found", id="no-blob"),
    pytest.param(_link_blobs, FetchError, "fetch/unreadable", id="linked-directory"),
    pytest.param(_link_blob, FetchError, "fetch/unreadable", id="linked-blob"),
    pytest.param(_fifo, FetchError, "fetch/unreadable", id="fifo"),
    pytest.param(
        lambda made: made.blob_path(sha256(ONE)).write_bytes(TWO[: len(ONE)]),
        DigestMismatchError,
        "digest-mismatch",
        id="tampered",
    ),
]


@pytest.mark.parametrize(("damage", "kind", "code"), BROKEN)
def test_a_broken_layout(
    made: HandMade, context: Context, damage: Callable[[HandMade], object], kind: type[GetModulesError], code: str
) -> None:
    made.manifest(ONE, "1.0.0")
    damage(made)
    refusal(kind, code, Layout(made.path).manifest, "1.0.0", context)


def test_a_manifest_that_is_too_large(made: HandMade, context: Context) -> None:
    made.manifest(a_manifest(x="x" * (5 << 20)), "1.0.0")
    refusal(LimitExceededError, "limit-exceeded/metadata", Layout(made.path).manifest, "1.0.0", context)


def test_there_is_no_layout(context: Context, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "nothing", tmp_path / "empty", tmp_path / "file" / "below"):
        refusal(NotFoundError, "not-found", Layout(path).manifest, "1.0.0", context)
        assert not Layout(path).has_blob(Digest.parse(sha256(b"")), context)


def test_the_layout_itself_may_be_behind_a_link(made: HandMade, context: Context, tmp_path: Path) -> None:
    made.manifest(ONE, "1.0.0")
    (tmp_path / "link").symlink_to(made.path)
    assert Layout(tmp_path / "link").manifest("1.0.0", context).body == ONE


@pytest.mark.parametrize(
    ("size", "kind", "code"),
    [
        pytest.param(4, None, "", id="as-it-says"),
        pytest.param(3, DigestMismatchError, "digest-mismatch", id="longer"),
        pytest.param(5, DigestMismatchError, "digest-mismatch", id="shorter"),
    ],
)
def test_blobs(made: HandMade, context: Context, size: int, kind: type[GetModulesError] | None, code: str) -> None:
    descriptor = Descriptor(media_type="x", digest=Digest.parse(made.blob(b"blob")), size=size)
    read = lambda: b"".join(Layout(made.path).blob(descriptor, context))  # noqa: E731
    if kind is None:
        assert read() == b"blob"
    else:
        refusal(kind, code, read)


# ----------------------------------------------------------------------------------------- referrers


def test_referrers_by_subject_and_by_the_fallback_tag(made: HandMade, context: Context) -> None:
    subject = made.manifest(ONE, "1.0.0")
    refers = {"mediaType": OCI_MANIFEST, "digest": subject, "size": len(ONE)}
    by_subject = made.manifest(a_manifest(subject=refers), None)
    made.manifest(a_manifest(note=f"mentions {subject} only"), None)
    fallback = a_manifest(subject=refers, n=4)
    index = {
        "schemaVersion": 2,
        "mediaType": OCI_INDEX,
        "manifests": [{"mediaType": OCI_MANIFEST, "digest": made.blob(fallback), "size": len(fallback)}],
    }
    made.manifest(encoded(index), referrers_tag(Digest.parse(subject)), OCI_INDEX)
    found = Layout(made.path).referrers(Digest.parse(subject), context)
    assert [str(each.digest) for each in found] == [by_subject, sha256(fallback)]


# -------------------------------------------------------------------------------------------- writing


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
