"""Relative sources, seen from another directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from getmodules import ConfigError
from getmodules.project.rebase import rebased
from tests.support.refusals import refusal


@pytest.mark.parametrize(
    ("source", "start", "wanted"),
    [
        pytest.param("./x", "", "./x", id="the same directory"),
        pytest.param("./x//y/?ref=v1", "", "./x//y/?ref=v1", id="as it was typed"),
        pytest.param("./x", "a/b", "./a/b/x", id="below"),
        pytest.param("../../x", "a/b", "./x", id="up to the manifest"),
        pytest.param("../../../x", "a/b", "../x", id="above"),
        pytest.param("../..", "a/b", ".", id="the manifest's directory"),
        pytest.param(".", "a", "./a", id="the current directory"),
        pytest.param("..", "", "..", id="above, from the same directory"),
        pytest.param("./x", "..", "../x", id="from above"),
        pytest.param(".\\x\\y", "a", "./a/x/y", id="as on Windows"),
        pytest.param("./.hidden", "a", "./a/.hidden", id="a name with a dot"),
        pytest.param("../.hidden", "a", "./.hidden", id="a name with a dot beside the manifest"),
        pytest.param("./a%20b//c%3Fd?ref=a%20b", "a", "./a/a%20b//c%3Fd?ref=a%20b", id="escapes stay"),
        pytest.param("GIT::./x?ref=v1", "a", "GIT::./a/x?ref=v1", id="a force stays as typed"),
        pytest.param("oci-layout::../r//m?tag=1", "a", "oci-layout::./r//m?tag=1", id="a layout"),
        pytest.param("./p.zip?checksum=file:../S", "a", "./a/p.zip?checksum=file:./S", id="a checksum file"),
        pytest.param(
            "https://h/p.zip?checksum=file:./S&x=1", "a", "https://h/p.zip?checksum=file:./a/S&x=1", id="of a URL"
        ),
        pytest.param("https://h/p?checksum=file:https://h/S", "a", "https://h/p?checksum=file:https://h/S", id="URLs"),
        pytest.param("/x", "a", "/x", id="absolute"),
        pytest.param("github.com/acme/x", "a", "github.com/acme/x", id="a shorthand"),
        pytest.param("odd", "a", "odd", id="no address"),
        pytest.param("", "a", "", id="nothing"),
    ],
)  # fmt: skip
def test_where_it_starts(source: str, start: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    assert rebased(source, tmp_path / "project" / start, tmp_path / "project") == wanted


def test_through_links_it_is_the_real_directories_that_count(tmp_path: Path) -> None:
    (tmp_path / "project/deep/er").mkdir(parents=True)
    (tmp_path / "link").symlink_to("project/deep/er")
    assert rebased("../x", tmp_path / "link", tmp_path / "project") == "./deep/x"


def test_between_two_drives_it_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def apart(*_: object) -> str:
        raise ValueError("path is on mount 'C:', start on mount 'D:'")

    monkeypatch.setattr(os.path, "relpath", apart)
    assert rebased("./x", tmp_path / "a", tmp_path) == f"{tmp_path}/a/x"


@pytest.mark.parametrize("name", ["what?", "a::b\n"])
def test_a_directory_with_a_name_that_no_address_has(name: str, tmp_path: Path) -> None:
    error = refusal(ConfigError, "config", rebased, "./x", tmp_path / name, tmp_path)
    assert "\n" not in error.message
