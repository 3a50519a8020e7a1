"""Which requests are a package's own: sent to where its address says, and not to where a server has sent us.

Whoever may ask for a package may send these. Any other request is judged by its own URL before it is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from getmodules.addresses.comparison import DOCKER_HUB, DOCKER_LIBRARY, comparable
from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import Url, check_url

_WEB: Final = {"http": 80, "https": 443}
_DOCKER_API: Final = DOCKER_HUB[-1]
#: The document in which a host of registries says where its services are; the services are named by a server.
_DESCRIPTION: Final = "/.well-known/terraform.json"


def api_location(registry: str, repository: str) -> tuple[str, str]:
    """Return the host and repository for the API: Docker Hub's has another name, and ``library/`` for its own images.

    Without a repository, it is the registry itself.
    """
    if registry in DOCKER_HUB:
        return _DOCKER_API, repository if "/" in repository or not repository else f"{DOCKER_LIBRARY}{repository}"
    return registry, repository


def covers(package: PackageAddress, url: str) -> bool:
    """Return whether a request to ``url``, which has no query, is one of the package's own.

    A getter that we do not know may ask the host of its package for anything.
    """
    return _RULES.get(package.getter, _same_host)(check_url(package.url), check_url(url))


def _same_host(package: Url, url: Url) -> bool:
    return bool(package.host) and _place(package, url) == _place(url, url)


def _same_url(package: Url, url: Url) -> bool:
    return comparable(str(package._replace(userinfo=""))) == comparable(str(url))


def _below(package: Url, url: Url) -> bool:
    """Return whether a URL is below that of a repository of git, where its server has all that git asks for."""
    root = comparable(str(package._replace(userinfo=""))).rstrip("/")
    return package.scheme in _WEB and comparable(str(url)).startswith(f"{root}/")


def _repository(package: Url, url: Url) -> bool:
    registry = f"{package.host}:{package.port}" if package.port else package.host
    host, name = api_location(registry, package.path.strip("/"))
    entrance = comparable(f"{url.scheme}://{host}/v2/")
    own = comparable(str(url))
    return own == entrance or (bool(name) and own.startswith(f"{entrance}{name}/"))


def _description(package: Url, url: Url) -> bool:
    return _same_host(package, url) and url.path == _DESCRIPTION


def _place(named: Url, url: Url) -> tuple[str, int]:
    """Return host and port of ``named``, whose scheme may be one that ``url`` speaks for it."""
    return named.host.removesuffix("."), named.port or _WEB[url.scheme]


_RULES: Final[dict[str, Callable[[Url, Url], bool]]] = {
    "git": _below,
    "http": _same_url,
    "https": _same_url,
    "oci": _repository,
    "tfr": _description,
}
