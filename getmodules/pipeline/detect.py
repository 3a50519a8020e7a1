"""The detector chain: from what was typed to the one canonical address. Pure and offline.

A body that is not URL-like goes to the detectors; the first that knows it gives a longer spelling, which goes
round again until it is URL-like. Then the getter that the scheme names has its say.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from getmodules.addresses.core_arguments import CHECKSUM_FILE, CORE_ARGUMENTS, parse_archive, parse_checksum
from getmodules.addresses.grammar import is_url_like, join_subdirs, merge_arguments, parse, unusable
from getmodules.addresses.types import Arguments, ModuleAddress, PackageAddress, SourceAddress
from getmodules.addresses.url import check_url
from getmodules.api.ports import Shorthand
from getmodules.archive.names import member_path
from getmodules.errors import AddressError, GetModulesError, UnsafeContentError
from getmodules.pipeline.meant import meant_address, store_scheme
from getmodules.plugins.adapters import DetectorAdapter
from getmodules.plugins.catalog import Catalog
from getmodules.plugins.loader import Plugin
from getmodules.util.digest import Digest
from getmodules.util.redact import printable, redact_address
from getmodules.util.values import replace, valueclass

MAX_ROUNDS = 8


class Step(NamedTuple):
    """One round of the chain, for ``detect --explain``."""

    detector: str
    address: str


@valueclass(kw_only=False)
class Detected:
    """The canonical address, and the rounds of the chain that led to it."""

    address: ModuleAddress
    steps: tuple[Step, ...]


def detect(source: str, catalog: Catalog, *, base: str | None = None, registry: str | None = None) -> Detected:
    """Return the canonical address of ``source``; relative paths start at ``base``, and without one are an error.

    ``registry`` is the host in which ``namespace/name/system`` is looked up.
    """
    try:
        return _detect(source, catalog, base, registry)
    except GetModulesError as error:
        raise error.at(printable(redact_address(source), 500)) from error.__cause__


def detect_elsewhere(source: str, catalog: Catalog) -> ModuleAddress:
    """Return the address that a server named. What is wrong with it is the server's fault, not the user's."""
    try:
        address = _detect(source, catalog, None).address
    except AddressError as error:
        raise unusable(source, error) from error
    if is_local(address.package, catalog):
        raise _local_source(source)
    checksum = parse_checksum(address.package.arguments)
    if isinstance(checksum, str) and is_local(_detect(checksum, catalog, None).address.package, catalog):
        raise _local_source(source)
    return address


def is_local(package: PackageAddress, catalog: Catalog) -> bool:
    return catalog.getter(package.getter).local or check_url(package.url).scheme == "file"


def local_root(package: PackageAddress, catalog: Catalog) -> Path | None:
    """Return the directory where a package of this machine lies."""
    return check_url(package.url).local_path() if is_local(package, catalog) else None


def _local_source(source: str) -> UnsafeContentError:
    return UnsafeContentError(
        "the server sent us on to something on this machine; a remote answer never names a local source",
        part="local-source",
        address=printable(redact_address(source), 500),
    )


def _detect(
    source: str, catalog: Catalog, base: str | None, registry: str | None = None, *, checksum_file: bool = False
) -> Detected:
    address = parse(source)
    steps: list[Step] = []
    seen: set[tuple[str | None, str]] = set()
    strangers: list[Plugin] = []
    if address.force is not None:
        catalog.getter(address.force)
    try:
        while not is_url_like(address.body):
            if (address.force, address.body) in seen or len(seen) == MAX_ROUNDS:
                trail = " → ".join(printable(step.address) for step in steps)
                raise AddressError(f"the detectors go round in circles: {trail}")
            seen.add((address.force, address.body))
            detector, longer = _one_round(
                Shorthand(address.body, address.force, base or None, registry), address, catalog
            )
            if not detector.plugin.first_party:
                strangers.append(detector.plugin)
            steps.append(Step(detector.name, redact_address(longer)))
            address = _merged(address, parse(longer))
        return Detected(_finish(address, catalog, base, checksum_file=checksum_file), tuple(steps))
    except AddressError as error:
        if meant := _meant(address, catalog):
            error.hint = f"write {meant}"
        # What is wrong with it was perhaps never typed: a plugin had the last word about its spelling.
        raise error.brought_by(str(strangers[-1].guard)) if strangers else error from error.__cause__


def _one_round(shorthand: Shorthand, address: SourceAddress, catalog: Catalog) -> tuple[DetectorAdapter, str]:
    for detector in catalog.detectors:
        longer = detector.detect(shorthand)
        if longer is not None:
            return detector, longer
    raise _nobody_knows(address, catalog)


def _merged(typed: SourceAddress, found: SourceAddress) -> SourceAddress:
    """Return both as one: the user's force beats the detector's, whose subdirectory comes before the user's."""
    return SourceAddress(
        force=typed.force or found.force,
        body=found.body,
        subdir=join_subdirs(found.subdir, typed.subdir),
        arguments=merge_arguments(found.arguments.items_typed, typed.arguments.items_typed),
    )


def _meant(typed: SourceAddress, catalog: Catalog) -> str | None:
    """Return the address that was probably meant, in full, or None; only what is an address is worth a hint."""
    meant = meant_address(typed)
    if meant is None or meant == typed:
        return None
    try:
        return _finish(meant, catalog, None, checksum_file=False).display()
    except GetModulesError:
        return None


def _nobody_knows(address: SourceAddress, catalog: Catalog) -> GetModulesError:
    body = address.body
    shown = printable(redact_address(body))
    scheme, colon, rest = body.partition(":")
    store = store_scheme(body)
    if store is not None and store not in catalog.getters:
        return AddressError(f"{shown!r} is the shorthand of another getter", hint=catalog.unknown_scheme(store).hint)
    if colon and scheme.lower() in catalog.getters:
        name = scheme.lower()
        between = ":///" if name == "file" else "::" if rest.startswith(("./", "../")) else "://"
        path = rest if between == "::" else rest.lstrip("/")
        return AddressError(f"{shown!r} is not complete", hint=f"write {name}{between}{redact_address(path)}")
    if body.startswith("~"):
        return AddressError(
            f"{shown!r} begins with '~'", hint="the shell expands ~ at the start of a word; write the path"
        )
    is_port = rest.partition("/")[0].isdecimal()
    if colon and scheme.isalnum() and not (is_port or rest.startswith(("/", "\\")) or "@" in body or "." in scheme):
        return catalog.unknown_scheme(scheme.lower())
    hint = f"for a directory write ./{shown}"
    if body.startswith(("./", "../")):
        hint = "the detector of paths is switched off, or was taken out; getmodules plugins says why"
    elif body.startswith("/"):
        hint = "an absolute path begins with one '/'"
    elif body.count("/") == 2 and "." not in body.partition("/")[0]:
        hint += f"; for a module of a registry write tfr://HOST/{shown}, or say which with --registry HOST"
    elif body.count("/") == 3 and "." in body.partition("/")[0]:
        hint += f"; for a module of a registry write tfr://{shown}; for a URL write https://{shown}"
    elif "." in body.partition("/")[0]:
        hint += f"; for a URL write https://{shown}"
    return AddressError(f"{shown!r} is no URL, no path, and no shorthand that a detector knows", hint=hint)


def _finish(address: SourceAddress, catalog: Catalog, base: str | None, *, checksum_file: bool) -> ModuleAddress:
    scheme, colon, rest = address.body.partition("://")
    scheme = scheme.lower()
    name = address.force or scheme
    getter = catalog.getter(name)
    if checksum_file and (address.subdir or address.arguments.only(*CORE_ARGUMENTS)):
        raise AddressError(f"the address of a checksum file has no subdirectory and no {', '.join(CORE_ARGUMENTS)}")
    arguments = _check_core_arguments(address.arguments, catalog, base)
    url = str(check_url(f"{scheme}{colon}{rest}"))
    package = PackageAddress(getter=name, url=url, arguments=arguments, forced=address.force is not None)
    package = getter.check(package)
    if address.subdir and package.url.endswith("/"):
        package = replace(package, url=package.url.rstrip("/"))
        if package.url.endswith(":"):
            raise AddressError("the root directory has no subdirectory to install", hint="write the whole path")
    return ModuleAddress(package=package, subdir=address.subdir)


def _check_core_arguments(arguments: Arguments, catalog: Catalog, base: str | None) -> Arguments:
    parse_archive(arguments, catalog.formats.names)
    filename = arguments.get("filename")
    if filename is not None:
        check_filename(filename)
        if arguments.get("archive") and parse_archive(arguments, catalog.formats.names) is not False:
            raise AddressError("filename= is for a single file; archive= says that it is none")
    checksum = parse_checksum(arguments)
    if isinstance(checksum, Digest) or checksum is None:
        return arguments
    # A checksum file is an address of its own; a relative one is only known here, next to its base.
    package = _detect(checksum, catalog, base, checksum_file=True).address
    return arguments.with_value("checksum", f"{CHECKSUM_FILE}{package}")


def check_filename(name: str) -> None:
    """Raise unless ``name`` is one path component, under the same rules as names in a package."""
    try:
        path = member_path(name)
    except UnsafeContentError as error:
        raise _bad_filename(name, error.message) from error
    if not path or path != name or "/" in path:
        raise _bad_filename(name, "it is not one path component")


def _bad_filename(name: str, why: str) -> AddressError:
    return AddressError(
        f"filename={printable(name)!r} cannot be used: {why}", hint="filename= takes one plain name, such as module.tf"
    )
