"""Detection of web pages that arrive instead of an archive, and the error for them."""

from __future__ import annotations

import re

from getmodules.addresses.url import Url
from getmodules.errors import UnsupportedContentError
from getmodules.net.terraform_get import HTML_TYPES

#: The beginning of markup. No archive begins so: its first bytes are a number, or the name of a file.
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*+<(?:!doctype|!--|\?xml|html|head|body|title|meta|script)", re.IGNORECASE)
#: Bytes that do not occur in text, and do occur near the beginning of every archive.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*+[\[{]")
_TEXT = re.compile(r"text/.*|application/(?:(?:.+\+)?(?:json|xml)|xhtml\+xml)", re.IGNORECASE)

#: Hosts of git repositories, with the form of the paths of their pages: repository, branch, directory.
_FORGES = {
    "github.com": re.compile(r"/(?P<repository>[^/]+/[^/]+)(?:/(?:tree|blob)/(?P<ref>[^/]+)(?P<subdir>/.*)?)?/?"),
    "gitlab.com": re.compile(
        r"/(?P<repository>[^/]+(?:/(?!-/)[^/]+)+)(?:/-/(?:tree|blob)/(?P<ref>[^/]+)(?P<subdir>/.*)?)?/?"
    ),
    "bitbucket.org": re.compile(r"/(?P<repository>[^/]+/[^/]+)(?:/src/(?P<ref>[^/]+)(?P<subdir>/.*)?)?/?"),
    "codeberg.org": re.compile(
        r"/(?P<repository>[^/]+/[^/]+)(?:/src/(?:branch|tag|commit)/(?P<ref>[^/]+)(?P<subdir>/.*)?)?/?"
    ),
}


def is_page(beginning: bytes, media_type: str | None) -> bool:
    """Return whether a body with this beginning is a text to read and not an archive, whatever its name."""
    if _MARKUP.match(beginning):
        return True
    if media_type in HTML_TYPES and beginning:
        return _BINARY.search(beginning) is None
    return media_type is not None and _TEXT.fullmatch(media_type) is not None and _OBJECT.match(beginning) is not None


def page_instead(url: Url, subdir: str, host: str, media_type: str | None) -> UnsupportedContentError:
    """Return the error for a web page; ``host`` is the one that answered in the end, ``media_type`` is safe to show."""
    said = f"Content-Type: {media_type}" if media_type else "without a Content-Type"
    repository = git_spelling(url, subdir)
    if repository is not None:
        hint = f"for the git repository: {repository}"
    else:
        hint = f"does it want a login? If it is a git repository: git::{_shown(url)}"
    return UnsupportedContentError(
        f"{host} answered with a web page ({said}), and an archive was wanted", part="web-page", hint=hint
    )


def git_spelling(url: Url, subdir: str = "") -> str | None:
    """Return the address of the git repository that a page of a well-known forge shows, or ``None``."""
    pattern = _FORGES.get(url.host.removeprefix("www."))
    match = pattern.fullmatch(url.path) if pattern is not None else None
    if match is None:
        return None
    repository = match["repository"].removesuffix(".git")
    below = "/".join(filter(None, ((match["subdir"] or "").strip("/"), subdir)))
    ref = f"?ref={match['ref']}" if match["ref"] else ""
    return f"git::https://{url.host.removeprefix('www.')}/{repository}.git{f'//{below}' if below else ''}{ref}"


def _shown(url: Url) -> str:
    return str(url._replace(userinfo=""))
