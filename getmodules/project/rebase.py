"""Relative sources as they were typed in one directory, written for a file in another one."""

from __future__ import annotations

import os
import re
from pathlib import Path

from getmodules.addresses.core_arguments import CHECKSUM_FILE, parse_checksum
from getmodules.addresses.grammar import parse
from getmodules.addresses.types import SourceAddress
from getmodules.errors import ConfigError, GetModulesError
from getmodules.project.names import check_source
from getmodules.util.redact import printable
from getmodules.util.values import replace

_RELATIVE = re.compile(r"\.{1,2}(?:/.*)?", re.DOTALL)
_BACKSLASHED = re.compile(r"\.{1,2}\\.*", re.DOTALL)


def rebased(source: str, start: Path, directory: Path) -> str:
    """Return ``source``, whose relative paths start at ``start``, for a file in ``directory``, where they start there.

    What is not relative, or not an address, stays as it is.
    """
    here, there = os.path.realpath(start), os.path.realpath(directory)
    if here == there:
        return source
    try:
        typed = parse(source)
    except GetModulesError:
        return source  # whoever uses it reports what is wrong with it
    arguments = typed.arguments
    checksum = parse_checksum(arguments)
    if isinstance(checksum, str):
        moved = rebased(checksum, start, directory)
        if moved != checksum:
            arguments = arguments.with_value("checksum", f"{CHECKSUM_FILE}{moved}")
    body = typed.body
    if _BACKSLASHED.fullmatch(body):
        body = body.replace("\\", "/")
    if _RELATIVE.fullmatch(body):
        body = _moved(body, here, there)
    if (body, arguments) == (typed.body, typed.arguments):
        return source
    return _written(replace(typed, body=body, arguments=arguments), source, typed)


def _moved(path: str, here: str, there: str) -> str:
    """Return ``path``, relative to ``here``, as relative to ``there``; absolute between two drives of Windows."""
    target = os.path.join(here, path)
    try:
        moved = os.path.relpath(target, there)
    except ValueError:
        return os.path.abspath(target).replace(os.sep, "/")
    moved = moved.replace(os.sep, "/")
    return moved if moved.partition("/")[0] in (".", "..") else f"./{moved}"


def _written(address: SourceAddress, source: str, typed: SourceAddress) -> str:
    """Return ``source``, whose parts are ``typed``, with the body and the arguments of ``address``."""
    head = source[: len(typed.force) + 2] if typed.force else ""
    subdir, question, query = source[len(head) + len(typed.body) :].partition("?")
    text = f"{head}{address.body}{subdir}{question}"
    text += query if address.arguments == typed.arguments else address.arguments.query
    if parse(check_source(text)) != address:
        raise ConfigError(
            f"{printable(source, 500)!r} cannot be written as seen from the manifest: {printable(text, 500)!r}",
            hint="a directory on the way has a name that an address cannot have: call add beside the manifest",
        )
    return text
