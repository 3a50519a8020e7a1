"""Unpacking, side by side: bsdtar, unzip, Python's zipfile, and getmodules with zlib and with isal.

    python benchmarks/unpack.py [--rounds N] [--rounds-large N] [--quick] [--only SHAPE …] [--work DIRECTORY]

The archives and everything that is unpacked go below DIRECTORY (on a real disk), each round into a fresh directory;
nothing is deleted before the end, because ext4 creates files slowly for a while after it deleted many. What each of
the rivals wrote is compared file by file before anything is timed. Before each turn everything unwritten goes to the
disk, untimed, so that no rival pays for another one's dirty pages.

Ours is the reader and the writer, in this process, with every check and hash. The result is a ratio to
bsdtar's median; that of the processors' time, user and system, stands beside it, since that one can still be read
where other work goes on on the machine. On a processor without SHA instructions the ratio less the bare hashing
time is printed too, and judged. Ends with 1 where a goal is missed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import random
import shutil
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.files import has_sha_instructions, sha_instructions, tree
from benchmarks.harness import (
    Goal,
    Measured,
    Rival,
    Row,
    arguments,
    at_most,
    compared,
    of_processors,
    perform,
    show,
    take_turns,
    workplace,
)
from benchmarks.processes import run
from getmodules.api.limits import Deadline, Limits
from getmodules.api.model import Archive, Members
from getmodules.api.ports import Context, Progress
from getmodules.archive.formats import getmodules_unpackers
from getmodules.archive.writer import Output, write_members

ISAL, ZLIB = "ours, isal", "ours, zlib"
_SEED = 20240607

#: Writes an archive's files into a directory.
Unpack = Callable[[Path, Path], object]


@dataclass(frozen=True)
class Shape:
    files: int
    #: Of each file.
    bytes: int
    #: By the kind of archive and who unpacks it: at most so many times what bsdtar takes.
    goals: Mapping[str, Mapping[str, float]]


SHAPES = {
    "60 files": Shape(60, 8_000, {}),
    "3 000 files": Shape(3_000, 8_333, {"zip": {ISAL: 0.68, ZLIB: 0.85}, "tar.gz": {ISAL: 0.75, ZLIB: 0.75}}),
    "50 000 files": Shape(50_000, 200, {"zip": {ISAL: 0.75, ZLIB: 0.75}}),
    "one large file": Shape(1, 600_000_000, {"zip": {ISAL: 0.6, ZLIB: 1.1}}),
}
LARGE = "one large file"


# ------------------------------------------------------------------------------------------- the archives


def contents(count: int, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents that compress about as well as source code."""
    chance = random.Random(_SEED)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz_", k=chance.randint(2, 11))) for _ in range(5_000)]
    for index in range(count):
        pieces: list[str] = []
        length = 0
        target = min(size, 1 << 20)
        while length < target:
            piece = f'{chance.choice(words)} = "{chance.choice(words)}-{chance.getrandbits(24):x}"\n'
            pieces.append(piece)
            length += len(piece)
        data = "".join(pieces).encode()[:target]
        yield f"package/d{index // 50:04}/file-{index:05}.tf", data


def make_tree(root: Path, shape: Shape) -> None:
    for name, data in contents(shape.files, shape.bytes):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            chance = random.Random(name)
            while file.tell() < shape.bytes:
                # Different at each turn, so that a large file is not one window repeated.
                turn = chance.randrange(len(data))
                file.write((data[turn:] + data[:turn])[: shape.bytes - file.tell()])


def make_archives(root: Path) -> dict[str, Path]:
    """Make archives of the files below ``root``, beside it."""
    zipped, tarred = root.with_suffix(".zip"), root.with_suffix(".tar.gz")
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            archive.write(path, path.relative_to(root))
    with tarfile.open(tarred, "w:gz", compresslevel=6) as tar:
        tar.add(root / "package", "package")
    return {"zip": zipped, "tar.gz": tarred}


# ------------------------------------------------------------------------------------------- the rivals


def ours(archive: Path, destination: Path) -> None:
    limits = Limits()
    context = Context(
        package="benchmark",
        limits=limits,
        deadline=Deadline.after(limits.seconds),
        progress=Progress(),
        cancelled=threading.Event(),
        credentials=lambda origin, path: None,
        workshop=lambda key: nullcontext(destination),
    )
    spooled = Archive(path=archive, size=archive.stat().st_size, digests={})
    suffix = ".zip" if archive.suffix == ".zip" else ".tar.gz"
    unpacker = next(one for one in getmodules_unpackers() if suffix in one.suffixes)
    root = os.open(destination, os.O_RDONLY)
    try:
        members = Members(unpacker.unpack(spooled, context), strict=True)
        write_members(members, [Output("", root)], context, packed_bytes=spooled.size)
    finally:
        os.close(root)


def ours_with_zlib(archive: Path, destination: Path) -> None:
    with patch.dict(sys.modules, {"isal": None}):
        ours(archive, destination)


def bsdtar(archive: Path, destination: Path) -> None:
    run("bsdtar", "-xf", archive, "-C", destination, place=destination)


def unzip(archive: Path, destination: Path) -> None:
    run("unzip", "-qq", archive, "-d", destination, place=destination)


def python_zipfile(archive: Path, destination: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(destination)


def rivals(kind: str, archive: Path) -> list[Rival]:
    unpackers: dict[str, Unpack] = {"bsdtar": bsdtar}
    if kind == "zip":
        unpackers |= {"unzip": unzip} if shutil.which("unzip") else {}
        unpackers["zipfile"] = python_zipfile
    # Only where there is something to hide: what is imported while it is hidden is imported again in each round.
    unpackers |= {ZLIB: ours_with_zlib, ISAL: ours} if has_isal() else {ZLIB: ours}
    return [Rival(name, partial(unpack, archive), tree, lambda place: os.sync()) for name, unpack in unpackers.items()]


def has_isal() -> bool:
    return importlib.util.find_spec("isal") is not None


# ------------------------------------------------------------------------------------------- the jobs


def unpack(label: str, work: Path, rounds: int) -> bool:
    shape = SHAPES[label]
    root = work / label.replace(" ", "-")
    make_tree(root, shape)
    reached = []
    for kind, archive in make_archives(root).items():
        measured = take_turns(rivals(kind, archive), rounds, work, keep=True)
        goals = {name: at_most(bound) for name, bound in shape.goals.get(kind, {}).items()}
        if has_sha_instructions():
            rows = compared(measured, "bsdtar", goals=goals, note=of_processors)
        else:
            rows = compared(measured, "bsdtar", note=of_processors)
            rows += less_hashing(measured, hashing_seconds(root), goals)
        if ISAL not in measured:
            rows.append(Row(ISAL, None, note="it is not here: pip install getmodules[fast]"))
        reached.append(show(f"{label}, {kind} ({sha_instructions()})", rows))
    return all(reached)


def less_hashing(measured: Mapping[str, Measured], hashing: float, goals: Mapping[str, Goal]) -> list[Row]:
    base = measured["bsdtar"].seconds
    return [
        Row(f"{name}, less hashing", (measured[name].seconds - hashing) / base, "x", goal=goals.get(name))
        for name in (ZLIB, ISAL)
        if name in measured
    ]


def hashing_seconds(root: Path) -> float:
    """Return the time of hashing the tree alone, with its files in memory."""
    files = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    start = time.perf_counter()
    for data in files:
        hashlib.sha256(data).digest()
    return time.perf_counter() - start


def main() -> int:
    parser = arguments(__doc__, SHAPES, work=None)
    parser.add_argument("--rounds-large", type=int, default=5, help="rounds for the large file (default: 5)")
    options = parser.parse_args()
    rounds = dict.fromkeys(SHAPES, options.rounds) | {LARGE: options.rounds_large}
    with workplace(options.work) as work:
        return perform({label: partial(unpack, label, work, rounds[label]) for label in SHAPES}, options.only)


if __name__ == "__main__":
    sys.exit(main())
