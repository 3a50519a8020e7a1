"""``verify``: the trees on disk against the lock. Nobody is asked, and nothing is changed."""

from __future__ import annotations

from getmodules.errors import LockStaleError
from getmodules.project.bench import Bench, chosen
from getmodules.project.plan import Entry
from getmodules.project.reports import TreeState, VerifiedModule, VerifyReport
from getmodules.project.trees import differences, h1_of, is_vacant
from getmodules.userfile import shown_path


def verify(names: tuple[str, ...], bench: Bench) -> VerifyReport:
    lock = bench.lock()
    if lock is None:
        raise LockStaleError(f"there is no {shown_path(bench.place.lock)}", hint="getmodules lock makes one")
    return VerifyReport(modules=tuple(_verified(lock.entry(name), bench) for name in chosen(names, lock.modules)))


def _verified(entry: Entry, bench: Bench) -> VerifiedModule:
    module, package = entry
    bench.checkpoint()
    dest = bench.dest(module.dest)
    found = h1_of(dest)
    state = TreeState.MODIFIED
    if found == module.h1:
        state = TreeState.OK
    elif is_vacant(dest):
        state = TreeState.MISSING
    detail = differences(module, package, dest, bench) if state is TreeState.MODIFIED else None
    return VerifiedModule(
        name=module.name, dest=module.dest, state=state, h1=module.h1, found=found, differences=detail
    )
