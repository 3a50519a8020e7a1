"""``getmodules tree``: shows which modules come from which packages."""

from __future__ import annotations

import argparse

from getmodules.cli.options import Parser, add_output
from getmodules.cli.project import add_manifest, manifest_of, prefix_of
from getmodules.cli.render import Console, harmless

_EPILOG = """\
From getmodules.lock alone: each package, and below it the modules that are
installed of it.

with --json: {"packages": [{"address", "id", "getter", "modules": [{"name",
"subdir", "dest", "selected"}]}]}

examples:
  getmodules tree
  getmodules tree --json
"""


def parser() -> Parser:
    made = Parser(
        usage="getmodules tree [OPTION...]",
        description="Show the locked packages, and the modules of each.",
        epilog=_EPILOG,
    )
    add_manifest(made)
    add_output(made, quiet=False)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from pathlib import Path

    from getmodules.project.manifest import ProjectFiles
    from getmodules.project.trees import read_tree

    manifest = manifest_of(options, console, lock_suffices=True)
    packages = read_tree(ProjectFiles.from_path(Path(manifest)))
    if console.json:
        shown = [
            {
                "address": package.address,
                "id": package.id,
                "getter": package.getter,
                "modules": [
                    {"name": each.name, "subdir": each.subdir, "dest": each.dest, "selected": each.selected}
                    for each in modules
                ],
            }
            for package, modules in packages
        ]
        console.json_line({"packages": shown})
        return 0
    lines, prefix = [], prefix_of(manifest)
    for package, modules in packages:
        lines.append(harmless(package.address))
        for number, module in enumerate(modules, 1):
            branch = "`--" if number == len(modules) else "|--"
            subdir = f" //{module.subdir}" if module.subdir else ""
            selected = f" {module.selected}" if module.selected else ""
            lines.append(harmless(f"{branch} {module.name}{selected}{subdir} in {prefix}{module.dest}"))
    if lines:
        console.data("\n".join(lines))
    return 0
