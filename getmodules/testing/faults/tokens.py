"""Token endpoints that answer without a token, or with one in an unusual form."""

from __future__ import annotations

import json
from collections.abc import Mapping

from getmodules.testing.faults.fault import fault, kinds
from getmodules.testing.registry.server import Exchange
from getmodules.testing.registry.wire import Answer, Body, RefusalError

_TOKEN = kinds("token")


def _fields(exchange: Exchange) -> tuple[Answer, dict[str, object]]:
    answer = exchange.answer()
    return answer, json.loads(answer.body.read())


def _send(exchange: Exchange, fields: Mapping[str, object]) -> None:
    exchange.send(Answer.of_json(200, fields))


def _without(exchange: Exchange, *names: str) -> None:
    """Send the right answer without these fields; a refusal stays as it is."""
    answer, fields = _fields(exchange)
    if answer.status != 200:
        exchange.send(answer)
        return
    _send(exchange, {name: value for name, value in fields.items() if name not in names})


@fault("token-html", _TOKEN)
def html(exchange: Exchange) -> None:
    """A page of HTML where the token should be, with status 200."""
    page = Body.of(b"<!DOCTYPE html><html><body>Welcome</body></html>")
    exchange.send(Answer(200, (("Content-Type", "text/html"),), page))


@fault("token-500", _TOKEN)
def internal_error(exchange: Exchange) -> None:
    """500 from the token endpoint."""
    exchange.send(RefusalError(500, "UNKNOWN", "the token endpoint is broken").answer())


@fault("token-401", _TOKEN)
def unauthorized(exchange: Exchange) -> None:
    """401 from the token endpoint, whatever the credentials."""
    exchange.send(RefusalError(401, "UNAUTHORIZED", "wrong user name or password").answer())


@fault("token-empty", _TOKEN)
def empty(exchange: Exchange) -> None:
    """An answer without any token."""
    _send(exchange, {"expires_in": 300})


@fault("token-not-a-string", _TOKEN)
def not_a_string(exchange: Exchange) -> None:
    """A token that is a number."""
    _send(exchange, {"token": 5, "access_token": 5})


@fault("token-with-newline", _TOKEN)
def with_newline(exchange: Exchange) -> None:
    """A token that would add a header to whatever carries it."""
    value = "token\r\nX-Injected: yes"
    _send(exchange, {"token": value, "access_token": value})


@fault("token-huge", _TOKEN)
def huge(exchange: Exchange) -> None:
    """A token of eight megabytes."""
    _send(exchange, {"token": "x" * (8 << 20)})


@fault("token-redirect", _TOKEN)
def redirect(exchange: Exchange) -> None:
    """307 from the token endpoint to another origin."""
    exchange.send(Answer(307, (("Location", exchange.elsewhere + exchange.request.target),)))


@fault("token-useless", _TOKEN)
def useless(exchange: Exchange) -> None:
    """A token that opens nothing."""
    _send(exchange, {"token": "useless", "access_token": "useless", "expires_in": 300})


@fault("token-already-expired", _TOKEN)
def already_expired(exchange: Exchange) -> None:
    """A good token that says of itself that it ended an hour ago."""
    answer, fields = _fields(exchange)
    if answer.status != 200:
        exchange.send(answer)
        return
    _send(exchange, {**fields, "expires_in": -3600, "issued_at": "2001-01-01T00:00:00Z"})


@fault("token-named-token", _TOKEN)
def named_token(exchange: Exchange) -> None:
    """The token is in ``token`` alone, as registries of old do it; not wrong."""
    _without(exchange, "access_token")


@fault("token-named-access-token", _TOKEN)
def named_access_token(exchange: Exchange) -> None:
    """The token is in ``access_token`` alone, as OAuth 2 does it; not wrong."""
    _without(exchange, "token")


@fault("token-without-expiry", _TOKEN)
def without_expiry(exchange: Exchange) -> None:
    """The token does not say how long it is good for (60 seconds are meant then); not wrong."""
    _without(exchange, "expires_in", "issued_at")
