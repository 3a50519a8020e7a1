from __future__ import annotations

import pytest

from getmodules.archive.selection import Selection
from getmodules.errors import SubdirectoryNotFoundError
from tests.support.refusals import refusal


def offered(subdir: str, *paths: str) -> Selection:
    selection = Selection(subdir)
    for path in paths:
        selection.offer(path.rstrip("/"), directory=path.endswith("/"))
    return selection


@pytest.mark.parametrize(
    ("subdir", "path", "relative"),
    [
        ("", "a/b", "a/b"), ("a", "a/b", "b"), ("a", "ab/c", None), ("a", "a", ""), ("a/b", "a", None),
        ("*", "a/b", "b"), ("a/*", "a/b/c/d", "c/d"), ("[ab]", "a/x", "x"), ("?", "ab/x", None), ("*", ".a/x", None),
    ],
)  # fmt: skip
def test_what_is_inside(subdir: str, path: str, relative: str | None) -> None:
    assert offered(subdir, f"{path}/").relative(path) == relative


@pytest.mark.parametrize(("subdir", "paths"), [("a", ["a/"]), ("a", ["a/x"]), ("a*/b", ["aa/", "aa/b/", "aa/b/c"])])
def test_found(subdir: str, paths: list[str]) -> None:
    offered(subdir, *paths).finish([])


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        (["a/x", "b/x"], "subdirectory-not-found/ambiguous-glob"),
        (["a", "b"], "subdirectory-not-found/ambiguous-glob"),
        (["a"], "subdirectory-not-found/not-a-directory"), ([".a/x"], "subdirectory-not-found"),
    ],
)  # fmt: skip
def test_a_glob_means_one_directory(paths: list[str], code: str) -> None:
    refusal(SubdirectoryNotFoundError, code, lambda: offered("*", *paths).finish([]))


def test_the_hint_is_near_and_printable() -> None:
    directories = ["modules/vpc", "modules/vpn", "x/\x1b[31m", "repo-1.0/modules/vcp"]
    error = refusal(SubdirectoryNotFoundError, "subdirectory-not-found", Selection("modules/vcp").finish, directories)
    assert error.hint == "did you mean 'repo-1.0/modules/vcp' or 'modules/vpn' or 'modules/vpc'?"
