from __future__ import annotations

import pytest

from getmodules.api.limits import Limits
from getmodules.archive.names import NameBook, decode_name, member_path
from getmodules.errors import LimitExceededError, UnsafeContentError
from tests.support.refusals import refusal


@pytest.mark.parametrize(
    ("name", "path"),
    [("a", "a"), ("./a//b/", "a/b"), ("./", ""), (".", ""), ("a/./b", "a/b"), ("日本/é", "日本/é"), ("...", "...")],
)
def test_names_become_clean_paths(name: str, path: str) -> None:
    assert member_path(name) == path


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("", "bad-name"), ("a\nb", "bad-name"), ("a\x1b[31m", "bad-name"), ("a\x00", "bad-name"), ("a\x85", "bad-name"),
        ("a\\b", "bad-name"), ("/a", "absolute-path"), ("//a", "absolute-path"), ("c:a", "absolute-path"),
        ("C:/a", "absolute-path"), ("..", "parent-path"), ("a/../b", "parent-path"), ("a/..", "parent-path"),
    ],
)  # fmt: skip
def test_bad_names_are_refused(name: str, part: str) -> None:
    error = refusal(UnsafeContentError, f"unsafe-content/{part}", member_path, name)
    assert error.message.isprintable()


def test_names_must_be_utf_8() -> None:
    assert decode_name("é".encode()) == "é"
    refusal(UnsafeContentError, "unsafe-content/bad-name", decode_name, b"\xe9")


def admitted(*names: str, strict: bool = True, folds: bool = False) -> NameBook:
    book = NameBook(Limits(), strict=strict, folds_names=folds)
    for name in names:
        book.admit(name, directory=name.endswith("/"))
    return book


@pytest.mark.parametrize(
    ("names", "part"),
    [
        (("a", "a"), "duplicate-name"), (("a", "./a"), "duplicate-name"), (("a", "a/b"), "file-and-directory"),
        (("a/b", "a"), "file-and-directory"), (("a", "a/"), "file-and-directory"), (("a/", "a"), "file-and-directory"),
        (("a", "A"), "case-collision"), (("x/a", "X/b"), "case-collision"), (("é", "e\u0301"), "case-collision"),
        (("A", "a"), "case-collision"), (("X/b", "x/a"), "case-collision"), (("x/", "x/A", "x/a"), "case-collision"),
        (("\u212a", "k"), "case-collision"), (("k", "\u212a"), "case-collision"), (("é", "É"), "case-collision"),
        (("É", "é"), "case-collision"), (("A", "\u0101", "b"), None), (("a1", "a2", "a/1", "a/2"), None),
        (("ß", "SS"), "case-collision"), (("\udcff",), "bad-name"), (("./",), None), (("a/", "a/"), None),
        (("a/b", "a/c", "a/"), None), ((".",), "bad-name"),
    ],
)  # fmt: skip
def test_names_of_an_archive_must_differ(names: tuple[str, ...], part: str | None) -> None:
    if part is None:
        assert admitted(*names).notices == {}
    else:
        refusal(UnsafeContentError, f"unsafe-content/{part}", admitted, *names)


def test_plain_names_are_judged_as_odd_ones_are() -> None:
    """Most names take a short way through the book; whether they do must not be seen."""
    names = [
        f"{top}{name}" for top in ("", "d/", "D/") for name in ("ab", "Ab", "a.b", "con", "conx", "con.tf", "x.", "7")
    ]
    for first in names:
        for second in names:
            short, long = admitted(first, strict=False), admitted(f"./{first}", strict=False)
            for book, name in ((short, second), (long, f"./{second}")):
                if first == second:
                    refusal(UnsafeContentError, "unsafe-content/duplicate-name", book.admit, name, directory=False)
                else:
                    assert book.admit(name, directory=False) == second
            assert short.notices == long.notices


@pytest.mark.parametrize("name", ["con", "a/NUL.txt", "com1", "a.", "a ", "a?b", "ab:c", "lpt¹"])
def test_what_windows_cannot_hold_is_a_notice_elsewhere(name: str) -> None:
    assert set(admitted(name).notices) == {"unportable-name"}
    refusal(UnsafeContentError, "unsafe-content/unportable-name", admitted, name, folds=True)


def test_case_pairs_of_a_repository_are_a_notice_where_they_fit() -> None:
    book = admitted("a", "A", "b", "B", strict=False)
    assert book.notices["case-collision"] == (2, "the name 'A' differs from 'a' only in case or accents")
    refusal(UnsafeContentError, "unsafe-content/case-collision", admitted, "a", "A", strict=False, folds=True)


def test_names_are_bounded() -> None:
    refusal(LimitExceededError, "limit-exceeded/metadata", admitted, *(f"{n}" + "x" * 3_000 for n in range(12_000)))
    refusal(LimitExceededError, "limit-exceeded/metadata", admitted("a").charge, 64 << 20)


def test_directories_are_known_also_where_they_are_only_implied() -> None:
    book = admitted("a/b/c", "d/")
    assert sorted(book.directories()) == ["a", "a/b", "d"]
    assert "a/b/c" in book
    assert "a/x" not in book
