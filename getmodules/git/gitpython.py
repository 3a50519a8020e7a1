"""The one class of GitPython that is needed here, without the rest of it.

GitPython's own ``__init__`` imports all of it, which takes longer than git itself does for a small repository, and
runs ``git version`` twice, with whatever the variables of this process make of that (``GIT_TRACE`` writes a file). So
the module that is needed is loaded apart: by the import system's own loaders, but into nothing that others can see. A
program that imports GitPython itself gets the whole one, before or after.
"""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from getmodules.errors import ToolMissingError
from getmodules.util.redact import printable

if TYPE_CHECKING:
    from git.cmd import Git

#: GitPython, and what it took out of itself into a package of its own.
_APART: Final = ("git.", "gitdb.")


class Apart:
    """Modules of packages whose ``__init__`` never runs. They see each other, and nobody else sees them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._modules: dict[str, ModuleType] = {}

    def module(self, name: str) -> ModuleType:
        with self._lock:
            return self._modules.get(name) or self._load(name)

    def _load(self, name: str) -> ModuleType:
        package, *between, _ = name.split(".")
        found = find_spec(package)
        places = found.submodule_search_locations if found is not None else None
        spec = PathFinder.find_spec(name, [os.path.join(place, *between) for place in places or ()])
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = module_from_spec(spec)
        # Here the statement ``import`` looks for what it calls.
        vars(module)["__builtins__"] = vars(builtins) | {"__import__": self._import}
        self._modules[name] = module  # before it runs: it may import what imports it
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del self._modules[name]
            raise
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> Any:
        if fromlist and not level and name.startswith(_APART):
            return self.module(name)
        return builtins.__import__(name, globals, locals, fromlist, level)


@cache
def runner() -> type[Git]:
    """``git.cmd.Git``."""
    try:
        found: type[Git] = Apart().module("git.cmd").Git
    except (ImportError, AttributeError) as error:
        raise ToolMissingError(
            f"GitPython cannot be used: {printable(str(error), 300)}",
            hint="install getmodules again, with all that it depends on",
        ) from error
    return found
