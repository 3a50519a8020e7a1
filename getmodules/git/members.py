"""A repository's files as members: bytes exactly as they are stored, and the submodules' where they belong."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from getmodules.api.limits import metadata_exceeded
from getmodules.api.model import Kind, Member
from getmodules.api.ports import Context
from getmodules.errors import LimitExceededError, NotFoundError, UnsafeContentError
from getmodules.git.fetch import Aim
from getmodules.git.objects import WHOLE_BYTES, Content
from getmodules.git.package import Package, Tools
from getmodules.git.parse import Mode
from getmodules.git.submodules import FILE, Submodules
from getmodules.git.walk import Entry
from getmodules.util.redact import printable

#: Deeper than anybody nests; a repository that holds itself goes on for ever.
MOST_NESTED: Final = 16
_LFS: Final = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_BYTES: Final = 1024
_NAMED: Final = 3
_FILES: Final = (Mode.FILE, Mode.EXECUTABLE)


class RepositoryMembers:
    """The members of an open package, then those of each submodule. One workshop is held at a time.

    Whoever holds two could wait for another who holds the second and wants the first; a repository may even be
    its own submodule.
    """

    def __init__(self, package: Package, tools: Tools) -> None:
        self._package = package
        self._tools = tools
        self._pointers: list[str] = []
        self._left_out: list[str] = []
        self._iterator = self._all()

    def __iter__(self) -> Iterator[Member]:
        return self._iterator

    def close(self) -> None:
        self._iterator.close()
        self._package.close()

    def _all(self) -> Generator[Member, None, None]:
        yield from self._package_members(self._package, "", 0)
        context = self._tools.git.context
        _notice(context, self._left_out, "submodules are left out")
        _notice(context, self._pointers, "files are pointers of git LFS: what they stand for is not in the repository")

    def _package_members(self, package: Package, prefix: str, nested: int) -> Iterator[Member]:
        try:
            yield from self._own_members(package, prefix)
            links = package.gitlinks()
            modules = self._modules(package) if links and self._tools.with_submodules else None
        finally:
            package.close()
        for link in links:
            path = f"{prefix}{link.path}"
            if modules is None:
                self._left_out.append(path)
            else:
                yield from self._submodule(package, modules, link, prefix, nested + 1)

    def _submodule(
        self, parent: Package, modules: Submodules, link: Entry, prefix: str, nested: int
    ) -> Iterator[Member]:
        path = f"{prefix}{link.path}"
        if nested > MOST_NESTED:
            raise LimitExceededError(
                f"the submodule at {printable(path)!r} is nested more than {MOST_NESTED} deep",
                part="depth",
                hint="this bound is fixed; submodules=false does without the submodules",
            )
        remote = modules.remote(link.path, parent.remote)
        package = Package(remote, Aim(link.id), parent.selection.within(link.path), parent.tools_for(link, remote))
        try:
            package.open()
        except NotFoundError as error:
            raise NotFoundError(f"the submodule at {printable(path)!r}: {error.message}", hint=error.hint) from error
        yield Member(path, Kind.DIRECTORY)
        yield from self._package_members(package, f"{path}/", nested)

    def _modules(self, package: Package) -> Submodules:
        entry = next((each for each in package.entries if each.path == FILE), None)
        if entry is None:
            return Submodules({})
        if entry.mode not in _FILES:
            raise UnsafeContentError(f"{FILE} in the repository is no file", part="submodule")
        (content,) = package.contents([entry])
        if content.size > WHOLE_BYTES:
            raise metadata_exceeded(f"{FILE} in the repository", WHOLE_BYTES)
        return Submodules.read(b"".join(content.chunks), package.store, self._tools.git)

    def _own_members(self, package: Package, prefix: str) -> Iterator[Member]:
        with_content = [each for each in package.entries if each.wanted and _has_content(each)]
        contents = package.contents(with_content)
        for entry in package.entries:
            name = f"{prefix}{entry.path}"
            if entry.mode == Mode.DIRECTORY:
                yield Member(name, Kind.DIRECTORY)
            elif entry.mode == Mode.GITLINK:
                continue
            elif not entry.wanted:
                # Its name may collide with another, or be the near one to what was asked for.
                yield Member(name, Kind.SYMLINK if entry.mode == Mode.SYMLINK else Kind.FILE)
            else:
                yield self._with_content(name, entry, next(contents))

    def _with_content(self, name: str, entry: Entry, content: Content) -> Member:
        size, chunks = content
        if entry.mode == Mode.SYMLINK:
            return Member(name, Kind.SYMLINK, target=self._target(name, content))
        if size < _LFS_BYTES and isinstance(chunks, tuple) and chunks[0].startswith(_LFS):
            self._pointers.append(name)
        return Member(name, Kind.FILE, size, entry.mode == Mode.EXECUTABLE, lambda: chunks)

    def _target(self, name: str, content: Content) -> str:
        limits = self._tools.git.context.limits
        if content.size > limits.path_bytes:
            raise limits.exceeded("path_bytes", f"the target of the link {printable(name)!r}")
        return b"".join(content.chunks).decode("utf-8", "surrogateescape")


def _has_content(entry: Entry) -> bool:
    return entry.mode not in (Mode.DIRECTORY, Mode.GITLINK)


def _notice(context: Context, names: list[str], what: str) -> None:
    if names:
        shown = ", ".join(printable(name) for name in names[:_NAMED])
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        context.notice(f"{what}: {shown}{more}")
