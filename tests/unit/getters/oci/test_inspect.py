"""Tags, manifests and the tree of referrers, from registries that tell the truth and from others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from getmodules.addresses.types import Arguments, PackageAddress
from getmodules.api.ports import Context
from getmodules.errors import AddressError, AuthenticationError, CorruptArchiveError, DigestMismatchError, NotFoundError
from getmodules.getters.oci import inspect as inspecting
from getmodules.getters.oci.inspect import inspect, tags
from getmodules.getters.oci.repository import OCI_MANIFEST, Descriptor, RawManifest
from getmodules.getters.oci.results import Referrer
from getmodules.util.digest import Digest
from tests.support.contexts import a_context
from tests.support.fakes import Notices
from tests.support.layouts import a_manifest, sha256
from tests.support.refusals import refusal


@dataclass
class Fake:
    """A repository of whatever a test puts in, with lists that may lie."""

    manifests: dict[str, bytes] = field(default_factory=dict)
    listed: dict[str, list[str]] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    def add(
        self, name: str | None, subject: str | None = None, *, listed_under: str | None = None, **more: object
    ) -> str:
        if subject is not None:
            more["subject"] = {"mediaType": OCI_MANIFEST, "digest": subject, "size": 1}
        body = a_manifest(**more)
        digest = sha256(body)
        self.manifests[digest] = body
        if name is not None:
            self.manifests[name] = body
        under = listed_under or subject
        if under is not None:
            self.listed.setdefault(under, []).append(digest)
        return digest

    def manifest(self, reference: str, context: Context) -> RawManifest:
        if reference not in self.manifests:
            raise NotFoundError(f"no {reference}")
        return RawManifest(media_type=OCI_MANIFEST, body=self.manifests[reference])

    def blob(self, descriptor: Descriptor, context: Context) -> Iterable[bytes]:
        raise AssertionError("nothing here needs a blob")

    def tags(self, context: Context, *, pages: int | None = None) -> Iterator[str]:
        return iter(self.names)

    def referrers(self, digest: Digest, context: Context) -> tuple[Descriptor, ...]:
        return tuple(
            Descriptor(media_type=OCI_MANIFEST, digest=Digest.parse(each), size=1)
            for each in self.listed.get(str(digest), ())
        )

    def for_publishing(self) -> Fake:
        raise AssertionError("nothing here writes")


def package(**arguments: str) -> PackageAddress:
    query = Arguments()
    for name, value in arguments.items():
        query = query.with_value(name, value)
    return PackageAddress(getter="oci", url="oci://h.example/a", arguments=query)


def drawn(referrers: tuple[Referrer, ...]) -> list[object]:
    return [[each.artifact_type, *drawn(each.referrers)] for each in referrers]


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
def context(tmp_path: Path, notices: Notices) -> Context:
    return a_context(tmp_path, progress=notices)


def test_versions_only_in_the_repositorys_order(context: Context) -> None:
    attached = "sha256-" + "0" * 64
    names = ("2.0.0", "1.0.0", attached, f"{attached}.sig", f"{attached}.att", "sha256-short", "2.0.0", "latest")
    assert tags(package(), Fake(names=names), context) == ("2.0.0", "1.0.0", "sha256-short", "latest")


def test_tags_are_those_of_a_repository(context: Context) -> None:
    refusal(AddressError, "address", tags, package(tag="1.0.0"), Fake(), context)


def test_the_tree_of_referrers(context: Context, notices: Notices) -> None:
    fake = Fake()
    subject = fake.add("1.0.0")
    signature = fake.add(None, subject, artifactType="signature")
    fake.add(None, subject, artifactType="sbom")
    fake.add(None, signature, artifactType="witness")
    inspected = inspect(package(tag="1.0.0"), fake, context)
    assert inspected.digest == subject
    assert drawn(inspected.referrers) == [["signature", ["witness"]], ["sbom"]]
    assert inspected.referrers[0].manifest["artifactType"] == "signature"
    assert notices.said == []


def test_a_list_that_lies_is_not_believed(context: Context, notices: Notices) -> None:
    fake = Fake()
    subject = fake.add("1.0.0")
    fake.add(None, sha256(b"another"), listed_under=subject, artifactType="of another")
    fake.add(None, listed_under=subject, artifactType="of nothing")
    fake.listed[subject] += [sha256(b"missing"), subject]
    assert inspect(package(tag="1.0.0"), fake, context).referrers == ()
    assert len(notices.said) == 3


@pytest.mark.parametrize("part", [None, "forbidden"])
def test_where_referrers_may_not_be_listed_the_manifest_is_shown(
    context: Context, notices: Notices, part: str | None
) -> None:
    class Guarded(Fake):
        def referrers(self, digest: Digest, context: Context) -> tuple[Descriptor, ...]:
            raise AuthenticationError("h.example answered 403", part=part)

    fake = Guarded()
    subject = fake.add("1.0.0")
    inspected = inspect(package(tag="1.0.0"), fake, context)
    assert (inspected.digest, inspected.referrers) == (subject, ())
    assert notices.said == [f"what refers to {subject} could not be read: h.example answered 403"]


def test_a_referrer_that_is_something_else_is_an_error(context: Context) -> None:
    fake = Fake()
    subject = fake.add("1.0.0")
    fake.manifests[fake.add(None, subject)] = b"something else"
    refusal(DigestMismatchError, "digest-mismatch", inspect, package(tag="1.0.0"), fake, context)


def test_a_circle_of_lists_ends(context: Context) -> None:
    fake = Fake()
    subject = fake.add("1.0.0")
    first = fake.add(None, subject, artifactType="first")
    fake.listed[first] = [first, subject]
    assert drawn(inspect(package(tag="1.0.0"), fake, context).referrers) == [["first"]]


def test_the_tree_is_bounded(context: Context, notices: Notices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspecting, "MAX_REFERRERS", 5)
    fake = Fake()
    subject = fake.add("1.0.0")
    for number in range(20):
        fake.add(None, subject, artifactType=str(number))
    assert len(inspect(package(tag="1.0.0"), fake, context).referrers) == 5
    assert len(notices.said) == 1


def test_the_tree_is_not_too_deep(context: Context) -> None:
    fake = Fake()
    at = fake.add("1.0.0")
    for number in range(10):
        at = fake.add(None, at, artifactType=str(number))
    assert drawn(inspect(package(tag="1.0.0"), fake, context).referrers) == [["0", ["1", ["2", ["3"]]]]]


def test_by_digest_it_is_what_it_hashes_to(context: Context) -> None:
    fake = Fake()
    digest = fake.add("1.0.0")
    assert inspect(package(digest=digest), fake, context).digest == digest
    fake.manifests[digest] = a_manifest(n=2)
    refusal(DigestMismatchError, "digest-mismatch", inspect, package(digest=digest), fake, context)


def test_what_is_no_manifest(context: Context) -> None:
    fake = Fake(manifests={"latest": b"<html>"})
    refusal(CorruptArchiveError, "corrupt-archive", inspect, package(), fake, context)
