"""What a ref= means, by git's own rules."""

from __future__ import annotations

import pytest

from getmodules import FetchError, NotFoundError
from getmodules.getters.git.refs import Refs, full_commit, short_commit
from tests.support.refusals import refusal

A, B, C, D = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)
LISTING = f"""ref: refs/heads/main\tHEAD
{A}\tHEAD
{A}\trefs/heads/main
{B}\trefs/heads/both
{B}\trefs/heads/feature/x
{B}\trefs/heads/tags/odd
{C}\trefs/tags/both
{D}\trefs/tags/v1
{C}\trefs/tags/v1^{{}}
{C}\trefs/tags/odd
{D}\trefs/pull/7/head
{B}\trefs/remotes/origin/HEAD
"""
REFS = Refs.parse(LISTING.encode())


@pytest.mark.parametrize(
    ("ref", "name", "commit"),
    [
        pytest.param(None, "refs/heads/main", A, id="none"),
        pytest.param("HEAD", "refs/heads/main", A, id="HEAD"),
        pytest.param("main", "refs/heads/main", A, id="branch"),
        pytest.param("feature/x", "refs/heads/feature/x", B, id="branch with a slash"),
        pytest.param("v1", "refs/tags/v1", C, id="annotated tag"),
        pytest.param("both", "refs/tags/both", C, id="tag before branch"),
        pytest.param("heads/both", "refs/heads/both", B, id="the branch, said so"),
        pytest.param("tags/v1", "refs/tags/v1", C, id="tags/"),
        pytest.param("tags/odd", "refs/tags/odd", C, id="a tag before a branch that is called like one"),
        pytest.param("refs/pull/7/head", "refs/pull/7/head", D, id="in full"),
        pytest.param("pull/7/head", "refs/pull/7/head", D, id="below refs"),
        pytest.param("origin", "refs/remotes/origin/HEAD", B, id="the HEAD of a remote"),
    ],
)
def test_a_ref_that_is_there(ref: str | None, name: str, commit: str) -> None:
    found = REFS.find(ref)
    assert found is not None
    assert found[:2] == (name, commit)


def test_a_tag_and_a_branch_of_one_name_are_noticed() -> None:
    assert [bool(found and found.notice) for found in map(REFS.find, ("both", "v1", "heads/both"))] == [
        True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("ref", ["nope", "refs/main", "refs/heads/nope", "heads/v1", "v1^{}", "mai"])
def test_a_ref_that_is_not_there(ref: str) -> None:
    assert REFS.find(ref) is None


def test_near_names_are_offered() -> None:
    error = REFS.missing("mian")
    assert error.code == "not-found"
    assert error.hint is not None
    assert "'main'" in error.hint
    assert REFS.missing("zzzzzz").hint == "there are, for example: main, both, feature/x, tags/odd, v1"


def test_branches_and_tags_are_near_before_pull_requests() -> None:
    """A forge lists thousands of them, in front of the tags."""
    pulls = {f"refs/pull/{number}/{end}": A for number in range(3_000) for end in ("head", "merge")}
    refs = Refs({"HEAD": A, **pulls, "refs/tags/v1.0.0": A, "refs/tags/v1.1.0": A}, {})
    near = refs.missing("v1.0.1").hint or ""
    assert "'v1.0.0'" in near
    assert "'v1.1.0'" in near
    assert refs.missing("zzzzzz").hint == (
        "there are, for example: v1.0.0, v1.1.0, refs/pull/0/head, refs/pull/0/merge, refs/pull/1/head"
    )


@pytest.mark.parametrize(
    ("short", "names"),
    [
        pytest.param("aaaaaaa", ["HEAD"], id="HEAD, whatever it is"),
        pytest.param("ddddddd", ["HEAD", "refs/pull/7/head"], id="a pull request"),
        pytest.param("bbbbbbb", ["HEAD", "refs/remotes/origin/HEAD"], id="one where there are branches as well"),
        pytest.param("ccccccc", ["HEAD"], id="tags come anyway"),
        pytest.param("1234567", ["HEAD"], id="nothing that is listed"),
    ],
)
def test_what_a_short_id_may_be_besides_branches_and_tags(short: str, names: list[str]) -> None:
    assert REFS.beside(short) == names


def test_what_a_short_id_may_be_is_asked_for_once_and_not_without_end() -> None:
    same = {f"refs/pull/{number}/head": A for number in range(99)}
    assert Refs(same, {}).beside("aaaaaaa") == ["refs/pull/98/head"]
    alike = {f"refs/pull/{number}/head": f"aaaaaaa{number:033x}" for number in range(99)}
    assert len(Refs(alike, {}).beside("aaaaaaa")) == 16
    assert Refs({"refs/x/tag": B}, {"refs/x/tag": A}).beside("aaaaaaa") == ["refs/x/tag"]


@pytest.mark.parametrize(
    ("commit", "name"),
    [
        pytest.param(A, "refs/heads/main", id="a branch before HEAD"),
        pytest.param(C, "refs/tags/both", id="a tag"),
        pytest.param(D, "refs/pull/7/head", id="a pull request, and not the object of a tag"),
        pytest.param("e" * 40, None, id="none"),
    ],
)
def test_the_name_of_a_commit(commit: str, name: str | None) -> None:
    assert REFS.name_of(commit) == name


def test_the_name_of_a_detached_head() -> None:
    assert Refs({"HEAD": A, "refs/heads/main": B}, {}).name_of(A) == "HEAD"


def test_a_detached_head() -> None:
    found = Refs.parse(f"{A}\tHEAD\n{B}\trefs/heads/main\n".encode()).find(None)
    assert found is not None
    assert found[:2] == ("HEAD", A)


def test_an_empty_repository() -> None:
    assert "push" in (refusal(NotFoundError, "not-found", Refs.parse(b"").find, None).hint or "")


def test_a_head_that_leads_nowhere() -> None:
    refusal(NotFoundError, "not-found", Refs.parse(f"{A}\trefs/heads/other\n".encode()).find, "HEAD")


@pytest.mark.parametrize("line", ["rubbish", f"{A} refs/heads/main", f"{A[1:]}\trefs/heads/x", f"{A}\t"])
def test_a_list_that_is_none(line: str) -> None:
    refusal(FetchError, "fetch/unreadable", Refs.parse, f"{line}\n".encode())


def test_tags() -> None:
    assert REFS.tags() == ["both", "v1", "odd"]
    assert REFS.id_length == 40


def test_commits() -> None:
    assert full_commit(A.upper()) == A
    assert full_commit("a" * 64) == "a" * 64
    assert [full_commit(each) for each in (None, "a" * 39, "a" * 41, "g" * 40)] == [None] * 4
    assert short_commit("ABCDEF1") == "abcdef1"
    assert [short_commit(each) for each in (None, "abcdef", "v1")] == [None] * 3


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("refs/pull/7/head", True), ("refs/merge-requests/1/head", True), ("refs/x/a+b@c=d", True),
        ("refs/x*y", False), ("refs/x:y", False), ("^refs/x", False), ("refs/x y", False), ("refs/../x", False),
        ("refs/x~1", False), ("refs/x.lock", False), ("refs/pull/\x1b[31m/1", False), ("-x", False), ("refs/", False),
    ],
)  # fmt: skip
def test_a_name_that_means_more_is_not_asked_for(name: str, asked: bool) -> None:
    assert Refs({name: A}, {}).beside(A[:7]) == ([name] if asked else [])
