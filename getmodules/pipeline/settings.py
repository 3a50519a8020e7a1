"""The settings of a client: its arguments and the environment, read when it is made and not again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from getmodules.addresses.url import check_url
from getmodules.api.limits import Limits
from getmodules.api.ports import Progress
from getmodules.cache.location import directory_from
from getmodules.errors import AddressError, ConfigError
from getmodules.net.settings import NetSettings
from getmodules.pipeline.policy import machine_file, user_file
from getmodules.plugins.loader import PluginSelection
from getmodules.util.redact import printable, redact_address
from getmodules.util.values import field, valueclass

PLUGINS_VARIABLE = "GETMODULES_PLUGINS"
REGISTRY_VARIABLE = "GETMODULES_REGISTRY"


@valueclass
class Settings:
    """All that a client was made with, the environment's part included."""

    limits: Limits
    progress: Progress
    selection: PluginSelection
    #: The program's own plugins, besides the installed ones.
    plugins: tuple[object, ...]
    network: NetSettings
    registry: str | None
    environ: Mapping[str, str] = field(repr=False)
    #: Variables that a manifest names for tokens, by those in which a host's token is looked for first.
    token_variables: Mapping[str, str] = field(default_factory=dict)
    #: None where nothing is to be kept.
    cache_dir: Path | None
    offline: bool
    #: The file that ``GETMODULES_POLICY`` names.
    user_policy: Path | None = None
    #: The file with the policy of the machine, which need not be there. No argument and no variable names another one.
    machine_policy: Path = field(default_factory=machine_file)

    @classmethod
    def chosen(
        cls,
        *,
        limits: Limits | None,
        progress: Progress | None,
        plugins: Iterable[object],
        without_plugins: Iterable[str],
        network: NetSettings | None,
        registry: str | None,
        environ: Mapping[str, str],
        cache_dir: Path | None,
        use_cache: bool,
        offline: bool,
    ) -> Settings:
        """Take what the program says, and from ``environ`` what it leaves open."""
        return cls(
            limits=limits or limits_from(environ),
            progress=progress or Progress(),
            selection=selection_from(environ, without_plugins),
            plugins=tuple(plugins),
            network=NetSettings.from_environment(environ) if network is None else network.completed(environ),
            registry=registry_from(environ, registry),
            environ=dict(environ),
            cache_dir=(cache_dir or directory_from(environ)) if use_cache else None,
            offline=offline,
            user_policy=user_file(environ),
        )


def limits_from(environ: Mapping[str, str]) -> Limits:
    return Limits().with_environment(environ)


def selection_from(environ: Mapping[str, str], without: Iterable[str] = ()) -> PluginSelection:
    """Return the selection of plugins: ``GETMODULES_PLUGINS`` names the third-party ones; empty, none; unset, all."""
    names = environ.get(PLUGINS_VARIABLE)
    only = None if names is None else frozenset(name.strip() for name in names.split(",") if name.strip())
    return PluginSelection(only=only, without=frozenset(without))


def registry_from(environ: Mapping[str, str], given: str | None = None) -> str | None:
    """Return the host of ``namespace/name/system``: ``given``, else ``GETMODULES_REGISTRY``, else None."""
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
