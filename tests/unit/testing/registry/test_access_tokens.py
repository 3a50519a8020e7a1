"""Scopes and tokens."""

from __future__ import annotations

import pytest

from getmodules.testing.registry.access import Scope, Tokens


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("repository:a/b:pull,push", Scope("a/b", ("pull", "push"))),
        ("repository:host:5000/a:pull", Scope("host:5000/a", ("pull",))),
        ("repository:a:", Scope("a", ())),
        ("registry:catalog:*", None),
        ("repository:a", None),
        ("", None),
    ],
)
def test_scopes_are_read(text: str, scope: Scope | None) -> None:
    assert Scope.parse(text) == scope
    assert scope is None or str(scope) == text


def test_a_token_allows_what_it_was_given_out_for_until_it_ends() -> None:
    tokens = Tokens()
    value = tokens.issue([Scope("a", ("pull",))], 60)
    token = tokens.find(value)
    assert token is not None
    assert token.allows("a", "pull")
    assert not token.allows("a", "push")
    assert not token.allows("a/b", "pull")
    assert tokens.find("other") is None
    tokens.expire()
    assert tokens.find(value) is None
    assert tokens.find(tokens.issue([], 0)) is None


def test_an_identity_is_its_owners_and_outlives_tokens() -> None:
    tokens = Tokens()
    identity = tokens.identity("u")
    tokens.expire()
    assert (tokens.owner(identity), tokens.owner("other")) == ("u", None)
