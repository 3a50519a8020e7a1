"""The module protocol of a registry: the versions of a module, and the address of one version."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any
from urllib.parse import quote

from getmodules.addresses.versions import Constraint, Version, VersionError
from getmodules.api.http import HttpAnswer
from getmodules.api.model import Elsewhere
from getmodules.api.ports import Context
from getmodules.errors import CorruptArchiveError, NetworkError, NotFoundError, UnsafeContentError
from getmodules.getters.registry.host import ModuleName, RegistryHost, parsed
from getmodules.net.terraform_get import HEADER, location_in_headers, sent_on, two_locations
from getmodules.net.wire import shown_host
from getmodules.util.strict_json import array_of, mapping, optional, required, string

SERVICE = "modules.v1"

#: The usual name of a module's repository; in registries the module has another name.
_REPOSITORY = re.compile(r"terraform-(?P<system>[0-9a-z]+)-(?P<name>.+)")
_CLEAR_TEXT = re.compile(r"(?:[a-z0-9+.-]+::)?(?P<scheme>http|git):(?!:)", re.IGNORECASE)
#: How many versions an error lists.
_SHOWN_VERSIONS = 5


class ModuleRegistry:
    """The modules of one host, during one operation."""

    def __init__(self, host: RegistryHost, context: Context) -> None:
        self._host = host
        self._context = context
        self._service = host.service(SERVICE)

    # ---------------------------------------------------------------------------------------------- versions

    def versions(self, module: ModuleName) -> tuple[Version, ...]:
        """Return all versions that the registry lists, unordered."""
        return self._context.once(("registry versions", self._service.url, module), partial(self._ask_versions, module))

    def _ask_versions(self, module: ModuleName) -> tuple[Version, ...]:
        answer = self._host.ask(self._service, f"{module}/versions")
        if answer.status != 200:
            raise self._not_found(answer, module)
        what = "the list of versions"
        listed = parsed(answer, what, lambda document: _versions_in(document, what))
        if listed is None:
            raise self._not_found(answer, module)
        # A version with our token in it would be shown and pinned. With the token masked it is not a version.
        versions, odd = _semantic_versions(map(answer.mask, listed))
        if odd:
            some = ", ".join(answer.shown(each, 40) for each in odd[:_SHOWN_VERSIONS])
            self._context.notice(f"{self._host.name}: {module} has versions that are no semantic versions: {some}")
        return versions

    def _not_found(self, answer: HttpAnswer, module: ModuleName) -> NotFoundError | NetworkError:
        answer.close()
        where = shown_host(answer.url)
        if answer.status not in (200, 404, 410):
            return NetworkError(f"{where} answered {answer.status} where the versions of {module} were asked for")
        swapped = _REPOSITORY.fullmatch(module.name)
        if swapped is not None:
            hint = f"that looks like a repository's name: try {module.namespace}/{swapped['name']}/{swapped['system']}"
        else:
            hint = "a module's name is NAMESPACE/NAME/SYSTEM"
            if not self._host.has_token:
                hint += f"; one that is private needs a token, in {self._host.token_variable}"
        return NotFoundError(f"{self._host.name} has no module {module}", hint=hint)

    def newest(self, module: ModuleName, constraint: Constraint) -> Version:
        """Return the newest version that ``constraint`` allows."""
        versions = self.versions(module)
        chosen = constraint.newest(versions)
        if chosen is None:
            raise self._none_fits(module, constraint, versions)
        return chosen

    def _none_fits(self, module: ModuleName, constraint: Constraint, versions: Iterable[Version]) -> NotFoundError:
        newest = sorted(versions, reverse=True)
        releases = [version for version in newest if not version.prerelease]
        wanted = f" that is {constraint}" if constraint.terms else ""
        if not newest:
            return NotFoundError(
                f"{self._host.name} has no version of {module}", hint="was one published, and under a semantic version?"
            )
        listed = (releases or newest)[:_SHOWN_VERSIONS]
        more = " …" if len(releases or newest) > len(listed) else ""
        hint = f"the newest are {', '.join(map(str, listed))}{more}"
        if advice := constraint.advice(newest, "version={}", listed):
            hint += f"; {advice}"
        return NotFoundError(f"{self._host.name} has no version of {module}{wanted}", hint=hint)

    # ---------------------------------------------------------------------------------------------- location

    def location(self, module: ModuleName, version: Version) -> Elsewhere:
        """Return the address that the registry names for this version."""
        answer = self._host.ask(self._service, f"{module}/{quote(str(version), safe='+')}/download")
        if answer.status in (404, 410):
            answer.close()
            raise NotFoundError(
                f"{shown_host(answer.url)} has version {version} of {module} in its list, and cannot say where it is",
                hint="the registry is at fault, or the version is being taken away",
            )
        if answer.status not in (200, 204):
            answer.close()
            raise NetworkError(f"{shown_host(answer.url)} answered {answer.status} where a location was asked for")
        elsewhere = sent_on(answer, _location(answer), self._host.too_far_in)
        clear = _CLEAR_TEXT.match(elsewhere.address)
        if self._host.origin.scheme == "https" and clear is not None:
            raise UnsafeContentError(
                f"{self._host.name} sends us on from https to {clear['scheme']}: {answer.shown(elsewhere.address)!r}",
                part="elsewhere",
            )
        return elsewhere


def _versions_in(document: dict[str, Any], what: str) -> list[str] | None:
    """Return the versions of the first module in the list, the requested one; ``None`` if the list is empty."""
    modules = required(document, "modules", array_of(mapping), what)
    if not modules:
        return None
    versions = optional(modules[0], "versions", array_of(mapping), what) or []
    return [required(version, "version", string, what) for version in versions]


def _semantic_versions(listed: Iterable[str]) -> tuple[tuple[Version, ...], list[str]]:
    """Return the semantic versions, each once, and all other entries. Like Terraform, accept a leading ``v``."""
    versions: set[Version] = set()
    odd: list[str] = []
    for text in listed:
        try:
            versions.add(Version.parse(text.removeprefix("v")))
        except VersionError:
            odd.append(text)
    return tuple(versions), odd


def _location(answer: HttpAnswer) -> str:
    """Return the location in the answer: Terraform reads the header, OpenTofu the body, so both must agree."""
    header = location_in_headers(answer)
    in_json = "json" in answer.headers.get("Content-Type", "").lower()
    body = ""
    if answer.status == 200 and (in_json or not header):
        what = "the location of the module"
        body = parsed(answer, what, lambda document: optional(document, "location", string, what)) or ""
    answer.close()
    if header and body and header != body:
        raise two_locations(answer, header, body)
    if not header and not body:
        raise CorruptArchiveError(f"{shown_host(answer.url)} names no location: no {HEADER}, and nothing in the body")
    return header or body
