"""``add`` and ``remove``: one change of the manifest, with what that means for the lock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from getmodules.errors import ConfigError
from getmodules.files.durable import shown_path
from getmodules.project.bench import Bench
from getmodules.project.document import read_marked
from getmodules.project.edit import with_module, without_module
from getmodules.project.files import target_of, write_file
from getmodules.project.lock import lock_manifest
from getmodules.project.lockfile import Lock
from getmodules.project.manifest import Manifest, parse_manifest
from getmodules.project.reports import LockReport
from getmodules.util.values import field, valueclass


@valueclass(kw_only=False, frozen=False)
class Addition:
    name: str
    entry: Mapping[str, str]
    _text: str = field(default="", init=False)

    def edited(self, path: Path) -> Manifest:
        """The manifest as it is to be; nothing is written yet. What others made of it meanwhile is in it."""
        mark, text = read_marked(path) or ("", "")
        text = with_module(text, self.entry, self.name, path)
        self._text = mark + text
        return parse_manifest(text, path)

    def settle(self, bench: Bench) -> LockReport:
        """The lock first, since that is what can fail: a manifest is never left with a module that does not work."""
        with bench.turn():
            manifest = bench.manifest()
            target_of(bench.place.manifest)
            report = lock_manifest(manifest, None, bench)
            if not report.failures:
                write_file(bench.place.manifest, self._text, bench.means.sweeper)
            return report


@valueclass(kw_only=False, frozen=False)
class Removal:
    name: str
    _text: str = field(default="", init=False)

    def edited(self, path: Path) -> Manifest:
        found = read_marked(path)
        if found is None:
            raise ConfigError(f"there is no {shown_path(path)}", hint="--manifest FILE names one that lies elsewhere")
        mark, text = found
        text = without_module(text, self.name, path)
        self._text = mark + text
        return parse_manifest(text, path)

    def settle(self, bench: Bench) -> None:
        with bench.turn():
            bench.manifest()
            target_of(bench.place.manifest)
            lock = bench.lock()
            if lock is not None and self.name in lock.modules:
                bench.write_lock(Lock.of(lock.entry(name) for name in lock.modules if name != self.name))
            write_file(bench.place.manifest, self._text, bench.means.sweeper)
