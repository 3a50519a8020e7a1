"""Proxies, as somebody wrote them into a variable: checked when one is used, and shown to nobody."""

from __future__ import annotations

import base64
import re
from urllib.parse import quote, unquote_to_bytes

from getmodules.errors import AddressError, ConfigError
from getmodules.patterns import pattern
from getmodules.url import check_url

_PROXY = pattern(r"(?P<scheme>https?)://(?:(?P<userinfo>[^/?#]*)@)?(?P<place>[^/?#@]+)(?:[/?#][^@]*)?", re.IGNORECASE)
#: What may stand in a user name and a password as it is. ``%`` begins what is encoded already.
_PLAIN = "%:!$&'()*+,;=-._~"


def usable(proxy: str, scheme: str) -> str:
    """The proxy for ``scheme``, as the libraries take it. The error quotes nothing: any of it may be a password."""
    match = _PROXY.fullmatch(proxy)
    try:
        if match is None or not check_url(f"{match['scheme']}://{match['place']}/").host:
            raise _unusable(scheme)
    except AddressError:
        raise _unusable(scheme) from None
    userinfo = match["userinfo"]
    # Bytes of the environment that are no UTF-8 stay what they are.
    user = f"{quote(userinfo.encode('utf-8', 'surrogateescape'), safe=_PLAIN)}@" if userinfo else ""
    return f"{match['scheme']}://{user}{match['place']}"


def _unusable(scheme: str) -> ConfigError:
    return ConfigError(
        f"the proxy for {scheme} cannot be used: it must be http://HOST:PORT or http://USER:PASSWORD@HOST:PORT",
        hint=f"look at {scheme}_proxy and all_proxy; in a password % is written %25, / %2F, ? %3F, # %23 and @ %40",
    )


def authorization(proxy: str) -> dict[str, str]:
    """The header for a proxy that is :func:`usable`. The one of requests knows Latin-1 only."""
    userinfo = proxy.partition("://")[2].rpartition("@")[0]
    if not userinfo:
        return {}
    user, _, password = userinfo.partition(":")
    pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair).decode()}"}
