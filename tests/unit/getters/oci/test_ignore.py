"""The language of ``.gitignore``: what its manual says, and git itself as the judge."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from getmodules.getters.oci.ignore import Ignore
from tests.support.repositories import git

RULES = [
    pytest.param("*.log", {"a.log", "sub/b.log"}, {"a.logs", "log"}, id="a-name-anywhere"),
    pytest.param("/a", {"a", "a/b"}, {"sub/a"}, id="anchored-at-the-front"),
    pytest.param("sub/a", {"sub/a", "sub/a/b"}, {"x/sub/a", "a"}, id="anchored-by-a-slash-inside"),
    pytest.param("a/", {"a/b", "x/a/b"}, {"a", "x/a"}, id="directories-only"),
    pytest.param("**/a", {"a", "x/a", "x/y/a"}, {"xa", "a.tf"}, id="leading-double-star"),
    pytest.param("a/**", {"a/b", "a/b/c"}, {"a", "x/a/b"}, id="trailing-double-star"),
    pytest.param("a/**/b", {"a/b", "a/x/b", "a/x/y/b"}, {"a/xb", "ab", "x/a/b"}, id="double-star-inside"),
    pytest.param("*\n!keep", {"a", "x/keep"}, {"keep"}, id="negated-below-what-is-left-out-stays-out"),
    pytest.param("/*\n!/keep/", {"a"}, {"keep/x"}, id="negated"),
    pytest.param("!a\na", {"a"}, set(), id="the-last-rule-decides"),
    pytest.param("# a\n\\#b\n\\!c", {"#b", "!c"}, {"a", "# a"}, id="comments-and-their-escapes"),
    pytest.param("a  \nb\\ \nc \\  ", {"a", "b ", "c  "}, {"a  ", "b", "c"}, id="blanks-at-the-end"),
    pytest.param("a?c", {"abc"}, {"ac", "a/c"}, id="question-mark"),
    pytest.param("[a-c]x", {"ax", "cx"}, {"dx"}, id="range"),
    pytest.param("[!a]x", {"bx"}, {"ax", "x"}, id="negated-class"),
    pytest.param("[]-]x", {"]x", "-x"}, {"ax"}, id="bracket-and-dash"),
    pytest.param("[[:digit:]]x", {"1x"}, {"dx"}, id="named-class"),
    pytest.param("[a\n[[:nope:]]\n\\", set(), {"a", "[a", "\\"}, id="broken-patterns-match-nothing"),
    pytest.param("\\*", {"*"}, {"a"}, id="escaped-star"),
    pytest.param("a\r\nb", {"a", "b"}, set(), id="windows-lines"),
    pytest.param("\ufeffa", {"a"}, set(), id="byte-order-mark"),
    pytest.param("", set(), {"a"}, id="nothing"),
    pytest.param("/\n!\n//", set(), {"a", "a/b"}, id="nothing-but-punctuation"),
]


@pytest.mark.parametrize(("text", "out", "stays"), RULES)
def test_rules(text: str, out: set[str], stays: set[str]) -> None:
    ignore = Ignore(text.encode())
    assert {path for path in out | stays if ignore.leaves_out_below(path)} == out


def test_stars_that_could_match_in_many_ways_take_no_time() -> None:
    started = time.monotonic()
    assert not Ignore(b"*a" * 30 + b"b").leaves_out_below("a" * 200)
    assert time.monotonic() - started < 1


NAMES = ["a", "b", "ab", "a.tf", ".a", "a b", "a ", "!a", "#a", "a]", "a-b", "é", "[a]", "\\", "*", "A", "0", "^a", "-"]
PIECES = [
    "a", "b", ".tf", ".", "-", "é", "*", "?", "/", "!", "#", " ", "\\ ", "\\*", "\\", "[", "]", "[ab]", "[!a]", "[^b]",
    "[a-z]", "[[:alpha:]]", "[[:upper:]]", "[]a]", "[\\]]", "[a-]", "[--0]", "[z-a]", "[[:foo:]]", "[[:alpha]",
    "[a/b]", "[[a]", "[:a]",
]  # fmt: skip
#: Stars that are no whole component are left to ordinary pieces: where a literal stands before them git itself
#: does not follow its manual.
WHOLE = ["**", "***", "*", "a*", "*b"]

piece_line = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join).filter(lambda text: "**" not in text)
)
component_line = st.lists(st.sampled_from([*WHOLE, "a", "b", "?", "[ab]"]), min_size=1, max_size=4).map("/".join)
lines = st.builds(
    lambda negated, line, anchor, end: f"{negated}{anchor}{line}{end}",
    st.sampled_from(["", "", "!"]),
    piece_line | component_line,
    st.sampled_from(["", "", "/"]),
    st.sampled_from(["", "", "/", " "]),
)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    if shutil.which("git") is None:
        pytest.skip("git is the judge")
    root = tmp_path_factory.mktemp("judge")
    git(root, "init", "-q")
    paths = {f"{one}/{two}/{three}" for one in NAMES[:6] for two in NAMES[::4] for three in NAMES[::3]}
    paths |= {f"d{one}/{two}" for one in NAMES[:4] for two in NAMES} | {f"{name}.x" for name in NAMES} | set(NAMES[7:])
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")
    return root, sorted(paths)


@settings(max_examples=150)
@given(text=st.lists(lines, min_size=1, max_size=4).map("\n".join))
def test_git_agrees(judge: tuple[Path, list[str]], text: str) -> None:
    root, paths = judge
    (root / ".gitignore").write_text(text)
    listed = git(root, "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore").decode().split("\0")
    ignore = Ignore(text.encode())
    assert {path for path in paths if not ignore.leaves_out_below(path)} == set(listed) - {"", ".gitignore"}
