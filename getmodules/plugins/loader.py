"""Load plugins, each in isolation: one that is broken is reported by name, and breaks nothing else.

Facts about pluggy that shape this: its own loader dies on the first broken entry point; a hook whose name is
misspelt registers silently; the plugin registered last is called first, any plugin may wrap another's hooks, and
plugins are compared with each other. So entry points are loaded one by one, each into a manager of its own.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from getmodules.errors import (
    ConfigError,
    ContentError,
    FetchError,
    GetModulesError,
    PluginError,
    PluginLoadError,
    VerificationError,
)
from getmodules.plugins import entry_points as entrypoints
from getmodules.plugins.guard import Guard, described
from getmodules.util.redact import printable
from getmodules.util.values import field, replace, valueclass

if TYPE_CHECKING:
    from pluggy import PluginManager


_log = logging.getLogger("getmodules")

#: By hook name, the attributes without which an offer is refused at load time.
REQUIRED: dict[str, tuple[str, ...]] = {
    "getmodules_detectors": ("name", "detect"),
    "getmodules_getters": ("schemes", "fetch"),
    "getmodules_unpackers": ("names", "suffixes", "media_types", "unpack"),
    "getmodules_credentials": ("name", "lookup"),
    "getmodules_verifiers": ("name", "gates", "verify"),
    "getmodules_progress": ("name", "open"),
}
GROUP = "getmodules"
FIRST_PARTY = "getmodules"
#: The distribution of plugins that the embedding program hands over itself.
OF_THE_PROGRAM = "this program"


@valueclass
class PluginSelection:
    """The plugins to load. ``only``: of third parties just these (``None``: all); ``without``: never these."""

    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    def refusal(self, name: str, distribution: str) -> str | None:
        names = _names(name, distribution)
        if names & set(map(_comparable, self.without)):
            return "taken out by its name"
        if self.only is not None and distribution != FIRST_PARTY and not names & set(map(_comparable, self.only)):
            return "GETMODULES_PLUGINS does not name it"
        return None


@valueclass
class Plugin:
    """One plugin: its ``offers`` by hook name, or why it was not loaded."""

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
        return Guard(self.name, f"{self.distribution} {self.version}".strip(), self.first_party)


@contextmanager
def attributed(*plugins: Plugin) -> Iterator[None]:
    """Name the third-party plugins in errors of the block: the fault may be theirs."""
    try:
        yield
    except (ContentError, FetchError, VerificationError) as error:
        for plugin in plugins:
            if not plugin.first_party:
                error.brought_by(str(plugin.guard))
        raise


def load(selection: PluginSelection, programs_own: Sequence[object] = ()) -> tuple[Plugin, ...]:
    """Load all plugins: first-party ones first, then others in the order of the path, then the program's own."""
    found = list(entrypoints.find(GROUP))
    found.sort(key=lambda entry: entry.distribution != FIRST_PARTY)
    _check_without(selection, found)
    plugins = []
    for entry in found:
        left_out = selection.refusal(entry.name, entry.distribution)
        if left_out:
            plugins.append(_plugin(entry, left_out=left_out))
        else:
            plugins.append(_load_one(_plugin(entry), partial(_import, entry.value)))
    for own in programs_own:
        plugin = Plugin(name=printable(_name_of(own)), distribution=OF_THE_PROGRAM, version="")
        plugins.append(_load_one(plugin, partial(_itself, own)))
    return tuple(plugins)


def check_named(selection: PluginSelection, plugins: Sequence[Plugin]) -> None:
    """Check that named plugins were loaded: without a policy that was named, everything would pass in silence."""
    for name in sorted(selection.only or ()):
        named = [one for one in plugins if _comparable(name) in _names(one.name, one.distribution)]
        if not named:
            known = (each for one in plugins for each in _names(one.name, one.distribution))
            raise _no_plugin(f"GETMODULES_PLUGINS names {printable(name)!r}, and there is no such plugin", name, known)
        for plugin in named:
            if plugin.error is not None:
                raise type(plugin.error)(plugin.error.message, hint=plugin.error.hint) from plugin.error


def warn_of_broken(plugins: Iterable[Plugin]) -> None:
    """Warn of broken plugins that were not named. The operation continues, but a policy may be missing."""
    for plugin in plugins:
        if plugin.error is not None:
            _log.warning("%s; what it brings is missing (%s)", plugin.error.message, plugin.error.hint)


def _comparable(name: str) -> str:
    """Normalise a name: ``getmodules_example`` is ``getmodules-example``."""
    return entrypoints.normalised(name.strip())


def _names(name: str, distribution: str) -> set[str]:
    """Return the names that a plugin may be called by."""
    return {_comparable(name), _comparable(distribution)}


def _no_plugin(message: str, name: str, known: Iterable[str]) -> ConfigError:
    import difflib

    near = difflib.get_close_matches(name, set(known), n=3)
    return ConfigError(message, hint=f"did you mean {' or '.join(near)}?" if near else "getmodules plugins lists them")


def _name_of(own: object) -> str:
    """Return the name of a module or a class, else that of its class."""
    name = own.__name__ if isinstance(own, ModuleType | type) else type(own).__name__
    return str(name)


def _plugin(entry: entrypoints.EntryPoint, **more: Any) -> Plugin:
    return Plugin(name=entry.name, distribution=entry.distribution, version=entry.version, **more)


def _check_without(selection: PluginSelection, found: Sequence[entrypoints.EntryPoint]) -> None:
    known = {each for entry in found for each in _names(entry.name, entry.distribution)}
    required = set(map(_comparable, selection.only or ()))
    for name in sorted(selection.without):
        if _comparable(name) not in known:
            raise _no_plugin(f"there is no plugin named {printable(name)!r} to take out", name, known)
        for entry in found:
            names = _names(entry.name, entry.distribution)
            if _comparable(name) in names and names & required:
                # It may refuse what a policy forbids: whoever calls a command must not undo what the variable says.
                raise ConfigError(
                    f"{printable(name)!r} is to be taken out, and GETMODULES_PLUGINS names it"
                    f" ({', '.join(sorted(names & required))})",
                    hint=f"do without --no-plugin {printable(name)}, or without the name in GETMODULES_PLUGINS",
                )


def _itself(plugin: object) -> object:
    return plugin


def _import(value: str) -> object:
    module, _, attribute = value.partition(":")
    try:
        target: object = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            # Its own, and no dependency that could be installed.
            raise ModuleNotFoundError(f"there is no module {module!r}, which its entry point names") from error
        raise
    for name in attribute.split(".") if attribute else ():
        target = getattr(target, name)
    return target


def _load_one(plugin: Plugin, produce: Callable[[], object]) -> Plugin:
    import pluggy

    from getmodules.api import hookspecs

    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        implementation = _guarded_load(plugin, "importing it", produce)
        _guarded_load(plugin, "registering it", lambda: _register(manager, plugin, implementation))
        return replace(plugin, offers=plugin.guard.call("its hooks", _offers, manager, plugin, implementation))
    except PluginError as error:
        return replace(plugin, error=error)
    except GetModulesError as error:
        # Legitimate words of a getter at work, but a hook has nothing to say yet.
        return replace(plugin, error=plugin.guard.raised("its hooks", error))


def _guarded_load(plugin: Plugin, what: str, function: Callable[[], Any]) -> Any:
    """Call ``function``, in which anything may go wrong, even ``sys.exit`` in a plugin's module body."""
    try:
        return function()
    except (PluginError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PluginLoadError(
            f"{plugin.guard}: {what} failed: {described(error)}",
            hint=plugin.guard.hint_to_install(error)
            or f"upgrade or remove {plugin.distribution}, or take it out with --no-plugin {plugin.name}",
        ) from error


def _register(manager: PluginManager, plugin: Plugin, implementation: object) -> None:
    import pluggy

    manager.register(implementation, name=plugin.name)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginLoadError(
            f"{plugin.guard}: {printable(str(error))}", hint=f"the hooks are: {', '.join(REQUIRED)}"
        ) from error
    hooks = {caller.name for caller in manager.get_hookcallers(implementation) or ()}
    if unmarked := sorted(name for name in dir(implementation) if name.startswith("getmodules_") and name not in hooks):
        raise PluginLoadError(
            f"{plugin.guard}: {', '.join(unmarked)} is not marked as a hook, or is none",
            hint=f"mark it with @getmodules.hookimpl; the hooks are: {', '.join(REQUIRED)}",
        )
    if not hooks:
        raise PluginLoadError(f"{plugin.guard}: it implements no hook", hint=f"the hooks are: {', '.join(REQUIRED)}")


def _offers(manager: PluginManager, plugin: Plugin, implementation: object) -> dict[str, tuple[Any, ...]]:
    """Return the offers of a plugin's hooks."""
    offers = {}
    for caller in manager.get_hookcallers(implementation) or ():
        results = plugin.guard.call(caller.name, caller)
        if not results:  # pluggy leaves out what is None
            raise plugin.guard.violation(f"{caller.name} returned None; a hook without offers returns ()")
        for result in results:
            offers[caller.name] = plugin.guard.collect(caller.name, result)
            _check_offers(plugin, caller.name, offers[caller.name])
    return offers


def _check_offers(plugin: Plugin, hook: str, offers: Iterable[object]) -> None:
    for offer in offers:
        if isinstance(offer, type):
            raise plugin.guard.violation(f"{hook} returned the class {offer.__name__}, not an instance of it")
        missing = [name for name in REQUIRED[hook] if not hasattr(offer, name)]
        if missing:
            raise plugin.guard.violation(f"{hook}: {type(offer).__name__} has no {', '.join(missing)}")
