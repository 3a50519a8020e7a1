"""Where a registry may send us for a token.

A realm gets the registry's credentials, and Docker Hub shows that it may lie on another host. So a registry
names whom we trust; what it must not do is aim us, or our credentials, at somebody's inner network.
"""

from __future__ import annotations

from getmodules.addresses.url import check_url
from getmodules.api.ports import Origin
from getmodules.errors import AddressError, AuthenticationError
from getmodules.net.address_check import no_further_in_than
from getmodules.net.connections import AddressCheck
from getmodules.net.session import origin_of
from getmodules.net.wire import Mask
from getmodules.util.redact import printable, redact


def check_realm(realm: str, registry: Origin, address: str | None, mask: Mask = str) -> AddressCheck | None:
    """Refuse a realm that may not be asked; else the check of the address that it means, where it needs one.

    ``address`` is the one under which the registry answered, ``None`` behind a proxy. ``mask`` hides
    what the realm has of our own secrets, should it be shown.
    """
    shown = printable(redact(mask(realm)))
    try:
        url = check_url(realm.partition("?")[0])
    except AddressError as error:
        raise AuthenticationError(
            # Not its message: that quotes a part of the realm, in which no secret would be known again.
            f"the registry names a realm that cannot be used: {shown!r}",
            hint=error.hint,
        ) from None
    if url.scheme not in ("http", "https") or not url.host or "#" in realm:
        raise AuthenticationError(f"the registry names a realm that is no web address: {shown!r}")
    if url.userinfo:
        raise AuthenticationError(f"the registry names a realm with a user name in it: {shown!r}")
    origin = origin_of(realm)
    if origin == registry:
        return None
    if registry.scheme == "https" and origin.scheme != "https":
        raise AuthenticationError(f"the registry speaks https, and its realm does not: {shown!r}")
    return no_further_in_than(
        address,
        lambda kind, found: AuthenticationError(
            f"the registry names the realm {shown!r}, which is the {kind} address {found}",
            hint="a registry in another network has no business there: nothing was sent",
        ),
    )
