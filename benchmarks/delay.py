"""A TCP proxy on loopback that holds every piece back for a while, in both directions.

    python benchmarks/delay.py HOST:PORT SECONDS

The first line that it prints is where it listens. It never holds up one piece for another: what is added is
latency, not less bandwidth.
"""

from __future__ import annotations

import asyncio
import socket
import sys


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Deliver each piece ``seconds`` after it came."""
    loop = asyncio.get_running_loop()
    while piece := await reader.read(1 << 16):
        loop.call_later(seconds, _write, writer, piece)
    loop.call_later(seconds, _end, writer)


def _write(writer: asyncio.StreamWriter, piece: bytes) -> None:
    if not writer.is_closing():
        writer.write(piece)


def _end(writer: asyncio.StreamWriter) -> None:
    if not writer.is_closing():
        writer.close()


async def main(target: str, seconds: float) -> None:
    host, _, port = target.rpartition(":")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        for each in (writer, far_writer):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.gather(pump(reader, far_writer, seconds), pump(far_reader, writer, seconds))
        except ConnectionError:
            _end(writer)
            _end(far_writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    listening = server.sockets[0].getsockname()
    print(f"{listening[0]}:{listening[1]}", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
