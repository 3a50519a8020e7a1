"""The table of tags, as other tools write it."""

from __future__ import annotations

from functools import partial

import pytest

from getmodules.api.ports import Context
from getmodules.errors import (
    NotFoundError,
    UnsafeContentError,
)
from getmodules.getters.oci.layout import Layout
from tests.support.layouts import ONE, REF_NAME, THREE, TWO, HandMade, raw
from tests.support.refusals import refusal


@pytest.mark.parametrize(
    ("names", "tag", "found"),
    [
        pytest.param(["1.0.0", "2.0.0"], "2.0.0", TWO, id="exact"),
        pytest.param(["docker.io/acme/vpc:1.0.0", "x"], "1.0.0", ONE, id="containerds-full-name"),
        pytest.param(["h/a:1.0.0", "1.0.0"], "1.0.0", TWO, id="exact-before-full"),
        pytest.param([None], "latest", ONE, id="the-only-one-without-a-name"),
        pytest.param(["1.0.0", "1.0.0", "1.0.0"], "1.0.0", None, id="three-under-one-tag"),
        pytest.param(["a:1.0.0", "b:1.0.0"], "1.0.0", None, id="two-full-names-that-end-alike"),
    ],
)
def test_tags_as_other_tools_write_them(
    made: HandMade, context: Context, names: list[str | None], tag: str, found: bytes | None
) -> None:
    for body, name in zip((ONE, TWO, THREE), names, strict=False):
        made.manifest(body, name)
    read = partial(Layout(made.path).manifest, tag, context)
    if found is None:
        refusal(UnsafeContentError, "unsafe-content/ambiguous-archive", read)
    else:
        assert read().body == found


def test_one_manifest_twice_under_one_tag_is_that_manifest(made: HandMade, context: Context) -> None:
    made.manifest(ONE, "1.0.0")
    made.manifest(ONE, "1.0.0")
    assert Layout(made.path).manifest("1.0.0", context).body == ONE


@pytest.mark.parametrize(
    ("names", "tag"),
    [
        pytest.param(["1.0.0"], "2.0.0", id="another-tag"),
        pytest.param([None, None], "latest", id="two-without-a-name"),
        pytest.param([None, "1.0.0"], "latest", id="not-the-only-one"),
        pytest.param([None], "1.0.0", id="a-name-was-asked-for"),
        pytest.param(["x1.0.0"], "1.0.0", id="no-colon-before-it"),
        pytest.param([], "latest", id="nothing-there"),
    ],
)
def test_a_tag_that_is_not_there(made: HandMade, context: Context, names: list[str | None], tag: str) -> None:
    for body, name in zip((ONE, TWO), names, strict=False):
        made.manifest(body, name)
    refusal(NotFoundError, "not-found", Layout(made.path).manifest, tag, context)


def test_the_tags_in_their_order(made: HandMade, context: Context) -> None:
    for name in ("2.0.0", "docker.io/x:1.0.0", None, "1.0.0", "a name", "2.0.0"):
        made.manifest(ONE, name)
    assert list(Layout(made.path).tags(context)) == ["2.0.0", "1.0.0"]


def test_an_index_that_lists_null_is_empty_and_takes_manifests(made: HandMade, context: Context) -> None:
    """As umoci makes it."""
    made.index({"schemaVersion": 2, "manifests": None})
    layout = Layout(made.path)
    assert list(layout.tags(context)) == []
    layout.put_manifest("1.0.0", raw(ONE), context, replace=False)
    assert [each["annotations"] for each in made.read_index()["manifests"]] == [{REF_NAME: "1.0.0"}]
    assert layout.manifest("1.0.0", context).body == ONE
