"""From an address to the place that really has the package: resolving, and following "ask there instead"."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from posixpath import basename
from typing import Any
from urllib.parse import unquote

from getmodules.addresses.core_arguments import CORE_ARGUMENTS, Treatment, parse_checksum
from getmodules.addresses.grammar import join_subdirs, merge_arguments
from getmodules.addresses.types import Arguments, ModuleAddress, PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.model import Demand, Elsewhere, Pin, Shape
from getmodules.api.ports import Context, Phase
from getmodules.errors import AddressError, FetchError, GetModulesError, UnsafeContentError
from getmodules.pipeline.detect import detect_elsewhere
from getmodules.plugins.catalog import Catalog
from getmodules.plugins.getter_adapter import GetterAdapter
from getmodules.plugins.loader import attributed
from getmodules.util.digest import Digest
from getmodules.util.values import replace, valueclass

MAX_HOPS = 10
#: What these bring, anybody on the way can change.
IN_THE_CLEAR = ("http", "git")
_log = logging.getLogger("getmodules")


@valueclass
class Journey:
    """Where a package is looked for now. ``subdir`` is what the servers on the way put in front of the wants'."""

    package: PackageAddress
    subdir: str = ""
    hops: int = 0
    #: What the addresses on the way demanded: a hop must not shake a demand off.
    demands: tuple[Demand, ...] = ()
    #: Checksums that a server named where the user had already named one: both must hold.
    more_checksums: tuple[Arguments, ...] = ()
    #: How far in the last server may send us; ``None`` as long as nobody did.
    check_address: Callable[[str], None] | None = None
    #: The URL that was asked for in the first place; empty as long as it is this one.
    home: str = ""

    def getter(self, catalog: Catalog) -> GetterAdapter:
        return catalog.getter(self.package.getter)

    def treatment(self, catalog: Catalog) -> Treatment:
        return Treatment.of(self.package.arguments, catalog.formats.names)

    def context(self, context: Context, catalog: Catalog, **more: Any) -> Context:
        """What a getter is called with at this place of the way."""
        home = self.home or self.package.url
        return replace(context, shape=self._shape(catalog), check_address=self.check_address, home=home, **more)

    def _shape(self, catalog: Catalog) -> Shape:
        treatment = self.treatment(catalog)
        if treatment.archive is False:
            return Shape.FILE
        known = treatment.archive is not None or catalog.unpacker_for_name(self.file_name) is not None
        return Shape.ARCHIVE if known else Shape.PACKAGE

    @property
    def for_getter(self) -> PackageAddress:
        """What the getter sees: the core's own arguments are taken off."""
        return self.package.with_arguments(self.package.arguments.without(*CORE_ARGUMENTS))

    @property
    def file_name(self) -> str:
        return unquote(basename(check_url(self.package.url).path))

    def pinned(self, pin: Pin) -> PackageAddress:
        """The pin's package with the core's arguments back on, since they shape what is installed."""
        own = self.package.arguments.only(*CORE_ARGUMENTS).items_typed
        return pin.package.with_arguments(merge_arguments(pin.package.arguments.items_typed, own))

    @contextmanager
    def told(self) -> Iterator[None]:
        """Errors say where they happened, where nobody asked for it: the address that they are about does not."""
        try:
            yield
        except GetModulesError as error:
            if self.hops:
                # The query of an address that a server has made is often a signature, by whatever name.
                error.within(f"sent on to {self.for_getter.with_arguments(Arguments()).display()}")
            raise

    def with_checksum(self, digest: Digest) -> PackageAddress:
        return self.package.with_arguments(self.package.arguments.with_value("checksum", str(digest)))

    def all_demands(self, catalog: Catalog) -> tuple[Demand, ...]:
        """Those of the addresses so far, this one's included."""
        return (*self.demands, *self.getter(catalog).demands(self.for_getter))

    def onward(self, elsewhere: Elsewhere, catalog: Catalog) -> Journey:
        """The next hop. What the user typed holds there too; a server can add to it, not take it away."""
        with attributed(self.getter(catalog).plugin):
            if self.hops == MAX_HOPS:
                raise FetchError(f"sent on {MAX_HOPS} times without arriving anywhere", part="too-many-hops")
            target = detect_elsewhere(elsewhere.address, catalog)
            _refuse_downgrade(self.package, target.package)
        own = self.package.arguments.only(*CORE_ARGUMENTS)
        theirs = target.package.arguments
        package = target.package.with_arguments(merge_arguments(theirs.without(*own).items_typed, own.items_typed))
        conflict = "checksum" in own and parse_checksum(theirs) is not None
        return Journey(
            package=_checked(package, catalog),
            subdir=join_subdirs(target.subdir, self.subdir),
            hops=self.hops + 1,
            demands=self.all_demands(catalog),
            more_checksums=(*self.more_checksums, theirs.only("checksum")) if conflict else self.more_checksums,
            check_address=elsewhere.check_address or self.check_address,
            home=self.home or self.package.url,
        )


def _checked(package: PackageAddress, catalog: Catalog) -> PackageAddress:
    try:
        return catalog.getter(package.getter).check(package)
    except AddressError as error:
        # Nobody typed this: it was right for where the user asked.
        raise UnsafeContentError(
            f"the server sent us on to where the address cannot be fulfilled: {error.message}",
            part="elsewhere",
            address=package.display(),
        ) from error


def _refuse_downgrade(here: PackageAddress, there: PackageAddress) -> None:
    """What was asked for over TLS is not to come in the clear, where anybody on the way can change it."""
    scheme = check_url(there.url).scheme
    if check_url(here.url).scheme == "https" and scheme in IN_THE_CLEAR:
        raise UnsafeContentError(
            f"the server sent us on from https to {scheme}", part="elsewhere", address=there.display()
        )


def resolve(journey: Journey, catalog: Catalog, context: Context) -> tuple[Journey, Pin]:
    """The identity of the package, where there is a cheap one; a pin without an id where there is none."""
    while True:
        context.checkpoint()
        context.phase(Phase.RESOLVING)
        getter = journey.getter(catalog)
        _log.debug("resolving %s with %s", journey.package.display(), getter.plugin.guard)
        with journey.told():
            answer = getter.resolve(journey.for_getter, journey.context(context, catalog))
        if not isinstance(answer, Elsewhere):
            _log.debug("its identity: %s", answer.id if answer else "known only when it is here")
            return journey, answer or Pin(package=journey.for_getter)
        journey = journey.onward(answer, catalog)


def module_address(package: PackageAddress, subdir: str) -> ModuleAddress:
    if subdir and package.url.endswith("/"):
        package = replace(package, url=package.url.rstrip("/"))
    return ModuleAddress(package=package, subdir=subdir)
