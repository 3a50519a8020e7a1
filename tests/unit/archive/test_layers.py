"""Layers over layers: a reference that keeps whole trees in memory has the last word."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from getmodules.api.limits import Limits
from getmodules.api.model import Kind, Member
from getmodules.archive import layers as layering
from getmodules.archive.layers import merged
from getmodules.errors import GetModulesError, LimitExceededError, UnsafeContentError
from tests.support.refusals import refusal

OPAQUE = ".wh..wh..opq"


def file(name: str) -> Member:
    return Member(name, Kind.FILE, 0)


def directory(name: str) -> Member:
    return Member(name, Kind.DIRECTORY)


def link(name: str) -> Member:
    return Member(name, Kind.SYMLINK, target="x")


def shown(*layers: Sequence[Member]) -> list[str]:
    """Each member as its name and the layer that it comes from; directories are left out."""
    by_identity = {id(member): number for number, layer in enumerate(layers) for member in layer}
    found = merged([lambda layer=layer: iter(layer) for layer in layers], Limits())
    return sorted(f"{m.name}@{by_identity[id(m)]}" for m in found if m.kind is not Kind.DIRECTORY)


@pytest.mark.parametrize(
    ("layers", "result"),
    [
        pytest.param([[file("a")]], ["a@0"], id="one-layer"),
        pytest.param([[file("a"), file("b")], [file("a")]], ["a@1", "b@0"], id="a-file-over-a-file"),
        pytest.param([[file("a"), file("b")], [file(".wh.a")]], ["b@0"], id="whiteout"),
        pytest.param([[file("d/a"), file("d/e/b"), file("c")], [file(".wh.d")]], ["c@0"], id="whiteout-of-a-directory"),
        pytest.param([[file("a")], [file(".wh.a")], [file("a")]], ["a@2"], id="back-again"),
        pytest.param([[file("a")], [file("a"), file(".wh.a")]], ["a@1"], id="whiteouts-speak-of-below-only"),
        pytest.param([[file("d/a"), file("e")], [file("d/b"), file(f"d/{OPAQUE}")]], ["d/b@1", "e@0"], id="opaque"),
        pytest.param([[file("d/a"), file("e")], [file("b"), file(OPAQUE)]], ["b@1"], id="opaque-top"),
        pytest.param([[file("d/a"), file("d/b/c")], [file("d")]], ["d@1"], id="a-file-over-an-implied-directory"),
        pytest.param([[directory("d"), file("d/a")], [file("d")]], ["d@1"], id="a-file-over-a-directory"),
        pytest.param([[directory("d"), file("d/a")], [link("d")]], ["d@1"], id="a-link-over-a-directory"),
        pytest.param([[file("d")], [file("d/a")]], ["d/a@1"], id="an-implied-directory-over-a-file"),
        pytest.param([[file("d")], [directory("d"), file("d/a/b")]], ["d/a/b@1"], id="a-directory-over-a-file"),
        pytest.param([[link("d")], [file("d/a")]], ["d/a@1"], id="a-directory-over-a-link"),
        pytest.param([[file("d/a")], [directory("d")]], ["d/a@0"], id="directories-are-one"),
        pytest.param([[file("./a")], [file("a/")]], ["a/@1"], id="spellings-of-one-name"),
        pytest.param([[file("a")], [file(".wh.b")]], ["a@0"], id="whiteout-of-nothing"),
        pytest.param([[file("a")], [directory(".wh..wh.plnk"), file(".wh..wh.plnk/1.2")]], ["a@0"], id="aufs"),
        pytest.param([[directory("/"), file("a")], [directory("./"), file("b")]], ["a@0", "b@1"], id="the-top"),
        pytest.param([[file("a")], []], ["a@0"], id="an-empty-layer"),
    ],
)
def test_layers(layers: list[list[Member]], result: list[str]) -> None:
    assert shown(*layers) == result


def test_what_contradicts_itself_in_one_layer_is_left_to_the_writer() -> None:
    """It refuses a file that is a directory, and a name that is there twice; nothing is dropped in silence."""
    assert shown([file("d/old")], [file("d/a"), file("d")]) == ["d/a@1", "d@1"]
    assert shown([file("d"), file("d/a")]) == ["d/a@0", "d@0"]
    assert shown([file("a"), file("a")]) == ["a@0", "a@0"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param(".wh.", "unsafe-content/bad-name", id="of-nothing"),
        pytest.param("d/.wh...", "unsafe-content/bad-name", id="of-the-parent"),
        pytest.param("d/.wh..", "unsafe-content/bad-name", id="of-itself"),
        pytest.param("../.wh.a", "unsafe-content/parent-path", id="outside"),
        pytest.param("/", "unsafe-content/absolute-path", id="the-top-as-a-file"),
        pytest.param("/.wh.a", "unsafe-content/absolute-path", id="absolute"),
        pytest.param(".wh.d/a", "unsafe-content/bad-name", id="a-file-in-a-whiteout"),
    ],
)
def test_whiteouts_that_are_refused(name: str, code: str) -> None:
    refusal(UnsafeContentError, code, shown, [file("a")], [file(name)])


def test_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layering, "METADATA_BYTES", 10_000)
    endless = [file(f"{number}") for number in range(1_000)]
    refusal(LimitExceededError, "limit-exceeded/metadata", shown, endless)


def test_a_name_of_very_many_components_costs_no_more_than_others() -> None:
    refusal(LimitExceededError, "limit-exceeded/metadata", shown, [file("a/" * 100_000 + "a")])


def test_deep_trees_are_covered() -> None:
    assert shown([file("a/" * 2_000 + "a")], [file("a")]) == ["a@1"]


# ------------------------------------------------------------------------------------------ a reference


def applied(layers: Sequence[Sequence[Member]]) -> list[str]:
    """As one would unpack: a tree, changed by each layer, whiteouts first."""
    tree: dict[str, str] = {}
    for number, layer in enumerate(layers):
        for member in layer:
            parent, _, name = member.name.rpartition("/")
            if name == OPAQUE:
                prefix = f"{parent}/" if parent else ""
                tree = {path: value for path, value in tree.items() if not path.startswith(prefix)}
            elif name.startswith(".wh."):
                hidden = f"{parent}/{name[4:]}" if parent else name[4:]
                tree = {p: v for p, v in tree.items() if p != hidden and not p.startswith(f"{hidden}/")}
        for member in layer:
            path = member.name
            if ".wh." in path:
                continue
            above = ["/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 1)]
            for hidden in above:
                tree.pop(hidden, None)
            if member.kind is Kind.DIRECTORY:
                tree.pop(path, None)
            else:
                tree = {p: v for p, v in tree.items() if not p.startswith(f"{path}/")}
                tree[path] = f"{path}@{number}"
    return sorted(tree.values())


names = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)


def consistent(members: list[Member]) -> list[Member]:
    """One layer in which no name is there twice, and no file is a directory."""
    kept: list[Member] = []
    for member in members:
        mine = member.name
        clash = any(
            mine == other.name
            or (mine.startswith(f"{other.name}/") and other.kind is not Kind.DIRECTORY)
            or (other.name.startswith(f"{mine}/") and member.kind is not Kind.DIRECTORY)
            for other in kept
        )
        if not clash:
            kept.append(member)
    return kept


def mark(name: str) -> Member:
    parent, _, last = name.rpartition("/")
    return file(f"{parent}/.wh.{last}" if parent else f".wh.{last}")


members = st.one_of(
    names.map(file), names.map(file), names.map(directory), names.map(link), names.map(mark),
    names.map(lambda name: file(f"{name}/{OPAQUE}")),
)  # fmt: skip
stacks = st.lists(st.lists(members, max_size=6).map(consistent), min_size=1, max_size=4)


@given(layers=stacks)
def test_the_same_as_unpacking_one_after_the_other(layers: list[list[Member]]) -> None:
    layers = [[Member(*member) for member in layer] for layer in layers]
    try:
        found = shown(*layers)
    except GetModulesError as error:
        raise AssertionError(f"refused: {error}") from error
    assert found == applied(layers)


def test_what_is_hidden_counts_as_well() -> None:
    """It is unpacked all the same: a layer that is listed a thousand times must not cost a thousand times the limit."""
    layer = [Member("a", Kind.FILE, 400)]
    limits = Limits(total_bytes=1000)
    assert len(list(merged([lambda: iter(layer)] * 2, limits))) == 1
    refusal(LimitExceededError, "limit-exceeded/total-bytes", list, merged([lambda: iter(layer)] * 3, limits))
