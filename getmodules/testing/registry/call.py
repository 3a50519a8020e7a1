"""Calls: the argument of handlers, with the request, its route, and the registry's settings."""

from __future__ import annotations

from getmodules.testing.registry.access import Grant
from getmodules.testing.registry.names import Route
from getmodules.testing.registry.store import Repository, Store
from getmodules.testing.registry.wire import RefusalError, Request, name_unknown
from getmodules.util.values import valueclass


@valueclass
class Behaviour:
    """The choices that the specification leaves to a registry. ``sparse``: manifests may refer to missing blobs."""

    page_size: int = 1000
    chunk_min_length: int | None = None
    referrers_api: bool = True
    deletes: bool = True
    mounts: bool = True
    manifest_limit: int = 4 << 20
    sparse: bool = False


@valueclass(kw_only=False)
class Call:
    """One request to be handled."""

    request: Request
    route: Route
    store: Store
    grant: Grant
    behaviour: Behaviour

    @property
    def name(self) -> str:
        """The name of the repository, which has been checked."""
        return self.route.name

    def repository(self) -> Repository:
        """Return the repository, or refuse the call if it does not exist."""
        found = self.store.find(self.name)
        if found is None:
            raise name_unknown(self.name)
        return found

    def new_repository(self) -> Repository:
        """Return the repository, which is made if it does not exist."""
        return self.store.create(self.name)

    def unsupported_method(self) -> RefusalError:
        return RefusalError(405, "UNSUPPORTED", f"{self.request.method} is not supported here")
