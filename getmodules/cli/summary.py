"""Lines about modules, their names and versions first, and the summary that ends them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from getmodules.cli.render import Console, cells, harmless, shorten

if TYPE_CHECKING:
    from getmodules.cli.progress import Traffic

_GAP = "  "
#: Names and versions are aligned up to this width; a longer one pushes the rest of its line alone.
_WIDEST_HEAD = 40
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_DIGITS = 7
_UNITS = ("B", "kB", "MB", "GB", "TB")


class Row(NamedTuple):
    """The line of one module. ``details`` are lines below it, for ``-v``."""

    name: str
    version: str | None
    previous_version: str | None
    word: str
    last: str = ""
    details: Sequence[str] = ()


def show_rows(rows: Iterable[Row], console: Console) -> None:
    """Write the rows by name, each on a line that fits the terminal, if there is one."""
    ordered = sorted(rows, key=lambda row: row.name)
    if not ordered:
        return
    width = console.data_width
    heads = [head_of(row) for row in ordered]
    head_width = max((cells(head) for head in heads if cells(head) <= _WIDEST_HEAD), default=0)
    word_width = max(cells(row.word) for row in ordered)
    lines = []
    for row, head in zip(ordered, heads, strict=True):
        lines.append(_fit(row, head, head_width, word_width, width))
        if console.verbose:
            lines += [f"{_GAP}{harmless(detail)}" for detail in row.details]
    console.data("\n".join(lines))


def head_of(row: Row, *, short: bool = False) -> str:
    """Return the name and the versions: ``vpc 1.2.0 -> 1.3.0``; ``short`` cuts commits that were written in full."""
    versions = [row.version] if row.previous_version in (None, row.version) else [row.previous_version, row.version]
    said = [_digits(version) if short else version for version in versions if version is not None]
    return harmless(" ".join((row.name, " -> ".join(said))).rstrip())


def _digits(version: str) -> str:
    return version[:_DIGITS] if _COMMIT.fullmatch(version) else version


def _fit(row: Row, head: str, head_width: int, word_width: int, width: int | None) -> str:
    rest = f"{_GAP}{row.word:{word_width}}" if word_width else ""
    last = harmless(row.last)
    if width is not None and cells(f"{head}{rest}") > width:
        head = head_of(row, short=True)
    line = f"{head}{' ' * (head_width - cells(head))}{rest}"
    if width is not None and last:
        last = shorten(last, width - cells(line) - len(_GAP))
    return f"{line}{_GAP}{last}".rstrip()


def summarise(counts: Iterable[tuple[int, str]], traffic: Traffic, console: Console) -> None:
    """Write the summary: ``14 installed, 3 unchanged in 2.1 s, 41 MB from 3 hosts``; nothing if all counts are 0."""
    counted = ", ".join(f"{number:,} {what}" for number, what in counts if number)
    if not counted or console.quiet:
        return
    came = ""
    if traffic.bytes and (hosts := len(traffic.hosts)):
        came = f", {decimal_bytes(traffic.bytes)} from {hosts} host{'' if hosts == 1 else 's'}"
    console.data(f"{counted} in {time.monotonic() - traffic.began:.1f} s{came}")


def decimal_bytes(number: float) -> str:
    """Return a number of bytes in powers of a thousand, with two or three figures: ``41 MB``, ``1.2 GB``."""
    unit = 0
    while number >= 999.5 and unit < len(_UNITS) - 1:
        number /= 1000
        unit += 1
    digits = 1 if unit and number < 9.95 else 0
    return f"{number:.{digits}f} {_UNITS[unit]}"
