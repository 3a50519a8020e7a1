"""Answers that send a client elsewhere: realms, ``Location`` and ``Link`` that it must not follow, or not with
its credentials. ``to`` of the fault is where they point, so that a test can listen there.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from getmodules.testing.faults.fault import fault, reads
from getmodules.testing.registry.server import Exchange
from getmodules.testing.registry.wire import Answer, RefusalError

_BLOB = reads("blob")
_LISTS = reads("tags", "referrers")
#: An address of a private network, and the one under which clouds give out a machine's credentials.
_PRIVATE = "10.255.255.1"
_LINK_LOCAL = "169.254.169.254"


def _is_upload_start(exchange: Exchange) -> bool:
    return exchange.request.method == "POST" and exchange.route.kind == "upload"


def _is_no_token(exchange: Exchange) -> bool:
    return exchange.route.kind != "token"


# --------------------------------------------------------------------------------------------- realms


def _challenge(exchange: Exchange, challenge: str | None) -> None:
    headers = () if challenge is None else (("WWW-Authenticate", challenge),)
    exchange.send(RefusalError(401, "UNAUTHORIZED", "authentication required", headers=headers).answer())


def _realm(exchange: Exchange, realm: str) -> None:
    scope = f"repository:{exchange.route.name}:pull" if exchange.route.name else ""
    _challenge(exchange, f'Bearer realm="{realm}",service="getmodules-testing",scope="{scope}"')


@fault("realm-elsewhere", _is_no_token)
def realm_elsewhere(exchange: Exchange) -> None:
    """401 whose realm is on another host."""
    _realm(exchange, f"{exchange.elsewhere}/token")


@fault("realm-http", _is_no_token)
def realm_http(exchange: Exchange) -> None:
    """401 whose realm is this registry over plain http."""
    _realm(exchange, f"http://{urlsplit(exchange.origin).netloc}/token")


@fault("realm-http-elsewhere", _is_no_token)
def realm_http_elsewhere(exchange: Exchange) -> None:
    """401 whose realm is another host over plain http."""
    _realm(exchange, f"http://{urlsplit(exchange.elsewhere).netloc}/token")


@fault("realm-private", _is_no_token)
def realm_private(exchange: Exchange) -> None:
    """401 whose realm is an address of a private network."""
    _realm(exchange, f"https://{_PRIVATE}/token")


@fault("realm-link-local", _is_no_token)
def realm_link_local(exchange: Exchange) -> None:
    """401 whose realm is where clouds give out a machine's credentials."""
    _realm(exchange, f"http://{_LINK_LOCAL}/latest/meta-data/iam/security-credentials/")


@fault("realm-userinfo", _is_no_token)
def realm_userinfo(exchange: Exchange) -> None:
    """401 whose realm is this registry, with a user and a password in it."""
    split = urlsplit(exchange.origin)
    _realm(exchange, f"{split.scheme}://user:password@{split.netloc}/token")


@fault("realm-file", _is_no_token)
def realm_file(exchange: Exchange) -> None:
    """401 whose realm is a file."""
    _realm(exchange, "file:///etc/passwd")


@fault("realm-garbage", _is_no_token)
def realm_garbage(exchange: Exchange) -> None:
    """401 whose realm is no address."""
    _realm(exchange, "http://[::1]:99999\\@:token")


@fault("realm-missing", _is_no_token)
def realm_missing(exchange: Exchange) -> None:
    """401 that asks for Bearer and names no realm."""
    _challenge(exchange, 'Bearer service="getmodules-testing"')


@fault("challenge-missing", _is_no_token)
def challenge_missing(exchange: Exchange) -> None:
    """401 without a challenge."""
    _challenge(exchange, None)


@fault("challenge-unknown", _is_no_token)
def challenge_unknown(exchange: Exchange) -> None:
    """401 that asks for a scheme that no registry uses."""
    _challenge(exchange, "Negotiate")


# --------------------------------------------------------------------------------------------- redirects


def _redirect(exchange: Exchange, location: str | None) -> None:
    exchange.send(Answer(307, () if location is None else (("Location", location),)))


@fault("redirect", _BLOB)
def redirect(exchange: Exchange) -> None:
    """307 to the same blob on this registry, as registries with a store of their own do; not wrong."""
    if exchange.request.argument("redirected") is None:
        _redirect(exchange, f"{exchange.request.path}?redirected=yes")
    else:
        exchange.send(exchange.answer())


@fault("redirect-elsewhere", _BLOB)
def redirect_elsewhere(exchange: Exchange) -> None:
    """307 to the same path of another origin: to be followed, without credentials."""
    _redirect(exchange, exchange.elsewhere + exchange.request.target)


@fault("redirect-http", _BLOB)
def redirect_http(exchange: Exchange) -> None:
    """307 to another host over plain http."""
    _redirect(exchange, f"http://{urlsplit(exchange.elsewhere).netloc}{exchange.request.target}")


@fault("redirect-private", _BLOB)
def redirect_private(exchange: Exchange) -> None:
    """307 to where clouds give out a machine's credentials."""
    _redirect(exchange, f"http://{_LINK_LOCAL}/latest/meta-data/")


@fault("redirect-file", _BLOB)
def redirect_file(exchange: Exchange) -> None:
    """307 to a file."""
    _redirect(exchange, "file:///etc/passwd")


@fault("redirect-userinfo", _BLOB)
def redirect_userinfo(exchange: Exchange) -> None:
    """307 to this registry with a user and a password in the address."""
    split = urlsplit(exchange.origin)
    _redirect(exchange, f"{split.scheme}://user:password@{split.netloc}{exchange.request.target}")


@fault("redirect-loop", _BLOB)
def redirect_loop(exchange: Exchange) -> None:
    """307 to where the request came from."""
    _redirect(exchange, exchange.request.target)


@fault("redirect-endless", _BLOB)
def redirect_endless(exchange: Exchange) -> None:
    """307 to an address that was not asked for yet, again and again."""
    _redirect(exchange, f"{exchange.request.path}?hop={exchange.number}")


@fault("redirect-without-location", _BLOB)
def redirect_without_location(exchange: Exchange) -> None:
    """307 without a ``Location``."""
    _redirect(exchange, None)


# --------------------------------------------------------------------------------------------- uploads


def _move_upload(exchange: Exchange, prefix: str, suffix: str = "") -> None:
    answer = exchange.answer()
    location = answer.header("Location")
    if answer.status == 202 and location is not None:
        answer = answer.with_header("Location", prefix + location + suffix)
    exchange.send(answer)


@fault("upload-elsewhere", _is_upload_start)
def upload_elsewhere(exchange: Exchange) -> None:
    """An upload is begun here and to be continued on another origin."""
    _move_upload(exchange, exchange.elsewhere)


@fault("upload-file", _is_upload_start)
def upload_file(exchange: Exchange) -> None:
    """An upload is begun here and to be continued in a file."""
    _move_upload(exchange, "file://")


@fault("upload-absolute", _is_upload_start)
def upload_absolute(exchange: Exchange) -> None:
    """The upload's address is absolute, as some registries write it; not wrong."""
    _move_upload(exchange, exchange.origin)


@fault("upload-with-query", _is_upload_start)
def upload_with_query(exchange: Exchange) -> None:
    """The upload's address has a query already, to which the digest is to be added; not wrong."""
    _move_upload(exchange, "", "?state=some%2Fstate&more=")


# --------------------------------------------------------------------------------------------- pages


def _next_page(exchange: Exchange, address: str) -> None:
    exchange.send(exchange.answer().with_header("Link", f'<{address}>; rel="next"'))


@fault("link-elsewhere", _LISTS)
def link_elsewhere(exchange: Exchange) -> None:
    """The next page is on another origin."""
    _next_page(exchange, exchange.elsewhere + exchange.request.target)


@fault("link-http", _LISTS)
def link_http(exchange: Exchange) -> None:
    """The next page is another host's over plain http."""
    _next_page(exchange, f"http://{urlsplit(exchange.elsewhere).netloc}{exchange.request.target}")


@fault("link-file", _LISTS)
def link_file(exchange: Exchange) -> None:
    """The next page is a file."""
    _next_page(exchange, "file:///etc/passwd")


@fault("link-loop", _LISTS)
def link_loop(exchange: Exchange) -> None:
    """The next page is this one."""
    _next_page(exchange, exchange.request.target)


@fault("link-endless", _LISTS)
def link_endless(exchange: Exchange) -> None:
    """There is always another next page."""
    _next_page(exchange, f"{exchange.request.path}?page={exchange.number}")


@fault("link-garbage", _LISTS)
def link_garbage(exchange: Exchange) -> None:
    """The next page's address is none."""
    _next_page(exchange, "http://[::1]:99999\\@")


@fault("link-relative", _LISTS)
def link_relative(exchange: Exchange) -> None:
    """The next page's address is relative to the request's, a query alone; not wrong."""
    answer = exchange.answer()
    link = answer.header("Link")
    if link is not None:
        answer = answer.with_header("Link", "<" + link[link.index("?") :])
    exchange.send(answer)
