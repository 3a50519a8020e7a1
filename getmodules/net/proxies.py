"""Check proxies that come from variables, when one is used; never show them."""

from __future__ import annotations

import base64
import re
from itertools import chain
from urllib.parse import quote, unquote, unquote_to_bytes

from getmodules.addresses.url import check_url
from getmodules.errors import AddressError, ConfigError
from getmodules.util.redact import secrets_in_header

_PROXY = re.compile(
    r"(?P<scheme>https?)://(?:(?P<userinfo>[^/?#]*)@)?(?P<place>[^/?#@]+)(?:[/?#][^@]*)?", re.IGNORECASE
)
#: Characters of a user name and a password that stay as they are. ``%`` begins what is encoded already.
_PLAIN = "%:!$&'()*+,;=-._~"


def usable(proxy: str, scheme: str) -> str:
    """Return the proxy for ``scheme`` as the libraries take it. The error quotes nothing: it may be a password."""
    match = _PROXY.fullmatch(proxy)
    try:
        if match is None or not check_url(f"{match['scheme']}://{match['place']}/").host:
            raise _unusable(scheme)
    except AddressError:
        raise _unusable(scheme) from None
    userinfo = match["userinfo"]
    # Bytes of the environment that are not UTF-8 stay what they are.
    user = f"{quote(userinfo.encode('utf-8', 'surrogateescape'), safe=_PLAIN)}@" if userinfo else ""
    return f"{match['scheme']}://{user}{match['place']}"


def _unusable(scheme: str) -> ConfigError:
    return ConfigError(
        f"the proxy for {scheme} cannot be used: it must be http://HOST:PORT or http://USER:PASSWORD@HOST:PORT",
        hint=f"look at {scheme}_proxy and all_proxy; in a password % is written %25, / %2F, ? %3F, # %23 and @ %40",
    )


def authorization(proxy: str) -> dict[str, str]:
    """Return the header for a proxy that is :func:`usable`. The one of requests knows Latin-1 only."""
    userinfo = _userinfo(proxy)
    if not userinfo:
        return {}
    user, _, password = userinfo.partition(":")
    pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def secrets_of(proxy: str) -> tuple[str, ...]:
    """Return a proxy's credentials, in all forms in which it may send them back."""
    userinfo = _userinfo(proxy)
    if not userinfo:
        return ()
    shown = chain.from_iterable(map(secrets_in_header, authorization(proxy).values()))
    return (userinfo, unquote(userinfo), userinfo.partition(":")[2], *shown)


def _userinfo(proxy: str) -> str:
    return proxy.partition("://")[2].rpartition("@")[0]
