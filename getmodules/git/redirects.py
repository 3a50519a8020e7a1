"""Redirects where a server must not lead anywhere: git would connect first and ask afterwards, so we follow them.

Where the user wrote an https address git follows by itself, to https alone.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from getmodules.addresses.url import check_url
from getmodules.api.ports import Context
from getmodules.errors import UnsafeContentError
from getmodules.git.remote import Remote
from getmodules.util.redact import printable

_REDIRECTED = re.compile(r"The requested URL returned error: 30[12378]")
_QUESTION: Final = "/info/refs?service=git-upload-pack"


def are_ours(remote: Remote, context: Context) -> bool:
    """Whether git must not follow any: a server named the address, or could name one without TLS."""
    return remote.is_web and (context.check_address is not None or remote.scheme == "http")


def was_redirected(said: str) -> bool:
    return _REDIRECTED.search(said) is not None


def followed(remote: Remote, authorization: str | None, context: Context) -> Remote | None:
    """Where the server of ``remote`` sends everybody; ``None`` where it tells that only after a login."""
    return context.once(("git redirect", remote), partial(_follow, remote, authorization, context))


def _follow(remote: Remote, authorization: str | None, context: Context) -> Remote | None:
    from getmodules.net.session import Call, Grant

    url = remote.location.rstrip("/") + _QUESTION
    grant = None if authorization is None else Grant(origin=remote.origin, headers={"Authorization": authorization})
    call = Call(method="GET", url=url, grant=grant, accept=frozenset({401, 403}))
    answer = context.network.session().send(call, context)
    answer.close()
    if answer.url == url:
        return None
    location, found, more = answer.url.partition(_QUESTION)
    if not found or more or "?" in location:
        raise UnsafeContentError(
            f"{remote.shown} redirects to what is no repository: {printable(answer.shown(answer.url))!r}",
            part="elsewhere",
        )
    return Remote(check_url(location))
