"""Objects of a store: read through ``git cat-file --batch``, hashed against their ids, and parsed.

A store may have been changed, and git does not check what it reads: so each object is hashed here. The parsers of
commits, tags and trees are pure, and refuse what git itself would not have written.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.archive.dot_git import is_dot_git
from getmodules.errors import CorruptArchiveError, UnsafeContentError
from getmodules.getters.git.environment import environment
from getmodules.getters.git.process import Git
from getmodules.getters.git.store import Store
from getmodules.util.processes import kill
from getmodules.util.redact import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import _Hash


#: The most requests without an answer: together shorter than the smallest buffer of a pipe (a page), so that writing
#: them never blocks.
_AHEAD: Final = 60
#: From this number of files on, a process of their own is worth its start: it answers in large pieces.
_MANY: Final = 500
#: The largest file that is read as a whole; larger ones are read in pieces.
WHOLE_BYTES: Final = 1 << 20
#: The kind of an object that the store does not have.
MISSING: Final = "missing"


class ObjectStream(NamedTuple):
    """The content of one file."""

    size: int
    #: A tuple with one piece if the file is small.
    chunks: Iterable[bytes]


class Objects:
    """Reader of one store. It must be closed, since it has a running process."""

    def __init__(self, store: Store, git: Git) -> None:
        self._store = store
        self._git = git
        self._batch: Batch | None = None
        self._bulk: Batch | None = None

    def close(self) -> None:
        """End the processes, also in the middle of :meth:`blobs`, whose iterator a traceback may keep alive."""
        for batch in (self._batch, self._bulk):
            if batch is not None:
                batch.close()
        self._batch = self._bulk = None

    def kind_of(self, object_id: str) -> tuple[str, bytes]:
        """Return the kind of an object, :data:`MISSING` if there is none, and the bytes of a commit or a tag."""
        batch = self._small_batch()
        batch.ask([object_id])
        header = batch.answer(object_id)
        if header.kind == MISSING:
            return MISSING, b""
        if header.kind in ("commit", "tag"):
            return header.kind, batch.whole(header)
        for _ in batch.pieces(header):
            pass
        return header.kind, b""

    def trees(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the bytes of all trees ``ids``, in their order."""
        batch = self._small_batch()
        for each in self._request_ahead(batch, ids):
            yield each, batch.whole(self._expected(batch.answer(each), "tree"))

    def blobs(self, ids: Sequence[str]) -> Iterator[ObjectStream]:
        """Yield the content of each file. The unread rest of one is skipped."""
        if len(ids) < _MANY:
            batch = self._small_batch()
            yield from self._contents(batch, self._request_ahead(batch, ids))
            return
        self._bulk = batch = Batch(self._store, self._git, many=True)
        try:
            batch.feed(ids)
            yield from self._contents(batch, ids)
        finally:
            batch.close()

    def _request_ahead(self, batch: Batch, ids: Iterable[str]) -> Iterator[str]:
        """Yield ``ids``, and request them some way ahead, so that git does not wait for us."""
        source = iter(ids)
        asked: deque[str] = deque()
        while True:
            more = list(islice(source, _AHEAD - len(asked))) if len(asked) < _AHEAD // 2 else []
            if more:
                asked.extend(more)
                batch.ask(more)
            if not asked:
                return
            yield asked.popleft()

    def _contents(self, batch: Batch, asked: Iterable[str]) -> Iterator[ObjectStream]:
        for each in asked:
            data = batch.next_buffered(each, "blob")
            if data is not None:
                yield ObjectStream(len(data), (data,))
                continue
            self._git.context.checkpoint()
            header = self._expected(batch.answer(each), "blob")
            if header.size <= WHOLE_BYTES:
                yield ObjectStream(header.size, (batch.whole(header),))
            else:
                pieces = batch.pieces(header)
                yield ObjectStream(header.size, pieces)
                for _ in pieces:
                    pass

    def absent(self, ids: Iterable[str]) -> list[str]:
        """Return those of ``ids`` that the store lacks."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return []
        done = self._git.run(
            ["cat-file", "--batch-check=%(objectname)", "--buffer"],
            environment(self._git.context.environ, self._store.path),
            given="".join(f"{each}\n" for each in wanted).encode(),
        )
        answers = done.output.splitlines()
        lacking = [line.partition(b" ")[0].decode() for line in answers if line.endswith(b" missing")]
        if done.code != 0 or len(answers) != len(wanted) or not set(lacking) <= set(wanted):
            raise CorruptArchiveError("git cannot tell what it has of the repository")
        return lacking

    def _small_batch(self) -> Batch:
        if self._batch is None:
            self._batch = Batch(self._store, self._git)
        return self._batch

    @staticmethod
    def _expected(header: Header, kind: str) -> Header:
        if header.kind == MISSING:
            raise CorruptArchiveError(f"the {kind} {header.id} of the repository is not there")
        if header.kind != kind:
            raise CorruptArchiveError(f"{header.id} in the repository is a {header.kind}, where a {kind} belongs")
        return header


# ------------------------------------------------------------------------------------------------- one process of git


_PIECE: Final = 256 << 10
_PIPE_BYTES: Final = 1 << 20
#: The least that one read of many answers should get; if it gets less, git is given a head start.
_WORTH_READING: Final = 64 << 10
_HEAD_START: Final = 0.001
_LONGEST_ANSWER: Final = 200


class Header(NamedTuple):
    """The first line of an answer."""

    id: str
    kind: str
    size: int


class Batch:
    """One ``git cat-file --batch``, which answers in the order of the requests.

    The content of each answer must be read before the next answer. With ``many``, git answers in large pieces, and the
    last ones only after :meth:`feed`.
    """

    def __init__(self, store: Store, git: Git, *, many: bool = False) -> None:
        self._context = git.context
        buffered = ["--buffer"] if many else []
        self._process = git.start(
            ["cat-file", "--batch", *buffered], environment(git.context.environ, store.path), talks=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._questions: IO[bytes] = self._process.stdin
        self._answers: IO[bytes] = self._process.stdout
        # git writes each file on its own. A reader that wakes up for each of them alternates with git, which takes
        # twice as long on a busy processor.
        self._can_run_ahead = _widen(self._answers) and many
        self._buffer, self._at = b"", 0
        # SHA-1 only identifies the object; what is installed is verified by SHA-256.
        self._hash: Callable[..., _Hash] = hashlib.sha1 if store.algorithm == "sha1" else hashlib.sha256
        threading.Thread(target=_drain, args=(self._process.stderr,), daemon=True).start()
        # Reading blocks, so a timer ends a process that does not answer any more.
        self._timer = threading.Timer(git.context.deadline.remaining(), kill, (self._process,))
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        self._timer.cancel()
        kill(self._process)
        self._answers.close()
        with suppress(OSError):  # a request may still be buffered
            self._questions.close()

    def ask(self, ids: Sequence[str]) -> None:
        """Request objects: few enough to fit into the pipe, since a caller that blocks here reads no answers."""
        try:
            self._questions.write(_lines(ids))
            self._questions.flush()
        except OSError as error:
            raise self._broken() from error

    def feed(self, ids: Sequence[str]) -> None:
        """Request all objects that will be needed, however many, from a thread."""
        threading.Thread(target=_feed, args=(self._questions, ids), daemon=True).start()

    def next_buffered(self, asked: str, kind: str) -> bytes | None:
        """Return the content of the next answer, if it is that object and has arrived as a whole; otherwise ``None``.

        That is so for most small files, and doing all steps at once makes reading thousands of them twice as fast. If
        ``None``, nothing was read, and :meth:`answer` must be called.
        """
        buffer = self._buffer
        size_at = self._at + len(asked) + len(kind) + 2
        first = buffer.find(b"\n", size_at, self._at + _LONGEST_ANSWER) + 1
        written = buffer[size_at : first - 1]
        if not (first and written.isdigit() and buffer.startswith(f"{asked} {kind} ".encode(), self._at)):
            return None
        after = first + int(written)
        data = buffer[first:after]
        if buffer[after : after + 1] != b"\n" or self._name_of(kind, data).hexdigest() != asked:
            return None
        self._at = after + 1
        return data

    def answer(self, asked: str) -> Header:
        """Read the header of the next answer, which must be for ``asked``."""
        end = self._buffer.find(b"\n", self._at)
        while end < 0:
            if len(self._buffer) - self._at > _LONGEST_ANSWER:
                raise self._broken()
            self._fill()
            end = self._buffer.find(b"\n", self._at)
        words = self._buffer[self._at : end].split(b" ")
        self._at = end + 1
        if words[0] != asked.encode() or len(words) not in (2, 3):
            raise self._broken()
        if words[1:] == [b"missing"]:
            return Header(asked, MISSING, 0)
        if len(words) != 3 or not words[2].isdigit():
            raise self._broken()
        return Header(asked, words[1].decode("ascii", "replace"), int(words[2]))

    def whole(self, header: Header) -> bytes:
        """Read the content as a whole, and check its hash."""
        if header.size > METADATA_BYTES:
            raise metadata_exceeded(f"the {header.kind} {header.id} of the repository")
        after = self._at + header.size
        if after >= len(self._buffer):
            return b"".join(self.pieces(header))
        data = self._buffer[self._at : after]
        self._at = after
        self._end(header, self._name_of(header.kind, data))
        return data

    def pieces(self, header: Header) -> Iterator[bytes]:
        """Read the content piece by piece, and check its hash at the end."""
        digest = self._hash(b"%s %d\0" % (header.kind.encode(), header.size), usedforsecurity=False)
        left = header.size
        while left:
            if self._at == len(self._buffer):
                self._fill()
            piece = self._buffer[self._at : self._at + left]
            self._at += len(piece)
            left -= len(piece)
            digest.update(piece)
            yield piece
        self._end(header, digest)

    def _name_of(self, kind: str, data: bytes) -> _Hash:
        """Return the hash of an object that has been read as a whole."""
        return self._hash(b"%s %d\0%s" % (kind.encode(), len(data), data), usedforsecurity=False)

    def _end(self, header: Header, digest: _Hash) -> None:
        if self._at == len(self._buffer):
            self._fill()
        if self._buffer[self._at : self._at + 1] != b"\n":
            raise self._broken()
        self._at += 1
        if digest.hexdigest() != header.id:
            raise CorruptArchiveError(
                f"the {header.kind} {header.id} of the repository has other bytes than its id says"
            )

    def _fill(self) -> None:
        piece = os.read(self._answers.fileno(), _PIECE)
        if not piece:
            raise self._broken()
        self._buffer, self._at = self._buffer[self._at :] + piece, 0
        if self._can_run_ahead and len(piece) < _WORTH_READING:
            time.sleep(_HEAD_START)

    def _broken(self) -> Exception:
        self._context.checkpoint()  # we may have ended the process ourselves
        return CorruptArchiveError("git cannot read an object of the repository: what is in the store is broken")


def _lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{each}\n" for each in ids).encode()


def _widen(stream: IO[bytes]) -> bool:
    """Enlarge the buffer of a pipe, so that two processes wait for each other less often; return whether it is."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # beyond the user's limit
            return fcntl.fcntl(stream.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES) >= _PIPE_BYTES
    return False


def _feed(stream: IO[bytes], ids: Sequence[str]) -> None:
    with suppress(OSError, ValueError), stream:  # the process may have been ended
        stream.write(_lines(ids))


def _drain(stream: IO[bytes]) -> None:
    with stream:
        while stream.read(_PIECE):
            pass


# ------------------------------------------------------------------------------------ parsing commits, tags and trees


_ID = rb"(?:[0-9a-f]{40}|[0-9a-f]{64})"
_COMMIT = re.compile(rb"tree (%s)\n" % _ID)
_TAG = re.compile(rb"object (%s)\ntype (commit|tree|blob|tag)\n" % _ID)


class Mode:
    """The modes of a tree's entries."""

    DIRECTORY: Final = 0o040000
    FILE: Final = 0o100644
    EXECUTABLE: Final = 0o100755
    SYMLINK: Final = 0o120000
    GITLINK: Final = 0o160000


_MODES: Final = {
    b"%o" % mode: mode for mode in (Mode.DIRECTORY, Mode.FILE, Mode.EXECUTABLE, Mode.SYMLINK, Mode.GITLINK)
}
#: Modes of files, as old importers wrote them; like git, we use the owner's right to execute only.
_FILE_MODE = re.compile(rb"10[0-7]{4}")
_OWNER_EXECUTES: Final = 0o100


class TreeEntry(NamedTuple):
    """One entry of one tree object."""

    mode: int
    name: str
    id: str


def tree_of(commit: bytes) -> str:
    """Return the id of a commit's root tree."""
    found = _COMMIT.match(commit)
    if found is None:
        raise CorruptArchiveError("a commit in the repository names no tree")
    return found[1].decode()


def target_of(tag: bytes) -> tuple[str, str]:
    """Return the id and the kind of the object that an annotated tag points at."""
    found = _TAG.match(tag)
    if found is None:
        raise CorruptArchiveError("a tag in the repository names no object")
    return found[1].decode(), found[2].decode()


def tree_entries(tree: bytes, id_bytes: int) -> Iterator[TreeEntry]:
    """Yield the entries of a tree. They must be in git's own order, so none can occur twice."""
    position, end, before = 0, len(tree), b""
    while position < end:
        blank = tree.find(b" ", position, position + 8)
        nul = tree.find(b"\0", blank) if blank > 0 else -1
        if nul < 0 or nul + 1 + id_bytes > end:
            raise CorruptArchiveError("a tree in the repository ends within an entry")
        raw_mode, raw_name = tree[position:blank], tree[blank + 1 : nul]
        position = nul + 1 + id_bytes
        name = raw_name.decode("utf-8", "surrogateescape")
        mode = _mode(raw_mode)
        if mode is None:
            raise CorruptArchiveError(
                f"{printable(name)!r} in the repository has the mode {printable(ascii(raw_mode))}"
            )
        _check_name(name)
        # A directory sorts as if its name ended in a slash.
        key = raw_name + b"/" if mode == Mode.DIRECTORY else raw_name
        if key <= before:
            raise CorruptArchiveError(f"{printable(name)!r} in the repository is out of order, or there twice")
        before = key
        yield TreeEntry(mode, name, tree[nul + 1 : position].hex())


def _mode(raw: bytes) -> int | None:
    mode = _MODES.get(raw)
    if mode is None and _FILE_MODE.fullmatch(raw):
        return Mode.EXECUTABLE if int(raw, 8) & _OWNER_EXECUTES else Mode.FILE
    return mode


def _check_name(name: str) -> None:
    if not name or name == ".":
        raise _hostile(name, "bad-name", "is no name")
    if name == "..":
        raise _hostile(name, "parent-path", "leads out of its directory")
    if "/" in name:
        raise _hostile(name, "absolute-path" if name.startswith("/") else "bad-name", "has a slash in it")
    if is_dot_git(name):
        raise _hostile(name, "dot-git", "is git's own directory, at least on some systems")


def _hostile(name: str, part: str, what: str) -> UnsafeContentError:
    return UnsafeContentError(f"the name {printable(name)!r} in a tree of the repository {what}", part=part)
