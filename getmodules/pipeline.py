"""One package, all its wants: the arrows of the design, and nothing else.

::

    resolve ─ GATE pin ─ fetch ─ spool ─ GATE bytes ─ unpack ─ write ─ GATE tree ─ publish

Plugins supply bytes; how many, where they go and whether they are right is decided here. Nothing reaches a
destination before the last gate, and whatever fails, every destination is as it was.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from getmodules import demands as demanded
from getmodules.address import check_url, join_subdirs
from getmodules.archive.outlet import Outlet
from getmodules.archive.writer import write_members
from getmodules.bound import first_credential
from getmodules.catalog import Catalog
from getmodules.content import Content, close, receive
from getmodules.deadline import Deadline
from getmodules.detection import is_local
from getmodules.errors import FetchError, GetModulesError
from getmodules.expected import expected_checksum
from getmodules.journey import Journey, module_address, resolve
from getmodules.limits import Limits
from getmodules.model import (
    Blob,
    Demand,
    Elsewhere,
    Evidence,
    Gate,
    Layers,
    Members,
    ModuleAddress,
    Pin,
    Request,
    Tree,
    Want,
)
from getmodules.net.credentials import from_environment
from getmodules.net.network import ClientNetwork
from getmodules.net.settings import NetSettings
from getmodules.plugins import attributed
from getmodules.ports import Context, Credential, Network, Origin, Phase, Progress
from getmodules.privatedir import Sweeper
from getmodules.reporting import Reporting
from getmodules.results import Installed, Resolved
from getmodules.staging import Staging
from getmodules.workshop import Workshops, temporary_workshops


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the pipeline works with, the same for every package."""

    catalog: Catalog
    limits: Limits
    progress: Progress
    cancelled: threading.Event = field(default_factory=threading.Event)
    sweeper: Sweeper = field(default_factory=Sweeper)
    network: Network = field(default_factory=lambda: ClientNetwork(NetSettings()))
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    def _credential(self, origin: Origin, path: str) -> Credential | None:
        """The environment is nearer to the user than a plugin is."""
        found = from_environment(self.environ, origin)
        return found or first_credential(self.catalog.credentials, origin, path)

    def context(self, package: str, workshops: Workshops, progress: Progress) -> Context:
        return Context(
            package=package,
            limits=self.limits,
            deadline=Deadline.after(self.limits.seconds),
            progress=progress,
            cancelled=self.cancelled,
            credentials=self._credential,
            workshop=workshops.open,
            network=self.network,
            environ=self.environ,
            layer_formats=self.catalog.layer_formats(),
        )


def resolve_address(source: str, address: ModuleAddress, means: Means) -> Resolved:
    """The pinned address, had without fetching the package."""
    with temporary_workshops() as workshops, reported(address.package.display(), means, workshops) as context:
        journey, pin = resolve(Journey(package=address.package), means.catalog, context)
        if pin.id is not None:
            package, identity = journey.pinned(pin), pin.id
        else:
            checksum = expected_checksum(journey, means.catalog, context)
            if checksum is None or checksum.is_weak:
                raise FetchError(
                    "there is nothing to pin it by without fetching it",
                    part="no-identity",
                    hint="getmodules get prints the pin of an archive; getmodules hash shows the h1 of a directory",
                )
            package, identity = journey.with_checksum(checksum), str(checksum)
        pinned = module_address(package, join_subdirs(journey.subdir, address.subdir))
        return Resolved(source=source, address=address.display(), pinned=pinned.display(), id=identity)


def install(request: Request, means: Means, *, force: bool = False) -> tuple[Installed, ...]:
    """Every want of ``request`` at its destination, verified; or an error, and all of them as before."""
    source_root = _source_root(request, means.catalog)
    with ExitStack() as stack:
        stagings = [
            stack.enter_context(Staging.beside(want.dest, force=force, source_root=source_root, sweeper=means.sweeper))
            for want in request.wants
        ]
        workshops = Workshops(lambda: stagings[0].spool)
        context = stack.enter_context(reported(request.package.display(), means, workshops))
        arrival = _arrive(Journey(package=request.package), request, means, context)
        stack.callback(close, arrival.fetched)
        content = receive(arrival.fetched, arrival.journey, arrival.demands, stagings[0].spool, means.catalog, context)
        with attributed(*content.plugins):
            trees = _write(content, arrival.wants, stagings, context)
        installed = _judge_trees(arrival, content, trees, means.catalog, context)
        context.checkpoint()
        context.phase(Phase.PUBLISHING)
        for staging in stagings:
            staging.publish()
    return installed


def _source_root(request: Request, catalog: Catalog) -> Path | None:
    """Where a local package lies, so that no destination is put into it, or on top of it."""
    return check_url(request.package.url).local_path() if is_local(request.package, catalog) else None


@contextmanager
def reported(package: str, means: Means, workshops: Workshops) -> Iterator[Context]:
    """The context of one package; its end is reported, and errors say which address they are about."""
    progress = Reporting(means.progress)
    try:
        yield means.context(package, workshops, progress)
    except BaseException as error:
        ended_by = progress.cancelled_by or error
        if isinstance(ended_by, GetModulesError):
            ended_by.at(package)
        progress.finished(package, ended_by)
        if ended_by is error:
            raise
        raise ended_by from None
    progress.finished(package, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrival:
    """A package that a getter has handed over; nothing of it was read yet."""

    journey: Journey
    pin: Pin
    wants: tuple[Want, ...]
    demands: tuple[Demand, ...]
    evidence: tuple[Evidence, ...]
    fetched: Blob | Layers | Members


def _arrive(journey: Journey, request: Request, means: Means, context: Context) -> _Arrival:
    """Resolve, pass the first gate, fetch; from the start again where the answer is "ask there instead"."""
    while True:
        journey, pin = resolve(journey, means.catalog, context)
        getter = journey.getter(means.catalog)
        demands = (*request.demands, *journey.all_demands(means.catalog))
        evidence = demanded.judge(Gate.PIN, pin, demands, means.catalog.verifiers, context)
        wants = tuple(replace(want, subdir=join_subdirs(journey.subdir, want.subdir)) for want in request.wants)
        context.phase(Phase.DOWNLOADING)
        fetched = getter.fetch(pin, wants, context)
        if not isinstance(fetched, Elsewhere):
            return _Arrival(journey=journey, pin=pin, wants=wants, demands=demands, evidence=evidence, fetched=fetched)
        journey = journey.onward(fetched, means.catalog)


def _write(content: Content, wants: Sequence[Want], stagings: Sequence[Staging], context: Context) -> tuple[Tree, ...]:
    context.phase(Phase.UNPACKING)
    roots: list[int] = []
    try:
        for staging in stagings:
            roots.append(staging.open_tree())
        outlets = [Outlet(want.subdir, root) for want, root in zip(wants, roots, strict=True)]
        return write_members(content.members, outlets, context, packed_bytes=content.packed_bytes)
    finally:
        for root in roots:
            os.close(root)


def _judge_trees(
    arrival: _Arrival, content: Content, trees: Sequence[Tree], catalog: Catalog, context: Context
) -> tuple[Installed, ...]:
    pairs = list(zip(arrival.wants, trees, strict=True))
    package_h1 = next((tree.h1 for want, tree in pairs if not want.subdir), None)
    installed = []
    for want, tree in pairs:
        demands = (*arrival.demands, *want.demands)
        held = demanded.judge(Gate.TREE, tree, demands, catalog.verifiers, context)
        installed.append(
            Installed(
                path=want.dest,
                source=want.source,
                address=want.address,
                pinned=_pinned(arrival, content, want),
                id=arrival.pin.id or content.id or tree.h1,
                h1=tree.h1,
                package_h1=package_h1,
                digests={**content.digests, **arrival.pin.digests},
                files=tree.files,
                bytes=tree.bytes,
                evidence=(*arrival.evidence, *content.evidence, *held),
            )
        )
    return tuple(installed)


def _pinned(arrival: _Arrival, content: Content, want: Want) -> str | None:
    if arrival.pin.id is not None:
        package = arrival.journey.pinned(arrival.pin)
    elif content.digest is not None:
        package = arrival.journey.with_checksum(content.digest)
    else:
        return None
    return module_address(package, want.subdir).display()
