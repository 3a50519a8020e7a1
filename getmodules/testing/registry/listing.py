"""Lists: the tags of a repository, and what refers to a manifest. Both come in pages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from urllib.parse import urlencode

from getmodules.testing.registry.call import Call
from getmodules.testing.registry.names import checked_digest
from getmodules.testing.registry.refusal import RefusalError
from getmodules.testing.registry.store import IMAGE_INDEX
from getmodules.testing.registry.wire import Answer


def tags(call: Call) -> Answer:
    if call.request.method not in ("GET", "HEAD"):
        raise call.unsupported_method()
    repository = call.repository()
    with repository.lock:
        names = sorted(repository.tags)
    page, headers = _page(call, names, f"/v2/{call.name}/tags/list", {})
    return Answer.of_json(200, {"name": call.name, "tags": list(page)}, headers)


def referrers(call: Call) -> Answer:
    """An index of what refers to a digest: empty, and never 404, where nothing does."""
    if call.request.method not in ("GET", "HEAD"):
        raise call.unsupported_method()
    if not call.behaviour.referrers_api:
        raise RefusalError(404, "NOT_FOUND", "page not found")
    subject = checked_digest(call.route.reference)
    repository = call.store.find(call.name)
    found = {str(m.digest): m for m in repository.referrers(subject)} if repository else {}
    wanted = call.request.argument("artifactType")
    applied: tuple[tuple[str, str], ...] = ()
    kept: dict[str, str] = {}
    if wanted is not None:
        found = {digest: m for digest, m in found.items() if m.artifact_type == wanted}
        applied = (("OCI-Filters-Applied", "artifactType"),)
        kept = {"artifactType": wanted}
    page, headers = _page(call, list(found), f"/v2/{call.name}/referrers/{subject}", kept)
    listed = [found[digest].descriptor() for digest in page]
    index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": listed}
    answer = Answer.of_json(200, index, (*applied, *headers))
    return answer.with_header("Content-Type", IMAGE_INDEX)


def _page(
    call: Call, names: Sequence[str], path: str, arguments: dict[str, str]
) -> tuple[Sequence[str], tuple[tuple[str, str], ...]]:
    """The part of sorted names that is asked for, and the ``Link`` to the next one."""
    last = call.request.argument("last")
    rest = names[bisect_right(names, last) :] if last is not None else names
    size = min(_asked_size(call), call.behaviour.page_size)
    page = rest[:size]
    if not page or len(rest) <= size:
        return page, ()
    query = urlencode({**arguments, "n": size, "last": page[-1]})
    return page, (("Link", f'<{path}?{query}>; rel="next"'),)


def _asked_size(call: Call) -> int:
    text = call.request.argument("n")
    if text is None:
        return call.behaviour.page_size
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RefusalError(400, "PAGINATION_NUMBER_INVALID", "invalid number of results requested")
    return int(text)
