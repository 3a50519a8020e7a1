"""Who may do what: nobody asks, Basic, or Bearer with tokens that the registry's own token endpoint gives out."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Literal, Protocol

from getmodules.testing.registry.names import Route, checked_name
from getmodules.testing.registry.refusal import RefusalError
from getmodules.testing.registry.tokens import Scope, Tokens
from getmodules.testing.registry.wire import Request
from getmodules.util.values import field, valueclass

Scheme = Literal["none", "basic", "bearer"]
ACTIONS = frozenset({"pull", "push", "delete"})


@valueclass(kw_only=False)
class User:
    """A password, and what its owner may do: patterns of repository names and the actions on them."""

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
        """``None`` is anybody."""
        known = self.users.get(user) if user is not None else None
        return self.is_public(repository, action) or (known is not None and known.may(repository, action))

    def log_in(self, name: str, password: str) -> bool:
        known = self.users.get(name)
        return known is not None and hmac.compare_digest(known.password.encode(), password.encode())

    def basic_user(self, header: str | None) -> str | None:
        """Who a ``Basic`` header proves to be; ``None`` without one. Wrong credentials are refused."""
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


class Grant(Protocol):
    """What the sender of one request may do."""

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


def needed(request: Request, route: Route) -> tuple[str, ...]:
    """The actions on the route's repository that a request needs, in the order in which challenges name them."""
    if route.kind == "upload":
        return ("pull", "push")
    if request.method == "PUT":
        return ("pull", "push")
    return ("delete",) if request.method == "DELETE" else ("pull",)


def authorize(access: Access, tokens: Tokens, request: Request, route: Route, realm: str) -> Grant:
    if access.scheme == "none" or route.kind == "token":
        return EVERYTHING
    if access.scheme == "basic":
        return _basic(access, request, route)
    return _bearer(access, tokens, request, route, realm)


def _basic(access: Access, request: Request, route: Route) -> Grant:
    user = access.basic_user(request.header("Authorization"))
    person = _Person(access, user)
    if route.name:
        if all(person.allows(route.name, action) for action in needed(request, route)):
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
        wanted = (Scope(route.name, needed(request, route)), *_mount_scope(request, route))
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
