"""The user's own rules for addresses (``insteadOf``), looked up if the configuration may have any.

git shows a rewritten address in the command line of the helper that it starts, even a password from the user's
configuration. So git gets the rewritten address without the password, which is passed like all others
(:mod:`getmodules.getters.git.connection`).
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

#: A configuration without these words has no rules, so that git need not be run.
_WORDS: Final = (b"insteadof", b"include")
_SSH: Final = ("ssh", "git+ssh", "ssh+git")
_ALIAS: Final = f"{REMOTE}:"


def rewritten(remote: Remote, git: Git, directory: Path) -> str:
    """Return the address that git will use, perhaps with a password in it.

    An address with a typed login stays as it is: no rule may replace that.
    """
    if _has_login(remote):
        return remote.location
    return git.context.once(("git rewritten", remote), lambda: _ask_git(remote, git, directory))


def with_own_login(remote: Remote, git: Git, directory: Path) -> Remote:
    """Return ``remote``, or the rewritten one if a rule adds a login."""
    address = rewritten(remote, git, directory)
    if address == remote.location or "://" not in address:
        return remote
    try:
        found = Remote(check_url(address))
    except AddressError:
        return remote  # git may still accept it
    return found if _has_login(found) else remote


def _has_login(remote: Remote) -> bool:
    return remote.is_web and bool(remote.url.userinfo)


def leads_to_ssh(remote: Remote, git: Git, directory: Path) -> bool:
    """Return whether git will use ssh for ``remote``, perhaps by a rule."""
    if remote.scheme in _SSH:
        return True
    scheme, separator, _ = rewritten(remote, git, directory).partition("://")
    return scheme in _SSH if separator else ":" in scheme


def remote_url_settings(remote: Remote) -> tuple[tuple[str, str], ...]:
    """Return the settings with the URL of our remote.

    With a login, no rule of the user's may apply, since the outcome would be shown in a command line. So the URL is an
    alias with a rule of our own: git rewrites only once, and nobody else has a rule for our alias.
    """
    name = f"remote.{REMOTE}.url"
    if not _has_login(remote):
        return ((name, remote.location),)
    return (name, _ALIAS), (f"url.{remote.location}.insteadOf", _ALIAS)


def _configuration_files(environ: Mapping[str, str], program: str) -> Iterator[str]:
    """Yield the configuration files of the user and of the system, the only ones with rules."""
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


def _ask_git(remote: Remote, git: Git, directory: Path) -> str:
    if not any(map(_has_rules, _configuration_files(git.context.environ, git.program))):
        return remote.location
    environ = environment(git.context.environ, directory, settings=remote_url_settings(remote))
    done = git.run(["ls-remote", "--get-url", REMOTE], environ)
    return os.fsdecode(done.output).strip() if done.code == 0 else remote.location
