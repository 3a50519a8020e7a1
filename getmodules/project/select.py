"""Selection of versions: makes an entry of the manifest an address to fetch; ``version = "~> 1.2"`` becomes one tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from getmodules.addresses.types import ModuleAddress, PackageAddress
from getmodules.addresses.versions import Constraint, Version, version_in
from getmodules.errors import ConfigError, GetModulesError, NotFoundError, OfflineError
from getmodules.pipeline.batch import Failure, Outcome, ask_all
from getmodules.pipeline.operation import Operation
from getmodules.plugins.getter_adapter import GetterAdapter
from getmodules.project.destinations import check_own
from getmodules.project.manifest import ModuleEntry
from getmodules.project.workspace import Workspace
from getmodules.util.redact import printable
from getmodules.util.values import replace, valueclass

_SHOWN = 5


@valueclass
class Target:
    """A module with the address to fetch. ``selected`` is the tag that was chosen by its ``version``."""

    entry: ModuleEntry
    address: ModuleAddress
    selected: str | None = None


def find_targets(entries: Iterable[ModuleEntry], workspace: Workspace) -> Outcome[Target]:
    """Return each module's target, or the reason why it has none."""
    done: dict[str, Target] = {}
    failures: dict[str, GetModulesError] = {}
    questions = {}
    for entry in entries:
        try:
            target, getter = _unversioned_target(entry, workspace)
        except GetModulesError as error:
            failures[entry.name] = error
            continue
        if getter is None:
            done[entry.name] = target
        else:
            questions[entry.name] = (
                target.address.package,
                partial(_select_version, target, getter, workspace.operation),
            )
    asked = ask_all(questions, workspace.operation, workspace.pace)
    failures |= {failure.module: failure.error for failure in asked.failures}
    return Outcome(
        done={**done, **asked.done},
        failures=tuple(Failure(module=name, error=error) for name, error in sorted(failures.items())),
    )


def _unversioned_target(entry: ModuleEntry, workspace: Workspace) -> tuple[Target, GetterAdapter | None]:
    """Return the target without a selected version; and the getter to ask, if one must be selected."""
    address = workspace.detect(entry.source)
    check_own(entry, address, workspace)
    getter = workspace.operation.catalog.getter(address.package.getter)
    if entry.version is None:
        return Target(entry=entry, address=address), None
    if getter.version_argument is None:
        raise ConfigError(
            f"[modules.{entry.name}] has a version, and {getter.schemes[0]} addresses have none",
            hint="leave version out, or write it into the address",
        ).at(address.display())
    _refuse_pinned_source(entry, address.package, getter.version_argument)
    return Target(entry=entry, address=address), getter


def _refuse_pinned_source(entry: ModuleEntry, package: PackageAddress, argument: str) -> None:
    fixed = [name for name in (argument, "digest") if name in package.arguments]
    if fixed:
        raise ConfigError(
            f"[modules.{entry.name}] has a version, and its source a {fixed[0]}=: they exclude each other",
            hint="leave one of them out",
        ).at(package.display())


def _select_version(target: Target, getter: GetterAdapter, operation: Operation) -> Target:
    entry, package = target.entry, target.address.package
    assert entry.version is not None
    constraint = Constraint.parse(entry.version)
    available = list_versions(package, getter, operation, entry.name)
    allowed = {version: tags for version, tags in available.items() if constraint.allows(version)}
    if not allowed:
        raise _no_matching_version(constraint, entry, available, package)
    _refuse_two_spellings(allowed, getter, package)
    (tag,) = allowed[max(allowed)]
    return with_tag(target, tag, getter)


def _refuse_two_spellings(
    allowed: Mapping[Version, tuple[str, ...]], getter: GetterAdapter, package: PackageAddress
) -> None:
    """Refuse two tags that are one version, even if it is not the newest one.

    It would become the newest when a version is removed or the constraint is narrowed.
    """
    twice = max((version for version, tags in allowed.items() if len(tags) > 1), default=None)
    if twice is not None:
        first, second = sorted(allowed[twice])[:2]
        others = f"have a version without both (!= {twice}), " if len(allowed) > 1 else ""
        raise ConfigError(
            f"the tags {printable(first, 80)!r} and {printable(second, 80)!r} are one version: which one is meant?",
            hint=f"remove one of them, {others}or name one in the address ({getter.version_argument}=), "
            "in the place of version",
        ).at(package.display())


def locked_target(entry: ModuleEntry, selected: str | None, workspace: Workspace) -> Target | Failure:
    """Return the target that the lock was made from, with the tag that was selected then."""
    try:
        target, getter = _unversioned_target(entry, workspace)
        return target if getter is None or selected is None else with_tag(target, selected, getter)
    except GetModulesError as error:
        return Failure(module=entry.name, error=error)


def with_tag(target: Target, tag: str, getter: GetterAdapter) -> Target:
    """Return the target with the selected ``tag`` in its address."""
    package = target.address.package
    assert getter.version_argument is not None
    arguments = package.arguments.with_value(getter.version_argument, tag)
    checked = getter.check(package.with_arguments(arguments))
    return replace(target, address=replace(target.address, package=checked), selected=tag)


def list_versions(
    package: PackageAddress, getter: GetterAdapter, operation: Operation, module: str
) -> Mapping[Version, tuple[str, ...]]:
    """Return the versions of a repository, with the tags of each; asked for once for all its modules."""
    with operation.package(package, cached=False, modules=(module,)) as run:
        try:
            names = run.context.once(("versions", str(package)), lambda: getter.versions(package, run.context))
        except OfflineError as error:
            # The getter's own hint, that packages that were fetched are in the cache, does not help here.
            raise OfflineError(
                "which versions there are cannot be found out",
                hint="lists of versions are not kept: leave out --offline; only what is locked already needs none",
            ) from error
        return parse_versions(names)


def parse_versions(names: Iterable[str]) -> dict[Version, tuple[str, ...]]:
    """Return the tags that are versions, by version: ``1.2.0`` or ``v1.2.0``, in OCI tags with ``_`` for ``+``."""
    found: dict[Version, tuple[str, ...]] = {}
    for name in dict.fromkeys(names):  # a list that came in pages may have duplicates
        version = version_in(name)
        if version is not None:
            found[version] = (*found.get(version, ()), name)
    return found


def _no_matching_version(
    constraint: Constraint, entry: ModuleEntry, available: Iterable[Version], package: PackageAddress
) -> GetModulesError:
    newest = sorted(available, reverse=True)[:_SHOWN]
    there = f"the newest are {', '.join(map(str, newest))}" if newest else "no tag is a semantic version"
    advice = constraint.advice(available, 'version = "{}"', newest) if newest else None
    return NotFoundError(
        f"no version fits {printable(str(entry.version))!r}: {there}",
        hint=advice or "name a tag in the address, in the place of version",
    ).at(package.display())
