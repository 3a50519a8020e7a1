"""Image layouts: read as other tools make them, and written so that nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.api.ports import Context
from getmodules.errors import (
    CorruptArchiveError,
    DigestMismatchError,
    FetchError,
    GetModulesError,
    LimitExceededError,
    NotFoundError,
    UnsupportedContentError,
)
from getmodules.getters.oci.layout import Layout
from getmodules.getters.oci.repository import OCI_INDEX, OCI_MANIFEST, Descriptor, referrers_tag
from getmodules.util.digest import Digest
from tests.support.layouts import ONE, THREE, TWO, HandMade, a_manifest, encoded, raw, sha256
from tests.support.refusals import refusal


def test_by_digest(made: HandMade, context: Context) -> None:
    listed = made.manifest(ONE, "1.0.0")
    unlisted = made.blob(TWO)
    untyped = made.blob(encoded({"schemaVersion": 2, "manifests": []}))
    layout = Layout(made.path)
    assert layout.manifest(listed, context) == raw(ONE)
    assert layout.manifest(unlisted, context) == raw(TWO)
    assert layout.manifest(untyped, context).media_type == OCI_INDEX
    error = refusal(NotFoundError, "not-found", layout.manifest, sha256(THREE), context)
    assert "getmodules tags" in (error.typed_hint or "")


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
    error = refusal(kind, code, Layout(made.path).manifest, "1.0.0", context)
    if "no file 'index.json'" in error.message:
        assert "copy it again" in (error.hint or "").lower()


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos on this system")
def test_a_fifo_is_no_layout_and_is_not_waited_for(context: Context, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "layout.tar")
    refusal(FetchError, "fetch/unreadable", Layout(tmp_path / "layout.tar").manifest, "1", context)
