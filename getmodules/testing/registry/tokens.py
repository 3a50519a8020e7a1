"""Bearer tokens and identity tokens: opaque, each remembered with what it allows and when it ends."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterable
from typing import Self

from getmodules.util.values import valueclass


@valueclass(kw_only=False)
class Scope:
    repository: str
    actions: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """``repository:NAME:ACTION,ACTION``; ``None`` for what is no scope of a repository."""
        kind, _, rest = text.partition(":")
        name, _, actions = rest.rpartition(":")
        if kind != "repository" or not name:
            return None
        return cls(name, tuple(action for action in actions.split(",") if action))

    def __str__(self) -> str:
        return f"repository:{self.repository}:{','.join(self.actions)}"


@valueclass(kw_only=False)
class Token:
    scopes: tuple[Scope, ...]
    ends: float

    def allows(self, repository: str, action: str) -> bool:
        return any(scope.repository == repository and action in scope.actions for scope in self.scopes)


class Tokens:
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
        """End every bearer token now; identity tokens stay."""
        with self._lock:
            self._tokens.clear()

    def identity(self, user: str) -> str:
        """A refresh token for a user."""
        value = secrets.token_urlsafe(24)
        with self._lock:
            self._identities[value] = user
        return value

    def owner(self, identity: str) -> str | None:
        with self._lock:
            return self._identities.get(identity)
