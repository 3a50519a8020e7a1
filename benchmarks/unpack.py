"""Unpacking, side by side: bsdtar, unzip, Python's zipfile, and getmodules with zlib and with isal.

Run it as ``python -m benchmarks.unpack`` in the project's root. The archives and everything that is unpacked
go below ``--work`` (a directory on a real disk), each round into a fresh directory; nothing is deleted before
the end, because ext4 creates files slowly for a while after it deleted many. The rivals take turns. What each
of them wrote is compared file by file before anything is timed. Before each turn everything unwritten goes to the
disk, untimed, so that no rival pays for another one's dirty pages.

Ours is the reader and the writer, in this process, with every check and hash. The result is a ratio to
bsdtar's median; that of the processor's time, user and system, stands beside it, since that one can still be read
where other work goes on on the machine. On a processor without SHA instructions the ratio less the bare hashing
time is printed too.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from getmodules.archive.formats import getmodules_unpackers
from getmodules.archive.writer import Outlet, write_members
from getmodules.deadline import Deadline
from getmodules.limits import Limits
from getmodules.model import Archive, Members
from getmodules.ports import Context, Progress

#: Name, number of files, bytes of each, and the ratios to reach: (zip isal, zip zlib, tar.gz).
SHAPES = {
    "60 files": (60, 8_000, (None, None, None)),
    "3 000 files": (3_000, 8_333, (0.65, 0.9, 0.85)),
    "50 000 files": (50_000, 200, (0.7, 0.7, None)),
    "one large file": (1, 600_000_000, (0.7, 1.15, None)),
}
_SEED = 20240607


@dataclass(frozen=True)
class Rival:
    name: str
    unpack: Callable[[Path, Path], None]
    formats: tuple[str, ...] = ("zip", "tar.gz")


# ------------------------------------------------------------------------------------------- the archives


def contents(count: int, size: int) -> Iterator[tuple[str, bytes]]:
    """Names and contents that compress about as source code does."""
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


def make_archives(work: Path, label: str) -> dict[str, Path]:
    count, size, _ = SHAPES[label]
    stem = label.replace(" ", "-")
    zipped, tarred = work / f"{stem}.zip", work / f"{stem}.tar.gz"
    if not (zipped.exists() and tarred.exists()):
        tree = work / f"{stem}.tree"
        for name, data in contents(count, size):
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                chance = random.Random(name)
                while file.tell() < size:
                    # Different at each turn, so that a large file is not one window repeated.
                    turn = chance.randrange(len(data))
                    file.write((data[turn:] + data[:turn])[: size - file.tell()])
        with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(tree.rglob("*")):
                archive.write(path, path.relative_to(tree))
        with tarfile.open(tarred, "w:gz", compresslevel=6) as tar:
            tar.add(tree / "package", "package")
        shutil.rmtree(tree)
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
        ahead = getattr(unpacker, "ahead", False)
        members = Members(unpacker.unpack(spooled, context), strict=True, ahead=ahead)
        write_members(members, [Outlet("", root)], context, packed_bytes=spooled.size)
    finally:
        os.close(root)


@contextmanager
def _without_isal() -> Iterator[None]:
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "isal"}
    sys.modules["isal"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["isal"]
        sys.modules.update(kept)


def ours_with_zlib(archive: Path, destination: Path) -> None:
    with _without_isal():
        ours(archive, destination)


def bsdtar(archive: Path, destination: Path) -> None:
    subprocess.run(["bsdtar", "-xf", archive, "-C", destination], check=True)


def unzip(archive: Path, destination: Path) -> None:
    subprocess.run(["unzip", "-qq", archive, "-d", destination], check=True)


def python_zipfile(archive: Path, destination: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(destination)


def rivals() -> list[Rival]:
    found = [Rival("bsdtar", bsdtar)]
    if shutil.which("unzip"):
        found.append(Rival("unzip", unzip, ("zip",)))
    found.append(Rival("zipfile", python_zipfile, ("zip",)))
    found.append(Rival("ours, zlib", ours_with_zlib))
    try:
        import isal  # noqa: F401
    except ImportError:
        print("isal is not installed: pip install getmodules[fast]")
    else:
        found.append(Rival("ours, isal", ours))
    return found


# ------------------------------------------------------------------------------------------- measuring


def tree_of(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).digest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def hashing_seconds(root: Path) -> float:
    """What the hashes of the tree cost alone, the files being in memory."""
    files = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    start = time.perf_counter()
    for data in files:
        hashlib.sha256(data).digest()
    return time.perf_counter() - start


def has_sha_instructions() -> bool | None:
    try:
        return "sha_ni" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return None


def fresh(work: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="out-", dir=work))


def processor_seconds() -> float:
    """Of this process and of all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(work: Path, archive: Path, kind: str, rounds: int) -> tuple[dict[str, tuple[float, float]], float]:
    """The median seconds of each rival, and the median seconds of processors."""
    takers = [rival for rival in rivals() if kind in rival.formats]
    trees = {}
    for rival in takers:
        destination = fresh(work)
        rival.unpack(archive, destination)
        trees[rival.name] = tree_of(destination)
    for name, tree in trees.items():
        if tree != trees["bsdtar"]:
            raise SystemExit(f"{name} wrote another tree than bsdtar")
    hashing = hashing_seconds(destination)
    times: dict[str, list[tuple[float, float]]] = {rival.name: [] for rival in takers}
    for turn in range(rounds):
        for rival in takers[turn % len(takers) :] + takers[: turn % len(takers)]:
            destination = fresh(work)
            os.sync()
            busy, start = processor_seconds(), time.perf_counter()
            rival.unpack(archive, destination)
            times[rival.name].append((time.perf_counter() - start, processor_seconds() - busy))
    medians = {}
    for name, taken in times.items():
        wall, busy_for = zip(*taken, strict=True)
        medians[name] = statistics.median(wall), statistics.median(busy_for)
    return medians, hashing


def goal_of(label: str, kind: str, name: str) -> float | None:
    zip_isal, zip_zlib, tar_gz = SHAPES[label][2]
    if not name.startswith("ours"):
        return None
    if kind == "tar.gz":
        return tar_gz
    return zip_isal if name.endswith("isal") else zip_zlib


def report(
    label: str, kind: str, medians: dict[str, tuple[float, float]], hashing: float, has_sha: bool | None
) -> None:
    print(f"\n{label}, {kind} (ratio to bsdtar)")
    base, base_busy = medians["bsdtar"]
    for name, (seconds, busy) in medians.items():
        ratio = seconds / base
        goal = goal_of(label, kind, name)
        line = f"  {name:<12} {ratio:5.2f}   processor {busy / base_busy:5.2f}"
        if name.startswith("ours") and not has_sha:
            ratio = (seconds - hashing) / base
            line += f"   less hashing {ratio:5.2f}"
        if goal is not None:
            line += f"   goal {goal:4.2f} {'reached' if ratio <= goal else 'MISSED'}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="a directory on a disk, for archives and trees")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rounds-large", type=int, default=5, help="rounds for the large file")
    parser.add_argument("--only", choices=list(SHAPES), action="append", help="only this shape (repeatable)")
    options = parser.parse_args()
    has_sha = has_sha_instructions()
    print({True: "SHA-NI: yes", False: "SHA-NI: no", None: "SHA-NI: unknown"}[has_sha])
    with tempfile.TemporaryDirectory(prefix="getmodules-unpack-", dir=options.work) as temporary:
        work = Path(temporary)
        for label in options.only or SHAPES:
            archives = make_archives(work, label)
            rounds = options.rounds_large if label == "one large file" else options.rounds
            for kind, archive in archives.items():
                medians, hashing = measure(work, archive, kind, rounds)
                report(label, kind, medians, hashing, has_sha)


if __name__ == "__main__":
    main()
