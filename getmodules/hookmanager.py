"""pluggy's manager, for one plugin, that looks only where a hook can be.

A plugin is a module as a rule, with fifty names of which one or two are hooks; and pluggy takes longer to look at each
of them than that plugin takes for all else.
"""

from __future__ import annotations

from types import FunctionType, MethodType, ModuleType
from typing import Any

import pluggy

from getmodules import hookspecs

#: What pluggy takes for a hook when it carries the mark.
_FUNCTIONS = (FunctionType, MethodType, staticmethod, classmethod)


class HookManager(pluggy.PluginManager):
    """Knows the hooks of :mod:`getmodules.hookspecs`."""

    def __init__(self) -> None:
        super().__init__(hookspecs.PROJECT)
        self.add_hookspecs(hookspecs)

    def parse_hookspec_opts(self, module_or_class: Any, name: str) -> Any:
        return None if _is_no_function(module_or_class, name) else super().parse_hookspec_opts(module_or_class, name)

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        return None if _is_no_function(plugin, name) else super().parse_hookimpl_opts(plugin, name)


def _is_no_function(owner: object, name: str) -> bool:
    """Of a module that is plain to see; whatever else a plugin may be, pluggy itself looks at it."""
    return type(owner) is ModuleType and not isinstance(vars(owner).get(name), _FUNCTIONS)
