"""Refusals have the JSON that the specification gives them."""

from __future__ import annotations

import json

import pytest

from getmodules.testing.registry import wire as refusal
from getmodules.testing.registry.wire import RefusalError


def test_a_refusal_is_an_answer() -> None:
    answer = RefusalError(403, "DENIED", "no", detail={"a": 1}, headers=(("X", "y"),)).answer()
    assert answer.status == 403
    assert answer.header("Content-Type") == "application/json"
    assert answer.header("X") == "y"
    assert json.loads(answer.body.read()) == {"errors": [{"code": "DENIED", "message": "no", "detail": {"a": 1}}]}


@pytest.mark.parametrize(
    ("made", "status", "code"),
    [
        (refusal.blob_unknown("d"), 404, "BLOB_UNKNOWN"),
        (refusal.manifest_unknown("t"), 404, "MANIFEST_UNKNOWN"),
        (refusal.name_unknown("n"), 404, "NAME_UNKNOWN"),
        (refusal.upload_unknown("u"), 404, "BLOB_UPLOAD_UNKNOWN"),
        (refusal.digest_invalid("m"), 400, "DIGEST_INVALID"),
        (refusal.manifest_invalid("m"), 400, "MANIFEST_INVALID"),
        (refusal.size_invalid("m"), 400, "SIZE_INVALID"),
        (refusal.unsupported("m"), 405, "UNSUPPORTED"),
    ],
)
def test_the_specifications_codes(made: RefusalError, status: int, code: str) -> None:
    assert (made.status, made.code) == (status, code)
