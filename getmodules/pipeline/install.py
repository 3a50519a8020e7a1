"""One package, all its wants: the arrows of the design, and nothing else.

::

    locate ─ GATE pin ─ fetch ─ receive (spool ─ GATE bytes ─ unpack) ─ write ─ GATE tree ─ publish

Plugins supply bytes; how many, where they go and whether they are right is decided here. Nothing reaches a
destination before the last gate, and whatever fails, every destination is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from getmodules.addresses.grammar import join_subdirs
from getmodules.addresses.types import ModuleAddress, PackageAddress
from getmodules.api.model import (
    Blob,
    Demand,
    Elsewhere,
    Evidence,
    Gate,
    Installed,
    Layers,
    Members,
    Pin,
    Request,
    Resolved,
    Tree,
    Unchanged,
    Want,
)
from getmodules.api.ports import Phase
from getmodules.errors import ContentError, FetchError, GetModulesError, SubdirectoryNotFoundError
from getmodules.pipeline.cached import (
    Cached,
    Offer,
    check_reachable,
    find_cached,
    keep_meaning,
    keep_pin,
    locked_package,
    start_location,
)
from getmodules.pipeline.checksums import expected_checksum
from getmodules.pipeline.operation import Operation, Run
from getmodules.pipeline.receive import Package, close, receive
from getmodules.pipeline.resolve import Location, module_address, module_name, resolve
from getmodules.pipeline.targets import Targets
from getmodules.util.values import replace, valueclass

#: Archives up to this size are written one at a time.
SMALL_BYTES = 1 << 20


@valueclass
class Source:
    """A package that a getter has handed over, or that the cache has; nothing of it was read yet."""

    location: Location
    pin: Pin
    wants: tuple[Want, ...]
    demands: tuple[Demand, ...]
    evidence: tuple[Evidence, ...]
    fetched: Blob | Layers | Members
    #: The package's source was asked what its address means, or else nothing new was learned.
    asked: bool
    cached: Cached | None

    def pinned(self, package: Package) -> PackageAddress | None:
        """Return the pinned address of what was fetched, or None."""
        if self.pin.id is not None:
            return self.location.pinned(self.pin)
        return None if package.digest is None else self.location.with_checksum(package.digest)


def install(request: Request, operation: Operation) -> tuple[Installed, ...]:
    """Install every want of ``request``; the first failure is raised."""
    installed = []
    with operation.private.removed_at_end():
        for result in install_each(request, operation):
            if isinstance(result, GetModulesError):
                raise result
            installed.append(result)
    return tuple(installed)


def install_each(request: Request, operation: Operation) -> tuple[Installed | GetModulesError, ...]:
    """Install each want of ``request`` at its destination, or return why not, its destination then being as it was.

    What is wrong with the package as a whole is raised, and nothing is installed then.
    """
    targets = Targets(request)
    try:
        _install(request, targets, operation)
        return targets.results()
    except (ContentError, SubdirectoryNotFoundError):
        if not targets.failed_together:
            raise
    # It may be the fault of one of them: in halves, until it is alone with it.
    half = len(request.wants) // 2
    results: list[Installed | GetModulesError] = []
    for wants in (request.wants[:half], request.wants[half:]):
        try:
            results += install_each(replace(request, wants=wants), operation)
        except GetModulesError as error:
            results += [error] * len(wants)
    return tuple(results)


def _install(request: Request, targets: Targets, operation: Operation) -> None:
    with targets.staged(operation) as wants:
        if not wants:
            return
        with operation.package(request.package, targets.spare, modules=_names(request, wants)) as run:
            with fetch(replace(request, wants=wants), run) as source:
                with source.location.naming_itself():
                    cached = source.cached.archive if source.cached else None
                    package = receive(source.fetched, source.location, source.demands, run, cached)
                _remember(request.package, source, package, run)
            run.context.phase(Phase.UNPACKING)
            with alone_with(package, operation):
                trees = targets.write(source.wants, package, run.context)
                _judge(source, package, trees, targets, run)
            run.context.checkpoint()
            if not request.aside:
                run.context.phase(Phase.INSTALLING)  # not with the lock: a progress may wait for another package
            with alone_with(package, operation):
                run.cache.sync(targets.first_tree)
                targets.publish(request.guards)
            if len(published := targets.published) < len(wants):
                run.context.progress.modules(run.context.package, _names(request, published))


def _names(request: Request, wants: Sequence[Want]) -> tuple[str, ...]:
    """Return the names of modules for people."""
    return tuple(want.name or module_name(request.package, want.subdir) for want in wants)


# -------------------------------------------------------------------------------------------------- locate, fetch


def locate(location: Location, run: Run) -> tuple[Location, Pin, Cached | None]:
    """Return where the package is and its identity: known from an earlier run, or else asked for."""
    cached = find_cached(location, run)
    if cached is not None:
        return location, cached.pin, cached
    check_reachable(location, run)
    location, pin = resolve(location, run.context)
    return location, pin, None


@contextmanager
def fetch(request: Request, run: Run) -> Iterator[Source]:
    """Locate the package, pass the first gate, fetch; again from the next location where a server sends us on.

    Until the block ends nobody else fetches the same package: by then it may be in the cache.
    """
    location = start_location(request.package, run)
    with ExitStack() as lock:
        while True:
            location, pin, cached = locate(location, run)
            asked = cached is None
            demands = (*request.demands, *location.demands)
            evidence = run.judge(Gate.PIN, pin, demands, location)
            if cached is None:
                cached = find_cached(location, run, pin)
            if cached is None:
                lock.enter_context(locked_package(location, pin, run))
                cached = find_cached(location, run, pin)  # by now, perhaps
            wants = tuple(replace(want, subdir=join_subdirs(location.subdir, want.subdir)) for want in request.wants)
            fetched, cached = _fetched(location, pin, wants, cached, run)
            if isinstance(fetched, Elsewhere):
                lock.close()
                location = location.follow(fetched, run.context)
                continue
            run.at_end.callback(close, fetched)
            yield Source(
                location=location,
                pin=pin,
                wants=wants,
                demands=demands,
                evidence=evidence,
                fetched=fetched,
                asked=asked,
                cached=cached,
            )
            return


def _fetched(
    location: Location, pin: Pin, wants: tuple[Want, ...], cached: Cached | None, run: Run
) -> tuple[Blob | Layers | Members | Elsewhere, Cached | None]:
    """Return what the cache has, or else what the getter brings."""
    if cached is not None and cached.blob is not None:
        return cached.blob, cached
    # With a pin of the cache, getters of ours ask for what is missing only, and report that themselves.
    if not location.is_local and (cached is None or not location.getter.plugin.first_party):
        run.context.phase(Phase.DOWNLOADING)
    offer = Offer(location, run)
    with location.naming_itself():
        fetched = location.getter.fetch(pin, wants, location.context(run.context, validator=offer.validator))
    if isinstance(fetched, Unchanged):
        cached, blob = offer.taken()
        return blob, cached
    return fetched, cached


def _remember(asked: PackageAddress, source: Source, package: Package, run: Run) -> None:
    """Keep for the next run what passed the gates of its bytes, whatever becomes of this installation."""
    pinned = source.pinned(package)
    if pinned is None or not source.asked:
        return
    blob = source.fetched if isinstance(source.fetched, Blob) else None
    location = source.location
    if source.cached is None:
        keep_pin(pinned, source.pin, blob, package.digest, run)
    keep_meaning(location.package, pinned, "", run, {} if blob is None else blob.validator)
    if asked != location.package:
        keep_meaning(asked, pinned, location.subdir, run)


# ------------------------------------------------------------------------------------------------ write, publish


def alone_with(package: Package, operation: Operation) -> AbstractContextManager[object]:
    """Return what is held while ``package`` is written, judged and published: the lock, for a small archive.

    To write one takes hundreds of system calls, and Python may change threads at each: side by side they take
    longer than one after the other. Nobody waits for what may take long: a large archive, members of a getter,
    an unpacker or a verifier of trees that are a plugin's.
    """
    is_small = package.packed_bytes is not None and package.packed_bytes <= SMALL_BYTES
    is_judged = any(Gate.TREE in verifier.gates for verifier in operation.catalog.verifiers)
    return operation.lock if package.is_at_hand and is_small and not is_judged else nullcontext()


def _judge(source: Source, package: Package, trees: tuple[Tree, ...], targets: Targets, run: Run) -> None:
    """Let each tree through the last gate, or note that it may not be published."""
    pairs = list(zip(source.wants, trees, strict=True))
    package_h1 = next((tree.h1 for want, tree in pairs if not want.subdir), None)
    pinned = source.pinned(package)
    for want, tree in pairs:
        with targets.failing_alone(want):
            evidence = run.judge(Gate.TREE, tree, (*source.demands, *want.demands), source.location)
            installed = Installed(
                path=want.dest,
                source=want.source,
                address=want.address,
                pinned=None if pinned is None else module_address(pinned, want.subdir).display(),
                id=source.pin.id or package.id or tree.h1,
                h1=tree.h1,
                t1=tree.t1,
                package_h1=package_h1,
                digests={**package.digests, **source.pin.digests},
                files=tree.files,
                bytes=tree.bytes,
                evidence=(*run.evidence, *source.location.evidence, *source.evidence, *package.evidence, *evidence),
                archive=package.id,
                archive_bytes=package.blob_bytes,
            )
            targets.accept(want, installed)


# ------------------------------------------------------------------------------------------------------- resolve


def resolve_address(source: str, address: ModuleAddress, operation: Operation, name: str = "") -> Resolved:
    """Return the pinned address, had without fetching the package; ``name`` is the module's in its project."""
    with operation.package(address.package, modules=(name or module_name(address.package, address.subdir),)) as run:
        location, pin, cached = locate(start_location(address.package, run), run)
        if pin.id is not None:
            package, identity = location.pinned(pin), pin.id
        else:
            checksum = expected_checksum(location, run.context)
            if checksum is None or checksum.is_weak:
                raise FetchError(
                    "there is nothing to pin it by without fetching it",
                    part="no-identity",
                    hint="getmodules get prints the pin of an archive; getmodules hash shows the hashes of a directory",
                )
            package, identity = location.with_checksum(checksum), str(checksum)
        if cached is None:
            keep_meaning(address.package, package, location.subdir, run)
        pinned = module_address(package, join_subdirs(location.subdir, address.subdir))
        return Resolved(source=source, address=address.display(), pinned=pinned.display(), id=identity)
