"""``getmodules auth check``: shows which credential is used, where it is from, and whether it works."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from getmodules.cli.options import Parser, add_network, add_output, add_plugins, contexts_of
from getmodules.cli.render import Console, harmless
from getmodules.errors import ConfigError

if TYPE_CHECKING:
    from getmodules.getters.oci.login import CredentialCheck

_EPILOG = """\
The repository is asked for its tags, with the credential that get would use. No
password or token is ever shown. It ends with 0 where pulling is allowed, also
where there is no such repository, and with 4 where it is not.

with --json: {"registry", "repository", "credential", "considered", "files",
"asked", "works", "exists", "error"}; credential is null or {"kind", "username",
"found_in"}, considered a list of {"where", "outcome"}, works null where the
registry could not be asked

examples:
  getmodules auth check ghcr.io/acme/vpc
  getmodules auth check docker.io/library/nginx --json
"""

_CHECK = "check"


def parser() -> Parser:
    made = Parser(
        usage="getmodules auth check HOST/REPOSITORY [OPTION...]",
        description="Show which credential is used for a repository and from where, and try it.",
        epilog=_EPILOG,
    )
    made.add_argument("action", metavar="check", help="what to do; this is all there is")
    made.completions["action"] = (_CHECK,)
    made.add_argument("place", metavar="HOST/REPOSITORY", help="the repository; HOST alone asks at the entrance")
    add_network(made)
    add_plugins(made)
    add_output(made, quiet=False)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.getters.oci.login import check, parse_place

    if options.action != _CHECK:
        raise ConfigError(
            f"there is no auth {harmless(options.action)}", hint="write getmodules auth check HOST/REPOSITORY"
        )
    registry, repository = parse_place(options.place)
    checked = check(registry, repository, contexts_of(options, console))
    console.result("\n".join(_as_lines(checked)), _as_json(checked))
    if checked.error is None:
        return 0
    console.error(checked.error)
    return checked.error.exit_code


def _as_lines(checked: CredentialCheck) -> list[str]:
    rows = [("registry", checked.registry)]
    if checked.repository:
        rows.append(("repository", checked.repository))
    rows.append(("credential", _credential(checked)))
    if checked.found_in is not None:
        rows.append(("found in", checked.found_in))
    rows += [("considered", f"{each.where}: {each.outcome}") for each in checked.considered]
    rows += [("looked into", file) for file in checked.files]
    rows.append(("works", _verdict(checked)))
    return [f"{label:11}  {harmless(text)}" for label, text in rows]


def _credential(checked: CredentialCheck) -> str:
    if checked.kind is None:
        return "none"
    return f"{checked.kind}, {checked.username}" if checked.username else checked.kind


def _verdict(checked: CredentialCheck) -> str:
    if checked.works is None:
        return "unknown: the registry could not be asked"
    if not checked.works:
        return "no"
    how = "yes" if checked.asked else "yes, the registry asked for no credential"
    return how if checked.exists is not False else f"{how}; there is no such repository, or it is hidden"


def _as_json(checked: CredentialCheck) -> dict[str, object]:
    credential = {"kind": checked.kind, "username": checked.username, "found_in": checked.found_in}
    return {
        "registry": checked.registry,
        "repository": checked.repository,
        "credential": credential if checked.kind is not None else None,
        "considered": [{"where": each.where, "outcome": each.outcome} for each in checked.considered],
        "files": list(checked.files),
        "asked": checked.asked,
        "works": checked.works,
        "exists": checked.exists,
        "error": checked.error.as_json() if checked.error is not None else None,
    }
