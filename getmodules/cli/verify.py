"""``getmodules verify``: compares installed modules with the lock."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from getmodules.cli.options import Completes, Parser, client_of
from getmodules.cli.project import add_project, manifest_of, prefix_of, report_failures
from getmodules.cli.render import Console, harmless
from getmodules.errors import VerificationError

if TYPE_CHECKING:
    from getmodules.project.reports import Differences, VerifiedModule

_EPILOG = """\
Nobody is asked and nothing is changed; of the manifest only [policy] is read.
Which files differ is told where the package is in the cache or on this machine.
A module that is missing, was modified, or is refused by a policy: exit 3.

with --json: {"modules": [{"name", "dest", "state", "h1", "found", "t1",
"found_t1", "modified", "missing", "extra", "differences", "error"}]}, where
state is ok, modified or missing; modified, missing and extra are lists of
files, and differences says of each modified one what: content, executable,
kind (a link, or a file) or target (of a link); all are null where they are not
known. error is {"code", "message", "hint", "address"} where what is there is no
tree that can be compared, such as a link, or a policy refuses its address,
else null.

examples:
  getmodules verify
  getmodules verify vpc --json
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules verify [NAME...] [OPTION...]",
        description="Compare the installed modules with getmodules.lock, file by file.",
        epilog=_EPILOG,
    )
    made.add_argument("names", metavar="NAME", nargs="*", help="only these modules")
    made.completions["names"] = Completes.MODULES
    add_project(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli.progress import notices
    from getmodules.pipeline.batch import Failure

    client = client_of(options, console)
    manifest = manifest_of(options, console, lock_suffices=True)
    report = client.verify(manifest, names=options.names, progress=notices(console))
    prefix = prefix_of(manifest)
    if console.json:
        console.json_line({"modules": [_as_json(module) for module in report.modules]})
    else:
        shown = [module for module in report.modules if not console.quiet or module.state != "ok"]
        if shown:
            console.data("\n".join(line for module in shown for line in _as_lines(module, prefix)))
        elif not console.quiet:
            console.data("nothing to verify: the lock has no modules")
    report_failures(
        (Failure(module=module.name, error=module.error) for module in report.modules if module.error is not None),
        console,
    )
    can_be_installed = any(module.state != "ok" and module.error is None for module in report.modules)
    if can_be_installed and not (console.quiet or console.json):
        console.message("getmodules install brings what is missing; with --force it also replaces what was modified")
    return 0 if report.ok else VerificationError.exit_code


def _as_json(module: VerifiedModule) -> dict[str, object]:
    found = module.differences
    return {
        "name": module.name,
        "dest": module.dest,
        "state": module.state,
        "h1": module.h1,
        "found": module.found,
        "t1": module.t1,
        "found_t1": module.found_t1,
        "modified": None if found is None else list(found.modified),
        "missing": None if found is None else list(found.missing),
        "extra": None if found is None else list(found.extra),
        "differences": None if found is None else {name: list(each) for name, each in found.changed.items()},
        "error": None if module.error is None else module.error.as_json(),
    }


def _as_lines(module: VerifiedModule, prefix: str) -> list[str]:
    lines = _files(module.differences)
    if module.state == "modified" and not lines:
        # What is locked is not in the cache, to compare file by file; perhaps the lock was edited.
        lines = _hashes(module)
    return [f"{module.state:8}  {prefix}{module.dest}", *lines]


def _hashes(module: VerifiedModule) -> list[str]:
    """Return the locked and the found hash, of the scheme that differs."""
    for locked, found in ((module.h1, module.found), (module.t1, module.found_t1)):
        if locked is not None and found is not None and found != locked:
            return [f"  locked    {locked}", f"  found     {found}"]
    return []


def _files(found: Differences | None) -> list[str]:
    if found is None:
        return []
    modified = [f"  modified  {harmless(name)} ({found.labels(name)})" for name in found.modified]
    others = (("missing", found.missing), ("extra", found.extra))
    return modified + [f"  {what:8}  {harmless(name)}" for what, names in others for name in names]
