"""The user's own ``insteadOf``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from getmodules.addresses.url import check_url
from getmodules.getters.git.environment import REMOTE, environment
from getmodules.getters.git.process import Git
from getmodules.getters.git.remote import Remote
from getmodules.getters.git.rewriting import leads_to_ssh, remote_url_settings, rewritten, with_own_login
from tests.support.gitstores import a_git

RULE = '[url "{}"]\n\tinsteadOf = https://h/\n'


def a_git_with(config: str, tmp_path: Path, **environ: str) -> Git:
    (tmp_path / ".gitconfig").write_text(config, encoding="utf-8")
    return a_git(tmp_path, environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environ})


@pytest.mark.parametrize(
    ("config", "url", "place", "ssh"),
    [
        pytest.param("", "https://h/r", "https://h/r", False, id="nothing"),
        pytest.param(RULE.format("https://other/"), "https://h/r", "https://other/r", False, id="another host"),
        pytest.param(RULE.format("https://other/"), "https://else/r", "https://else/r", False, id="not about this one"),
        pytest.param(RULE.format("https://u:pw@h/"), "https://h/r", "https://u:pw@h/r", False, id="with a password"),
        pytest.param(RULE.format("ssh://git@h/"), "https://h/r", "ssh://git@h/r", True, id="ssh"),
        pytest.param(RULE.format("git@h:"), "https://h/r", "git@h:r", True, id="ssh, short"),
        pytest.param(RULE.format("/srv/"), "https://h/r", "/srv/r", False, id="a path"),
        pytest.param("", "ssh://git@h/r", "ssh://git@h/r", True, id="ssh already"),
        pytest.param("[broken", "https://h/r", "https://h/r", False, id="what git cannot read"),
        pytest.param("[include]\n[broken", "https://h/r", "https://h/r", False, id="what git cannot read, asked"),
    ],
)
def test_where_an_address_leads(config: str, url: str, place: str, ssh: bool, tmp_path: Path) -> None:
    git, remote = a_git_with(config, tmp_path), Remote(check_url(url))
    assert rewritten(remote, git, tmp_path) == place
    assert leads_to_ssh(remote, git, tmp_path) is ssh


@pytest.mark.parametrize("where", [".gitconfig", ".config/git/config", "xdg/git/config", "included"])
def test_rules_are_found_in_every_file(where: str, tmp_path: Path) -> None:
    git = a_git_with("[include]\n\tpath = included\n" if where == "included" else "", tmp_path)
    if where.startswith("xdg"):
        git = a_git_with("", tmp_path, XDG_CONFIG_HOME=str(tmp_path / "xdg"))
    path = tmp_path / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RULE.format("https://other/"), encoding="ascii")
    assert rewritten(Remote(check_url("https://h/r")), git, tmp_path) == "https://other/r"


def test_git_is_asked_once_and_only_where_there_are_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    run = Git.run

    def counted(self: Git, *arguments: object, **how: object) -> object:
        asked.append(arguments)
        return run(self, *arguments, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "run", counted)
    remote = Remote(check_url("https://h/r"))
    rewritten(remote, a_git_with("[user]\n\tname = Ada\n", tmp_path), tmp_path)
    assert asked == []
    git = a_git_with(RULE.format("https://other/"), tmp_path)
    assert [rewritten(remote, git, tmp_path) for _ in range(3)] == ["https://other/r"] * 3
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("place", "location", "userinfo"),
    [
        pytest.param("https://u:pw@h/", "https://h/r", "u:pw", id="the same host"),
        pytest.param("https://u:pw@other:8443/x/", "https://other:8443/x/r", "u:pw", id="another"),
        pytest.param("https://t0ken@h/", "https://h/r", "t0ken", id="a token"),
        pytest.param("https://other/", None, "", id="no login"),
        pytest.param("ssh://git@h/", None, "", id="ssh"),
        pytest.param("git@h:", None, "", id="ssh, short"),
        pytest.param("https://u:pw@[/", None, "", id="no address"),
    ],
)
def test_a_login_that_a_rule_brings(place: str, location: str | None, userinfo: str, tmp_path: Path) -> None:
    remote = Remote(check_url("https://h/r"))
    found = with_own_login(remote, a_git_with(RULE.format(place), tmp_path), tmp_path)
    if location is None:
        assert found is remote
    else:
        assert (found.location, found.url.userinfo) == (location, userinfo)


@pytest.mark.parametrize("rule", ["https://h/", "https://h/r", "https://h/r/x"])
def test_no_rule_leads_away_from_what_is_to_stay(rule: str, tmp_path: Path) -> None:
    git = a_git_with(f'[url "https://u:pw@evil/"]\n\tinsteadOf = {rule}\n', tmp_path)
    environ = environment(
        git.context.environ, tmp_path, settings=remote_url_settings(Remote(check_url("https://u@h/r")))
    )
    assert git.run(["ls-remote", "--get-url", REMOTE], environ).output == b"https://h/r\n"


def test_a_login_that_was_typed_is_not_replaced(tmp_path: Path) -> None:
    git = a_git_with(RULE.format("https://other:bad@h/"), tmp_path)
    for typed in ("https://u:pw@h/r", "https://t0ken@h/r"):
        remote = Remote(check_url(typed))
        assert with_own_login(remote, git, tmp_path) is remote
        assert rewritten(remote, git, tmp_path) == "https://h/r"
