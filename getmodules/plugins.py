"""Loads plugins, each in isolation: one that is broken is reported by name, and breaks nothing else.

Facts about pluggy that shape this: its own loader dies on the first broken entry point; a hook whose name is
misspelt registers silently; the plugin registered last is called first, and any plugin may wrap another's hooks.
So entry points are loaded one by one, pending hooks are checked after each registration, and each hook is
called for one plugin alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from getmodules import entrypoints
from getmodules.errors import ConfigError, PluginError, PluginLoadError
from getmodules.guard import Guard
from getmodules.ports import REQUIRED
from getmodules.redact import printable

if TYPE_CHECKING:
    from pluggy import PluginManager

GROUP = "getmodules"
FIRST_PARTY = "getmodules"
#: The distribution of plugins that the embedding program hands over itself.
OF_THE_PROGRAM = "this program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which plugins may come in. ``only``: of third parties just these (``None``: all); ``without``: never these."""

    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    def refusal(self, name: str, distribution: str) -> str | None:
        names = {name, distribution}
        if names & self.without:
            return "taken out with --no-plugin"
        if self.only is not None and distribution != FIRST_PARTY and not names & self.only:
            return "GETMODULES_PLUGINS does not name it"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One plugin and how it fared: ``offers`` by hook name, or why there are none."""

    name: str
    distribution: str
    version: str
    offers: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    error: PluginError | None = None
    left_out: str | None = None

    @property
    def first_party(self) -> bool:
        return self.distribution == FIRST_PARTY

    @property
    def guard(self) -> Guard:
        return Guard(self.name, f"{self.distribution} {self.version}".strip())


def load(selection: Selection, programs_own: Sequence[object] = ()) -> tuple[Plugin, ...]:
    """All plugins: first-party ones first, then others in the order of the path, then the program's own."""
    manager = _manager()
    found = list(entrypoints.find(GROUP))
    found.sort(key=lambda entry: entry.distribution != FIRST_PARTY)
    _check_without(selection, found, programs_own)
    plugins = []
    for entry in found:
        left_out = selection.refusal(entry.name, entry.distribution)
        if left_out:
            plugins.append(_plugin(entry, left_out=left_out))
        else:
            plugins.append(_load_one(manager, _plugin(entry), partial(_import, entry.value)))
    for own in programs_own:
        name = getattr(own, "__name__", type(own).__name__)
        plugin = Plugin(name=name, distribution=OF_THE_PROGRAM, version="")
        plugins.append(_load_one(manager, plugin, partial(_itself, own)))
    return tuple(plugins)


def _plugin(entry: entrypoints.EntryPoint, **more: Any) -> Plugin:
    return Plugin(name=entry.name, distribution=entry.distribution, version=entry.version, **more)


def _check_without(selection: Selection, found: Sequence[entrypoints.EntryPoint], own: Sequence[object]) -> None:
    known = {entry.name for entry in found} | {entry.distribution for entry in found}
    for name in sorted(selection.without - known):
        import difflib

        near = difflib.get_close_matches(name, known, n=3)
        raise ConfigError(
            f"there is no plugin named {printable(name)!r} to take out",
            hint=f"did you mean {' or '.join(near)}?" if near else "getmodules plugins lists them",
        )


def _itself(plugin: object) -> object:
    return plugin


def _manager() -> PluginManager:
    import pluggy

    from getmodules import hookspecs

    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def _import(value: str) -> object:
    module, _, attribute = value.partition(":")
    target: object = importlib.import_module(module)
    for name in attribute.split(".") if attribute else ():
        target = getattr(target, name)
    return target


def _load_one(manager: PluginManager, plugin: Plugin, produce: Callable[[], object]) -> Plugin:
    registered: object = None
    try:
        implementation = _guarded_load(plugin, "importing it", produce)
        registered = implementation
        _guarded_load(plugin, "registering it", lambda: _register(manager, plugin, implementation))
        return replace(plugin, offers=_offers(manager, plugin, implementation))
    except PluginError as error:
        if registered is not None and manager.is_registered(registered):
            manager.unregister(registered)
        return replace(plugin, error=error)


def _guarded_load(plugin: Plugin, what: str, function: Callable[[], Any]) -> Any:
    """Anything at all may go wrong here, a plugin's module body included: ``sys.exit`` must not end us."""
    try:
        return function()
    except PluginError:
        raise
    except (Exception, SystemExit) as error:
        said = printable(f"{type(error).__name__}: {error}")
        raise PluginLoadError(
            f"{plugin.guard}: {what} failed: {said}",
            hint=f"upgrade or remove {plugin.distribution}, or take it out with --no-plugin {plugin.name}",
        ) from error


def _register(manager: PluginManager, plugin: Plugin, implementation: object) -> None:
    import pluggy

    manager.register(implementation, name=f"{plugin.distribution}:{plugin.name}:{id(implementation)}")
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginLoadError(
            f"{plugin.guard}: {printable(str(error))}", hint=f"the hooks are: {', '.join(REQUIRED)}"
        ) from error
    hooks = {caller.name for caller in manager.get_hookcallers(implementation) or ()}
    if unmarked := sorted(
        name for name in dir(implementation) if name.startswith("getmodules_") and name not in hooks
    ):
        raise PluginLoadError(
            f"{plugin.guard}: {', '.join(unmarked)} is not marked as a hook, or is none",
            hint=f"mark it with @getmodules.hookimpl; the hooks are: {', '.join(REQUIRED)}",
        )
    if not hooks:
        raise PluginLoadError(f"{plugin.guard}: it implements no hook", hint=f"the hooks are: {', '.join(REQUIRED)}")


def _offers(manager: PluginManager, plugin: Plugin, implementation: object) -> dict[str, tuple[Any, ...]]:
    """What the hooks of this plugin return, called without anybody else's wrappers around them."""
    others = [other for other in manager.get_plugins() if other is not implementation]
    offers = {}
    for caller in manager.get_hookcallers(implementation) or ():
        hook = manager.subset_hook_caller(caller.name, remove_plugins=others)
        for result in plugin.guard.call(caller.name, hook):
            offers[caller.name] = tuple(plugin.guard.iterate(caller.name, result))
            _check_offers(plugin, caller.name, offers[caller.name])
    return offers


def _check_offers(plugin: Plugin, hook: str, offers: Iterable[object]) -> None:
    for offer in offers:
        if isinstance(offer, type):
            raise plugin.guard.violation(f"{hook} returned the class {offer.__name__}, not an instance of it")
        missing = [name for name in REQUIRED[hook] if not hasattr(offer, name)]
        if missing:
            raise plugin.guard.violation(f"{hook}: {type(offer).__name__} has no {', '.join(missing)}")
