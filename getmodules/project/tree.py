"""``tree``: the lock from the side of the packages."""

from __future__ import annotations

from getmodules.errors import LockStaleError
from getmodules.project.lockfile import LockedModule, LockedPackage, read_lock
from getmodules.project.manifest import Place
from getmodules.userfile import shown_path


def read_tree(place: Place) -> tuple[tuple[LockedPackage, tuple[LockedModule, ...]], ...]:
    """Each package with its modules, both in the order of the lock."""
    lock = read_lock(place.lock)
    if lock is None:
        raise LockStaleError(f"there is no {shown_path(place.lock)}", hint="getmodules lock makes one")
    modules: dict[str, list[LockedModule]] = {address: [] for address in lock.packages}
    for module in lock.modules.values():
        modules[module.package].append(module)
    return tuple((package, tuple(modules[address])) for address, package in lock.packages.items())
