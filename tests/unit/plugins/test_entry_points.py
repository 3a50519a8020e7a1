"""Finding entry points: the same answers as importlib.metadata gives, without its cost."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.errors import ConfigError
from getmodules.plugins.entry_points import EntryPoint, find, normalised

GROUP = "getmodules"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(directory: str, text: str | None, *, site: str = "site", metadata: str | None = None) -> Path:
        info = tmp_path / site / directory
        info.mkdir(parents=True)
        if text is not None:
            (info / "entry_points.txt").write_text(text, encoding="utf-8")
        if metadata is not None:
            (info / "METADATA").write_text(metadata, encoding="utf-8")
        return tmp_path / site

    return write


def _found(*path: Path) -> list[EntryPoint]:
    return list(find(GROUP, [str(each) for each in path]))


@pytest.mark.parametrize(
    ("directory", "distribution", "version"),
    [
        pytest.param("acme_plugin-1.2.dist-info", "acme-plugin", "1.2", id="a wheel"),
        pytest.param("Acme.Plugin-1.2.dist-info", "acme-plugin", "1.2", id="a name in another spelling"),
        pytest.param("acme_plugin-1.2+local.1.dist-info", "acme-plugin", "1.2+local.1", id="a local version"),
        pytest.param("acme_plugin-1.2-py3.11.egg-info", "acme-plugin", "1.2", id="setup.py install"),
        pytest.param("acme_plugin.egg-info", "acme-plugin", "7.0", id="setup.py develop"),
    ],
)
def test_a_distribution(write: Write, directory: str, distribution: str, version: str) -> None:
    site = write(directory, "[getmodules]\na = acme.plugin\n", metadata="Name: acme-plugin\nVersion: 7.0\n")
    assert _found(site) == [EntryPoint("a", "acme.plugin", distribution, version)]


def test_a_version_that_is_nowhere(write: Write) -> None:
    assert _found(write("acme.egg-info", "[getmodules]\na = b\n")) == [EntryPoint("a", "b", "acme", "unknown")]


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        pytest.param("[getmodules]\na = m\n", [("a", "m")], id="one"),
        pytest.param("[getmodules]\na=m:x.y\nb = n\n", [("a", "m:x.y"), ("b", "n")], id="two"),
        pytest.param("[x]\na = m\n[getmodules]\nb = n\n[y]\nc = o\n", [("b", "n")], id="among other groups"),
        pytest.param("[getmodules.other]\na = m\n", [], id="a group whose name begins like ours"),
        pytest.param("\n[getmodules]\n\n# no = comment\n; nor = this\n  a  =  m  # why\n", [("a", "m")], id="comments"),
        pytest.param("[getmodules]\na = m:x [extra]\n", [("a", "m:x")], id="extras"),
        pytest.param("[getmodules]\r\na = m\r\n", [("a", "m")], id="line ends of Windows"),
        pytest.param("[getmodules]\nthis is no entry\n= m\na =\n", [], id="no entries"),
        pytest.param("", [], id="empty"),
        pytest.param("\x00\xff", [], id="no text"),
    ],
)
def test_the_file(write: Write, text: str, entries: list[tuple[str, str]]) -> None:
    assert [(entry.name, entry.value) for entry in _found(write("acme-1.dist-info", text))] == entries


def test_the_first_distribution_on_the_path_wins(write: Write) -> None:
    first = write("acme-2.dist-info", "[getmodules]\na = new\n", site="first")
    second = write("Acme-1.dist-info", "[getmodules]\na = old\n", site="second")
    assert [entry.value for entry in _found(first, second)] == ["new"]
    assert [entry.value for entry in _found(second, first)] == ["old"]
    assert [entry.value for entry in _found(first, first)] == ["new"]


def test_a_newer_version_without_entry_points_hides_an_older_with(write: Write) -> None:
    first = write("acme-2.dist-info", None, site="first")
    second = write("acme-1.dist-info", "[getmodules]\na = old\n", site="second")
    assert _found(first, second) == []


def test_what_is_no_directory_is_passed_over(write: Write, tmp_path: Path) -> None:
    site = write("acme-1.dist-info", "[getmodules]\na = m\n")
    (tmp_path / "archive.zip").write_bytes(b"PK")
    (site / "other-1.dist-info").write_text("a file")
    (site / "notes.txt").write_text("")
    assert len(_found(tmp_path / "nowhere", tmp_path / "archive.zip", site)) == 1


def test_names_are_shown_as_they_are_compared(write: Write) -> None:
    (entry,) = _found(write("ac\x1bme-1\x07.dist-info", "[getmodules]\na\x1b[2J = m\n"))
    assert entry == EntryPoint("a\\x1b[2J", "m", "ac\\x1bme", "1\\x07")


def test_nothing_is_missed_that_importlib_finds() -> None:
    expected = {(entry.name, entry.value) for entry in importlib.metadata.entry_points(group=GROUP)}
    assert {(entry.name, entry.value) for entry in find(GROUP)} == expected
    assert expected, "getmodules itself is installed"


@pytest.mark.parametrize(
    "name", ["getmodules_example", "getmodules-example", "Getmodules.Example", "getmodules-_.example"]
)
def test_names_of_distributions_are_compared_as_indexes_do(name: str) -> None:
    assert normalised(name) == "getmodules-example"


def test_what_cannot_be_looked_into_is_an_error_and_not_an_empty_list() -> None:
    """As with too few descriptors: else a plugin that is there would seem not to be."""
    with pytest.raises(ConfigError) as caught:
        list(find("getmodules", ["x" * 5_000]))
    assert caught.value.code == "config"
    assert "cannot look for plugins" in caught.value.message
