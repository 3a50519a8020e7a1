"""Answers of the wrong status: refusals, pages for people, nothing at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from getmodules.testing.faults.fault import fault, is_any, reads
from getmodules.testing.registry.server import Exchange
from getmodules.testing.registry.wire import Answer, Body, RefusalError

_PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><form>Please sign in</form></body></html>\n"
_CONTENT = reads("manifest", "blob")


def _refuse(exchange: Exchange, status: int, code: str, *headers: tuple[str, str]) -> None:
    exchange.send(RefusalError(status, code, f"the registry was told to answer {status}", headers=headers).answer())


def _limit(exchange: Exchange, retry_after: str | None) -> None:
    headers = () if retry_after is None else (("Retry-After", retry_after),)
    _refuse(exchange, 429, "TOOMANYREQUESTS", *headers)


@fault("429")
def limited(exchange: Exchange) -> None:
    """429 without ``Retry-After``."""
    _limit(exchange, None)


@fault("429-seconds")
def limited_seconds(exchange: Exchange) -> None:
    """429, to be tried again after one second."""
    _limit(exchange, "1")


@fault("429-date")
def limited_date(exchange: Exchange) -> None:
    """429, to be tried again at a date about one second from now."""
    _limit(exchange, format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True))


@fault("429-day")
def limited_day(exchange: Exchange) -> None:
    """429, to be tried again tomorrow."""
    _limit(exchange, "86400")


@fault("429-garbage")
def limited_garbage(exchange: Exchange) -> None:
    """429 with a ``Retry-After`` that means nothing."""
    _limit(exchange, "soon; -1, NaN")


@fault("401-loop", lambda exchange: exchange.route.kind != "token")
def unauthorized(exchange: Exchange) -> None:
    """401 with a challenge that can be met, whatever token or password the request carries."""
    challenge = f'Bearer realm="{exchange.origin}/token",service="getmodules-testing",error="invalid_token"'
    _refuse(exchange, 401, "UNAUTHORIZED", ("WWW-Authenticate", challenge))


@fault("401-basic-loop", lambda exchange: exchange.route.kind != "token")
def unauthorized_basic(exchange: Exchange) -> None:
    """401 that asks for Basic, whatever password the request carries."""
    _refuse(exchange, 401, "UNAUTHORIZED", ("WWW-Authenticate", 'Basic realm="getmodules-testing"'))


@fault("403")
def forbidden(exchange: Exchange) -> None:
    """403 with the code ``DENIED``."""
    _refuse(exchange, 403, "DENIED")


@fault("500")
def internal_error(exchange: Exchange) -> None:
    """500 with a JSON body."""
    _refuse(exchange, 500, "UNKNOWN")


@fault("503")
def unavailable(exchange: Exchange) -> None:
    """503 without ``Retry-After``: for ever, or so many times as the fault is asked for."""
    _refuse(exchange, 503, "UNAVAILABLE")


@fault("503-retry-after")
def unavailable_retry_after(exchange: Exchange) -> None:
    """503, to be tried again after one second."""
    _refuse(exchange, 503, "UNAVAILABLE", ("Retry-After", "1"))


@fault("204", _CONTENT)
def no_content(exchange: Exchange) -> None:
    """204 where content should be."""
    exchange.send(Answer(204))


@fault("304", _CONTENT)
def not_modified(exchange: Exchange) -> None:
    """304 to a request without any condition."""
    exchange.send(Answer(304))


@fault("login-page", lambda exchange: exchange.request.method == "GET")
def login_page(exchange: Exchange) -> None:
    """200 with a page of HTML that asks people to sign in."""
    exchange.send(Answer(200, (("Content-Type", "text/html; charset=utf-8"),), Body.of(_PAGE)))


@fault("huge-error-body", is_any)
def huge_error_body(exchange: Exchange) -> None:
    """500 with eight megabytes of text."""
    exchange.send(Answer(500, (("Content-Type", "text/plain"),), Body.of(b"no" * (4 << 20))))


@fault("error-with-escapes", is_any)
def error_with_escapes(exchange: Exchange) -> None:
    """404 whose message would clear a terminal and set its title."""
    exchange.send(RefusalError(404, "NAME_UNKNOWN", "\x1b[2J\x1b]0;owned\x07 \u202egnp.exe\r\n").answer())


@fault("error-not-json", is_any)
def error_not_json(exchange: Exchange) -> None:
    """404 that calls itself JSON and is none."""
    exchange.send(Answer(404, (("Content-Type", "application/json"),), Body.of(b'{"errors":[{"code":')))


@fault("warning")
def warning(exchange: Exchange) -> None:
    """The right answer with a ``Warning: 299``, as registries announce their end; not wrong, to be shown once."""
    exchange.send(exchange.answer().with_header("Warning", '299 - "this registry will be switched off"'))
