from __future__ import annotations

import pytest

from getmodules.archive.dot_git import check_no_repository, find_dot_git, is_dot_git
from getmodules.errors import UnsafeContentError
from tests.support.refusals import refusal

#: The spellings that git itself refuses in trees, with core.protectNTFS and core.protectHFS.
SPELLINGS = [
    ".GIT", ".Git", ".giT", "git~1", "GIT~1", "Git~1", ".git ", ".git.", ".git...", ".git . .", "git~1 ", "git~1.",
    ".git:", ".git:x", ".git::$INDEX_ALLOCATION", ".GIT . :stream", "git~1::$DATA", "\u200c.git", ".g\u200dit",
    ".git\u200e", ".gi\u200ft", "\u202a.git", ".git\u202e", ".\u206agit", ".git\u206f", "\ufeff.GIT",
    ".\u202bg\u202ci\u202dt", "g\u206bit~1", "\u206c.git\u206d ", ".git\u206e:x",
]  # fmt: skip

#: Names that are near, and that nothing takes for ``.git``.
LOOK_ALIKES = [
    "git", ".gitignore", ".gitmodules", ".gitattributes", ".github", "..git", ".git1", ".git~1", "git~2", "git~11",
    "git~", "gitt~1", " .git", "x.git", ".git.x", ".git x", ".git . x", ".gi t", ".g", ".", "", ".gi\u0167",
    ".git\u200b", ".git\u2060", ".git\u00a0", "\u00a0.git", ".gıt", ".gİt", "．git", ".git\u0301", "git~1x",
    ".git-", ".git;x", ".hg",
]  # fmt: skip


@pytest.mark.parametrize("name", [*SPELLINGS, ".git"], ids=ascii)
def test_a_spelling_of_dot_git(name: str) -> None:
    assert is_dot_git(name)


@pytest.mark.parametrize("name", LOOK_ALIKES, ids=ascii)
def test_a_name_that_only_looks_like_it(name: str) -> None:
    assert not is_dot_git(name)
    assert find_dot_git(f"a/{name}/b") is None


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(".git", ".git", id="alone"),
        pytest.param(".git/config", ".git", id="in it"),
        pytest.param("a/b/.git/hooks/x", "a/b/.git", id="deep"),
        pytest.param("a/.git/modules/.git", "a/.git", id="twice"),
        pytest.param(".git/.GIT/x", ".git", id="another spelling in one"),
        pytest.param("é/.git/x", "é/.git", id="beside a letter"),
        pytest.param("digit/legit", None, id="other words"),
        pytest.param("", None, id="the top"),
    ],
)
def test_the_first_dot_git_of_a_path(path: str, found: str | None) -> None:
    assert find_dot_git(path) == found


@pytest.mark.parametrize("name", SPELLINGS, ids=ascii)
@pytest.mark.parametrize("around", ["{}", "{}/x", "a/b/{}", "a/{}/.git/b"])
def test_a_spelling_is_refused_at_any_depth(name: str, around: str) -> None:
    error = refusal(UnsafeContentError, "unsafe-content/dot-git", find_dot_git, around.format(name))
    assert error.message.isprintable()


@pytest.mark.parametrize(
    ("paths", "where"),
    [
        pytest.param("HEAD objects refs", "the top", id="the top"),
        pytest.param("refs objects x HEAD", "the top", id="in another order"),
        pytest.param("a/HEAD a/objects a/refs", "'a'", id="a directory"),
        pytest.param("a.git/b/HEAD a.git/b/objects a.git/b/refs x", "'a.git/b'", id="a deep one"),
        pytest.param("HEAD commondir", "the top", id="a part of a work tree"),
        pytest.param("x/head x/Objects x/REFS", "'x'", id="another case"),
        pytest.param("X/HEAD x/objects X/refs", "'x'", id="a case pair of directories"),
        pytest.param("x/CommonDir x/heAd", "'x'", id="a part in another case"),
        pytest.param("HE\u200cAD obj\ufeffects refs", "the top", id="what HFS+ ignores"),
        pytest.param("e\u0301/HEAD \u00e9/objects e\u0301/refs", "'e\u0301'", id="two spellings of a letter"),
        pytest.param("\u00c9/HEAD e\u0301/objects \u00e9/refs", "'e\u0301'", id="two spellings and cases"),
        pytest.param("HEAD objectſ refs", "the top", id="what folds to another letter"),
        pytest.param("HEAD objects refs/heads/main refs", "the top", id="with something in it"),
    ],
)
def test_a_repository_by_another_name_is_refused(paths: str, where: str) -> None:
    error = refusal(UnsafeContentError, "unsafe-content/dot-git", check_no_repository, paths.split())
    assert where in error.message
    assert "HEAD" in error.message


@pytest.mark.parametrize(
    "paths",
    [
        "HEAD", "objects refs", "HEAD refs", "HEAD objects", "commondir", "a/HEAD objects refs",
        "HEAD a/objects a/refs",
        "HEAD.md objects refs", "FETCH_HEAD objects refs", "AHEAD objects refs", "HEAD a/commondir",
        "a/HEAD b/commondir", "", "xHEAD/objects xHEAD/refs",
    ],
)  # fmt: skip
def test_what_git_takes_for_no_repository(paths: str) -> None:
    check_no_repository(paths.split())
