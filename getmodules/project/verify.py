"""``verify``: the trees on disk against the lock. Nobody is asked, and nothing is changed."""

from __future__ import annotations

from getmodules.errors import GetModulesError
from getmodules.project.bench import Bench, chosen
from getmodules.project.lockfile import needed_lock
from getmodules.project.plan import Entry
from getmodules.project.reports import TreeState, VerifiedModule, VerifyReport
from getmodules.project.trees import differences, h1_of, hashed, is_vacant


def verify(names: tuple[str, ...], bench: Bench) -> VerifyReport:
    lock = needed_lock(bench.place)
    return VerifyReport(modules=tuple(_verified(lock.entry(name), bench) for name in chosen(names, lock.modules)))


def _verified(entry: Entry, bench: Bench) -> VerifiedModule:
    module, package = entry
    bench.checkpoint()
    found = detail = error = None
    try:
        dest = bench.dest(module.dest)
        vacant = is_vacant(dest)
        found = h1_of(dest) if vacant else hashed(dest)
    except GetModulesError as why:  # whatever is there, it is not what the lock says; the others are still looked at
        state, error = TreeState.MODIFIED, why
    else:
        state = TreeState.OK if found == module.h1 else TreeState.MISSING if vacant else TreeState.MODIFIED
        if state is TreeState.MODIFIED:
            detail = differences(module, package, dest, bench)
    return VerifiedModule(
        name=module.name, dest=module.dest, state=state, h1=module.h1, found=found, differences=detail, error=error
    )
