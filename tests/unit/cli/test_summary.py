"""Lines about modules, and the summary that ends them."""

from __future__ import annotations

import io
import re

import pytest

from getmodules import Phase, Progress
from getmodules.cli import summary as subject
from getmodules.cli.progress import Traffic
from getmodules.cli.render import Console, cells
from tests.support.commandline import Terminal

COMMIT, OTHER = "0123456789" * 4, "abcdef0123" * 4
ROWS = (
    subject.Row("vpc", "1.3.0", "1.2.0", "changed", "oci://ghcr.io/acme/vpc", ("oci://x?digest=sha256:1", "h1:1")),
    subject.Row("dns", "main", "main", "changed", "0a1b2c3 -> 4d5e6f7"),
    subject.Row("files", None, None, "new", "./files"),
)


def _shown(*rows: subject.Row, verbose: bool = False, columns: int | None = None) -> list[str]:
    out = io.StringIO() if columns is None else Terminal()
    environ = {} if columns is None else {"COLUMNS": str(columns)}
    console = Console(stdout=out, stderr=None, environ=environ)
    console.verbose = verbose
    subject.show_rows(rows, console)
    return out.getvalue().splitlines()


def test_names_and_versions_come_first_and_lines_by_name() -> None:
    assert _shown(*ROWS) == [
        "dns main            changed  0a1b2c3 -> 4d5e6f7",
        "files               new      ./files",
        "vpc 1.2.0 -> 1.3.0  changed  oci://ghcr.io/acme/vpc",
    ]
    assert _shown() == []


def test_digests_are_shown_with_v() -> None:
    assert _shown(*ROWS, verbose=True)[-2:] == ["  oci://x?digest=sha256:1", "  h1:1"]


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize(
    ("row", "first"),
    [
        pytest.param(
            subject.Row("alpha", "1.2.0", None, "installed", "modules/" + "x" * 90), "alpha 1.2.0  installed", id="dest"
        ),
        pytest.param(
            subject.Row("n" * 40, "1.2.0", "1.1.0", "", "y" * 50), f"{'n' * 40} 1.1.0 -> 1.2.0", id="a long name"
        ),
        pytest.param(
            subject.Row("alpha", COMMIT, OTHER, "changed", "z" * 50), "alpha abcdef0 -> 0123456  changed", id="commits"
        ),
    ],
)
def test_a_line_fits_the_terminal_without_cutting_name_and_versions(row: subject.Row, first: str, columns: int) -> None:
    for shown in (_shown(row, columns=columns), _shown(row, *ROWS, columns=columns)):
        (line,) = (line for line in shown if line.startswith(row.name))
        assert re.sub(r" {2,}", "  ", line).startswith(first)
        assert cells(line) <= columns
    (full,) = _shown(row)
    assert row.last in full
    assert str(row.version) in full


def test_what_is_shown_is_harmless() -> None:
    assert _shown(subject.Row("a", "1\x1b[2J", None, "new", "b\x1b[2J")) == [r"a 1\x1b[2J  new  b\x1b[2J"]


# ----------------------------------------------------------------------------------------------- the summary


def _traffic(**hosts: int) -> Traffic:
    traffic = Traffic(Progress())
    for host, amount in hosts.items():
        traffic.phase(f"https://{host}/x.zip", Phase.DOWNLOADING)
        traffic.advance(f"https://{host}/x.zip", amount)
    return traffic


@pytest.mark.parametrize(
    ("counts", "hosts", "said"),
    [
        pytest.param(
            [(14, "installed"), (3, "unchanged")],
            {"a": 40_000_000, "b": 600_000, "c": 1},
            r"14 installed, 3 unchanged in 0\.\d s, 41 MB from 3 hosts",
            id="the issue's",
        ),
        pytest.param(
            [(1, "new"), (0, "changed")], {"a": 1_500}, r"1 new in 0\.\d s, 1\.5 kB from 1 host", id="one host"
        ),
        pytest.param([(1234, "unchanged")], {}, r"1,234 unchanged in 0\.\d s", id="nothing came"),
        pytest.param([(0, "installed")], {"a": 7}, "", id="nothing to count"),
    ],
)  # fmt: skip
def test_the_summary(counts: list[tuple[int, str]], hosts: dict[str, int], said: str) -> None:
    out = io.StringIO()
    console = Console(stdout=out, stderr=None, environ={})
    subject.summarise(counts, _traffic(**hosts), console)
    assert re.fullmatch(f"{said}\n" if said else "", out.getvalue())
    console.quiet = True
    subject.summarise(counts, _traffic(**hosts), console)
    assert len(out.getvalue().splitlines()) == bool(said)


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (9_949, "9.9 kB"), (41_200_000, "41 MB"), (999_600, "1.0 MB"),
     (2_500_000_000, "2.5 GB"), (7e15, "7000 TB")],
)  # fmt: skip
def test_bytes_in_powers_of_a_thousand(number: float, said: str) -> None:
    assert subject.decimal_bytes(number) == said
