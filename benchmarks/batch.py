"""Fifty modules at once, side by side with what one would use instead, as whole processes; ratios are the result.

    python benchmarks/batch.py [--rounds N] [--quick] [--only JOB …] [--peer PROGRAM|replay] [--work DIRECTORY]

* subdirectories: of one git repository (100 MB pack); at least 8 times as fast, a tenth of the bytes, 8 requests.
* narrow: the same at 20 ms and 100 Mbit/s.
* archives, repositories: zips over http, small git repositories, at 20 ms.
* mix: some of everything, at 20 ms.
* packages: OCI over TLS, at 20 ms.
* warm: each of these again, pinned, with everything in the cache, in process, against a bare Python loop that reads,
  hashes and unpacks the same; and without a request.
* directories: archives again, warm, with a private directory for each module, against one for the operation.
* linear: 50, 500 and 5 000 packages: does the time grow with them, and does the memory not?

The peer is `terraform get` or `tofu get` where found (TERRAFORM and TOFU say where), else their strategy with git, curl
and unzip. They put a whole package wherever a part of it is wanted; we install the part. What all of them made is
compared file by file first. Ours is `getmodules install` with a manifest and a lock, and an empty cache in each round.
DIRECTORY should be on a tmpfs (/dev/shm): what is compared is not the disk. Ends with 1 where a goal is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.batch_rivals import Batch, bare_loop, in_process, peer, whole_command, with_more_directories
from benchmarks.batch_site import Site, site
from benchmarks.harness import (
    Rival,
    Row,
    arguments,
    at_least,
    at_most,
    compared,
    fresh,
    of_processors,
    of_traffic,
    perform,
    show,
    take_turns,
    times_as_fast,
    workplace,
)
from benchmarks.processes import GETMODULES, peak_memory
from getmodules import Client

MODULES = 50
#: Of the mix, so many of each kind.
_MIXED = (13, 13, 12, 12)
LADDER = (50, 500, 5_000)
#: Manifest and lock are read as a whole, about 9 KB for each package; for what is in a package, nothing.
FLAT = at_most(64)
LINEAR = at_most(1.3)
WARM = at_most(2.2, aim=1.2)
NO_REQUEST = at_most(0)
#: Where one fetch serves all modules.
ONE_FETCH, A_TENTH = at_most(8), at_most(0.1)


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
        14,
        16,
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
        6.5,
        8,
    ),
    "repositories": Job(
        "small git repositories, 20 ms",
        lambda batch: batch.add_repositories(batch.site.far_git, range(MODULES)),
        ("terraform", "tofu"),
        4.5,
        5,
    ),
    "mix": Job("a mix of all, 20 ms", _mixed, ("tofu",), 7, 9),
    "packages": Job(
        "OCI packages over TLS, 20 ms",
        lambda batch: batch.add_packages(batch.site.far_registry, range(MODULES)),
        ("tofu",),
        10,
        12,
    ),
}


# ------------------------------------------------------------------------------------------ measuring


def cold(job: Job, here: Site, rounds: int, forced: str | None) -> bool:
    batch = job.fill(Batch(here))
    rivals = [peer(batch, (forced,) if forced else job.peers), whole_command(batch)]
    measured = take_turns(rivals, rounds, here.work, counter=here)
    theirs, ours = (rival.name for rival in rivals)
    rows = compared(measured, theirs, note=of_traffic)
    rows.append(times_as_fast(measured, ours, theirs, at_least(job.at_least, job.aim)))
    if job.is_one_package:
        of_bytes = measured[ours].sent / measured[theirs].sent
        rows.append(Row(f"of the bytes of {theirs}", of_bytes, goal=A_TENTH))
        rows.append(Row("requests", measured[ours].requests, goal=ONE_FETCH))
    return show(f"{len(batch.sources)} modules: {job.title}", rows)


def warm(job: Job, here: Site, rounds: int) -> bool:
    batch = job.fill(Batch(here))
    with fresh(here.work) as cache, Client(environ=batch.environ, cache_dir=cache) as client:
        bare, ours = rivals = [bare_loop(batch), in_process(whole_command(batch), client)]
        measured = take_turns(rivals, rounds, here.work, counter=here)
    rows = compared(measured, bare.name, goals={ours.name: WARM}, note=of_processors)
    rows.append(Row("requests", measured[ours.name].requests, goal=NO_REQUEST))
    return show(f"{len(batch.sources)} modules, warm: {job.title}", rows)


def all_warm(here: Site, rounds: int) -> bool:
    """Run each job but ``narrow``: without requests the network does not matter."""
    reached = [warm(job, here, rounds) for name, job in JOBS.items() if name != "narrow"]
    return all(reached)


def directories(here: Site, rounds: int) -> bool:
    batch = JOBS["archives"].fill(Batch(here))
    with fresh(here.work) as cache, Client(environ=batch.environ, cache_dir=cache) as client:
        ours = in_process(whole_command(batch), client)
        measured = take_turns([ours, with_more_directories(ours)], rounds, here.work)
    rows = compared(measured, ours.name, note=of_processors)
    return show(f"{len(batch.sources)} modules, warm: private directories", rows)


def linear(here: Site, rounds: int) -> bool:
    peaks: dict[int, list[float]] = {packages: [] for packages in LADDER}

    def rival(packages: int) -> Rival:
        ours = whole_command(Batch(here).add_archives(f"127.0.0.1:{here.web.port}", range(packages), little=True))

        def install(place: Path) -> None:
            environ = {"GETMODULES_CACHE_DIR": str(place / "cache")}
            peaks[packages].append(peak_memory(GETMODULES, "install", "-q", place=place, environ=environ))

        return Rival(f"{packages:,} packages", install, prepare=ours.prepare)

    measured = take_turns([rival(packages) for packages in LADDER], rounds, here.work)
    few, some, many = (each.seconds for each in measured.values())
    first, then = (some - few) / (LADDER[1] - LADDER[0]), (many - some) / (LADDER[2] - LADDER[1])
    most = [max(found) for found in peaks.values()]
    rows = compared(measured, next(iter(measured)))
    rows += [Row(f"memory for {packages:,}", peak, "MiB") for packages, peak in zip(LADDER, most, strict=True)]
    rows.append(Row("time for one package more, of the many and the few", then / first, "x", goal=LINEAR))
    rows.append(Row(f"memory for {LADDER[2] - LADDER[0]:,} more", most[2] - most[0], "MiB", goal=FLAT))
    return show("more and more packages, http archives of two files", rows)


def main() -> int:
    parser = arguments(__doc__, [*JOBS, "warm", "directories", "linear"], rounds=5)
    parser.add_argument("--peer", help="terraform, tofu or replay, where the job lets us choose")
    options = parser.parse_args()
    rounds = options.rounds
    with workplace(options.work) as work, site(work) as here:
        jobs: dict[str, Callable[[], bool]] = {
            name: partial(cold, job, here, rounds, options.peer) for name, job in JOBS.items()
        }
        jobs["warm"] = partial(all_warm, here, 3 * rounds)
        jobs["directories"] = partial(directories, here, 3 * rounds)
        jobs["linear"] = partial(linear, here, max(1, rounds // 2))
        return perform(jobs, options.only)


if __name__ == "__main__":
    sys.exit(main())
