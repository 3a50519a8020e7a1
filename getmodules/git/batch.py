"""One ``git cat-file --batch``: questions in, objects out, each hashed by us against its id."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from getmodules.api.limits import METADATA_BYTES, metadata_exceeded
from getmodules.errors import CorruptArchiveError
from getmodules.git.command import Git
from getmodules.git.environment import environment
from getmodules.git.store import Store
from getmodules.util.processes import kill

if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import _Hash

_PIECE: Final = 256 << 10
_PIPE_BYTES: Final = 1 << 20
#: Of many answers, one read should bring so much; where it does not, git is let run ahead for so long.
_WORTH_READING: Final = 64 << 10
_HEAD_START: Final = 0.001
_LONGEST_ANSWER: Final = 200
#: The kind of what the store does not have: nothing follows then.
MISSING: Final = "missing"


class Header(NamedTuple):
    id: str
    kind: str
    size: int


class Batch:
    """Answers come in the order of the questions, and the content of each must be read before the next.

    With ``many`` questions to come git answers in large pieces, and the last ones only after :meth:`feed`.
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
        # git writes each file on its own. A reader that is woken by every one takes turns with it, file by file, which
        # takes twice as long on a processor that others want as well.
        self._can_run_ahead = _widen(self._answers) and many
        self._buffer, self._at = b"", 0
        # It is the name that git gave, and decides nothing else: what is installed is known by sha256.
        self._hash: Callable[..., _Hash] = hashlib.sha1 if store.algorithm == "sha1" else hashlib.sha256
        threading.Thread(target=_drain, args=(self._process.stderr,), daemon=True).start()
        # Reading blocks; a process that does not answer any more is ended from outside of it.
        self._timer = threading.Timer(git.context.deadline.remaining(), kill, (self._process,))
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        self._timer.cancel()
        kill(self._process)
        self._answers.close()
        with suppress(OSError):  # a question may still be on its way to nobody
            self._questions.close()

    def ask(self, ids: Sequence[str]) -> None:
        """Few enough that they fit into the pipe: whoever blocks here reads no answers."""
        try:
            self._questions.write(_lines(ids))
            self._questions.flush()
        except OSError as error:
            raise self._broken() from error

    def feed(self, ids: Sequence[str]) -> None:
        """All questions that there will be, however many."""
        threading.Thread(target=_feed, args=(self._questions, ids), daemon=True).start()

    def at_hand(self, asked: str, kind: str) -> bytes | None:
        """The next answer's content, if it is that, and all of it has arrived already.

        Most small files have: taking all steps at once makes reading thousands of them twice as fast. ``None``: nothing
        was read, and :meth:`answer` says what it is.
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
        """The hash of an object that has been read as a whole."""
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
        self._context.checkpoint()  # its end may have been our doing
        return CorruptArchiveError("git cannot read an object of the repository: what is in the store is broken")


def _lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{each}\n" for each in ids).encode()


def _widen(stream: IO[bytes]) -> bool:
    """The more fits into the pipe, the less often two processes wait for each other. Whether it is wide now."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # as much as a user may have
            return fcntl.fcntl(stream.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES) >= _PIPE_BYTES
    return False


def _feed(stream: IO[bytes], ids: Sequence[str]) -> None:
    with suppress(OSError, ValueError), stream:  # nobody may want to know any more
        stream.write(_lines(ids))


def _drain(stream: IO[bytes]) -> None:
    with stream:
        while stream.read(_PIECE):
            pass
