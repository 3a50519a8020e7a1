"""What is being written into one outlet: its limits, its entries, and the links that wait for the end."""

from __future__ import annotations

from functools import partial

from getmodules.api.limits import RATIO_FREE_BYTES
from getmodules.api.model import Entry, Kind, MemberPath, Tree, new_tuple
from getmodules.api.ports import Context
from getmodules.archive.ground import Ground
from getmodules.archive.links import LinkWalk
from getmodules.archive.outlet import Outlet, Selection
from getmodules.archive.pace import Pace
from getmodules.dirhash import h1, link_to_directory_digest
from getmodules.errors import LimitExceededError
from getmodules.util.redact import printable
from getmodules.util.worker import Worker

_FILE = Kind.FILE
#: Hashing lets go of the interpreter from this size on; below, a second thread only gets in the way, except where the
#: system is slow. One file of so many is looked at for that.
_WORTH_HANDING_OVER = 2048
_TIMED = 32


class Place:
    """One outlet with everything known about it.

    Limits are counted for each outlet on its own: what one ``get`` of it would allow must not depend on what
    else is installed from the same package in the same run.
    """

    def __init__(self, outlet: Outlet, context: Context, packed_bytes: int | None) -> None:
        self.selection = Selection(outlet.subdir)
        self.ground = Ground(outlet.root)
        self.entries: dict[str, Entry] = {}
        self._context = context
        self._limits = limits = context.limits
        self._most_entries = limits.entries
        self._links: dict[str, str] = {}
        self._bytes = 0
        self._entry_count = 0
        self._pace = Pace()
        # Shorter names than this cannot be too long, however many bytes their characters take, nor too deep.
        self._surely_short = min(limits.path_bytes // 4, 2 * limits.depth)
        ratio_bytes = limits.total_bytes
        if packed_bytes is not None:
            ratio_bytes = max(RATIO_FREE_BYTES, packed_bytes * limits.ratio)
        self._most_bytes = min(limits.total_bytes, ratio_bytes)

    # ------------------------------------------------------------------------------------------- limits

    def count_bytes(self, amount: int) -> None:
        self._bytes += amount
        if self._bytes > self._most_bytes:
            raise self._too_many_bytes()

    def _too_many_bytes(self) -> LimitExceededError:
        what = f"the package unpacks to {self._bytes:,} bytes and more"
        if self._bytes > self._limits.total_bytes:
            return self._limits.exceeded("total_bytes", what)
        return self._limits.exceeded("ratio", what)

    def _check_entry(self, path: str) -> None:
        limits = self._limits
        if self._entry_count > limits.entries:
            raise limits.exceeded("entries", "the files and directories in the package")
        length = len(path.encode("utf-8", "surrogatepass"))
        if length > limits.path_bytes:
            raise limits.exceeded("path_bytes", f"the name {printable(path)!r} has {length:,} bytes")
        if path.count("/") >= limits.depth:
            raise limits.exceeded("depth", f"the name {printable(path)!r} is too deep")

    # ------------------------------------------------------------------------------------------- making

    def make_directory(self, path: str) -> None:
        """``path`` and what it lies in, as far as they are not there yet."""
        missing = []
        while path and path not in self.entries:
            missing.append(path)
            path = path[: max(path.rfind("/"), 0)]
        for directory in reversed(missing):
            self._entry_count += 1
            self._check_entry(directory)
            self.ground.make_directory(directory)
            self.entries[directory] = Entry(MemberPath(directory), Kind.DIRECTORY, 0, False, None)

    def create_file(self, path: str, descriptors: list[int], *, executable: bool) -> None:
        self._make_room(path)
        self.ground.create_file(path, descriptors, executable=executable)

    def write_file(self, path: MemberPath, data: bytes, digest: bytes, executable: bool, worker: Worker) -> None:
        """A small file, in one go; where it is worth it by ``worker``, into directories that are there already."""
        size = len(data)
        self._bytes += size
        if self._bytes > self._most_bytes:
            raise self._too_many_bytes()
        self._make_room(path)
        if size >= _WORTH_HANDING_OVER or self._pace.is_slow:
            worker.give(partial(self.ground.write_file, path, data, executable), size, in_order=False)
        elif self._entry_count % _TIMED:
            self.ground.write_file(path, data, executable)
        else:
            self._pace.take(partial(self.ground.write_file, path, data, executable))
        self.entries[path] = new_tuple(Entry, (path, _FILE, size, executable, digest, ""))

    def _make_room(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        if parent and parent not in self.entries:
            self.make_directory(parent)
        self._entry_count += 1
        if self._entry_count > self._most_entries or len(path) > self._surely_short:
            self._check_entry(path)

    def keep_link(self, path: str, target: str) -> None:
        """Remember a link: it is made when everything that it could lead to is there."""
        self._make_room(path)
        length = len(target.encode("utf-8", "surrogatepass"))
        if length > self._limits.path_bytes:
            raise self._limits.exceeded("path_bytes", f"the target of the link {printable(path)!r}")
        self._links[path] = target

    # ------------------------------------------------------------------------------------------- the end

    def finish(self) -> Tree:
        self._make_links()
        entries = tuple(map(self.entries.__getitem__, sorted(self.entries)))
        return Tree(entries, h1([(path, digest) for path, _, _, _, digest, _ in entries if digest is not None]))

    def _make_links(self) -> None:
        if not self._links:
            return
        kinds = {path: entry.kind for path, entry in self.entries.items()}
        walk = LinkWalk(kinds, self._links, self.selection.subdir, self._context.checkpoint)
        # All of them are judged before the first is made.
        ends = {path: walk.follow(path) for path in self._links}
        for path, target in self._links.items():
            end = self.entries.get(ends[path])
            self.ground.make_link(path, target, to_directory=end is None or end.kind is Kind.DIRECTORY)
            digest = end.sha256 if end is not None else None
            if digest is None:
                digest = link_to_directory_digest(target)
            self.entries[path] = Entry(MemberPath(path), Kind.SYMLINK, 0, False, digest, target)
