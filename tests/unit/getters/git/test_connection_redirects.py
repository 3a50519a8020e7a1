"""Where a server of git sends us on to, found out before git goes there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules import UnsafeContentError
from getmodules.addresses.url import check_url
from getmodules.api.ports import Context
from getmodules.getters.git.connection import redirect_target, was_redirected, we_follow_redirects
from getmodules.getters.git.remote import Remote
from getmodules.net.settings import ClientNetwork, NetSettings
from tests.support.contexts import a_context
from tests.support.refusals import refusal
from tests.support.servers import Connection, Received, serving

QUESTION = "/info/refs?service=git-upload-pack"


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return a_context(tmp_path, network=ClientNetwork(NetSettings()))


def sends_to(location: str) -> Callable[[Connection, Received], bool]:
    """``location`` for what is below ``/old``, and an answer for everything else."""

    def answer(connection: Connection, request: Received) -> bool:
        if request.target.startswith("/old"):
            return connection.reply("301 Moved Permanently", Location=location)
        return connection.reply("200 OK", b"refs")

    return answer


def test_whose_redirects_are_followed_here() -> None:
    typed, named = a_context(), a_context(check_address=lambda address: None)
    https, http, ssh = (Remote(check_url(f"{scheme}://h/r")) for scheme in ("https", "http", "ssh"))
    assert [we_follow_redirects(each, typed) for each in (https, http, ssh)] == [False, True, False]
    assert [we_follow_redirects(each, named) for each in (https, http, ssh)] == [True, True, False]


def test_what_git_says_of_a_redirect() -> None:
    assert was_redirected("fatal: unable to access 'http://h/r/': The requested URL returned error: 301")
    assert not was_redirected("fatal: unable to access 'http://h/r/': The requested URL returned error: 304")


def test_a_repository_that_has_moved(context: Context) -> None:
    with serving(sends_to(f"/new.git{QUESTION}")) as server:
        found = redirect_target(Remote(check_url(f"{server.url}/old.git")), None, context)
        assert found == Remote(check_url(f"{server.url}/new.git"))


def test_a_repository_that_has_not(context: Context) -> None:
    with serving(sends_to("/")) as server:
        assert redirect_target(Remote(check_url(f"{server.url}/here.git")), None, context) is None


@pytest.mark.parametrize(
    "location",
    [
        pytest.param("/latest/meta-data", id="no repository"),
        pytest.param("/admin?do=it&x=/info/refs?service=git-upload-pack", id="a question in the query"),
        pytest.param("file:///etc", id="file"),
        pytest.param(f"http://240.0.0.1:1/x{QUESTION}", id="further in"),
    ],
)
def test_where_nobody_is_sent(location: str, context: Context) -> None:
    with serving(sends_to(location)) as server:
        remote = Remote(check_url(f"{server.url}/old.git"))
        error = refusal(UnsafeContentError, "unsafe-content/elsewhere", redirect_target, remote, None, context)
    assert (error.hint is not None) is ("further in" in error.message)


def test_a_login_is_for_one_origin(context: Context) -> None:
    with serving(sends_to("/")) as other, serving(sends_to(f"{other.url}/new{QUESTION}")) as server:
        redirect_target(Remote(check_url(f"{server.url}/old")), "Basic c2VjcmV0", context)
        (request,) = server.received
        assert request.headers["Authorization"] == "Basic c2VjcmV0"
        assert [each.headers.get("Authorization") for each in other.received] == [None]
