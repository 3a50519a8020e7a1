"""Credentials for git, bound to one origin: in variables that a helper of one line reads, never in a command line.

git asks helpers again for each host that it is sent to, and ours is configured for one origin alone. A header
(``http.extraHeader``) would follow a redirect to anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from getmodules.api.ports import Context, Credential
from getmodules.errors import AuthenticationError
from getmodules.git.remote import Remote
from getmodules.net.credentials import basic, is_overheard
from getmodules.util.redact import Secret
from getmodules.util.values import field, valueclass

_USER: Final = "GETMODULES_GIT_USERNAME"
_PASSWORD: Final = "GETMODULES_GIT_PASSWORD"
#: ``printf`` is built into the shell, so that nothing of this stands in a list of processes.
_HELPER: Final = f'!f() {{ test "$1" = get && printf "username=%s\\npassword=%s\\n" "${_USER}" "${_PASSWORD}"; }}; f'
#: Whom a lone token belongs to. Most forges take any name; these want their own.
_TOKEN_USERS: Final = {"gitlab.com": "oauth2", "bitbucket.org": "x-token-auth"}
_TOKEN_USER: Final = "x-access-token"


@valueclass(kw_only=False)
class Access:
    """What a git process is told so that it can log in."""

    settings: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Where the credential was found, if there is one of ours.
    offered: str | None = None
    #: What to try next, where nobody knows a password.
    otherwise: Access | None = None

    @property
    def authorization(self) -> str | None:
        """The same as a header, for requests of our own to that origin."""
        return basic(self.variables[_USER], Secret(self.variables[_PASSWORD])) if self.variables else None


def knows_no_password(said: str) -> bool:
    """Whether git would have had to ask somebody for the password of a known user."""
    return "could not read Password" in said


def access(remote: Remote, context: Context, *, is_typed: bool = True) -> Access:
    """Of the address, of the environment, of a plugin; else git's own ways are open (rules, helpers, netrc, keys).

    Where the address is not as it was typed, its login is from a rule in git's configuration.
    """
    if not remote.is_web:
        return Access()
    user, colon, password = remote.url.userinfo.partition(":")
    user = unquote(user)
    found_in = "the address" if is_typed else "git's configuration"
    if colon and is_typed:
        return _given(remote, user, unquote(password), found_in)
    overheard = is_overheard(remote.origin, context.home)
    found = None if overheard else context.credentials(remote.origin, remote.url.path)
    if found is not None and not found.identity:
        name = (user if is_typed else "") or _user_of(found, remote)
        return _given(remote, name, found.secret.reveal(), found.found_in)
    if colon:
        return _given(remote, user, unquote(password), found_in)
    if overheard:
        # Nor do the user's own helpers tell anything, some of which answer whoever asks.
        return Access(((f"credential.{_base(remote)}.helper", ""),))
    if not user:
        return Access()
    # It may be a token, which needs no password. The user's own helpers are asked for one first; they do not hear of
    # the token that worked, which they would write down.
    base = _base(remote)
    return Access(((f"credential.{base}.username", user),), otherwise=_given(remote, user, "", found_in))


def _given(remote: Remote, user: str, password: str, found_in: str) -> Access:
    secret = Secret(password)
    if any(character in user + password for character in "\r\n\0"):
        raise AuthenticationError(f"the credential from {found_in} has a line break in it", hint="is it one token?")
    base = _base(remote)
    # The empty one makes git forget the helpers before it: what was given is used, and stored nowhere.
    return Access(
        ((f"credential.{base}.helper", ""), (f"credential.{base}.helper", _HELPER)),
        {_USER: user, _PASSWORD: secret.reveal()},
        found_in,
    )


def _user_of(credential: Credential, remote: Remote) -> str:
    return credential.username or _TOKEN_USERS.get(remote.url.host, _TOKEN_USER)


def _base(remote: Remote) -> str:
    return str(remote.url._replace(userinfo="", path=""))
