"""Links of a header: which one leads on."""

from __future__ import annotations

import pytest

from getmodules.getters.oci.client import next_target


@pytest.mark.parametrize(
    ("header", "target"),
    [
        pytest.param('</x?last=a>; rel="next"', "/x?last=a", id="as-it-should-be"),
        pytest.param("</x>; rel=next", "/x", id="without-quotes"),
        pytest.param("</x>;rel=next", "/x", id="without-blanks"),
        pytest.param("</x>; rel='next'", "/x", id="single-quotes"),
        pytest.param('</x>; REL="Next"', "/x", id="capitals"),
        pytest.param('</x>; rel = "next"', "/x", id="blanks-around"),
        pytest.param('</x>; rel="last next"', "/x", id="two-relations"),
        pytest.param('</x>; title="a,b"; rel="next"', "/x", id="a-comma-in-quotes"),
        pytest.param('</x>; title="a;b"; rel="next"', "/x", id="a-semicolon-in-quotes"),
        pytest.param('</x>; title="a\\"; rel=prev"; rel="next"', "/x", id="a-quote-in-quotes"),
        pytest.param('</x>; title="a <b>"; rel="next"', "/x", id="a-link-in-quotes"),
        pytest.param('</x>; crossorigin;; rel="next"', "/x", id="parameters-without-values"),
        pytest.param('</x>; a="open; rel=next', "/x", id="a-quote-that-stays-open"),
        pytest.param('</x?a=1,2;b>; rel="next"', "/x?a=1,2;b", id="separators-in-the-target"),
        pytest.param('</p>; rel="prev", </x>; title="y"; rel="next"', "/x", id="the-second-one"),
        pytest.param('</p>, </x>; rel="next"', "/x", id="one-without-parameters-before"),
        pytest.param('</p> </x>; rel="next"', "/x", id="one-without-a-comma-before"),
        pytest.param('</x>; rel="next", </y>; rel="next"', "/x", id="the-first-of-two"),
        pytest.param('</x>; rel="prev"; rel="next"', None, id="the-first-relation-counts"),
        pytest.param('</x>; rel="prev"', None, id="another-relation"),
        pytest.param('</x>; rel="nextish"', None, id="a-longer-relation"),
        pytest.param('</x>; title="rel=next"', None, id="in-a-title"),
        pytest.param('</x>; arel="next"', None, id="a-longer-name"),
        pytest.param("</x>", None, id="no-relation"),
        pytest.param('</a b>; rel="next"', None, id="a-blank-in-the-target"),
        pytest.param('/x; rel="next"', None, id="no-brackets"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_where_it_goes_on(header: str, target: str | None) -> None:
    assert next_target(header) == target


@pytest.mark.parametrize("piece", ["<", "<>", '";', '\\"', "; ", "<x>;", " ", "'", "a="])
def test_a_long_header_is_read_in_time(piece: str) -> None:
    assert next_target("<x>" + piece * 100_000) is None
