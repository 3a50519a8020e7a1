"""The manifest that an address names; where its tag is not there, an error that names some that are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from getmodules.addresses.types import PackageAddress
from getmodules.addresses.versions import Version, version_in
from getmodules.api.ports import Context
from getmodules.errors import GetModulesError, NotFoundError
from getmodules.getters.oci.reference import is_attachment_tag, is_tag, version_of
from getmodules.getters.oci.repository import RawManifest, Repository, judged_manifest
from getmodules.util.digest import Digest
from getmodules.util.redact import printable

#: How many tags of the first page are looked at, and how many are named.
_LOOKED_AT = 1_000
_NAMED = 5


def named_manifest(package: PackageAddress, repository: Repository, context: Context) -> tuple[RawManifest, Digest]:
    """Return the manifest that ``package`` names, and its digest."""
    tag, wanted = version_of(package)
    try:
        return judged_manifest(repository, tag, wanted, context)
    except NotFoundError as error:
        if wanted is not None:
            raise
        raise _missing_tag(package, tag, error, repository, context) from error


def _missing_tag(
    package: PackageAddress, tag: str, error: NotFoundError, repository: Repository, context: Context
) -> NotFoundError:
    unnamed = "" if "tag" in package.arguments else " (none was named)"
    try:
        names = islice(repository.tags(context, pages=1), _LOOKED_AT)
        # What is no tag is some text of the registry's, and must not stand where people copy what to type.
        tags = [name for name in names if is_tag(name) and not is_attachment_tag(name)]
    except GetModulesError as unlisted:  # there is no such repository, or it shows no list: what failed first says more
        if package.getter == "oci" and isinstance(unlisted, NotFoundError):
            place = printable(package.url.removeprefix("oci://"))
            error.hint = f"is there such a repository, and may you see it? getmodules auth check {place} shows whether"
        if unnamed:
            error.within(f"the tag {tag}{unnamed}")
        return error
    if not tags:
        return NotFoundError(f"there is no tag {printable(tag)}{unnamed}, and no other", hint="is the address right?")
    found = likely_tags(tag, tags)
    shown = ", ".join(map(printable, found)) + (", …" if len(tags) > len(found) else "")
    return NotFoundError(
        f"there is no tag {printable(tag)}{unnamed}; there are: {shown}",
        hint=f"name one that is there, as in ?tag={printable(found[0])}",
    )


def likely_tags(wanted: str, tags: Iterable[str]) -> list[str]:
    """Return a few of ``tags``: those that are spelled like ``wanted``, then the newest versions, then any others."""
    import difflib

    names = list(dict.fromkeys(tags))
    near = difflib.get_close_matches(wanted, names, n=2, cutoff=0.75)
    return list(dict.fromkeys((*near, *newest_versions(names), *names)))[:_NAMED]


def newest_versions(tags: Iterable[str]) -> list[str]:
    """Return the tags that are versions, the newest first, and releases before all that are not."""
    found: list[tuple[bool, Version, str]] = []
    for tag in tags:
        version = version_in(tag)
        if version is not None:
            found.append((not version.prerelease, version, tag))
    return [tag for _, _, tag in sorted(found, reverse=True)]
