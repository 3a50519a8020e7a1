"""What modules are today: by fetching them into a directory that nobody sees, or by asking alone where that will do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from getmodules.errors import GetModulesError
from getmodules.pipeline.batch import Failure, Outcome, install_all, resolve_all
from getmodules.pipeline.spool import OWN_ALGORITHM
from getmodules.project.bench import Bench, private_directory
from getmodules.project.entries import entry_of, fresh_job
from getmodules.project.lockfile import LockedPackage
from getmodules.project.plan import Entry
from getmodules.project.selection import Target
from getmodules.util.digest import Digest

_NO_IDENTITY = "fetch/no-identity"


def fetched(wanted: Mapping[str, Target], bench: Bench) -> Outcome[Entry]:
    """Each target as the lock has it: fetched, verified, hashed, and thrown away."""
    if not wanted:
        return Outcome()
    with private_directory(bench) as spare:
        jobs = [fresh_job(target, spare / name) for name, target in wanted.items()]
        outcome = install_all(jobs, bench.means, bench.pace)
    done: dict[str, Entry] = {}
    failures = list(outcome.failures)
    for name, installed in outcome.done.items():
        try:
            done[name] = entry_of(wanted[name], installed, bench)
        except GetModulesError as error:
            failures.append(Failure(module=name, error=error))
    return Outcome(done=done, failures=tuple(failures))


def identities(wanted: Mapping[str, Target], locked: Mapping[str, LockedPackage], bench: Bench) -> Outcome[str]:
    """The id that each target has today. It is fetched where nothing less tells."""
    asked = resolve_all({name: (t.entry.source, t.address) for name, t in wanted.items()}, bench.means, bench.pace)
    done = {name: resolved.id for name, resolved in asked.done.items()}
    unclear = [failure.module for failure in asked.failures if failure.error.code == _NO_IDENTITY]
    unclear += [name for name, identity in done.items() if _is_another_digest(identity, locked[name])]
    looked_at = fetched({name: wanted[name] for name in unclear}, bench)
    done |= {name: package.id for name, (_, package) in looked_at.done.items()}
    failures = [failure for failure in asked.failures if failure.module not in unclear]
    return Outcome(done=done, failures=tuple(_in_order(wanted, [*failures, *looked_at.failures])))


def _is_another_digest(identity: str, package: LockedPackage) -> bool:
    """A checksum that the address names pins as well, but says nothing to compare our own digest with."""
    if package.id != package.archive:
        return False
    try:
        return Digest.parse(identity).algorithm != OWN_ALGORITHM
    except ValueError:
        return False


def _in_order(names: Iterable[str], failures: list[Failure]) -> list[Failure]:
    places = {name: place for place, name in enumerate(names)}
    return sorted(failures, key=lambda failure: places[failure.module])
