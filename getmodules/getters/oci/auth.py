"""Authentication at registries: challenges, tokens, and the services that issue them.

There is one token for each origin and set of scopes, with one request in flight for each; a refused token is renewed.

The realm of a challenge gets the registry's credentials, and may be on another host, as with Docker Hub. So a registry
decides whom we trust. But it must not direct us, or our credentials, into a more private network than its own.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlencode, urlsplit, urlunsplit

from getmodules.addresses.url import check_url
from getmodules.api.http import AddressCheck, Authorization, Call, HttpAnswer, HttpSession, Mask, origin_of
from getmodules.api.ports import Context, Credential, Origin
from getmodules.errors import AddressError, AuthenticationError, SentCredential
from getmodules.getters.oci.refusals import RefusedAccess
from getmodules.net.address_check import address_check_for
from getmodules.net.credentials import (
    USERNAME_PREFIX,
    basic,
    fits_header,
    sent_credential,
    token_of,
    variable_suffix,
)
from getmodules.net.refusals import in_clear, shown_origin
from getmodules.net.route import sent_by_origin
from getmodules.net.wire import SMALL_BODY_BYTES
from getmodules.util.redact import Secret, printable, redact
from getmodules.util.strict_json import StrictJsonError, array_of, loads, mapping, optional, required, size, string
from getmodules.util.values import field, replace, valueclass

CLIENT_ID = "getmodules"
#: The lifetime of a token without ``expires_in``, by the specification.
_DEFAULT_SECONDS = 60
#: A token is renewed so long before its end, because it must still be valid when a request arrives.
_MARGIN_SECONDS = 10
_CHECKPOINT_SECONDS = 0.1
#: Redirects are refused for a form: unlike headers, it cannot be left out of the next request.
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REFUSALS = frozenset({401, 403})
#: Returns the credential for a registry and a repository.
FindCredential = Callable[[Origin, str, Context], Credential | None]
#: Returns the places in which that was looked for, for people.
FindPlaces = Callable[[Origin, str, Context], tuple[str, ...]]


def _nowhere(registry: Origin, repository: str, context: Context) -> tuple[str, ...]:
    return ()


@valueclass(kw_only=False)
class _TokenKey:
    """The registry and the scopes that a token is for."""

    registry: Origin
    scopes: frozenset[str]


@valueclass(kw_only=False)
class _Token:
    """A token for a registry, and the time at which it expires."""

    secret: Secret
    expires: float

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() < self.expires - _MARGIN_SECONDS


@valueclass(kw_only=False)
class _ReceivedChallenge:
    """A challenge, the address of the registry that sent it, and the mask for our secrets in its text."""

    challenge: Challenge
    address: str | None
    mask: Mask


@valueclass(kw_only=False, frozen=False)
class _TokenSlot:
    """The token of one key, and a lock for its request."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    token: _Token | None = None

    @contextmanager
    def locked(self, context: Context) -> Iterator[None]:
        """Take the lock. A thread that waits for another's request keeps its own deadline, and can be cancelled."""
        while not self.lock.acquire(timeout=_CHECKPOINT_SECONDS):
            context.checkpoint()
        try:
            yield
        finally:
            self.lock.release()


class Tokens:
    """The tokens of one client. Threads may share it."""

    def __init__(
        self, session: HttpSession, find_credential: FindCredential, find_places: FindPlaces = _nowhere
    ) -> None:
        self._session = session
        self._find_credential = find_credential
        self._find_places = find_places
        self._lock = threading.Lock()
        self._slots: dict[_TokenKey, _TokenSlot] = {}
        #: The last challenge of each origin, so that the next request can have a token at once.
        self._known: dict[Origin, _ReceivedChallenge] = {}

    def grant(self, registry: Origin, repository: str, actions: str, context: Context) -> Authorization | None:
        """Return the grant for a first request, or ``None`` if the registry has not sent a challenge yet."""
        received = self._known.get(registry)
        return None if received is None else self._grant(received, registry, repository, actions, None, context)

    def answer_to(
        self, refusal: HttpAnswer, repository: str, actions: str, refused: Authorization | None, context: Context
    ) -> Authorization | None:
        """Return the grant that a 401 asks for, or ``None`` if there is none but the refused one."""
        registry = origin_of(refusal.url)
        challenge = choose_challenge(parse_challenges(refusal.headers.get("WWW-Authenticate", "")))
        if challenge is None:
            return None
        received = _ReceivedChallenge(challenge, refusal.address, refusal.mask)
        granted = self._grant(received, registry, repository, actions, refused, context)
        with self._lock:
            self._known[registry] = replace(received, challenge=_for_any_repository(challenge))
        return None if granted == refused else granted

    def _grant(
        self,
        received: _ReceivedChallenge,
        registry: Origin,
        repository: str,
        actions: str,
        refused: Authorization | None,
        context: Context,
    ) -> Authorization | None:
        challenge = received.challenge
        credential = self._find_credential(registry, repository, context)
        sent = None if credential is None else sent_credential(credential)
        if credential is not None and not self._session.settings.allows_credentials(registry):
            raise in_clear(registry, sent)  # before a token service gets it, for a token that would be overheard
        if challenge.scheme == "basic":
            if credential is None:
                return None
            if credential.username is None:
                raise _no_username(registry, credential)
            return _grant(registry, basic(credential.username, credential.secret), sent)
        if credential is not None and credential.username is None and not credential.identity:
            return _grant(registry, f"Bearer {token_of(credential)}", sent)
        scopes = _scopes(challenge, repository, actions)
        with self._lock:
            slot = self._slots.setdefault(_TokenKey(registry, scopes), _TokenSlot())
        with slot.locked(context):
            token = slot.token
            if token is None or not token.is_fresh or _says_the_same(refused, _bearer(token)):
                refused_access = partial(self.refused_access, registry, repository, actions, sent, context)
                token = slot.token = self._request_token(
                    received, registry, scopes, credential, refused_access, context
                )
        return replace(_grant(registry, _bearer(token), sent), anonymous=credential is None)

    def refused_access(
        self, registry: Origin, repository: str, actions: str, sent: SentCredential | None, context: Context
    ) -> RefusedAccess:
        """Return what the error of a refusal says about a request."""
        # Looked up again only where nothing was found: then it matters where.
        looked_in = self._find_places(registry, repository, context) if sent is None else ()
        return RefusedAccess(registry=registry, repository=repository, actions=actions, sent=sent, looked_in=looked_in)

    # ------------------------------------------------------------------------------------------ the token service

    def _request_token(
        self,
        received: _ReceivedChallenge,
        registry: Origin,
        scopes: frozenset[str],
        credential: Credential | None,
        refused_access: Callable[[], RefusedAccess],
        context: Context,
    ) -> _Token:
        realm = received.challenge.parameters.get("realm", "")
        check_address = check_realm(realm, registry, received.address, received.mask)
        call = _token_call(realm, received.challenge.parameters.get("service"), scopes, credential)
        elsewhere = origin_of(realm) != registry
        call = replace(
            call,
            replayable=True,
            check_address=check_address,
            read=SMALL_BODY_BYTES,
            explain=explain_error,
            accept=call.accept | _REFUSALS,
            authorization=None if call.authorization is None else replace(call.authorization, asked_by=registry),
            way=sent_by_origin(registry) if elsewhere else None,
        )
        asked = time.monotonic()
        answer = self._session.send(call, context)
        if answer.status in _REFUSALS:
            raise refused_access().by_token_service(answer, call.explain(answer))
        return _read_token(answer, asked)


def _scopes(challenge: Challenge, repository: str, actions: str) -> frozenset[str]:
    """Return the scopes that we need and those that the registry names; without a repository only the latter."""
    asked = challenge.parameters.get("scope", "").split()
    if not repository:
        return frozenset(asked)
    own = f"repository:{repository}:{actions}"
    return frozenset((own, *(scope for scope in asked if not scope.startswith(f"repository:{repository}:"))))


def _for_any_repository(challenge: Challenge) -> Challenge:
    """Return the challenge without the scopes of repositories, as the registry may send it for another one."""
    scopes = challenge.parameters.get("scope", "").split()
    kept = " ".join(scope for scope in scopes if not scope.startswith("repository:"))
    return replace(challenge, parameters={**challenge.parameters, "scope": kept})


def _no_username(registry: Origin, credential: Credential) -> AuthenticationError:
    sent = sent_credential(credential)
    return AuthenticationError(
        f"{shown_origin(registry)} wants a user name and a password, and {sent} is a token alone",
        hint=f"set {USERNAME_PREFIX}{variable_suffix(registry)} as well: the token is then its password",
        looked_in=(sent.found_in,),
    )


def _bearer(token: _Token) -> str:
    return f"Bearer {token.secret.reveal()}"


def _says_the_same(grant: Authorization | None, authorization: str) -> bool:
    return grant is not None and grant.headers["Authorization"] == authorization


def _grant(origin: Origin, authorization: str, sent: SentCredential | None) -> Authorization:
    return Authorization(origin=origin, headers={"Authorization": authorization}, credential=sent)


# -------------------------------------------------------------------------------------------------- the token service


def _token_call(realm: str, service: str | None, scopes: frozenset[str], credential: Credential | None) -> Call:
    parameters = [("service", service)] if service else []
    if credential is not None and credential.identity:
        form = [
            *parameters,
            ("grant_type", "refresh_token"),
            ("client_id", CLIENT_ID),
            ("scope", " ".join(sorted(scopes))),
            ("refresh_token", token_of(credential)),
        ]
        return Call(
            method="POST",
            url=realm,
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            body=urlencode(form).encode(),
            authorization=Authorization(
                origin=origin_of(realm),
                headers={},
                in_body=(credential.secret,),
                credential=sent_credential(credential),
            ),
            accept=_REDIRECTS,
        )
    parameters += [("scope", scope) for scope in sorted(scopes)]
    parts = urlsplit(realm)
    query = "&".join(filter(None, (parts.query, urlencode(parameters))))
    grant = None
    if credential is not None and credential.username is not None:
        sent = sent_credential(credential)
        grant = _grant(origin_of(realm), basic(credential.username, credential.secret), sent)
    return Call(method="GET", url=urlunsplit(parts._replace(query=query)), authorization=grant)


def _read_token(answer: HttpAnswer, asked: float) -> _Token:
    if answer.status in _REDIRECTS:
        answer.close()
        raise _unusable(answer, "it redirects, and an identity token goes nowhere else")
    try:
        document = mapping(loads(answer.read(), "the token", SMALL_BODY_BYTES), "the token")
        names = ("token", "access_token")
        text = next(filter(None, (optional(document, name, string, "the token") for name in names)), None)
        seconds = optional(document, "expires_in", size, "the token")
    except StrictJsonError as error:
        raise _unusable(answer, answer.shown(str(error))) from None
    if not text or not fits_header(text):
        raise _unusable(answer, "there is no token in it")
    # Less than the specification's minute makes no sense, and would mean a token for each request.
    return _Token(Secret(text), asked + max(_DEFAULT_SECONDS, seconds or 0))


def _unusable(answer: HttpAnswer, why: str) -> AuthenticationError:
    kind = answer.shown(answer.headers.get("Content-Type", "no content type"))
    return AuthenticationError(
        f"the token service's answer cannot be used: {why}",
        hint=f"it sent {kind}; is a login page or proxy in between?",
    )


def check_realm(realm: str, registry: Origin, address: str | None, mask: Mask = str) -> AddressCheck | None:
    """Refuse an invalid realm; return the check for its network address, or ``None`` if it needs none.

    ``address`` is the one at which the registry answered, ``None`` behind a proxy. ``mask`` hides our own secrets in
    the realm, should it be shown.
    """
    shown = printable(redact(mask(realm)))
    try:
        url = check_url(realm.partition("?")[0])
    except AddressError as error:
        raise AuthenticationError(
            # The message of that error is not used: it quotes a part of the realm, where secrets cannot be masked.
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
    return address_check_for(
        address,
        lambda kind, found: AuthenticationError(
            f"the registry names the realm {shown!r}, which is the {kind} address {found}",
            hint="a registry in another network has no business there: nothing was sent",
        ),
    )


# --------------------------------------------------------------------------------------------------------- challenges


_LONGEST = 4_096
_SCHEME = re.compile(r"\s*,?\s*(?P<scheme>[A-Za-z][A-Za-z0-9._~+-]*)(?=\s|,|$)\s*", re.ASCII)
_PARAMETER = re.compile(
    r"\s*,?\s*(?P<name>[A-Za-z0-9_-]+)\s*=\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<token>[^\s,\"]+))", re.ASCII
)


@valueclass(kw_only=False)
class Challenge:
    """One scheme of ``WWW-Authenticate``, in lower case, with its parameters."""

    scheme: str
    parameters: Mapping[str, str]


def parse_challenges(header: str) -> tuple[Challenge, ...]:
    """Return the challenges of a header, in order. The first error ends the list."""
    challenges: list[Challenge] = []
    text, at = header[:_LONGEST], 0
    while at < len(text):
        scheme = _SCHEME.match(text, at)
        if scheme is None:
            break
        at = scheme.end()
        parameters: dict[str, str] = {}
        while parameter := _PARAMETER.match(text, at):
            quoted = parameter["quoted"]
            value = parameter["token"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            parameters.setdefault(parameter["name"].lower(), value)
            at = parameter.end()
        challenges.append(Challenge(scheme["scheme"].lower(), parameters))
    return tuple(challenges)


def choose_challenge(challenges: tuple[Challenge, ...]) -> Challenge | None:
    """Return a challenge for Bearer, or else for Basic: a stolen token that expires is the smaller loss."""
    for scheme in ("bearer", "basic"):
        for challenge in challenges:
            if challenge.scheme == scheme:
                return challenge
    return None


# ----------------------------------------------------------------------------------------------------------- refusals


def explain_error(answer: HttpAnswer) -> str:
    """Return the codes and messages in the body of an error; of any other body, its shortened text."""
    text = answer.read_some(8_192)
    try:
        document = mapping(loads(text, "the error", 8_192), "the error")
        errors = required(document, "errors", array_of(mapping), "the error")
        said = [": ".join(filter(None, (str(e.get("code", "")), str(e.get("message", ""))))) for e in errors]
        return answer.shown("; ".join(said), 300)
    except StrictJsonError:
        return answer.shown(" ".join(text.decode("utf-8", "replace").split()), 300)
