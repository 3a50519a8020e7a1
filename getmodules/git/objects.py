"""Objects out of a store, each hashed by us against its id: a store may have been changed, and git does not look."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from getmodules.errors import CorruptArchiveError
from getmodules.git.batch import MISSING, Batch, Header
from getmodules.git.command import Git
from getmodules.git.environment import environment
from getmodules.git.store import Store

#: So many questions are out at most: together shorter than the smallest buffer of a pipe (a page), so that to ask
#: never blocks.
_AHEAD: Final = 60
#: From here on a process of their own is worth it, which answers in large pieces.
_MANY: Final = 500
#: Up to here a file is read as a whole; larger ones come in pieces.
WHOLE_BYTES: Final = 1 << 20


class Content(NamedTuple):
    size: int
    #: A tuple of one where it is small.
    chunks: Iterable[bytes]


class Objects:
    """Reads one store. Close it: a process waits at the other end."""

    def __init__(self, store: Store, git: Git) -> None:
        self._store = store
        self._git = git
        self._batch: Batch | None = None
        self._bulk: Batch | None = None

    def close(self) -> None:
        """Also in the middle of :meth:`blobs`: whoever keeps that iterator alive, an error's traceback for example."""
        for batch in (self._batch, self._bulk):
            if batch is not None:
                batch.close()
        self._batch = self._bulk = None

    def kind_of(self, object_id: str) -> tuple[str, bytes]:
        """What an id stands for, perhaps nothing, and its bytes where it is a commit or a tag."""
        batch = self._running()
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
        """All of ``ids``, in their order."""
        batch = self._running()
        for each in self._asked(batch, ids):
            yield each, batch.whole(self._expected(batch.answer(each), "tree"))

    def blobs(self, ids: Sequence[str]) -> Iterator[Content]:
        """The content of each. What is left of it unread is skipped."""
        if len(ids) < _MANY:
            batch = self._running()
            yield from self._contents(batch, self._asked(batch, ids))
            return
        self._bulk = batch = Batch(self._store, self._git, many=True)
        try:
            batch.feed(ids)
            yield from self._contents(batch, ids)
        finally:
            batch.close()

    def _asked(self, batch: Batch, ids: Iterable[str]) -> Iterator[str]:
        """``ids``, each asked some way ahead, so that git does not wait for us."""
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

    def _contents(self, batch: Batch, asked: Iterable[str]) -> Iterator[Content]:
        for each in asked:
            data = batch.at_hand(each, "blob")
            if data is not None:
                yield Content(len(data), (data,))
                continue
            self._git.context.checkpoint()
            header = self._expected(batch.answer(each), "blob")
            if header.size <= WHOLE_BYTES:
                yield Content(header.size, (batch.whole(header),))
            else:
                pieces = batch.pieces(header)
                yield Content(header.size, pieces)
                for _ in pieces:
                    pass

    def absent(self, ids: Iterable[str]) -> list[str]:
        """Which of ``ids`` the store lacks."""
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

    def _running(self) -> Batch:
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
