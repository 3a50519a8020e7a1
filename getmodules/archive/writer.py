"""The only code that writes members.

Whatever brought a package, its members come through here, one after the other: each name is admitted or
refused, each byte counted and hashed, each file created below a directory descriptor. What is written is
exactly what the returned trees say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from getmodules.api.model import Entry, Kind, Member, MemberPath, Members, Tree
from getmodules.api.ports import Context
from getmodules.archive.outlet import Outlet
from getmodules.archive.paths import NameBook, member_path
from getmodules.archive.place import Place
from getmodules.archive.sink import FileSink
from getmodules.errors import CorruptArchiveError, PluginContractError, UnsafeContentError
from getmodules.files.local import LocalFile
from getmodules.util.redact import printable
from getmodules.util.worker import Worker

__all__ = ["Outlet", "write_members"]

#: The members of an enumeration are slow to get at.
_FILE, _DIRECTORY, _SYMLINK = Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK
#: Members between two looks at the clock.
_STEPS = 16
#: The rest of a longer file is hashed and written by the worker, while this thread goes on inflating.
LARGE_BYTES = 1 << 20
#: Bytes between two reports of progress.
_REPORTED_BYTES = 1 << 20
#: Smaller files are copied sooner than a file system is asked to share their blocks.
SHARED_BYTES = 64 << 10


def write_members(
    members: Members, outlets: Sequence[Outlet], context: Context, *, packed_bytes: int | None = None
) -> tuple[Tree, ...]:
    """Write ``members`` into all ``outlets`` in one pass; the trees are in the order of the outlets.

    ``packed_bytes`` is the size of the archive that they come from, for the limit on the ratio. On any
    exception the outlets hold an unfinished tree: throw them away. ``members`` is closed in any case.
    """
    writer = _Writer(members, outlets, context, packed_bytes)
    try:
        writer.write(members.items)
        return writer.finish()
    finally:
        writer.stop()
        close = getattr(members.items, "close", None)
        if close is not None:
            close()


class _Writer:
    def __init__(self, members: Members, outlets: Sequence[Outlet], context: Context, packed_bytes: int | None) -> None:
        self._context = context
        self._limits = context.limits
        self._book = NameBook(context.limits, strict=members.strict)
        self._places = [Place(outlet, context, packed_bytes) for outlet in outlets]
        whole = len(outlets) == 1 and not outlets[0].subdir
        #: The only place, where all of the package goes into it: most runs, and nothing to choose.
        self._whole = self._places[0] if whole else None
        self._globs = [place for place in self._places if place.selection.is_glob]
        #: With fifty subdirectories of one package, most have no say in where a member goes.
        self._by_subdir: dict[str, list[Place]] = {}
        for place in self._places:
            if not place.selection.is_glob:
                self._by_subdir.setdefault(place.selection.subdir, []).append(place)
        self._can_share = True
        self._worker = Worker("getmodules-write")
        self._unreported = 0

    def write(self, items: Iterable[Member]) -> None:
        for number, member in enumerate(items):
            if not number % _STEPS:
                self._context.checkpoint()
            # Taken apart once, here: with a hundred thousand members, every look into one counts.
            values: tuple[Any, ...] = member
            name, kind, size, executable, opener, target = values
            if (
                type(name) is not str
                or type(kind) is not Kind
                or type(target) is not str
                or type(executable) is not bool
                or not (size is None or (type(size) is int and size >= 0))
            ):
                raise _not_allowed(member)
            directory = kind is _DIRECTORY
            path = self._book.admit(name, directory=directory)
            if self._whole is not None and path:
                wanted = [(self._whole, path)]
            else:
                wanted = self._wanted(path, directory, target if kind is _SYMLINK else "")
            if not wanted:
                continue
            if kind is _FILE:
                if size is not None and size > self._limits.file_bytes:
                    raise self._too_large(path, size)
                content = opener()
                if type(content) is tuple and len(content) == 1 and type(content[0]) is bytes:
                    self._write_whole(content[0], size, executable, wanted)
                else:
                    self._write_pieces(content, size, executable, path, wanted)
            else:
                self._make(member, path, wanted)

    def _make(self, member: Member, path: MemberPath, wanted: list[tuple[Place, MemberPath]]) -> None:
        """What has no content of its own."""
        kind, target = member.kind, member.target
        if kind is Kind.SYMLINK:
            self._book.charge(len(target))
        for place, relative in wanted:
            if kind is Kind.DIRECTORY:
                place.make_directory(relative)
            elif kind is Kind.SYMLINK:
                place.keep_link(relative, target)
            elif kind is Kind.HARDLINK:
                self._copy(member, place, relative)
            else:
                raise UnsafeContentError(
                    f"{printable(path)!r} in the package is a device, a pipe or a socket", part="special-file"
                )

    def stop(self) -> None:
        self._worker.stop()

    def finish(self) -> tuple[Tree, ...]:
        self._worker.wait()
        for place in self._places:
            place.selection.finish(self._book.directories())
        trees = tuple(place.finish() for place in self._places)
        self._report()
        for count, first in self._book.notices.values():
            self._context.notice(first if count == 1 else f"{first} ({count:,} such names)")
        return trees

    def _wanted(self, path: MemberPath, directory: bool, link: str) -> list[tuple[Place, MemberPath]]:
        wanted = []
        for place in self._concerned(path):
            selection = place.selection
            if selection.subdir:
                selection.offer(path, directory=directory, link=link)
            relative = selection.relative(path)
            if relative:
                wanted.append((place, relative))
        return wanted

    def _concerned(self, path: str) -> Iterator[Place]:
        """The places of which ``path`` may be a member, or the directory itself."""
        yield from self._globs
        known = self._by_subdir
        yield from known.get("", ())
        slash = path.find("/")
        while slash >= 0:
            yield from known.get(path[:slash], ())
            slash = path.find("/", slash + 1)
        if path:
            yield from known.get(path, ())

    # -------------------------------------------------------------------------------------------- files

    def _write_whole(
        self, data: bytes, announced: int | None, executable: bool, wanted: list[tuple[Place, MemberPath]]
    ) -> None:
        size = len(data)
        if size != announced and (announced is not None or size > self._limits.file_bytes):
            raise self._wrong_size(wanted[0][1], size, announced)
        digest = sha256(data).digest()
        for place, path in wanted:
            place.write_file(path, data, digest, executable, self._worker)
        self._unreported += size
        if self._unreported >= _REPORTED_BYTES:
            self._report()

    def _write_pieces(
        self,
        content: Iterable[bytes],
        announced: int | None,
        executable: bool,
        path: MemberPath,
        wanted: list[tuple[Place, MemberPath]],
    ) -> None:
        descriptors: list[int] = []
        sink = FileSink(path, descriptors)
        try:
            for place, relative in wanted:
                place.create_file(relative, descriptors, executable=executable)
            size = self._share(content, sink, wanted)
            if size is None:
                size = self._pour(content, announced, path, sink, [place for place, _ in wanted])
        finally:
            sink.close()
        if announced is not None and size != announced:
            raise self._wrong_size(path, size, announced)
        digest = sink.digest()
        for place, relative in wanted:
            place.entries[relative] = Entry(relative, _FILE, size, executable, digest)

    def _share(self, content: Iterable[bytes], sink: FileSink, wanted: list[tuple[Place, MemberPath]]) -> int | None:
        """Share the blocks of a file on this machine, where the file system can: its size, or ``None``.

        What is hashed then is our twin: the original may change as it likes.
        """
        if type(content) is not LocalFile or content.size < SHARED_BYTES or not self._can_share:
            return None
        with content.opened() as source:
            self._can_share = sink.share(source)
        if not self._can_share:
            return None
        place, relative = wanted[0]
        size = 0
        for chunk in place.ground.read_back(relative):
            size += len(chunk)
            if size > content.size:
                break
            sink.hash(chunk)
            for each, _ in wanted:
                each.count_bytes(len(chunk))
            self._advance(len(chunk))
        if size != content.size:
            raise content.changed()
        return size

    def _pour(
        self, content: Iterable[bytes], announced: int | None, path: MemberPath, sink: FileSink, places: list[Place]
    ) -> int:
        most = self._limits.file_bytes if announced is None else announced
        size = 0
        try:
            for chunk in content:
                if type(chunk) is not bytes:
                    chunk = _as_bytes(chunk, path)
                length = len(chunk)
                size += length
                if size > most:
                    # Judged before it is written: nothing that was not announced or allowed reaches the disk.
                    raise self._wrong_size(path, size, announced)
                for place in places:
                    place.count_bytes(length)
                if size > LARGE_BYTES:
                    self._worker.give(partial(sink.put, chunk), length)
                else:
                    sink.put(chunk)
                self._advance(length)
            if size > LARGE_BYTES:
                self._worker.wait()
        except BaseException:
            # The sink's descriptors are closed next, and must not be written to any more.
            self._worker.stop()
            raise
        return size

    def _wrong_size(self, path: str, size: int, announced: int | None) -> Exception:
        if announced is None:
            return self._too_large(path, size)
        more = "or more" if size > announced else "only"
        return CorruptArchiveError(f"{printable(path)!r} has {size:,} bytes {more}, not the announced {announced:,}")

    def _too_large(self, path: str, size: int) -> Exception:
        return self._limits.exceeded("file_bytes", f"{printable(path)!r} has {size:,} bytes or more")

    # -------------------------------------------------------------------------------------------- hardlinks

    def _copy(self, member: Member, place: Place, relative: MemberPath) -> None:
        original = member_path(member.target)
        inside = place.selection.relative(original)
        source = place.entries.get(inside) if inside else None
        if inside is None and original in self._book:
            raise self._no_hardlink(
                member,
                "that lies outside of the subdirectory",
                "install the whole package, without the subdirectory",
            )
        if source is None or source.kind is not Kind.FILE:
            raise self._no_hardlink(member, "that is no earlier file of the package", None)
        place.count_bytes(source.size)
        self._worker.wait()
        descriptors: list[int] = []
        copy = FileSink(relative, descriptors)
        try:
            place.create_file(relative, descriptors, executable=source.executable)
            for chunk in place.ground.read_back(source.path):
                copy.put(chunk)
                self._advance(len(chunk))
        finally:
            copy.close()
        place.entries[relative] = source._replace(path=relative)

    def _no_hardlink(self, member: Member, what: str, hint: str | None) -> UnsafeContentError:
        return UnsafeContentError(
            f"{printable(member.name)!r} is a hard link to {printable(member.target)!r}: {what}",
            part="hardlink",
            hint=hint,
        )

    # -------------------------------------------------------------------------------------------- the clock

    def _advance(self, amount: int) -> None:
        self._context.checkpoint()
        self._unreported += amount
        if self._unreported >= _REPORTED_BYTES:
            self._report()

    def _report(self) -> None:
        amount, self._unreported = self._unreported, 0
        if amount:
            self._context.advance(amount)


def _not_allowed(member: Member) -> PluginContractError:
    """Types are no promise where a plugin made the value, and all that the writer does relies on them."""
    name, kind, size, executable, _, target = member
    shown = printable(f"name={name!r} kind={kind!r} size={size!r} executable={executable!r} target={target!r}")
    return PluginContractError(f"a member has values that are not allowed: {shown}")


def _as_bytes(chunk: object, path: str) -> bytes:
    if isinstance(chunk, (bytes, bytearray, memoryview)):
        return bytes(chunk)
    raise PluginContractError(f"the content of {printable(path)!r} came as {type(chunk).__name__}, not as bytes")
