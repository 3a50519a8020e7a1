"""Git packages, side by side with what one would use instead, whole processes; ratios are the result.

    python benchmarks/git_get.py [--rounds N] [--only small|large|commit|subdirectory] [--work DIRECTORY]

* small: a small repository by tag, against `git clone --depth 1` (goal: at most 8 times; GitPython's import is 4).
* large: 3 000 commits, 5 000 files, 100 MB, of which 8 MB at the tip, by tag, against the same (at most 1.5 times).
* commit: of the large one a full commit, against a full clone, which is what go-getter does (at least 4 times as fast,
  at most a tenth of the bytes); and go-getter itself where it is found.
* subdirectory: the same for one directory of fifty (at least 8 times as fast).

All over smart HTTP on loopback, by `git http-backend`. Nothing is kept from run to run. DIRECTORY should be on a tmpfs
(/dev/shm): what is compared is not the disk.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.harness import GETMODULES, MEMORY, Rival, tool
from tests.gitservers import GitServer, git_http

COMMITS, FILES, DIRECTORIES = 3_000, 5_000, 50
FILE_BYTES = 1_600
CHANGED_FILES = 19  # by each commit: 92 MB of history
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}

# ------------------------------------------------------------------------------------------ the repositories


def environment(place: Path) -> dict[str, str]:
    """A user without settings, and without anything kept from an earlier run."""
    home = place / "home"
    home.mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}


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
    """What `git fast-import` reads. The content is noise, so that nothing is gained by deltas."""
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


# ------------------------------------------------------------------------------------------ measuring


def run(command: list[str | Path], place: Path) -> None:
    done = subprocess.run(command, env=environment(place), cwd=place, check=False, **QUIET)
    if done.returncode != 0:
        raise SystemExit(f"{command} failed: {done.stderr.decode()}")


def measure(rivals: dict[str, Rival], rounds: int, work: Path, server: GitServer) -> dict[str, tuple[float, int]]:
    """Medians of interleaved rounds, after one that does not count, and the bytes that the server sent in each."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    sent: dict[str, int] = {}
    for number in range(rounds + 1):
        for name, rival in rivals.items():
            place = Path(tempfile.mkdtemp(dir=work))
            server.forget()
            began = time.perf_counter()
            rival(place)
            if number:
                times[name].append(time.perf_counter() - began)
            sent[name] = server.bytes_sent
            shutil.rmtree(place)
        print(f"  round {number} of {rounds}", end="\r", file=sys.stderr)
    return {name: (statistics.median(found), sent[name]) for name, found in times.items()}


def report(title: str, medians: dict[str, tuple[float, int]], against: str, ours: str, goal: str) -> None:
    print(f"\n{title}")
    base, base_sent = medians[against]
    for name, (median, sent) in medians.items():
        print(
            f"  {name:32} {median * 1000:9.1f} ms  {median / base:6.2f} x   {sent:12,} bytes  {sent / base_sent:7.3f} x"
        )
    median, sent = medians[ours]
    print(f"  → {median / base:.2f} times the time of {against}, {base / median:.1f} times as fast (goal: {goal})")


# ------------------------------------------------------------------------------------------ the jobs


def ours(source: str) -> Rival:
    return lambda place: run([GETMODULES, "get", source, place / "dest", "-q"], place)


def clone(url: str, *options: str) -> Rival:
    return lambda place: run(["git", "clone", "-q", *options, url, place / "dest"], place)


def by_tag(title: str, url: str, goal: str, rounds: int, work: Path, server: GitServer) -> None:
    peer = "git clone --depth 1"
    rivals = {peer: clone(url, "--depth", "1", "--branch", "v1.0.0"), "getmodules": ours(f"git::{url}?ref=v1.0.0")}
    report(title, measure(rivals, rounds, work, server), peer, "getmodules", goal)


def by_commit(title: str, url: str, subdir: str, goal: str, rounds: int, work: Path, server: GitServer) -> None:
    commit = git(work, "-C", "large.git", "rev-parse", "main~100")
    source = f"git::{url}{subdir}?ref={commit}"

    def full_clone(place: Path) -> None:
        run(["git", "clone", "-q", url, place / "dest"], place)
        run(["git", "-C", place / "dest", "checkout", "-q", commit], place)

    peer = "git clone, git checkout"
    rivals: dict[str, Rival] = {peer: full_clone, "getmodules": ours(source)}
    program = tool("go-getter")
    if program is not None:
        rivals["go-getter"] = lambda place: run([program, source, place / "dest"], place)
    report(title, measure(rivals, rounds, work, server), peer, "getmodules", goal)


def main() -> None:
    jobs = ["small", "large", "commit", "subdirectory"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=jobs)
    parser.add_argument("--work", type=Path, default=MEMORY)
    options = parser.parse_args()
    chosen = [options.only] if options.only else jobs
    with served(options.work, chosen) as (work, server):
        small, large = f"{server.url}/small.git", f"{server.url}/large.git"
        rounds = options.rounds
        if "small" in chosen:
            by_tag("a small repository by tag", small, "at most 8 times", rounds * 3, work, server)
        if "large" in chosen:
            by_tag("a large repository by tag", large, "at most 1.5 times", rounds, work, server)
        if "commit" in chosen:
            goal = "at least 4 times as fast, a tenth of the bytes"
            by_commit("a large repository by commit", large, "", goal, rounds, work, server)
        if "subdirectory" in chosen:
            goal = "at least 8 times as fast, a tenth of the bytes"
            title = "one directory of a large repository by commit"
            by_commit(title, large, "//modules/m07", goal, rounds, work, server)


@contextmanager
def served(where: Path | None, jobs: list[str]) -> Iterator[tuple[Path, GitServer]]:
    with tempfile.TemporaryDirectory(dir=where, prefix="getmodules-bench-") as directory:
        work = Path(directory)
        if "small" in jobs:
            make_repository(work, "small.git", 10, 20, 2)
        if set(jobs) - {"small"}:
            make_repository(work, "large.git", COMMITS, FILES, CHANGED_FILES)
        with git_http(work) as server:
            yield work, server


if __name__ == "__main__":
    main()
