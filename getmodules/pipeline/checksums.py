"""Checksums of the address: ``checksum=``, also where it names a file, as GNU coreutils and BSD write it."""

from __future__ import annotations

import re

from getmodules.addresses.core_arguments import parse_checksum
from getmodules.addresses.types import Arguments
from getmodules.api.limits import MIB
from getmodules.api.model import Blob, Elsewhere, Shape
from getmodules.api.ports import Context
from getmodules.errors import AddressError, GetModulesError, UnsupportedContentError, VerificationError
from getmodules.pipeline import gates
from getmodules.pipeline.detect import detect
from getmodules.pipeline.resolve import Location, resolve
from getmodules.pipeline.spool import read_small
from getmodules.util.digest import BY_LENGTH, STRONG, WEAK, Digest
from getmodules.util.redact import printable, redact_address
from getmodules.util.values import replace

CHECKSUM_FILE_BYTES = MIB
#: Two characters before the name, or one as some tools of BSD write it; coreutils read both.
_GNU = re.compile(r"\\?(?P<hex>[0-9A-Fa-f]{32,128})[ \t][ *]?(?P<name>.+)")
_BARE = re.compile(r"[0-9A-Fa-f]{32,128}")
_BSD = re.compile(r"(?P<algorithm>[A-Za-z0-9-]+) ?\((?P<name>.+)\) ?= ?(?P<hex>[0-9A-Fa-f]{32,128})")


def checksum_for(text: str, file_name: str) -> Digest:
    """Return the strongest checksum that ``text`` has for ``file_name``. Errors say "it"."""
    found: dict[str, set[str]] = {}
    text = text.removeprefix("\ufeff")  # a mark that editors of Windows put before a text
    bare = _bare_digest(text)
    if bare is not None:
        return bare
    for line in text.splitlines():
        digest = _digest(line.strip(), file_name)
        if digest is not None:
            found.setdefault(digest.algorithm, set()).add(digest.hex)
    for algorithm in (*reversed(tuple(STRONG)), *reversed(tuple(WEAK))):
        digests = found.get(algorithm, set())
        if len(digests) > 1:
            raise VerificationError(
                f"it has two {algorithm} checksums for {printable(file_name)!r}",
                hint=f"find out which is right, and write checksum={algorithm}:HEX",
            )
        if digests:
            return Digest(algorithm, digests.pop())
    if text.lstrip().startswith("<"):
        raise VerificationError(
            f"it is a web page, and has no checksum for {printable(file_name)!r}", hint="does its server want a login?"
        )
    raise VerificationError(
        f"it has no checksum for {printable(file_name)!r}",
        hint="lines are written 'HEX  NAME' (GNU) or 'SHA256 (NAME) = HEX' (BSD), and the name must be the archive's; "
        "or the file is one HEX, and nothing else",
    )


def _bare_digest(text: str) -> Digest | None:
    """Return the digest that is all of the text: a file that belongs to one archive, such as ``vpc.zip.sha256``."""
    found = text.strip()
    algorithm = BY_LENGTH.get(len(found))
    return None if algorithm is None or not _BARE.fullmatch(found) else Digest(algorithm, found.lower())


def _digest(line: str, file_name: str) -> Digest | None:
    match = _GNU.fullmatch(line)
    algorithm = BY_LENGTH.get(len(match["hex"]), "") if match else ""
    if match is None:
        match = _BSD.fullmatch(line)
        # OpenSSL 3 says SHA2-256 where BSD and its own older versions say SHA256.
        algorithm = match["algorithm"].lower().replace("sha2-", "sha").replace("-", "") if match else ""
    if match is None or match["name"].rpartition("/")[2] != file_name:
        return None
    try:
        return Digest(algorithm, match["hex"].lower())
    except ValueError:
        return None


def expected_checksum(location: Location, context: Context) -> Digest | None:
    """Return the digest that the address of ``location`` demands, if any."""
    return _look_up(location.package.arguments, location, context)


def servers_checksums(location: Location, context: Context) -> tuple[Digest, ...]:
    """Return the digests that servers on the way demanded besides."""
    found = (_look_up(arguments, location, context) for arguments in location.more_checksums)
    return tuple(digest for digest in found if digest is not None)


def _look_up(arguments: Arguments, location: Location, context: Context) -> Digest | None:
    checksum = parse_checksum(arguments)
    if not isinstance(checksum, str):
        return checksum
    # After a hop it may be a server that named the file: it leads no further in than the server may.
    file = Location(
        package=detect(checksum, location.catalog).address.package,
        catalog=location.catalog,
        check_address=location.check_address,
        home=location.home,
    )
    try:
        gates.admit(file.package, context)
        return checksum_for(_fetch_text(file, context), location.file_name)
    except GetModulesError as error:
        # It may be on another server than the package, and fail in the same words.
        error.within(f"the checksum file {printable(redact_address(checksum))!r}")
        raise


def _fetch_text(location: Location, context: Context) -> str:
    while True:
        location, pin = resolve(location, context)
        here = replace(location.context(context), shape=Shape.FILE)
        with location.naming_itself():
            fetched = location.getter.fetch(pin, (), here)
        if isinstance(fetched, Elsewhere):
            location = location.follow(fetched, context)
            continue
        if not isinstance(fetched, Blob):
            raise AddressError("it is a directory", hint="checksum=file: names one file")
        try:
            with location.naming_itself():
                return read_small(fetched, CHECKSUM_FILE_BYTES, context).decode("utf-8")
        except UnicodeDecodeError:
            raise UnsupportedContentError("it is not text") from None
