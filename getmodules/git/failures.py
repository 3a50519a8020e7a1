"""git's words, as errors of ours. They are English, since git is told so, and differ a little between versions."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal, NamedTuple

from getmodules.errors import GetModulesError
from getmodules.git import reasons
from getmodules.git.hearing import hear
from getmodules.git.reasons import Make, Story, network

__all__ = ["Story", "failure", "knows_no_commit", "refuses_commit"]

#: The server will not give a single commit, or no shallow history: a wider question may be answered.
_REFUSES_COMMIT: Final = re.compile(
    r"unadvertised object|does not support (?:shallow|--shallow|--depth)|want [0-9a-f]+ not valid|"
    r"dumb http transport does not support|Server does not support|not allow request for"
)
_NO_SUCH_COMMIT: Final = r"not our ref|couldn't find remote ref|[Nn]o such ref|no matching remote head"
_KNOWS_NO_COMMIT: Final = re.compile(_NO_SUCH_COMMIT)


def refuses_commit(said: str) -> bool:
    return _REFUSES_COMMIT.search(said) is not None


def knows_no_commit(said: str) -> bool:
    return _KNOWS_NO_COMMIT.search(said) is not None


def failure(said: str, story: Story) -> GetModulesError:
    """The error for a git that failed after it had ``said`` this."""
    heard = hear(said, story.what)
    if heard.missing is not None:
        return reasons.no_program(story, heard.missing)
    for row in _table():
        found = row.words.search(heard.here if row.said == "here" else heard.anywhere)
        if found is not None:
            return row.make(story, said, found)
    return reasons.unknown(story, said)


class Row(NamedTuple):
    #: ``here``: only a program on this machine can know it, and what a server says of it does not count.
    #: ``anywhere``: it is about the repository, and servers may say so as well.
    said: Literal["here", "anywhere"]
    words: re.Pattern[str]
    make: Make


def _here(make: Make, *words: str) -> Row:
    return Row("here", re.compile("|".join(words), re.MULTILINE), make)


def _anywhere(make: Make, *words: str) -> Row:
    return Row("anywhere", re.compile("|".join(words), re.MULTILINE), make)


@cache
def _table() -> tuple[Row, ...]:
    """In the order in which they are tried: the reason before what follows from it."""
    spelled = "is the network there, and the host spelled right?"
    return (
        # This machine.
        _here(reasons.odd_ssh, r"ssh variant '[^']*' does not support"),
        _here(reasons.disk, r"No space left on device", r"Disk quota exceeded"),
        _here(reasons.memory, r"attempting to allocate \d+ over limit"),
        _here(reasons.ownership, r"dubious ownership", r"unsafe repository \("),
        _here(reasons.ssh_settings, r"^Bad owner or permissions on", r"Bad configuration option"),
        # What arrived.
        _anywhere(reasons.fsck, r"^error: object [0-9a-f]+: (?P<id>[A-Za-z0-9]+): "),
        _anywhere(
            reasons.corrupt,
            # The server's own repository is broken, and it will be the next time.
            *(r"repository corruption on the remote", r"did not send all necessary objects"),
            *(r"pack has \d+ unresolved delta", r"pack is corrupted"),
        ),
        # The way there.
        _here(
            network("the host is not known", spelled),
            *(r"[Cc]ould not resolve (?:host|proxy)", r"[Nn]ame or service not known", r"name resolution"),
            *(r"unable to look up", r"nodename nor servname", r"[Nn]o address associated"),
        ),
        _here(
            reasons.other_host_key,
            *(r"^WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED", r"^Host key for .*has changed and"),
            *(r"^WARNING: REVOKED HOST KEY DETECTED", r"host key for .*was revoked"),
        ),
        _here(
            reasons.host_key,
            *(r"^Host key verification failed", r"^No \S+ host key is known", r"Cannot confirm a host key"),
        ),
        _here(
            reasons.certificate,
            *(r"[Cc]ertificate", r"CERTIFICATE", r"self.signed", r"no alternative .*subject name"),
        ),
        _here(
            reasons.status,
            *(r"The requested URL returned error: (?P<status>\d{3})", r"HTTP code = (?P<code>\d{3})"),
        ),
        _here(
            reasons.elsewhere,
            *(r"Protocol \"?\w+\"? (?:not supported|disabled|is disabled)", r"transport '[^']*' not allowed"),
            r"update url base from redirection",
        ),
        _here(network("it was sent on without arriving anywhere"), r"Maximum \(?\d+\)? redirects"),
        # Who may.
        _anywhere(
            reasons.authentication,
            *(r"Authentication failed", r"could not read (?:Username|Password)", r"terminal prompts disabled"),
            *(r"Permission denied \(", r"Too many authentication failures", r"No supported authentication methods"),
        ),
        # Time. Only the first of these has to do with ours.
        _here(
            network("the server is too slow", "allow more time with --limit seconds=N, or try again later", "timeout"),
            r"too slow",
        ),
        _here(
            network(
                "there is no answer",
                "is a firewall or a proxy in the way, and is it the right port?",
                "timeout",
            ),
            *(r"[Tt]imed out", r"\b[Tt]imeout\b"),
        ),
        _here(
            network("the connection was refused", spelled),
            *(r"[Cc]onnection refused", r"[Ff]ailed to connect", r"[Cc]ouldn't connect"),
            *(r"unable to connect to", r"[Nn]o route to host", r"[Nn]etwork is unreachable"),
        ),
        # The repository, in the words of git, and of what stands before it at a forge.
        _anywhere(
            reasons.forbidden,
            *(r"[Yy]ou are not allowed to (?:access|download)", r"SAML SSO", r"^ERROR: Permission to .*denied to"),
        ),
        _anywhere(
            reasons.not_found,
            *(r"[Rr]epository (?:'[^']*' )?not found", r"does not appear to be a git repository"),
            *(r"repository not exported", r"access denied or", r"not valid: is this a git repo"),
            *(r"no such (?:project|repository)", r"project you were looking for"),
            *(r"[Rr]epository (?:either )?does not exist", r"[Cc]annot find repository"),
            *(r"DENIED by fallthru", r"mis-spelled the reponame", r"TF401019", r"[Pp]roject not found"),
        ),
        _anywhere(
            reasons.rate_limited,
            *(r"rate.limited", r"rate limit exceeded", r"exceeded .{0,40}rate limit"),
            *(r"[Tt]oo many requests", r"requested too many times"),
        ),
        _anywhere(reasons.no_commit, _NO_SUCH_COMMIT),
        # A connection that did not last.
        _here(
            network(
                "the server's ssh and the one here have no way in common",
                "a newer ssh at either end; or allow for this one host in ~/.ssh/config what it offers",
            ),
            r"^Unable to negotiate with",
        ),
        _here(
            network("what answers there does not speak ssh", "is it the right port, and no proxy in the way?"),
            *(r"banner line", r"^banner exchange: ", r"^Bad packet length", r"^Protocol major versions differ"),
        ),
        _here(
            network(
                "the ssh server closed the connection",
                "try again later: it may have too many, or refuse this machine; is it the right port?",
            ),
            *(r"_exchange_identification: ", r"^Connection (?:closed|reset) by .*port"),
        ),
        _here(
            network("the connection failed", "try again; if it stays so, the server is in trouble"),
            *(r"[Cc]onnection reset", r"hung up", r"early EOF", r"unexpected disconnect", r"RPC failed"),
            *(r"Recv failure", r"Broken pipe", r"[Ee]mpty reply", r"bytes? of (?:body|length)"),
            *(r"[Cc]onnection (?:was )?closed", r"TLS", r"SSL", r"gnutls", r"bad line length", r"protocol error"),
            *(r"expected '?flush", r"expected ACK", r"invalid packet", r"expected 'packfile'", r"unable to access"),
        ),
        _here(
            reasons.corrupt,
            *(r"corrupt", r"inflate", r"index-pack", r"bad pack", r"unpack", r"unresolved delta", r"mismatch"),
            *(r"bad (?:object|shallow)", r"invalid object", r"missing (?:blob|tree)", r"fsck"),
        ),
        _anywhere(network("the server refuses"), r"remote error: ", r"Server does not ", r"\bERR "),
    )
