"""Resolving: from an address to the place that really has the package, following "ask there instead"."""

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
from getmodules.api.model import Demand, Elsewhere, Evidence, Pin, Shape
from getmodules.api.ports import Context, Phase
from getmodules.errors import AddressError, FetchError, GetModulesError, UnsafeContentError
from getmodules.net.route import sent_by
from getmodules.pipeline import gates
from getmodules.pipeline.detect import detect_elsewhere, is_local
from getmodules.plugins.catalog import Catalog
from getmodules.plugins.getter_adapter import GetterAdapter
from getmodules.plugins.loader import attributed
from getmodules.util.digest import Digest
from getmodules.util.values import field, replace, valueclass

MAX_HOPS = 10
#: What these bring, anybody on the way can change.
IN_THE_CLEAR = ("http", "git")
_log = logging.getLogger("getmodules")


@valueclass
class Location:
    """The place where a package is looked for now, with what the addresses on the way there demanded."""

    package: PackageAddress
    #: The plugins that know what the address means.
    catalog: Catalog = field(repr=False, compare=False)
    #: A subdirectory that servers on the way put in front of the wants' own.
    subdir: str = ""
    hops: int = 0
    #: The demands of the addresses on the way: a hop must not shake a demand off.
    demands_on_the_way: tuple[Demand, ...] = ()
    #: Checksums that a server named where the user had already named one: both must hold.
    more_checksums: tuple[Arguments, ...] = ()
    #: Raises for hosts further in than the last server may send us; None as long as no server did.
    check_address: Callable[[str], None] | None = None
    #: The URL that was asked for in the first place; empty as long as it is this one.
    home: str = ""
    #: What verifiers said of the addresses that servers on the way named.
    evidence: tuple[Evidence, ...] = ()
    #: How we came here, for messages: ``where registry.example sent us``.
    way: str = ""

    @property
    def getter(self) -> GetterAdapter:
        return self.catalog.getter(self.package.getter)

    @property
    def is_local(self) -> bool:
        return is_local(self.package, self.catalog)

    @property
    def treatment(self) -> Treatment:
        return Treatment.of(self.package.arguments, self.catalog.formats.names)

    @property
    def shape(self) -> Shape:
        """The kind of content that the address leads to, as far as it says so."""
        if self.treatment.archive is False:
            return Shape.FILE
        known = self.treatment.archive is not None or self.catalog.unpacker_for_name(self.file_name) is not None
        return Shape.ARCHIVE if known else Shape.PACKAGE

    @property
    def for_getter(self) -> PackageAddress:
        """The address as the getter sees it: the core's own arguments are taken off."""
        return without_core_arguments(self.package)

    @property
    def file_name(self) -> str:
        return unquote(basename(check_url(self.package.url).path))

    @property
    def demands(self) -> tuple[Demand, ...]:
        """The demands of the addresses so far, this one's included."""
        return (*self.demands_on_the_way, *self.getter.demands(self.for_getter))

    def context(self, context: Context, **more: Any) -> Context:
        """Return the context that the getter of this location is called with."""
        home = self.home or self.package.url
        return replace(
            context,
            shape=self.shape,
            check_address=self.check_address,
            home=home,
            way=self.way,
            admitted=gates.addresses_of(self.package, context.mirrors),
            **more,
        )

    def pinned(self, pin: Pin) -> PackageAddress:
        """Return the pin's package with the core's arguments back on, since they shape what is installed."""
        own = self.package.arguments.only(*CORE_ARGUMENTS).items_typed
        return pin.package.with_arguments(merge_arguments(pin.package.arguments.items_typed, own))

    def with_checksum(self, digest: Digest) -> PackageAddress:
        return self.package.with_arguments(self.package.arguments.with_value("checksum", str(digest)))

    @contextmanager
    def naming_itself(self) -> Iterator[None]:
        """Add to errors of the block where they happened, after a hop: the address they are about does not say it."""
        try:
            yield
        except GetModulesError as error:
            if self.hops:
                # The query of an address that a server has made is often a signature, by whatever name.
                error.within(f"sent on to {self.for_getter.with_arguments(Arguments()).display()}")
            raise

    def follow(self, elsewhere: Elsewhere, context: Context) -> Location:
        """Return the next location, if the gate of addresses lets us go there.

        A server adds to the demands of what the user typed, and takes none away.
        """
        with attributed(self.getter.plugin):
            if self.hops == MAX_HOPS:
                raise FetchError(f"sent on {MAX_HOPS} times without arriving anywhere", part="too-many-hops")
            target = detect_elsewhere(elsewhere.address, self.catalog)
            _refuse_downgrade(self.package, target.package)
        own = self.package.arguments.only(*CORE_ARGUMENTS)
        theirs = target.package.arguments
        package = target.package.with_arguments(merge_arguments(theirs.without(*own).items_typed, own.items_typed))
        conflict = "checksum" in own and parse_checksum(theirs) is not None
        package = _checked(package, self.catalog)
        return Location(
            package=package,
            catalog=self.catalog,
            subdir=join_subdirs(target.subdir, self.subdir),
            hops=self.hops + 1,
            demands_on_the_way=self.demands,
            more_checksums=(*self.more_checksums, theirs.only("checksum")) if conflict else self.more_checksums,
            check_address=elsewhere.check_address or self.check_address,
            home=self.home or self.package.url,
            evidence=(*self.evidence, *gates.admit(package, context)),
            way=sent_by(self.package.url),
        )


def without_core_arguments(package: PackageAddress) -> PackageAddress:
    return package.with_arguments(package.arguments.without(*CORE_ARGUMENTS))


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
    """Refuse to go on without TLS, where anybody on the way can change what was asked for over TLS."""
    scheme = check_url(there.url).scheme
    if check_url(here.url).scheme == "https" and scheme in IN_THE_CLEAR:
        raise UnsafeContentError(
            f"the server sent us on from https to {scheme}", part="elsewhere", address=there.display()
        )


def resolve(location: Location, context: Context) -> tuple[Location, Pin]:
    """Return where the package is and its identity; a pin without an id where there is no cheap identity."""
    while True:
        context.checkpoint()
        context.phase(Phase.RESOLVING)
        getter = location.getter
        _log.debug("resolving %s with %s", location.package.display(), getter.plugin.guard)
        with location.naming_itself():
            answer = getter.resolve(location.for_getter, location.context(context))
        if not isinstance(answer, Elsewhere):
            _log.debug("its identity: %s", answer.id if answer else "known only when it is here")
            return location, answer or Pin(package=location.for_getter)
        location = location.follow(answer, context)


def module_name(package: PackageAddress, subdir: str = "") -> str:
    """Return a name for people: the last part of the subdirectory, or else of the URL's path, or else its host."""
    url = check_url(package.url)
    return basename(subdir or unquote(url.path).rstrip("/")) or url.host


def module_address(package: PackageAddress, subdir: str) -> ModuleAddress:
    if subdir and package.url.endswith("/"):
        package = replace(package, url=package.url.rstrip("/"))
    return ModuleAddress(package=package, subdir=subdir)
