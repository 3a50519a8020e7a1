from __future__ import annotations

import pytest

from getmodules.archive.tar import Extensions, pax_records
from getmodules.errors import CorruptArchiveError
from tests.support.archives import record
from tests.support.refusals import refusal


def test_records() -> None:
    body = record("path", "é=\n") + record("mtime", "1.5") + record("comment", "x" * 200)
    assert pax_records(body) == {b"path": "é=\n".encode(), b"mtime": b"1.5", b"comment": b"x" * 200}


@pytest.mark.parametrize(
    "body", [b"x", b"5 a=b", b"6 a=b\n\0", b"4 a=b\n", b"5 ab\n\n", b"6 =ab\n", b"+6 a=b\n", b" 6 a=b\n"]
)
def test_broken_records(body: bytes) -> None:
    refusal(CorruptArchiveError, "corrupt-archive", pax_records, body)


def test_a_member_takes_what_is_said_about_it_along() -> None:
    extensions = Extensions()
    extensions.add(b"x", record("path", "long") + record("size", str(9 << 30)))
    extensions.add(b"K", b"target\0")
    assert extensions.pending
    assert (extensions.path, extensions.target, extensions.size(0)) == (b"long", b"target", 9 << 30)
    extensions.forget()
    assert (extensions.pending, extensions.path, extensions.target, extensions.size(7)) == (False, None, None, 7)
