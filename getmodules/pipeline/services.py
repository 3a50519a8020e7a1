"""The services that all operations of one client share: plugins, connections, the cache, a lock."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from getmodules.api.limits import Limits
from getmodules.api.ports import Progress
from getmodules.cache.location import CacheLocation, open_cache
from getmodules.files.private import PrivateDirectories, Sweeper
from getmodules.net.settings import ClientNetwork
from getmodules.pipeline.operation import Lock, Operation
from getmodules.pipeline.policy import Policy, policy_files, verifiers_of
from getmodules.pipeline.settings import Settings
from getmodules.plugins.catalog import Catalog, build
from getmodules.plugins.loader import check_named, load, warn_of_broken
from getmodules.util.values import replace


class Services:
    """Made from :class:`Settings`; any number of threads may use them. ``read_policy`` reads a file with a policy."""

    def __init__(
        self, settings: Settings, read_policy: Callable[[Path], Policy], catalog: Catalog | None = None
    ) -> None:
        self.settings = settings
        self._read_policy = read_policy
        self.catalog = catalog or build(load(settings.selection, settings.plugins))
        self._network = ClientNetwork(settings.network)
        self._sweeper = Sweeper()
        #: By process: whoever holds one is not in a process that is forked meanwhile.
        self._locks: defaultdict[int, Lock] = defaultdict(threading.RLock)
        self._cache_lock = threading.Lock()
        self._cache: CacheLocation | None = None
        self._has_told = False

    def with_settings(self, settings: Settings) -> Services:
        """Return services with the same plugins and other settings, which have connections and locks of their own."""
        return Services(settings, self._read_policy, self.catalog)

    def close(self) -> None:
        """End the connections that are kept for the next operation."""
        self._network.close()

    def operation(
        self, limits: Limits | None = None, progress: Progress | None = None, policy: Policy | None = None
    ) -> Operation:
        """Begin one call of the client. ``policy`` is a project's own; it holds besides those of machine and user."""
        self._check_plugins()
        return Operation(
            catalog=self._catalog_with(policy),
            limits=limits or self.settings.limits,
            progress=progress or self.settings.progress,
            sweeper=self._sweeper,
            network=self._network,
            open_cache=self._open_cache,
            offline=self.settings.offline,
            environ=self.settings.environ,
            token_variables=self.settings.token_variables,
            lock=self._locks[os.getpid()],
            private=PrivateDirectories(self._sweeper),
        )

    def _catalog_with(self, policy: Policy | None) -> Catalog:
        """Return the catalog with a verifier for each policy. The files are read anew: they may have changed."""
        files = policy_files(self.settings.machine_policy, self.settings.user_policy)
        policies = [*map(self._read_policy, files), *((policy,) if policy is not None else ())]
        if not policies:
            return self.catalog
        return replace(self.catalog, verifiers=(*verifiers_of(policies), *self.catalog.verifiers))

    def _check_plugins(self) -> None:
        """Check before anything is fetched or installed: what is missing may be what would have refused it."""
        check_named(self.settings.selection, self.catalog.plugins)
        if not self._has_told:
            self._has_told = True
            warn_of_broken(self.catalog.plugins)

    def _open_cache(self) -> CacheLocation | None:
        """Open the cache, and judge it, when it is first used, and again after somebody has removed it."""
        with self._cache_lock:
            removed = self._cache is not None and not self._cache.root.is_dir()
            if (self._cache is None or removed) and self.settings.cache_dir is not None:
                self._cache = open_cache(self.settings.cache_dir)
            return self._cache
