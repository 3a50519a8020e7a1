"""Two spellings of one advice: hints are written as options and commands, and a program reads parameters and calls.

Whoever writes a hint writes what is typed (``run it once without --offline``), and nothing else need be remembered:
``GetModulesError.hint`` is always that of a program, and the command line always shows what is typed, also where a hint
was made from another one. A test compares the table with the options in hints, with parsers, and with signatures.
"""

from __future__ import annotations

import re
from functools import cache

#: What is typed, and what it is in a program. A name in braces stands for one word.
SPELLINGS = (
    ("getmodules lock --upgrade {NAME}", 'Client.lock(upgrade=["{NAME}"])'),
    ("getmodules lock", "Client.lock()"),
    ("getmodules install", "Client.install()"),
    ("getmodules add {NAME} {SOURCE}", 'Client.add("{NAME}", "{SOURCE}")'),
    ("getmodules remove {NAME}", 'Client.remove("{NAME}")'),
    ("getmodules push", "Client.push()"),
    ("getmodules tags", "Client.tags()"),
    ("getmodules inspect", "Client.inspect()"),
    ("getmodules get", "Client.get()"),
    ("getmodules hash", "hash_tree()"),
    ("getmodules plugins", "Client.catalog"),
    ("--ca-file {FILE}", 'NetSettings(ca_file="{FILE}")'),
    ("--client-cert {HOST}={FILE}", 'NetSettings(client_certificates={"{HOST}": "{FILE}"})'),
    ("--expect {HASH}", 'expect="{HASH}"'),
    ("--force", "force=True"),
    ("--header {HOST} {NAME}={VALUE}", 'NetSettings(headers={"{HOST}": {"{NAME}": Secret("{VALUE}")}})'),
    ("--limit {FIELD}={VALUE}", "Limits({FIELD}={VALUE})"),
    ("--manifest {FILE}", 'manifest="{FILE}"'),
    ("--no-cache", "use_cache=False"),
    ("--no-plugin {NAME}", 'without_plugins=["{NAME}"]'),
    ("--offline", "offline=True"),
    ("--plain-http {HOST}", 'NetSettings(plain_http=frozenset({"{HOST}"}))'),
    ("--registry {HOST}", 'registry="{HOST}"'),
    ("--timeout {SECONDS}", "NetSettings(timeout={SECONDS})"),
)
_NAMED = re.compile(r"\{([A-Z]+)\}")
_ESCAPED = re.compile(r"\\\{[A-Z]+\\\}")


def for_programs(hint: str) -> str:
    """Return ``hint`` with each option as its parameter, and each command as its call."""
    return _replaced(hint, 0) if "--" in hint or "getmodules " in hint else hint


def for_command_line(hint: str) -> str:
    """Return ``hint`` with each parameter as its option, and each call as its command."""
    return _replaced(hint, 1) if "=" in hint or "(" in hint or "Client." in hint else hint


def _replaced(text: str, side: int) -> str:
    def other(found: re.Match[str]) -> str:
        assert found.lastgroup is not None
        number = int(found.lastgroup.removeprefix("row"))
        row = SPELLINGS[number]
        values = {name: found[f"{name}{number}"] for name in _NAMED.findall(row[side])}
        return _NAMED.sub(lambda name: values[name[1]], row[1 - side])

    return _pattern(side).sub(other, text)


@cache
def _pattern(side: int) -> re.Pattern[str]:
    """Return the pattern of all spellings of one side; of two that begin alike, the longer stands first."""
    rows = []
    for number, row in enumerate(SPELLINGS):
        names = iter(_NAMED.findall(row[side]))
        written = _ESCAPED.sub(lambda _: rf"(?P<{next(names)}{number}>{_WORDS[side]})", re.escape(row[side]))  # noqa: B023
        rows.append(rf"(?P<row{number}>{written})")
    return re.compile(rf"(?<![\w-])(?:{'|'.join(rows)})(?![\w-])")


#: A word on the command line, and one between quotes or brackets.
_WORDS = (r"[^\s;,=()]+", r"[^\s;,=()\"]+")
