"""One package, all its wants: the arrows of the design, and nothing else.

::

    resolve ─ GATE pin ─ fetch ─ spool ─ GATE bytes ─ unpack ─ write ─ GATE tree ─ publish

Plugins supply bytes; how many, where they go and whether they are right is decided here. Nothing reaches a
destination before the last gate, and whatever fails, every destination is as it was.

The first half of a package's way: known or resolved, past the first gate, and fetched or at hand already.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from getmodules.addresses.grammar import join_subdirs
from getmodules.addresses.types import ModuleAddress, PackageAddress
from getmodules.api.model import (
    Archive,
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
from getmodules.api.ports import Context, Fetched, Phase
from getmodules.archive.selection import Output
from getmodules.archive.writer import write_members
from getmodules.cache.session import Workshops, temporary_workshops
from getmodules.errors import ContentError, CorruptArchiveError, FetchError, GetModulesError
from getmodules.files.staging import Staging
from getmodules.pipeline import gates as demanded
from getmodules.pipeline.checksums import expected_checksum
from getmodules.pipeline.detect import local_root
from getmodules.pipeline.operation import Means, Reporting
from getmodules.pipeline.recall import Known, Recall
from getmodules.pipeline.receive import Content, Place, close, receive
from getmodules.pipeline.resolve import Journey, module_address, resolve
from getmodules.plugins.catalog import Catalog
from getmodules.plugins.loader import attributed
from getmodules.util.values import replace, valueclass


@valueclass
class Arrival:
    """A package that a getter has handed over; nothing of it was read yet."""

    journey: Journey
    pin: Pin
    wants: tuple[Want, ...]
    demands: tuple[Demand, ...]
    evidence: tuple[Evidence, ...]
    fetched: Blob | Layers | Members
    #: Whether its source was asked what its address means, or else nothing new was learned.
    asked: bool
    #: What the store has of it already.
    known: Known | None

    @property
    def held(self) -> Archive | None:
        return None if self.known is None else self.known.archive

    def pinned(self, content: Content) -> PackageAddress | None:
        """The address that brings exactly this again; ``None`` where there is none."""
        if self.pin.id is not None:
            return self.journey.pinned(self.pin)
        return None if content.digest is None else self.journey.with_checksum(content.digest)

    def remember(self, request: Request, content: Content, recall: Recall) -> None:
        """For the next run. What passed the gates of its bytes is worth keeping, whatever becomes of this install."""
        pinned = self.pinned(content)
        if pinned is None or not self.asked:
            return
        blob = self.fetched if isinstance(self.fetched, Blob) else None
        if self.known is None:
            recall.keep_pin(pinned, self.pin, blob, content.digest)
        recall.keep_ref(self.journey.package, pinned, "", {} if blob is None else blob.validator)
        if request.package != self.journey.package:
            recall.keep_ref(request.package, pinned, self.journey.subdir)


def arrive(request: Request, recall: Recall, claims: ExitStack, context: Context) -> Arrival:
    """Resolve, pass the first gate, fetch; from the start again where the answer is "ask there instead".

    ``claims`` keeps others from fetching the same until what was fetched is in the store.
    """
    catalog = recall.catalog
    journey = recall.journey(request.package, context)
    while True:
        journey, pin, known = located(journey, recall, context)
        asked = known is None
        demands = (*request.demands, *journey.all_demands(catalog))
        evidence = demanded.judge(Gate.PIN, pin, demands, catalog.verifiers, context)
        wants = tuple(replace(want, subdir=join_subdirs(journey.subdir, want.subdir)) for want in request.wants)
        if known is None:
            known = recall.known(journey, pin)
        if known is None:
            claims.enter_context(recall.claim(journey, pin, context))
            known = recall.known(journey, pin)  # by now, perhaps
        fetched: Fetched
        if known is not None and known.blob is not None:
            fetched = known.blob
        else:
            context.phase(Phase.DOWNLOADING)
            here = journey.context(context, catalog, validator=partial(recall.validator, journey))
            with journey.told():
                fetched = journey.getter(catalog).fetch(pin, wants, here)
        if isinstance(fetched, Unchanged):
            known, fetched = recall.unchanged(journey)
        if not isinstance(fetched, Elsewhere):
            return Arrival(
                journey=journey,
                pin=pin,
                wants=wants,
                demands=demands,
                evidence=evidence,
                fetched=fetched,
                asked=asked,
                known=known,
            )
        claims.close()
        journey = journey.onward(fetched, catalog)


def located(journey: Journey, recall: Recall, context: Context) -> tuple[Journey, Pin, Known | None]:
    """The package's identity: known from an earlier run, or else asked for."""
    known = recall.known(journey)
    if known is not None:
        return journey, known.pin, known
    recall.check_reachable(journey)
    journey, pin = resolve(journey, recall.catalog, context)
    return journey, pin, None


def resolve_address(source: str, address: ModuleAddress, means: Means) -> Resolved:
    """The pinned address, had without fetching the package."""
    with (
        means.visit(address.package) as visit,
        temporary_workshops(visit) as workshops,
        reported(address.package.display(), means, workshops) as context,
    ):
        recall = Recall(means.catalog, visit, means.offline)
        journey, pin, known = located(recall.journey(address.package, context), recall, context)
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
        if known is None:
            recall.keep_ref(address.package, package, journey.subdir)
        pinned = module_address(package, join_subdirs(journey.subdir, address.subdir))
        return Resolved(source=source, address=address.display(), pinned=pinned.display(), id=identity)


def install(request: Request, means: Means) -> tuple[Installed, ...]:
    """Install all of ``request``, or raise the first failure: an operation of its own, unlike :func:`install_each`."""
    installed = []
    with means.private.removed_at_end():
        for result in install_each(request, means):
            if isinstance(result, GetModulesError):
                raise result
            installed.append(result)
    return tuple(installed)


def install_each(request: Request, means: Means) -> tuple[Installed | GetModulesError, ...]:
    """Each want of ``request`` at its destination, verified, or why not, its destination then being as it was.

    What is wrong with the package as a whole is raised, and nothing is installed then.
    """
    torn = threading.Event()
    try:
        return _attempt(request, means, torn)
    except ContentError:
        if not torn.is_set():
            raise
    # It may be the fault of one of them: in halves, until it is alone with it.
    half = len(request.wants) // 2
    results: list[Installed | GetModulesError] = []
    for wants in (request.wants[:half], request.wants[half:]):
        try:
            results += install_each(replace(request, wants=wants), means)
        except GetModulesError as error:
            results += [error] * len(wants)
    return tuple(results)


def _attempt(request: Request, means: Means, torn: threading.Event) -> tuple[Installed | GetModulesError, ...]:
    """``torn`` is set where what was written for several wants failed for one that is not known."""
    # No destination is put into a package of this machine, or on top of it.
    source_root = local_root(request.package, means.catalog)
    results = _Results(request)
    with ExitStack() as stack:
        sites: list[_Site] = []
        for want in request.wants:
            means.checkpoint()
            with results.noted(want):
                staging = Staging.beside(want.dest, means.private, force=want.force, source_root=source_root)
                sites.append(_Site(want, stack.enter_context(staging)))
        if not sites:
            return results.all()
        spare = sites[0].staging.spare
        visit = stack.enter_context(means.visit(request.package))
        context = stack.enter_context(reported(request.package.display(), means, Workshops(spare, visit)))
        recall = Recall(means.catalog, visit, means.offline)
        request = replace(request, wants=tuple(site.want for site in sites))
        with ExitStack() as claims:
            arrival = arrive(request, recall, claims, context)
            stack.callback(close, arrival.fetched)
            place = Place(spare=spare, visit=visit, held=arrival.held)
            with arrival.journey.told():
                content = receive(arrival.fetched, arrival.journey, arrival.demands, place, means.catalog, context)
            arrival.remember(request, content, recall)
        context.phase(Phase.UNPACKING)
        with means.alone_with(content):
            try:
                with attributed(*content.plugins), content.advised():
                    trees = _write(content, arrival.wants, sites, context)
            except ContentError as error:
                if len(sites) > 1 and not isinstance(error, CorruptArchiveError):
                    torn.set()
                raise
            installed = _judge_trees(arrival, content, trees, results, means.catalog, context)
            context.checkpoint()
            context.phase(Phase.PUBLISHING)
            visit.settle(sites[0].staging.tree)
            _publish(request, sites, installed, results)
    return results.all()


class _Site(NamedTuple):
    want: Want
    staging: Staging


class _Results:
    """What became of each want, by its destination, which no two of them share."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._results: dict[Path, Installed | GetModulesError] = {}

    def done(self, want: Want, installed: Installed) -> None:
        self._results[want.dest] = installed

    @contextmanager
    def noted(self, want: Want) -> Iterator[None]:
        """An error in here is this want's alone; of the only one it goes on, to be reported as the package's."""
        try:
            yield
        except GetModulesError as error:
            if len(self._request.wants) == 1:
                raise
            error.at(self._request.package.display())
            self._results[want.dest] = error

    def all(self) -> tuple[Installed | GetModulesError, ...]:
        return tuple(self._results[want.dest] for want in self._request.wants)


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


@contextmanager
def open_context(means: Means, name: str) -> Iterator[Context]:
    """The context of work that has no destination, under the name that reports and errors have for it."""
    with (
        means.visit() as visit,
        temporary_workshops(visit) as workshops,
        reported(name, means, workshops) as context,
    ):
        yield context


def _write(content: Content, wants: Sequence[Want], sites: Sequence[_Site], context: Context) -> tuple[Tree, ...]:
    roots: list[int] = []
    try:
        for site in sites:
            roots.append(site.staging.open_tree())
        outputs = [Output(want.subdir, root) for want, root in zip(wants, roots, strict=True)]
        return write_members(content.members, outputs, context, packed_bytes=content.packed_bytes)
    finally:
        for root in roots:
            os.close(root)


def _judge_trees(
    arrival: Arrival, content: Content, trees: Sequence[Tree], results: _Results, catalog: Catalog, context: Context
) -> dict[Path, Installed]:
    """Those that passed the last gate, by their destinations."""
    pairs = list(zip(arrival.wants, trees, strict=True))
    package_h1 = next((tree.h1 for want, tree in pairs if not want.subdir), None)
    installed: dict[Path, Installed] = {}
    for want, tree in pairs:
        with results.noted(want):
            demands = (*arrival.demands, *want.demands)
            held = demanded.judge(Gate.TREE, tree, demands, catalog.verifiers, context)
            installed[want.dest] = Installed(
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
                archive=content.id,
                archive_bytes=content.blob_bytes,
            )
    return installed


def _publish(request: Request, sites: Sequence[_Site], installed: Mapping[Path, Installed], results: _Results) -> None:
    """Each site at its destination that passed the last gate."""
    for site in sites:
        if site.want.dest in installed:
            with results.noted(site.want):
                if site.want.dest in request.guards:
                    request.guards[site.want.dest]()
                site.staging.publish()
                results.done(site.want, installed[site.want.dest])


def _pinned(arrival: Arrival, content: Content, want: Want) -> str | None:
    package = arrival.pinned(content)
    return None if package is None else module_address(package, want.subdir).display()
