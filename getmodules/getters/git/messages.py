"""The messages of a git command, separated by origin: the programs on this machine, or the server.

They arrive as one stream, which over ssh is not even marked. Only lines that are known to be a program's own count as
local; all others may be the server's, which must not be able to cause an error about this machine. The name of a
repository must not either: names are removed from the text that is searched. They stay in the text that is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from getmodules.util.redact import printable, redact

_LONGEST_DETAIL: Final = 400
#: No line of a program on this machine that matters is longer.
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
#: From such a line on everything is the server's text: the error that it sent, or an odd name in its repository.
_THEIRS: Final = re.compile(r"fatal: remote error: |error: object [0-9a-f]+: ")

#: A shell begins its message with the command that it was given, which has our options in it.
_OUR_COMMAND: Final = re.compile(r"(?!remote: )(?:.* -o BatchMode=yes |\S*plink\S* -batch:)")
#: The end of a shell's message about a missing program.
_MISSING: Final = re.compile(
    r"(?P<program>[^:]+): (?:(?:command |inaccessible or )?not found|No such file or directory|Permission denied|"
    r"Is a directory)|(?:command not found|no such file or directory|permission denied): (?P<last>.+)"
)
_PLAIN: Final = r"(?:[^\s:']*/)?ssh(?:\.exe)?"
#: The same message from shells that begin with their own name, from env(1), and from git where there is no shell.
_MISSING_TOO: Final = re.compile(
    rf"(?:[^\s:]*sh: )?(?:(?:line )?\d+: )?(?P<shell>{_PLAIN}): (?:command |inaccessible or )?not found|"
    rf"[^\s:]*sh:(?:\d+:)? command not found: (?P<zsh>{_PLAIN})|"
    r"env: '?(?P<env>[^:']+)'?: No such file or directory|"
    rf"(?:error|fatal): cannot (?:run|spawn|exec) '?(?P<git>{_PLAIN}|[^\s:']+(?= -o BatchMode=yes ))(?:[ ':].*)?"
)

# Each pattern begins at the beginning of a word only, so that no text is searched more than once.
_QUOTED: Final = re.compile(r"(?<!\w)(['\"])[^'\"]*+['\"]")
_NAMES: Final = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+://[^\s'\"]*+"  # an address
    r"|(?<![^\s'\"(])[^\s@'\"(]++@[^\s'\":,)]++"  # user@host
    r"|(?<![^\s'\"(])~?/[^\s'\"]*+"  # a path
    r"|(?<![\w/.-])refs/[^\s'\"]*+"
    r"|(?<![\w.-])[\w-]++(?:\.[\w-]++)*\.[A-Za-z][\w-]+"  # a host with its domain, or a file
    r"|(?<!\S)[\w.-]++(?=\[\d+: )"  # a host and one of its addresses
)
#: The server's words that git repeats in a sentence of its own.
_REPEATED: Final = re.compile(r"(?:[,;] got|\bresponse:) .*|\b(?:unexpected|line:|ref:) '.*")

_ADDRESS: Final = re.compile(r"[a-z]+://(?:[^/@]*@)?(?P<host>\[[^\]]*\]|[^/:?#]*)[^/?#]*(?P<path>[^?#]*).*")
#: The words before a host. Without them its name may be an ordinary word of a message.
_BEFORE_A_HOST: Final = r"\b(?:hostname|host:?|to|up|for|by|with|server) \[?"

#: Progress, ruled lines, and the advice that git adds to every failure over ssh.
_IDLE: Final = re.compile(
    r"(?:remote: )?(?:(?:Enumerating|Counting|Compressing|Receiving|Resolving|Unpacking) |Total \d)|remote:[\s=*-]*$|"
    r"Please make sure you have the correct access rights|and the repository exists\.$"
)
_REASON: Final = re.compile(rf"{_BY_GIT}|{_BY_SSH}|(?:remote|ERROR|FATAL)\b")
_CONSEQUENCE: Final = re.compile(r"fatal: the remote end hung up|Connection to .* closed|[Ww]arning: |hint: |\*\* ")
_FORMULA: Final = re.compile(r"fatal: Could not read from remote repository")


class Messages(NamedTuple):
    """A git command's messages, without names of repositories, as the error rules search them."""

    #: The messages of git, curl and ssh on this machine.
    here: str
    #: All messages, those that may be from the server included.
    anywhere: str
    #: The program that should have made the connection, if it does not exist.
    missing: str | None


def parse_messages(said: str, what: str) -> Messages:
    """Separate the messages ``said``. ``what`` names the command and the address: ``git fetch from https://…``."""
    lines = _lines(_without_address(said, what))
    here = lines[: next((number for number, line in enumerate(lines) if _THEIRS.match(line)), None)]
    return Messages(
        "\n".join(_nameless(line) for line in here if _HERE.match(line) and not _OUR_COMMAND.match(line)),
        "\n".join(_nameless(line) for line in lines if not _OUR_COMMAND.match(line)),
        next(filter(None, map(_missing, here)), None),
    )


def detail(said: str) -> str:
    """Return the most telling lines, safe to show: reasons, else other lines, else consequences of a reason."""
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
    """Return the lines, without the frame that ssh draws around its warnings. Only git's own line ends count."""
    return [line[:_LONGEST_LINE].strip().strip("@").strip() for line in said.split("\n")]


def _missing(line: str) -> str | None:
    found = _MISSING_TOO.fullmatch(line)
    if found is None and _OUR_COMMAND.match(line):
        # The parts before the last two are the command and a line number.
        found = _MISSING.fullmatch(":".join(line.rsplit(":", 2)[-2:]).strip())
    return next(filter(None, found.groups()), None) if found is not None else None


def _nameless(line: str) -> str:
    without = _QUOTED.sub(lambda found: "''" if "/" in found[0] or "\\" in found[0] else found[0], line)
    return _NAMES.sub("", _REPEATED.sub("", without))


def _without_address(said: str, what: str) -> str:
    """Return ``said`` without the repository's address, path and host, in any spelling that programs use."""
    address = _ADDRESS.search(what)
    if address is None:
        return said
    names = {address[0], unquote(address[0])}
    for path in {address["path"].rstrip("/"), unquote(address["path"]).rstrip("/")}:
        for name in (path, path.lstrip("/")):
            # A name of one word may also be an ordinary word of a message, so it stays.
            names |= {each for each in (name, name.removesuffix(".git")) if "/" in each or each.endswith(".git")}
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    said = re.sub(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, longest_first))})/?(?![\w-])", "", said)
    if not address["host"]:
        return said
    return re.sub(rf"({_BEFORE_A_HOST}){re.escape(address['host'])}(?![\w-])", r"\1", said)
