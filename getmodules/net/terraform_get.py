"""Read ``X-Terraform-Get`` and ``<meta name="terraform-get">``: how a web address says where a module is.

The header has precedence; a page is read only if it is HTML, up to the end of its head, and not far.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urljoin

from getmodules.addresses.grammar import parse, unusable
from getmodules.api.http import HttpAnswer
from getmodules.api.model import Elsewhere
from getmodules.errors import AddressError, GetModulesError, UnsafeContentError
from getmodules.net.address_check import address_check_for
from getmodules.net.wire import shown_host
from getmodules.util.redact import redact_address

HEADER = "X-Terraform-Get"
#: The query that tells a server that a request is not a browser's.
ARGUMENT = "terraform-get"
#: Where the head of a page must be over.
PAGE_BYTES = 64 << 10
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})

#: A tag with its attributes; a ``>`` may stand in a quoted one.
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)(?P<attributes>(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+)>")
_ATTRIBUTE = re.compile(
    r"(?P<name>[^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"(?P<a>[^\"]*+)\"|'(?P<b>[^']*+)'|(?P<c>[^\s\"'<>]++)))?"
)
#: The content of these is not markup.
_OPAQUE = frozenset({"script", "style", "title", "template", "noscript", "textarea", "xmp", "iframe"})
_NO_PATH = ("/", "./", "../")


def location_in_headers(answer: HttpAnswer) -> str:
    """Return the location in the header; empty if it has none. It may be there twice, if both are the same."""
    named = {value.strip() for value in answer.every(HEADER)} - {""}
    if len(named) > 1:
        raise two_locations(answer, *sorted(named)[:2])
    return named.pop() if named else ""


def two_locations(answer: HttpAnswer, one: str, other: str) -> UnsafeContentError:
    return UnsafeContentError(
        f"{shown_host(answer.url)} names two locations: {answer.shown(one)!r} and {answer.shown(other)!r}",
        part="elsewhere",
    )


def sent_on(answer: HttpAnswer, location: str, too_far_in: Callable[[str, str], GetModulesError]) -> Elsewhere:
    """Return ``location``, from an answer. ``too_far_in`` makes the error where it may not lead there."""
    shown = redact_address(location)
    if answer.mask(shown) != shown:
        # It would stand in every message, every log and every pin from here on.
        raise UnsafeContentError(
            f"{shown_host(answer.url)} sent us on to an address with our own credentials in it",
            part="elsewhere",
            hint="it would be shown, and pinned. If it is only a word that is your password as well: change that",
        )
    check = address_check_for(answer.address, too_far_in)
    return Elsewhere(address=absolute(location, answer.url), check_address=check)


def location_in_page(page: str) -> str | None:
    """Return the location in the first ``<meta name="terraform-get">`` of the page's head.

    The search only moves forward, so that its time is bounded by the page's length; what has no end ends it.
    """
    at = 0
    while (at := page.find("<", at)) >= 0:
        if page.startswith("<!--", at):
            at = _behind(page, "-->", at)
        elif page.startswith(("<!", "<?"), at):
            at = _behind(page, ">", at)
        else:
            tag = _TAG.match(page, at)
            if tag is None:
                return None
            name, at = tag["name"].lower(), tag.end()
            if name == "body" or (tag["end"] and name in ("head", "html")):
                return None
            if name in _OPAQUE and not tag["end"]:
                end = re.compile(f"</{name}", re.IGNORECASE).search(page, at)
                at = len(page) if end is None else end.end()
            elif name == "meta":
                found = _attributes(tag["attributes"])
                if found.get("name", "").lower() == ARGUMENT:
                    return found.get("content", "").strip() or None
    return None


def _behind(page: str, mark: str, start: int) -> int:
    found = page.find(mark, start)
    return len(page) if found < 0 else found + len(mark)


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag. The first of two with one name counts, as in browsers."""
    from html import unescape

    found: dict[str, str] = {}
    for each in _ATTRIBUTE.finditer(text):
        value = each["a"] or each["b"] or each["c"] or ""
        found.setdefault(each["name"].lower(), unescape(value))
    return found


def absolute(location: str, url: str) -> str:
    """Return ``location`` as an address for the detectors; a path is one on the server that named it.

    ``url`` is where the answer came from; of its query nothing is kept.
    """
    if not location.startswith(_NO_PATH) or location.startswith("//"):
        return location
    try:
        parts = parse(location)
    except AddressError as error:
        raise unusable(location, error) from error
    package = urljoin(url.partition("?")[0], parts.body)
    subdir = location.partition("?")[0][len(parts.body) :]
    query = location[len(parts.body) + len(subdir) :]
    return f"{package}{subdir}{query}"
