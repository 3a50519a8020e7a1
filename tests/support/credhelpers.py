"""Credential helpers for tests: real programs, in a directory that a test puts on PATH."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

_KEYCHAIN = """\
import json, pathlib, sys
chain, log = pathlib.Path({chain!r}), pathlib.Path({log!r})
given = sys.stdin.read()
with log.open("a") as stream:
    stream.write(json.dumps([sys.argv[1:], given]) + "\\n")
kept = json.loads(chain.read_text())
if sys.argv[1] == "store":
    document = json.loads(given)
    kept[document["ServerURL"]] = [document["Username"], document["Secret"]]
elif given not in kept:
    print("credentials not found in native keychain")
    sys.exit(1)
elif sys.argv[1] == "get":
    print(json.dumps({{"ServerURL": given, "Username": kept[given][0], "Secret": kept[given][1]}}))
else:
    del kept[given]
chain.write_text(json.dumps(kept))
"""


def auth_entry(user: str, password: str) -> dict[str, str]:
    """What a credential file has for a host."""
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


class Helpers:
    """A directory of ``docker-credential-*`` programs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "helpers"
        self.directory.mkdir()

    @property
    def path(self) -> str:
        return f"{self.directory}:/usr/bin:/bin"

    def script(self, name: str, body: str) -> Path:
        """A shell script; ``$1`` is the verb."""
        program = self.directory / f"docker-credential-{name}"
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        return program

    def keychain(self, name: str, **kept: tuple[str, str]) -> Keychain:
        """A helper that keeps what it is given, beginning with ``server=(user, secret)``."""
        keychain = Keychain(self.directory / f"{name}.json", self.directory / f"{name}.log")
        keychain.set(kept)
        program = self.directory / f"docker-credential-{name}"
        code = _KEYCHAIN.format(chain=str(keychain.chain), log=str(keychain.log))
        program.write_text(f"#!{sys.executable} -IS\n{code}")
        program.chmod(0o755)
        return keychain


class Keychain:
    def __init__(self, chain: Path, log: Path) -> None:
        self.chain, self.log = chain, log

    def set(self, kept: dict[str, tuple[str, str]]) -> None:
        self.chain.write_text(json.dumps(kept))

    @property
    def kept(self) -> dict[str, list[str]]:
        kept: dict[str, list[str]] = json.loads(self.chain.read_text())
        return kept

    @property
    def calls(self) -> list[tuple[str, str]]:
        """(verb, standard input) of each call so far; a verb is all that ever is an argument."""
        if not self.log.exists():
            return []
        calls = [json.loads(line) for line in self.log.read_text().splitlines()]
        assert all(len(arguments) == 1 for arguments, _ in calls)
        return [(arguments[0], given) for arguments, given in calls]
