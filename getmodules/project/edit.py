"""The text of a manifest with a module more, or with one less; every other character stays as it is.

A library that writes TOML is not needed: a table is appended at the end, or such a table is removed. The edited text is
parsed again, and unless it says exactly what it should, nothing is changed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from getmodules.errors import ConfigError
from getmodules.project.manifest import parse_manifest
from getmodules.project.names import check_name, check_source
from getmodules.project.toml import nearest_hint, toml_string

_HEADER = re.compile(r"^[ \t]*\[")


def with_module(text: str, entry: Mapping[str, str], name: str, path: Path) -> str:
    """Return ``text`` with ``[modules.NAME]`` at its end. ``entry`` holds ``source`` and the module's other keys."""
    check_name(name)
    check_source(entry["source"])
    before = _read(text, path)
    if name in before.get("modules", {}):
        raise ConfigError(
            f"{path.name} has a module {name} already", hint=f"getmodules remove {name}, or edit the file"
        )
    end = "\r\n" if "\r\n" in text else "\n"
    lines = "".join(f"{key} = {toml_string(value)}{end}" for key, value in entry.items())
    gap = "" if not text else end if text.endswith("\n") else 2 * end
    edited = f"{text}{gap}[modules.{name}]{end}{lines}"
    wanted = {**before, "modules": {**before.get("modules", {}), name: dict(entry)}}
    return _check_edit(edited, wanted, path, f"add the table [modules.{name}] by hand")


def without_module(text: str, name: str, path: Path) -> str:
    """Return ``text`` without the table ``[modules.NAME]``. Comments between tables stay."""
    before = _read(text, path)
    modules = before.get("modules", {})
    if name not in modules:
        raise ConfigError(f"{path.name} has no module of this name: {name}", hint=nearest_hint(name, modules))
    by_hand = f"it is not written as a table [modules.{name}] of its own: take it out by hand"
    lines = _lines(text)
    span = _span(lines, name)
    if span is None:
        raise ConfigError(f"{path.name}: cannot take out {name}", hint=by_hand)
    start, end = span
    # Removes one of the blank lines around it, too.
    if end < len(lines) and not lines[end].strip():
        end += 1
    elif start > 0 and not lines[start - 1].strip():
        start -= 1
    wanted = dict(before)
    wanted["modules"] = {other: module for other, module in modules.items() if other != name}
    return _check_edit("".join(lines[:start] + lines[end:]), wanted, path, by_hand)


def _lines(text: str) -> list[str]:
    """Split into lines with their ends, as TOML does: other separators do not count."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _span(lines: list[str], name: str) -> tuple[int, int] | None:
    """Return the first and last line of a table: blank lines and comments at its end do not belong to it."""
    header = re.compile(rf"""[ \t]*\[[ \t]*modules[ \t]*\.[ \t]*(?:"{name}"|'{name}'|{name})[ \t]*\][ \t]*(?:#.*)?""")
    starts = [number for number, line in enumerate(lines) if header.fullmatch(line.rstrip("\r\n"))]
    if len(starts) != 1:
        return None
    start = starts[0]
    end = start + 1
    for number in range(start + 1, len(lines)):
        line = lines[number].strip()
        if _HEADER.match(line):
            break
        if line and not line.startswith("#"):
            end = number + 1
    return start, end


def _read(text: str, path: Path) -> dict[str, Any]:
    """Parse the text as TOML, after checking that it is a manifest."""
    parse_manifest(text, path)
    return tomllib.loads(text)


def _check_edit(edited: str, wanted: dict[str, Any], path: Path, by_hand: str) -> str:
    """Return ``edited`` if it is a manifest that says exactly what is ``wanted``; raise otherwise."""
    try:
        after = tomllib.loads(edited)
    except ValueError:
        after = None
    if after is not None and not after.get("modules") and not wanted.get("modules"):
        after, wanted = {**after, "modules": {}}, {**wanted, "modules": {}}
    if after != wanted:
        raise ConfigError(f"{path.name} is written in a way that cannot be changed safely", hint=by_hand)
    parse_manifest(edited, path)
    return edited
