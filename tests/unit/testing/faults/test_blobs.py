"""Blobs that are not what their digest says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.registryclient import Stocked, ask


@pytest.mark.parametrize(
    ("name", "is_so"),
    [
        pytest.param("wrong-blob", lambda got, right: len(got) == len(right) and got != right, id="wrong"),
        pytest.param("short-blob", lambda got, right: got == right[:-1], id="short"),
        pytest.param("long-blob", lambda got, right: got == right + b"\0", id="long"),
        pytest.param("empty-blob", lambda got, right: got == b"", id="empty"),
        pytest.param("other-blob", lambda got, right: got != right and len(got) > 10, id="other"),
    ],
)
def test_the_length_of_the_answer_agrees_and_the_content_does_not(
    stocked: Stocked, name: str, is_so: Callable[[bytes, bytes], bool]
) -> None:
    with stocked.registry.fault(name):
        reply = ask(stocked.registry, "GET", stocked.blob)
    assert reply.status == 200
    assert is_so(reply.body, stocked.content)
    assert reply.header("Docker-Content-Digest") in stocked.blob
    assert ask(stocked.registry, "GET", stocked.blob).body == stocked.content


def test_a_missing_blob(stocked: Stocked) -> None:
    with stocked.registry.fault("missing-blob"):
        reply = ask(stocked.registry, "GET", stocked.blob)
    assert (reply.status, reply.code) == (404, "BLOB_UNKNOWN")
