"""A git server that answers with whatever pack a test wants, which no git would ever make."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.support.gitrepos import Repository
from tests.support.servers import Connection, Received, Server, serving

_TYPES = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_CAPABILITIES = (
    "side-band-64k shallow ofs-delta no-progress allow-tip-sha1-in-want allow-reachable-sha1-in-want "
    "symref=HEAD:refs/heads/main object-format=sha1 agent=tests"
)
_FLUSH = b"0000"
_LONGEST = 65_515


def objects_of(repository: Repository) -> list[tuple[str, bytes]]:
    """Each loose object: its kind and its data."""
    found = []
    for file in sorted(repository.path.glob("objects/??/*")):
        stored = file.read_bytes()
        if stored:  # not one that was emptied
            header, _, data = zlib.decompress(stored).partition(b"\0")
            found.append((header.decode().split(" ")[0], data))
    return found


def pack_of(objects: Iterable[tuple[str, bytes]], *, count: int | None = None, trailer: bytes | None = None) -> bytes:
    """A pack; ``count`` and ``trailer`` are what it claims instead of the truth."""
    bodies = [object_header(kind, len(data)) + zlib.compress(data) for kind, data in objects]
    pack = struct.pack(">4sII", b"PACK", 2, len(bodies) if count is None else count) + b"".join(bodies)
    return sealed(pack) if trailer is None else pack + trailer


def sealed(pack: bytes) -> bytes:
    """``pack`` with the trailer that belongs to it."""
    return pack + hashlib.sha1(pack).digest()


def object_header(kind: str, size: int) -> bytes:
    first = _TYPES[kind] << 4 | size & 15
    size >>= 4
    header = bytearray()
    while size:
        header.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    header.append(first)
    return bytes(header)


@dataclass
class HandMade:
    """What to say. ``refs`` is sent as it is, in its order; the first one carries the capabilities."""

    refs: Mapping[bytes, str]
    pack: bytes = b""
    #: On the band of progress, before the pack.
    progress: Iterable[bytes] = ()
    #: On the band of errors, instead of the pack.
    error: bytes | None = None
    #: Instead of a list of refs.
    advertisement: Iterable[bytes] | None = None
    wanted: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, repository: Repository) -> Self:
        """All objects and branches of ``repository``, whatever they are."""
        refs = {
            f"refs/heads/{file.name}".encode(): file.read_text().strip()
            for file in sorted((repository.path / "refs" / "heads").iterdir())
        }
        return cls({b"HEAD": refs[b"refs/heads/main"], **refs}, pack_of(objects_of(repository)))


@contextmanager
def hand_made(answer: HandMade) -> Iterator[Server]:
    """Serves ``answer`` under every path, as a server of the protocol's first version does."""

    def reply(connection: Connection, request: Received) -> bool | None:
        if request.method == "GET":
            body = _advertised(answer) if answer.advertisement is None else answer.advertisement
            return _send(connection, "advertisement", body)
        answer.wanted += [line[5:45].decode() for line in _lines(request.body) if line.startswith(b"want ")]
        return _send(connection, "result", _packed(answer, request.body))

    with serving(reply) as server:
        yield server


def _advertised(answer: HandMade) -> Iterator[bytes]:
    yield packet(b"# service=git-upload-pack\n") + _FLUSH
    capabilities = b"\0" + _CAPABILITIES.encode()
    for name, target in answer.refs.items():
        yield packet(target.encode() + b" " + name + capabilities + b"\n")
        capabilities = b""
    yield _FLUSH


def _packed(answer: HandMade, request: bytes) -> Iterator[bytes]:
    lines = list(_lines(request))
    if any(line.startswith(b"deepen") for line in lines):
        yield b"".join(packet(b"shallow " + line[5:45]) for line in lines if line.startswith(b"want ")) + _FLUSH
    if not any(line.startswith(b"done") for line in lines):
        return
    yield packet(b"NAK\n")
    for piece in answer.progress:
        yield packet(b"\2" + piece)
    if answer.error is not None:
        yield packet(b"\3" + answer.error)
    else:
        for start in range(0, len(answer.pack), _LONGEST):
            yield packet(b"\1" + answer.pack[start : start + _LONGEST])
    yield _FLUSH


def _send(connection: Connection, kind: str, pieces: Iterable[bytes]) -> bool:
    connection.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: no-cache\r\n"
        f"Content-Type: application/x-git-upload-pack-{kind}\r\n\r\n"
    )
    for piece in pieces:
        if connection.stopping.is_set():
            return False
        connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    connection.send("0\r\n\r\n")
    return True


def packet(data: bytes) -> bytes:
    return b"%04x%s" % (len(data) + 4, data)


def _lines(request: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(request):
        length = int(request[place : place + 4], 16)
        yield request[place + 4 : place + length]
        place += max(length, 4)


def package(path: Path, files: Mapping[str, bytes]) -> tuple[str, list[tuple[str, bytes]]]:
    """A commit of ``files``: its id, and all objects that a pack of it needs."""
    repository = Repository(path)
    return repository.commit_files(files), objects_of(repository)
