"""Settings from the environment, read when a client is made and not again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from getmodules.addresses.url import check_url
from getmodules.api.limits import Limits
from getmodules.errors import AddressError, ConfigError
from getmodules.plugins.loader import PluginSelection
from getmodules.util.redact import printable, redact_address

PLUGINS_VARIABLE = "GETMODULES_PLUGINS"
REGISTRY_VARIABLE = "GETMODULES_REGISTRY"


def limits_from(environ: Mapping[str, str]) -> Limits:
    return Limits().with_environment(environ)


def selection_from(environ: Mapping[str, str], without: Iterable[str] = ()) -> PluginSelection:
    """``GETMODULES_PLUGINS`` lets only the named third-party plugins in; empty, none; unset, all."""
    names = environ.get(PLUGINS_VARIABLE)
    only = None if names is None else frozenset(name.strip() for name in names.split(",") if name.strip())
    return PluginSelection(only=only, without=frozenset(without))


def registry_from(environ: Mapping[str, str], given: str | None = None) -> str | None:
    """The host that ``namespace/name/system`` is a module of: ``given``, else ``GETMODULES_REGISTRY``, else nobody."""
    text = environ.get(REGISTRY_VARIABLE, "") if given is None else given
    if given is None and not text:
        return None
    try:
        url = check_url(f"tfr://{text}")
    except AddressError as error:
        raise _no_host(text) from error
    if not url.host or url.userinfo or url.path:
        raise _no_host(text)
    return url.host if url.port in (None, 443) else f"{url.host}:{url.port}"


def _no_host(text: str) -> ConfigError:
    return ConfigError(
        f"{printable(redact_address(text))!r} is not the host of a registry",
        hint="write HOST or HOST:PORT, without a scheme or a path",
    )
