"""From what the manifest says to an address that can be fetched: ``version = "~> 1.2"`` becomes one tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from getmodules.addresses.types import ModuleAddress, PackageAddress
from getmodules.addresses.versions import Constraint, Version, VersionError
from getmodules.cache.session import temporary_workshops
from getmodules.errors import ConfigError, GetModulesError, NotFoundError, OfflineError
from getmodules.pipeline.batch import Failure, Outcome, ask_all
from getmodules.pipeline.install import reported
from getmodules.pipeline.operation import Means
from getmodules.plugins.getter_adapter import GetterAdapter
from getmodules.project.destinations import check_own
from getmodules.project.manifest import ModuleEntry
from getmodules.project.workspace import Bench
from getmodules.util.redact import printable
from getmodules.util.values import replace, valueclass

_SHOWN = 5


@valueclass
class Target:
    """A module that can be fetched. ``selected`` is the tag that its ``version`` chose."""

    entry: ModuleEntry
    address: ModuleAddress
    selected: str | None = None


def targets(entries: Iterable[ModuleEntry], bench: Bench) -> Outcome[Target]:
    """Each module's target, or why it has none."""
    done: dict[str, Target] = {}
    failures: dict[str, GetModulesError] = {}
    questions = {}
    for entry in entries:
        try:
            target, getter = _plain(entry, bench)
        except GetModulesError as error:
            failures[entry.name] = error
            continue
        if getter is None:
            done[entry.name] = target
        else:
            questions[entry.name] = (target.address.package, partial(_selected, target, getter, bench.means))
    asked = ask_all(questions, bench.means, bench.pace)
    failures |= {failure.module: failure.error for failure in asked.failures}
    return Outcome(
        done={**done, **asked.done},
        failures=tuple(Failure(module=name, error=error) for name, error in sorted(failures.items())),
    )


def _plain(entry: ModuleEntry, bench: Bench) -> tuple[Target, GetterAdapter | None]:
    """The target; and where a version must still be chosen, whom to ask."""
    address = bench.detect(entry.source)
    check_own(entry, address, bench)
    getter = bench.means.catalog.getter(address.package.getter)
    if entry.version is None:
        return Target(entry=entry, address=address), None
    if getter.version_argument is None:
        raise ConfigError(
            f"[modules.{entry.name}] has a version, and {getter.schemes[0]} addresses have none",
            hint="leave version out, or write it into the address",
        ).at(address.display())
    _refuse_second_word(entry, address.package, getter.version_argument)
    return Target(entry=entry, address=address), getter


def _refuse_second_word(entry: ModuleEntry, package: PackageAddress, argument: str) -> None:
    fixed = [name for name in (argument, "digest") if name in package.arguments]
    if fixed:
        raise ConfigError(
            f"[modules.{entry.name}] has a version, and its source a {fixed[0]}=: they exclude each other",
            hint="leave one of them out",
        ).at(package.display())


def _selected(target: Target, getter: GetterAdapter, means: Means) -> Target:
    entry, package = target.entry, target.address.package
    assert entry.version is not None
    constraint = Constraint.parse(entry.version)
    available = versions_of(package, getter, means)
    allowed = {version: tags for version, tags in available.items() if constraint.allows(version)}
    if not allowed:
        raise _nothing_fits(constraint, entry, available, package)
    _refuse_two_spellings(allowed, getter, package)
    (tag,) = allowed[max(allowed)]
    return with_tag(target, tag, getter)


def _refuse_two_spellings(
    allowed: Mapping[Version, tuple[str, ...]], getter: GetterAdapter, package: PackageAddress
) -> None:
    """Also of one that is not the newest: it is the next time a version is taken away, or the constraint narrowed."""
    twice = max((version for version, tags in allowed.items() if len(tags) > 1), default=None)
    if twice is not None:
        first, second = sorted(allowed[twice])[:2]
        others = f"have a version without both (!= {twice}), " if len(allowed) > 1 else ""
        raise ConfigError(
            f"the tags {printable(first, 80)!r} and {printable(second, 80)!r} are one version: which one is meant?",
            hint=f"remove one of them, {others}or name one in the address ({getter.version_argument}=), "
            "in the place of version",
        ).at(package.display())


def as_locked(entry: ModuleEntry, selected: str | None, bench: Bench) -> Target | Failure:
    """The target that the lock was made from: with the tag that was selected then."""
    try:
        target, getter = _plain(entry, bench)
        return target if getter is None or selected is None else with_tag(target, selected, getter)
    except GetModulesError as error:
        return Failure(module=entry.name, error=error)


def with_tag(target: Target, tag: str, getter: GetterAdapter) -> Target:
    package = target.address.package
    assert getter.version_argument is not None
    arguments = package.arguments.with_value(getter.version_argument, tag)
    checked = getter.check(package.with_arguments(arguments))
    return replace(target, address=replace(target.address, package=checked), selected=tag)


def versions_of(package: PackageAddress, getter: GetterAdapter, means: Means) -> Mapping[Version, tuple[str, ...]]:
    """The versions of a repository, with the tags of each. Asked once for all modules that are in it."""
    with (
        means.visit() as visit,
        temporary_workshops(visit) as workshops,
        reported(package.display(), means, workshops) as context,
    ):
        try:
            names = context.once(("versions", str(package)), lambda: getter.versions(package, context))
        except OfflineError as error:
            # What a getter says of its packages, that once they were fetched they are at hand, is not true of this.
            raise OfflineError(
                f"which versions there are of {package.display()} cannot be found out offline",
                hint="lists of versions are not kept: leave out --offline; only what is locked already needs none",
            ) from error
        return readable(names)


def readable(names: Iterable[str]) -> dict[Version, tuple[str, ...]]:
    """The tags that are versions: ``1.2.0`` or ``v1.2.0``, in OCI tags with ``_`` for ``+``."""
    found: dict[Version, tuple[str, ...]] = {}
    for name in dict.fromkeys(names):  # a list in pages may repeat itself
        version = version_in(name)
        if version is not None:
            found[version] = (*found.get(version, ()), name)
    return found


def version_in(name: str) -> Version | None:
    text = name.removeprefix("v")
    try:
        return Version.parse(text.replace("_", "+", 1) if "+" not in text else text)
    except VersionError:
        return None


def _nothing_fits(
    constraint: Constraint, entry: ModuleEntry, available: Iterable[Version], package: PackageAddress
) -> GetModulesError:
    newest = sorted(available, reverse=True)[:_SHOWN]
    there = f"the newest are {', '.join(map(str, newest))}" if newest else "no tag is a semantic version"
    advice = constraint.advice(available, 'version = "{}"', newest) if newest else None
    return NotFoundError(
        f"no version fits {printable(str(entry.version))!r}: {there}",
        hint=advice or "name a tag in the address, in the place of version",
    ).at(package.display())
