"""``getmodules tags``, of layouts on disk."""

from __future__ import annotations

from pathlib import Path

from tests.support.commandline import call


def test_one_a_line_or_as_json(here: Path) -> None:
    for tag in ("1.0.0", "1.1.0"):
        assert call("push", "tree", f"oci-layout::./registry?tag={tag}").code == 0
    assert call("tags", "oci-layout::./registry") == (0, "1.0.0\n1.1.0\n", "")
    result = call("tags", "oci-layout::./registry", "--json")
    assert (result.object, result.err) == ({"tags": ["1.0.0", "1.1.0"]}, "")
    assert call("tags", "oci-layout::./registry", "--base", str(here)).out == "1.0.0\n1.1.0\n"


def test_none_at_all(here: Path) -> None:
    """No line, not an empty one."""
    layout = here / "empty"
    (layout / "blobs").mkdir(parents=True)
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (layout / "index.json").write_text('{"schemaVersion": 2, "manifests": []}')
    assert call("tags", "oci-layout::./empty") == (0, "", "note: the repository has no tags\n")
    assert call("tags", "oci-layout::./empty", "-q") == (0, "", "")
    assert call("tags", "oci-layout::./empty", "--json").object == {"tags": []}


def test_a_tag_is_not_what_tags_are_asked_of(here: Path) -> None:
    result = call("tags", "oci-layout::./registry?tag=1.0.0")
    assert (result.code, result.out) == (2, "")
    assert result.err.endswith("code: address\n")


def test_nothing_there(here: Path) -> None:
    result = call("tags", "oci-layout::./registry")
    assert (result.code, result.out) == (1, "")
    assert result.err.endswith("code: not-found\n")
