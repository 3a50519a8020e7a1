"""Git repositories made by hand, object by object, right ones and those that no git would ever make.

Nothing here runs git: what it refuses to write is what a hostile server sends.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

WHO = b"Ada <ada@example.org>"
#: 2020-09-13, so that ids are the same in every run.
WHEN = 1_600_000_000


class Entry(NamedTuple):
    """One line of a tree, with whatever mode and name it is given."""

    mode: bytes
    name: bytes
    id: str


class Link(str):
    """The target of a symbolic link, where :meth:`Repository.files` takes content."""

    __slots__ = ()


class Program(bytes):
    """Content of an executable file."""


class Gitlink(str):
    """The commit of a submodule."""

    __slots__ = ()


Content = bytes | Link | Program | Gitlink

FILE, PROGRAM, LINK, DIRECTORY, GITLINK = b"100644", b"100755", b"120000", b"40000", b"160000"


class Repository:
    """A bare repository. ``algorithm`` is ``sha1`` or ``sha256``."""

    def __init__(self, path: Path, *, algorithm: str = "sha1", branch: str = "main") -> None:
        self.path = path
        self.algorithm = algorithm
        self._clock = WHEN
        for name in ("objects/pack", "objects/info", "refs/heads", "refs/tags"):
            (path / name).mkdir(parents=True)
        version = "1\n[extensions]\n\tobjectFormat = sha256" if algorithm == "sha256" else "0"
        (path / "config").write_text(f"[core]\n\trepositoryformatversion = {version}\n[core]\n\tbare = true\n")
        self.head(f"refs/heads/{branch}")

    # ---------------------------------------------------------------------------------------- objects

    def put(self, kind: str, data: bytes, *, named: str | None = None) -> str:
        """A loose object; ``named`` gives it an id that is not its own."""
        whole = b"%s %d\0%s" % (kind.encode(), len(data), data)
        name = named or hashlib.new(self.algorithm, whole).hexdigest()
        self._write(name, zlib.compress(whole, 1))
        return name

    def damage(self, name: str, stored: bytes) -> None:
        """What lies at the place of the object ``name``, as bytes on the disk."""
        self._file(name).unlink()
        self._write(name, stored)

    def forget(self, name: str) -> None:
        self._file(name).unlink()

    def _file(self, name: str) -> Path:
        return self.path / "objects" / name[:2] / name[2:]

    def _write(self, name: str, stored: bytes) -> None:
        file = self._file(name)
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(stored)

    def blob(self, data: bytes) -> str:
        return self.put("blob", data)

    def tree(self, *entries: Entry, in_order: bool = True) -> str:
        """``in_order=False`` leaves the entries as they are given, which git never does."""
        ordered = sorted(entries, key=_git_order) if in_order else entries
        return self.put("tree", b"".join(b"%s %s\0%s" % (e.mode, e.name, bytes.fromhex(e.id)) for e in ordered))

    def files(self, files: Mapping[str, Content]) -> str:
        """A tree of ``files``, whose names may lead into directories."""
        entries: dict[str, Entry] = {}
        below: dict[str, dict[str, Content]] = {}
        for name, content in files.items():
            first, slash, rest = name.partition("/")
            if slash:
                below.setdefault(first, {})[rest] = content
            else:
                entries[first] = self._entry(first, content)
        for name, inner in below.items():
            entries[name] = Entry(DIRECTORY, name.encode(), self.files(inner))
        return self.tree(*entries.values())

    def _entry(self, name: str, content: Content) -> Entry:
        if isinstance(content, Gitlink):
            return Entry(GITLINK, name.encode(), content)
        if isinstance(content, Link):
            return Entry(LINK, name.encode(), self.blob(content.encode()))
        return Entry(PROGRAM if isinstance(content, Program) else FILE, name.encode(), self.blob(content))

    def commit(self, tree: str, *parents: str, message: str = "a commit") -> str:
        self._clock += 1
        signature = b"%s %d +0000" % (WHO, self._clock)
        lines = [
            f"tree {tree}".encode(),
            *(f"parent {parent}".encode() for parent in parents),
            b"author " + signature,
            b"committer " + signature,
            b"",
            message.encode(),
            b"",
        ]
        return self.put("commit", b"\n".join(lines))

    def annotate(self, target: str, name: str, *, kind: str = "commit") -> str:
        """The object of an annotated tag; a ref must still name it."""
        text = f"object {target}\ntype {kind}\ntag {name}\ntagger {WHO.decode()} {WHEN} +0000\n\nannotated\n"
        return self.put("tag", text.encode())

    # ---------------------------------------------------------------------------------------- names

    def ref(self, name: str, target: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(target + "\n")

    def head(self, ref: str) -> None:
        (self.path / "HEAD").write_text(f"ref: {ref}\n")

    def branch(self, target: str, name: str = "main") -> str:
        self.ref(f"refs/heads/{name}", target)
        return target

    def tag(self, target: str, name: str) -> str:
        self.ref(f"refs/tags/{name}", target)
        return target

    # ---------------------------------------------------------------------------------------- in one go

    def commit_files(self, files: Mapping[str, Content], *parents: str, branch: str = "main") -> str:
        """A commit of ``files``, as the tip of ``branch``."""
        return self.branch(self.commit(self.files(files), *parents), branch)

    def commit_tree(self, *entries: Entry, in_order: bool = True) -> str:
        return self.branch(self.commit(self.tree(*entries, in_order=in_order)))

    def commit_names(self, names: Iterable[bytes], *, in_order: bool = True) -> str:
        """A commit with a file of each of ``names``, exactly so."""
        return self.commit_tree(*(Entry(FILE, name, self.blob(name)) for name in names), in_order=in_order)


def _git_order(entry: Entry) -> bytes:
    """git compares directories as though their names ended with a slash."""
    return entry.name + (b"/" if entry.mode == DIRECTORY else b"")


def modules(**sections: Mapping[str, str]) -> bytes:
    """A ``.gitmodules``: by name of a submodule its settings."""
    lines = []
    for name, settings in sections.items():
        lines.append(f'[submodule "{name}"]')
        lines += [f"\t{key} = {value}" for key, value in settings.items()]
    return "\n".join([*lines, ""]).encode()


def lfs_pointer(content: bytes) -> bytes:
    """What Git LFS commits in the place of ``content``."""
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n".encode()


def colliding(repository: Repository, digits: int, *, most: int = 200_000) -> tuple[str, str]:
    """Two commits whose ids begin with the same ``digits`` digits, so that a short hash of as many is ambiguous."""
    tree = repository.files({"main.tf": b"# main\n"})
    seen: dict[str, bytes] = {}
    signature = f"{WHO.decode()} {WHEN} +0000"
    for number in range(most):
        text = f"tree {tree}\nauthor {signature}\ncommitter {signature}\n\n{number}\n".encode()
        name = hashlib.new(repository.algorithm, b"commit %d\0%s" % (len(text), text)).hexdigest()
        other = seen.setdefault(name[:digits], text)
        if other != text:
            return repository.put("commit", other), repository.put("commit", text)
    raise AssertionError(f"no two of {most:,} commits begin with the same {digits} digits")
