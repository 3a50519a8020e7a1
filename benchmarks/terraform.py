"""``terraform get`` and ``tofu get`` as rivals: they put a whole package wherever a part of it is wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.files import trees
from benchmarks.harness import Rival
from benchmarks.processes import run, tool


def terraform_get(name: str, sources: Mapping[str, str], environ: Mapping[str, str] | None = None) -> Rival | None:
    """``terraform`` or ``tofu``, installing ``sources`` as modules; ``None`` where it is not found."""
    program = tool(name)
    if program is None:
        return None
    calls = "".join(f'module "{module}" {{\n  source = "{source}"\n}}\n' for module, source in sources.items())
    return Rival(
        f"{name} get",
        lambda place: run(program, "get", place=place, environ=environ),
        _installed,
        lambda place: (place / "main.tf").write_text(calls),
    )


def _installed(place: Path) -> dict[str, dict[str, bytes]]:
    """Return the files of each module, where terraform itself says that it has put them."""
    modules = json.loads((place / ".terraform/modules/modules.json").read_text())["Modules"]
    return trees({module["Key"]: place / module["Dir"] for module in modules if module["Key"]})
