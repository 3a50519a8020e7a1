"""Web servers that do everything wrong that a web server can do, each under its name, with what must come of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from getmodules.net.settings import NetSettings
from tests.support.fakes import ZIP
from tests.support.servers import Answer, Connection, Received, replying, silent

TRIES = 3
REDIRECTS = 11
#: Waits that are long enough for the busiest machine, where the fault is not about waiting.
PATIENT = NetSettings(
    connect_seconds=20, timeout=20, rate_window_seconds=20, rate_window_bytes=1000, backoff_seconds=0.01,
    retries=TRIES - 1,
)  # fmt: skip
#: Where it is, nobody waits long: what hangs is to be ended by these, twice.
HASTY = NetSettings(
    connect_seconds=0.5, timeout=0.5, rate_window_seconds=0.7, rate_window_bytes=1000, backoff_seconds=0.01,
    retries=1,
)  # fmt: skip
DOWNLOAD_BYTES = 1 << 20
DAY = 86_400


@dataclass(frozen=True)
class Fault:
    """``asked``: how many requests arrive, no more and no fewer."""

    name: str
    answer: Answer
    code: str
    asked: int = 1
    settings: NetSettings = field(default=PATIENT)
    limits: dict[str, int] = field(default_factory=dict)


# ------------------------------------------------------------------------------------------ how it is said


def raw(*parts: bytes | str, end: str = "close") -> Answer:
    """These bytes, and the end of the connection: in order, or with a reset; or it is left ``open``."""

    def answer(connection: Connection, _: Received) -> bool:
        for part in parts:
            connection.send(part)
        if end == "reset":
            return connection.reset()
        if end == "open":
            connection.sleep(60)
        return False

    return answer


def head(*headers: str, status: str = "200 OK") -> str:
    return "\r\n".join((f"HTTP/1.1 {status}", *headers, "", ""))


def repeated(start: str, piece: bytes | str, seconds: float = 0.0) -> Answer:
    """``start``, and ``piece`` again and again until the other side has enough."""

    def answer(connection: Connection, _: Received) -> bool:
        connection.send(start)
        while not connection.stopping.is_set():
            connection.send(piece)
            if seconds:
                connection.sleep(seconds)
        return False

    return answer


def byte_by_byte(connection: Connection, request: Received) -> bool:
    """Resumes properly, and brings one byte for each request."""
    start = int(request.headers.get("Range", "bytes=0-")[6:-1])
    status = "206 Partial Content" if start else "200 OK"
    where = [f"Content-Range: bytes {start}-{len(ZIP) - 1}/{len(ZIP)}"] if start else []
    connection.send(head('ETag: "1"', f"Content-Length: {len(ZIP) - start}", *where, status=status))
    connection.send(ZIP[start : start + 1])
    return False


class Resumed:
    """Half a body, and whatever somebody says who was asked for the other half."""

    def __init__(self, second: Answer) -> None:
        self._second = second

    def __call__(self, connection: Connection, request: Received) -> bool | None:
        if "Range" in request.headers:
            return self._second(connection, request)
        connection.send(head('ETag: "1"', LENGTH))
        connection.send(ZIP[:HALF])
        return False


LENGTH = f"Content-Length: {len(ZIP)}"
HALF = len(ZIP) // 2
REST = ZIP[HALF:]
SIZE = f"{len(ZIP):x}"
CHUNKED = "Transfer-Encoding: chunked"
CHUNK = b"%x\r\n%b\r\n" % (len(ZIP), ZIP)
LOGIN = b"<!DOCTYPE html><title>Sign in</title>"


def resumed(name: str, *headers: str, body: bytes = REST, asked: int = TRIES, code: str = "network") -> Fault:
    second = raw(head(f"Content-Length: {len(body)}", *headers, status="206 Partial Content"), body)
    return Fault(f"resumed: {name}", Resumed(second), code, asked)


def _framing() -> Iterator[Fault]:
    always = {"code": "network", "asked": TRIES}
    #: The next answer would be announced in the same way.
    once = {"code": "network", "asked": 1}
    yield Fault("truncated", raw(head(LENGTH), ZIP[:HALF]), **always)
    yield Fault("truncated for ever", raw(head(LENGTH, 'ETag: "1"'), ZIP[:HALF]), **always)
    yield Fault("one byte for each request", byte_by_byte, **always)
    yield Fault("cut at once", raw(head(LENGTH, 'ETag: "1"')), **always)
    yield Fault("longer than announced", raw(head(f"Content-Length: {len(ZIP) - 1}"), ZIP), "corrupt-archive")
    yield Fault("two lengths", raw(head(LENGTH, "Content-Length: 5"), ZIP), **once)
    yield Fault("the same length twice", raw(head(LENGTH, LENGTH), ZIP), **once)
    yield Fault("two lengths in one header", raw(head(f"{LENGTH}, {len(ZIP)}"), ZIP), **once)
    yield Fault("a length beside chunks", raw(head(LENGTH, CHUNKED), CHUNK, "0\r\n\r\n"), **once)
    for length in ("-5", "+5", "0x10", "1_0", "ten", "5;", "", "9" * 5_000, "²"):
        shown = length if len(length) < 10 else f"{len(length):,} digits"
        yield Fault(f"length {shown!r}", raw(head(f"Content-Length: {length}"), ZIP), **once)
    for folded in (
        "Transfer-Encoding:\r\n chunked",
        "Transfer-Encoding: chunked\r\n ",
        f"Content-Length:\r\n {len(ZIP)}",
    ):
        yield Fault(f"in two lines: {folded!r}", raw(head(folded), CHUNK, "0\r\n\r\n"), **once)
    for encoding in ("gzip, chunked", "xchunked", "gzip", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked"):
        answer = raw(head(f"Transfer-Encoding: {encoding}"), CHUNK, "0\r\n\r\n")
        yield Fault(f"transferred as {encoding!r}", answer, **once)
    for written in ("zz", "", "5 5", "-5", "+{}", "0x{}", "0_{}", " {}", "{}\n"):
        answer = raw(head(CHUNKED), written.format(SIZE), "\r\n", ZIP, "\r\n0\r\n\r\n")
        yield Fault(f"chunk of {written!r}", answer, **always)
    for end in ("", "\n\n", "XX", "\n"):
        yield Fault(f"chunk that ends with {end!r}", raw(head(CHUNKED), CHUNK[:-2], end, "0\r\n\r\n"), **always)
    yield Fault("chunk of 40 digits", raw(head(CHUNKED), "f" * 40, "\r\n", ZIP), **always)
    yield Fault("chunks without an end", raw(head(CHUNKED), CHUNK), **always)
    yield Fault("cut in a chunk", raw(head(CHUNKED), CHUNK[:HALF]), **always)
    yield Fault("chunk longer than it says", raw(head(CHUNKED), "5\r\nhello, world\r\n0\r\n\r\n"), **always)
    yield Fault("endless chunk size", raw(head(CHUNKED), "0" * 100_000), **always)
    yield Fault("gzip", replying("200 OK", ZIP, Content_Encoding="gzip"), **once)
    yield Fault("identity, gzip", replying("200 OK", ZIP, Content_Encoding="identity, gzip"), **once)


def _resumption() -> Iterator[Fault]:
    where = f"Content-Range: bytes {HALF}-{len(ZIP) - 1}/{len(ZIP)}"
    yield resumed("another range", where.replace(f" {HALF}-", f" {HALF + 1}-"))
    yield resumed("from the beginning", where.replace(f" {HALF}-", " 0-"))
    yield resumed("another size", where.replace(f"/{len(ZIP)}", f"/{len(ZIP) + 1}"))
    yield resumed("without saying which")
    yield resumed("in two parts", "Content-Type: multipart/byteranges; boundary=x")
    yield resumed("too short", where, body=REST[:-1], asked=2)
    yield resumed("too long", where, body=REST + b"junk", asked=2)
    yield Fault("resumed: 304", Resumed(replying("304 Not Modified")), "network", 2)
    yield Fault("resumed: 416", Resumed(replying("416 No")), "network", 2)
    yield Fault("resumed: gone", Resumed(replying("404 Gone")), "not-found", 2)
    yield Fault("resumed: who are you?", Resumed(replying("401 No")), "authentication", 2)
    yield Fault(
        "resumed: to a file", Resumed(replying("302 Found", Location="file:///x")), "unsafe-content/elsewhere", 2
    )
    other = bytes(len(ZIP))
    yield Fault("resumed: another body", Resumed(replying("200 OK", other, ETag='"1"')), "network", 2)
    yield Fault("resumed: a page", Resumed(replying("200 OK", LOGIN, ETag='"1"')), "network", 2)


def _time_and_amount() -> Iterator[Fault]:
    hasty: dict[str, Any] = {"code": "network/timeout", "asked": 2, "settings": HASTY}
    little: dict[str, Any] = {"code": "limit-exceeded/download-bytes", "limits": {"download_bytes": DOWNLOAD_BYTES}}
    yield Fault("infinite", repeated(head(), bytes(1 << 16)), **little)
    yield Fault("infinite chunks", repeated(head(CHUNKED), b"4000\r\n" + bytes(0x4000) + b"\r\n"), **little)
    yield Fault("a length of a tebibyte", repeated(head(f"Content-Length: {1 << 40}"), bytes(1 << 16)), **little)
    yield Fault("slow body", repeated(head(LENGTH), "x", 0.05), **hasty)
    yield Fault("slow body that can be resumed", repeated(head(LENGTH, 'ETag: "1"'), "x", 0.05), **hasty)
    yield Fault("slow headers", repeated("HTTP/1.1 200 OK\r\nX: ", "x", 0.05), **hasty)
    yield Fault("slow lines of headers", repeated("HTTP/1.1 200 OK\r\n", "X: y\r\n", 0.05), **hasty)
    yield Fault("silent", silent, **hasty)
    yield Fault("silent after the headers", raw(head(LENGTH), end="open"), **hasty)
    yield Fault("silent in the body", raw(head(LENGTH), ZIP[:HALF], end="open"), **hasty)
    yield Fault("endless 100 Continue", repeated("", "HTTP/1.1 100 Continue\r\n\r\n"), **hasty)
    hints = "HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n"
    yield Fault("endless 103 Early Hints", repeated("", hints, 0.01), "network")
    nothing = head(CHUNKED, status="204 No Content")
    yield Fault("nothing, in chunks for ever", repeated(nothing, b"1\r\nx\r\n"), "network")
    yield Fault("nothing, in slow chunks", repeated(nothing, b"1\r\nx\r\n", 0.2), "network")
    yield Fault("endless trailers", repeated(head(CHUNKED) + "0\r\n", "X: y\r\n"), **hasty)
    yield Fault(
        "fast enough, and without an end", repeated(head(), bytes(2000), 0.05), "network/timeout",
        limits={"seconds": 1},
    )  # fmt: skip
    yield Fault("silent beyond the deadline", silent, "network/timeout", limits={"seconds": 1})
    yield Fault("reset at once", raw(end="reset"), "network", TRIES)
    yield Fault("reset in the headers", raw("HTTP/1.1 200 OK\r\nX-", end="reset"), "network", TRIES)
    yield Fault("reset in the body", raw(head(LENGTH, 'ETag: "1"'), ZIP[:HALF], end="reset"), "network", TRIES)
    yield Fault("nothing", raw(), "network", TRIES)
    yield Fault("another protocol", raw("SSH-2.0-OpenSSH_9\r\n"), "network")
    yield Fault("a status of words", raw("HTTP/1.1 fine OK\r\n\r\n"), "network")
    yield Fault("status 0", raw("HTTP/1.1 000 OK\r\n\r\n"), "network")
    yield Fault("flood of headers", raw(head(*["X: y"] * 200, LENGTH), ZIP), "network", TRIES)
    yield Fault("endless header", repeated("HTTP/1.1 200 OK\r\nX: ", "y" * 10_000), "network", TRIES)
    yield Fault("endless status line", repeated("HTTP/1.1 200 ", "y" * 10_000), "network", TRIES)
    yield Fault("headers without an end", raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"), "network", TRIES)


def _statuses() -> Iterator[Fault]:
    yield Fault("login page", replying("200 OK", LOGIN, Content_Type="text/html"), "unsupported-content/web-page")
    yield Fault("login page as a zip", replying("200 OK", LOGIN, Content_Type="application/zip"), WEB_PAGE)
    yield Fault("error in JSON", replying("200 OK", b'{"error": 1}', Content_Type="application/json"), WEB_PAGE)
    yield Fault("empty", replying("200 OK"), "corrupt-archive")
    yield Fault("201", replying("201 Created", ZIP), "network")
    yield Fault("202", replying("202 Accepted", ZIP), "network")
    yield Fault("204", replying("204 No Content"), "network")
    yield Fault("204 with a body", raw(head(LENGTH, status="204 No Content"), ZIP), "network")
    yield Fault("205", replying("205 Reset Content"), "network")
    yield Fault("304 unasked", replying("304 Not Modified", ETag='"1"'), "network")
    yield Fault("206 unasked", replying("206 Partial", ZIP, Content_Range=f"bytes 0-{len(ZIP) - 1}/*"), "network")
    yield Fault("300", replying("300 Choices", ZIP), "network")
    yield Fault("302 without a Location", replying("302 Found", ZIP), "network")
    yield Fault("400", replying("400 No", b"\x1b[2Jno"), "network")
    yield Fault("401", replying("401 No", WWW_Authenticate='Basic realm="evil"'), "authentication")
    yield Fault("403", replying("403 No"), "authentication/forbidden")
    yield Fault("404", replying("404 No"), "not-found")
    yield Fault("407", replying("407 No", Proxy_Authenticate="Basic"), "authentication")
    yield Fault("410", replying("410 Gone"), "not-found")
    yield Fault("error with an infinite body", repeated(head(status="404 No"), bytes(1 << 16)), "not-found")
    for status in ("408 Late", "425 Early", "500 Oops", "502 Bad", "503 Busy", "504 Late"):
        yield Fault(f"{status[:3]} for ever", replying(status), "network", TRIES)
    yield Fault("501", replying("501 Not Implemented"), "network")
    for wait in ("soon", "-1", "1e3", "0x1", "Wed, 99 Foo 2026", "", "\xb2", "Thu, 01 Jan 1970 00:00:00 GMT"):
        yield Fault(f"503, Retry-After {wait!r}", replying("503 Busy", Retry_After=wait), "network", TRIES)
    for wait in (str(DAY), "9" * 4_000, "Fri, 31 Dec 9999 23:59:59 GMT"):
        yield Fault(f"429, Retry-After {wait[:12]}", replying("429 Slow", Retry_After=wait), "rate-limited")
        yield Fault(f"503, Retry-After {wait[:12]}", replying("503 Busy", Retry_After=wait), "network")
    yield Fault("429 for ever", replying("429 Slow", Retry_After="0"), "rate-limited", TRIES)


def _locations() -> Iterator[Fault]:
    yield Fault("redirect to itself", replying("302 Found", Location="/x.zip"), "fetch/too-many-hops", REDIRECTS)
    yield Fault("redirects without an end", _longer, "fetch/too-many-hops", REDIRECTS)
    for location in (
        "file:///etc/passwd", "FILE:/etc/passwd", "ftp://127.0.0.1/x.zip", "data:application/zip,x", "git::https://h/x",
        "javascript:x", "http://", "http:///x", "http://[", "http://127.0.0.1:0/", "http://127.0.0.1:65536/",
        "http://user@127.0.0.1/", "//user:pw@127.0.0.1/", "http://good\\@evil/", "/a b", "/a\tb", "/\x1b[2J",
        "http://127.0.0.1:8x/", "https://[fe80::1%25eth0]/x", "/" + "x" * 9_000, "///etc", "http:\\\\evil\\x",
    ):  # fmt: skip
        shown = location if len(location) < 50 else f"{len(location):,} characters"
        yield Fault(f"redirect to {shown!r}", replying("302 Found", Location=location), "unsafe-content/elsewhere")


WEB_PAGE = "unsupported-content/web-page"


def _longer(connection: Connection, request: Received) -> bool:
    return connection.reply("307 On", b"", Location=f"{request.target.partition('?')[0]}x")


FAULTS = tuple(itertools.chain(_framing(), _resumption(), _time_and_amount(), _statuses(), _locations()))
