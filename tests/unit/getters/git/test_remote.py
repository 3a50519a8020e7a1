"""What git is told of a repository's place, and where its submodules are."""

from __future__ import annotations

import pytest

from getmodules import AddressError
from getmodules.addresses.url import check_url
from getmodules.api.ports import Origin
from getmodules.getters.git.remote import Remote
from tests.support.refusals import refusal


def remote(url: str, sshkey: str | None = None) -> Remote:
    return Remote(check_url(url), sshkey)


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("https://ada:s3cr3t@h/r.git", "https://h/r.git"),
        ("https://t0ken@h:8443/r", "https://h:8443/r"),
        ("ssh://git@h/r", "ssh://git@h/r"),
        ("ssh://git:s3cr3t@h:22/r", "ssh://git@h:22/r"),
        ("file:///srv/r.git", "file:///srv/r.git"),
    ],
)
def test_no_command_line_holds_a_secret(url: str, location: str) -> None:
    assert remote(url).location == location
    assert "s3cr3t" not in repr(remote(url))


def test_an_origin() -> None:
    assert remote("https://h/r").origin == Origin("https", "h", 443)
    assert remote("ssh://h:2222/r").origin == Origin("ssh", "h", 2222)


@pytest.mark.parametrize(
    ("base", "typed", "location"),
    [
        ("https://h/a/b.git", "../c.git", "https://h/a/c.git"),
        ("https://h/a/b.git/", "../c.git", "https://h/a/c.git"),
        ("https://h/a/b.git", "../../c", "https://h/c"),
        ("https://h/a/b.git", "./c", "https://h/a/b.git/c"),
        ("https://h/a/b.git", "../x/./y/../c", "https://h/a/x/c"),
        ("https://h/a/b.git", "../with blank", "https://h/a/with%20blank"),
        ("ssh://git@h/a/b.git", "../c.git", "ssh://git@h/a/c.git"),
        ("file:///srv/a.git", "../c.git", "file:///srv/c.git"),
        ("https://h/a", "https://other/c", "https://other/c"),
        ("https://h/a", "git@other:x/c.git", "ssh://git@other/x/c.git"),
        ("https://h/a", "other.example:c.git", "ssh://other.example/c.git"),
        ("file:///srv/a", "/srv/c", "file:///srv/c"),
        ("https://h/a", "git://h/c", "git://h/c"),
    ],
)
def test_a_submodule(base: str, typed: str, location: str) -> None:
    assert remote(base).submodule(typed).location == location


@pytest.mark.parametrize(
    "typed",
    [
        "", "-x", "--upload-pack=x", "ext::sh -c id", "fd::17", "transport::x", "ssh://-oProxyCommand=id/x",
        "-oProxyCommand=x:y", "ftp://h/x", "s3::https://h/x", "http://h/a%0ab", "http://h\\@evil/x", "a\nb", "\x1b[31m",
        "plain", "../../../x", "..", "https:///x", "file://host/x", "http://h:0/x", "\u202ehttps://h/x",
    ],
)  # fmt: skip
def test_a_submodule_that_is_nowhere(typed: str) -> None:
    error = refusal(AddressError, "address", remote("https://h/a").submodule, typed)
    assert error.message.isprintable()


def test_a_password_and_a_key_stay_with_their_origin() -> None:
    parent = remote("https://ada:s3cr3t@h/a/b")
    assert parent.submodule("../c").url.userinfo == "ada:s3cr3t"
    assert parent.submodule("https://h/c").url.userinfo == "ada:s3cr3t"
    for other in ("https://h:8443/c", "http://h/c", "https://h.evil/c", "https://bob@h/c", "ssh://h/c"):
        assert "s3cr3t" not in parent.submodule(other).url.userinfo
    keyed = remote("ssh://git@h/a/b", "a2V5")
    assert [keyed.submodule(each).sshkey for each in ("../c", "git@h:c", "git@other:c", "https://h/c")] == [
        "a2V5", "a2V5", None, None,
    ]  # fmt: skip
