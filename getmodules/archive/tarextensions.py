"""What PAX and GNU extension headers say about the member that follows them."""

from __future__ import annotations

from getmodules.api.limits import metadata_exceeded
from getmodules.archive.refusals import ambiguous, corrupt, unsupported

SPARSE_HINT = "pack it again: with GNU tar without --sparse, with bsdtar with --no-read-sparse"

#: One header; GNU tar and bsdtar write a few hundred bytes, extended attributes some kilobytes more.
EXTENSION_BYTES = 1 << 20
#: In front of one member: PAX, global PAX, a long name, a long target.
_MOST_HEADERS = 8
#: The largest size that fits into a header as octal digits.
_OCTAL_MOST = 8**11 - 1
_CHARSETS = (b"BINARY", b"ISO-IR 10646 2000 UTF-8")
_MEANINGFUL = (b"path", b"linkpath", b"size", b"hdrcharset")


class Extensions:
    """Collected from the headers in front of a member; forgotten after it."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.path: bytes | None = None
        self.target: bytes | None = None
        self._size: int | None = None
        self._seen: list[bytes] = []
        self.pending = False

    def add(self, kind: bytes, body: bytes) -> None:
        if kind in self._seen and kind != b"g":
            raise ambiguous("a member of the tar has two extension headers of one kind")
        self._seen.append(kind)
        self.pending = True
        if len(self._seen) > _MOST_HEADERS:
            raise metadata_exceeded("the extension headers of one member of the tar", _MOST_HEADERS)
        if kind == b"L":
            self._set_path(_c_string(body))
        elif kind == b"K":
            self._set_target(_c_string(body))
        else:
            self._add_pax(kind, pax_records(body))

    def size(self, in_header: int) -> int:
        """The member's size, given what its own header says about it."""
        if self._size is None or self._size == in_header:
            return in_header
        # A header that cannot hold a size says zero, or as much as it can.
        if self._size > _OCTAL_MOST and in_header in (0, _OCTAL_MOST):
            return self._size
        raise ambiguous(f"the tar gives one member two sizes: {in_header:,} and {self._size:,} bytes")

    def _add_pax(self, kind: bytes, records: dict[bytes, bytes]) -> None:
        for key, value in records.items():
            if key.startswith(b"GNU.sparse."):
                raise unsupported("the tar has a sparse file", hint=SPARSE_HINT)
            if key not in _MEANINGFUL:
                continue
            if key == b"hdrcharset":
                if value not in _CHARSETS:
                    raise unsupported("the tar has names in an unknown character set")
            elif kind == b"g" or not value:
                raise ambiguous(f"the tar has a PAX header with a strange {key.decode()}")
            elif key == b"path":
                self._set_path(value)
            elif key == b"linkpath":
                self._set_target(value)
            else:
                if not value.isdigit() or len(value) > 19:
                    raise corrupt("the tar has a PAX header whose size is no number")
                self._size = int(value)

    def _set_path(self, value: bytes) -> None:
        if self.path is not None:
            raise ambiguous("a member of the tar has two long names")
        self.path = value

    def _set_target(self, value: bytes) -> None:
        if self.target is not None:
            raise ambiguous("a member of the tar has two long link targets")
        self.target = value


def pax_records(body: bytes) -> dict[bytes, bytes]:
    """``length key=value`` lines, each with its own length in front; anything else is refused."""
    records: dict[bytes, bytes] = {}
    at = 0
    while at < len(body):
        space = body.find(b" ", at, at + 8)
        digits = body[at:space] if space > 0 else b""
        if not digits.isdigit():
            raise corrupt("the tar has a broken PAX header: a length is missing")
        end = at + int(digits)
        record = body[space + 1 : end]
        key, equals, value = record[:-1].partition(b"=")
        if end > len(body) or record[-1:] != b"\n" or not equals or not key:
            raise corrupt("the tar has a broken PAX header: a length is wrong")
        if key in records and key in _MEANINGFUL:
            raise ambiguous(f"the tar has a PAX header with two values for {key.decode()}")
        records[key] = value
        at = end
    return records


def _c_string(body: bytes) -> bytes:
    text, _, rest = body.partition(b"\0")
    if rest.strip(b"\0"):
        raise ambiguous("the tar has a long name with something behind its end")
    return text
