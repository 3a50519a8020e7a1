"""Login to registries, logout, and the check of credentials; the command line only prints the results.

A login is tried at its registry before it is stored, in the file that docker, podman and oras share.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, Protocol

from getmodules.addresses.coverage import api_location
from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import check_url
from getmodules.api.ports import Context, Credential, Origin
from getmodules.errors import (
    AddressError,
    AuthenticationError,
    ConfigError,
    GetModulesError,
    SentCredential,
    UnsupportedContentError,
)
from getmodules.getters.oci.docker_config import Considered, canonical_host, login_file, names_in_helpers
from getmodules.getters.oci.docker_login import DockerLogin, check_login
from getmodules.getters.oci.reference import check_repository
from getmodules.getters.oci.refusals import CHECK
from getmodules.getters.oci.registries import Registries, registry_name
from getmodules.net.credentials import TOKEN_PREFIX, shown_username, variable_suffix
from getmodules.util.redact import Secret, quoted
from getmodules.util.values import field, valueclass

if TYPE_CHECKING:
    from getmodules.getters.oci.client import RegistryClient


class OpenContext(Protocol):
    """Opens a context; ``name`` is that of the work in reports and errors."""

    def __call__(self, name: str, package: PackageAddress | None = None, /) -> AbstractContextManager[Context]:
        """Open it for work that contacts ``package``, which is judged first; without one, nobody is contacted."""


_SCHEMES: Final = ("oci://", "https://")
_NO_REPOSITORY: Final = ""
_BEGINNING: Final = 1_024
_THIS_LOGIN: Final = "this login"
_REFUSED_LOGIN: Final = (
    "the credentials were refused: are the user name and the password right? "
    "Many registries want an access token in place of the password"
)
#: Blanks, and the marks of UTF-8 and UTF-16.
_BEFORE_TEXT: Final = b" \t\r\n\xef\xbb\xbf\xff\xfe"


@valueclass
class LoggedIn:
    """A login that was stored. ``checked``: the registry asked for the credential and accepted it.

    Otherwise its base URL needs no credential.
    """

    registry: str
    username: str
    stored_in: str
    checked: bool
    #: The source in which a lookup finds the registry's credential now.
    found_in: str | None
    #: Whether that is this login.
    effective: bool


@valueclass
class LoggedOut:
    """A login that was removed. ``removed_from`` is empty if there was none.

    ``still_in`` is another source with a credential for the registry.
    """

    registry: str
    removed_from: tuple[str, ...]
    still_in: str | None


@valueclass
class CredentialCheck:
    """The credential for a repository, without its secret, and the registry's answer to it."""

    registry: str
    #: Empty if only the registry itself was asked.
    repository: str
    #: ``user name and password``, ``token`` or ``identity token``; ``None`` if there is no credential.
    kind: str | None
    username: str | None
    found_in: str | None
    considered: tuple[Considered, ...]
    #: The credential files that were looked at, existing or not.
    files: tuple[str, ...]
    #: Whether the registry asked for a credential.
    asked: bool
    #: ``None`` if that is unknown, because of another error.
    works: bool | None
    exists: bool | None
    error: GetModulesError | None = field(default=None, compare=False)


# -------------------------------------------------------------------------------------------- the names of registries


def parse_registry(text: str) -> str:
    """Return ``host[:port]``. Users paste addresses, so a scheme is accepted."""
    registry, repository = _split_registry(text)
    if repository:
        raise ConfigError(f"{quoted(text)} is more than the name of a registry", hint=f"write {registry}")
    return registry


def parse_place(text: str) -> tuple[str, str]:
    """Return the registry and the repository of ``HOST[/REPOSITORY]``; the repository may be empty."""
    registry, repository = _split_registry(text)
    if repository:
        check_repository(registry, repository)
    return registry, repository


def _split_registry(text: str) -> tuple[str, str]:
    rest = text
    for scheme in _SCHEMES:
        if rest.lower().startswith(scheme):
            rest = rest[len(scheme) :]
            break
    host, _, repository = rest.partition("/")
    try:
        url = check_url(f"oci://{host}/")
    except AddressError as error:
        raise _no_registry(text) from error
    if not url.host or url.userinfo:
        raise _no_registry(text)
    # The default port is left out, as in credential files.
    return (f"{url.host}:{url.port}" if url.port not in (None, 443) else url.host), repository.strip("/")


def _address(registry: str, repository: str) -> PackageAddress:
    return PackageAddress(getter="oci", url=f"oci://{registry}/{repository}")


def _no_registry(text: str) -> ConfigError:
    hint = "write HOST or HOST:PORT"
    if text.lower().startswith("http://"):
        hint += ", and --plain-http HOST if it speaks no TLS"
    return ConfigError(f"{quoted(text)} is not the name of a registry", hint=hint)


# --------------------------------------------------------------------------------------------------- login and logout


def log_in(
    registry: str, username: str, secret: Secret, environ: Mapping[str, str], open_context: OpenContext
) -> LoggedIn:
    """Try a login at its registry and store it. On any error nothing is written."""
    check_login(username, secret)
    login = DockerLogin(environ)
    with open_context(registry, _address(registry, _NO_REPOSITORY)) as context:
        origin, checked = _try_login(registry, username, secret, context)
        stored_in = login.store(registry_name(origin), username=username, secret=secret)
        found = Registries().find_credential(origin, "", context)
    place = f"{login_file(environ).shown}, "
    return LoggedIn(
        registry=canonical_host(registry_name(origin)),
        username=shown_username(username, secret),
        stored_in=stored_in,
        checked=checked,
        found_in=found.found_in if found else None,
        effective=found is not None and found.found_in.startswith(place),
    )


def log_out(registry: str, environ: Mapping[str, str], open_context: OpenContext) -> LoggedOut:
    """Remove the login for ``registry``."""
    removed_from = DockerLogin(environ).erase(registry)
    with open_context(registry) as context:
        found = Registries().find_credential(_presumed_origin(registry), "", context)
    return LoggedOut(
        registry=canonical_host(registry), removed_from=removed_from, still_in=found.found_in if found else None
    )


def _presumed_origin(registry: str) -> Origin:
    """Return the origin without a request: the scheme only decides about the default port."""
    from getmodules.api.http import origin_of

    return origin_of(f"https://{api_location(registry, '')[0]}/")


def _try_login(registry: str, username: str, secret: Secret, context: Context) -> tuple[Origin, bool]:
    """Try the login. Return the registry's origin and whether it asked for credentials; raise if it refuses them."""
    registries = _ObservedRegistries(Credential(secret=secret, username=username, found_in=_THIS_LOGIN))
    try:
        client = registries(registry, _NO_REPOSITORY, context)
        _request_base_url(client, context)
        if not registries.was_asked:
            _send_unasked(client, username, secret, context)
    except GetModulesError as error:
        if isinstance(error, AuthenticationError) and error.part is None and not registries.was_asked:
            error.hint = "it refuses the credentials, or wants them in another way than Basic and Bearer"
        elif isinstance(error, AuthenticationError) and error.credential is not None:
            error.hint = _REFUSED_LOGIN
        error.hint = f"{error.hint}; nothing was stored" if error.hint else "nothing was stored"
        raise
    return _origin(client), registries.was_asked


def _send_unasked(client: RegistryClient, username: str, secret: Secret, context: Context) -> None:
    """Send the login unasked: some registries need none, and still refuse a wrong one."""
    from getmodules.api.http import Authorization, Call
    from getmodules.getters.oci.auth import explain_error
    from getmodules.net.credentials import basic

    headers = {"Authorization": basic(username, secret)}
    sent = SentCredential(_THIS_LOGIN, shown_username(username, secret))
    grant = Authorization(origin=_origin(client), headers=headers, credential=sent)
    call = Call(method="GET", url=_api(client), authorization=grant, explain=explain_error)
    context.network.session().send(call, context).close()


# ---------------------------------------------------------------------------------------------------------- the check


def check(registry: str, repository: str, open_context: OpenContext) -> CredentialCheck:
    """Find the credential for ``repository``, or for all of ``registry``, and list the tags with it."""
    name = f"{registry}/{repository}" if repository else registry
    with open_context(name, _address(registry, repository)) as context:
        repository = api_location(registry, repository)[1]
        registries = _ObservedRegistries()
        client = registries(registry, repository, context)
        found, considered, files = _explain_lookup(registries, _origin(client), repository, context)
        works, exists, error = _try_credential(client, repository, context)
    return CredentialCheck(
        registry=registry,
        repository=repository,
        kind=_kind(found) if found else None,
        username=shown_username(found.username, found.secret) if found and found.username else None,
        found_in=found.found_in if found else None,
        considered=considered,
        files=files,
        asked=registries.was_asked,
        works=works,
        exists=exists,
        error=error,
    )


def _explain_lookup(
    registries: Registries, origin: Origin, repository: str, context: Context
) -> tuple[Credential | None, tuple[Considered, ...], tuple[str, ...]]:
    """Return the credential, the sources looked at, and the files, as :meth:`Registries.find_credential` does."""
    considered = []
    for host in _plain_names(origin.host):
        variable = TOKEN_PREFIX + variable_suffix(origin._replace(host=host))
        near = context.credentials(origin._replace(host=host), f"/{repository}")
        if near is None or near.found_in != variable:
            considered.append(Considered(variable, "not set"))
        if near is not None:
            return near, (*considered, Considered(near.found_in, "used")), ()
    explained = registries.files(context).explain(registry_name(origin), repository)
    return explained.credential, (*considered, *explained.considered), explained.files


def _plain_names(host: str) -> list[str]:
    """Return the names of a host: Docker Hub has several, and the usual one is first."""
    return [name for name in names_in_helpers(canonical_host(host)) if "://" not in name]


def _try_credential(
    client: RegistryClient, repository: str, context: Context
) -> tuple[bool | None, bool | None, GetModulesError | None]:
    """Return whether the credential works, whether the repository exists, and the error, if any."""
    try:
        if not repository:
            _request_base_url(client, context)
            return True, None, None
        return True, client.exists(context), None
    except AuthenticationError as error:
        error.at(context.package)
        error.hint = (error.hint or "").partition(CHECK)[0] or None
        return False, None, error
    except GetModulesError as error:
        error.at(context.package)
        return None, None, error


def _kind(credential: Credential) -> str:
    if credential.identity:
        return "identity token"
    return "token" if credential.username is None else "user name and password"


# ------------------------------------------------------------------------------------------------------- the registry


class _ObservedRegistries(Registries):
    """Registries that remember whether one asked for a credential. ``offered`` replaces all other credentials."""

    def __init__(self, offered: Credential | None = None) -> None:
        super().__init__()
        self._offered = offered
        self.was_asked = False

    def find_credential(self, registry: Origin, repository: str, context: Context) -> Credential | None:
        self.was_asked = True
        return self._offered or super().find_credential(registry, repository, context)


def _api(client: RegistryClient) -> str:
    return f"{client.prefix}://{client.hostname}/v2/"


def _origin(client: RegistryClient) -> Origin:
    from getmodules.api.http import origin_of

    return origin_of(_api(client))


def _request_base_url(client: RegistryClient, context: Context) -> None:
    """Request the registry's base URL. Its answer has hardly any rules, but it must not be a web page."""
    answer = client.do_request(_api(client), context=context)
    is_html = "html" in answer.headers.get("Content-Type", "").lower()
    said = answer.read_some(_BEGINNING).replace(b"\0", b"").lstrip(_BEFORE_TEXT)
    if said.startswith(b"<") or (is_html and b"<" in said):
        raise UnsupportedContentError(
            "there is a web page where the entrance of a registry should be",
            hint="a login page, or a proxy's? Is this a registry at all?",
        )
