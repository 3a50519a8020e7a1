"""What a ref means on a real server: every spelling that git knows, the pin that comes of it, what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from getmodules import NotFoundError
from tests.support.gitplaces import Place
from tests.support.gitrepos import Repository, colliding
from tests.support.gitservers import GitServer, git_http
from tests.support.refusals import words_of

pytestmark = pytest.mark.slow

LOOKS_LIKE_A_HASH = "beef123"


@dataclass(frozen=True)
class Story:
    """A repository with a name for everything, and the commits by what they are called here."""

    server: GitServer
    commits: dict[str, str]
    trees: dict[str, str]

    @property
    def url(self) -> str:
        return f"{self.server.url}/story.git"


def tell(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    repository = Repository(path)
    commits: dict[str, str] = {}
    trees: dict[str, str] = {}
    parents: tuple[str, ...] = ()
    for name in ("first", "second", "third"):
        trees[name] = repository.files({"main.tf": f"# {name}\n".encode(), "sub/sub.tf": f"# {name}\n".encode()})
        commits[name] = repository.commit(trees[name], *parents)
        parents = (commits[name],)
    for name in ("aside", "hidden"):
        trees[name] = repository.files({"main.tf": f"# {name}\n".encode()})
        commits[name] = repository.commit(trees[name], commits["first"])
    repository.branch(commits["third"])
    repository.branch(commits["aside"], "feature/x")
    repository.branch(commits["aside"], LOOKS_LIKE_A_HASH)
    repository.branch(commits["aside"], "both")
    repository.tag(commits["second"], "both")
    repository.tag(commits["first"], "v1.0.0")
    repository.tag(commits["first"], "pkg@1.2.3")
    annotated = repository.tag(repository.annotate(commits["second"], "v2.0.0"), "v2.0.0")
    repository.tag(repository.annotate(annotated, "twice", kind="tag"), "twice")
    repository.tag(repository.blob(b"# main\n"), "a-blob")
    repository.tag(trees["first"], "a-tree")
    repository.ref("refs/custom/y", commits["aside"])
    ambiguous = colliding(repository, 7)
    for number, commit in enumerate(ambiguous):
        commits[f"ambiguous-{number}"] = repository.branch(commit, f"ambiguous-{number}")
    return commits, trees


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    root = tmp_path_factory.mktemp("story")
    commits, trees = tell(root / "story.git")
    with git_http(root) as server:
        yield Story(server, commits, trees)


@pytest.fixture
def place(place: Place, story: Story) -> Place:
    story.server.behave(protocol=2, filters=True, any_sha=True)
    story.server.forget()
    return place


FOUND = [
    pytest.param(None, "third", id="none is the remote's HEAD"),
    pytest.param("HEAD", "third", id="HEAD"),
    pytest.param("main", "third", id="branch"),
    pytest.param("feature/x", "aside", id="branch with a slash"),
    pytest.param("heads/main", "third", id="heads/"),
    pytest.param("refs/heads/feature/x", "aside", id="refs/heads/"),
    pytest.param("v1.0.0", "first", id="tag"),
    pytest.param("tags/v1.0.0", "first", id="tags/"),
    pytest.param("refs/tags/v2.0.0", "second", id="refs/tags/, annotated"),
    pytest.param("v2.0.0", "second", id="annotated tag"),
    pytest.param("twice", "second", id="annotated tag of an annotated tag"),
    pytest.param("pkg@1.2.3", "first", id="tag with an at sign"),
    pytest.param("refs/custom/y", "aside", id="a ref of no usual kind"),
    pytest.param(LOOKS_LIKE_A_HASH, "aside", id="branch that looks like a short hash"),
    pytest.param("{first}", "first", id="commit in the history"),
    pytest.param("{third}", "third", id="commit at a tip"),
    pytest.param("{hidden}", "hidden", id="commit that no ref leads to"),
    pytest.param("{first:.7}", "first", id="seven digits"),
    pytest.param("{second:.12}", "second", id="twelve digits"),
    pytest.param("{ambiguous-0:.20}", "ambiguous-0", id="enough digits where seven are ambiguous"),
]


def spelled(ref: str | None, story: Story) -> str:
    return "" if ref is None else f"?ref={ref.format_map(story.commits)}"


@pytest.mark.parametrize(("ref", "commit"), FOUND)
def test_a_ref_is_the_commit_that_git_would_take(ref: str | None, commit: str, story: Story, place: Place) -> None:
    installed = place.get(f"git::{story.url}{spelled(ref, story)}")
    expected = story.commits[commit]
    assert installed.id == expected
    assert installed.pinned == f"git::{story.url}?ref={expected}"
    assert installed.digests == {"commit": expected, "tree": story.trees.get(commit, installed.digests["tree"])}
    if commit in story.trees:
        assert place.files()["main.tf"] == f"# {commit}\n".encode()


@pytest.mark.parametrize(("ref", "commit"), FOUND)
def test_resolve_says_the_same_and_installs_nothing(ref: str | None, commit: str, story: Story, place: Place) -> None:
    with place.client() as client:
        resolved = client.resolve(f"git::{story.url}//sub{spelled(ref, story)}")
    assert resolved.id == story.commits[commit]
    assert resolved.pinned == f"git::{story.url}//sub?ref={resolved.id}"
    assert list(place.work.iterdir()) == []


def test_resolving_a_name_asks_for_no_objects(story: Story, place: Place) -> None:
    with place.client() as client:
        client.resolve(f"git::{story.url}?ref=v2.0.0")
    assert story.server.packs == 0
    assert len(story.server.exchanges) == 1  # all refs in the first answer


def test_a_full_commit_is_resolved_without_asking_anybody(story: Story, place: Place) -> None:
    with place.client() as client:
        resolved = client.resolve(f"git::{story.url}?ref={story.commits['first']}")
    assert resolved.id == story.commits["first"]
    assert story.server.exchanges == []


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param("", id="as it is"),
        pytest.param("&depth=1", id="depth"),
        pytest.param("&depth=50", id="more depth than there is"),
        pytest.param("&submodules=false", id="without submodules"),
    ],
)
def test_a_pin_brings_the_same_tree_again(extra: str, story: Story, place: Place) -> None:
    first = place.get(f"git::{story.url}//sub?ref=v1.0.0{extra}", dest=place.work / "one")
    kept = "&submodules=false" if "submodules" in extra else ""
    assert first.pinned == f"git::{story.url}//sub?ref={story.commits['first']}{kept}"
    again = place.get(first.pinned, dest=place.work / "two")
    assert (again.h1, again.id, again.pinned) == (first.h1, first.id, first.pinned)


def test_depth_and_a_commit_together(story: Story, place: Place) -> None:
    """go-getter refuses them; here a commit is fetched at depth one anyway."""
    assert place.get(f"git::{story.url}?ref={story.commits['first']}&depth=1").id == story.commits["first"]


def test_of_a_branch_and_a_tag_the_tag_is_taken_and_that_is_said(story: Story, place: Place) -> None:
    installed = place.get(f"git::{story.url}?ref=both")
    assert installed.id == story.commits["second"]
    assert place.notices.about("both", "branch", "tag")


@pytest.mark.parametrize(("ref", "near"), [("v2.0.1", "v2.0.0"), ("mian", "main"), ("featrue/x", "feature/x")])
def test_a_name_that_is_not_there_lists_near_ones(ref: str, near: str, story: Story, place: Place) -> None:
    error = place.refused(f"git::{story.url}?ref={ref}", NotFoundError, "not-found")
    assert ref in error.message
    assert near in words_of(error)


@pytest.mark.parametrize(
    "ref",
    [
        pytest.param("0" * 39 + "1", id="commit"),
        pytest.param("0000001", id="short hash"),
        pytest.param("{ambiguous-0:.7}", id="ambiguous short hash"),
        pytest.param("refs/heads/v1.0.0", id="a tag's name as a branch"),
        pytest.param("tags/main", id="a branch's name as a tag"),
        pytest.param("{first:.6}", id="six digits are no hash"),
    ],
)
@pytest.mark.parametrize("protocol", [2, 0], ids=["v2", "v0"])
def test_what_is_not_there(ref: str, protocol: int, story: Story, place: Place) -> None:
    story.server.behave(protocol=protocol)
    place.refused(f"git::{story.url}{spelled(ref, story)}", NotFoundError, "not-found")


@pytest.mark.parametrize("ref", ["a-blob", "a-tree"])
def test_a_tag_of_something_that_is_no_commit(ref: str, story: Story, place: Place) -> None:
    error = place.refused(f"git::{story.url}?ref={ref}", NotFoundError, "not-found")
    assert "commit" in error.message


@pytest.mark.parametrize("ref", [None, "main", "v1.0.0"])
def test_an_empty_repository(ref: str | None, story: Story, place: Place) -> None:
    place.repository("empty")
    suffix = "" if ref is None else f"?ref={ref}"
    place.refused(f"{place.file_url('empty')}{suffix}", NotFoundError, "not-found")


def test_a_head_that_leads_nowhere(story: Story, place: Place) -> None:
    repository = place.repository("headless")
    commit = repository.commit_files({"main.tf": b"# other\n"}, branch="other")
    error = place.refused(place.file_url("headless"), NotFoundError, "not-found")
    assert "other" in words_of(error)
    assert place.get(f"{place.file_url('headless')}?ref=other").id == commit


def test_a_detached_head(story: Story, place: Place) -> None:
    repository = place.repository("detached")
    first = repository.commit_files({"main.tf": b"# 1\n"})
    repository.commit_files({"main.tf": b"# 2\n"}, first)
    (repository.path / "HEAD").write_text(first + "\n")
    assert place.get(place.file_url("detached")).id == first


@pytest.mark.parametrize("how", ["v2", "v0", "no filters", "no commits by their id"])
def test_every_ref_on_every_server(how: str, story: Story, place: Place) -> None:
    """What a server can do changes how much is moved, never what is installed."""
    story.server.behave(
        protocol=0 if how in ("v0", "no commits by their id") else 2,
        filters=how != "no filters",
        any_sha=how != "no commits by their id",
    )
    for ref, commit in (("main", "third"), ("v2.0.0", "second"), ("{first}", "first"), ("{second:.9}", "second")):
        dest = place.work / commit / str(len(ref))
        installed = place.get(f"git::{story.url}//sub{spelled(ref, story)}", dest=dest)
        assert installed.id == story.commits[commit]
        assert (dest / "sub.tf").read_bytes() == f"# {commit}\n".encode()
