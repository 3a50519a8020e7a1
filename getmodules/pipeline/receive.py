"""Receiving: what a getter handed over becomes members to write; a blob is spooled and passes the second gate.

Nothing reads a blob as an archive before that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from getmodules.addresses.core_arguments import Treatment
from getmodules.api.model import Archive, Blob, Demand, Evidence, Gate, Kind, Layers, Member, Members
from getmodules.api.ports import Context, Phase
from getmodules.archive.layers import merged
from getmodules.archive.source import FORMATS, HEAD_BYTES, looks_like, opened, pieces
from getmodules.errors import (
    AddressError,
    ConfigError,
    CorruptArchiveError,
    FetchError,
    InstallError,
    LockMismatchError,
    OfflineError,
    UnsupportedContentError,
    VerificationError,
)
from getmodules.files.download_file import DownloadFile
from getmodules.files.os_errors import name_full_disk, translated
from getmodules.pipeline import gates
from getmodules.pipeline.checksums import expected_checksum, servers_checksums
from getmodules.pipeline.operation import Run
from getmodules.pipeline.resolve import Location
from getmodules.pipeline.spool import OWN_ALGORITHM, checked_size, spool, with_digests
from getmodules.plugins.adapters import UnpackerAdapter
from getmodules.plugins.catalog import Catalog
from getmodules.plugins.getter_adapter import GetterAdapter
from getmodules.plugins.guard import GuardedIterable
from getmodules.plugins.loader import Plugin, attributed
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.values import field, replace, valueclass

#: A download of at least so many bytes stays where a run ends early.
RESUMED_BYTES = 1 << 20


def _no_advice() -> str | None:
    return None


@valueclass
class Package:
    """Members to write, and what is known of the bytes that they come from."""

    members: Members
    #: The plugins that brought them: the getter's, and the unpacker's.
    plugins: tuple[Plugin, ...]
    #: The archive's own digest and size; None where there is no archive.
    digest: Digest | None = None
    packed_bytes: int | None = None
    #: The size of the one blob that it came as, archive or not.
    blob_bytes: int | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    #: Only our own unpackers read the members, and from archives that are here: nobody is waited for meanwhile.
    is_at_hand: bool = False
    #: Says what to do where the archive turns out not to be of the format that it was said to be.
    advice: Callable[[], str | None] = _no_advice

    @property
    def id(self) -> str | None:
        return None if self.digest is None else str(self.digest)

    @contextmanager
    def advised(self) -> Iterator[None]:
        """Add the advice to an error that says that the archive is broken."""
        try:
            yield
        except CorruptArchiveError as error:
            hint = self.advice()
            if hint is not None:
                error.advise(hint)
            raise


def receive(
    fetched: Blob | Layers | Members,
    location: Location,
    demands: tuple[Demand, ...],
    run: Run,
    cached: Archive | None = None,
) -> Package:
    """Return what a getter handed over as members that may be written; ``cached`` is a blob that the cache has."""
    plugin = location.getter.plugin
    if isinstance(fetched, Members):
        _refuse_what_needs_bytes(location.treatment, demands)
        _refuse_where_a_verifier_needs_bytes(run.catalog)
        return Package(members=fetched, plugins=(plugin,), digests=fetched.digests)
    if isinstance(fetched, Layers):
        _refuse_what_needs_bytes(location.treatment, demands)
        return _receive_layers(fetched, location, run)
    return _receive_blob(fetched, location, demands, run, cached)


def _receive_blob(
    blob: Blob, location: Location, demands: tuple[Demand, ...], run: Run, cached: Archive | None
) -> Package:
    plugin = location.getter.plugin
    with attributed(plugin):
        plan = _unpacker(blob, location.treatment, run.catalog)
    demands = (*demands, *_bytes_demands(blob, location, run.context))
    with attributed(plugin), _spooled(blob, "package", demands, location, run, cached=cached) as archive:
        run.context.phase(Phase.VERIFYING)
        evidence = run.judge(Gate.BYTES, archive, demands, location)
        digest = archive.digests[OWN_ALGORITHM]
        known_as = blob.digests[0] if blob.digests else digest
        archive = run.cache.keep(archive, known_as)
    package = Package(
        members=Members(()),
        plugins=(plugin,),
        digest=digest,
        blob_bytes=archive.size,
        digests={blob.key: str(known_as)},
        evidence=evidence,
    )
    if isinstance(plan, str):
        return replace(package, members=_single_file(archive, plan, run.context))
    advice = _no_advice
    if blob.format is None:  # a name, a server or the address said what it is
        advice = partial(_other_format, archive, plan, location.getter, run.catalog)
    return replace(
        package,
        members=plan.unpack(archive, run.context),
        plugins=(plugin, plan.plugin),
        packed_bytes=archive.size,
        is_at_hand=plan.plugin.first_party,
        advice=advice,
    )


def _receive_layers(layers: Layers, location: Location, run: Run) -> Package:
    """Return the members that all layers hold together; each layer is a blob that passes the second gate."""
    plugin = location.getter.plugin
    evidence: list[Evidence] = []
    readers: list[Callable[[], Iterable[Member]]] = []
    spent = packed = 0
    ours, seen = True, set[Digest]()
    for number, blob in enumerate(layers.blobs):
        with attributed(plugin):
            unpacker = _unpacker(blob, Treatment(), run.catalog)
            assert isinstance(unpacker, UnpackerAdapter)  # layers say their format
            demands = gates.of_promises(blob.digests, "the source")
            with _spooled(blob, f"layer-{number}", demands, location, run, spent=spent) as archive:
                run.context.phase(Phase.VERIFYING)
                evidence += run.judge(Gate.BYTES, archive, demands, location)
                if blob.digests:
                    archive = run.cache.keep(archive, blob.digests[0])
                archive = replace(archive, content=None)  # there may be thousands of them
        readers.append(partial(_members_of, unpacker, archive, run.context))
        ours = ours and unpacker.plugin.first_party
        spent += archive.size
        # One layer many times brings no more bytes that more may be unpacked from.
        packed += archive.size if archive.digests[OWN_ALGORITHM] not in seen else 0
        seen.add(archive.digests[OWN_ALGORITHM])
    return Package(
        members=Members(merged(readers, run.context.limits), strict=True),
        plugins=(plugin,),
        packed_bytes=packed,
        evidence=tuple(evidence),
        is_at_hand=ours,
    )


def _members_of(unpacker: UnpackerAdapter, archive: Archive, context: Context) -> Iterable[Member]:
    return unpacker.unpack(archive, context).items


@contextmanager
def _spooled(
    blob: Blob,
    name: str,
    demands: tuple[Demand, ...],
    location: Location,
    run: Run,
    *,
    spent: int = 0,
    cached: Archive | None = None,
) -> Iterator[Archive]:
    """Yield the blob as a file, counted and hashed; nothing is asked for that the cache has.

    Where its digest is known, nobody else brings it before the block ends: by then it may be in the cache.
    """
    algorithms = {OWN_ALGORITHM, *gates.algorithms(demands)}
    archive = _cached(blob, algorithms, run) if cached is None else with_digests(cached, algorithms)
    with ExitStack() as lock:
        if archive is None and blob.digests:
            lock.enter_context(run.cache.locked(str(blob.digests[0]), run.context))
            archive = _cached(blob, algorithms, run)  # by now, perhaps
        if archive is None:
            run.context.phase(Phase.VERIFYING if location.is_local else Phase.DOWNLOADING, blob.size)
            archive = _downloaded(blob, name, algorithms, _identity(blob, demands, location), run, spent)
        yield archive


def _cached(blob: Blob, algorithms: set[str], run: Run) -> Archive | None:
    for digest in blob.digests:
        archive = run.cache.find(digest, algorithms)
        if archive is not None:
            return checked_size(blob, archive)
    return None


def _downloaded(blob: Blob, name: str, algorithms: set[str], identity: str | None, run: Run, spent: int) -> Archive:
    with translated("cannot store the download"):
        into = run.cache.download_file(name, identity)
    try:
        return spool(_continued(blob, into, run), into, algorithms, run.context, spent=spent)
    except InstallError as error:
        raise name_full_disk(error, into.path.parent) from error.__cause__  # it may have moved since it was made
    except OfflineError as error:
        if not blob.digests:
            raise
        raise run.cache.missing(str(blob.digests[0])) from error


def _identity(blob: Blob, demands: tuple[Demand, ...], location: Location) -> str | None:
    """Return what says that another run's beginning of this download is of the same bytes; None where nothing does.

    That is a digest, or the server's promise: a strong entity tag. Small blobs are fetched again sooner.
    """
    if blob.rest is None or blob.size is None or blob.size < RESUMED_BYTES:
        return None
    digests = sorted(
        demand.value
        for demand in demands
        if demand.gate is Gate.BYTES and not Digest.parse(demand.value, weak=True).is_weak
    )
    if digests:
        return digests[-1]
    tag = blob.validator.get("ETag", "")
    return f"{location.package}\0{tag}\0{blob.size}" if tag.startswith('"') else None


def _continued(blob: Blob, into: DownloadFile, run: Run) -> Blob:
    """Return the part of the blob that ``into`` lacks; where only the whole can be had, start over with that."""
    assert blob.size is not None or not into.size
    if not into.size:
        return blob
    chunks: Iterable[bytes] | None = None
    if into.size == blob.size:
        chunks = ()
    elif blob.rest is not None and into.size < (blob.size or 0):
        chunks = blob.rest(into.size)
    if chunks is None:
        with translated("cannot store the download"):
            into.start_over()
        return blob
    run.context.notice(f"{into.size:,} of {blob.size:,} bytes are here already, from a run that ended early")
    run.context.advance(into.size)
    rest = replace(blob, chunks=chunks)
    run.at_end.callback(close, rest)
    return rest


def close(fetched: Blob | Layers | Members) -> None:
    """Give a getter its connection back, also where not one byte of it was read."""
    if isinstance(fetched, Layers):
        for blob in fetched.blobs:
            close(blob)
        return
    source = fetched.chunks if isinstance(fetched, Blob) else fetched.items
    if isinstance(source, GuardedIterable):
        source.close()


def _refuse_what_needs_bytes(treatment: Treatment, demands: tuple[Demand, ...]) -> None:
    """Refuse demands on bytes for what has no one archive: they must fail, not be skipped."""
    hint = 'a directory is verified with --expect t1:… or h1:…, or in a manifest with expect = "t1:…"'
    if treatment.checksum is not None:
        raise AddressError("checksum= is of an archive's bytes, and this is a directory", hint=hint)
    if treatment.filename is not None:
        raise AddressError("filename= is for a single file, and this is a directory", hint="leave it out")
    if treatment.archive is not None:
        raise AddressError("archive= is for a file, and this is a directory", hint="leave it out")
    for demand in demands:
        if demand.gate is Gate.BYTES:
            if demand.check == gates.LOCK:
                raise LockMismatchError(
                    "the lock has an archive's digest for what is a directory now", hint=gates.HINTS[gates.LOCK]
                )
            raise ConfigError(f"{demand.by} wants {demand.value} of an archive, and this is a directory", hint=hint)


def _refuse_where_a_verifier_needs_bytes(catalog: Catalog) -> None:
    """Refuse where a verifier can only judge archives: its silence must not count as consent."""
    for verifier in catalog.verifiers:
        if Gate.BYTES in verifier.gates and Gate.TREE not in verifier.gates:
            raise VerificationError(
                f"the verifier {printable(verifier.name)!r} judges archives, and this is a directory",
                hint=f"a verifier with the gate of trees can judge it; or --no-plugin {verifier.plugin.name}",
            )


def _bytes_demands(blob: Blob, location: Location, context: Context) -> tuple[Demand, ...]:
    demands = list(gates.of_promises(blob.digests, "the source"))
    checksum = expected_checksum(location, context)
    if checksum is not None:
        demands.append(gates.of_checksum(checksum, "the address"))
        if checksum.is_weak:
            context.notice(f"a {checksum.algorithm} checksum can be forged; sha256 cannot")
    demands += (gates.of_checksum(each, "the server") for each in servers_checksums(location, context))
    return tuple(demands)


def _unpacker(blob: Blob, treatment: Treatment, catalog: Catalog) -> UnpackerAdapter | str:
    """Return the unpacker for ``blob``, or the file name under which it is installed as it is."""
    if blob.format is not None:
        if blob.format not in catalog.formats:
            raise UnsupportedContentError(f"there is no unpacker for the format {printable(blob.format)!r}")
        return catalog.formats[blob.format]
    if isinstance(treatment.archive, str):
        return catalog.formats[treatment.archive]
    name = treatment.filename or blob.name
    if treatment.archive is False:
        if not name or "/" in name:
            raise UnsupportedContentError("the single file has no usable name", hint="name it with filename=NAME")
        return name
    unpacker = catalog.unpacker_for_name(blob.name or "")
    if unpacker is None and blob.media_type is not None:
        unpacker = catalog.unpacker_for_media_type(blob.media_type)
    if unpacker is None:
        what = "what arrived has no name to recognise an archive by"
        if blob.name:
            what = f"{printable(blob.name)!r} is no archive that can be recognised by its name"
        known = ", ".join(catalog.formats.names)
        says = f"archive=FORMAT says what it is ({known}); " if known else "no plugin that unpacks archives is loaded; "
        raise UnsupportedContentError(what, hint=f"{says}archive=false installs it as a single file")
    return unpacker


def _other_format(archive: Archive, unpacker: UnpackerAdapter, getter: GetterAdapter, catalog: Catalog) -> str | None:
    looks = None
    with suppress(FetchError, OSError), opened(archive) as file:
        looks = looks_like(file.read(HEAD_BYTES))
    name = FORMATS.get(looks or "")
    if name is None or name not in catalog.formats or name in unpacker.names or "archive" not in getter.core_arguments:
        return None
    return f"the bytes look like {looks}: archive={name} in the address says so"


def _single_file(archive: Archive, name: str, context: Context) -> Members:
    return Members((Member(name, Kind.FILE, archive.size, False, partial(_content_of, archive, context)),), strict=True)


def _content_of(archive: Archive, context: Context) -> Iterator[bytes]:
    with opened(archive) as file:
        yield from pieces(file, context.checkpoint)
