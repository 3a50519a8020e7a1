"""Who said what of all that is heard from a git: the programs on this machine, or the server.

It comes as one stream, which over ssh is not even marked. What is known to be a program's own line was said here; all
else may be the server's, and must not talk us into an error about this machine. Nor must a repository by its name: so
names are taken out of what is searched for words. They stay in what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from getmodules.util.redact import printable, redact

_LONGEST_DETAIL: Final = 400
#: No program on this machine says so much in one line that counts.
_LONGEST_LINE: Final = 4000
_MOST_OTHERS: Final = 3

_BY_GIT: Final = r"(?:fatal|error): |\S+\[\d+: [^\]]*\]: errno="
_BY_SSH: Final = "|".join(
    (
        *(r"ssh: ", r"\w+_exchange_identification: ", r"ssh_dispatch_run_fatal: ", r"banner exchange: "),
        *(r"client_loop: ", r"packet_write_(?:wait|poll): ", r"sign_and_send_pubkey: ", r"FATAL ERROR: "),
        *(r"Connection (?:closed|reset|timed out|to) ", r"Timeout, server ", r"Received disconnect from "),
        *(r"Unable to negotiate with ", r"Bad packet length ", r"Protocol major versions differ"),
        *(r"Host key ", r"No \S+ host key is known for ", r"\S+ host key for ", r"Offending "),
        *(r"WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED", r"WARNING: REVOKED HOST KEY DETECTED"),
        *(r"Load key ", r"Permissions \d+ for ", r"Bad owner or permissions on ", r"\S+: terminating, "),
        *(r"\S+: line \d+: Bad configuration option", r"(?:\S*: )?Permission denied \("),
    )
)
_HERE: Final = re.compile(f"{_BY_GIT}|{_BY_SSH}")
#: From there on it is the server's, be it in several lines: the error that it sent, or what it has named so oddly.
_THEIRS: Final = re.compile(r"fatal: remote error: |error: object [0-9a-f]+: ")

#: A shell begins what it says with the command that it was given, in which our options are.
_OUR_COMMAND: Final = re.compile(r"(?!remote: )(?:.* -o BatchMode=yes |\S*plink\S* -batch:)")
#: How it ends.
_MISSING: Final = re.compile(
    r"(?P<program>[^:]+): (?:(?:command |inaccessible or )?not found|No such file or directory|Permission denied|"
    r"Is a directory)|(?:command not found|no such file or directory|permission denied): (?P<last>.+)"
)
_PLAIN: Final = r"(?:[^\s:']*/)?ssh(?:\.exe)?"
#: The same of shells that say their own name, of the env(1) before a program, and of git where there is no shell.
_MISSING_TOO: Final = re.compile(
    rf"(?:[^\s:]*sh: )?(?:(?:line )?\d+: )?(?P<shell>{_PLAIN}): (?:command |inaccessible or )?not found|"
    rf"[^\s:]*sh:(?:\d+:)? command not found: (?P<zsh>{_PLAIN})|"
    r"env: '?(?P<env>[^:']+)'?: No such file or directory|"
    rf"(?:error|fatal): cannot (?:run|spawn|exec) '?(?P<git>{_PLAIN}|[^\s:']+(?= -o BatchMode=yes ))(?:[ ':].*)?"
)

# Each begins only where a word does: no text is looked through from more than one start.
_QUOTED: Final = re.compile(r"(?<!\w)(['\"])[^'\"]*+['\"]")
_NAMES: Final = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+://[^\s'\"]*+"  # an address
    r"|(?<![^\s'\"(])[^\s@'\"(]++@[^\s'\":,)]++"  # somebody at a host
    r"|(?<![^\s'\"(])~?/[^\s'\"]*+"  # a path
    r"|(?<![\w/.-])refs/[^\s'\"]*+"
    r"|(?<![\w.-])[\w-]++(?:\.[\w-]++)*\.[A-Za-z][\w-]+"  # a host with its domain, or a file
    r"|(?<!\S)[\w.-]++(?=\[\d+: )"  # a host, and which of its addresses
)
#: What git repeats of the server's words, in a sentence of its own.
_REPEATED: Final = re.compile(r"(?:[,;] got|\bresponse:) .*|\b(?:unexpected|line:|ref:) '.*")

_ADDRESS: Final = re.compile(r"[a-z]+://(?:[^/@]*@)?(?P<host>\[[^\]]*\]|[^/:?#]*)[^/?#]*(?P<path>[^?#]*).*")
#: What programs say before a host. Alone its name may be any word of theirs.
_BEFORE_A_HOST: Final = r"\b(?:hostname|host:?|to|up|for|by|with|server) \[?"

#: How far it is, lines that are ruled, and the advice that git adds to all that fails over ssh.
_IDLE: Final = re.compile(
    r"(?:remote: )?(?:(?:Enumerating|Counting|Compressing|Receiving|Resolving|Unpacking) |Total \d)|remote:[\s=*-]*$|"
    r"Please make sure you have the correct access rights|and the repository exists\.$"
)
_REASON: Final = re.compile(rf"{_BY_GIT}|{_BY_SSH}|(?:remote|ERROR|FATAL)\b")
_CONSEQUENCE: Final = re.compile(r"fatal: the remote end hung up|Connection to .* closed|[Ww]arning: |hint: |\*\* ")
_FORMULA: Final = re.compile(r"fatal: Could not read from remote repository")


class Messages(NamedTuple):
    """What is searched for words; without names, line by line."""

    #: What git, curl and ssh on this machine said themselves.
    here: str
    #: That, and all that may have come from the server.
    anywhere: str
    #: The program that should have made the connection, if there is none of this name.
    missing: str | None


def parse_messages(said: str, what: str) -> Messages:
    """``what`` names the repository by its address, as in ``git fetch from https://…``."""
    lines = _lines(_without_address(said, what))
    here = lines[: next((number for number, line in enumerate(lines) if _THEIRS.match(line)), None)]
    return Messages(
        "\n".join(_nameless(line) for line in here if _HERE.match(line) and not _OUR_COMMAND.match(line)),
        "\n".join(_nameless(line) for line in lines if not _OUR_COMMAND.match(line)),
        next(filter(None, map(_missing, here)), None),
    )


def detail(said: str) -> str:
    """The words that say most, safe to show: reasons, else whatever else was said, else what follows from a reason."""
    ranks: tuple[list[str], ...] = ([], [], [], [])
    for line in _lines(said):
        if line and not _IDLE.match(line):
            ranks[_rank(line)].append(line)
    reasons, others, *rest = ranks
    best: Sequence[str] = next(filter(None, (reasons, others[-_MOST_OTHERS:], *rest)), ())
    return printable(redact("; ".join(dict.fromkeys(best))), _LONGEST_DETAIL)


def _rank(line: str) -> int:
    if _FORMULA.match(line):
        return 3
    if _CONSEQUENCE.match(line):
        return 2
    return 0 if _REASON.match(line) else 1


def _lines(said: str) -> list[str]:
    """Without the frame that ssh draws around its warnings. Only git's own line end is one: a server has others."""
    return [line[:_LONGEST_LINE].strip().strip("@").strip() for line in said.split("\n")]


def _missing(line: str) -> str | None:
    found = _MISSING_TOO.fullmatch(line)
    if found is None and _OUR_COMMAND.match(line):
        # Before the last two parts there are the command and the number of a line in it.
        found = _MISSING.fullmatch(":".join(line.rsplit(":", 2)[-2:]).strip())
    return next(filter(None, found.groups()), None) if found is not None else None


def _nameless(line: str) -> str:
    without = _QUOTED.sub(lambda found: "''" if "/" in found[0] or "\\" in found[0] else found[0], line)
    return _NAMES.sub("", _REPEATED.sub("", without))


def _without_address(said: str, what: str) -> str:
    """``said`` without the repository's address, path and host, however a program writes them."""
    address = _ADDRESS.search(what)
    if address is None:
        return said
    names = {address[0], unquote(address[0])}
    for path in {address["path"].rstrip("/"), unquote(address["path"]).rstrip("/")}:
        for name in (path, path.lstrip("/")):
            # A lone word would be missed in what a program says.
            names |= {each for each in (name, name.removesuffix(".git")) if "/" in each or each.endswith(".git")}
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    said = re.sub(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, longest_first))})/?(?![\w-])", "", said)
    if not address["host"]:
        return said
    return re.sub(rf"({_BEFORE_A_HOST}){re.escape(address['host'])}(?![\w-])", r"\1", said)
