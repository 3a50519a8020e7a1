"""h1 over lists of names, against vectors from Go's own code; t1 over entries, against its definition."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from getmodules.api.model import Entry, Kind, MemberPath
from getmodules.archive.tree_hash import h1, t1
from getmodules.errors import ContentError
from tests.support import t1vectors
from tests.support.h1vectors import VECTORS, content_of


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row["name"]) for row in VECTORS if "files" in row and "h1_dir" in row]
)
def test_a_list_of_files_as_go_hashes_it(row: dict[str, Any]) -> None:
    named = [(file["path"], hashlib.sha256(content_of(file)).digest()) for file in row["files"]]
    assert h1(named) == row["h1_dir"]
    assert h1(reversed(named)) == row["h1_dir"]


def test_a_newline_in_a_name_has_no_h1() -> None:
    with pytest.raises(ContentError) as caught:
        h1([("a\nb", b"\0" * 32)])
    assert caught.value.code == "content"


# ------------------------------------------------------------------------------------------------------------ t1


def _entry(path: str, content: Any = "") -> Entry:
    word, text = ("f", content) if content is None or isinstance(content, str) else content
    if text is None:
        return Entry(MemberPath(path.rstrip("/")), Kind.DIRECTORY, 0, False, None)
    digest = hashlib.sha256(text.encode()).digest()
    if word == "link":
        return Entry(MemberPath(path), Kind.SYMLINK, 0, False, digest, text)
    return Entry(MemberPath(path), Kind.FILE, len(text), word == "x", digest)


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in t1vectors.VECTORS])
def test_entries_in_any_order(row: dict[str, Any]) -> None:
    entries = [_entry(path, content) for path, content in row["files"].items()]
    assert t1(entries) == t1(reversed(entries)) == row["t1"]


OTHERS = [
    pytest.param([_entry("f", ["x", "one"]), _entry("g", "two")], id="an executable bit"),
    pytest.param([_entry("f", "two"), _entry("g", "two")], id="a content"),
    pytest.param([_entry("f", ["link", "g"]), _entry("g", "two")], id="a link in the place of a file"),
    pytest.param([_entry("e", "one"), _entry("g", "two")], id="a name"),
    pytest.param([_entry("f", "one")], id="a file less"),
    pytest.param([_entry("f", "one"), _entry("g", "two"), _entry("h")], id="an empty file more"),
]


@pytest.mark.parametrize("entries", OTHERS)
def test_every_change_of_a_file_is_seen(entries: list[Entry]) -> None:
    assert t1(entries) != t1([_entry("f", "one"), _entry("g", "two")])


def test_the_target_of_a_link_counts_and_not_what_it_leads_to() -> None:
    link = _entry("l", ["link", "a"])
    assert t1([link]) == t1([link._replace(sha256=b"\0" * 32)])
    assert t1([link]) != t1([link._replace(target="b")])


def test_names_are_sorted_by_their_bytes() -> None:
    """One that is not UTF-8 is sorted as the byte that it is, and not as what stands for it in a string."""
    names = ["\udc80", "\uffff", "\U0001f600", "é", "z"]
    records = {name.encode("utf-8", "surrogateescape"): name for name in names}
    text = b"".join(b"f\0%s\0%s\0" % (raw, hashlib.sha256(b"").hexdigest().encode()) for raw in sorted(records))
    assert sorted(records) != [name.encode("utf-8", "surrogateescape") for name in sorted(names)]
    assert t1(map(_entry, names)) == f"t1:{base64.b64encode(hashlib.sha256(text).digest()).decode()}"


def test_a_name_that_no_bytes_stand_for_has_no_t1() -> None:
    with pytest.raises(ContentError) as caught:
        t1([_entry("\ud800")])
    assert caught.value.code == "content"


def test_a_newline_in_a_name_has_a_t1() -> None:
    assert t1([_entry("a\nb")]) != t1([_entry("a"), _entry("b")])
