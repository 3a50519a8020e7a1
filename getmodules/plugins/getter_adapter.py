"""Adapt the getters of plugins: defaults for what was left out, and checks on every value that they return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from getmodules.addresses.core_arguments import CORE_ARGUMENTS
from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.model import Blob, Demand, Elsewhere, Layers, Members, Pin, Unchanged, Want
from getmodules.api.ports import Context, Fetched
from getmodules.errors import AddressError
from getmodules.plugins.adapters import strings_of
from getmodules.plugins.checks import (
    bounded_names,
    is_url,
    reads_back,
    type_of,
    wrong,
    wrong_blob,
    wrong_demand,
    wrong_elsewhere,
    wrong_package,
)
from getmodules.plugins.loader import Plugin
from getmodules.util.redact import printable, quoted
from getmodules.util.values import replace, valueclass

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")


@valueclass
class GetterAdapter:
    plugin: Plugin
    offer: Any
    schemes: tuple[str, ...]
    #: ``None``: arguments belong to the URL, so any is allowed.
    arguments: frozenset[str] | None
    core_arguments: frozenset[str]
    local: bool
    #: Whether its packages may be of another URL than the one that was asked for.
    sends_on: bool = True
    #: The argument that takes a name of ``versions``; ``None`` where there are none.
    version_argument: str | None = None
    #: Whether it gives an identity without fetching, so that an address of its own may be pinned.
    resolves: bool = True

    def check(self, package: PackageAddress) -> PackageAddress:
        self._check_argument_names(package)
        checked = self._optional("check", package)
        if checked is None:
            return package
        if type(checked) is not PackageAddress:
            raise self.plugin.guard.violation(f"check returned {type_of(checked)}, not PackageAddress, or None")
        if (fault := self._fault_of(checked)) is not None:
            raise self.plugin.guard.violation(f"check returned a PackageAddress: {fault}")
        if checked.arguments != package.arguments:
            raise self.plugin.guard.violation(
                "check returned a PackageAddress with other arguments than the one that it was given"
            )
        if checked.url != package.url and not is_url(checked.url):
            raise self.plugin.guard.violation(f"check returned what is no URL: {quoted(checked.url)}")
        return checked

    def _fault_of(self, package: Any) -> str | None:
        """Return what is wrong with a package that the getter made; None if it is one of its own."""
        fault = wrong_package(package)
        if fault is None and package.getter not in self.schemes:
            own = ", ".join(map(repr, self.schemes))
            return f"package.getter is {quoted(package.getter)}, which is another getter's; it is one of {own}"
        return fault

    def _check_argument_names(self, package: PackageAddress) -> None:
        for name in package.arguments:
            if name in CORE_ARGUMENTS:
                if name not in self.core_arguments:
                    raise AddressError(f"{name}= has no meaning for {package.getter} addresses", hint=self._known())
            elif self.arguments is not None and name not in self.arguments:
                raise AddressError(
                    f"{package.getter} addresses have no argument {printable(name)!r}", hint=self._known()
                )

    def _known(self) -> str:
        own = ("the URL's own",) if self.arguments is None else sorted(self.arguments)
        return f"arguments: {', '.join((*own, *sorted(self.core_arguments))) or 'none'}"

    def demands(self, package: PackageAddress) -> tuple[Demand, ...]:
        result = self._optional("demands", package)
        demands: tuple[Any, ...] = () if result is None else self.plugin.guard.collect("demands", result)
        for demand in demands:
            if (fault := wrong_demand(demand)) is not None:
                raise self.plugin.guard.violation(f"demands yielded {fault}")
        return demands

    def resolve(self, package: PackageAddress, context: Context) -> Pin | Elsewhere | None:
        result = self._optional("resolve", *_asked(package, context))
        if result is None:
            return None
        if isinstance(result, Elsewhere):
            return self._elsewhere(result, "resolve")
        if not isinstance(result, Pin):
            raise self.plugin.guard.violation(f"resolve returned {type_of(result)}, not a Pin, Elsewhere or None")
        if type(result.id) is not str:
            fault = "without an id" if result.id is None else f"whose {wrong('id', result.id, 'str')}"
            raise self.plugin.guard.violation(f"resolve returned a Pin {fault}; without one it returns None")
        if not result.id or not result.id.isprintable():
            raise self.plugin.guard.violation("resolve returned a Pin whose id is empty, or not printable")
        self._check_pinned(result.package)
        meant = context.mirrors.original(package, result.package)
        return replace(result, package=meant, digests=self._digests("a Pin", result.digests))

    def _digests(self, owner: str, given: Any) -> dict[str, str]:
        digests: dict[Any, Any] = self.plugin.guard.call(f"the digests of {owner}", dict, given)
        if not all(type(text) is str and text.isprintable() for pair in digests.items() for text in pair):
            raise self.plugin.guard.violation(f"the digests of {owner} must map plain strings to plain strings")
        return digests

    def _check_pinned(self, package: PackageAddress) -> None:
        if (fault := self._fault_of(package)) is not None:
            raise self.plugin.guard.violation(f"resolve returned a Pin whose {fault}")
        try:
            if not reads_back(package) or package.arguments.only(*CORE_ARGUMENTS) or not is_url(package.url):
                raise AddressError("it is no URL, or its arguments are not what they look like")
            self.check(package)
        except AddressError as error:
            raise self.plugin.guard.violation(
                f"resolve returned a Pin whose address cannot be used: {error.message}"
            ) from error

    def repository(self, package: PackageAddress, context: Context) -> object:
        """Return the repository of a package: see ``RepositoryGetter`` in ``getmodules.getters.oci.repository``."""
        found = self._optional("repository", package, context)
        if found is None:
            raise AddressError(
                f"{package.getter} addresses name nothing that can be published to or looked into",
                hint="oci://HOST/REPOSITORY and oci-layout::DIRECTORY can",
            )
        return found

    def versions(self, package: PackageAddress, context: Context) -> tuple[str, ...]:
        """Return the names of the versions of ``package``."""
        found = self._optional("versions", *_asked(package, context))
        return self.plugin.guard.call("versions", bounded_names, found or (), context.checkpoint)

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Fetched:
        package, asking = _asked(pin.package, context)
        asked = replace(pin, package=package)
        result = self.plugin.guard.call_method("fetch", self.offer, "fetch", asked, wants, asking)
        if isinstance(result, Blob):
            return self._blob(result)
        if isinstance(result, Layers):
            return self._layers(result)
        if isinstance(result, Unchanged):
            return result
        if isinstance(result, Members):
            return Members(
                self.plugin.guard.members("fetch", result.items, ours=self.plugin.first_party),
                strict=result.strict is True,
                digests=self._digests("Members", result.digests),
            )
        if isinstance(result, Elsewhere):
            if pin.id is not None:
                raise self.plugin.guard.violation("fetch returned Elsewhere after resolve had given an identity")
            return self._elsewhere(result, "fetch")
        raise self.plugin.guard.violation(
            f"fetch returned {type_of(result)}, not a Blob, Layers, Members, Elsewhere or Unchanged"
        )

    def _elsewhere(self, result: Elsewhere, where: str) -> Elsewhere:
        if not self.sends_on:
            raise self.plugin.guard.violation(f"{where} returned an Elsewhere, and sends_on is false")
        if (fault := wrong_elsewhere(result)) is not None:
            raise self.plugin.guard.violation(f"{where} returned an Elsewhere whose {fault}")
        return result

    def _blob(self, blob: Blob) -> Blob:
        if (fault := wrong_blob(blob)) is not None:
            raise self.plugin.guard.violation(f"fetch returned a Blob whose {fault}")
        chunks = self.plugin.guard.chunks("fetch", blob.chunks)
        rest = None if blob.rest is None else partial(self._rest, blob.rest)
        return replace(blob, chunks=chunks, validator=dict(blob.validator), rest=rest)

    def _rest(self, rest: Callable[[int], Iterable[bytes] | None], start: int) -> Iterable[bytes] | None:
        chunks: Iterable[bytes] | None = self.plugin.guard.call("rest", rest, start)
        return None if chunks is None else self.plugin.guard.chunks("rest", chunks)

    def _layers(self, layers: Layers) -> Layers:
        blobs: tuple[Any, ...] = self.plugin.guard.collect("the blobs of Layers", layers.blobs)
        if not blobs or not all(isinstance(blob, Blob) and blob.format is not None for blob in blobs):
            raise self.plugin.guard.violation("fetch returned Layers whose blobs are not each a Blob with a format")
        return Layers(blobs=tuple(self._blob(blob) for blob in blobs))

    def _optional(self, method: str, *arguments: object) -> Any:
        function = self.plugin.guard.call(method, getattr, self.offer, method, None)
        return None if function is None else self.plugin.guard.call(method, function, *arguments)


def adapt_getter(plugin: Plugin, offer: Any) -> GetterAdapter:
    schemes = strings_of(plugin, offer, "schemes")
    for scheme in schemes:
        if not _SCHEME.fullmatch(scheme):
            raise plugin.guard.violation(f"{printable(scheme)!r} is not a scheme (a-z, then a-z 0-9 + . -)")
    arguments: frozenset[str] | None = frozenset()
    if hasattr(offer, "arguments"):
        arguments = None if offer.arguments is None else frozenset(strings_of(plugin, offer, "arguments"))
    core_arguments = frozenset(CORE_ARGUMENTS)
    if hasattr(offer, "core_arguments"):
        core_arguments = frozenset(strings_of(plugin, offer, "core_arguments"))
        if not core_arguments <= set(CORE_ARGUMENTS):
            raise plugin.guard.violation(f"core_arguments can only be {', '.join(CORE_ARGUMENTS)}")
    return GetterAdapter(
        plugin=plugin,
        offer=offer,
        schemes=schemes,
        arguments=arguments,
        core_arguments=core_arguments,
        local=getattr(offer, "local", False) is True,
        sends_on=getattr(offer, "sends_on", True) is not False,
        version_argument=getattr(offer, "version_argument", None),
        # Not looked up on the offer itself: that may raise, which is reported when the method is called.
        resolves=hasattr(type(offer), "resolve") or "resolve" in getattr(offer, "__dict__", {}),
    )


def _asked(package: PackageAddress, context: Context) -> tuple[PackageAddress, Context]:
    """Return what is asked for in the place of ``package``, and the context in which messages call it a mirror."""
    asked = context.mirrors.mirrored(package)
    if asked is package:
        return asked, context
    return asked, replace(context, way=f"the mirror of {printable(check_url(package.url).host)}")
