"""Inspection of a repository: its tags, one manifest, and the tree of its referrers."""

from __future__ import annotations

from getmodules.addresses.types import PackageAddress
from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.api.ports import Context
from getmodules.errors import AddressError, AuthenticationError, NotFoundError
from getmodules.getters.oci import artifact
from getmodules.getters.oci.reference import is_attachment_tag
from getmodules.getters.oci.repository import Descriptor, RawManifest, Repository, judged_manifest
from getmodules.getters.oci.results import Inspected, Referrer
from getmodules.getters.oci.tags import named_manifest
from getmodules.util.digest import Digest
from getmodules.util.redact import printable

MAX_DEPTH = 4
MAX_REFERRERS = 200


def tags(package: PackageAddress, repository: Repository, context: Context) -> tuple[str, ...]:
    """Return all tags in the repository's own order, without those of signatures and lists of referrers."""
    if package.arguments:
        raise AddressError("tags are those of a repository", hint="leave out tag= and digest=")
    found: dict[str, None] = {}
    remembered = 0
    for tag in repository.tags(context):
        context.checkpoint()
        remembered += len(tag) + 100
        if remembered > METADATA_BYTES:
            raise metadata_exceeded("the list of tags")
        if not is_attachment_tag(tag):
            found[printable(tag)] = None
    return tuple(found)


def inspect(package: PackageAddress, repository: Repository, context: Context) -> Inspected:
    """Return the manifest at an address, and its referrers."""
    manifest, digest = named_manifest(package, repository, context)
    document = artifact.parse(manifest)
    return Inspected(
        address=package.display(),
        digest=str(digest),
        media_type=manifest.media_type,
        manifest=document,
        referrers=_Referrers(repository, context).tree(digest, 1),
    )


class _Referrers:
    """Reader of the tree of referrers. Each manifest is read, since lists may omit its type, and may be wrong."""

    def __init__(self, repository: Repository, context: Context) -> None:
        self._repository = repository
        self._context = context
        self._seen: set[Digest] = set()

    def tree(self, subject: Digest, depth: int) -> tuple[Referrer, ...]:
        # Digests cannot form a circle, but an unverified list can claim one.
        self._seen.add(subject)
        found = []
        for listed in self._list(subject):
            self._context.checkpoint()
            if listed.digest in self._seen:
                continue
            if len(self._seen) > MAX_REFERRERS:
                self._context.notice(f"there are more than {MAX_REFERRERS} referrers; the rest is not shown")
                break
            self._seen.add(listed.digest)
            manifest = self._read(listed, subject)
            if manifest is not None:
                found.append(self._referrer(listed, manifest, depth))
        return tuple(found)

    def _list(self, subject: Digest) -> tuple[Descriptor, ...]:
        """Return the listed referrers. The list may be forbidden, even if the manifest can be read."""
        try:
            return self._repository.referrers(subject, self._context)
        except AuthenticationError as error:
            self._context.notice(f"what refers to {subject} could not be read: {error.message}")
            return ()

    def _read(self, listed: Descriptor, subject: Digest) -> RawManifest | None:
        try:
            manifest, _ = judged_manifest(self._repository, "", listed.digest, self._context)
        except NotFoundError:
            self._context.notice(f"the referrer {listed.digest} is listed, and not there")
            return None
        if artifact.subject(manifest) != subject:
            self._context.notice(f"{listed.digest} is listed as a referrer, and refers to something else")
            return None
        return manifest

    def _referrer(self, listed: Descriptor, manifest: RawManifest, depth: int) -> Referrer:
        below: tuple[Referrer, ...] = ()
        if depth < MAX_DEPTH:
            below = self.tree(listed.digest, depth + 1)
        return Referrer(
            digest=str(listed.digest),
            artifact_type=artifact.artifact_type(manifest),
            manifest=artifact.parse(manifest),
            referrers=below,
        )
