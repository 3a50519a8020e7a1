"""git's words, as errors of ours. They are English, since git is told so, and differ a little between versions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

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
    UnsafeContentError,
)
from getmodules.limits import GIB, metadata_exceeded
from getmodules.patterns import pattern
from getmodules.redact import printable, redact

_LONGEST_DETAIL = 400
#: Lines that say why; what else git says is about how far it is.
_REASON: Final = pattern(
    r"(?:fatal|error|remote|ERROR|ssh|kex_exchange_identification)\b.*|.*(?:Permission denied|verification failed).*"
)
_PROGRESS: Final = pattern(r"remote: (?:Enumerating|Counting|Compressing|Total)\b.*")

#: The server will not give a single commit, or no shallow history: a wider question may be answered.
_REFUSES_COMMIT: Final = pattern(
    r"unadvertised object|does not support (?:shallow|--shallow|--depth)|want [0-9a-f]+ not valid|"
    r"dumb http transport does not support|Server does not support|not allow request for"
)
_NO_SUCH_COMMIT: Final = r"not our ref|couldn't find remote ref|[Nn]o such ref"
_KNOWS_NO_COMMIT: Final = pattern(_NO_SUCH_COMMIT)


class Story(NamedTuple):
    """What a failure is about, for its message."""

    #: ``git fetch from https://…``
    what: str
    #: Where the credential that was sent came from, if one was.
    offered: str | None = None
    #: The variable that would bring one; ``None`` where a key is what counts.
    variable: str | None = None


def refuses_commit(said: str) -> bool:
    return _REFUSES_COMMIT.search(said) is not None


def knows_no_commit(said: str) -> bool:
    return _KNOWS_NO_COMMIT.search(said) is not None


def detail(said: str) -> str:
    """git's own words, safe to show."""
    lines = [line.strip() for line in said.splitlines()]
    reasons = [line for line in lines if _REASON.fullmatch(line) and not _PROGRESS.match(line)]
    return printable(redact("; ".join(dict.fromkeys(reasons or lines[-3:]))), _LONGEST_DETAIL)


def failure(said: str, story: Story) -> GetModulesError:
    """The error for a git that failed after it had ``said`` this."""
    for words, make in _table():
        found = words.search(said)
        if found is not None:
            return make(story, said, found)
    return FetchError(f"{story.what} failed: {detail(said) or 'it did not say why'}", part="unreadable")


Make = Callable[[Story, str, "re.Match[str]"], GetModulesError]


def _network(sentence: str, hint: str | None = None, part: str | None = None) -> Make:
    return lambda story, said, _: NetworkError(f"{story.what}: {sentence} ({detail(said)})", part=part, hint=hint)


def _authentication(story: Story, said: str, _: object) -> GetModulesError:
    if story.offered is not None:
        message = f"{story.what}: the server does not accept the credential from {story.offered}"
        hint = "is it expired, or for another account?"
    elif story.variable is None:
        message, hint = (
            f"{story.what}: the server accepts no key of ours",
            "is the key loaded (ssh-add -l)? sshkey= brings one",
        )
    else:
        message = f"{story.what}: the server wants credentials, and none were found (or it hides what is not there)"
        hint = f"a git credential helper, ~/.netrc, or {story.variable} brings one"
    return AuthenticationError(f"{message} ({detail(said)})", hint=hint)


def _status(story: Story, said: str, found: re.Match[str]) -> GetModulesError:
    status = int(found["status"] or found["code"])
    text = f"{story.what}: the server answered {status} ({detail(said)})"
    if status == 401:
        return _authentication(story, said, found)
    if status == 403:
        have = f"with the credential from {story.offered}" if story.offered else "without a credential"
        return AuthenticationError(f"{text}, {have}", part="forbidden", hint="may this account read the repository?")
    if status in (404, 410):
        return _not_found(story, said, found)
    if status == 429:
        return RateLimitedError(text, hint="wait a while; with credentials the limit is often higher")
    return NetworkError(text, hint="the server is in trouble: try again later" if status >= 500 else None)


def _not_found(story: Story, said: str, _: object) -> GetModulesError:
    hint = "is the address right?"
    if story.offered is None and story.variable is not None:
        hint += " A private repository is often hidden from who has no credentials"
    return NotFoundError(f"{story.what}: there is no repository ({detail(said)})", hint=hint)


def _no_commit(story: Story, said: str, _: object) -> GetModulesError:
    return NotFoundError(
        f"{story.what}: the repository has no such commit or ref ({detail(said)})",
        hint="was it pushed, and not removed since? A fork may have what the repository has not",
    )


def _host_key(story: Story, said: str, _: object) -> GetModulesError:
    return NetworkError(
        f"{story.what}: the server's host key is not known, or not the known one ({detail(said)})",
        part="certificate",
        hint="compare its fingerprint with the published one, then add it to ~/.ssh/known_hosts",
    )


def _certificate(story: Story, said: str, _: object) -> GetModulesError:
    return NetworkError(
        f"{story.what}: the server's certificate cannot be trusted ({detail(said)})",
        part="certificate",
        hint="for a private authority: --ca-file FILE, or SSL_CERT_FILE",
    )


def _elsewhere(story: Story, said: str, _: object) -> GetModulesError:
    return UnsafeContentError(f"{story.what}: it was sent where it must not go ({detail(said)})", part="elsewhere")


def _ownership(story: Story, said: str, _: object) -> GetModulesError:
    return ConfigError(
        f"{story.what}: git reads no repository of somebody else ({detail(said)})",
        hint="if you trust it: git config --global --add safe.directory PATH",
    )


def _disk(story: Story, said: str, _: object) -> GetModulesError:
    return InstallError(
        f"{story.what}: the disk is full ({detail(said)})",
        part="no-space",
        hint="free some space where the cache is; GETMODULES_CACHE_DIR names another place",
    )


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


def _fsck(story: Story, said: str, found: re.Match[str]) -> GetModulesError:
    part = _HOSTILE.get(found["id"])
    if part is not None:
        return UnsafeContentError(f"{story.what}: git refuses what arrived ({detail(said)})", part=part)
    return CorruptArchiveError(
        f"{story.what}: git refuses what arrived ({detail(said)})",
        hint="old history made by broken tools is refused as well; a newer commit may do without it",
    )


def _memory(story: Story, said: str, _: object) -> GetModulesError:
    return metadata_exceeded(f"{story.what}: one object wants more memory than git may have", GIB)


def _corrupt(story: Story, said: str, _: object) -> GetModulesError:
    return CorruptArchiveError(f"{story.what}: what arrived is broken ({detail(said)})")


@cache
def _table() -> tuple[tuple[re.Pattern[str], Make], ...]:
    """In the order in which they are tried: the reason before what follows from it."""
    slow = "allow more time with --limit seconds=N, or try again later"
    spelled = "is the network there, and the host spelled right?"
    rows: tuple[tuple[tuple[str, ...], Make], ...] = (
        ((r"No space left on device", r"Disk quota exceeded"), _disk),
        ((r"attempting to allocate \d+ over limit",), _memory),
        ((r"dubious ownership", r"safe\.directory"), _ownership),
        ((r"error: object [0-9a-f]+: (?P<id>[A-Za-z0-9]+): ",), _fsck),
        (
            (
                # The server's own repository is broken, and it will be the next time.
                *(r"repository corruption on the remote", r"did not send all necessary objects"),
                *(r"pack has \d+ unresolved delta", r"pack is corrupted"),
            ),
            _corrupt,
        ),
        (
            (
                *(r"[Cc]ould not resolve (?:host|proxy)", r"[Nn]ame or service not known", r"name resolution"),
                *(r"unable to look up", r"nodename nor servname", r"[Nn]o address associated"),
            ),
            _network("the host is not known", spelled),
        ),
        ((r"Host key verification failed", r"HOST IDENTIFICATION HAS CHANGED", r"No \S+ host key is known"), _host_key),
        ((r"[Cc]ertificate", r"CERTIFICATE", r"self.signed", r"no alternative .*subject name"), _certificate),
        ((r"The requested URL returned error: (?P<status>\d{3})", r"HTTP code = (?P<code>\d{3})"), _status),
        (
            (
                *(r"Protocol \"?\w+\"? (?:not supported|disabled|is disabled)", r"transport '[^']*' not allowed"),
                r"update url base from redirection",
            ),
            _elsewhere,
        ),
        ((r"Maximum \(?\d+\)? redirects",), _network("it was sent on without arriving anywhere")),
        (
            (
                *(r"Authentication failed", r"could not read (?:Username|Password)", r"terminal prompts disabled"),
                *(r"Permission denied \(", r"Too many authentication failures", r"No supported authentication methods"),
            ),
            _authentication,
        ),
        (
            (
                *(r"[Cc]onnection refused", r"[Ff]ailed to connect", r"[Cc]ouldn't connect"),
                *(r"unable to connect to", r"[Nn]o route to host", r"[Nn]etwork is unreachable"),
            ),
            _network("the connection was refused", spelled),
        ),
        ((r"[Tt]imed out", r"too slow", r"[Tt]imeout"), _network("the server is too slow", slow, "timeout")),
        (
            (
                *(r"[Rr]epository (?:'[^']*' )?not found", r"does not appear to be a git repository"),
                *(r"repository not exported", r"access denied or", r"not valid: is this a git repo"),
                *(r"no such (?:project|repository)", r"project you were looking for"),
            ),
            _not_found,
        ),
        ((_NO_SUCH_COMMIT,), _no_commit),
        (
            (
                *(r"[Cc]onnection reset", r"hung up", r"early EOF", r"unexpected disconnect", r"RPC failed"),
                *(r"Recv failure", r"Broken pipe", r"[Ee]mpty reply", r"bytes? of (?:body|length)"),
                *(r"[Cc]onnection (?:was )?closed", r"TLS", r"SSL", r"gnutls", r"bad line length", r"protocol error"),
                *(r"expected '?flush", r"expected ACK", r"invalid packet", r"expected 'packfile'", r"unable to access"),
            ),
            _network("the connection failed", "try again; if it stays so, the server is in trouble"),
        ),
        (
            (
                *(r"corrupt", r"inflate", r"index-pack", r"bad pack", r"unpack", r"unresolved delta", r"mismatch"),
                *(r"bad (?:object|shallow)", r"invalid object", r"missing (?:blob|tree)", r"fsck"),
            ),
            _corrupt,
        ),
        ((r"remote error: ", r"Server does not ", r"\bERR "), _network("the server refuses")),
    )
    return tuple((re.compile("|".join(patterns)), make) for patterns, make in rows)
