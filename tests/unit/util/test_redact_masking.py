"""What is masked of a secret, in all ways in which a server may say it."""

from __future__ import annotations

import base64

import pytest

from getmodules.util.redact import masked, secrets_in_header

BASIC = base64.b64encode("ada:pä ss".encode()).decode()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param("hunter2, hunter2", "****, ****", id="each time"),
        pytest.param("/x?y=a%2Fb%20c", "/x?y=****", id="as a part of an address"),
        pytest.param("/x?y=a/b c", "/x?y=****", id="as it is"),
        pytest.param("hunter2 too", "****", id="a longer one with it"),
        pytest.param("abc", "abc", id="too short for a secret"),
        pytest.param("nothing", "nothing", id="nothing"),
    ],
)
def test_what_is_shown(said: str, shown: str) -> None:
    assert masked(said, ("hunter2", "hunter2 too", "a/b c", "abc")) == shown


@pytest.mark.parametrize(
    ("value", "secrets"),
    [
        pytest.param("t0ken", {"t0ken"}, id="alone"),
        pytest.param("Bearer t0ken", {"Bearer t0ken", "t0ken"}, id="behind the name of a scheme"),
        pytest.param("Basic abc", {"Basic abc", "abc"}, id="no password"),
        pytest.param(f"Basic {BASIC}", {f"Basic {BASIC}", BASIC, "ada:pä ss", "pä ss"}, id="a password"),
    ],
)
def test_what_is_secret_about_a_header(value: str, secrets: set[str]) -> None:
    assert set(secrets_in_header(value)) == secrets
