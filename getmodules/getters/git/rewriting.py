"""Where the user's own configuration leads (``insteadOf``), asked where there may be anything of the kind.

What git makes of an address stands in the command line of the helper that it starts, also a password out of the
user's configuration. So git gets such an address as it comes out, without the password, which goes the way of all
others (:mod:`getmodules.getters.git.connection`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from getmodules.addresses.url import check_url
from getmodules.errors import AddressError
from getmodules.getters.git.environment import REMOTE, environment
from getmodules.getters.git.process import Git
from getmodules.getters.git.remote import Remote

#: Whoever has neither word in the configuration has no rule, and git need not be asked.
_WORDS: Final = (b"insteadof", b"include")
_SSH: Final = ("ssh", "git+ssh", "ssh+git")
_ALIAS: Final = f"{REMOTE}:"


def rewritten(remote: Remote, git: Git, directory: Path) -> str:
    """The address that git will use. There may be a password in it.

    Where a login was typed it stays as it is: no rule is to replace that.
    """
    if _has_login(remote):
        return remote.location
    return git.context.once(("git rewritten", remote), lambda: _ask(remote, git, directory))


def with_own_login(remote: Remote, git: Git, directory: Path) -> Remote:
    """``remote``, or where a rule leads that brings a login with it."""
    place = rewritten(remote, git, directory)
    if place == remote.location or "://" not in place:
        return remote
    try:
        found = Remote(check_url(place))
    except AddressError:
        return remote  # what is no address for us may be one for git
    return found if _has_login(found) else remote


def _has_login(remote: Remote) -> bool:
    return remote.is_web and bool(remote.url.userinfo)


def leads_to_ssh(remote: Remote, git: Git, directory: Path) -> bool:
    if remote.scheme in _SSH:
        return True
    scheme, separator, _ = rewritten(remote, git, directory).partition("://")
    return scheme in _SSH if separator else ":" in scheme


def remote_url_settings(remote: Remote) -> tuple[tuple[str, str], ...]:
    """Where our remote lies: with a login whatever rules there are, whose outcome would stand in a command line.

    git rewrites once, and nobody has a rule for a name that is only in here.
    """
    name = f"remote.{REMOTE}.url"
    if not _has_login(remote):
        return ((name, remote.location),)
    return (name, _ALIAS), (f"url.{remote.location}.insteadOf", _ALIAS)


def _files(environ: Mapping[str, str], program: str) -> Iterator[str]:
    """Of the user and of the system: there alone rules can be."""
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    yield os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "config")
    yield os.path.join(home, ".gitconfig")
    yield "/etc/gitconfig"
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(program))), "etc", "gitconfig")


def _has_rules(path: str) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        content = file.read().lower()
        return any(word in content for word in _WORDS)
    return False


def _ask(remote: Remote, git: Git, directory: Path) -> str:
    if not any(map(_has_rules, _files(git.context.environ, git.program))):
        return remote.location
    environ = environment(git.context.environ, directory, settings=remote_url_settings(remote))
    done = git.run(["ls-remote", "--get-url", REMOTE], environ)
    return os.fsdecode(done.output).strip() if done.code == 0 else remote.location
