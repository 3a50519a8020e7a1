"""Fifty modules at once, side by side with what one would use instead, as whole processes; ratios are the result.

    python benchmarks/batch.py [--rounds N] [--only JOB …] [--peer PROGRAM|replay] [--work DIRECTORY]

* subdirectories: of one git repository (100 MB pack); at least 8 times as fast, a tenth of the bytes, 8 requests.
* narrow: the same at 20 ms and 100 Mbit/s.
* archives, repositories: zips over http, small git repositories, at 20 ms.
* mix: some of everything, at 20 ms.
* packages: OCI over TLS, at 20 ms.
* warm: each of these again, pinned, with everything in the store, in process, against a bare Python loop that reads,
  hashes and unpacks the same; and without a request.
* linear: 50, 500 and 5 000 packages: does the time grow with them, and does the memory not?

The peer is `terraform get` or `tofu get` where found (TERRAFORM and TOFU say where), else their strategy with git, curl
and unzip. They put a whole package wherever a part of it is wanted; we install the part. What all of them made is
compared file by file first. Ours is `getmodules install` with a manifest and a lock, and an empty store in each round.
DIRECTORY should be on a tmpfs (/dev/shm): what is compared is not the disk. Ends with 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.batch_rivals import Batch, Installer, bare_loop, in_process, peer, whole_command
from benchmarks.batch_site import Site, site
from benchmarks.harness import GETMODULES, MEMORY, environment, fresh, verdict
from getmodules import Client

MODULES = 50
#: Of the mix, so many of each kind.
_MIXED = (13, 13, 12, 12)
LADDER = (50, 500, 5_000)
#: Manifest and lock are read as a whole, about 9 KB for each package; for what is in a package, nothing.
FLAT_MIB = 64.0
LINEAR = 1.3
WARM, WARM_AIM = 2.0, 1.2
_MOST_REQUESTS, _LEAST_OF_BYTES = 8, 0.1


@dataclass(frozen=True)
class Job:
    title: str
    fill: Callable[[Batch], Batch]
    peers: tuple[str, ...]
    at_least: float
    aim: float
    #: One fetch serves all modules: their requests and bytes have goals of their own.
    is_one_package: bool = False


def _mixed(batch: Batch) -> Batch:
    here, directories, archives, repositories = batch.site, *_MIXED[:3]
    batch.add_subdirectories(here.far_git, range(directories))
    batch.add_archives(here.far_web, range(archives))
    batch.add_repositories(here.far_git, range(repositories))
    return batch.add_packages(here.far_registry, range(_MIXED[3]))


JOBS = {
    "subdirectories": Job(
        "subdirectories of one git repository, 100 MB",
        lambda batch: batch.add_subdirectories(f"127.0.0.1:{batch.site.git.port}", range(MODULES)),
        ("terraform", "tofu"),
        8,
        12,
        is_one_package=True,
    ),
    "narrow": Job(
        "subdirectories of one git repository, 20 ms, 100 Mbit/s",
        lambda batch: batch.add_subdirectories(batch.site.narrow_git, range(MODULES)),
        ("terraform", "tofu"),
        8,
        12,
        is_one_package=True,
    ),
    "archives": Job(
        "http archives, 20 ms",
        lambda batch: batch.add_archives(batch.site.far_web, range(MODULES)),
        ("terraform", "tofu"),
        8,
        16,
    ),
    "repositories": Job(
        "small git repositories, 20 ms",
        lambda batch: batch.add_repositories(batch.site.far_git, range(MODULES)),
        ("terraform", "tofu"),
        4,
        5,
    ),
    "mix": Job("a mix of all, 20 ms", _mixed, ("tofu",), 5, 9),
    "packages": Job(
        "OCI packages over TLS, 20 ms",
        lambda batch: batch.add_packages(batch.site.far_registry, range(MODULES)),
        ("tofu",),
        6,
        10,
    ),
}


# ------------------------------------------------------------------------------------------ measuring


@dataclass(frozen=True)
class Measured:
    seconds: float
    #: Of processors, by this process and its children, the servers among them.
    busy: float
    requests: int
    sent: int


def measure(rivals: Sequence[Installer], rounds: int, here: Site) -> list[Measured]:
    """Interleaved, after a round that does not count, in which all have to make the same."""
    _compare(rivals, here)
    times: list[list[tuple[float, float]]] = [[] for _ in rivals]
    traffic = [(0, 0)] * len(rivals)
    for number in range(rounds):
        for turn, rival in enumerate(rivals):
            with fresh(here.work) as place:
                rival.prepare(place)
                here.forget()
                began, busy = time.perf_counter(), _processor_seconds()
                rival.install(place)
                times[turn].append((time.perf_counter() - began, _processor_seconds() - busy))
                traffic[turn] = here.traffic()
        print(f"  round {number + 1} of {rounds}", end="\r", file=sys.stderr)
    return [
        Measured(median(seconds for seconds, _ in taken), median(busy for _, busy in taken), *counted)
        for taken, counted in zip(times, traffic, strict=True)
    ]


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _compare(rivals: Sequence[Installer], here: Site) -> None:
    expected = None
    for rival in rivals:
        with fresh(here.work) as place:
            rival.prepare(place)
            rival.install(place)
            found = rival.trees(place)
        assert all(found.values()), f"{rival.name} left a module empty"
        expected = found if expected is None else expected
        assert found == expected, f"{rival.name} made something else than {rivals[0].name}"


def show(title: str, rivals: Sequence[Installer], measured: Sequence[Measured]) -> None:
    print(f"\n{title}")
    for rival, each in zip(rivals, measured, strict=True):
        print(f"  {rival.name:34} {each.seconds * 1000:9.1f} ms  {each.requests:5} requests  {each.sent:12,} bytes")


# ------------------------------------------------------------------------------------------ the jobs


def cold(job: Job, here: Site, rounds: int, forced: str | None) -> bool:
    batch = job.fill(Batch(here))
    rivals = [peer(batch, (forced,) if forced else job.peers), whole_command(batch)]
    theirs, ours = measured = measure(rivals, rounds, here)
    show(f"{len(batch.sources)} modules: {job.title}", rivals, measured)
    text = f"times as fast as {rivals[0].name}"
    reached = [verdict(text, theirs.seconds / ours.seconds, job.at_least, at_most=False, aim=job.aim)]
    if job.is_one_package:
        reached.append(verdict("of the bytes", ours.sent / theirs.sent, _LEAST_OF_BYTES, at_most=True))
        reached.append(verdict("requests", ours.requests, _MOST_REQUESTS, at_most=True))
    return all(reached)


def warm(job: Job, here: Site, rounds: int) -> bool:
    batch = job.fill(Batch(here))
    with fresh(here.work) as cache, Client(environ=batch.environ, cache_dir=cache) as client:
        rivals = [bare_loop(batch), in_process(whole_command(batch), client)]
        bare, ours = measured = measure(rivals, rounds, here)
    show(f"{len(batch.sources)} modules, warm: {job.title}", rivals, measured)
    reached = verdict("x the bare loop", ours.seconds / bare.seconds, WARM, at_most=True, aim=WARM_AIM)
    print(f"    of the processors' time: {ours.busy / bare.busy:.2f} (to be looked at where others use the machine)")
    return verdict("requests", ours.requests, 0, at_most=True) and reached


def linear(here: Site, rounds: int) -> bool:
    address = f"127.0.0.1:{here.web.port}"
    medians, peaks = [], []
    for packages in LADDER:
        ours = whole_command(Batch(here).add_archives(address, range(packages), little=True))
        runs = [_run_alone(ours, here) for _ in range(rounds)]
        medians.append(median(seconds for seconds, _ in runs))
        peaks.append(max(peak for _, peak in runs))
        print(f"  {packages} packages: {medians[-1] * 1000:9.1f} ms, {peaks[-1]:6.1f} MiB")
    slopes = [(medians[step + 1] - medians[step]) / (LADDER[step + 1] - LADDER[step]) for step in (0, 1)]
    print(f"  milliseconds for one more: {slopes[0] * 1000:.2f}, {slopes[1] * 1000:.2f}")
    reached = verdict("x the time for one more", slopes[1] / slopes[0], LINEAR, at_most=True)
    return verdict("MiB more", peaks[2] - peaks[0], FLAT_MIB, at_most=True) and reached


def _run_alone(ours: Installer, here: Site) -> tuple[float, float]:
    """Seconds, and the most memory of the process, in MiB."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    with fresh(here.work) as place:
        ours.prepare(place)
        environ = {**environment(place), "GETMODULES_CACHE_DIR": str(place / "cache")}
        began = time.perf_counter()
        process = subprocess.Popen([GETMODULES, "install", "-q"], cwd=place, env=environ)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, "getmodules install failed"
        return time.perf_counter() - began, used.ru_maxrss / unit


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=[*JOBS, "warm", "linear"], default=[*JOBS, "warm", "linear"])
    parser.add_argument("--peer", help="terraform, tofu or replay, where the job lets us choose")
    parser.add_argument("--work", type=Path, default=MEMORY)
    options = parser.parse_args()
    reached = []
    with tempfile.TemporaryDirectory(dir=options.work, prefix="getmodules-bench-") as work, site(Path(work)) as here:
        for name in options.only:
            if name == "warm":
                reached += [warm(job, here, 3 * options.rounds) for job in JOBS.values() if job is not JOBS["narrow"]]
            elif name == "linear":
                reached.append(linear(here, max(1, options.rounds // 2)))
            else:
                reached.append(cold(JOBS[name], here, options.rounds, options.peer))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
