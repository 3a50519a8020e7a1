"""The entries of a commit's tree that are wanted, and the submodules in ``.gitmodules``.

Trees are read level by level, and only as far as needed. The author of a repository writes its ``.gitmodules``, so
git parses it, and each URL is checked like one in an address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from getmodules.api.limits import METADATA_BYTES, Limits, metadata_exceeded
from getmodules.archive.selection import plain_start
from getmodules.errors import AddressError, CorruptArchiveError, NotFoundError, UnsafeContentError
from getmodules.getters.git.environment import environment
from getmodules.getters.git.objects import Mode, TreeEntry, tree_entries
from getmodules.getters.git.process import Git
from getmodules.getters.git.remote import Remote
from getmodules.getters.git.store import Store
from getmodules.util.redact import printable
from getmodules.util.values import field, valueclass

#: The memory that one entry takes besides its characters.
_ENTRY_OVERHEAD: Final = 300
#: Returns the bytes of trees, in the order of their ids.
ReadTrees = Callable[[Iterable[str]], Iterator[tuple[str, bytes]]]


class RepositoryEntry(NamedTuple):
    """A file, directory, link or submodule in a commit, by its path."""

    path: str
    mode: int
    id: str
    #: Whether its content is installed; of other entries only the name is used.
    wanted: bool


class _Directory(NamedTuple):
    """A tree that is to be read."""

    path: str
    id: str
    wanted: bool


@valueclass(kw_only=False)
class PathSelection:
    """The paths of a package that are needed. Of a glob, the parts before the first wildcard count."""

    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, subdirs: Iterable[str]) -> PathSelection:
        return cls(tuple(dict.fromkeys(map(plain_start, subdirs))))

    @property
    def is_everything(self) -> bool:
        return "" in self.prefixes

    def includes(self, path: str) -> bool:
        """Return whether ``path`` is wanted, or is below a wanted path."""
        return any(not prefix or path == prefix or path.startswith(f"{prefix}/") for prefix in self.prefixes)

    def leads_to(self, path: str) -> bool:
        """Return whether ``path`` is a parent of a wanted path."""
        return any(prefix.startswith(f"{path}/") for prefix in self.prefixes)

    def relative_to(self, path: str) -> PathSelection:
        """Return the selection for the submodule at ``path``, relative to that."""
        if self.includes(path):
            return PathSelection(("",))
        start = f"{path}/"
        return PathSelection(tuple(each.removeprefix(start) for each in self.prefixes if each.startswith(start)))


@valueclass(kw_only=False, frozen=False)
class Walk:
    """Reader of all wanted entries, with limits: a few bytes can describe a tree with billions of files."""

    limits: Limits
    selection: PathSelection
    id_bytes: int
    checkpoint: Callable[[], None]
    _wanted: int = 0
    _remembered: int = 0
    _deepest: int = field(init=False)
    entries: list[RepositoryEntry] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Counted from the root. The writer counts from the wanted directory, which may be that deep itself.
        longest = max(prefix.count("/") for prefix in self.selection.prefixes)
        self._deepest = self.limits.depth + longest + 1

    def run(self, root: str, read: ReadTrees) -> Sequence[RepositoryEntry]:
        level = [_Directory("", root, self.selection.is_everything)]
        while level:
            below: list[_Directory] = []
            contents = read(directory.id for directory in level)
            for directory, (_, tree) in zip(level, contents, strict=True):
                self.checkpoint()
                for entry in tree_entries(tree, self.id_bytes):
                    self._take(directory, entry, below)
            level = below
        return self.entries

    def _take(self, parent: _Directory, entry: TreeEntry, below: list[_Directory]) -> None:
        mode, name, object_id = entry
        path = f"{parent.path}/{name}" if parent.path else name
        wanted = parent.wanted or self.selection.includes(path)
        self._count(path, wanted)
        self.entries.append(RepositoryEntry(path, mode, object_id, wanted))
        if mode == Mode.DIRECTORY and (wanted or self.selection.leads_to(path)):
            below.append(_Directory(path, object_id, wanted))

    def _count(self, path: str, wanted: bool) -> None:
        self._remembered += 2 * len(path) + _ENTRY_OVERHEAD
        if self._remembered > 4 * METADATA_BYTES:
            raise metadata_exceeded("the names in the repository")
        if not wanted:
            return
        self._wanted += 1
        if self._wanted > self.limits.entries:
            raise self.limits.exceeded("entries", "the files and directories in the repository")
        if path.count("/") > self._deepest:
            raise self.limits.exceeded("depth", f"the name {printable(path)!r} is too deep")


# --------------------------------------------------------------------------------------------------------- submodules


GITMODULES: Final = ".gitmodules"
_HINT: Final = "submodules=false does without the submodules"


@valueclass(kw_only=False)
class Submodules:
    """The URLs of submodules by path. The settings for updates of a checkout (``update``, ``branch``) are ignored."""

    urls: dict[str, str]

    @classmethod
    def read(cls, content: bytes, store: Store, git: Git) -> Submodules:
        done = git.run(
            ["config", "--null", "--no-includes", "--file", "-", "--get-regexp", r"^submodule\..*\.(path|url)$"],
            environment(git.context.environ, store.path),
            given=content,
        )
        if done.code not in (0, 1):  # 1: it has no submodules
            raise CorruptArchiveError(f"{GITMODULES} in the repository cannot be read", hint=_HINT)
        by_name: dict[str, dict[str, str]] = {}
        for item in filter(None, done.output.decode("utf-8", "surrogateescape").split("\0")):
            key, _, value = item.partition("\n")
            name, _, what = key.removeprefix("submodule.").rpartition(".")
            by_name.setdefault(name, {})[what] = value
        urls: dict[str, str] = {}
        for values in by_name.values():
            if "path" in values and "url" in values:
                path = values["path"].rstrip("/")
                if urls.setdefault(path, values["url"]) != values["url"]:
                    raise UnsafeContentError(
                        f"{GITMODULES} in the repository has two URLs for the submodule at {printable(path)!r}",
                        part="submodule",
                        hint=_HINT,
                    )
        return cls(urls)

    def remote(self, path: str, parent: Remote) -> Remote:
        """Return the remote of the submodule at ``path``."""
        typed = self.urls.get(path)
        if typed is None:
            raise NotFoundError(
                f"the submodule at {printable(path)!r} has no URL in the {GITMODULES} of the repository", hint=_HINT
            )
        try:
            remote = parent.submodule(typed)
        except AddressError as error:
            raise UnsafeContentError(
                f"the submodule at {printable(path)!r} cannot be fetched: {error.message}", part="submodule", hint=_HINT
            ) from error
        if remote.scheme == "file" and parent.scheme != "file":
            raise UnsafeContentError(
                f"the submodule at {printable(path)!r} is a path of this machine, and the repository is not on it",
                part="local-source",
                hint=_HINT,
            )
        return remote
