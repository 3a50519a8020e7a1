"""Errors about credentials: a server refused one or wants one, or one would be sent where anybody can listen."""

from __future__ import annotations

from collections.abc import Iterable

from getmodules.api.http import DEFAULT_PORTS, Authorization, HttpAnswer, NetworkSettings
from getmodules.api.ports import Origin
from getmodules.errors import AuthenticationError, SentCredential


def refused(
    answer: HttpAnswer,
    *,
    sent: SentCredential | None,
    explain: str = "",
    looked_in: Iterable[str] = (),
    advice: str = "",
) -> AuthenticationError:
    """Return the error for a 401 or a 403: what was sent, or else where a credential was looked for, and what to do."""
    from getmodules.net.wire import shown_host

    places = tuple(looked_in)
    to = f" to the credential of {sent}" if sent else ""
    said = f"{shown_host(answer.url)} answered {answer.status}{to}{f': {explain}' if explain else ''}"
    is_forbidden = answer.status == 403
    if sent:
        cause = "the credentials do not allow this" if is_forbidden else "the credentials were refused"
    else:
        cause = (
            "it may want credentials; none were found" if is_forbidden else "it wants credentials, and none were found"
        )
        if places:
            cause += f" in {', '.join(places)}"
    return AuthenticationError(
        said,
        part="forbidden" if is_forbidden else None,
        hint=f"{cause}: {advice}" if advice else cause,
        credential=sent,
        looked_in=() if sent else places,
    ).failing_at(shown_host(answer.url))


def check_not_in_clear(authorization: Authorization | None, settings: NetworkSettings) -> None:
    """Refuse to send credentials without TLS where only somebody else's text says that there is none."""
    if authorization is None or authorization.anonymous:
        return
    if not settings.allows_credentials(authorization.origin, authorization.asked_by):
        raise in_clear(authorization.origin, authorization.credential, asked_by=authorization.asked_by)


def in_clear(
    origin: Origin, credential: SentCredential | None = None, *, asked_by: Origin | None = None
) -> AuthenticationError:
    """Return the error for a credential that is not sent to ``origin``, as only a manifest or a lock wants it there."""
    what = f"the credential of {credential}" if credential else "a credential"
    chosen = shown_origin(asked_by or origin)
    return AuthenticationError(
        f"{what} is not sent to {shown_origin(origin)}: there is no TLS, and only the project's files want it so",
        hint=f"if nobody else can listen on the way there: --plain-http {chosen}; otherwise let it speak TLS",
        looked_in=(credential.found_in,) if credential else (),
    )


def shown_origin(origin: Origin) -> str:
    """Return ``HOST`` or ``HOST:PORT``, as options take it."""
    host = f"[{origin.host.strip('[]')}]" if ":" in origin.host else origin.host
    return host if origin.port == DEFAULT_PORTS.get(origin.scheme) else f"{host}:{origin.port}"
