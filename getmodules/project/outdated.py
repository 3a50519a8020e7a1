"""``outdated``: finds newer versions of locked modules, and addresses that mean something else by now."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from getmodules.addresses.types import PackageAddress
from getmodules.addresses.versions import Constraint, Version, version_in
from getmodules.errors import GetModulesError
from getmodules.pipeline.batch import Failure, Outcome, ask_all
from getmodules.project.labels import version_label
from getmodules.project.lock import resolve_locked
from getmodules.project.lockfile import Lock, require_lock
from getmodules.project.manifest import ModuleEntry
from getmodules.project.plan import compare, find_mismatched
from getmodules.project.reports import OutdatedModule, OutdatedReport
from getmodules.project.select import list_versions
from getmodules.project.workspace import Workspace, choose_modules
from getmodules.util.values import replace, valueclass


def outdated(workspace: Workspace, names: tuple[str, ...] = ()) -> OutdatedReport:
    """Report which modules (all, or those with these names) are outdated.

    Those whose manifest entry was edited since it was locked, or that are not locked at all, are left out. That is told
    of what was edited, and of what is named.
    """
    manifest, lock = workspace.manifest(), require_lock(workspace.files)
    chosen = choose_modules(names, manifest.modules)
    manifest = replace(manifest, modules={name: manifest.modules[name] for name in chosen})
    plan = compare(manifest, lock, find_mismatched(manifest, lock, workspace))
    in_step = [entry for entry in manifest.modules.values() if not plan.fresh(entry.name)]
    edited = tuple(name for name in manifest.modules if name in lock.modules and plan.fresh(name))
    new = tuple(name for name in chosen if name in names and name not in lock.modules)
    _announce("edited and not locked again", edited, workspace)
    _announce("added and not locked yet", new, workspace)
    now = resolve_locked(manifest, plan, lock, workspace)
    newer = _newer(in_step, lock, workspace)
    failed = {failure.module: failure for failure in (*newer.failures, *now.failures)}
    found, current = [], []
    for entry in in_step:
        module = _module(entry.name, lock, now.done.get(entry.name), newer.done.get(entry.name))
        if entry.name in failed:
            continue
        if module.newest or module.latest or module.moved:
            found.append(module)
        else:
            current.append(entry.name)
    failures = tuple(failed[name] for name in manifest.modules if name in failed)
    return OutdatedReport(modules=tuple(found), failures=failures, current=tuple(current), edited=(*edited, *new))


def _announce(what: str, names: tuple[str, ...], workspace: Workspace) -> None:
    if names:
        which = f"{names[0]} was" if len(names) == 1 else f"{', '.join(names)} were"
        workspace.operation.progress.notice("", f"not looked at, since {which} {what}: getmodules lock")


@valueclass
class _Versions:
    """The locked version, the newest one that the manifest allows, and the newest release of all."""

    current: str
    newest: str | None
    latest: str | None


def _module(name: str, lock: Lock, now: str | None, versions: _Versions | None) -> OutdatedModule:
    module, package = lock.entry(name)
    return OutdatedModule(
        name=name,
        source=module.source,
        current=package.id,
        label=version_label(module, package),
        version=versions.current if versions else None,
        newest=versions.newest if versions else None,
        latest=versions.latest if versions else None,
        moved=now if now is not None and now != package.id else None,
    )


def _newer(entries: Iterable[ModuleEntry], lock: Lock, workspace: Workspace) -> Outcome[_Versions]:
    """Look up newer versions of the modules that are locked under a tag that is a version."""
    questions: dict[str, tuple[PackageAddress, Callable[[], _Versions]]] = {}
    failures: list[Failure] = []
    for entry in entries:
        try:
            question = _question(entry, lock.modules[entry.name].selected, workspace)
        except GetModulesError as error:
            failures.append(Failure(module=entry.name, error=error))
            continue
        if question is not None:
            questions[entry.name] = question
    asked = ask_all(questions, workspace.operation, workspace.pace)
    return Outcome(done=asked.done, failures=(*failures, *asked.failures))


def _question(
    entry: ModuleEntry, selected: str | None, workspace: Workspace
) -> tuple[PackageAddress, Callable[[], _Versions]] | None:
    package = workspace.detect(entry.source).package
    getter = workspace.operation.catalog.getter(package.getter)
    argument = getter.version_argument
    if argument is None:
        return None
    version = version_in(selected or package.arguments.get(argument, ""))
    if version is None:
        return None
    repository = package.with_arguments(package.arguments.without(argument))
    constraint = None if entry.version is None else Constraint.parse(entry.version)

    def ask() -> _Versions:
        return _versions(version, constraint, list_versions(repository, getter, workspace.operation, entry.name))

    return repository, ask


def _versions(current: Version, constraint: Constraint | None, available: Iterable[Version]) -> _Versions:
    newer = [version for version in available if version > current]
    allowed = None if constraint is None else constraint.newest(newer)
    latest = Constraint().newest(newer)
    return _Versions(
        current=str(current),
        newest=None if allowed is None else str(allowed),
        latest=None if latest is None else str(latest),
    )
