"""The detectors of forges and of the scp form, each alone."""

from __future__ import annotations

import pytest

from getmodules import AddressError, Shorthand
from getmodules.getters.detectors import Forge, ScpForm
from tests.support.refusals import refusal

GITHUB = Forge("github", "github.com")
GITLAB = Forge("gitlab", "gitlab.com", subgroups=True)


def _detect(detector: Forge | ScpForm, body: str, force: str | None = None) -> str | None:
    return detector.detect(Shorthand(body, force, None))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("github.com", id="no owner"),
        pytest.param("github.com/", id="no owner, with a slash"),
        pytest.param("github.com/o", id="no repository"),
        pytest.param("github.com/o/", id="no repository, with a slash"),
        pytest.param("github.com/o/..", id="dots"),
        pytest.param("github.com/./r", id="a dot"),
        pytest.param("github.com/o/.git", id="only .git"),
        pytest.param("github.com/o/r x", id="blank"),
        pytest.param("github.com/o@x/r", id="an @"),
        pytest.param("github.com/o:x/r", id="a colon"),
        pytest.param("github.com/o%2f/r", id="an escape"),
        pytest.param("github.com/ö/r", id="beyond ASCII"),
    ],
)
def test_an_address_of_a_forge_that_names_no_repository(body: str) -> None:
    error = refusal(AddressError, "address", _detect, GITHUB, body)
    assert "OWNER/REPOSITORY" in (error.hint or "")


@pytest.mark.parametrize(
    "body",
    ["github.company/o/r", "www.github.com/o/r", "GitHub.com/o/r", "o/r", "github.com:o/r", "github.com.evil/o/r"],
)
def test_another_host_is_somebody_elses(body: str) -> None:
    assert _detect(GITHUB, body) is None


@pytest.mark.parametrize(
    ("body", "url"),
    [
        ("gitlab.com/g/p", "git::https://gitlab.com/g/p.git"),
        ("gitlab.com/g/s/t/p.git", "git::https://gitlab.com/g/s/t/p.git"),
        ("gitlab.com/g/s/t/p.git/a/b", "git::https://gitlab.com/g/s/t/p.git//a/b"),
        ("gitlab.com/g/p/a/b", "git::https://gitlab.com/g/p.git//a/b"),
    ],
)
def test_subgroups(body: str, url: str) -> None:
    assert _detect(GITLAB, body) == url


def test_a_group_that_ends_in_git_is_no_repository() -> None:
    refusal(AddressError, "address", _detect, GITLAB, "gitlab.com/g.git/p")


@pytest.mark.parametrize(
    ("body", "force", "url"),
    [
        pytest.param("git@h:p", None, "git::ssh://git@h/p", id="git@"),
        pytest.param("git@h:p", "git", "git::ssh://git@h/p", id="git@, forced"),
        pytest.param("me@h:p", "git", "git::ssh://me@h/p", id="any user, forced"),
        pytest.param("me@h:p", None, None, id="any user, not forced"),
        pytest.param("git@h:p", "https", None, id="forced to be something else"),
        pytest.param("git@h:/p", None, "git::ssh://git@h/p", id="absolute"),
        pytest.param("git@h:22/p", None, "git::ssh://git@h/22/p", id="a number is a directory, as for git"),
        pytest.param("git@h:p#x %", None, "git::ssh://git@h/p%23x%20%25", id="literal characters"),
        pytest.param("git@h", None, None, id="no path"),
        pytest.param("git@h:", None, None, id="an empty path"),
        pytest.param("git@h::p", None, None, id="two colons, git's own form of ext::"),
        pytest.param("git@h/p:x", None, None, id="a slash before the colon"),
        pytest.param("-x@h:p", "git", None, id="an option as user"),
        pytest.param("git:pw@h:p", "git", None, id="a password"),
    ],
)
def test_the_scp_form(body: str, force: str | None, url: str | None) -> None:
    assert _detect(ScpForm(), body, force) == url
