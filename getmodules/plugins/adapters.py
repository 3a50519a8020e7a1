"""Adapt the detectors, unpackers, credentials, verifiers and progress sinks of plugins: defaults, and checked results.

Everything that can be read once is read once, when the catalog is built, so that an object that changes its
mind later changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from getmodules.addresses.types import PackageAddress
from getmodules.api.model import Archive, Gate, Member, Members, Pin, Tree
from getmodules.api.ports import Context, Credential, Origin, Progress, Shorthand
from getmodules.plugins.checks import type_of, wrong
from getmodules.plugins.loader import Plugin
from getmodules.util.redact import Secret
from getmodules.util.values import valueclass


def strings_of(plugin: Plugin, offer: Any, attribute: str) -> tuple[str, ...]:
    """Return ``offer.attribute`` as strings; a lone string would be taken for its letters, so it is refused."""
    where = f"{type(offer).__name__}.{attribute}"
    value = plugin.guard.call(where, getattr, offer, attribute)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise plugin.guard.violation(f"{where} must be a tuple of strings")
    strings = plugin.guard.collect(where, value)
    if not all(isinstance(string, str) and string and string.isprintable() for string in strings):
        raise plugin.guard.violation(f"{where} must be a tuple of printable strings")
    return each_once(strings)


def each_once(strings: Iterable[str]) -> tuple[str, ...]:
    """Return the strings without repetitions: a name that one plugin says twice is not a conflict."""
    return tuple(dict.fromkeys(strings))


@valueclass(kw_only=False)
class DetectorAdapter:
    plugin: Plugin
    offer: Any
    name: str

    def detect(self, shorthand: Shorthand) -> str | None:
        where = f"detector {self.name!r}"
        result = self.plugin.guard.call_method(where, self.offer, "detect", shorthand)
        if result is not None and not isinstance(result, str):
            raise self.plugin.guard.violation(f"{where} returned {type(result).__name__}, not a string or None")
        return result


@valueclass
class UnpackerAdapter:
    plugin: Plugin
    offer: Any
    names: tuple[str, ...]
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]
    layer_media_types: tuple[str, ...]

    def unpack(self, archive: Archive, context: Context) -> Members:
        where = f"unpacker {self.names[0]!r}"
        items: Iterable[Member] = self.plugin.guard.call_method(where, self.offer, "unpack", archive, context)
        members = self.plugin.guard.members(where, items, ours=self.plugin.first_party)
        return Members(members, strict=True)


def adapt_unpacker(plugin: Plugin, offer: Any) -> UnpackerAdapter:
    names = strings_of(plugin, offer, "names")
    if not names:
        raise plugin.guard.violation(f"{type(offer).__name__}.names is empty")
    suffixes = each_once(suffix.lower() for suffix in strings_of(plugin, offer, "suffixes"))
    if not all(suffix.startswith(".") for suffix in suffixes):
        raise plugin.guard.violation(f"{type(offer).__name__}.suffixes must begin with a dot")
    return UnpackerAdapter(
        plugin=plugin,
        offer=offer,
        names=names,
        suffixes=suffixes,
        media_types=each_once(media_type.lower() for media_type in strings_of(plugin, offer, "media_types")),
        layer_media_types=(
            each_once(strings_of(plugin, offer, "layer_media_types")) if hasattr(offer, "layer_media_types") else ()
        ),
    )


@valueclass(kw_only=False)
class CredentialsAdapter:
    plugin: Plugin
    offer: Any
    name: str

    def lookup(self, origin: Origin, path: str) -> Credential | None:
        where = f"credentials {self.name!r}"
        result = self.plugin.guard.call_method(where, self.offer, "lookup", origin, path)
        if result is not None and not (isinstance(result, Credential) and isinstance(result.secret, Secret)):
            fault = (
                f"a Credential whose {wrong('secret', result.secret, 'Secret')}"
                if isinstance(result, Credential)
                else f"{type_of(result)}, not Credential, or None"
            )
            raise self.plugin.guard.violation(f"{where} returned {fault}")
        return result


@valueclass(kw_only=False)
class VerifierAdapter:
    plugin: Plugin
    offer: Any
    name: str
    gates: frozenset[Gate]

    def verify(self, gate: Gate, subject: PackageAddress | Pin | Archive | Tree, context: Context) -> str | None:
        where = f"verifier {self.name!r}"
        result = self.plugin.guard.call_method(where, self.offer, "verify", gate, subject, context)
        if result is not None and not isinstance(result, str):
            raise self.plugin.guard.violation(f"{where} returned {type(result).__name__}, not a string or None")
        return result


def adapt_verifier(plugin: Plugin, offer: Any, name: str) -> VerifierAdapter:
    gates = frozenset(plugin.guard.collect("gates", offer.gates))
    if not gates or not all(isinstance(gate, Gate) for gate in gates):
        raise plugin.guard.violation(f"the gates of verifier {name!r} must be of getmodules.Gate")
    return VerifierAdapter(plugin, offer, name, gates)


@valueclass(kw_only=False)
class ProgressAdapter:
    plugin: Plugin
    offer: Any
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def open(self, stream: TextIO | None) -> Progress:
        progress = self.plugin.guard.call_method(f"progress {self.name!r}", self.offer, "open", stream)
        if not isinstance(progress, Progress):
            raise self.plugin.guard.violation(f"progress {self.name!r} did not open a getmodules.Progress")
        return progress


def first_credential(credentials: Iterable[CredentialsAdapter], origin: Origin, path: str) -> Credential | None:
    """Return the first credential found; ``None`` from one source means: ask the next."""
    answers: Iterator[Credential | None] = (each.lookup(origin, path) for each in credentials)
    return next((answer for answer in answers if answer is not None), None)
