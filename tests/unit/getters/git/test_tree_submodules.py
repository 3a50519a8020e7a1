"""``.gitmodules``, read and judged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from getmodules import CorruptArchiveError, NotFoundError, UnsafeContentError
from getmodules.addresses.url import check_url
from getmodules.getters.git.process import Git
from getmodules.getters.git.remote import Remote
from getmodules.getters.git.store import Extent, Store
from getmodules.getters.git.tree import Submodules
from tests.support.contexts import a_context
from tests.support.gitrepos import modules
from tests.support.refusals import refusal
from tests.support.tools import need

WEB = Remote(check_url("https://h/a/b.git"))


def read(content: bytes, tmp_path: Path) -> Submodules:
    need("git")
    store = Store(tmp_path, Extent.TIP, 40)
    store.prepare()
    return Submodules.read(content, store, Git(a_context(environ={"PATH": os.environ["PATH"]})))


def test_where_they_are(tmp_path: Path) -> None:
    found = read(
        modules(
            one={"path": "lib/one", "url": "../one.git", "update": "none"},
            two={"path": "two/", "url": "https://other/two"},
            three={"path": "three"},
            four={"url": "https://other/four"},
        ),
        tmp_path,
    )
    assert found.urls == {"lib/one": "../one.git", "two": "https://other/two"}
    assert found.remote("lib/one", WEB).location == "https://h/a/one.git"
    error = refusal(NotFoundError, "not-found", found.remote, "three", WEB)
    assert "'three'" in error.message
    assert "submodules=false" in (error.hint or "")


@pytest.mark.parametrize("second", ["lib", "lib/"])
def test_two_urls_for_one_path_are_refused(second: str, tmp_path: Path) -> None:
    twice = modules(one={"path": "lib", "url": "../one"}, two={"path": second, "url": "../two"})
    error = refusal(UnsafeContentError, "unsafe-content/submodule", read, twice, tmp_path)
    assert "'lib'" in error.message
    same = modules(one={"path": "lib", "url": "../one"}, two={"path": second, "url": "../one"})
    assert read(same, tmp_path).urls == {"lib": "../one"}


def test_none(tmp_path: Path) -> None:
    assert read(b"", tmp_path).urls == {}
    assert read(b"[core]\n\tfsmonitor = evil\n", tmp_path).urls == {}


def test_no_other_file_is_read(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(modules(evil={"path": "lib", "url": "../evil"}))
    assert read(b"[include]\n\tpath = %s\n" % os.fsencode(other), tmp_path).urls == {}


def test_rubbish(tmp_path: Path) -> None:
    refusal(CorruptArchiveError, "corrupt-archive", read, b"[submodule", tmp_path)


@pytest.mark.parametrize("url", ["ext::sh -c id", "-u./x", "fd::7", "ftp://h/x", "nothing"])
def test_a_url_that_is_refused(url: str) -> None:
    error = refusal(UnsafeContentError, "unsafe-content/submodule", Submodules({"lib": url}).remote, "lib", WEB)
    assert "'lib'" in error.message


@pytest.mark.parametrize("url", ["file:///srv/x", "/srv/x"])
def test_no_path_of_this_machine_from_a_server(url: str) -> None:
    refusal(UnsafeContentError, "unsafe-content/local-source", Submodules({"lib": url}).remote, "lib", WEB)
    local = Remote(check_url("file:///srv/a"))
    assert Submodules({"lib": url}).remote("lib", local).location == "file:///srv/x"
