"""Tokens: who is asked for them, how often, with which secret; and what is made of the answers."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from getmodules.api.http import Authorization, Call, origin_of
from getmodules.api.limits import Deadline
from getmodules.api.ports import Context, Credential, Origin
from getmodules.errors import (
    AuthenticationError,
    ConfigError,
    GetModulesError,
    InstallError,
    LimitExceededError,
    NetworkError,
)
from getmodules.getters.oci import auth
from getmodules.getters.oci.auth import Tokens
from getmodules.net.session import Session
from getmodules.net.settings import ClientNetwork, NetSettings
from getmodules.util.redact import Secret
from tests.support.contexts import a_context
from tests.support.refusals import refusal, words_of
from tests.support.servers import Connection, Received, Server, serving
from tests.support.waiting import wait_until

SETTINGS = NetSettings(connect_seconds=2, timeout=2, backoff_seconds=0.01, retries=1)
PASSWORD = Credential(secret=Secret("s3cr3t-p4ss"), username="ada", found_in="test")
TOKEN = Credential(secret=Secret("st4t1c-t0ken"), found_in="GETMODULES_TOKEN_x")
IDENTITY = Credential(secret=Secret("1dent1ty-t0ken"), identity=True, found_in="test")
BEARER = 'Bearer realm="{url}/token",service="svc",scope="repository:acme/vpc:pull"'


@dataclass
class Service:
    """A registry that refuses everything with a challenge, and its token service."""

    server: Server
    challenge: str
    #: What the token service answers; called with the number of the request.
    token: Callable[[Connection, Received, int], bool]
    asked: list[Received] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, connection: Connection, request: Received) -> bool:
        if request.target.startswith("/token"):
            with self.lock:
                self.asked.append(request)
                number = len(self.asked)
            return self.token(connection, request, number)
        return connection.reply("401 No", b"", WWW_Authenticate=self.challenge.format(url=self.server.url))

    @property
    def origin(self) -> Origin:
        return origin_of(self.server.url)

    def scopes(self, number: int) -> list[str]:
        return parse_qs(urlsplit(self.asked[number].target).query).get("scope", [])


def tokens_in_turn(connection: Connection, _: Received, number: int) -> bool:
    return connection.reply("200 OK", json.dumps({"token": f"granted-{number}", "expires_in": 300}).encode())


@dataclass
class Asking:
    """A client of that service."""

    service: Service
    session: Session
    tokens: Tokens

    def answer(
        self, refused: Authorization | None = None, repository: str = "acme/vpc", context: Context | None = None
    ) -> Authorization | None:
        """Be refused, and take what the challenge leads to."""
        context = context or a_context()
        call = Call(method="GET", url=f"{self.service.server.url}/v2/", accept=frozenset({401}), read=100)
        answer = self.session.send(call, context)
        answer.read()
        return self.tokens.answer_to(answer, repository, "pull", refused, context)

    def known(self, repository: str = "acme/vpc") -> Authorization | None:
        return self.tokens.grant(self.service.origin, repository, "pull", a_context())


@contextmanager
def asking(
    credential: Credential | None = None, challenge: str = BEARER, token: Any = tokens_in_turn
) -> Iterator[Asking]:
    services: list[Service] = []

    def answer(connection: Connection, request: Received) -> bool:
        return services[0].answer(connection, request)

    with serving(answer) as server:
        services.append(Service(server, challenge, token))
        network = ClientNetwork(SETTINGS)
        session = network.session()
        yield Asking(services[0], session, Tokens(session, lambda registry, repository, context: credential))
        network.close()


def authorization(grant: Authorization | None) -> str | None:
    return None if grant is None else grant.headers["Authorization"]


def basic(pair: str) -> str:
    return "Basic " + base64.b64encode(pair.encode()).decode()


# ------------------------------------------------------------------------------------------- what is asked for


def test_nothing_is_known_before_a_registry_has_asked() -> None:
    with asking(PASSWORD) as client:
        assert client.known() is None
        assert client.service.asked == []


def test_a_token_without_credentials() -> None:
    with asking() as client:
        grant = client.answer()
        assert authorization(grant) == "Bearer granted-1"
        assert grant is not None
        assert (grant.origin, grant.anonymous) == (client.service.origin, True)
        assert "granted" not in repr(grant)
        (asked,) = client.service.asked
        assert (asked.method, asked.headers.get("Authorization")) == ("GET", None)
        query = parse_qs(urlsplit(asked.target).query)
        assert query == {"service": ["svc"], "scope": ["repository:acme/vpc:pull"]}


def test_a_password_goes_to_the_realm_as_basic() -> None:
    with asking(PASSWORD) as client:
        grant = client.answer()
        assert grant is not None
        assert not grant.anonymous
        assert client.service.asked[0].headers["Authorization"] == basic("ada:s3cr3t-p4ss")


def test_an_identity_token_is_posted() -> None:
    with asking(IDENTITY) as client:
        assert authorization(client.answer()) == "Bearer granted-1"
        (asked,) = client.service.asked
        assert (asked.method, asked.target, asked.headers.get("Authorization")) == ("POST", "/token", None)
        assert parse_qs(asked.body.decode()) == {
            "service": ["svc"],
            "grant_type": ["refresh_token"],
            "client_id": ["getmodules"],
            "scope": ["repository:acme/vpc:pull"],
            "refresh_token": ["1dent1ty-t0ken"],
        }


def test_a_token_of_the_users_own_is_sent_as_it_is() -> None:
    with asking(TOKEN) as client:
        grant = client.answer()
        assert authorization(grant) == "Bearer st4t1c-t0ken"
        assert client.service.asked == []
        assert client.answer(grant) is None, "refused, and there is nothing better"


def test_basic() -> None:
    with asking(PASSWORD, 'Basic realm="x"') as client:
        grant = client.answer()
        assert authorization(grant) == basic("ada:s3cr3t-p4ss")
        assert authorization(client.known("acme/other")) == basic("ada:s3cr3t-p4ss")
        assert client.answer(grant) is None


def test_basic_without_credentials_is_nothing() -> None:
    with asking(None, 'Basic realm="x"') as client:
        assert client.answer() is None


def test_a_lone_token_where_a_user_name_is_wanted_is_said() -> None:
    with asking(TOKEN, 'Basic realm="x"') as client:
        error = refusal(AuthenticationError, "authentication", client.answer)
        assert "GETMODULES_TOKEN_x" in error.message
        assert "user name" in error.message
        assert "st4t1c" not in words_of(error)


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param("s3cr3t\n", id="line end"),
        pytest.param("s3cr 3t", id="blank"),
        pytest.param("\ufeffs3cr3t", id="byte order mark"),
        pytest.param("s3cr3t\udcff", id="no text at all"),
    ],
)
@pytest.mark.parametrize("identity", [False, True], ids=["bearer", "identity"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(secret: str, identity: bool) -> None:
    credential = Credential(secret=Secret(secret), identity=identity, found_in="GETMODULES_TOKEN_x")
    with asking(credential) as client:
        error = refusal(ConfigError, "config", client.answer)
        assert "GETMODULES_TOKEN_x" in error.message
        assert "s3cr" not in words_of(error)
        assert client.service.asked == []


@pytest.mark.parametrize(
    ("password", "sent"),
    [
        pytest.param("pässwörd€", "ada:pässwörd€".encode(), id="UTF-8"),
        pytest.param("p\udcff", b"ada:p\xff", id="bytes that are no UTF-8"),
    ],
)
def test_a_password_need_not_be_ascii(password: str, sent: bytes) -> None:
    with asking(replace(PASSWORD, secret=Secret(password)), 'Basic realm="x"') as client:
        assert authorization(client.answer()) == "Basic " + base64.b64encode(sent).decode()


def test_a_user_name_with_a_colon_is_refused() -> None:
    with asking(replace(PASSWORD, username="ada:s3cr3t"), 'Basic realm="x"') as client:
        error = refusal(ConfigError, "config", client.answer)
        assert "s3cr3t" not in words_of(error)


@pytest.mark.parametrize("challenge", ["Negotiate", "", "???"])
def test_a_challenge_that_nobody_understands(challenge: str) -> None:
    with asking(PASSWORD, challenge) as client:
        assert client.answer() is None


def test_a_realm_may_have_a_query_of_its_own() -> None:
    with asking(None, 'Bearer realm="{url}/token?account=x"') as client:
        client.answer()
        assert client.service.asked[0].target == "/token?account=x&scope=repository%3Aacme%2Fvpc%3Apull"


def test_a_refused_realm_is_not_asked() -> None:
    with asking(PASSWORD, 'Bearer realm="http://169.254.169.254/token"') as client:
        refusal(AuthenticationError, "authentication", client.answer)
        assert client.service.asked == []


# ---------------------------------------------------------------------------------------------------- scopes


def test_what_the_registry_wants_besides_is_asked_for_too() -> None:
    with asking(
        None, 'Bearer realm="{url}/token",scope="repository:acme/vpc:delete repository:other/one:pull"'
    ) as client:
        client.answer()
        assert client.service.scopes(0) == ["repository:acme/vpc:pull", "repository:other/one:pull"]


def test_another_repository_gets_a_token_of_its_own_and_for_nothing_else() -> None:
    with asking() as client:
        first = client.answer()
        second = client.known("acme/other")
        assert (authorization(first), authorization(second)) == ("Bearer granted-1", "Bearer granted-2")
        assert client.service.scopes(1) == ["repository:acme/other:pull"]
        client.service.challenge = BEARER.replace("acme/vpc", "acme/other")
        client.answer(second, "acme/other")
        assert client.known() == first
        assert len(client.service.asked) == 3


def test_scopes_that_are_of_no_repository_are_remembered() -> None:
    with asking(None, 'Bearer realm="{url}/token",scope="repository:acme/vpc:pull registry:catalog:*"') as client:
        client.answer()
        client.known("acme/other")
        assert client.service.scopes(1) == ["registry:catalog:*", "repository:acme/other:pull"]


# ---------------------------------------------------------------------------------------------------- caching


def test_a_token_is_asked_for_once() -> None:
    with asking() as client:
        first = client.answer()
        assert client.known() == first
        assert client.answer() == first
        assert len(client.service.asked) == 1


def test_a_refused_token_is_renewed_once_for_all() -> None:
    with asking() as client:
        first = client.answer()
        second = client.answer(first)
        third = client.answer(first)
        assert authorization(second) == "Bearer granted-2"
        assert third == second, "somebody else has renewed it already"
        assert len(client.service.asked) == 2


@pytest.mark.parametrize(
    ("expires_in", "still", "no_more"),
    [
        pytest.param(300, 289, 291, id="as it says"),
        pytest.param(None, 49, 51, id="a minute, where it says nothing"),
        pytest.param(1, 49, 51, id="a minute, where it says less"),
        pytest.param(0, 49, 51, id="a minute, where it says none"),
    ],
)
def test_how_long_a_token_is_good_for(
    monkeypatch: pytest.MonkeyPatch, expires_in: int | None, still: float, no_more: float
) -> None:
    class Clock:
        now = 1000.0

        @classmethod
        def monotonic(cls) -> float:
            return cls.now

    monkeypatch.setattr(auth, "time", Clock)

    def token(connection: Connection, _: Received, number: int) -> bool:
        body: dict[str, Any] = {"access_token": f"granted-{number}"}
        return connection.reply(
            "200 OK", json.dumps(body | ({"expires_in": expires_in} if expires_in is not None else {})).encode()
        )

    with asking(token=token) as client:
        client.answer()
        Clock.now = 1000 + still
        assert authorization(client.known()) == "Bearer granted-1"
        Clock.now = 1000 + no_more
        assert authorization(client.known()) == "Bearer granted-2"


def test_many_threads_make_one_request() -> None:
    def slowly(connection: Connection, request: Received, number: int) -> bool:
        connection.sleep(0.2)
        return tokens_in_turn(connection, request, number)

    with asking(token=slowly) as client, ThreadPoolExecutor(8) as pool:
        grants = list(pool.map(lambda _: client.answer(), range(16)))
        assert {authorization(grant) for grant in grants} == {"Bearer granted-1"}
        assert len(client.service.asked) == 1


@pytest.mark.parametrize(
    ("context", "kind", "code"),
    [
        pytest.param(lambda: a_context(deadline=Deadline.after(0.5)), NetworkError, "network/timeout", id="deadline"),
        pytest.param(lambda: a_context(cancelled=_soon()), InstallError, "install/cancelled", id="cancelled"),
    ],
)
def test_who_waits_for_anothers_request_gives_up_in_time(
    context: Callable[[], Context], kind: type[GetModulesError], code: str
) -> None:
    over = threading.Event()

    def silent(connection: Connection, _: Received, __: int) -> bool:
        over.wait(30)
        return False

    with asking(token=silent) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.answer)
        wait_until(lambda: client.service.asked)
        began = time.monotonic()
        refusal(kind, code, client.answer, None, "acme/vpc", context())
        assert time.monotonic() - began < 1.5
        assert not first.done()
        over.set()
        first.exception(timeout=20)


def _soon() -> threading.Event:
    event = threading.Event()
    threading.Timer(0.5, event.set).start()
    return event


def test_a_failure_is_not_remembered() -> None:
    def once(connection: Connection, request: Received, number: int) -> bool:
        return connection.reply("403 No", b"") if number == 1 else tokens_in_turn(connection, request, number)

    with asking(token=once) as client:
        refusal(AuthenticationError, "authentication/forbidden", client.answer)
        assert authorization(client.answer()) == "Bearer granted-2"


# ------------------------------------------------------------------------------------- answers of the service


def saying(body: bytes, status: str = "200 OK", **headers: str) -> Any:
    return lambda connection, request, number: connection.reply(status, body, **headers)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"token":"a.b-c_d~e+f/g="}', id="token"),
        pytest.param(b'{"access_token":"a.b-c_d~e+f/g="}', id="access_token"),
        pytest.param(b'{"token":"","access_token":"a.b-c_d~e+f/g="}', id="an empty token and an access_token"),
        pytest.param(b'{"token":null,"access_token":"a.b-c_d~e+f/g=","x":[]}', id="null, and what nobody knows"),
    ],
)
def test_the_token_in_an_answer(body: bytes) -> None:
    with asking(token=saying(body)) as client:
        assert authorization(client.answer()) == "Bearer a.b-c_d~e+f/g="


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"<html>Welcome</html>", "not usable JSON", id="a page"),
        pytest.param(b"", "not usable JSON", id="nothing"),
        pytest.param(b"[]", "must be an object", id="a list"),
        pytest.param(b"{}", "no token", id="no token"),
        pytest.param(b'{"token":""}', "no token", id="an empty token"),
        pytest.param(b'{"token":5}', "must be a string", id="a number"),
        pytest.param(b'{"token":"s3cr3t","token":"s3cr3t"}', "twice", id="two tokens"),
        pytest.param(b'{"token":"s3cr3t\\r\\nX: y"}', "no token", id="a line end"),
        pytest.param(b'{"token":"s3cr3t x"}', "no token", id="a blank"),
        pytest.param('{"token":"s3cr3tü"}'.encode(), "no token", id="beyond ASCII"),
        pytest.param(b'{"token":"s3cr3t","expires_in":"soon"}', "expires_in", id="an end that is text"),
        pytest.param(b'{"token":"s3cr3t","expires_in":-1}', "expires_in", id="an end before the start"),
    ],
)
def test_an_answer_that_cannot_be_used(body: bytes, said: str) -> None:
    with asking(token=saying(body, Content_Type="text/x-odd")) as client:
        error = refusal(AuthenticationError, "authentication", client.answer)
        assert said in error.message
        assert "text/x-odd" in str(error.hint)
        assert "s3cr3t" not in words_of(error)
        assert len(client.service.asked) == 1


@pytest.mark.parametrize(
    ("credential", "status", "kind", "code", "hint", "requests"),
    [
        pytest.param(None, "401 No", AuthenticationError, "authentication", "none were found", 1, id="401"),
        pytest.param(PASSWORD, "401 No", AuthenticationError, "authentication", "refused", 1, id="401 to a password"),
        pytest.param(IDENTITY, "401 No", AuthenticationError, "authentication", "refused", 1, id="401 to an identity"),
        pytest.param(IDENTITY, "503 No", NetworkError, "network", "later", 2, id="503 is asked again"),
        pytest.param(PASSWORD, "500 No", NetworkError, "network", "later", 2, id="500 is asked again"),
    ],
)
def test_a_service_that_refuses(
    credential: Credential | None, status: str, kind: type[GetModulesError], code: str, hint: str, requests: int
) -> None:
    echo = b"wrong: s3cr3t-p4ss 1dent1ty-t0ken"
    with asking(credential, token=saying(echo, status)) as client:
        error = refusal(kind, code, client.answer)
        assert hint in str(error.hint)
        assert len(client.service.asked) == requests
        if credential is not None:
            assert credential.secret.reveal() not in words_of(error), "also where the service says it back to us"


def test_an_answer_that_is_too_large() -> None:
    with asking(token=saying(b'{"token":"' + b"x" * (2 << 20) + b'"}')) as client:
        refusal(LimitExceededError, "limit-exceeded/metadata", client.answer)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize("credential", [PASSWORD, IDENTITY], ids=["password", "identity token"])
def test_no_secret_follows_a_redirect_to_another_origin(credential: Credential, status: str) -> None:
    """127.0.0.2 is another host. A form is as secret as a header."""
    with serving(lambda connection, _: connection.reply("200 OK", b'{"token":"x"}'), host="127.0.0.2") as thief:
        moved = saying(b"", status, Location=f"{thief.url}/token")
        with asking(credential, token=moved) as client:
            if credential.identity:
                error = refusal(AuthenticationError, "authentication", client.answer)
                assert "redirect" in error.message
            else:
                assert authorization(client.answer()) == "Bearer x"
    for request in thief.received:
        assert "Authorization" not in request.headers
        assert b"1dent1ty" not in request.body
