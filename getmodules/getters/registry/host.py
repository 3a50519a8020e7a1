"""One host of a module registry: its services, requests to them, and its token.

The token is sent to the host itself only. If the host's description says that a service is on another host, that one
is asked without a token: a document that somebody else may have written must not decide who gets a secret.

Names of modules follow the rules of Terraform. So do the variables of tokens, ``TF_TOKEN_<host>``: in the host, ``_``
stands for a dot and ``__`` for a dash; a port is written as it is, and 443 is left out. If the system allows them in
names of variables, dots, dashes and international letters may also be used as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Self, TypeVar

from getmodules.addresses.url import check_url
from getmodules.api.http import AddressCheck, Authorization, Call, HttpAnswer, HttpSession, origin_of
from getmodules.api.ports import Context, Credential, Origin
from getmodules.errors import (
    AddressError,
    AuthenticationError,
    CorruptArchiveError,
    NotFoundError,
    SentCredential,
    UnsafeContentError,
    UnsupportedContentError,
)
from getmodules.net.address_check import address_check_for
from getmodules.net.credentials import (
    TERRAFORM_TOKEN_PREFIX,
    TOKEN_PREFIX,
    authorization_of,
    has_variable,
    sent_credential,
    variable_suffix,
)
from getmodules.net.refusals import refused
from getmodules.net.route import sent_by
from getmodules.net.session import checked_target
from getmodules.net.terraform_get import HTML_TYPES
from getmodules.net.wire import shown_host
from getmodules.util.redact import Secret, printable
from getmodules.util.strict_json import StrictJsonError, loads, mapping, optional, string
from getmodules.util.values import valueclass

T = TypeVar("T")
DESCRIPTION_PATH = "/.well-known/terraform.json"
#: Large, because a registry lists all providers and submodules of each of a module's versions, of which we use none.
_DOCUMENT_BYTES = 16 << 20
_HEADER = "--header"
_JUDGED_HERE = frozenset({401, 403, 404, 410})


@valueclass
class Service:
    """The URL of one of a host's services, as the host's description names it; it ends with a slash."""

    name: str
    url: str
    #: Checks the network address of a service on another host.
    check_address: AddressCheck | None = None
    #: How we came to that other host, for messages.
    way: str | None = None


class RegistryHost:
    """A host as addresses name it, ``host[:port]``, during one operation."""

    def __init__(self, name: str, context: Context) -> None:
        self.name = name
        self._context = context
        self._session: HttpSession = context.network.session()
        url = check_url(f"https://{name}/")
        # The protocol has no other scheme than https; plain http is the user's explicit choice.
        if self._session.settings.allows_plain_http(url.host.strip("[]"), url.port or 80):
            url = url._replace(scheme="http")
        self._root = str(url).rstrip("/")

    @property
    def origin(self) -> Origin:
        return origin_of(f"{self._root}/")

    @property
    def has_token(self) -> bool:
        return self._credential is not None

    @property
    def token_variable(self) -> str:
        """Return the variable for a token: our own one if there is a port, which shells allow in no variable's name."""
        if ":" in self.name or self.origin.scheme != "https":
            return TOKEN_PREFIX + variable_suffix(self.origin)
        return variable_for(self.name)

    @cached_property
    def _credential(self) -> Credential | None:
        # Terraform's variables are meant for https: their tokens are never sent in clear text.
        secure = self.origin.scheme == "https"
        found = token_from(self._context.environ, self.name) if secure else None
        return found or self._context.credentials(self.origin, "/")

    @cached_property
    def _grant(self) -> Authorization | None:
        given = self._session.settings.headers_for(self.origin)
        headers = {name: value.reveal() for name, value in given.items()}
        sent = SentCredential(_HEADER) if headers else None
        if self._credential is not None and "authorization" not in (name.lower() for name in headers):
            headers = {"Authorization": authorization_of(self._credential), **headers}
            sent = sent_credential(self._credential)
        return Authorization(origin=self.origin, headers=headers, credential=sent) if headers else None

    # ---------------------------------------------------------------------------------------------- services

    def service(self, name: str) -> Service:
        """Return the service ``name`` (``modules.v1``) from the host's description of itself."""
        return self._context.once(("registry service", self._root, name), partial(self._discover, name))

    def _discover(self, name: str) -> Service:
        answer = self._send(f"{self._root}{DESCRIPTION_PATH}", None)
        if answer.status != 200:
            answer.close()
            raise NotFoundError(
                f"{shown_host(answer.url)} is no registry: there is no {DESCRIPTION_PATH}",
                hint="is the host right? A registry may have another name than the web pages about it",
            )
        what = "the registry's description of itself"
        services = parsed(answer, what, lambda document: document)
        location = parsed(answer, what, lambda document: optional(document, name, string, what))
        if not location:
            known = ", ".join(sorted(answer.shown(each, 40) for each in services if each != name)[:10]) or "nothing"
            raise NotFoundError(f"{shown_host(answer.url)} has no service {name}", hint=f"it offers: {known}")
        url = _followed(answer, name, location).partition("?")[0].rstrip("/") + "/"
        elsewhere = origin_of(url) != origin_of(answer.url)
        check = address_check_for(answer.address, self.too_far_in) if elsewhere else None
        return Service(name=name, url=url, check_address=check, way=sent_by(answer.url) if elsewhere else None)

    def ask(self, service: Service, path: str) -> HttpAnswer:
        """Request ``path`` of the service. Return a success, or a 404 or 410, whose message is up to the caller."""
        return self._send(f"{service.url}{path}", service.check_address, service.way)

    def _send(self, url: str, check_address: AddressCheck | None, way: str | None = None) -> HttpAnswer:
        call = Call(
            method="GET",
            url=url,
            headers={"Accept": "application/json"},
            authorization=self._grant,
            accept=_JUDGED_HERE,
            check_address=check_address,
            way=way,
            read=_DOCUMENT_BYTES,
        )
        answer = self._session.send(call, self._context)
        if answer.status in (401, 403):
            raise self._refused(answer, call)
        return answer

    def _refused(self, answer: HttpAnswer, call: Call) -> AuthenticationError:
        said, sent, token = call.explain(answer), call.sent_to(answer.url), self._credential
        if origin_of(answer.url) != self.origin:
            whose = f"that of {printable(token.found_in)}" if token else "a token for it"
            error = refused(answer, sent=None, explain=said)
            error.hint = f"{whose} goes to {self.name} alone, which sent us on to {shown_host(answer.url)}"
            return error
        advice = f"is it expired? {self.token_variable} brings another" if sent else f"set {self.token_variable}"
        return refused(answer, sent=sent, explain=said, looked_in=self._places, advice=advice)

    @property
    def _places(self) -> tuple[str, ...]:
        """The places of tokens for this host, for people."""
        terraform = (variable_for(self.name),) if self.origin.scheme == "https" else ()
        own = (TOKEN_PREFIX + variable_suffix(self.origin),) if has_variable(self.origin.host) else ()
        return (_HEADER, *terraform, *own)

    def too_far_in(self, kind: str, address: str) -> UnsafeContentError:
        return UnsafeContentError(
            f"{printable(self.name)} names the {kind} address {address}, which is further in than it is itself",
            part="elsewhere",
        )


def _followed(answer: HttpAnswer, service: str, location: str) -> str:
    try:
        return checked_target(answer, location)
    except UnsafeContentError as error:
        message = f"the service {service} cannot be followed: {error.message}"
        raise UnsafeContentError(message, part=error.part, hint=error.hint) from None


def parsed(answer: HttpAnswer, what: str, parse: Callable[[dict[str, Any]], T]) -> T:
    """Return ``parse`` of the JSON object in the body. A web page and a broken document are different errors."""
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind in HTML_TYPES:
        answer.close()
        raise UnsupportedContentError(
            f"{shown_host(answer.url)} answered with a web page ({kind}) instead of {what}",
            part="web-page",
            hint="is this the host of a registry? A login page or a proxy may also be in between",
        )
    try:
        return parse(mapping(loads(answer.read(_DOCUMENT_BYTES), what, _DOCUMENT_BYTES), what))
    except StrictJsonError as error:
        in_between = f"it sent {answer.shown(kind) or 'no content type'}; is a login page or a proxy in between?"
        raise CorruptArchiveError(
            f"{shown_host(answer.url)}: {answer.shown(str(error), 300)}",
            hint="the registry itself is at fault" if "json" in kind else in_between,
        ) from None


# -------------------------------------------------------------------------------------------------------------- names


_NAME = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?")
_SYSTEM = re.compile(r"[0-9a-z]{1,64}")


@valueclass(kw_only=False)
class ModuleName:
    """The name of a module in a registry: ``namespace/name/system``."""

    namespace: str
    name: str
    system: str

    @classmethod
    def parse(cls, text: str) -> Self:
        parts = text.split("/")
        if len(parts) != 3:
            raise AddressError(
                f"{printable(text)!r} does not name a module of a registry", hint="write NAMESPACE/NAME/SYSTEM"
            )
        for part, pattern in zip(parts, (_NAME, _NAME, _SYSTEM), strict=True):
            if not pattern.fullmatch(part):
                raise AddressError(
                    f"{printable(part)!r} in {printable(text)!r} is no name that a registry has",
                    hint="NAMESPACE and NAME are letters, digits, - and _; SYSTEM is lower-case letters and digits",
                )
        return cls(*parts)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.system}"


# ------------------------------------------------------------------------------------------------------------- tokens


_OWN_PORT = ":443"


def token_from(environ: Mapping[str, str], host: str) -> Credential | None:
    """Return the token for ``host``, written as in addresses: in lower case, with its port if that is not 443."""
    # One host has several spellings, so all variables are read; sorted, so that the same one is always found. Those in
    # lower case come first: that is how a host is written.
    written = (name.removeprefix(TERRAFORM_TOKEN_PREFIX) for name in environ if name.startswith(TERRAFORM_TOKEN_PREFIX))
    for suffix in sorted(written, key=lambda suffix: (suffix != suffix.lower(), suffix)):
        if _host_of(suffix) == host and (secret := environ[TERRAFORM_TOKEN_PREFIX + suffix].rstrip("\r\n")):
            return Credential(secret=Secret(secret), found_in=TERRAFORM_TOKEN_PREFIX + suffix)
    return None


def variable_for(host: str) -> str:
    """Return the variable for ``host`` that a shell can set; most shells allow no port in a variable's name."""
    return TERRAFORM_TOKEN_PREFIX + host.replace("-", "__").replace(".", "_")


def _host_of(written: str) -> str | None:
    """Return the host that a variable is for, or ``None`` if it is not the name of a host."""
    host = written.replace("__", "-").replace("_", ".").lower().removesuffix(_OWN_PORT)
    return host if host.isascii() else _in_ascii(host)


def _in_ascii(host: str) -> str | None:
    # Python's own codec takes straße.example for strasse.example, which may belong to somebody else.
    import idna

    name, colon, port = host.partition(":")
    try:
        return idna.encode(name, uts46=True).decode() + colon + port
    except idna.IDNAError:
        return None
