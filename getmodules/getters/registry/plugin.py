"""Getter for ``tfr:``, modules in module registries, and the detector for ``namespace/name/system``.

A registry has no packages: it lists the versions of a module, and names the address of each. So resolving ends at
another address, and the package is pinned by the getter of that address.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.hookspecs import hookimpl
from getmodules.api.model import Elsewhere, Pin, Want
from getmodules.api.ports import Context, Detector, Getter, Shorthand
from getmodules.errors import AddressError
from getmodules.util.values import replace

if TYPE_CHECKING:
    from getmodules.getters.registry.host import ModuleName
    from getmodules.getters.registry.modules import ModuleRegistry


_SCHEME = "tfr"
_HOW = f"write {_SCHEME}://HOST/NAMESPACE/NAME/SYSTEM[//SUBDIRECTORY][?version=CONSTRAINT]"


class RegistryGetter:
    """Getter for modules that a registry lists."""

    schemes = (_SCHEME,)
    arguments = frozenset({"version"})
    version_argument = "version"

    def check(self, package: PackageAddress) -> PackageAddress:
        from getmodules.addresses.versions import Constraint, VersionError
        from getmodules.getters.registry.host import ModuleName

        url = check_url(package.url)
        if url.scheme != _SCHEME:
            raise AddressError(f"{_SCHEME}:: takes no other URL", hint=_HOW)
        if not url.host:
            raise AddressError("there is no registry in this address", hint=_HOW)
        if url.userinfo:
            raise AddressError(
                f"{_SCHEME} addresses carry no user name", hint="a token comes from the environment: TF_TOKEN_<host>"
            )
        ModuleName.parse(url.path.removeprefix("/"))
        version = package.arguments.get("version")
        if version is not None:
            try:
                Constraint.parse(version)
            except VersionError as error:
                raise AddressError(str(error), hint=error.hint) from None
        own = url._replace(port=None) if url.port == 443 else url
        return replace(package, url=str(own), forced=False)

    def resolve(self, package: PackageAddress, context: Context) -> Elsewhere:
        from getmodules.addresses.versions import Constraint

        registry, module = _registry_and_module(package, context)
        wanted = package.arguments.get("version")
        version = registry.newest(module, Constraint() if wanted is None else Constraint.parse(wanted))
        if str(version) != wanted:
            context.notice(f"the newest version of {module} that will do is {version}")
        return registry.location(module, version)

    def versions(self, package: PackageAddress, context: Context) -> Iterable[str]:
        registry, module = _registry_and_module(package, context)
        return map(str, registry.versions(module))

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Elsewhere:
        return self.resolve(pin.package, context)


def _registry_and_module(package: PackageAddress, context: Context) -> tuple[ModuleRegistry, ModuleName]:
    from getmodules.getters.registry.host import ModuleName, RegistryHost
    from getmodules.getters.registry.modules import ModuleRegistry

    url = check_url(package.url)
    host = RegistryHost(f"{url.host}:{url.port}" if url.port else url.host, context)
    return ModuleRegistry(host, context), ModuleName.parse(url.path.removeprefix("/"))


class RegistryShorthand:
    """Detector for ``namespace/name/system``, which is an address only if a registry is configured."""

    name = "registry"

    def detect(self, shorthand: Shorthand) -> str | None:
        if shorthand.registry is None or shorthand.force not in (None, _SCHEME):
            return None
        from getmodules.getters.registry.host import ModuleName

        try:
            return f"{_SCHEME}://{shorthand.registry}/{ModuleName.parse(shorthand.body)}"
        except AddressError:
            return None  # a path, or what another detector knows


@hookimpl
def getmodules_getters() -> Iterable[Getter]:
    return (RegistryGetter(),)


@hookimpl
def getmodules_detectors() -> Iterable[Detector]:
    return (RegistryShorthand(),)
