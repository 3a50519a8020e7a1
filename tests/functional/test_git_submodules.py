"""Submodules: each a package of its own under the same rules, whatever ``.gitmodules`` would like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from getmodules import (
    AuthenticationError,
    CorruptArchiveError,
    GetModulesError,
    LimitExceededError,
    Limits,
    NotFoundError,
    SubdirectoryNotFoundError,
    UnsafeContentError,
)
from tests.support.gitplaces import Place
from tests.support.gitrepos import GITLINK, LINK, Content, Entry, Gitlink, Link, Repository, modules
from tests.support.gitservers import GitServer, git_http
from tests.support.refusals import words_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("canary")]


@pytest.fixture
def server(place: Place) -> Iterator[GitServer]:
    with git_http(place.root) as running:
        yield running


def library(place: Place, name: str = "lib", files: Mapping[str, Content] | None = None) -> str:
    return place.repository(name).commit_files(files or {"lib.tf": b"# lib\n"})


def using(place: Place, url: str, commit: str, *, at: str = "lib", **settings: str) -> Repository:
    """A repository ``a`` with one submodule."""
    repository = place.repository()
    repository.commit_files(
        {
            "main.tf": b"# main\n",
            ".gitmodules": modules(lib={"path": at, "url": url, **settings}),
            at: Gitlink(commit),
        }
    )
    return repository


SPELLINGS = [
    pytest.param("../lib.git", id="beside"),
    pytest.param("./../lib.git", id="beside, by a detour"),
    pytest.param("./.././lib.git/", id="beside, by a longer detour"),
    pytest.param("{server}/lib.git", id="absolute"),
    pytest.param('"{server}/lib.git"', id="in quotes"),
]


@pytest.mark.parametrize("url", SPELLINGS)
def test_a_submodule_is_there_at_its_recorded_commit(url: str, place: Place, server: GitServer) -> None:
    lib = place.repository("lib")
    commit = lib.commit_files({"lib.tf": b"# lib\n"})
    lib.commit_files({"lib.tf": b"# newer\n"}, commit)
    using(place, url.format(server=server.url), commit)
    installed = place.get(f"git::{server.url}/a.git")
    assert place.files() == {"main.tf": b"# main\n", "lib/lib.tf": b"# lib\n", ".gitmodules": modules_of(place)}
    again = place.get(installed.pinned, force=True)
    assert again.h1 == installed.h1


def modules_of(place: Place) -> bytes:
    return (place.dest / ".gitmodules").read_bytes()


@pytest.mark.parametrize("url", ["../lib.git", "{root}/lib.git", "file://{root}/lib.git"])
def test_submodules_of_a_local_repository(url: str, place: Place) -> None:
    using(place, url.format(root=place.root), library(place))
    place.get(place.file_url())
    assert place.files()["lib/lib.tf"] == b"# lib\n"


def test_submodules_of_submodules(place: Place, server: GitServer) -> None:
    inner = library(place, "inner", {"inner.tf": b"# inner\n"})
    outer = library(
        place,
        "outer",
        {".gitmodules": modules(x={"path": "deps/inner", "url": "../inner.git"}), "deps/inner": Gitlink(inner)},
    )
    using(place, "../outer.git", outer)
    place.get(f"git::{server.url}/a.git")
    assert place.files()["lib/deps/inner/inner.tf"] == b"# inner\n"


def test_two_submodules_from_one_repository(place: Place, server: GitServer) -> None:
    lib = place.repository("lib")
    first = lib.commit_files({"lib.tf": b"# lib\n"})
    second = lib.commit_files({"lib.tf": b"# second\n"}, first)
    place.repository().commit_files(
        {
            ".gitmodules": modules(one={"path": "one", "url": "../lib.git"}, two={"path": "two", "url": "../lib.git"}),
            "one": Gitlink(first),
            "two": Gitlink(second),
        }
    )
    place.get(f"git::{server.url}/a.git")
    assert place.files()["one/lib.tf"] == b"# lib\n"
    assert place.files()["two/lib.tf"] == b"# second\n"


def test_without_submodules(place: Place, server: GitServer) -> None:
    using(place, "../absent.git", "12" * 20)
    installed = place.get(f"git::{server.url}/a.git?submodules=false")
    assert set(place.files()) == {"main.tf", ".gitmodules"}
    assert installed.pinned == f"git::{server.url}/a.git?ref={installed.id}&submodules=false"
    assert place.notices.about("submodule")


# --------------------------------------------------------------------------------------------- subdirectories


def test_only_submodules_below_the_wanted_directory_are_fetched(place: Place, server: GitServer) -> None:
    commit = library(place)
    place.repository().commit_files(
        {
            ".gitmodules": modules(
                inside={"path": "wanted/lib", "url": "../lib.git"}, outside={"path": "other", "url": "../absent.git"}
            ),
            "wanted/main.tf": b"# wanted\n",
            "wanted/lib": Gitlink(commit),
            "other": Gitlink("12" * 20),
        }
    )
    place.get(f"git::{server.url}/a.git//wanted")
    assert place.files() == {"main.tf": b"# wanted\n", "lib/lib.tf": b"# lib\n"}
    assert not any("absent" in exchange.target for exchange in server.exchanges)


@pytest.mark.parametrize(
    ("subdir", "expected"),
    [("lib", {"lib.tf", "sub/deep.tf"}), ("lib/sub", {"deep.tf"}), ("l*b/sub", {"deep.tf"})],
    ids=["the submodule", "inside of it", "by a glob"],
)
def test_a_wanted_directory_inside_a_submodule(
    subdir: str, expected: set[str], place: Place, server: GitServer
) -> None:
    using(place, "../lib.git", library(place, files={"lib.tf": b"# lib\n", "sub/deep.tf": b"# deep\n"}))
    place.get(f"git::{server.url}/a.git//{subdir}")
    assert set(place.files()) == expected


def test_a_directory_that_is_not_in_the_submodule(place: Place, server: GitServer) -> None:
    using(place, "../lib.git", library(place))
    place.refused(f"git::{server.url}/a.git//lib/absent", SubdirectoryNotFoundError, "subdirectory-not-found")


# --------------------------------------------------------------------------------------------- refusals

URLS = [
    pytest.param("ext::sh -c touch% {canary}", id="ext"),
    pytest.param("ext::sh -c 'touch {canary}'", id="ext, quoted"),
    pytest.param("--upload-pack=touch {canary};", id="option"),
    pytest.param("-u./x", id="short option"),
    pytest.param("ssh://-oProxyCommand=touch%20{canary}/x", id="option of ssh"),
    pytest.param("-oProxyCommand=touch:x", id="option in the scp form"),
    pytest.param("fd::17/x", id="fd"),
    pytest.param("transport::x", id="a transport of nobody"),
    pytest.param("http://h/a%0ab", id="line end"),
    pytest.param("http://h\\@evil/x", id="backslash"),
    pytest.param("s3::https://s3.amazonaws.com/b/x", id="another getter"),
    pytest.param("ftp://h/x", id="a transport that we have not"),
    pytest.param("../../../../../../lib.git", id="relative beyond the host"),
    pytest.param('"../lib.git\\n[core]\\nx=y"', id="with a setting in it"),
]


@pytest.mark.parametrize("url", URLS)
def test_a_url_that_is_refused(url: str, place: Place, server: GitServer) -> None:
    commit = library(place)
    using(place, url.format(canary=place.top / "executed"), commit)
    caught = refused_in_some_way(place, f"git::{server.url}/a.git")
    assert caught.code in ("unsafe-content/submodule", "corrupt-archive"), caught
    assert "submodule" in words_of(caught) or ".gitmodules" in words_of(caught)


def refused_in_some_way(place: Place, source: str) -> GetModulesError:
    with pytest.raises(GetModulesError) as caught:
        place.get(source)
    place.nothing_is_left()
    assert not place.dest.exists()
    assert not (place.top / "executed").exists()
    return caught.value


@pytest.mark.parametrize("url", ["file://{root}/lib.git", "{root}/lib.git", "file:///etc", "/etc"])
def test_no_server_may_name_a_directory_of_this_machine(url: str, place: Place, server: GitServer) -> None:
    using(place, url.format(root=place.root), library(place))
    place.refused(f"git::{server.url}/a.git", UnsafeContentError, "unsafe-content/local-source")


@pytest.mark.parametrize(
    "url", ["http://240.0.0.1:1/lib.git", "https://240.0.0.1/x", "ssh://git@240.0.0.1/x", "git://240.0.0.1/x"]
)
def test_no_repository_may_lead_further_in_than_it_is(url: str, place: Place, server: GitServer) -> None:
    using(place, url, library(place))
    error = place.refused(f"git::{server.url}/a.git", UnsafeContentError, "unsafe-content/elsewhere")
    assert "lib" in error.message
    place.refused(f"git::{server.url}/a.git", UnsafeContentError, "unsafe-content/elsewhere")


def test_a_submodule_that_is_redirected_further_in(place: Place, server: GitServer) -> None:
    with git_http(place.root, host="127.0.0.2", redirect="http://240.0.0.1:1") as other:
        using(place, f"{other.url}/lib.git", library(place))
        place.refused(f"git::{server.url}/a.git", UnsafeContentError, "unsafe-content/elsewhere")


def test_a_submodule_that_has_moved(place: Place, server: GitServer) -> None:
    with git_http(place.root, host="127.0.0.2", redirect=server.url) as other:
        using(place, f"{other.url}/lib.git", library(place))
        place.get(f"git::{server.url}/a.git")
    assert place.files()["lib/lib.tf"] == b"# lib\n"


def test_a_submodule_in_the_clear_sees_no_token(place: Place, server: GitServer) -> None:
    """Else a repository, or who stands on the way, could have any token of ours sent where it can be read."""
    with git_http(place.root, host="127.0.0.2", basic=("ada", "t0ken")) as other:
        place.environ[f"GETMODULES_TOKEN_127_0_0_2_{other.port}"] = "t0ken"
        place.environ[f"GETMODULES_USERNAME_127_0_0_2_{other.port}"] = "ada"
        using(place, f"{other.url}/lib.git", library(place))
        place.refused(f"git::{server.url}/a.git", AuthenticationError, "authentication")
        assert not any("Authorization" in exchange.headers for exchange in other.exchanges)


@pytest.mark.parametrize(
    "at", ["../lib", "a/../../lib", "/lib", ".git/modules", ".GIT", "-x", "."], ids=lambda at: at.replace("/", "_")
)
def test_a_path_in_gitmodules_that_leads_elsewhere(at: str, place: Place, server: GitServer) -> None:
    """The tree says where a submodule is; a path that no gitlink has leads nowhere."""
    commit = library(place)
    repository = place.repository()
    repository.commit_files({".gitmodules": modules(evil={"path": at, "url": "../lib.git"}), "lib": Gitlink(commit)})
    caught = refused_in_some_way(place, f"git::{server.url}/a.git")
    assert caught.code in ("not-found", "unsafe-content/submodule", "corrupt-archive"), caught


@pytest.mark.parametrize("name", ["../../evil", "..", "x/../../y"], ids=["up", "dots", "in it"])
def test_a_name_that_git_would_use_as_a_path(name: str, place: Place, server: GitServer) -> None:
    commit = library(place)
    place.repository().commit_files(
        {".gitmodules": modules(**{name: {"path": "lib", "url": "../lib.git"}}), "lib": Gitlink(commit)}
    )
    with pytest.raises(GetModulesError) as caught:
        place.get(f"git::{server.url}/a.git")
    assert caught.value.code in ("unsafe-content/submodule", "corrupt-archive")


@pytest.mark.parametrize("update", ["!touch {canary}", "checkout", "none", "merge"])
def test_update_is_never_obeyed(update: str, place: Place, server: GitServer) -> None:
    commit = library(place)
    using(place, "../lib.git", commit, update=f'"{update.format(canary=place.top / "executed")}"', ignore="all")
    if "!" in update:
        caught = refused_in_some_way(place, f"git::{server.url}/a.git")
        assert caught.code in ("unsafe-content/submodule", "corrupt-archive")
    else:
        place.get(f"git::{server.url}/a.git")
        assert place.files()["lib/lib.tf"] == b"# lib\n"


def test_modules_that_include_another_file(place: Place, server: GitServer) -> None:
    """git's configuration may include files of the machine; what a package brings must not."""
    commit = library(place)
    secret = place.home / "secret"
    secret.write_text('[submodule "lib"]\n\tpath = lib\n\turl = ../lib.git\n')
    place.repository().commit_files({".gitmodules": f"[include]\n\tpath = {secret}\n".encode(), "lib": Gitlink(commit)})
    place.refused(f"git::{server.url}/a.git", NotFoundError, "not-found")


@pytest.mark.parametrize("content", [None, b"", modules(other={"path": "other", "url": "../lib.git"})])
def test_a_submodule_without_a_url_names_its_path(content: bytes | None, place: Place, server: GitServer) -> None:
    files: dict[str, Content] = {"deps/lib": Gitlink(library(place))}
    if content is not None:
        files[".gitmodules"] = content
    place.repository().commit_files(files)
    error = place.refused(f"git::{server.url}/a.git", NotFoundError, "not-found")
    assert "deps/lib" in error.message
    assert "submodules=false" in str(error.hint)


@pytest.mark.parametrize("content", [b"[submodule", b"\0\xff", b'[submodule "x"]\n\tpath = "lib\n'])
def test_modules_that_cannot_be_read(content: bytes, place: Place, server: GitServer) -> None:
    place.repository().commit_files({".gitmodules": content, "lib": Gitlink(library(place))})
    caught = refused_in_some_way(place, f"git::{server.url}/a.git")
    assert caught.code in ("corrupt-archive", "unsafe-content/submodule")


def test_modules_that_are_too_long(place: Place, server: GitServer) -> None:
    content = b"# much\n" * 20_000_000
    place.repository().commit_files({".gitmodules": content, "lib": Gitlink(library(place))})
    caught = refused_in_some_way(place, f"git::{server.url}/a.git")
    assert caught.code in ("limit-exceeded/metadata", "unsafe-content/submodule")


def test_a_link_to_modules(place: Place, server: GitServer) -> None:
    commit = library(place)
    place.repository().commit_files(
        {
            ".gitmodules": Link("elsewhere"),
            "elsewhere": modules(lib={"path": "lib", "url": "../lib.git"}),
            "lib": Gitlink(commit),
        }
    )
    place.refused(f"git::{server.url}/a.git", UnsafeContentError, "unsafe-content/submodule")


def test_a_repository_that_is_not_there(place: Place, server: GitServer) -> None:
    using(place, "../absent.git", "12" * 20)
    error = place.refused(f"git::{server.url}/a.git", NotFoundError, "not-found")
    assert "lib" in words_of(error)


def test_a_commit_that_is_not_there(place: Place, server: GitServer) -> None:
    library(place)
    using(place, "../lib.git", "12" * 20)
    error = place.refused(f"git::{server.url}/a.git", NotFoundError, "not-found")
    assert "12" * 20 in words_of(error)


def test_a_hostile_tree_in_a_submodule(place: Place, server: GitServer) -> None:
    commit = library(place, files={"x": Link("../../canary")})
    using(place, "../lib.git", commit)
    place.refused(f"git::{server.url}/a.git", UnsafeContentError, "unsafe-content/link-escapes")


def test_a_link_in_the_place_of_a_submodule(place: Place, server: GitServer) -> None:
    """The directory of a submodule is named by the tree, and never by a link that lies there."""
    commit = library(place, files={"canary": b"dead"})
    repository = place.repository()
    repository.commit_tree(
        Entry(GITLINK, b"lib", commit),
        Entry(LINK, b"lib", repository.blob(b"..")),
        Entry(b"100644", b".gitmodules", repository.blob(modules(lib={"path": "lib", "url": "../lib.git"}))),
        in_order=False,
    )
    with pytest.raises((UnsafeContentError, CorruptArchiveError)):
        place.get(f"git::{server.url}/a.git")


def chain(place: Place, levels: int) -> None:
    """``a`` in ``levels`` steps to a last repository; the names of the others are ``s1`` and on."""
    commit = library(place, f"s{levels}", {"end.tf": b"# end\n"})
    for level in reversed(range(levels)):
        name = f"s{level}" if level else "a"
        commit = library(
            place, name, {".gitmodules": modules(s={"path": "s", "url": f"../s{level + 1}.git"}), "s": Gitlink(commit)}
        )


def test_submodules_sixteen_deep(place: Place) -> None:
    chain(place, 16)
    place.get(place.file_url())
    assert place.files()["s/" * 16 + "end.tf"] == b"# end\n"


def test_submodules_deeper_than_that(place: Place) -> None:
    chain(place, 17)
    place.refused(place.file_url(), LimitExceededError, "limit-exceeded/depth")


def test_limits_count_over_all_of_them(place: Place, server: GitServer) -> None:
    using(place, "../lib.git", library(place, files={f"{number}.tf": b"x" * 100 for number in range(20)}))
    place.limits = Limits(seconds=60, entries=15)
    place.refused(f"git::{server.url}/a.git", LimitExceededError, "limit-exceeded/entries")
    place.limits = Limits(seconds=60, total_bytes=1_500)
    place.refused(f"git::{server.url}/a.git", LimitExceededError, "limit-exceeded/total-bytes")


# --------------------------------------------------------------------------------------------- credentials


@pytest.mark.parametrize("guarded", [False, True], ids=["open", "guarded by the same password"])
def test_a_token_is_for_its_own_server_alone(guarded: bool, place: Place, server: GitServer) -> None:
    """A submodule on another one is asked for without it."""
    server.behave(basic=("ada", "s3cr3t-p4ss"))
    place.environ |= {
        f"GETMODULES_TOKEN_127_0_0_1_{server.port}": "s3cr3t-p4ss",
        f"GETMODULES_USERNAME_127_0_0_1_{server.port}": "ada",
    }
    elsewhere = place.root / "elsewhere"
    elsewhere.mkdir()
    commit = Repository(elsewhere / "lib.git").commit_files({"lib.tf": b"# lib\n"})
    with git_http(elsewhere, host="127.0.0.2", basic=("ada", "s3cr3t-p4ss") if guarded else None) as other:
        using(place, f"{other.url}/lib.git", commit)
        if guarded:
            error = place.refused(f"git::{server.url}/a.git", AuthenticationError, "authentication")
            assert "s3cr3t-p4ss" not in words_of(error)
        else:
            place.get(f"git::{server.url}/a.git")
            assert place.files()["lib/lib.tf"] == b"# lib\n"
        assert other.exchanges
        assert not any("Authorization" in exchange.headers for exchange in other.exchanges)


@pytest.mark.parametrize("url", ["../lib.git", "{server}/lib.git"], ids=["relative", "in full"])
def test_the_password_of_the_address_is_for_its_whole_origin(url: str, place: Place, server: GitServer) -> None:
    server.behave(basic=("ada", "s3cr3t-p4ss"))
    commit = place.repository("lib").commit_files({"lib.tf": b"# lib\n"})
    using(place, url.format(server=server.url), commit)
    place.get(f"git::{server.url.replace('//', '//ada:s3cr3t-p4ss@')}/a.git")
    assert place.files()["lib/lib.tf"] == b"# lib\n"
