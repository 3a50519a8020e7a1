"""What an archive's own server may see of us: one origin, its credentials, and nobody else's."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from getmodules.addresses.url import Url
from getmodules.api.ports import Context, Credential, Origin
from getmodules.errors import AuthenticationError
from getmodules.net.credentials import TOKEN_PREFIX, authorization_of, is_overheard, variable_suffix
from getmodules.net.netrc import from_netrc
from getmodules.net.outcome import failed
from getmodules.net.session import Call, Grant, origin_of
from getmodules.net.settings import DEFAULT_PORTS, NetSettings
from getmodules.net.wire import Answer
from getmodules.util.redact import Secret, is_secret_argument
from getmodules.util.values import valueclass

_AUTHORIZATION = "authorization"


@valueclass
class Access:
    grant: Grant
    #: Where the credential was found, for people; ``None`` where there is none.
    found_in: str | None = None

    def refused(self, call: Call, answer: Answer) -> AuthenticationError:
        """The error for a 401 or a 403, saying what was tried, or what could be."""
        mine = call.shows_credentials_to(answer.url)
        error = failed(answer, had_credentials=mine, explain=call.explain(answer))
        assert isinstance(error, AuthenticationError)
        if mine and self.found_in is not None:
            error.hint = f"{error.hint} (those of {self.found_in})"
        elif origin_of(answer.url) != self.grant.origin:
            error.hint = "it was reached by a redirect, and credentials are never shown to another host than their own"
        elif not mine:
            suffix = variable_suffix(self.grant.origin)
            host = f"[{self.grant.origin.host}]" if ":" in self.grant.origin.host else self.grant.origin.host
            error.hint = f"{error.hint}: {TOKEN_PREFIX}{suffix}, ~/.netrc, or --header {host} NAME=env:VARIABLE"
        return error


def access_to(url: Url, secrets: tuple[Secret, ...], context: Context, settings: NetSettings) -> Access:
    """The first of: a header ``Authorization``, the address, the environment and plugins, netrc.

    ``secrets`` are those that the address itself has in its query, to be masked like the others.
    """
    origin = _origin(url)
    if is_overheard(origin, context.home):
        return Access(grant=Grant(origin=origin, headers={}, in_body=secrets, anonymous=True))
    headers = {name: value.reveal() for name, value in settings.headers_for(origin).items()}
    found_in = "--header" if headers else None
    if _AUTHORIZATION not in (name.lower() for name in headers):
        found = _credential(url, origin, context)
        if found is not None:
            headers["Authorization"] = authorization_of(found)
            found_in = found.found_in
    grant = Grant(origin=origin, headers=headers, in_body=secrets, anonymous=not headers)
    return Access(grant=grant, found_in=found_in)


def _origin(url: Url) -> Origin:
    host = url.host.strip("[]")
    return Origin(url.scheme, host, url.port or DEFAULT_PORTS.get(url.scheme, 0))


def _credential(url: Url, origin: Origin, context: Context) -> Credential | None:
    if url.userinfo:
        user, _, password = url.userinfo.partition(":")
        return Credential(secret=Secret(unquote(password)), username=unquote(user), found_in="the address")
    return context.credentials(origin, url.path or "/") or from_netrc(context.environ, origin.host)


def secret_arguments(arguments: Mapping[str, str]) -> tuple[Secret, ...]:
    """The values of a query that are credentials by their names: a server may repeat them."""
    return tuple(Secret(value) for name, value in arguments.items() if is_secret_argument(name))
