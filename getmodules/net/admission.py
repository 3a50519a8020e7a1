"""Ask the gate of addresses about a request, before anything of it is sent.

Requests of the package's own address passed with that. All others are judged by their URL, without query and user
name: what a server names (a redirect, a token service, the location of a blob, of a page or an upload), and what a
getter asks of other hosts.
"""

from __future__ import annotations

from getmodules.addresses.comparison import bare_url
from getmodules.addresses.coverage import covers
from getmodules.addresses.types import PackageAddress
from getmodules.api.ports import Context
from getmodules.errors import AddressError, UnsafeContentError
from getmodules.util.redact import printable

#: The getter in the address of a request, whatever its scheme is.
_GETTER = "http"


def admit_request(url: str, context: Context, *, is_redirect: bool) -> None:
    """Raise where a verifier keeps us from ``url``. A redirect is judged in any case."""
    if context.address_gate is None:
        return
    try:
        bare = bare_url(url)
    except AddressError as error:
        # The URL is not shown: a part of it may be a secret that was sent to us.
        raise UnsafeContentError(
            f"a server named a URL that no policy can judge: {printable(error.message)}", part="elsewhere"
        ) from None
    if is_redirect or not any(covers(package, bare) for package in context.admitted):
        context.admit(PackageAddress(getter=_GETTER, url=bare))
