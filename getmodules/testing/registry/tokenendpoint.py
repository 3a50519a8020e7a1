"""``/token``: GET with Basic or with nothing, and POST as OAuth 2 words it (a password or a refresh token)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qs

from getmodules.testing.registry.access import Access
from getmodules.testing.registry.refusal import RefusalError
from getmodules.testing.registry.tokens import Scope, Tokens
from getmodules.testing.registry.wire import Answer, Request

_LONGEST_FORM = 64 << 10


def handle(access: Access, tokens: Tokens, request: Request) -> Answer:
    if access.scheme != "bearer":
        raise RefusalError(404, "NOT_FOUND", "page not found")
    if request.method == "GET":
        return _get(access, tokens, request)
    if request.method == "POST":
        return _post(access, tokens, request)
    raise RefusalError(405, "UNSUPPORTED", f"{request.method} is not supported here")


def _get(access: Access, tokens: Tokens, request: Request) -> Answer:
    user = access.basic_user(request.header("Authorization"))
    _check_service(access, request.argument("service"))
    scopes = " ".join(request.query.get("scope", ())).split()
    identity = None
    if user is not None and request.argument("offline_token") == "true":
        identity = tokens.identity(user)
    return _token(access, tokens, user, scopes, identity)


def _post(access: Access, tokens: Tokens, request: Request) -> Answer:
    form = _form(request)
    _check_service(access, form.get("service"))
    grant = form.get("grant_type")
    identity: str | None = None
    if grant == "refresh_token":
        identity = form.get("refresh_token", "")
        user = tokens.owner(identity)
    elif grant == "password":
        name = form.get("username", "")
        user = name if access.log_in(name, form.get("password", "")) else None
        if user is not None and form.get("access_type") == "offline":
            identity = tokens.identity(user)
    else:
        raise RefusalError(400, "UNSUPPORTED", "grant_type is refresh_token or password")
    if user is None:
        raise RefusalError(401, "UNAUTHORIZED", "invalid grant")
    return _token(access, tokens, user, form.get("scope", "").split(), identity)


def _form(request: Request) -> Mapping[str, str]:
    data = request.read_all(_LONGEST_FORM)
    if data is None:
        raise RefusalError(413, "SIZE_INVALID", "the form is too long")
    fields = parse_qs(data.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in fields.items()}


def _check_service(access: Access, service: str | None) -> None:
    if service is not None and service != access.service:
        raise RefusalError(400, "UNSUPPORTED", "tokens for another service are not given out here")


def _token(access: Access, tokens: Tokens, user: str | None, wanted: Iterable[str], identity: str | None) -> Answer:
    """A token for what of ``wanted`` the user may do: less than was asked for is an answer too."""
    granted = []
    for scope in filter(None, map(Scope.parse, wanted)):
        actions = tuple(action for action in scope.actions if access.may(user, scope.repository, action))
        if actions:
            granted.append(Scope(scope.repository, actions))
    value = tokens.issue(granted, access.token_seconds)
    fields: dict[str, object] = {
        "token": value,
        "access_token": value,
        "expires_in": access.token_seconds,
        "issued_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if identity is not None:
        fields["refresh_token"] = identity
    return Answer.of_json(200, fields, (("Cache-Control", "no-store"),))
