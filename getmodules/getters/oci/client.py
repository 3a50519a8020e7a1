"""The client of one repository in a registry, a hardened subclass of oras-py's.

oras-py verifies no digest, follows any address that a server names with its credentials, has no timeout, and one token
for everything. So this subclass keeps its addresses and its request method, and replaces all below them:
:meth:`RegistryClient.do_request` is the only way out, through :mod:`getmodules.net`, with one grant for each origin and
scope. The ``pull``, ``login`` and downloads of oras-py are not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

from oras.container import Container
from oras.provider import Registry

from getmodules.api.http import Call, HttpAnswer, HttpSession, SizedBody, origin_of
from getmodules.api.ports import Context
from getmodules.errors import (
    AuthenticationError,
    CorruptArchiveError,
    DestinationExistsError,
    DigestMismatchError,
    NetworkError,
    NotFoundError,
    ToolMissingError,
    UnsafeContentError,
)
from getmodules.getters.oci import artifact
from getmodules.getters.oci.auth import Tokens, explain_error
from getmodules.getters.oci.repository import (
    MANIFEST_BYTES,
    MANIFEST_TYPES,
    OCI_INDEX,
    Descriptor,
    RawManifest,
    referrers_tag,
)
from getmodules.getters.oci.upload import Upload, check_stored
from getmodules.net.address_check import address_check_for
from getmodules.net.download import RANGE_REFUSED, Download
from getmodules.net.route import sent_by
from getmodules.net.session import checked_target, failed
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.strict_json import StrictJsonError, array_of, loads, mapping, optional, required, string
from getmodules.util.values import replace

MAX_PAGES = 1_000
_PAGE_SIZE = 1_000
_LIST_BYTES = 4 << 20
_TAGS = "the list of tags"
#: The usual answers of registries with immutable tags. ECR answers 400, like for a manifest with a mistake.
_TAG_KEPT = frozenset({409, 412})
_TAG_PERHAPS_KEPT = 400
_REFUSALS = frozenset({401, 403})
#: The answers of registries, besides 404, to requests of an unknown kind.
_UNKNOWN_API = frozenset({400, 405, 501})
_WARNING = re.compile(r"(?<![^\s,])299 \S+ \"(?P<text>(?:[^\"\\]|\\.)*)\"")


class _Location(Container):  # type: ignore[misc]
    """A repository for oras-py, parsed by us, because its own parser accepts too much."""

    def __init__(self, registry: str, namespace: str | None, repository: str) -> None:
        self.registry = registry
        self.namespace = namespace
        self.repository = repository
        self.tag = None
        self.digest = None


class RegistryClient(Registry):  # type: ignore[misc]
    """Client of one repository of one registry. Threads may share it, since it is never changed."""

    def __init__(
        self,
        api: str,
        repository: str,
        session: HttpSession,
        tokens: Tokens,
        notice: Callable[[str], None],
        actions: str = "pull",
    ) -> None:
        # Registry.__init__ is not called: it makes a session and an authentication of its own.
        self.prefix, _, self.hostname = api.partition("://")
        self._repository = repository
        self._session = session
        self._tokens = tokens
        self._notice = notice
        self._actions = actions
        namespace, _, name = repository.rpartition("/")
        self._location = _Location(self.hostname, namespace or None, name)

    def get_container(self, name: Any) -> Container:
        return self._location

    def do_request(
        self,
        url: str,
        method: str = "GET",
        data: bytes | Callable[[], SizedBody] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        stream: bool = False,
        *,
        context: Context,
        accept: frozenset[int] = frozenset(),
        read: int | None = None,
        replayable: bool | None = None,
        named_from: str | None = None,
        retries: int | None = None,
    ) -> HttpAnswer:
        """Send one request with a grant for its origin, and once more with the grant that a 401 asks for.

        On another host than the registry, ``url`` must not lead to a more private network than ``named_from``.
        """
        registry = origin_of(f"{self.prefix}://{self.hostname}/")
        with self._failing_here():
            grant = self._tokens.grant(registry, self._repository, self._actions, context)
        elsewhere = origin_of(url) != registry
        call = Call(
            method=method,
            url=url,
            headers=headers or {},
            body=data,
            authorization=grant,
            accept=accept | _REFUSALS,
            explain=explain_error,
            read=read,
            replayable=replayable,
            retries=retries,
            check_address=address_check_for(named_from, self._too_far_in) if elsewhere else None,
            way=sent_by(f"{self.prefix}://{self.hostname}/") if elsewhere else None,
        )
        answer = self._session.send(call, context)
        # Only the registry itself gets a credential, and no host that it redirected to.
        if answer.status == 401 and origin_of(answer.url) == registry:
            said = call.explain(answer)
            with self._failing_here():
                wanted = self._tokens.answer_to(answer, self._repository, self._actions, grant, context)
            if wanted is None:
                raise self._refused(call, answer, said, context)
            call = replace(call, authorization=wanted)
            answer = self._session.send(call, context)
        if answer.status in _REFUSALS:
            raise self._refused(call, answer, call.explain(answer), context)
        self._warn(answer)
        return answer

    def _refused(self, call: Call, answer: HttpAnswer, said: str, context: Context) -> AuthenticationError:
        registry = origin_of(f"{self.prefix}://{self.hostname}/")
        sent = call.sent_to(f"{self.prefix}://{self.hostname}/")
        access = self._tokens.refused_access(registry, self._repository, self._actions, sent, context)
        answer.close()
        return access.by_registry(answer, said)

    @contextmanager
    def _failing_here(self) -> Iterator[None]:
        """Name the registry in errors of the block about its credential, which all its repositories share."""
        try:
            yield
        except (AuthenticationError, ToolMissingError) as error:
            raise error.failing_at(printable(self.hostname)) from error.__cause__

    def _too_far_in(self, kind: str, address: str) -> UnsafeContentError:
        return UnsafeContentError(
            f"{printable(self.hostname)} leads to the {kind} address {address}, which is further in than it is itself",
            part="elsewhere",
        )

    # -------------------------------------------------------------------------------------------- reading

    def manifest(self, reference: str, context: Context) -> RawManifest:
        headers = {"Accept": ", ".join(MANIFEST_TYPES)}
        url = self._url(self._location.manifest_url(reference))
        answer = self.do_request(url, "GET", headers=headers, context=context, read=MANIFEST_BYTES)
        # A manifest that was requested by its digest is verified by that.
        if answer.status != 200 and not (":" in reference and 200 <= answer.status < 300):
            raise NetworkError(f"{printable(self.hostname)} answered {answer.status} when it was asked for a manifest")
        media_type = _media_type(answer)
        if media_type not in MANIFEST_TYPES:
            media_type = answer.shown(media_type)  # it is used in an error only
        return RawManifest(media_type=media_type, body=answer.read(MANIFEST_BYTES))

    def blob(self, descriptor: Descriptor, context: Context) -> Iterable[bytes]:
        return self._download(descriptor, context)

    def rest_of_blob(self, descriptor: Descriptor, start: int, context: Context) -> Iterable[bytes] | None:
        return self._download(descriptor, context).rest(start)

    def _download(self, descriptor: Descriptor, context: Context) -> Download:
        url = self._url(self._location.get_blob_url(str(descriptor.digest)))

        def send(headers: Mapping[str, str], retries: int | None) -> HttpAnswer:
            accept = RANGE_REFUSED if "Range" in headers else frozenset[int]()
            return self.do_request(
                url, "GET", headers=headers, stream=True, context=context, accept=accept, retries=retries
            )

        return Download(send, self._session, context, immutable=True)

    def tags(self, context: Context, *, pages: int | None = None) -> Iterator[str]:
        url = self._url(f"{self._location.tags_url()}?n={_PAGE_SIZE}")
        for document in islice(self._pages(url, _TAGS, context), pages):
            yield from _tags(document)

    def exists(self, context: Context) -> bool:
        """Return whether the registry has a list of the repository's tags."""
        url = self._url(f"{self._location.tags_url()}?n=1")
        answer = self.do_request(url, "GET", context=context, accept=frozenset({404}), read=_LIST_BYTES)
        if answer.status == 404:
            answer.close()
            return False
        _tags(_document(answer, _TAGS))
        return True

    def referrers(self, digest: Digest, context: Context) -> tuple[Descriptor, ...]:
        prefix = self._location.manifest_url("x").removesuffix("manifests/x")
        url = self._url(f"{prefix}referrers/{digest}")
        what = "the list of referrers"
        try:
            documents = list(self._pages(url, what, context, media_type=OCI_INDEX))
        except NotFoundError:
            documents = self._fallback_referrers(digest, context)
        try:
            return tuple(
                artifact.descriptor(each, "a referrer")
                for document in documents
                for each in required(document, "manifests", artifact.entries, what)
            )
        except StrictJsonError as error:
            raise CorruptArchiveError(str(error)) from None

    def _fallback_referrers(self, digest: Digest, context: Context) -> list[dict[str, Any]]:
        try:
            found = self.manifest(referrers_tag(digest), context)
        except NotFoundError:
            return []
        return [artifact.parse(found)] if found.media_type == OCI_INDEX else []

    # -------------------------------------------------------------------------------------------- writing

    def for_publishing(self) -> RegistryClient:
        api = f"{self.prefix}://{self.hostname}"
        return RegistryClient(api, self._repository, self._session, self._tokens, self._notice, "pull,push")

    def has_blob(self, digest: Digest, context: Context, retries: int | None = None) -> bool:
        url = self._url(self._location.get_blob_url(str(digest)))
        answer = self.do_request(url, "HEAD", context=context, accept=frozenset({404}), retries=retries)
        answer.close()
        return answer.status != 404

    def put_blob(self, digest: Digest, size: int, chunks: Callable[[], Iterable[bytes]], context: Context) -> None:
        url = self._url(self._location.upload_blob_url())
        request = partial(self.do_request, context=context)
        is_there = partial(self.has_blob, digest, context)
        Upload(request, self._session, url, digest, size, chunks, context).run(is_there)

    def put_manifest(self, reference: str, manifest: RawManifest, context: Context, *, replace: bool) -> None:
        answer = self.do_request(
            self._url(self._location.manifest_url(reference)),
            "PUT",
            data=manifest.body,
            headers={"Content-Type": manifest.media_type},
            context=context,
            accept=_TAG_KEPT | {_TAG_PERHAPS_KEPT},
        )
        if answer.status >= 300:
            said = explain_error(answer)
            if answer.status == _TAG_PERHAPS_KEPT and "immutable" not in said and "already exists" not in said:
                raise failed(answer, explain=said)
            raise DestinationExistsError(
                f"the registry does not let the tag {printable(reference)!r} move: {said}",
                hint="publish under a new tag",
            )
        if not check_stored(answer, manifest.digest()):
            self._check_stored_manifest(reference, manifest, context)

    def _check_stored_manifest(self, reference: str, manifest: RawManifest, context: Context) -> None:
        """Read the manifest back, since a plain web server answers 200 and stores nothing."""
        found = self.manifest(reference, context)
        if found.body != manifest.body:
            artifact.parse(found)
            raise DigestMismatchError(
                f"the registry was sent the manifest {manifest.digest()}, and has {found.digest()} in its place"
            )

    # --------------------------------------------------------------------------------------------- lists

    def _pages(
        self, url: str, what: str, context: Context, *, media_type: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield all pages of a list, all of the same origin, up to :data:`MAX_PAGES`.

        If a ``media_type`` is given, a first answer of another type is from a server without such lists.
        """
        seen, named_from = set(), None
        accept = _UNKNOWN_API if media_type else frozenset[int]()
        for _ in range(MAX_PAGES):
            seen.add(url)
            try:
                answer = self.do_request(
                    url, "GET", context=context, accept=accept, read=_LIST_BYTES, named_from=named_from
                )
            except NotFoundError as error:
                if named_from is None:
                    raise
                raise NetworkError(f"{printable(self.hostname)} names a page of {what} that is not there") from error
            if accept and (answer.status >= 300 or _media_type(answer) not in (media_type, "application/json")):
                answer.close()
                raise NotFoundError(f"{printable(self.hostname)} has no API for {what}")
            accept, following = frozenset(), next_page(answer)
            yield _document(answer, what)
            if following is None:
                return
            if following in seen:
                raise NetworkError(f"{printable(self.hostname)} sends {what} in a circle")
            url, named_from = following, answer.address
        raise NetworkError(f"{printable(self.hostname)} sends {what} in more than {MAX_PAGES:,} pages")

    def _url(self, path: str) -> str:
        return f"{self.prefix}://{path}"

    def _warn(self, answer: HttpAnswer) -> None:
        """Show the texts of ``Warning: 299``, with which registries address users."""
        for warning in _WARNING.finditer(answer.headers.get("Warning", "")[:8_192]):
            said = re.sub(r"\\(.)", r"\1", warning["text"])
            self._notice(f"{printable(self.hostname)}: {answer.shown(said)}")


def _document(answer: HttpAnswer, what: str) -> dict[str, Any]:
    try:
        return mapping(loads(answer.read(_LIST_BYTES), what, _LIST_BYTES), what)
    except StrictJsonError as error:
        raise CorruptArchiveError(str(error)) from None


def _tags(document: dict[str, Any]) -> list[str]:
    try:
        return optional(document, "tags", array_of(string), _TAGS) or []
    except StrictJsonError as error:
        raise CorruptArchiveError(str(error)) from None


def _media_type(answer: HttpAnswer) -> str:
    return answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()


# -------------------------------------------------------------------------------------------- the next page of a list


_LONGEST = 8_192
_TARGET = re.compile(r"[^<]*<(?P<target>[^<>\s]*)>", re.ASCII)
# Single quotes are not quotes in HTTP, but some servers use them.
_PARAMETER = re.compile(
    r"[^,;<]*;\s*(?P<name>[^\s,;=\"]*)\s*"
    r"(?:=\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|'(?P<single>[^']*)'|(?P<token>[^\s,;\"]*)))?",
    re.ASCII,
)


def next_page(answer: HttpAnswer) -> str | None:
    """Return the URL of the next page, which must be on the same origin, or ``None``."""
    written = next_target(answer.headers.get("Link", ""))
    if written is None:
        return None
    target = checked_target(answer, written)
    if origin_of(target) != origin_of(answer.url):
        raise UnsafeContentError("the registry continues its list on another host", part="elsewhere")
    return target


def next_target(header: str) -> str | None:
    """Return the target, as it is written, of the first link with ``next`` among its relations."""
    text, at = header[:_LONGEST], 0
    while link := _TARGET.match(text, at):
        at = link.end()
        relations: list[str] | None = None
        while parameter := _PARAMETER.match(text, at):
            at = parameter.end()
            if relations is None and parameter["name"].lower() == "rel":  # of several parameters, the first counts
                value = parameter["quoted"] or parameter["single"] or parameter["token"] or ""
                relations = value.lower().split()
        if relations is not None and "next" in relations:
            return link["target"]
    return None
