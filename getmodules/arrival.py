"""The first half of a package's way: known or resolved, past the first gate, and fetched or at hand already."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from getmodules import demands as demanded
from getmodules.addresses.grammar import join_subdirs
from getmodules.addresses.types import PackageAddress
from getmodules.api.model import (
    Archive,
    Blob,
    Demand,
    Elsewhere,
    Evidence,
    Gate,
    Layers,
    Members,
    Pin,
    Request,
    Unchanged,
    Want,
)
from getmodules.api.ports import Context, Fetched, Phase
from getmodules.content import Content
from getmodules.journey import Journey, resolve
from getmodules.recall import Known, Recall
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
