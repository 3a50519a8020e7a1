"""What earlier runs brought, in the place of asking and fetching again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from getmodules import Blob, Client, ConfigError, Digest, DigestMismatchError, Elsewhere, Unchanged
from getmodules.addresses.types import Arguments, PackageAddress
from getmodules.api.model import Layers, Pin
from getmodules.api.ports import Context
from getmodules.cache.records import PROOF_BYTES, PinRecord, RecordedBlob, Records
from getmodules.errors import OfflineError, PluginContractError, VerificationError
from getmodules.testing import tar_of
from tests.support.fakes import (
    FILES,
    ZIP,
    ZIP_H1,
    ZIP_SHA256,
    FakeGetter,
    Recorder,
    a_pin,
    blob,
    installed_files,
    members_of,
    routes,
    zip_of,
)
from tests.support.refusals import refusal
from tests.support.snapshots import snapshot
from tests.support.stores import blobs_of, caching_client, damage, nothing_half, path_of, records_of

OTHER = zip_of({"other.tf": b"# other\n"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


def asked(getter: FakeGetter) -> list[str]:
    """What the getter was asked since the last time."""
    names = [each[0] for each in getter.asked]
    getter.asked.clear()
    return names


def sha512(content: bytes) -> str:
    return f"sha512:{hashlib.sha512(content).hexdigest()}"


#: What the getter answers with, each time anew, and what it says of it.
ANSWERS: Mapping[str, Callable[..., Any]] = {
    "a blob": lambda *_: blob(ZIP),
    "a blob with a sha512": lambda *_: blob(ZIP, digests=(Digest.of(ZIP, "sha512"),)),
    "a blob by its media type": lambda *_: blob(ZIP, name=None, media_type="application/zip"),
    "a blob of a format": lambda *_: blob(ZIP, name="package", format="zip", key="layer"),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_what_is_pinned_by_a_plugin_is_fetched_once(root: Path, tmp_path: Path, answer: Callable[..., Any]) -> None:
    getter = FakeGetter(answer=answer, pin=a_pin("v1", proof=b"proof", commit="c1"))
    first = caching_client(root, getter).get("fake://h/p?version=1", tmp_path / "one")
    assert asked(getter) == ["resolve", "fetch"]
    again = caching_client(root, getter).get("fake://h/p?version=1", tmp_path / "two")
    assert (again.h1, again.id, again.digests, again.pinned) == (first.h1, first.id, first.digests, first.pinned)
    assert installed_files(tmp_path / "two") == FILES
    # A getter that promises a digest hands over a stream that nobody reads; another one is not called at all.
    assert asked(getter) == (["fetch"] if "sha512" in str(first.digests) else [])
    assert caching_client(root, getter).resolve("fake://h/p?version=1").id == "v1"
    assert asked(getter) == []
    nothing_half(root)


def test_a_stream_is_not_read_when_the_store_has_what_it_promises(root: Path, tmp_path: Path) -> None:
    read: list[int] = []

    def answer(*_: Any) -> Layers:
        def chunks(content: bytes) -> Any:
            read.append(len(content))
            yield content

        layers = (tar_of({"a": b"1"}), tar_of({"b": b"2"}))
        return Layers(
            blobs=tuple(
                Blob(chunks=chunks(each), digests=(Digest.of(each, algorithm),), size=len(each), format="tar")
                for each, algorithm in zip(layers, ("sha256", "sha512"), strict=True)
            )
        )

    getter = FakeGetter(answer=answer, pin=a_pin("v1"))
    first = caching_client(root, getter).get("fake://h/image", tmp_path / "one")
    assert len(read) == 2
    assert caching_client(root, getter).get("fake://h/image", tmp_path / "two").h1 == first.h1
    assert len(read) == 2
    assert {path.parts[-3] for path in blobs_of(root)} == {"sha256", "sha512"}


def test_a_mutable_address_is_resolved_each_time_and_fetched_once(root: Path, tmp_path: Path) -> None:
    def pin(package: PackageAddress, context: Context) -> Any:
        from getmodules import Pin

        pinned = package.with_arguments(package.arguments.with_value("version", "1"))
        return Pin(package=pinned, id="v1")

    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=pin)
    first = caching_client(root, getter).get("fake://h/p", tmp_path / "one")
    assert asked(getter) == ["resolve", "fetch"]
    again = caching_client(root, getter).get("fake://h/p", tmp_path / "two")
    assert asked(getter) == ["resolve"]
    assert (first.pinned, again.pinned) == ("fake://h/p?version=1",) * 2
    recorder = Recorder()
    offline = caching_client(root, getter, offline=True, progress=recorder)
    assert offline.get("fake://h/p//sub", tmp_path / "three").pinned == "fake://h/p//sub?version=1"
    assert asked(getter) == []
    (notice,) = [event[1] for event in recorder.events if event[0] == "notice"]
    assert notice.startswith("offline: as it was on 20")
    assert notice.endswith("UTC, fake://h/p?version=1")


def test_an_offline_run_does_not_make_what_it_knows_any_younger(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP))
    monkeypatch.setattr("getmodules.pipeline.cached.now", lambda: 1_000_000_000)
    caching_client(root, getter).get("fake://h/p", tmp_path / "one")
    monkeypatch.undo()
    for name in ("two", "three"):
        recorder = Recorder()
        caching_client(root, getter, offline=True, progress=recorder).get("fake://h/p", tmp_path / name)
        assert ("notice", f"offline: as it was on 2001-09-09 01:46 UTC, fake://h/p?checksum=sha256:{ZIP_SHA256}") in (
            recorder.events
        )


def test_what_is_pinned_by_its_bytes_is_fetched_once(root: Path, tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP))
    first = caching_client(root, getter).get("fake://h/p", tmp_path / "one")
    assert asked(getter) == ["resolve", "fetch"]
    again = caching_client(root, getter).get(str(first.pinned), tmp_path / "two")
    assert asked(getter) == []
    assert (again.pinned, again.h1, again.digests) == (first.pinned, first.h1, first.digests)


@pytest.mark.parametrize("algorithm", ["sha384", "sha512"])
def test_another_strong_checksum_pins_as_well(root: Path, tmp_path: Path, algorithm: str) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP))
    source = f"fake://h/p?checksum={Digest.of(ZIP, algorithm)}"
    first = caching_client(root, getter).get(source, tmp_path / "one")
    before = snapshot(root)
    getter.asked.clear()
    again = caching_client(root, getter).get(source, tmp_path / "two")
    assert asked(getter) == []
    assert (again.pinned, again.evidence) == (first.pinned, first.evidence)
    assert snapshot(root) == before


def test_a_weak_checksum_pins_nothing(root: Path, tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP))
    source = f"fake://h/p?checksum=md5:{hashlib.md5(ZIP).hexdigest()}"
    for name in ("one", "two"):
        caching_client(root, getter).get(source, tmp_path / name)
        assert asked(getter) == ["resolve", "fetch"]


@pytest.mark.parametrize("proof", [b"p", bytes(range(256)), bytes(PROOF_BYTES)], ids=["text", "any bytes", "large"])
def test_members_are_asked_for_each_time_and_resolved_once(root: Path, tmp_path: Path, proof: bytes) -> None:
    """The getter has them in its workshop, or it has not."""
    getter = FakeGetter(answer=lambda *_: members_of(), pin=a_pin("c1", proof=proof))
    for name, expected in (("one", ["resolve", "fetch"]), ("two", ["fetch"])):
        caching_client(root, getter).get("fake://h/repository", tmp_path / name)
        proofs = [each[3] for each in getter.asked if each[0] == "fetch"]
        assert (asked(getter), proofs) == (expected, [proof])


@pytest.mark.parametrize("proof", [object(), bytes(PROOF_BYTES + 1)], ids=["no bytes", "too many"])
def test_a_proof_that_cannot_be_kept_is_found_out_again(root: Path, tmp_path: Path, proof: object) -> None:
    getter = FakeGetter(answer=lambda *_: members_of(), pin=a_pin("c1", proof=proof))
    for name in ("one", "two"):
        caching_client(root, getter).get("fake://h/repository", tmp_path / name)
        assert asked(getter) == ["resolve", "fetch"]


def test_without_a_cache_nothing_is_kept(root: Path, tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=a_pin("v1"))
    for name in ("one", "two"):
        caching_client(root, getter, use_cache=False).get("fake://h/p", tmp_path / name)
        assert asked(getter) == ["resolve", "fetch"]
    assert not root.exists()


def test_who_wants_no_cache_is_not_told_that_its_place_is_wrong() -> None:
    wrong = {"GETMODULES_CACHE_DIR": "relative", "GETMODULES_PLUGINS": ""}
    assert Client(environ=wrong, use_cache=False).detect("/x.zip").package.getter == "file"
    refusal(ConfigError, "config", Client, environ=wrong)


def test_what_lies_on_this_machine_is_not_kept(root: Path, tmp_path: Path) -> None:
    (tmp_path / "p.zip").write_bytes(ZIP)
    client = caching_client(root)
    client.get(str(tmp_path / "p.zip"), tmp_path / "one")
    client.get(str(tmp_path / "one"), tmp_path / "two")
    offline = caching_client(root, offline=True)
    assert offline.get(str(tmp_path / "p.zip"), tmp_path / "three").h1 == ZIP_H1
    assert not root.exists()


# ------------------------------------------------------------------------------------------ does it still hold?


class Conditional(FakeGetter):
    """A source that says whether what was had of it still holds."""

    def __init__(self, content: bytes = ZIP) -> None:
        super().__init__()
        self.content = content
        self.heard: list[dict[str, str]] = []

    def fetch(self, pin: Any, wants: Any, context: Context) -> Any:
        heard = dict(context.validator(pin.package))
        self.heard.append(heard)
        tag = hashlib.sha256(self.content).hexdigest()
        return Unchanged() if heard.get("ETag") == tag else blob(self.content, validator={"ETag": tag})


@pytest.mark.parametrize("source", ["fake://h/p", "fake://h/p?archive=zip", "fake://h/p//sub?version=2"])
def test_what_still_holds_is_not_sent_again(root: Path, tmp_path: Path, source: str) -> None:
    getter = Conditional()
    installed = [caching_client(root, getter).get(source, tmp_path / name) for name in ("a", "b", "c")]
    assert [bool(heard) for heard in getter.heard] == [False, True, True]
    assert len({each.h1 for each in installed}) == 1
    assert len({each.pinned for each in installed}) == 1
    getter.content = zip_of({"sub/new.tf": b"new"})
    assert caching_client(root, getter).get(source, tmp_path / "d").h1 != installed[0].h1
    assert caching_client(root, getter).get(source, tmp_path / "e").h1 != installed[0].h1
    assert getter.heard[-1] != getter.heard[-2]


@pytest.mark.parametrize("harm", [damage, Path.unlink], ids=["damaged", "pruned"])
def test_nothing_is_said_of_what_is_gone(root: Path, tmp_path: Path, harm: Callable[[Path], None]) -> None:
    getter = Conditional()
    caching_client(root, getter).get("fake://h/p", tmp_path / "one")
    harm(path_of(root, Digest.of(ZIP)))
    assert caching_client(root, getter).get("fake://h/p", tmp_path / "two").h1 == ZIP_H1
    assert getter.heard == [{}, {}]
    nothing_half(root)


def test_a_getter_that_was_offered_nothing_cannot_say_that_it_holds(root: Path, tmp_path: Path) -> None:
    getter = FakeGetter(answer=Unchanged())
    client = caching_client(root, getter)
    error = refusal(PluginContractError, "plugin-contract", client.get, "fake://h/p", tmp_path / "one")
    assert "was offered nothing" in error.message
    assert not (tmp_path / "one").exists()


def test_of_other_packages_a_getter_hears_nothing(root: Path, tmp_path: Path) -> None:
    getter = Conditional()
    caching_client(root, getter).get("fake://h/p", tmp_path / "one")
    heard: list[Any] = []
    other = PackageAddress(getter="fake", url="fake://h/p")
    curious = FakeGetter(
        answer=lambda *_: blob(ZIP), during_fetch=lambda context: heard.append(dict(context.validator(other)))
    )
    caching_client(root, curious).get("fake://h/another", tmp_path / "two")
    assert heard == [{}]


# ---------------------------------------------------------------------------------------------------- elsewhere


def test_the_way_to_a_package_is_remembered_for_offline_runs(root: Path, tmp_path: Path) -> None:
    table = {"fake://h/module": Elsewhere(address="fake://h/p//sub"), "fake://h/p": None}
    getter = FakeGetter()
    getter.answer = lambda pin, *_: blob(ZIP) if pin.package.url == "fake://h/p" else routes(table)(pin)
    first = caching_client(root, getter).get("fake://h/module", tmp_path / "one")
    getter.asked.clear()
    again = caching_client(root, getter, offline=True).get("fake://h/module", tmp_path / "two")
    assert asked(getter) == []
    assert (again.h1, again.pinned) == (first.h1, first.pinned)
    deeper = caching_client(root, getter, offline=True).get("fake://h/module//deep", tmp_path / "three")
    assert deeper.pinned == f"fake://h/p//sub/deep?checksum=sha256:{ZIP_SHA256}"


# ------------------------------------------------------------------------------------------------------ damage


@pytest.mark.parametrize("harm", [damage, Path.unlink, lambda p: p.write_bytes(b"")], ids=["bit", "gone", "empty"])
def test_a_damaged_blob_is_fetched_again(root: Path, tmp_path: Path, harm: Callable[[Path], None]) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=a_pin("v1"))
    caching_client(root, getter).get("fake://h/p", tmp_path / "one")
    for path in blobs_of(root):
        harm(path)
    getter.asked.clear()
    assert caching_client(root, getter).get("fake://h/p", tmp_path / "two").h1 == ZIP_H1
    assert asked(getter) == ["resolve", "fetch"]
    assert caching_client(root, getter).get("fake://h/p", tmp_path / "three").h1 == ZIP_H1
    assert asked(getter) == []
    nothing_half(root)


def test_offline_a_damaged_blob_is_an_error_that_names_it(root: Path, tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=a_pin("v1"))
    caching_client(root, getter).get("fake://h/p", tmp_path / "one")
    damage(path_of(root, Digest.of(ZIP)))
    getter.asked.clear()
    client = caching_client(root, getter, offline=True)
    error = refusal(OfflineError, "offline", client.get, "fake://h/p", tmp_path / "two")
    assert f"sha256:{ZIP_SHA256} was damaged" in error.message
    assert "without --offline" in str(error.typed_hint)
    assert asked(getter) == []
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize("source", ["fake://h/p", "fake://h/p?version=1", "fake://h/p?checksum=sha512:" + "0" * 128])
def test_offline_what_is_not_there_is_missing(root: Path, tmp_path: Path, source: str) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=a_pin("v1"))
    client = caching_client(root, getter, offline=True)
    error = refusal(OfflineError, "offline", client.get, source, tmp_path / "one")
    assert error.address == source
    assert error.message == f"offline, with the cache {root}: the package is not in the cache"
    assert error.failed_at == str(root)
    refusal(OfflineError, "offline", client.resolve, source)
    assert asked(getter) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]


def test_offline_without_a_cache(tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP))
    client = caching_client(tmp_path / "c", getter, use_cache=False, offline=True)
    error = refusal(OfflineError, "offline", client.get, "fake://h/p", tmp_path / "one")
    assert error.message.startswith("offline, and without a cache: ")
    assert error.typed_hint == "run it without --offline: without a cache nothing is kept"
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------- what a record cannot do


def forge(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A record as somebody who knows our format would write it: its sum is right."""
    whole = json.loads(path.read_text())
    change(whole["record"])
    whole["sum"] = hashlib.sha256(json.dumps(whole["record"], sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(whole))


def the_record(root: Path, kind: str) -> Path:
    (path,) = records_of(root, kind)
    return path


def test_no_record_gets_around_the_checksum_of_an_address(root: Path, tmp_path: Path) -> None:
    getter = FakeGetter(answer=routes({"fake://h/p": None, "fake://h/other": None}))
    getter.answer = lambda pin, *_: blob(OTHER if pin.package.url == "fake://h/other" else ZIP)
    client = caching_client(root, getter)
    client.get(f"fake://h/other?checksum=sha256:{hashlib.sha256(OTHER).hexdigest()}", tmp_path / "other")
    source = f"fake://h/p?checksum=sha256:{ZIP_SHA256}"
    client.get(source, tmp_path / "one")
    for path in records_of(root, "pins"):
        forge(path, lambda record: record["brought"].update(digest=f"sha256:{hashlib.sha256(OTHER).hexdigest()}"))
    refusal(DigestMismatchError, "digest-mismatch", client.get, source, tmp_path / "two")
    assert not (tmp_path / "two").exists()


def test_offline_no_record_gets_around_the_checksum_that_was_asked_for(root: Path, tmp_path: Path) -> None:
    """What a mutable address meant is a record's word; what the user demanded of it still holds."""
    getter = FakeGetter()
    getter.answer = lambda pin, *_: blob(OTHER if pin.package.url == "fake://h/other" else ZIP)
    client = caching_client(root, getter)
    evil = client.get("fake://h/other", tmp_path / "other")
    for path in records_of(root, "refs"):
        path.unlink()
    md5 = hashlib.md5(ZIP).hexdigest()
    for number, source in enumerate((f"fake://h/p?checksum=md5:{md5}", f"fake://h/p?checksum={sha512(ZIP)}")):
        client.get(source, tmp_path / f"good-{number}")
        forge(the_record(root, "refs"), lambda record: record.update(address=evil.pinned))
        offline = caching_client(root, getter, offline=True)
        refusal(DigestMismatchError, "digest-mismatch", offline.get, source, tmp_path / "bad")
        assert not (tmp_path / "bad").exists()
        the_record(root, "refs").unlink()


def test_no_record_says_what_bytes_an_identity_has(root: Path, tmp_path: Path) -> None:
    """An address with a digest that only its getter understands: what is of it, only the getter knows."""
    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=a_pin("d1", proof=b"manifest"))
    client = caching_client(root, getter)
    client.get("fake://h/p?digest=d1", tmp_path / "one")
    with_blob = {"digest": f"sha256:{ZIP_SHA256}", "key": "archive", "name": "p.zip"}
    forge(the_record(root, "pins"), lambda record: record.update(brought=with_blob, proof=None))
    getter.asked.clear()
    client.get("fake://h/p?digest=d1", tmp_path / "two")
    assert asked(getter) == ["resolve", "fetch"]


class _Versioned(FakeGetter):
    """Its versions are mutable, and its pins name a digest."""

    version_argument = "version"


_BY_DIGEST = Pin(
    package=PackageAddress(getter="fake", url="fake://h/p", arguments=Arguments().with_value("digest", "d1")), id="d1"
)


class _Unresolved:
    """As the getter of web servers: it brings bytes, and knows nothing of what they are."""

    schemes = ("fake",)

    def fetch(self, pin: Any, wants: Any, context: Any) -> Blob:
        return blob(ZIP)


@pytest.mark.parametrize("offline", [False, True], ids=["online", "offline"])
@pytest.mark.parametrize(
    ("getter", "source"),
    [
        pytest.param(
            _Versioned(answer=lambda *_: blob(ZIP, digests=(Digest.of(ZIP),)), pin=_BY_DIGEST),
            "fake://h/p?version=1",
            id="a version",
        ),
        pytest.param(_Unresolved(), "fake://h/p", id="a file"),
    ],
)
def test_no_record_says_what_a_mutable_address_is(
    getter: Any, source: str, offline: bool, root: Path, tmp_path: Path
) -> None:
    good = caching_client(root, getter).get(source, tmp_path / "good")
    caching_client(root, FakeGetter(answer=lambda *_: blob(OTHER))).get("fake://h/other", tmp_path / "other")
    digest = f"sha256:{hashlib.sha256(OTHER).hexdigest()}"
    forged = Records(root, lambda: root / "forged")
    brought = RecordedBlob(digest=Digest.parse(digest), format="zip")
    for identity in (None, "d1"):
        forged.keep_pin(source, PinRecord(id=identity, brought=brought))
        client = caching_client(root, getter, offline=offline)
        again = client.get(source, tmp_path / f"again-{identity}")
        assert (again.h1, again.pinned) == (good.h1, good.pinned)


def test_no_record_says_that_an_identity_is_another_one(root: Path, tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: members_of(), pin=a_pin("d1"))
    client = caching_client(root, getter)
    client.get("fake://h/p?digest=d1", tmp_path / "one")
    forge(the_record(root, "pins"), lambda record: record.update(id="d2"))
    refusal(DigestMismatchError, "digest-mismatch", client.get, "fake://h/p?digest=d1", tmp_path / "two")


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("file:///etc", id="a local one"),
        pytest.param("/etc", id="a path"),
        pytest.param("gone://h/p?version=1", id="of a plugin that is gone"),
        pytest.param("fake://h/p?nosuch=1", id="an unknown argument"),
        pytest.param("fake://h/\x00", id="no address"),
        pytest.param("", id="empty"),
    ],
)
def test_a_record_that_leads_nowhere_leads_nowhere(root: Path, tmp_path: Path, address: str) -> None:
    getter = Conditional()
    caching_client(root, getter).get("fake://h/p", tmp_path / "one")
    forge(the_record(root, "refs"), lambda record: record.update(address=address))
    offline = caching_client(root, getter, offline=True)
    refusal(OfflineError, "offline", offline.get, "fake://h/p", tmp_path / "two")
    assert caching_client(root, getter).get("fake://h/p", tmp_path / "three").h1 == ZIP_H1
    assert getter.heard == [{}, {}]


def test_gates_and_verifiers_judge_what_was_kept_like_what_arrives(root: Path, tmp_path: Path) -> None:
    getter = FakeGetter(answer=lambda *_: blob(ZIP), pin=a_pin("v1"))
    client = caching_client(root, getter)
    client.get("fake://h/p", tmp_path / "one")
    with pytest.raises(VerificationError):
        client.get("fake://h/p", tmp_path / "two", expect="sha256:" + "0" * 64)
    assert client.get("fake://h/p", tmp_path / "two", expect=f"sha256:{ZIP_SHA256}").h1 == ZIP_H1


# ------------------------------------------------------------------------------------------------------ secrets

SECRETS = [
    "fake://ada:S3cr3tS3cr3t@h/p.zip",
    "fake://h/p.zip?token=S3cr3tS3cr3t",
    "fake://h/p.zip?X-Amz-Signature=S3cr3tS3cr3t&X-Amz-Credential=S3cr3tS3cr3t",
]


@pytest.mark.parametrize("source", SECRETS)
def test_no_secret_of_an_address_is_written_down(root: Path, tmp_path: Path, source: str) -> None:
    for pin in (None, a_pin("v1", proof=b"proof")):
        getter = FakeGetter(answer=lambda *_: blob(ZIP, validator={"ETag": "1"}), pin=pin, arguments=None)
        caching_client(root, getter).get(source, tmp_path / f"dest-{pin is None}")
    assert len(blobs_of(root)) > 0
    for name, (_, content) in snapshot(root).items():
        assert "S3cr3t" not in name
        assert b"S3cr3t" not in content
