"""Results are values: equal by content, and not to be changed."""

from __future__ import annotations

import pytest

import getmodules
from getmodules.getters.oci.results import Inspected, Referrer
from getmodules.util.values import FrozenValueError


def an_inspected(**more: object) -> Inspected:
    referrer = Referrer(digest="sha256:1", artifact_type="x", manifest={"a": [1]})
    fields = {"address": "oci://h/a", "digest": "sha256:2", "media_type": "m", "manifest": {}, "referrers": (referrer,)}
    return Inspected(**{**fields, **more})  # type: ignore[arg-type]


def test_equal_by_content_and_hashable_in_spite_of_the_manifest() -> None:
    assert an_inspected() == an_inspected()
    assert hash(an_inspected()) == hash(an_inspected())
    assert an_inspected(manifest={"b": 1}) != an_inspected()


def test_they_are_not_changed() -> None:
    with pytest.raises(FrozenValueError):
        an_inspected().digest = "sha256:3"  # type: ignore[misc]


def test_they_are_public() -> None:
    assert getmodules.Inspected is Inspected
    assert getmodules.Pushed.__module__ == "getmodules.getters.oci.results"
