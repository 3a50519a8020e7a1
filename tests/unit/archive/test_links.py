from __future__ import annotations

import time

import pytest

from getmodules.api.model import Kind
from getmodules.archive.links import LinkWalk
from getmodules.errors import UnsafeContentError
from tests.support.refusals import refusal

KINDS = {"d": Kind.DIRECTORY, "d/e": Kind.DIRECTORY, "d/e/f": Kind.FILE, "g": Kind.FILE}


def walk(**links: str) -> LinkWalk:
    return LinkWalk(KINDS, {name.replace("__", "/"): target for name, target in links.items()}, "", lambda: None)


@pytest.mark.parametrize(
    ("links", "link", "end"),
    [
        ({"l": "g"}, "l", "g"), ({"l": "d/e/../e/f"}, "l", "d/e/f"), ({"d__l": ".."}, "d/l", ""),
        ({"l": "."}, "l", ""), ({"l": "d/"}, "l", "d"), ({"l": "d/m", "d__m": "e"}, "l", "d/e"),
        ({"l": "d/m/f", "d__m": "e"}, "l", "d/e/f"), ({"l": "d/m/../../g", "d__m": "e"}, "l", "g"),
    ],
)  # fmt: skip
def test_links_are_followed_as_a_kernel_does(links: dict[str, str], link: str, end: str) -> None:
    assert walk(**links).follow(link) == end


def test_up_from_a_link_is_up_from_where_it_leads() -> None:
    refusal(UnsafeContentError, "unsafe-content/link-escapes", walk(l="m/../../g", m="d").follow, "l")


def test_many_links_cost_no_more_than_their_length() -> None:
    links = {f"l{n}": "./" * 500 + f"l{n + 1}" for n in range(30)} | {"l30": "g"}
    links |= {f"m{n}": "l0" for n in range(2_000)}
    start = time.process_time()
    found = walk(**links)
    assert {found.follow(link) for link in links} == {"g"}
    assert time.process_time() - start < 2
