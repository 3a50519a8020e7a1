"""Errors of getmodules for failed git commands.

A table maps the messages of git, ssh and servers to functions that make the error. Git is run with English messages,
which differ a little between its versions.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import cache
from typing import Final, Literal, NamedTuple, TypeGuard

from getmodules.api.http import TRANSIENT
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
    SentCredential,
    ToolMissingError,
    UnsafeContentError,
)
from getmodules.getters.git.messages import detail, parse_messages
from getmodules.net.route import host_and_port
from getmodules.util.redact import printable, quoted

__all__ = ["FailedCommand", "git_error", "knows_no_commit", "may_pass", "refuses_commit"]
#: The source of a key that was part of the address.
SSHKEY: Final = "sshkey="


class FailedCommand(NamedTuple):
    """The command that failed, for the message of its error."""

    #: ``git fetch from https://…``
    what: str
    #: The source of the credential that was sent, if there was one; :data:`SSHKEY` for the key of the address.
    offered: str | None = None
    #: The environment variable that can give a credential; ``None`` where a key is needed.
    variable: str | None = None
    #: The user name of the credential that was sent, as it may be shown.
    username: str | None = None
    #: The host that no credential was sent to for want of TLS, as ``--plain-http`` names it.
    withheld_from: str | None = None
    #: The host and port that git was to connect to, and who sent us there.
    place: str = ""

    @property
    def sent(self) -> SentCredential | None:
        return None if self.offered is None else SentCredential(self.offered, self.username)


def git_error(said: str, command: FailedCommand) -> GetModulesError:
    """Return the error for a command that failed with the messages ``said``."""
    messages = parse_messages(said, command.what)
    if messages.missing is not None:
        return missing_program(command, messages.missing)
    for row in _table():
        found = row.words.search(messages.here if row.said == "here" else messages.anywhere)
        if found is not None:
            return row.make(command, said, found)
    return unknown_failure(command, said)


_NO_SUCH_COMMIT: Final = r"not our ref|couldn't find remote ref|[Nn]o such ref|no matching remote head"
#: The server gives no single commits, or no shallow history; it may still give refs, or the whole history.
_REFUSES_COMMIT: Final = re.compile(
    r"unadvertised object|does not support (?:shallow|--shallow|--depth)|want [0-9a-f]+ not valid|"
    r"dumb http transport does not support|Server does not support|not allow request for"
)
_KNOWS_NO_COMMIT: Final = re.compile(_NO_SUCH_COMMIT)


def refuses_commit(said: str) -> bool:
    """Return whether the server gives no single commits."""
    return _REFUSES_COMMIT.search(said) is not None


def knows_no_commit(said: str) -> bool:
    """Return whether the server does not have the commit or ref."""
    return _KNOWS_NO_COMMIT.search(said) is not None


def may_pass(error: GetModulesError) -> TypeGuard[NetworkError]:
    """Return whether the command may succeed if it is run again."""
    return isinstance(error, NetworkError) and error.retryable


# --------------------------------------------------------------------------------------- the table of messages


#: Makes an error of the failed command, its messages, and the match of the row's words.
MakeError = Callable[[FailedCommand, str, "re.Match[str]"], GetModulesError]

_SPELLED: Final = "is the network there, and the host spelled right?"


class Row(NamedTuple):
    """Words that messages may have, and the function that makes the error for them."""

    #: ``here``: only a program on this machine can know it, and a server's words about it do not count.
    #: ``anywhere``: it is about the repository, and servers may say it as well.
    said: Literal["here", "anywhere"]
    words: re.Pattern[str]
    make: MakeError


def _here(make: MakeError, *words: str) -> Row:
    return Row("here", re.compile("|".join(words), re.MULTILINE), make)


def _anywhere(make: MakeError, *words: str) -> Row:
    return Row("anywhere", re.compile("|".join(words), re.MULTILINE), make)


@cache
def _table() -> tuple[Row, ...]:
    """Return the rows in the order in which they are tried: a cause comes before its consequences."""
    return (
        *_rows_of_this_machine(),
        *_rows_of_refused_objects(),
        *_rows_of_connecting(),
        *_rows_of_timeouts(),
        *_rows_of_the_repository(),
        *_rows_of_broken_connections(),
    )


def _rows_of_this_machine() -> tuple[Row, ...]:
    return (
        _here(unusable_ssh, r"ssh variant '[^']*' does not support"),
        _here(disk_full, r"No space left on device", r"Disk quota exceeded"),
        _here(out_of_memory, r"attempting to allocate \d+ over limit"),
        _here(foreign_owner, r"dubious ownership", r"unsafe repository \("),
        _here(ssh_settings, r"^Bad owner or permissions on", r"Bad configuration option"),
    )


def _rows_of_refused_objects() -> tuple[Row, ...]:
    return (
        _anywhere(refused_object, r"^error: object [0-9a-f]+: (?P<id>[A-Za-z0-9]+): "),
        _anywhere(
            corrupt_objects,
            # The server's own repository is broken, so trying again does not help.
            *(r"repository corruption on the remote", r"did not send all necessary objects"),
            *(r"pack has \d+ unresolved delta", r"pack is corrupted"),
        ),
    )


def _rows_of_connecting() -> tuple[Row, ...]:
    """The messages about the connection and the login."""
    return (
        _here(connecting("temporary failure in name resolution", _SPELLED), r"[Tt]emporary failure in name resolution"),
        _here(
            connecting("the host is not known", _SPELLED, retryable=False),
            *(r"[Cc]ould not resolve (?:host|proxy)", r"[Nn]ame or service not known", r"name resolution"),
            *(r"unable to look up", r"nodename nor servname", r"[Nn]o address associated"),
        ),
        _here(
            changed_host_key,
            *(r"^WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED", r"^Host key for .*has changed and"),
            *(r"^WARNING: REVOKED HOST KEY DETECTED", r"host key for .*was revoked"),
        ),
        _here(
            unknown_host_key,
            *(r"^Host key verification failed", r"^No \S+ host key is known", r"Cannot confirm a host key"),
        ),
        _here(
            untrusted_certificate,
            *(r"[Cc]ertificate", r"CERTIFICATE", r"self.signed", r"no alternative .*subject name"),
        ),
        _here(
            http_status,
            *(r"The requested URL returned error: (?P<status>\d{3})", r"HTTP code = (?P<code>\d{3})"),
        ),
        _here(
            forbidden_redirect,
            *(r"Protocol \"?\w+\"? (?:not supported|disabled|is disabled)", r"transport '[^']*' not allowed"),
            r"update url base from redirection",
        ),
        _here(
            network_error("it was sent on without arriving anywhere", retryable=False), r"Maximum \(?\d+\)? redirects"
        ),
        _anywhere(
            authentication,
            *(r"Authentication failed", r"could not read (?:Username|Password)", r"terminal prompts disabled"),
            *(r"Permission denied \(", r"Too many authentication failures", r"No supported authentication methods"),
        ),
    )


def _rows_of_timeouts() -> tuple[Row, ...]:
    """The messages about timeouts and refused connections. Only the first one is about a limit of ours."""
    return (
        _here(
            network_error(
                "the server is too slow", "allow more time with --timeout SECONDS, or try again later", "timeout"
            ),
            r"too slow",
        ),
        _here(
            connecting(
                "there is no answer",
                "is a firewall or a proxy in the way, and is it the right port? --timeout SECONDS gives it more time",
                "timeout",
            ),
            *(r"[Tt]imed out", r"\b[Tt]imeout\b"),
        ),
        _here(
            connecting("the connection was refused", _SPELLED),
            *(r"[Cc]onnection refused", r"[Ff]ailed to connect", r"[Cc]ouldn't connect"),
            *(r"unable to connect to", r"[Nn]o route to host", r"[Nn]etwork is unreachable"),
        ),
    )


def _rows_of_the_repository() -> tuple[Row, ...]:
    """The messages about the repository, from git and from the forges' own front ends."""
    return (
        _anywhere(
            forbidden,
            *(r"[Yy]ou are not allowed to (?:access|download)", r"SAML SSO", r"^ERROR: Permission to .*denied to"),
        ),
        _anywhere(
            not_found,
            *(r"[Rr]epository (?:'[^']*' )?not found", r"does not appear to be a git repository"),
            *(r"repository not exported", r"access denied or", r"not valid: is this a git repo"),
            *(r"no such (?:project|repository)", r"project you were looking for"),
            *(r"[Rr]epository (?:either )?does not exist", r"[Cc]annot find repository"),
            *(r"DENIED by fallthru", r"mis-spelled the reponame", r"TF401019", r"[Pp]roject not found"),
        ),
        _anywhere(
            rate_limited,
            *(r"rate.limited", r"rate limit exceeded", r"exceeded .{0,40}rate limit"),
            *(r"[Tt]oo many requests", r"requested too many times"),
        ),
        _anywhere(no_commit, _NO_SUCH_COMMIT),
    )


def _rows_of_broken_connections() -> tuple[Row, ...]:
    return (
        _here(
            network_error(
                "the server's ssh and the one here have no way in common",
                "a newer ssh at either end; or allow for this one host in ~/.ssh/config what it offers",
                retryable=False,
            ),
            r"^Unable to negotiate with",
        ),
        _here(
            network_error(
                "what answers there does not speak ssh",
                "is it the right port, and no proxy in the way?",
                retryable=False,
            ),
            *(r"banner line", r"^banner exchange: ", r"^Bad packet length", r"^Protocol major versions differ"),
        ),
        _here(
            network_error(
                "the ssh server closed the connection",
                "try again later: it may have too many, or refuse this machine; is it the right port?",
            ),
            *(r"_exchange_identification: ", r"^Connection (?:closed|reset) by .*port"),
        ),
        _here(
            network_error("the connection failed", "try again; if it stays so, the server is in trouble"),
            *(r"[Cc]onnection reset", r"hung up", r"early EOF", r"unexpected disconnect", r"RPC failed"),
            *(r"Recv failure", r"Broken pipe", r"[Ee]mpty reply", r"bytes? of (?:body|length)"),
            *(r"[Cc]onnection (?:was )?closed", r"TLS", r"SSL", r"gnutls", r"bad line length", r"protocol error"),
            *(r"expected '?flush", r"expected ACK", r"invalid packet", r"expected 'packfile'", r"unable to access"),
        ),
        _here(
            corrupt_objects,
            *(r"corrupt", r"inflate", r"index-pack", r"bad pack", r"unpack", r"unresolved delta", r"mismatch"),
            *(r"bad (?:object|shallow)", r"invalid object", r"missing (?:blob|tree)", r"fsck"),
        ),
        _anywhere(
            network_error("the server refuses", retryable=False), r"remote error: ", r"Server does not ", r"\bERR "
        ),
    )


# ---------------------------------------------------------------------------------------------------- making an error


_WAIT: Final = "wait a while; with credentials the limit is often higher"


def error_with(
    kind: type[GetModulesError], sentence: str, hint: str | None = None, part: str | None = None
) -> MakeError:
    """Return a function that makes an error with a fixed sentence, followed by git's own words."""
    return lambda command, said, _: kind(f"{command.what}: {sentence} ({detail(said)})", part=part, hint=hint)


def network_error(
    sentence: str, hint: str | None = None, part: str | None = None, *, retryable: bool = True
) -> MakeError:
    """Return the same for errors of the network, which name the host and port."""
    return lambda command, said, _: NetworkError(
        f"{command.what}: {sentence} ({detail(said)}){_at(command.place)}", part=part, hint=hint, retryable=retryable
    )


def _at(place: str) -> str:
    return f", at {place}" if place else ""


#: The hosts that programs on this machine say that they connected to: they may have been sent on, or go by a proxy.
_TRIED: Final = re.compile(
    r"(?:[Ff]ailed to connect to|connect to host) (?P<host>[^\s'\"]+) port (?P<port>\d{1,5})\b"
    r"|[Cc]ould not resolve (?:host|hostname|proxy):? (?P<name>[^\s:;'\")]+)"
)


def connecting(sentence: str, hint: str | None = None, part: str | None = None, *, retryable: bool = True) -> MakeError:
    """Return a function that makes the error for a connection that was not made."""

    def make(command: FailedCommand, said: str, _: object) -> GetModulesError:
        tried = _TRIED.search(said)
        place = command.place
        if tried is not None and tried["host"]:
            named = host_and_port(tried["host"].strip("[]"), int(tried["port"]))
            place = place if place.startswith(named) else named
        elif tried is not None and not place.startswith(f"{tried['name']}:"):
            place = printable(tried["name"])
        where = f"connecting to {place}: " if place else ""
        return NetworkError(
            f"{command.what}: {where}{sentence} ({detail(said)})", part=part, hint=hint, retryable=retryable
        )

    return make


def unknown_failure(command: FailedCommand, said: str) -> GetModulesError:
    return FetchError(f"{command.what} failed: {detail(said) or 'it did not say why'}", part="unreadable")


# ------------------------------------------------------------------------------------------------------- this machine


#: ssh warns so about each key that it leaves out; it matters if no other key was accepted.
_UNUSABLE_KEY: Final = re.compile(r"^Load key .*: (?:invalid format|error in libcrypto)", re.MULTILINE)
_OPEN_KEY: Final = re.compile(r"^Permissions \d+ for .* are too open", re.MULTILINE)
_OWNED_PLACE: Final = re.compile(r"ownership in repository at '(?P<new>.+)'|unsafe repository \('(?P<old>.+)' is owned")


def missing_program(command: FailedCommand, program: str) -> GetModulesError:
    """Return the error for a missing ``program``, which is ssh or the one that the user has configured instead."""
    if program in ("ssh", "ssh.exe"):
        return ToolMissingError(
            f"{command.what}: ssh is needed for this address, and is not on PATH",
            hint="install an ssh client (its package is often called openssh-client), or use an https address",
        )
    return ToolMissingError(
        f"{command.what}: the ssh program {quoted(program)} is not there, or cannot be run",
        hint="GIT_SSH_COMMAND or git's core.sshCommand names it; is it installed, and on PATH?",
    )


unusable_ssh = error_with(
    ToolMissingError,
    "the ssh program is not there, or is none that can do what the address wants",
    "GIT_SSH_COMMAND or git's core.sshCommand names it; if it takes the options of OpenSSH: "
    "git config --global ssh.variant ssh",
)
disk_full = error_with(
    InstallError,
    "the disk is full",
    "free some space where the cache is; GETMODULES_CACHE_DIR names another place",
    "no-space",
)
ssh_settings = error_with(
    ConfigError,
    "ssh does not take its configuration as it is",
    "correct that file; it must be yours, and nobody else may write to it (chmod 600)",
)
_open_key = error_with(ConfigError, "ssh uses no private key that others can read", "chmod 600 for the file of the key")
_unusable_key = error_with(
    ConfigError,
    "ssh cannot use a key that it is to use",
    "is it the whole file of a private key, and not the public half?",
)
_unusable_sshkey = error_with(
    ConfigError,
    f"{SSHKEY} is no key that ssh can use",
    f"{SSHKEY} is the whole file of a private key without a passphrase, in base64",
)


def out_of_memory(command: FailedCommand, said: str, _: object) -> GetModulesError:
    return metadata_exceeded(f"{command.what}: one object wants more memory than git may have", GIB)


def foreign_owner(command: FailedCommand, said: str, _: object) -> GetModulesError:
    found = _OWNED_PLACE.search(said)
    place = next(filter(None, found.groups()), "") if found is not None else ""
    remedy = (
        f"git config --global --add safe.directory {shlex.quote(place) if place.isprintable() and place else 'PATH'}"
    )
    if "ssh://" in command.what:
        # This message comes from the server's git.
        return NetworkError(
            f"{command.what}: the server's git reads no repository of somebody else there ({detail(said)})",
            hint=f"on the server, for the user who logs in: {remedy}",
        )
    return ConfigError(
        f"{command.what}: git reads no repository of somebody else ({detail(said)})", hint=f"if you trust it: {remedy}"
    )


# ----------------------------------------------------------------------------------------------------- the connection


_FINGERPRINT: Final = re.compile(r"^(?:SHA256|MD5):[\w+/=:]+", re.MULTILINE)
unknown_host_key = error_with(
    NetworkError,
    "the server's host key is not known",
    "compare its fingerprint with the published one, then add it to ~/.ssh/known_hosts",
    "certificate",
)
untrusted_certificate = error_with(
    NetworkError,
    "the server's certificate cannot be trusted",
    "for a private authority: --ca-file FILE, or SSL_CERT_FILE",
    "certificate",
)
forbidden_redirect = error_with(UnsafeContentError, "it was sent where it must not go", part="elsewhere")


def changed_host_key(command: FailedCommand, said: str, _: object) -> GetModulesError:
    found = _FINGERPRINT.search(said)
    shown = f" (it is {found[0]})" if found is not None else ""
    return NetworkError(
        f"{command.what}: the server's host key is not the known one{shown}: somebody may be in the middle "
        f"({detail(said)})",
        part="certificate",
        hint="compare its fingerprint with the one that is published for this server, before you touch known_hosts",
    )


# ------------------------------------------------------------------------------------------------ the server's answer


def authentication(command: FailedCommand, said: str, found: re.Match[str]) -> GetModulesError:
    if _UNUSABLE_KEY.search(said):
        return (_unusable_sshkey if command.offered == SSHKEY else _unusable_key)(command, said, found)
    if _OPEN_KEY.search(said):
        return _open_key(command, said, found)
    credential, looked_in = command.sent, _places(command)
    if command.offered == SSHKEY:
        why = f"the server does not accept the key of {SSHKEY}"
        hint = "does the server know its public half, for an account that may read this? It must have no passphrase"
    elif credential is not None:
        why = f"the server does not accept the credential from {credential}"
        hint = f"is it expired, or for another account? {command.variable} brings another"
    elif command.withheld_from is not None:
        why = "the server wants credentials, and gets none: there is no TLS, and only the project's files want it so"
        hint = f"if nobody else can listen on the way there: --plain-http {command.withheld_from}"
    elif command.variable is None:
        why = "the server accepts no key of ours"
        hint = "is the key loaded (ssh-add -l), and known to the server? sshkey= brings one"
    elif "Authentication failed" in said:  # git had credentials, and sent them
        why = "the server does not accept the credentials that git found"
        hint = f"are those of the git credential helper or ~/.netrc expired? {command.variable} brings others"
        credential, looked_in = SentCredential(_HELPERS), ()
    else:
        why = "the server wants credentials, and none were found that it takes (or it hides what is not there)"
        hint = f"a git credential helper, ~/.netrc, or {command.variable} brings one"
    message = f"{command.what}: {why} ({detail(said)})"
    return AuthenticationError(message, hint=hint, credential=credential, looked_in=looked_in)


_HELPERS: Final = "git's credential helpers"


def _places(command: FailedCommand) -> tuple[str, ...]:
    """Return where git and we have looked for a credential, if none of ours was sent."""
    if command.offered is not None or command.withheld_from is not None:
        return ()
    if command.variable is None:
        return ("the ssh agent", "the keys of ssh")
    return (command.variable, _HELPERS, "~/.netrc")


def forbidden(command: FailedCommand, said: str, _: object) -> GetModulesError:
    who = f"who asks, with the credential from {command.sent}" if command.sent else "who asks"
    return AuthenticationError(
        f"{command.what}: the server knows {who}, and does not let them read it ({detail(said)})",
        part="forbidden",
        hint="may this account read the repository? With single sign-on each key and token must be authorized for it",
        credential=command.sent,
        looked_in=_places(command),
    )


rate_limited = error_with(RateLimitedError, "the server was asked too often", _WAIT)
no_commit = error_with(
    NotFoundError,
    "the repository has no such commit or ref",
    "was it pushed, and not removed since? A fork may have what the repository has not",
)
corrupt_objects = error_with(CorruptArchiveError, "what arrived is broken")


def http_status(command: FailedCommand, said: str, found: re.Match[str]) -> GetModulesError:
    code = int(found["status"] or found["code"])
    text = f"{command.what}: the server answered {code} ({detail(said)})"
    if code == 401:
        return authentication(command, said, found)
    if code == 403:
        have = f"with the credential from {command.sent}" if command.sent else "without a credential of ours"
        return AuthenticationError(
            f"{text}, {have}",
            part="forbidden",
            hint=f"may this account read the repository? {command.variable} brings another",
            credential=command.sent,
            looked_in=_places(command),
        )
    if code in (404, 410):
        return not_found(command, said, found)
    if code == 429:
        return RateLimitedError(text, hint=_WAIT)
    return NetworkError(
        text, hint="the server is in trouble: try again later" if code >= 500 else None, retryable=code in TRANSIENT
    )


def not_found(command: FailedCommand, said: str, _: object) -> GetModulesError:
    hint = "is the address right?"
    if command.offered is None and command.variable is not None:
        hint += " A private repository is often hidden from who has no credentials"
    return NotFoundError(f"{command.what}: there is no repository ({detail(said)})", hint=hint)


# ------------------------------------------------------------------------------------------- the objects that arrived


#: The identifiers that git's fsck has for harmful names; all its others are about broken objects.
_HOSTILE: Final = {
    "hasDotgit": "dot-git",
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


def refused_object(command: FailedCommand, said: str, found: re.Match[str]) -> GetModulesError:
    part = _HOSTILE.get(found["id"])
    if part is not None:
        return UnsafeContentError(f"{command.what}: git refuses what arrived ({detail(said)})", part=part)
    return CorruptArchiveError(
        f"{command.what}: git refuses what arrived ({detail(said)})",
        hint="old history made by broken tools is refused as well; a newer commit may do without it",
    )
