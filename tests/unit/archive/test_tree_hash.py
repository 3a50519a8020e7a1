"""h1 over lists of names, against vectors from Go's own code."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from getmodules.archive.tree_hash import h1
from getmodules.errors import ContentError
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
