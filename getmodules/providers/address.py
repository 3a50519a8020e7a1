"""Provider addresses: ``host/namespace/type``, normalised as Terraform and OpenTofu do it.

The host may be an international name. It is shown, and written into lock files, in Unicode, and compared and sorted
as DNS has it; a name that is already in DNS's own spelling (``xn--``) is refused, as both engines do.
"""

from __future__ import annotations

import re
from typing import Final, Self

from getmodules.errors import AddressError
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

_BUILT_IN_HOSTS: Final = frozenset({"terraform.io", "opentofu.org"})
_BUILT_IN_NAMESPACE: Final = "builtin"
_LEGACY_NAMESPACE: Final = "-"
#: Types do not have these prefixes, which the repositories and programs of providers have.
_REDUNDANT_PREFIXES: Final = ("terraform-provider-", "opentofu-provider-", "terraform-", "opentofu-")
_LONGEST = 1_000
_HOST = re.compile(r"[0-9a-z-]+(?:\.[0-9a-z-]+)*(?::[1-9][0-9]{0,4})?")
_PORT = re.compile(r"[0-9]{1,10}", re.ASCII)
_DEFAULT_PORT = 443
_FORM = "provider addresses are written host/namespace/type, such as registry.opentofu.org/hashicorp/aws"


@valueclass(kw_only=False)
class ProviderAddress:
    """The address of a provider that can be installed. ``parse`` makes it; the parts are normalised and checked."""

    #: The host as it is compared: international names in DNS's spelling, without a default port.
    host: str
    namespace: str
    type: str

    def __post_init__(self) -> None:
        parts = ((self.namespace, "namespace"), (self.type, "type"))
        try:
            normal = bool(_HOST.fullmatch(self.host)) and all(_part(part, what) == part for part, what in parts)
        except _InvalidPartError:
            normal = False
        if not normal:
            raise ValueError("the parts of a provider address are normalised: ProviderAddress.parse() does it")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the normalised address of ``text``, which must name the registry's host."""
        shown = printable(text, 120)
        parts = text.split("/") if len(text) <= _LONGEST else []
        if len(parts) != 3:
            raise AddressError(f"{shown!r} is no provider address", hint=_FORM)
        try:
            if parts[1] == _LEGACY_NAMESPACE:
                raise _InvalidPartError("providers of the legacy namespace '-' cannot be installed", _LEGACY_HINT)
            host, namespace, type_ = _host(parts[0]), _part(parts[1], "namespace"), _part(parts[2], "type")
            _check_type(type_)
            if host in _BUILT_IN_HOSTS and namespace == _BUILT_IN_NAMESPACE:
                raise _InvalidPartError("it is built into the engine", "there is nothing to install or to lock")
        except _InvalidPartError as error:
            raise AddressError(f"the provider address {shown!r} cannot be used: {error}", hint=error.hint) from None
        return cls(host, namespace, type_)

    @property
    def sort_key(self) -> tuple[str, str, str]:
        return self.host, self.namespace, self.type

    def __str__(self) -> str:
        """Return the address as people read it, and as lock files have it."""
        name, colon, port = self.host.partition(":")
        return f"{_to_unicode(name)}{colon}{port}/{self.namespace}/{self.type}"


class _InvalidPartError(Exception):
    def __init__(self, problem: str, hint: str = _FORM) -> None:
        super().__init__(problem)
        self.hint = hint


_LEGACY_HINT = "write the namespace that it has today, such as hashicorp"


def _host(given: str) -> str:
    name, colon, digits = given.partition(":")
    if not name:
        raise _InvalidPartError("the host is missing")
    for label in name.split("."):
        if not label:
            raise _InvalidPartError("the host has an empty label")
        if label.lower().startswith("xn--"):
            raise _InvalidPartError("the host is written in DNS's own spelling", "write it as people read it")
    ascii_name = _to_ascii(name, "the host is not a valid name")
    return f"{ascii_name}{_port(digits)}" if colon else ascii_name


def _port(digits: str) -> str:
    if not _PORT.fullmatch(digits) or not 1 <= int(digits) <= 65_535:
        raise _InvalidPartError("the port is not a number from 1 to 65535")
    return "" if int(digits) == _DEFAULT_PORT else f":{int(digits)}"


def _part(given: str, what: str) -> str:
    """Return a normalised namespace or type, which must be valid as one label of a host name."""
    problem = f"the {what} may have letters, digits and single hyphens between them"
    if not given or "." in given or "--" in given:
        raise _InvalidPartError(problem)
    return _to_unicode(_to_ascii(given, problem))


def _check_type(type_: str) -> None:
    for prefix in _REDUNDANT_PREFIXES:
        if type_.startswith(prefix):
            rest = type_.removeprefix(prefix)
            raise _InvalidPartError(f"no type begins with {prefix}", f"did you mean the type {printable(rest)!r}?")


def _to_ascii(name: str, problem: str) -> str:
    import idna

    try:
        # Mapped as UTS 46 says (capitals, widths, composition), then the letters, digits and hyphens of host names.
        return idna.encode(name, uts46=True, std3_rules=True).decode("ascii")
    except (UnicodeError, ValueError):
        raise _InvalidPartError(problem) from None


def _to_unicode(name: str) -> str:
    if "xn--" not in name:
        return name
    import idna

    return idna.decode(name)
