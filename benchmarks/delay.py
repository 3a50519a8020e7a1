"""A TCP proxy on loopback that is as far away as it is told to be, and as narrow.

    python benchmarks/delay.py HOST:PORT SECONDS [MEGABITS]

The first line that it prints is where it listens. Every piece arrives SECONDS after it was sent, in both directions.
Without MEGABITS that is all: what is added is latency, not less bandwidth. With it, all connections together
get so many megabits in a second, in each direction, and take turns.
"""

from __future__ import annotations

import asyncio
import socket
import sys

#: What is read at once; of a narrow link less, so that small answers do not wait for long behind large ones.
_PIECE, _NARROW_PIECE = 1 << 16, 1 << 14
#: How much sooner than it can be sent a piece is read: a timer that is late must not leave the link idle.
_AHEAD_SECONDS = 0.01


class Link:
    """One direction, of all connections."""

    def __init__(self, seconds: float, megabits: float | None) -> None:
        self.seconds = seconds
        self.piece = _PIECE if megabits is None else _NARROW_PIECE
        self._seconds_per_byte = 0.0 if megabits is None else 8e-6 / megabits
        self._free = 0.0

    def take(self, size: int, now: float) -> float:
        """When the last of ``size`` bytes has gone out."""
        self._free = max(now, self._free) + size * self._seconds_per_byte
        return self._free


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: Link) -> None:
    loop = asyncio.get_running_loop()
    while piece := await reader.read(link.piece):
        sent = link.take(len(piece), loop.time())
        loop.call_at(sent + link.seconds, _write, writer, piece)
        early = sent - loop.time() - _AHEAD_SECONDS
        if early > 0:
            await asyncio.sleep(early)
    loop.call_at(link.take(0, loop.time()) + link.seconds, _end, writer)


def _write(writer: asyncio.StreamWriter, piece: bytes) -> None:
    if not writer.is_closing():
        writer.write(piece)


def _end(writer: asyncio.StreamWriter) -> None:
    if not writer.is_closing():
        writer.close()


async def main(target: str, seconds: float, megabits: float | None) -> None:
    host, _, port = target.rpartition(":")
    there, back = Link(seconds, megabits), Link(seconds, megabits)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        for each in (writer, far_writer):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.gather(pump(reader, far_writer, there), pump(far_reader, writer, back))
        except ConnectionError:
            _end(writer)
            _end(far_writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    listening = server.sockets[0].getsockname()
    print(f"{listening[0]}:{listening[1]}", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else None))
