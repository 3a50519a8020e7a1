"""How long a small ``getmodules get`` takes with values of our own, against the same with ``dataclasses`` (ADR 24).

    python benchmarks/values.py [--runs N]

Whole processes, which get a local zip of one file. The other numbers are of making one class of six fields, where
named tuples can be compared as well. There is no goal.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import timeit
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.harness import MEMORY, Rival, Row, compared, of_processors, show, take_turns, workplace
from benchmarks.processes import run
from getmodules.util.values import valueclass

OURS, THEIRS = "values of our own", "dataclasses"
_MAIN = "from getmodules.cli.main import entry; sys.exit(entry())"
#: ``getmodules.util.values`` with the same names, by the standard library alone.
_STAND_IN = """
import dataclasses, types
def valueclass(cls=None, /, *, kw_only=True, frozen=True, order=False, eq=True):
    make = dataclasses.dataclass(slots=True, kw_only=kw_only, frozen=frozen, order=order, eq=eq)
    return make if cls is None else make(cls)
def names_of(values):
    return tuple(each.name for each in dataclasses.fields(values))
stand_in = types.ModuleType("getmodules.util.values")
vars(stand_in).update(
    FrozenValueError=dataclasses.FrozenInstanceError, field=dataclasses.field, names_of=names_of,
    replace=dataclasses.replace, valueclass=valueclass,
)
sys.modules[stand_in.__name__] = stand_in
"""
PROGRAMS = {OURS: f"import sys\n{_MAIN}", THEIRS: f"import sys\n{_STAND_IN}{_MAIN}"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="how often each is run (default: 40)")
    runs = parser.parse_args().runs
    with workplace(MEMORY) as work:
        package = work / "package.zip"
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("main.tf", "# main\n")
        rivals = [Rival(name, partial(_get, program, package), _made) for name, program in PROGRAMS.items()]
        measured = take_turns(rivals, runs, work)
    show("get of a small zip, whole processes", compared(measured, OURS, note=of_processors))
    show("making a class of six fields", [Row(name, _seconds(make) * 1e6, "µs") for name, make in CLASSES.items()])
    return 0


def _get(program: str, package: Path, place: Path) -> None:
    run(sys.executable, "-c", program, "get", package, "made", place=place)


def _made(place: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in (place / "made").iterdir()}


def _seconds(make: Callable[[], object], number: int = 200) -> float:
    return min(timeit.repeat(make, number=number, repeat=7)) / number


def _body() -> dict[str, Any]:
    names = ("name", "digest", "size", "address", "proof", "note")
    return {"__annotations__": dict.fromkeys(names, "str"), "__module__": __name__, "note": ""}


def _named_tuple() -> object:
    return NamedTuple("Six", [(name, str) for name in _body()["__annotations__"]])


CLASSES: dict[str, Callable[[], object]] = {
    "our own": lambda: valueclass(type("Six", (), _body())),
    THEIRS: lambda: dataclasses.dataclass(frozen=True, slots=True, kw_only=True)(type("Six", (), _body())),
    "named tuples": _named_tuple,
}

if __name__ == "__main__":
    sys.exit(main())
