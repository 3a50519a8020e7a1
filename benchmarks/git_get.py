"""Git packages, side by side with what one would use instead, whole processes; ratios are the result.

    python benchmarks/git_get.py [--rounds N] [--quick] [--only small|large|commit|subdirectory …] [--work DIRECTORY]

* small: a small repository by tag, against `git clone --depth 1` (goal: at most 8 times; GitPython's import is 4).
* large: 3 000 commits, 5 000 files, 100 MB, of which 8 MB at the tip, by tag, against the same (at most 1.5 times).
* commit: of the large one a full commit, against a full clone, which is what go-getter does (at least 4 times as fast,
  at most a tenth of the bytes); and go-getter itself where it is found.
* subdirectory: the same for one directory of fifty (at least 8 times as fast).

All over smart HTTP on loopback, by `git http-backend`. Nothing is kept from round to round, and what all of them
produced is compared first. DIRECTORY should be on a tmpfs (/dev/shm): what is compared is not the disk. Ends with 1
where a goal is missed.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.files import tree
from benchmarks.harness import (
    Goal,
    Rival,
    Row,
    arguments,
    at_least,
    at_most,
    compared,
    of_traffic,
    perform,
    show,
    take_turns,
    times_as_fast,
    workplace,
)
from benchmarks.processes import GETMODULES, environment, run, tool
from tests.support.gitservers import GitServer, git_http

COMMITS, FILES, DIRECTORIES = 3_000, 5_000, 50
FILE_BYTES = 1_600
CHANGED_FILES = 19  # by each commit: 92 MB of history

# ------------------------------------------------------------------------------------------ the repositories


def git(work: Path, *arguments: str, given: Iterator[bytes] | None = None) -> str:
    process = subprocess.Popen(
        ["git", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(work), cwd=work
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for piece in given or ():
        process.stdin.write(piece)
    process.stdin.close()
    output = process.stdout.read().decode()
    assert process.wait() == 0, arguments
    return output.strip()


def history(commits: int, files: int, changed: int) -> Iterator[bytes]:
    """Yield the input of `git fast-import`. The content is noise, so that deltas do not help."""
    noise = random.Random(42)
    for number in range(commits):
        names = range(files) if number == 0 else sorted(noise.sample(range(files), changed))
        parts = [b"commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 1\nx\n" % (1_600_000_000 + number)]
        for name in names:
            data = noise.randbytes(FILE_BYTES)
            path = b"modules/m%02d/f%04d.bin" % (name % DIRECTORIES, name)
            parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(data), data))
        yield b"".join(parts)


def make_repository(work: Path, name: str, commits: int, files: int, changed: int) -> None:
    git(work, "init", "-q", "--bare", "-b", "main", name)
    git(work, "-C", name, "fast-import", "--quiet", given=history(commits, files, changed))
    git(work, "-C", name, "update-ref", "refs/tags/v1.0.0", "main")
    git(work, "-C", name, "repack", "-a", "-d", "-q", "--write-bitmap-index")


def small_repository(work: Path) -> str:
    if not (work / "small.git").exists():
        make_repository(work, "small.git", 10, 20, 2)
    return "small.git"


def large_repository(work: Path) -> str:
    if not (work / "large.git").exists():
        make_repository(work, "large.git", COMMITS, FILES, CHANGED_FILES)
    return "large.git"


# ------------------------------------------------------------------------------------------ the jobs


@dataclass(frozen=True)
class Served:
    """A server and its traffic."""

    server: GitServer

    def forget(self) -> None:
        self.server.forget()

    def traffic(self) -> tuple[int, int]:
        return len(self.server.exchanges), self.server.bytes_sent


@contextmanager
def serving(work: Path, repository: str) -> Iterator[tuple[str, Served]]:
    """Serve a repository below ``work``."""
    with git_http(work) as server:
        yield f"{server.url}/{repository}", Served(server)


def ours(source: str, place: Path) -> None:
    # With a cache, as usual; an empty one, so that all of it is fetched.
    environ = {"GETMODULES_CACHE_DIR": str(place / "cache")}
    run(GETMODULES, "get", source, place / "dest", "-q", place=place, environ=environ)


def by_tag(title: str, make: Callable[[Path], str], goal: Goal, work: Path, rounds: int) -> bool:
    with serving(work, make(work)) as (url, served):

        def clone(place: Path) -> None:
            run("git", "clone", "-q", "--depth", "1", "--branch", "v1.0.0", url, place / "dest", place=place)

        peer = "git clone --depth 1"
        rivals = [
            Rival(peer, clone, installed),
            Rival("getmodules", partial(ours, f"git::{url}?ref=v1.0.0"), installed),
        ]
        measured = take_turns(rivals, rounds, work, counter=served)
    return show(title, compared(measured, peer, goals={"getmodules": goal}, note=of_traffic))


def by_commit(title: str, subdir: str, goal: Goal, work: Path, rounds: int) -> bool:
    repository = large_repository(work)
    commit = git(work, "-C", repository, "rev-parse", "main~100")
    with serving(work, repository) as (url, served):
        source = f"git::{url}{subdir and '//'}{subdir}?ref={commit}"

        def clone(place: Path) -> None:
            run("git", "clone", "-q", url, place / "dest", place=place)
            run("git", "-C", place / "dest", "checkout", "-q", commit, place=place)

        peer = "git clone, git checkout"
        rivals = [
            Rival(peer, clone, lambda place: tree(place / "dest" / subdir)),
            Rival("getmodules", partial(ours, source), installed),
        ]
        go_getter = tool("go-getter")
        if go_getter is not None:
            rivals.append(Rival("go-getter", lambda place: run(go_getter, source, "dest", place=place), installed))
        measured = take_turns(rivals, rounds, work, counter=served)
    of_bytes = measured["getmodules"].sent / measured[peer].sent
    rows = compared(measured, peer, note=of_traffic)
    rows.append(times_as_fast(measured, "getmodules", peer, goal))
    rows.append(Row(f"of the bytes of {peer}", of_bytes, goal=at_most(0.1)))
    return show(title, rows)


def installed(place: Path) -> dict[str, bytes]:
    return tree(place / "dest")


def main() -> int:
    jobs = ("small", "large", "commit", "subdirectory")
    options = arguments(__doc__, jobs).parse_args()
    rounds = options.rounds
    with workplace(options.work) as work:
        todo = {
            "small": partial(by_tag, "a small repository by tag", small_repository, at_most(5.5), work, rounds * 3),
            "large": partial(by_tag, "a large repository by tag", large_repository, at_most(1.75), work, rounds),
            "commit": partial(by_commit, "a large repository by commit", "", at_least(4), work, rounds),
            "subdirectory": partial(
                by_commit, "one directory of a large repository by commit", "modules/m07", at_least(8), work, rounds
            ),
        }
        return perform(todo, options.only)


if __name__ == "__main__":
    sys.exit(main())
