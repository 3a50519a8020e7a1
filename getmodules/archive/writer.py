"""Write members into trees: the only code that does.

All members of all packages are written here, one after the other: each name is admitted or
refused, each byte counted and hashed, each file created below a directory descriptor. What is written is
exactly what the returned trees say.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from getmodules.api.limits import RATIO_FREE_BYTES
from getmodules.api.model import Entry, Kind, Member, MemberPath, Members, Tree, new_tuple
from getmodules.api.ports import Context
from getmodules.archive.dot_git import check_no_repository, find_dot_git
from getmodules.archive.links import LinkWalk
from getmodules.archive.names import NameBook, member_path
from getmodules.archive.selection import Output, Selection
from getmodules.archive.target_dir import TargetDirectory
from getmodules.archive.tree_hash import h1_of_entries, link_to_directory_digest, t1
from getmodules.archive.write_thread import LARGE_BYTES, WriteThread
from getmodules.errors import CorruptArchiveError, LimitExceededError, PluginContractError, UnsafeContentError
from getmodules.files.durable import write_all
from getmodules.files.local import LocalFile
from getmodules.files.os_errors import install_error
from getmodules.files.syscalls import share_blocks
from getmodules.util.redact import printable

#: The members of an enumeration are slow to get at.
_FILE, _DIRECTORY, _SYMLINK = Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK
#: Members between two checks of the deadline.
_STEPS = 16
#: Bytes between two reports of progress.
_REPORTED_BYTES = 1 << 20
#: Smaller files are copied sooner than a file system is asked to share their blocks.
SHARED_BYTES = 64 << 10


def write_members(
    members: Members, outputs: Sequence[Output], context: Context, *, packed_bytes: int | None = None
) -> tuple[Tree, ...]:
    """Write ``members`` into all ``outputs`` in one pass; the trees are in the order of the outputs.

    ``packed_bytes`` is the size of the archive that they come from, for the limit on the ratio. On any
    exception the outputs hold an unfinished tree: throw them away. ``members`` is closed in any case.
    """
    writer = _Writer(members, outputs, context, packed_bytes)
    try:
        writer.write(members.items)
        return writer.finish()
    finally:
        writer.stop()
        close = getattr(members.items, "close", None)
        if close is not None:
            close()


class _Writer:
    def __init__(self, members: Members, outputs: Sequence[Output], context: Context, packed_bytes: int | None) -> None:
        self._context = context
        self._limits = context.limits
        self._book = NameBook(context.limits, strict=members.strict)
        self._builders = [TreeBuilder(output, context, packed_bytes) for output in outputs]
        whole = len(outputs) == 1 and not outputs[0].subdir
        #: The only builder, if the whole package goes into it: most runs, with nothing to select.
        self._whole = self._builders[0] if whole else None
        self._globs = [builder for builder in self._builders if builder.selection.is_glob]
        #: Builders by subdirectory: with fifty of one package, most are never asked about a member.
        self._by_subdir: dict[str, list[TreeBuilder]] = {}
        for builder in self._builders:
            if not builder.selection.is_glob:
                self._by_subdir.setdefault(builder.selection.subdir, []).append(builder)
        #: The ``.git`` that were left out.
        self._left_out: set[str] = set()
        self._can_share = True
        self._thread = WriteThread()
        self._unreported = 0

    def write(self, items: Iterable[Member]) -> None:
        for number, member in enumerate(items):
            if not number % _STEPS:
                self._context.checkpoint()
            # Unpacked once, here: with a hundred thousand members, every attribute access counts.
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
            if path is None:
                self._leave_out(name, size or 0)
                continue
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

    def _make(self, member: Member, path: MemberPath, wanted: list[tuple[TreeBuilder, MemberPath]]) -> None:
        """Make a member without content: a directory, a link, or a copy for a hard link."""
        kind, target = member.kind, member.target
        if kind is Kind.SYMLINK:
            self._book.charge(len(target))
        for builder, relative in wanted:
            if kind is Kind.DIRECTORY:
                builder.make_directory(relative)
            elif kind is Kind.SYMLINK:
                builder.add_link(relative, target)
            elif kind is Kind.HARDLINK:
                self._copy(member, builder, relative)
            else:
                raise UnsafeContentError(
                    f"{printable(path)!r} in the package is a device, a pipe or a socket", part="special-file"
                )

    def stop(self) -> None:
        self._thread.stop()

    def finish(self) -> tuple[Tree, ...]:
        self._thread.wait()
        for builder in self._builders:
            builder.selection.finish(self._book.directories())
        trees = tuple(builder.finish() for builder in self._builders)
        self._report()
        for count, first in self._book.notices.values():
            self._context.notice(first if count == 1 else f"{first} ({count:,} such names)")
        self._notice_left_out()
        return trees

    def _leave_out(self, name: str, size: int) -> None:
        """Write nothing of a member that is called ``.git`` or lies in one, but the directory that it would be in.

        It counts towards the limits nevertheless: to leave it out, a tar has to be decompressed.
        """
        left_out = find_dot_git(member_path(name)) or ""
        parent = MemberPath(left_out.rpartition("/")[0])
        for builder in self._builders_of(parent):
            if parent and builder.selection.subdir:
                builder.selection.offer(parent, directory=True)
            relative = builder.selection.relative(parent)
            if relative is not None:
                builder.leave_out(relative, size)
                self._left_out.add(left_out)

    def _notice_left_out(self) -> None:
        if self._left_out:
            shown = f"{printable(min(self._left_out))!r} in the package is left out: no .git is installed"
            count = len(self._left_out)
            self._context.notice(shown if count == 1 else f"{shown} ({count:,} such names)")

    def _wanted(self, path: MemberPath, directory: bool, link: str) -> list[tuple[TreeBuilder, MemberPath]]:
        wanted = []
        for builder in self._builders_of(path):
            selection = builder.selection
            if selection.subdir and path:  # the top is no directory that a glob may choose
                selection.offer(path, directory=directory, link=link)
            relative = selection.relative(path)
            if relative:
                wanted.append((builder, relative))
        return wanted

    def _builders_of(self, path: str) -> Iterator[TreeBuilder]:
        """Yield the builders whose directory ``path`` may be, or may lie in."""
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
        self, data: bytes, announced: int | None, executable: bool, wanted: list[tuple[TreeBuilder, MemberPath]]
    ) -> None:
        size = len(data)
        if size != announced and (announced is not None or size > self._limits.file_bytes):
            raise self._wrong_size(wanted[0][1], size, announced)
        digest = sha256(data).digest()
        for builder, path in wanted:
            builder.write_file(path, data, digest, executable, self._thread)
        self._unreported += size
        if self._unreported >= _REPORTED_BYTES:
            self._report()

    def _write_pieces(
        self,
        content: Iterable[bytes],
        announced: int | None,
        executable: bool,
        path: MemberPath,
        wanted: list[tuple[TreeBuilder, MemberPath]],
    ) -> None:
        descriptors: list[int] = []
        sink = FileSink(path, descriptors)
        try:
            for builder, relative in wanted:
                builder.create_file(relative, descriptors, executable=executable)
            size = self._share(content, sink, wanted)
            if size is None:
                size = self._write_chunks(content, announced, path, sink, [builder for builder, _ in wanted])
        finally:
            sink.close()
        if announced is not None and size != announced:
            raise self._wrong_size(path, size, announced)
        digest = sink.digest()
        for builder, relative in wanted:
            builder.entries[relative] = Entry(relative, _FILE, size, executable, digest)

    def _share(
        self, content: Iterable[bytes], sink: FileSink, wanted: list[tuple[TreeBuilder, MemberPath]]
    ) -> int | None:
        """Share the blocks of a file on this machine, where the file system can. Return its size, or ``None``.

        The copy is hashed then: the original may change as it likes.
        """
        if type(content) is not LocalFile or content.size < SHARED_BYTES or not self._can_share:
            return None
        with content.opened() as source:
            self._can_share = sink.share(source)
        if not self._can_share:
            return None
        builder, relative = wanted[0]
        size = 0
        for chunk in builder.target.read_back(relative):
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

    def _write_chunks(
        self,
        content: Iterable[bytes],
        announced: int | None,
        path: MemberPath,
        sink: FileSink,
        builders: list[TreeBuilder],
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
                for builder in builders:
                    builder.count_bytes(length)
                if size > LARGE_BYTES:
                    self._thread.give(partial(sink.write, chunk), length)
                else:
                    sink.write(chunk)
                self._advance(length)
            if size > LARGE_BYTES:
                self._thread.wait()
        except BaseException:
            # The sink's descriptors are closed next, and must not be written to any more.
            self._thread.stop()
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

    def _copy(self, member: Member, builder: TreeBuilder, relative: MemberPath) -> None:
        original = member_path(member.target)
        inside = builder.selection.relative(original)
        source = builder.entries.get(inside) if inside else None
        if find_dot_git(original) is not None:
            raise self._no_hardlink(member, "no .git is installed", None)
        if inside is None and original in self._book:
            raise self._no_hardlink(
                member,
                "that lies outside of the subdirectory",
                "install the whole package, without the subdirectory",
            )
        if source is None or source.kind is not Kind.FILE:
            raise self._no_hardlink(member, "that is no earlier file of the package", None)
        builder.count_bytes(source.size)
        self._thread.wait()
        descriptors: list[int] = []
        copy = FileSink(relative, descriptors)
        try:
            builder.create_file(relative, descriptors, executable=source.executable)
            for chunk in builder.target.read_back(source.path):
                copy.write(chunk)
                self._advance(len(chunk))
        finally:
            copy.close()
        builder.entries[relative] = source._replace(path=relative)

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
    """Return the error for wrong types: a plugin may have made the value, and the writer relies on them."""
    name, kind, size, executable, _, target = member
    shown = printable(f"name={name!r} kind={kind!r} size={size!r} executable={executable!r} target={target!r}")
    return PluginContractError(f"a member has values that are not allowed: {shown}")


def _as_bytes(chunk: object, path: str) -> bytes:
    if isinstance(chunk, (bytes, bytearray, memoryview)):
        return bytes(chunk)
    raise PluginContractError(f"the content of {printable(path)!r} came as {type(chunk).__name__}, not as bytes")


# -------------------------------------------------------------------------------------------- one tree


class TreeBuilder:
    """Build the tree of one output: its limits, its entries, and the links that are made at the end.

    Limits are counted for each output on its own: what one ``get`` of it would allow must not depend on what
    else is installed from the same package in the same run.
    """

    def __init__(self, output: Output, context: Context, packed_bytes: int | None) -> None:
        self.selection = Selection(output.subdir)
        self.target = TargetDirectory(output.root)
        self.entries: dict[str, Entry] = {}
        self._context = context
        self._limits = limits = context.limits
        self._most_entries = limits.entries
        self._links: dict[str, str] = {}
        self._left_out = 0
        self._bytes = 0
        self._entry_count = 0
        # Shorter names than this cannot be too long, however many bytes their characters take, nor too deep.
        self._short_path = min(limits.path_bytes // 4, 2 * limits.depth)
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
        """Make ``path`` and the directories that it lies in, as far as they do not exist yet."""
        missing = []
        while path and path not in self.entries:
            missing.append(path)
            path = path[: max(path.rfind("/"), 0)]
        for directory in reversed(missing):
            self._entry_count += 1
            self._check_entry(directory)
            self.target.make_directory(directory)
            self.entries[directory] = Entry(MemberPath(directory), Kind.DIRECTORY, 0, False, None)

    def create_file(self, path: str, descriptors: list[int], *, executable: bool) -> None:
        self._add_entry(path)
        self.target.create_file(path, descriptors, executable=executable)

    def write_file(self, path: MemberPath, data: bytes, digest: bytes, executable: bool, thread: WriteThread) -> None:
        """Write a small file at once, now or soon; its directories are made now."""
        size = len(data)
        self._bytes += size
        if self._bytes > self._most_bytes:
            raise self._too_many_bytes()
        self._add_entry(path)
        thread.write_small(partial(self.target.write_file, path, data, executable), size)
        self.entries[path] = new_tuple(Entry, (path, _FILE, size, executable, digest, ""))

    def _add_entry(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        if parent and parent not in self.entries:
            self.make_directory(parent)
        self._entry_count += 1
        if self._entry_count > self._most_entries or len(path) > self._short_path:
            self._check_entry(path)

    def add_link(self, path: str, target: str) -> None:
        """Remember a link: it is made when everything that it could lead to exists."""
        self._add_entry(path)
        length = len(target.encode("utf-8", "surrogatepass"))
        if length > self._limits.path_bytes:
            raise self._limits.exceeded("path_bytes", f"the target of the link {printable(path)!r}")
        self._links[path] = target

    def leave_out(self, parent: str, size: int) -> None:
        """Count a member of ``size`` in the directory ``parent`` that is not written."""
        self.make_directory(parent)
        self._left_out += 1
        self._entry_count += 1
        if self._entry_count > self._most_entries:
            self._check_entry(parent)
        self.count_bytes(size)

    # ------------------------------------------------------------------------------------------- the end

    def finish(self) -> Tree:
        check_no_repository((*self.entries, *self._links))
        self._make_links()
        entries = tuple(map(self.entries.__getitem__, sorted(self.entries)))
        return Tree(entries, h1_of_entries(entries), t1(entries), self._left_out)

    def _make_links(self) -> None:
        if not self._links:
            return
        kinds = {path: entry.kind for path, entry in self.entries.items()}
        walk = LinkWalk(kinds, self._links, self.selection.subdir, self._context.checkpoint)
        # All of them are judged before the first is made.
        ends = {path: walk.follow(path) for path in self._links}
        for path, target in self._links.items():
            end = self.entries.get(ends[path])
            self.target.make_link(path, target, to_directory=end is None or end.kind is Kind.DIRECTORY)
            digest = end.sha256 if end is not None else None
            if digest is None:
                digest = link_to_directory_digest(target)
            self.entries[path] = Entry(MemberPath(path), Kind.SYMLINK, 0, False, digest, target)


# -------------------------------------------------------------------------------------------- one file


class FileSink:
    """Write the same bytes into every descriptor, and hash them once. The sink owns the descriptors."""

    __slots__ = ("_descriptors", "_hash", "_path")

    def __init__(self, path: str, descriptors: list[int]) -> None:
        self._path = path
        self._descriptors = descriptors
        self._hash = hashlib.sha256()

    def write(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        try:
            for descriptor in self._descriptors:
                write_all(descriptor, chunk)
        except OSError as error:
            raise install_error(error, f"cannot write {printable(self._path)!r}") from error

    def share(self, source: int) -> bool:
        """Let every file share the blocks of ``source``. Return ``False`` where that is not possible."""
        try:
            if all(share_blocks(source, descriptor) for descriptor in self._descriptors):
                return True
            for descriptor in self._descriptors:  # on different file systems some may have succeeded
                os.ftruncate(descriptor, 0)
            return False
        except OSError as error:
            raise install_error(error, f"cannot write {printable(self._path)!r}") from error

    def hash(self, chunk: bytes) -> None:
        """Hash bytes that are in the files already."""
        self._hash.update(chunk)

    def digest(self) -> bytes:
        return self._hash.digest()

    def close(self) -> None:
        """Close all descriptors, and raise what only closing reveals (NFS, quotas)."""
        failed: OSError | None = None
        for descriptor in self._descriptors:
            try:
                os.close(descriptor)
            except OSError as error:
                failed = error
        self._descriptors = []
        if failed is not None:
            raise install_error(failed, f"cannot write {printable(self._path)!r}") from failed
