"""``getmodules plugins``: lists the plugins, their contributions and their errors."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from getmodules.cli.options import Parser, add_output, add_plugins, client_of
from getmodules.cli.render import Console, harmless
from getmodules.errors import PluginError

if TYPE_CHECKING:
    from getmodules.plugins.loader import Plugin

_EPILOG = """\
This lists: it ends with 0 also where a plugin failed to load, or where two
claim the same name. GETMODULES_PLUGINS=a,b lets only these of other people's
plugins in; empty, none of them.

with --json: {"plugins": [{"name", "distribution", "version", "state", "offers",
"why", "error"}], "conflicts": [{"code", "message", "hint", "address"}]}; state
is loaded, failed (error says why) or left-out (why says it); offers are the
names that it brings, by kind

examples:
  getmodules plugins
  getmodules plugins --json --no-plugin getmodules-example
"""

_LABEL = 14
_PREFIX = "getmodules_"
#: The attribute with the names of an offer, if it is not ``name``.
_NAMES = {"getmodules_getters": "schemes", "getmodules_unpackers": "names"}


def parser() -> Parser:
    made = Parser(
        usage="getmodules plugins [OPTION...]",
        description="List the plugins: where each is from, what it contributes, or why it does not.",
        epilog=_EPILOG,
    )
    add_plugins(made)
    add_output(made, quiet=False)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    catalog = client_of(options, console).catalog
    plugins = [_as_json(plugin) for plugin in catalog.plugins]
    conflicts = catalog.conflicts()
    fields = {"plugins": plugins, "conflicts": [conflict.as_json() for conflict in conflicts]}
    lines = [line for plugin in plugins for line in _as_lines(plugin)]
    lines += [line for conflict in conflicts for line in _error_lines("conflict", conflict.as_json())]
    console.result("\n".join(map(harmless, lines)), fields)
    return 0


def _as_json(plugin: Plugin) -> dict[str, Any]:
    error = plugin.error
    offers: dict[str, list[str]] = {}
    try:
        offers = {hook.removeprefix(_PREFIX): _names(plugin, hook) for hook in plugin.offers}
    except PluginError as changed_its_mind:
        error = changed_its_mind
    state = "failed" if error else "left-out" if plugin.left_out else "loaded"
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "state": state,
        "offers": offers,
        "why": plugin.left_out,
        "error": None if error is None else error.as_json(),
    }


def _names(plugin: Plugin, hook: str) -> list[str]:
    attribute = _NAMES.get(hook, "name")
    return sorted(
        name for offer in plugin.offers[hook] for name in plugin.guard.call(hook, _names_of, offer, attribute)
    )


def _names_of(offer: object, attribute: str) -> list[str]:
    names = getattr(offer, attribute)
    return [names] if isinstance(names, str) else list(map(str, names))


def _as_lines(plugin: dict[str, Any]) -> Iterator[str]:
    title = f"{plugin['name']:{_LABEL}}  {plugin['distribution']} {plugin['version']}".rstrip()
    yield title if plugin["state"] == "loaded" else f"{title}  {plugin['state']}"
    for kind, names in plugin["offers"].items():
        yield _row(kind, ", ".join(names))
    if plugin["why"]:
        yield _row("why", plugin["why"])
    if plugin["error"]:
        yield from _error_lines("  error", plugin["error"])


def _error_lines(label: str, error: dict[str, Any]) -> Iterator[str]:
    yield f"{label:{_LABEL}}  {error['message']}"
    if error["hint"]:
        yield _row("hint", error["hint"])


def _row(label: str, text: str) -> str:
    return f"  {label:{_LABEL - 2}}  {text}"
