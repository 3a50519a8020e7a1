"""A repository at one commit, fetched and open for reading, and its files as members.

Files have exactly the bytes that are stored; the members of submodules follow those of their repository.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from getmodules.addresses.types import PackageAddress
from getmodules.api.limits import metadata_exceeded
from getmodules.api.model import Kind, Member
from getmodules.api.ports import Context, Phase
from getmodules.errors import CorruptArchiveError, InstallError, LimitExceededError, NotFoundError, UnsafeContentError
from getmodules.getters.git.connection import connected, sweep_keys
from getmodules.getters.git.fetch import Budget, Fetcher, WantedCommit
from getmodules.getters.git.host_check import too_far_in
from getmodules.getters.git.locate import workshop_key
from getmodules.getters.git.objects import MISSING, WHOLE_BYTES, Mode, Objects, ObjectStream, tree_of
from getmodules.getters.git.process import Git
from getmodules.getters.git.remote import Remote
from getmodules.getters.git.store import Extent, Store
from getmodules.getters.git.tree import GITMODULES, PathSelection, RepositoryEntry, Submodules, Walk
from getmodules.net.address_check import address_check_for_class
from getmodules.util.redact import printable
from getmodules.util.values import replace, valueclass

#: More than any real nesting of submodules; a repository that contains itself never ends.
MOST_NESTED: Final = 16
_CONTENT = (Mode.FILE, Mode.EXECUTABLE, Mode.SYMLINK)
_FILES: Final = (Mode.FILE, Mode.EXECUTABLE)
_LFS: Final = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_BYTES: Final = 1024
_NAMED: Final = 3
T = TypeVar("T")


@valueclass(kw_only=False)
class Tools:
    """Git and the limits that a package and its submodules share."""

    git: Git
    budget: Budget
    with_submodules: bool


class RepositoryPackage:
    """One commit of a repository. It has the workshop from :meth:`open` to :meth:`close`."""

    def __init__(self, remote: Remote, wanted: WantedCommit, selection: PathSelection, tools: Tools) -> None:
        self.remote = remote
        self.wanted = wanted
        self.selection = selection
        self.tree = ""
        self.entries: Sequence[RepositoryEntry] = ()
        self._tools = tools
        self._held = ExitStack()
        self._directory = Path()
        self._objects: Objects | None = None
        self._store: Store | None = None
        #: Whether everything that is read was fetched by this call.
        self._is_fresh = False
        #: Whether the store was empty before the fetch.
        self._was_empty = False

    def open(self) -> None:
        """Fetch what is missing and read all trees. The files' contents are not read yet."""
        try:
            self._enter_workshop()
        except InstallError as error:
            # If the cache's disk is full, the next workshop is beside the destination.
            if error.part != "no-space" or not self._enter_workshop(but_not=self._directory):
                raise

    def close(self) -> None:
        self._held.close()

    @property
    def store(self) -> Store:
        assert self._store is not None
        return self._store

    def contents(self, entries: Sequence[RepositoryEntry]) -> Iterator[ObjectStream]:
        """Yield the content of each of ``entries``, in their order. What an older store has lost is fetched again."""
        done = 0
        while True:
            try:
                assert self._objects is not None
                for content in self._objects.blobs([entry.id for entry in entries[done:]]):
                    done += 1
                    yield content
                return
            except CorruptArchiveError:
                if self._is_fresh:
                    raise
                self._fetch_again()
                self._tools.git.context.phase(Phase.UNPACKING)

    def tools_for(self, link: RepositoryEntry, remote: Remote) -> Tools:
        """Return the tools for a submodule, which must not be in a more private network than this repository."""
        tools = self._admitted_for(remote)
        if remote.origin == self.remote.origin or self.remote.scheme == "file":
            return tools
        refused = partial(too_far_in, printable(link.path))
        check = address_check_for_class(self.store.network_kind(self.wanted.commit), refused)
        return replace(tools, git=Git(replace(tools.git.context, check_address=check)))

    def _admitted_for(self, remote: Remote) -> Tools:
        """Return the tools with which ``remote`` may be contacted; raise if a verifier keeps us from it."""
        context = self._tools.git.context
        if context.address_gate is None:
            return self._tools
        context.admit(remote.address)
        itself = PackageAddress(getter="git", url=remote.location)
        return replace(self._tools, git=Git(replace(context, admitted=(itself,))))

    def gitlinks(self) -> list[RepositoryEntry]:
        """Return the submodules that are wanted, or contain something wanted."""
        return [
            entry
            for entry in self.entries
            if entry.mode == Mode.GITLINK and (entry.wanted or self.selection.leads_to(entry.path))
        ]

    # --------------------------------------------------------------------------------------------- opening

    def _enter_workshop(self, *, but_not: Path | None = None) -> bool:
        """Enter the workshop and open a store. Do nothing and return ``False`` if the workshop is ``but_not``."""
        with ExitStack() as held:
            self._directory = held.enter_context(self._tools.git.context.workshop(workshop_key(self.remote)))
            if self._directory == but_not:
                return False
            held.callback(self._release)
            sweep_keys(self._directory)
            self._open_store()
            self._held = held.pop_all()
        return True

    def _open_store(self) -> None:
        for store in self._usable():
            if not store.is_complete(self.wanted.commit):
                continue
            try:
                self._read_from(store)
                return
            except CorruptArchiveError:
                # The store is damaged. A new fetch decides.
                self._release()
                store.wipe()
        self._fetch()

    def _usable(self) -> Iterator[Store]:
        """Yield the stores that may have the commit and its files."""
        kinds = (
            (Extent.TIP, Extent.HISTORY) if self.selection.is_everything else (Extent.TIP, Extent.HISTORY, Extent.LEAN)
        )
        for kind in kinds:
            store = self._store_for(kind)
            if store.path.is_dir():
                store.prepare()
                yield store

    def _fetch_again(self) -> None:
        self._release()
        self.store.wipe()
        self._fetch()

    def _fetch(self) -> None:
        self._is_fresh = True
        store = self._store_for(Extent.TIP if self.selection.is_everything else Extent.LEAN)
        store.prepare()
        git, context = self._tools.git, self._tools.git.context
        self._report_download()
        with connected(self.remote, git, self._directory) as connection:
            fetcher = Fetcher(git, connection, self._tools.budget)
            if not self._retry_in_empty_store(store, lambda: fetcher.by_commit(store, self.wanted)):
                store = full = self._store_for(Extent.HISTORY)
                store.prepare()
                self._retry_in_empty_store(full, lambda: fetcher.history(full, self.wanted))
                context.notice("the server gives no single commits, so the whole history was fetched")
        self._read_from(store)

    def _report_download(self) -> None:
        if self.remote.scheme != "file":
            self._tools.git.context.phase(Phase.DOWNLOADING)

    def _retry_in_empty_store(self, store: Store, fetch: Callable[[], T]) -> T:
        """Call ``fetch``; if it fails in a store that was not empty, empty the store and call it again."""
        self._was_empty = store.bytes() == 0
        try:
            return fetch()
        except CorruptArchiveError:
            if self._was_empty:
                raise
            store.wipe()
            self._was_empty = True
            return fetch()

    def _read_from(self, store: Store) -> None:
        self._store = store
        self._objects = objects = Objects(store, self._tools.git)
        kind, commit = objects.kind_of(self.wanted.commit)
        if kind == MISSING:
            raise CorruptArchiveError(f"the commit {self.wanted.commit} is not where it was put")
        if kind != "commit":
            raise NotFoundError(
                f"{self.wanted.commit} in {self.remote.shown} is a {kind}, not a commit",
                hint="name a branch, a commit, or a tag that leads to one",
            )
        self.tree = tree_of(commit)
        context = self._tools.git.context
        walk = Walk(context.limits, self.selection, len(self.tree) // 2, context.checkpoint)
        self.entries = walk.run(self.tree, objects.trees)
        if store.kind is Extent.LEAN:
            self._complete_files(store, objects)

    def _complete_files(self, store: Store, objects: Objects) -> None:
        lacking = self._missing_files(objects)
        if not lacking:
            return
        git = self._tools.git
        self._report_download()
        with connected(self.remote, git, self._directory) as connection:
            fetcher = Fetcher(git, connection, self._tools.budget)
            if not fetcher.blobs(store, lacking):
                whole = self._store_for(Extent.TIP)
                whole.prepare()
                if fetcher.by_commit(whole, self.wanted):
                    self._release()
                    self._store, self._objects = whole, Objects(whole, git)

    def _missing_files(self, objects: Objects) -> list[str]:
        needed = list(dict.fromkeys(self._needed_files()))
        # The server filtered either every file of a new store or none: one file tells for all, without a process.
        if needed and self._was_empty and objects.kind_of(needed[0])[0] == MISSING:
            return needed
        return objects.absent(needed)

    def _needed_files(self) -> Iterator[str]:
        needs_modules = self._tools.with_submodules and bool(self.gitlinks())
        for entry in self.entries:
            if entry.mode in _CONTENT and (entry.wanted or (needs_modules and entry.path == GITMODULES)):
                yield entry.id

    def _store_for(self, kind: Extent) -> Store:
        return Store(self._directory, kind, len(self.wanted.commit))

    def _release(self) -> None:
        objects, self._objects = self._objects, None
        if objects is not None:
            objects.close()


# ------------------------------------------------------------------------------------------------------------ members


class RepositoryMembers:
    """The members of an open package, then those of each submodule.

    Only one workshop is entered at a time. With two, threads could wait for each other's; and a repository may even be
    its own submodule.
    """

    def __init__(self, package: RepositoryPackage, tools: Tools) -> None:
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

    def _package_members(self, package: RepositoryPackage, prefix: str, nested: int) -> Iterator[Member]:
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
        self, parent: RepositoryPackage, modules: Submodules, link: RepositoryEntry, prefix: str, nested: int
    ) -> Iterator[Member]:
        path = f"{prefix}{link.path}"
        if nested > MOST_NESTED:
            raise LimitExceededError(
                f"the submodule at {printable(path)!r} is nested more than {MOST_NESTED} deep",
                part="depth",
                hint="this bound is fixed; submodules=false does without the submodules",
            )
        remote = modules.remote(link.path, parent.remote)
        package = RepositoryPackage(
            remote, WantedCommit(link.id), parent.selection.relative_to(link.path), parent.tools_for(link, remote)
        )
        try:
            package.open()
        except NotFoundError as error:
            raise NotFoundError(f"the submodule at {printable(path)!r}: {error.message}", hint=error.hint) from error
        self._tools.git.context.phase(Phase.UNPACKING)
        yield Member(path, Kind.DIRECTORY)
        yield from self._package_members(package, f"{path}/", nested)

    def _modules(self, package: RepositoryPackage) -> Submodules:
        entry = next((each for each in package.entries if each.path == GITMODULES), None)
        if entry is None:
            return Submodules({})
        if entry.mode not in _FILES:
            raise UnsafeContentError(f"{GITMODULES} in the repository is no file", part="submodule")
        (content,) = package.contents([entry])
        if content.size > WHOLE_BYTES:
            raise metadata_exceeded(f"{GITMODULES} in the repository", WHOLE_BYTES)
        return Submodules.read(b"".join(content.chunks), package.store, self._tools.git)

    def _own_members(self, package: RepositoryPackage, prefix: str) -> Iterator[Member]:
        with_content = [each for each in package.entries if each.wanted and _has_content(each)]
        contents = package.contents(with_content)
        for entry in package.entries:
            name = f"{prefix}{entry.path}"
            if entry.mode == Mode.DIRECTORY:
                yield Member(name, Kind.DIRECTORY)
            elif entry.mode == Mode.GITLINK:
                continue
            elif not entry.wanted:
                # The name may collide with another one, or be a suggestion for a subdirectory that does not exist.
                yield Member(name, Kind.SYMLINK if entry.mode == Mode.SYMLINK else Kind.FILE)
            else:
                yield self._with_content(name, entry, next(contents))

    def _with_content(self, name: str, entry: RepositoryEntry, content: ObjectStream) -> Member:
        size, chunks = content
        if entry.mode == Mode.SYMLINK:
            return Member(name, Kind.SYMLINK, target=self._target(name, content))
        if size < _LFS_BYTES and isinstance(chunks, tuple) and chunks[0].startswith(_LFS):
            self._pointers.append(name)
        return Member(name, Kind.FILE, size, entry.mode == Mode.EXECUTABLE, lambda: chunks)

    def _target(self, name: str, content: ObjectStream) -> str:
        limits = self._tools.git.context.limits
        if content.size > limits.path_bytes:
            raise limits.exceeded("path_bytes", f"the target of the link {printable(name)!r}")
        return b"".join(content.chunks).decode("utf-8", "surrogateescape")


def _has_content(entry: RepositoryEntry) -> bool:
    return entry.mode not in (Mode.DIRECTORY, Mode.GITLINK)


def _notice(context: Context, names: list[str], what: str) -> None:
    if names:
        shown = ", ".join(printable(name) for name in names[:_NAMED])
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        context.notice(f"{what}: {shown}{more}")
