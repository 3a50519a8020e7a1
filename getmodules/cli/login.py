"""``getmodules login``: checks a login at its registry, and stores it for docker, podman and oras as well."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from getmodules.cli.options import Parser, add_network, add_output, add_plugins, contexts_of
from getmodules.cli.render import Console, harmless
from getmodules.errors import ConfigError
from getmodules.util.redact import Secret

if TYPE_CHECKING:
    from getmodules.getters.oci.login import LoggedIn

_EPILOG = """\
What is missing is asked for, where there is a terminal to ask on. A login that
the registry refuses (exit code 4) is not kept. It is kept in the helper that
the credential file names for the host, otherwise in the file itself.

with --json: {"registry", "username", "stored_in", "checked", "found_in",
"effective"}; checked is false where the registry asked for nothing, effective
is false where found_in is another place, which comes first

examples:
  getmodules login ghcr.io
  getmodules login ghcr.io -u ada --password-stdin < token.txt
"""

_INSTEAD = "it is asked for on a terminal; or: getmodules login HOST -u USER --password-stdin < FILE"


class _Refused(argparse.Action):
    """Refuses a password on the command line, without repeating it in the message."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> NoReturn:
        raise ConfigError("a password on the command line is seen by everybody on this machine", hint=_INSTEAD)


def parser() -> Parser:
    made = Parser(
        usage="getmodules login HOST [OPTION...]",
        description="Check a login at its registry and keep it; docker, podman and oras share it.",
        epilog=_EPILOG,
    )
    made.add_argument("host", metavar="HOST", help="the registry, with its port if it has one: ghcr.io")
    made.add_argument("-u", "--user", metavar="USER", help="the user name")
    made.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    made.add_argument("-p", "--password", nargs="?", action=_Refused, help=argparse.SUPPRESS)
    add_network(made)
    add_plugins(made)
    add_output(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.getters.oci.login import log_in, parse_registry

    registry, contexts = parse_registry(options.host), contexts_of(options, console)
    username, password = _credential(registry, options, console)
    done = log_in(registry, username, password, console.environ, contexts)
    for note in _notes(done) if not console.quiet else ():
        console.labelled("note", note)
    if console.json:
        console.json_line(_as_json(done))
    elif not console.quiet:
        console.data(harmless(f"logged in to {done.registry} as {done.username}; stored in {done.stored_in}"))
    return 0


def _credential(registry: str, options: argparse.Namespace, console: Console) -> tuple[str, Secret]:
    if options.user == "":
        raise ConfigError("--user is empty", hint="is a variable not set?")
    if options.password_stdin:
        if options.user is None:
            raise ConfigError("--password-stdin needs a user name", hint="add -u USER")
        if console.can_ask:
            raise ConfigError(
                "standard input is a terminal, which would show the password",
                hint="without --password-stdin it is asked for, and not shown",
            )
        return options.user, Secret(console.secret_of_stdin())
    if not console.can_ask:
        raise ConfigError(
            "there is no terminal to ask for the password on",
            hint=f"getmodules login {registry} -u {options.user or 'USER'} --password-stdin < FILE",
        )
    username = options.user or console.ask("User name: ")
    return username, Secret(console.ask_secretly("Password: "))


def _notes(done: LoggedIn) -> list[str]:
    notes = []
    if not done.checked:
        notes.append(f"{done.registry} lets anybody in at its entrance, so the login may not have been checked")
    if done.found_in is None:
        notes.append("the login was stored, and is not found again; getmodules auth check HOST/REPOSITORY says more")
    elif not done.effective:
        notes.append(f"{done.found_in} comes first: that is what will be used, not this login")
    return notes


def _as_json(done: LoggedIn) -> dict[str, object]:
    return {
        "registry": done.registry,
        "username": done.username,
        "stored_in": done.stored_in,
        "checked": done.checked,
        "found_in": done.found_in,
        "effective": done.effective,
    }
