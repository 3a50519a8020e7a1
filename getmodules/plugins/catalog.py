"""Collect the offers of plugins in tables that never change: after this, dispatch is a lookup.

Two plugins with one name make that name unusable, with an error that names both; every other name works. The core
never calls a plugin's object itself but an adapter (:mod:`getmodules.plugins.adapters`), which supplies the defaults
of what a plugin left out and checks what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from getmodules.errors import PluginConflictError, PluginError, UnknownSchemeError
from getmodules.plugins.adapters import (
    CredentialsAdapter,
    DetectorAdapter,
    ProgressAdapter,
    UnpackerAdapter,
    VerifierAdapter,
    adapt_unpacker,
    adapt_verifier,
)
from getmodules.plugins.entry_points import normalised
from getmodules.plugins.getter_adapter import GetterAdapter, adapt_getter
from getmodules.plugins.loader import Plugin
from getmodules.util.redact import printable
from getmodules.util.values import replace, valueclass

T = TypeVar("T")

_OBJECT_STORES = "getmodules-objectstore"
#: Schemes that are for a plugin of ours, for the hint of an unknown scheme. It names a page, and never a command that
#: installs one: where a distribution is not published, its name in a package index is anybody's to take.
KNOWN_DISTRIBUTIONS: Mapping[str, str] = MappingProxyType(
    {
        "example": "getmodules-example",
        "hg": "getmodules-hg",
        **dict.fromkeys(("s3", "gs", "gcs", "az"), _OBJECT_STORES),
    }
)
PLUGINS_PAGE = "docs/reference/plugins.rst"
_NO_PLUGIN = (
    "plugins bring more: distributions with an entry point in the group getmodules; getmodules plugins lists those "
    "that are installed"
)


class OfferTable(Generic[T]):
    """A table of offers by name. A name that two plugins offer raises when it is looked up, and only then."""

    def __init__(self, kind: str, offers: Iterable[tuple[str, Plugin, T]]) -> None:
        self._kind = kind
        self._offers: dict[str, T] = {}
        self._owners: dict[str, list[Plugin]] = {}
        for name, plugin, offer in offers:
            self._offers.setdefault(name, offer)
            self._owners.setdefault(name, []).append(plugin)
        self.names = sorted(self._offers)

    def __contains__(self, name: str) -> bool:
        return name in self._offers

    def __getitem__(self, name: str) -> T:
        owners = self._owners[name]
        if len(owners) > 1:
            raise self._conflict(name, owners)
        return self._offers[name]

    def undisputed(self, value: Callable[[T], str]) -> dict[str, str]:
        return {name: value(offer) for name, offer in self._offers.items() if len(self._owners[name]) == 1}

    def conflicts(self) -> list[PluginConflictError]:
        return [self._conflict(name, owners) for name, owners in sorted(self._owners.items()) if len(owners) > 1]

    def _conflict(self, name: str, owners: Sequence[Plugin]) -> PluginConflictError:
        claimed = " and ".join(str(plugin.guard) for plugin in owners)
        removable = [plugin.name for plugin in owners if not plugin.first_party] or [owners[-1].name]
        return PluginConflictError(
            f"the {self._kind} {name!r} is claimed by {claimed}", hint=f"take one out: --no-plugin {removable[-1]}"
        )


@valueclass
class Catalog:
    plugins: tuple[Plugin, ...]
    detectors: tuple[DetectorAdapter, ...]
    getters: OfferTable[GetterAdapter]
    #: By ``archive=`` name, by suffix and by media type.
    formats: OfferTable[UnpackerAdapter]
    suffixes: OfferTable[UnpackerAdapter]
    media_types: OfferTable[UnpackerAdapter]
    #: By the media type of OCI layers.
    layers: OfferTable[UnpackerAdapter]
    credentials: tuple[CredentialsAdapter, ...]
    verifiers: tuple[VerifierAdapter, ...]
    progress: OfferTable[ProgressAdapter]

    def getter(self, scheme: str) -> GetterAdapter:
        if scheme not in self.getters:
            raise self.unknown_scheme(scheme)
        return self.getters[scheme]

    def unpacker_for_name(self, file_name: str) -> UnpackerAdapter | None:
        """Return the unpacker for the longest known suffix."""
        lower = file_name.lower()
        suffixes = [suffix for suffix in self.suffixes.names if lower.endswith(suffix) and len(lower) > len(suffix)]
        return self.suffixes[max(suffixes, key=len)] if suffixes else None

    def unpacker_for_media_type(self, media_type: str) -> UnpackerAdapter | None:
        essence = media_type.partition(";")[0].strip().lower()
        if essence not in self.media_types:
            return None
        return self.media_types[essence]

    def layer_formats(self) -> Mapping[str, str]:
        """Return format names by layer media type, ours first; one that two plugins offer is left out."""
        return MappingProxyType(self.layers.undisputed(lambda unpacker: unpacker.names[0]))

    def conflicts(self) -> list[PluginConflictError]:
        tables = (self.getters, self.formats, self.suffixes, self.media_types, self.layers, self.progress)
        return [conflict for table in tables for conflict in table.conflicts()]

    def unknown_scheme(self, scheme: str) -> UnknownSchemeError:
        import difflib

        hints, possible = self._absent(scheme)
        if hints:  # the others are not likely, but for what should be here and is not
            return _unknown(scheme, [*hints, *possible])
        if near := difflib.get_close_matches(scheme, self.getters.names, n=1):
            hints.append(f"did you mean {near[0]}?")
        if scheme == "ssh" and "git" in self.getters:
            hints.append("a git repository behind ssh is written git::ssh://…")
        hints = [*hints, *possible] or [_NO_PLUGIN]
        hints.append(f"known schemes: {', '.join(self.getters.names)}")
        return _unknown(scheme, hints)

    def _absent(self, scheme: str) -> tuple[list[str], list[str]]:
        """Return hints at plugins that probably bring ``scheme``, by their names, and at those that may."""
        likely, possible = [], []
        for plugin in self.plugins:
            if plugin.error is not None:
                possible.append(f"a plugin did not load: {plugin.error.message}")
            elif plugin.left_out is not None and _is_named_for(plugin, scheme):
                likely.append(f"{plugin.guard} brings it, and is switched off: {plugin.left_out}")
            elif plugin.left_out is not None:
                possible.append(f"{plugin.guard}, which may bring it, is switched off: {plugin.left_out}")
        if not likely and scheme in KNOWN_DISTRIBUTIONS:
            name = KNOWN_DISTRIBUTIONS[scheme]
            likely.append(f"that is for the plugin {name}: {PLUGINS_PAGE} in the source of getmodules says where it is")
        return likely, possible


def _unknown(scheme: str, hints: Iterable[str]) -> UnknownSchemeError:
    return UnknownSchemeError(f"no plugin brings the scheme {printable(scheme)!r}", hint="; ".join(hints))


def _is_named_for(plugin: Plugin, scheme: str) -> bool:
    return scheme in (normalised(plugin.name), plugin.distribution.removeprefix("getmodules-"))


def build(plugins: Iterable[Plugin]) -> Catalog:
    """Build the catalog. A plugin whose offer breaks its port counts as failed, with everything else it offers."""
    accepted: list[Plugin] = []
    bound: list[tuple[Plugin, dict[str, list[Any]]]] = []
    for plugin in plugins:
        try:
            wrapped = {
                hook: [plugin.guard.call(f"an offer of {hook}", _BIND[hook], plugin, offer) for offer in offers]
                for hook, offers in plugin.offers.items()
            }
        except PluginError as error:
            plugin, wrapped = replace(plugin, offers={}, error=error), {}
        accepted.append(plugin)
        bound.append((plugin, wrapped))

    def offers(hook: str) -> list[tuple[Plugin, Any]]:
        return [(plugin, offer) for plugin, wrapped in bound for offer in wrapped.get(hook, ())]

    def table(kind: str, hook: str, names: str) -> OfferTable[Any]:
        return OfferTable(kind, [(name, plugin, o) for plugin, o in offers(hook) for name in getattr(o, names)])

    return Catalog(
        plugins=tuple(accepted),
        detectors=tuple(sorted((o for _, o in offers("getmodules_detectors")), key=_detector_rank)),
        getters=table("scheme", "getmodules_getters", "schemes"),
        formats=table("archive format", "getmodules_unpackers", "names"),
        suffixes=table("suffix", "getmodules_unpackers", "suffixes"),
        media_types=table("media type", "getmodules_unpackers", "media_types"),
        layers=table("layer media type", "getmodules_unpackers", "layer_media_types"),
        credentials=tuple(o for _, o in offers("getmodules_credentials")),
        verifiers=tuple(o for _, o in offers("getmodules_verifiers")),
        progress=table("progress", "getmodules_progress", "names"),
    )


def _detector_rank(detector: DetectorAdapter) -> int:
    """Rank forges first, then third parties, then paths: a plugin can add shorthand, not take ours over."""
    if not detector.plugin.first_party:
        return 1
    return 2 if detector.name == "file" else 0


def _named(bound: Callable[[Plugin, Any, str], Any]) -> Callable[[Plugin, Any], Any]:
    def bind(plugin: Plugin, offer: Any) -> Any:
        name = plugin.guard.call("its name", lambda: offer.name)
        if not isinstance(name, str) or not name or not name.isprintable():
            raise plugin.guard.violation(f"the name of {type(offer).__name__} is not a printable string")
        return bound(plugin, offer, name)

    return bind


_BIND: dict[str, Callable[[Plugin, Any], Any]] = {
    "getmodules_detectors": _named(DetectorAdapter),
    "getmodules_getters": adapt_getter,
    "getmodules_unpackers": adapt_unpacker,
    "getmodules_credentials": _named(CredentialsAdapter),
    "getmodules_verifiers": _named(adapt_verifier),
    "getmodules_progress": _named(ProgressAdapter),
}
