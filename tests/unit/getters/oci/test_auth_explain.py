"""What registries, and those who hand out their tokens, say when they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from getmodules import AuthenticationError, Client
from getmodules.getters.oci.auth import explain_error
from getmodules.testing import Access, Registry, User
from tests.support.refusals import refusal


class Said:
    """An answer with a body."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def read_some(self, limit: int) -> bytes:
        return self._body[:limit]

    def shown(self, text: str, limit: int = 200) -> str:
        return text[:limit]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b'{"errors":[{"code":"DENIED","message":"no"}]}', "DENIED: no", id="code and message"),
        pytest.param(b'{"errors":[{"code":"A"},{"message":"b"}]}', "A; b", id="several"),
        pytest.param(b'{"details":"x"}', '{"details":"x"}', id="another shape"),
        pytest.param(b'{"errors":[{"code"', '{"errors":[{"code"', id="cut"),
        pytest.param(b"<p>\n no </p>", "<p> no </p>", id="a page"),
    ],
)
def test_what_a_body_says(body: bytes, said: str) -> None:
    assert explain_error(Said(body)) == said  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", ["bearer", "basic"])
def test_a_wrong_password_is_said_in_the_words_of_the_registry(tmp_path: Path, scheme: Any) -> None:
    """Also by the service that hands out tokens."""
    with Registry(access=Access(scheme=scheme, users={"ada": User("right")})) as registry:
        suffix = registry.host.replace(".", "_").replace(":", "_")
        environ = {f"GETMODULES_TOKEN_{suffix}": "s3cr3t", f"GETMODULES_USERNAME_{suffix}": "ada"}
        resolve = Client(environ={**environ, "HOME": str(tmp_path)}).resolve
        error = refusal(AuthenticationError, "authentication", resolve, f"oci://{registry.host}/acme/vpc?tag=1")
    assert "UNAUTHORIZED" in error.message
    assert "{" not in error.message
    assert "s3cr3t" not in error.message
    assert "are they wrong or expired? " in str(error.hint)
