"""Access to the registry: users and their rights, tokens, and the token endpoint.

A registry is open, asks for Basic, or asks for Bearer with tokens of its own endpoint ``/token``. That takes GET, with
or without Basic, and POST as OAuth 2 has it, with a password or a refresh token. Tokens are opaque; each is remembered
with what it allows and when it ends.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Literal, Protocol, Self
from urllib.parse import parse_qs

from getmodules.testing.registry.names import Route, checked_name
from getmodules.testing.registry.wire import Answer, RefusalError, Request
from getmodules.util.values import field, valueclass

Scheme = Literal["none", "basic", "bearer"]
ACTIONS = frozenset({"pull", "push", "delete"})
_LONGEST_FORM = 64 << 10


@valueclass(kw_only=False)
class User:
    """A password, and the rights of its owner: patterns of repository names and the actions on them."""

    password: str = field(repr=False)
    rights: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({"*": ACTIONS}))

    def may(self, repository: str, action: str) -> bool:
        return any(fnmatchcase(repository, name) and action in allowed for name, allowed in self.rights.items())


@valueclass
class Access:
    """The registry's rules. ``public``: patterns of repositories that anybody may pull from."""

    scheme: Scheme = "none"
    users: Mapping[str, User] = field(default_factory=lambda: MappingProxyType({}))
    public: tuple[str, ...] = ()
    service: str = "getmodules-testing"
    token_seconds: int = 300

    def is_public(self, repository: str, action: str) -> bool:
        return action == "pull" and any(fnmatchcase(repository, pattern) for pattern in self.public)

    def may(self, user: str | None, repository: str, action: str) -> bool:
        """Return whether a user may do this; None stands for anybody."""
        known = self.users.get(user) if user is not None else None
        return self.is_public(repository, action) or (known is not None and known.may(repository, action))

    def log_in(self, name: str, password: str) -> bool:
        known = self.users.get(name)
        return known is not None and hmac.compare_digest(known.password.encode(), password.encode())

    def basic_user(self, header: str | None) -> str | None:
        """Return the user of a ``Basic`` header, or None without one. Wrong credentials are refused."""
        scheme, _, value = (header or "").partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            name, _, password = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            name, password = "", ""
        if not self.log_in(name, password):
            raise self.unauthorized_basic()
        return name

    def unauthorized_basic(self) -> RefusalError:
        challenge = f'Basic realm="{self.service}", charset="UTF-8"'
        return RefusalError(401, "UNAUTHORIZED", "authentication required", headers=(("WWW-Authenticate", challenge),))


# ------------------------------------------------------------------------------------------------- rights of a request


class Grant(Protocol):
    """The rights of the sender of one request."""

    def allows(self, repository: str, action: str) -> bool: ...


@valueclass(kw_only=False)
class _Everything:
    def allows(self, repository: str, action: str) -> bool:
        return True


@valueclass(kw_only=False)
class _Person:
    access: Access
    user: str | None

    def allows(self, repository: str, action: str) -> bool:
        return self.access.may(self.user, repository, action)


EVERYTHING: Grant = _Everything()


def needed_actions(request: Request, route: Route) -> tuple[str, ...]:
    """Return the actions on the route's repository that a request needs, in the order of challenges."""
    if route.kind == "upload":
        return ("pull", "push")
    if request.method == "PUT":
        return ("pull", "push")
    return ("delete",) if request.method == "DELETE" else ("pull",)


def authorize(access: Access, tokens: Tokens, request: Request, route: Route, realm: str) -> Grant:
    """Return the rights of the sender; refuse a request that needs more."""
    if access.scheme == "none" or route.kind == "token":
        return EVERYTHING
    if access.scheme == "basic":
        return _basic(access, request, route)
    return _bearer(access, tokens, request, route, realm)


def _basic(access: Access, request: Request, route: Route) -> Grant:
    user = access.basic_user(request.header("Authorization"))
    person = _Person(access, user)
    if route.name:
        if all(person.allows(route.name, action) for action in needed_actions(request, route)):
            return person
        if user is not None:
            raise RefusalError(403, "DENIED", "requested access to the resource is denied")
    if user is None:
        raise access.unauthorized_basic()
    return person


def _bearer(access: Access, tokens: Tokens, request: Request, route: Route, realm: str) -> Grant:
    scheme, _, value = (request.header("Authorization") or "").partition(" ")
    token = tokens.find(value) if scheme.lower() == "bearer" else None
    wanted: tuple[Scope, ...] = ()
    if route.name:
        wanted = (Scope(route.name, needed_actions(request, route)), *_mount_scope(request, route))
    if token is not None and (not wanted or all(token.allows(wanted[0].repository, a) for a in wanted[0].actions)):
        return token
    problem = "" if scheme.lower() != "bearer" else "insufficient_scope" if token else "invalid_token"
    raise _challenge(access, wanted, realm, problem)


def _mount_scope(request: Request, route: Route) -> tuple[Scope, ...]:
    source = request.argument("from")
    if route.kind != "upload" or source is None or request.argument("mount") is None:
        return ()
    return (Scope(checked_name(source), ("pull",)),)


def _challenge(access: Access, wanted: tuple[Scope, ...], realm: str, problem: str) -> RefusalError:
    parts = [f'realm="{realm}"', f'service="{access.service}"']
    if wanted:
        parts.append(f'scope="{" ".join(map(str, wanted))}"')
    if problem:
        parts.append(f'error="{problem}"')
    return RefusalError(
        401,
        "UNAUTHORIZED",
        "authentication required",
        detail=[str(scope) for scope in wanted],
        headers=(("WWW-Authenticate", f"Bearer {','.join(parts)}"),),
    )


# -------------------------------------------------------------------------------------------------- the token endpoint


def handle_token(access: Access, tokens: Tokens, request: Request) -> Answer:
    """Answer a request to the token endpoint."""
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
    """Answer with a token for those of the ``wanted`` actions that the user may do, perhaps fewer than asked for."""
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


# -------------------------------------------------------------------------------------------------------------- tokens


@valueclass(kw_only=False)
class Scope:
    """Actions on a repository."""

    repository: str
    actions: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse ``repository:NAME:ACTION,ACTION``; return None for any other scope."""
        kind, _, rest = text.partition(":")
        name, _, actions = rest.rpartition(":")
        if kind != "repository" or not name:
            return None
        return cls(name, tuple(action for action in actions.split(",") if action))

    def __str__(self) -> str:
        return f"repository:{self.repository}:{','.join(self.actions)}"


@valueclass(kw_only=False)
class Token:
    """A bearer token: what it allows and when it ends."""

    scopes: tuple[Scope, ...]
    ends: float

    def allows(self, repository: str, action: str) -> bool:
        return any(scope.repository == repository and action in scope.actions for scope in self.scopes)


class Tokens:
    """The tokens that were given out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: dict[str, Token] = {}
        self._identities: dict[str, str] = {}

    def issue(self, scopes: Iterable[Scope], seconds: float) -> str:
        value = secrets.token_urlsafe(24)
        with self._lock:
            self._tokens[value] = Token(tuple(scopes), time.monotonic() + seconds)
        return value

    def find(self, value: str) -> Token | None:
        with self._lock:
            token = self._tokens.get(value)
        return token if token is not None and token.ends > time.monotonic() else None

    def expire(self) -> None:
        """End every bearer token now; identity tokens stay valid."""
        with self._lock:
            self._tokens.clear()

    def identity(self, user: str) -> str:
        """Return a new refresh token for a user."""
        value = secrets.token_urlsafe(24)
        with self._lock:
            self._identities[value] = user
        return value

    def owner(self, identity: str) -> str | None:
        with self._lock:
            return self._identities.get(identity)
