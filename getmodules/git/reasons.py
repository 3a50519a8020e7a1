"""Why git failed, as errors of ours: each function makes one of what was said."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from getmodules.api.limits import GIB, metadata_exceeded
from getmodules.errors import (
    AuthenticationError,
    ConfigError,
    CorruptArchiveError,
    FetchError,
    GetModulesError,
    InstallError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    ToolMissingError,
    UnsafeContentError,
)
from getmodules.git.hearing import detail
from getmodules.util.redact import quoted

#: What a key that was offered came from, if it came from the address.
SSHKEY: Final = "sshkey="


class Story(NamedTuple):
    """What a failure is about, for its message."""

    #: ``git fetch from https://…``
    what: str
    #: Where the credential that was sent came from, if one was; :data:`SSHKEY` for the key of the address.
    offered: str | None = None
    #: The variable that would bring one; ``None`` where a key is what counts.
    variable: str | None = None


Make = Callable[[Story, str, "re.Match[str]"], GetModulesError]

_WAIT: Final = "wait a while; with credentials the limit is often higher"
_FINGERPRINT: Final = re.compile(r"^(?:SHA256|MD5):[\w+/=:]+", re.MULTILINE)
#: ssh says so of each key that it leaves out; it matters where none of the others was accepted.
_UNUSABLE_KEY: Final = re.compile(r"^Load key .*: (?:invalid format|error in libcrypto)", re.MULTILINE)
_OPEN_KEY: Final = re.compile(r"^Permissions \d+ for .* are too open", re.MULTILINE)
_OWNED_PLACE: Final = re.compile(r"ownership in repository at '(?P<new>.+)'|unsafe repository \('(?P<old>.+)' is owned")


def told(kind: type[GetModulesError], sentence: str, hint: str | None = None, part: str | None = None) -> Make:
    """An error that is the same sentence whatever else was said."""
    return lambda story, said, _: kind(f"{story.what}: {sentence} ({detail(said)})", part=part, hint=hint)


network = partial(told, NetworkError)


def unknown(story: Story, said: str) -> GetModulesError:
    return FetchError(f"{story.what} failed: {detail(said) or 'it did not say why'}", part="unreadable")


# --------------------------------------------------------------------------------------------- this machine


def no_program(story: Story, program: str) -> GetModulesError:
    """``program`` is what should have been run in order to connect, which is ssh or what the user has instead."""
    if program in ("ssh", "ssh.exe"):
        return ToolMissingError(
            f"{story.what}: ssh is needed for this address, and is not on PATH",
            hint="install an ssh client (its package is often called openssh-client), or use an https address",
        )
    return ToolMissingError(
        f"{story.what}: the ssh program {quoted(program)} is not there, or cannot be run",
        hint="GIT_SSH_COMMAND or git's core.sshCommand names it; is it installed, and on PATH?",
    )


odd_ssh = told(
    ToolMissingError,
    "the ssh program is not there, or is none that can do what the address wants",
    "GIT_SSH_COMMAND or git's core.sshCommand names it; if it takes the options of OpenSSH: "
    "git config --global ssh.variant ssh",
)
disk = told(
    InstallError,
    "the disk is full",
    "free some space where the cache is; GETMODULES_CACHE_DIR names another place",
    "no-space",
)
ssh_settings = told(
    ConfigError,
    "ssh does not take its configuration as it is",
    "correct that file; it must be yours, and nobody else may write to it (chmod 600)",
)
_open_key = told(ConfigError, "ssh uses no private key that others can read", "chmod 600 for the file of the key")
_unusable_key = told(
    ConfigError,
    "ssh cannot use a key that it is to use",
    "is it the whole file of a private key, and not the public half?",
)
_unusable_sshkey = told(
    ConfigError,
    f"{SSHKEY} is no key that ssh can use",
    f"{SSHKEY} is the whole file of a private key without a passphrase, in base64",
)


def memory(story: Story, said: str, _: object) -> GetModulesError:
    return metadata_exceeded(f"{story.what}: one object wants more memory than git may have", GIB)


def ownership(story: Story, said: str, _: object) -> GetModulesError:
    found = _OWNED_PLACE.search(said)
    place = next(filter(None, found.groups()), "") if found is not None else ""
    told = f"git config --global --add safe.directory {shlex.quote(place) if place.isprintable() and place else 'PATH'}"
    if "ssh://" in story.what:
        # It is the server's git that said so.
        return NetworkError(
            f"{story.what}: the server's git reads no repository of somebody else there ({detail(said)})",
            hint=f"on the server, for the user who logs in: {told}",
        )
    return ConfigError(
        f"{story.what}: git reads no repository of somebody else ({detail(said)})", hint=f"if you trust it: {told}"
    )


# --------------------------------------------------------------------------------------------- the way there


host_key = told(
    NetworkError,
    "the server's host key is not known",
    "compare its fingerprint with the published one, then add it to ~/.ssh/known_hosts",
    "certificate",
)
certificate = told(
    NetworkError,
    "the server's certificate cannot be trusted",
    "for a private authority: --ca-file FILE, or SSL_CERT_FILE",
    "certificate",
)
elsewhere = told(UnsafeContentError, "it was sent where it must not go", part="elsewhere")


def other_host_key(story: Story, said: str, _: object) -> GetModulesError:
    found = _FINGERPRINT.search(said)
    shown = f" (it is {found[0]})" if found is not None else ""
    return NetworkError(
        f"{story.what}: the server's host key is not the known one{shown}: somebody may be in the middle "
        f"({detail(said)})",
        part="certificate",
        hint="compare its fingerprint with the one that is published for this server, before you touch known_hosts",
    )


# --------------------------------------------------------------------------------------------- what the server says


def authentication(story: Story, said: str, found: re.Match[str]) -> GetModulesError:
    if _UNUSABLE_KEY.search(said):
        return (_unusable_sshkey if story.offered == SSHKEY else _unusable_key)(story, said, found)
    if _OPEN_KEY.search(said):
        return _open_key(story, said, found)
    if story.offered == SSHKEY:
        message = f"{story.what}: the server does not accept the key of {SSHKEY}"
        hint = "does the server know its public half, for an account that may read this? It must have no passphrase"
    elif story.offered is not None:
        message = f"{story.what}: the server does not accept the credential from {story.offered}"
        hint = "is it expired, or for another account?"
    elif story.variable is None:
        message, hint = (
            f"{story.what}: the server accepts no key of ours",
            "is the key loaded (ssh-add -l)? sshkey= brings one",
        )
    elif "Authentication failed" in said:  # which git says of what it has sent
        message = f"{story.what}: the server does not accept the credentials that git found"
        hint = f"are those of the git credential helper or ~/.netrc expired? {story.variable} brings others"
    else:
        wants = "the server wants credentials, and none were found that it takes (or it hides what is not there)"
        message = f"{story.what}: {wants}"
        hint = f"a git credential helper, ~/.netrc, or {story.variable} brings one"
    return AuthenticationError(f"{message} ({detail(said)})", hint=hint)


forbidden = told(
    AuthenticationError,
    "the server knows who asks, and does not let them read it",
    "may this account read the repository? With single sign-on each key and token must be authorized for it",
    "forbidden",
)
rate_limited = told(RateLimitedError, "the server was asked too often", _WAIT)
no_commit = told(
    NotFoundError,
    "the repository has no such commit or ref",
    "was it pushed, and not removed since? A fork may have what the repository has not",
)
corrupt = told(CorruptArchiveError, "what arrived is broken")


def status(story: Story, said: str, found: re.Match[str]) -> GetModulesError:
    code = int(found["status"] or found["code"])
    text = f"{story.what}: the server answered {code} ({detail(said)})"
    if code == 401:
        return authentication(story, said, found)
    if code == 403:
        have = f"with the credential from {story.offered}" if story.offered else "without a credential"
        return AuthenticationError(f"{text}, {have}", part="forbidden", hint="may this account read the repository?")
    if code in (404, 410):
        return not_found(story, said, found)
    if code == 429:
        return RateLimitedError(text, hint=_WAIT)
    return NetworkError(text, hint="the server is in trouble: try again later" if code >= 500 else None)


def not_found(story: Story, said: str, _: object) -> GetModulesError:
    hint = "is the address right?"
    if story.offered is None and story.variable is not None:
        hint += " A private repository is often hidden from who has no credentials"
    return NotFoundError(f"{story.what}: there is no repository ({detail(said)})", hint=hint)


# --------------------------------------------------------------------------------------------- what arrived

#: What git's fsck says of names that could do harm, by its identifiers; all its others are about broken objects.
_HOSTILE: Final = {
    "hasDotgit": "bad-name",
    "hasDot": "bad-name",
    "emptyName": "bad-name",
    "hasDotdot": "parent-path",
    "fullPathname": "absolute-path",
    "duplicateEntries": "duplicate-name",
    "gitmodulesUrl": "submodule",
    "gitmodulesPath": "submodule",
    "gitmodulesName": "submodule",
    "gitmodulesUpdate": "submodule",
    "gitmodulesSymlink": "submodule",
    "gitmodulesParse": "submodule",
    "gitmodulesBlob": "submodule",
    "gitmodulesLarge": "submodule",
}


def fsck(story: Story, said: str, found: re.Match[str]) -> GetModulesError:
    part = _HOSTILE.get(found["id"])
    if part is not None:
        return UnsafeContentError(f"{story.what}: git refuses what arrived ({detail(said)})", part=part)
    return CorruptArchiveError(
        f"{story.what}: git refuses what arrived ({detail(said)})",
        hint="old history made by broken tools is refused as well; a newer commit may do without it",
    )
