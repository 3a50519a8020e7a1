"""Settings from the environment, read when a client is made and not again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from getmodules.limits import Limits
from getmodules.plugins import Selection

PLUGINS_VARIABLE = "GETMODULES_PLUGINS"


def limits_from(environ: Mapping[str, str]) -> Limits:
    return Limits().with_environment(environ)


def selection_from(environ: Mapping[str, str], without: Iterable[str] = ()) -> Selection:
    """``GETMODULES_PLUGINS`` lets only the named third-party plugins in; empty, none; unset, all."""
    names = environ.get(PLUGINS_VARIABLE)
    only = None if names is None else frozenset(name.strip() for name in names.split(",") if name.strip())
    return Selection(only=only, without=frozenset(without))
