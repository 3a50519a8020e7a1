"""Fetching from one web address: an archive, a file, or another address to ask.

The server of a package gets the credentials of its own origin and of no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from posixpath import basename
from urllib.parse import unquote

from getmodules.addresses.types import PackageAddress
from getmodules.addresses.url import Url, check_url
from getmodules.api.http import DEFAULT_PORTS, Authorization, Call, HttpAnswer, HttpSession, NetworkSettings, origin_of
from getmodules.api.model import Blob, Elsewhere, Shape, Unchanged
from getmodules.api.ports import Context, Credential, Origin
from getmodules.errors import AuthenticationError, NetworkError, NotFoundError, SentCredential, UnsafeContentError
from getmodules.getters.http.pages import git_spelling, is_page, page_instead
from getmodules.net.credentials import (
    TOKEN_PREFIX,
    USERNAME_PREFIX,
    authorization_of,
    from_netrc,
    has_variable,
    is_overheard,
    netrc_places,
    sent_credential,
    variable_suffix,
)
from getmodules.net.download import RANGE_REFUSED, Download
from getmodules.net.refusals import refused, shown_origin
from getmodules.net.terraform_get import (
    ARGUMENT,
    HTML_TYPES,
    PAGE_BYTES,
    location_in_headers,
    location_in_page,
    sent_on,
)
from getmodules.net.wire import shown_host
from getmodules.util.redact import Secret, is_secret_argument
from getmodules.util.values import replace, valueclass

#: How much of a body is needed to recognise a page; every archive has at least as many bytes.
_BEGINNING = 512
#: Validators of responses, and the request headers that ask whether they still hold.
_CONDITIONS = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}


class WebSource:
    """The request for one package; ``subdir``, the wanted part of the package, is used for hints only."""

    def __init__(self, package: PackageAddress, subdir: str, context: Context) -> None:
        self._url = check_url(package.url)
        self._subdir = subdir
        self._kept = _conditions(context.validator(package))
        self._context = context
        self._session: HttpSession = context.network.session()
        self._secrets = secret_arguments(package.arguments)
        self._access = access_to(self._url, self._secrets, context, self._session.settings)
        query = package.arguments.query
        if self._asks_where and ARGUMENT not in package.arguments:
            query = f"{query}&{ARGUMENT}=1" if query else f"{ARGUMENT}=1"
        url = self._url._replace(userinfo="", path=self._url.path or "/")
        self._call = Call(
            method="GET",
            url=f"{url}?{query}" if query else str(url),
            authorization=self._access.authorization,
            accept=frozenset({401, 403, 304} if self._kept else {401, 403}),
        )

    @property
    def _asks_where(self) -> bool:
        """Return whether the server is asked for another address: not if the address says what is there."""
        return self._context.shape is Shape.PACKAGE

    def result(self) -> Blob | Elsewhere | Unchanged:
        """Send the request, and return what the server has."""
        answer = self._first()
        try:
            if self._asks_where and (elsewhere := self._elsewhere(answer)) is not None:
                answer.close()
                return elsewhere
            if answer.status == 304:
                answer.close()
                return Unchanged()
            if answer.status != 200:
                if self._context.shape is not Shape.FILE and _is_html(answer):
                    raise self._page(answer)
                raise NetworkError(f"{shown_host(answer.url)} answered {answer.status}, which brings no file")
            return self._blob(answer)
        except BaseException:
            answer.close()
            raise

    def _first(self) -> HttpAnswer:
        try:
            return self._send(self._kept)
        except NotFoundError as error:
            repository = git_spelling(self._url, self._subdir)
            if repository is not None:
                error.hint = f"for the git repository: {repository}"
            raise

    def _send(self, headers: Mapping[str, str], retries: int | None = None) -> HttpAnswer:
        accept = self._call.accept | (RANGE_REFUSED if "Range" in headers else frozenset())
        call = replace(self._call, headers=headers, accept=accept, retries=retries)
        answer = self._session.send(call, self._context)
        if answer.status in (401, 403):
            error = self._access.refused(call, answer)
            answer.close()
            raise self._with_spelling(error)
        return answer

    def _with_spelling(self, error: AuthenticationError) -> AuthenticationError:
        """Add a hint for signed URLs: a signature is valid for the query as it was signed, without our argument."""
        if self._asks_where and self._secrets:
            error.hint = f"{error.hint}; archive=FORMAT sends the query as it is, without {ARGUMENT}=1"
        return error

    # -------------------------------------------------------------------------------------- the answer

    def _elsewhere(self, answer: HttpAnswer) -> Elsewhere | None:
        location = location_in_headers(answer) or None
        if location is None and answer.status == 200 and _is_html(answer):
            page = answer.read_some(PAGE_BYTES).decode("utf-8", "replace")
            location = location_in_page(page)
            if location is None:
                raise self._page(answer)
        if location is None:
            return None
        return sent_on(answer, location, partial(_too_far_in, shown_host(answer.url)))

    def _blob(self, answer: HttpAnswer) -> Blob:
        body = Download(self._send, self._session, self._context, first=answer)
        is_file = self._context.shape is Shape.FILE
        return Blob(
            chunks=body if is_file else _CheckedBody(body, partial(self._judge, answer)),
            size=answer.length,
            name=unquote(basename(self._url.path)) or None,
            media_type=_media_type(answer),
            validator=body.validator,
            rest=body.rest,
        )

    def _judge(self, answer: HttpAnswer, beginning: bytes) -> None:
        if is_page(beginning, _media_type(answer)):
            raise self._page(answer)

    def _page(self, answer: HttpAnswer) -> Exception:
        return page_instead(self._url, self._subdir, shown_host(answer.url), _media_type(answer))


def _too_far_in(host: str, kind: str, address: str) -> UnsafeContentError:
    return UnsafeContentError(
        f"{host} sent us on to the {kind} address {address}, which is further in than it is itself",
        part="elsewhere",
        hint="if it should lead there, write the address that it leads to",
    )


class _CheckedBody:
    """A body whose beginning is checked before the first chunk is passed on."""

    def __init__(self, body: Download, judge: Callable[[bytes], None]) -> None:
        self._body = body
        self._judge = judge

    def __iter__(self) -> Iterator[bytes]:
        beginning = b""
        pieces = iter(self._body)
        for piece in pieces:
            beginning += piece
            if len(beginning) >= _BEGINNING:
                break
        self._judge(beginning)
        if beginning:
            yield beginning
        yield from pieces

    def close(self) -> None:
        self._body.close()


# ----------------------------------------------------------------------------------------------- the answer's headers


def _conditions(validator: Mapping[str, str]) -> Mapping[str, str]:
    return {_CONDITIONS[name]: value for name, value in validator.items() if name in _CONDITIONS}


def _bare_type(answer: HttpAnswer) -> str:
    return answer.headers.get("Content-Type", "").partition(";")[0].strip()


def _is_html(answer: HttpAnswer) -> bool:
    return _bare_type(answer).lower() in HTML_TYPES


def _media_type(answer: HttpAnswer) -> str | None:
    """Return the media type with our own secrets masked, which a server may send back."""
    return answer.shown(_bare_type(answer)).lower() or None


# -------------------------------------------------------------------------------------------------------- credentials


_AUTHORIZATION = "authorization"
_HEADER = "--header"


@valueclass
class WebAccess:
    """The credentials for the origin of an address, and their source."""

    authorization: Authorization
    #: The places in which a credential was looked for; none where no credential may go.
    looked_in: tuple[str, ...] = ()

    def refused(self, call: Call, answer: HttpAnswer) -> AuthenticationError:
        """Return the error for a 401 or a 403, with the credential that was tried, or the ways to give one."""
        said, sent, origin = call.explain(answer), call.sent_to(answer.url), self.authorization.origin
        error = refused(answer, sent=sent, explain=said, looked_in=self.looked_in, advice=self._advice(sent))
        if origin_of(answer.url) != origin:
            error = refused(answer, sent=None, explain=said)
            error.hint = "it was reached by a redirect, and credentials are never shown to another host than their own"
        elif sent is None and not self.looked_in:
            error.hint = "a server led to this host without TLS, where no credentials are sent"
        return error

    def _advice(self, sent: SentCredential | None) -> str:
        origin = self.authorization.origin
        ways = ["an entry in ~/.netrc", f"--header {shown_origin(origin)} NAME=env:VARIABLE"]
        if has_variable(origin.host):
            suffix = variable_suffix(origin)
            ways.insert(0, f"{TOKEN_PREFIX}{suffix} (and {USERNAME_PREFIX}{suffix}, where there is a user name)")
        brings = f"{', '.join(ways[:-1])} or {ways[-1]} brings"
        return f"{brings} one" if sent is None else f"is it expired? {brings} another"


def access_to(url: Url, secrets: tuple[Secret, ...], context: Context, settings: NetworkSettings) -> WebAccess:
    """Return the credentials for ``url``: a header ``Authorization``, else the address, environment, plugins, netrc.

    ``secrets`` are those in the query of the address itself; they are masked like the others.
    """
    origin = _origin(url)
    if is_overheard(origin, context.home):
        return WebAccess(authorization=Authorization(origin=origin, headers={}, in_body=secrets, anonymous=True))
    headers = {name: value.reveal() for name, value in settings.headers_for(origin).items()}
    sent = SentCredential(_HEADER) if headers else None
    if _AUTHORIZATION not in (name.lower() for name in headers):
        found = _credential(url, origin, context)
        if found is not None:
            headers["Authorization"] = authorization_of(found)
            sent = sent_credential(found)
    authorization = Authorization(
        origin=origin, headers=headers, in_body=secrets, anonymous=not headers, credential=sent
    )
    return WebAccess(authorization=authorization, looked_in=_places(origin, context))


def _origin(url: Url) -> Origin:
    host = url.host.strip("[]")
    return Origin(url.scheme, host, url.port or DEFAULT_PORTS.get(url.scheme, 0))


def _places(origin: Origin, context: Context) -> tuple[str, ...]:
    """Return the places of credentials for ``origin``, for people."""
    variable = (TOKEN_PREFIX + variable_suffix(origin),) if has_variable(origin.host) else ()
    return (_HEADER, *variable, *netrc_places(context.environ))


def _credential(url: Url, origin: Origin, context: Context) -> Credential | None:
    if url.userinfo:
        user, _, password = url.userinfo.partition(":")
        return Credential(secret=Secret(unquote(password)), username=unquote(user), found_in="the address")
    return context.credentials(origin, url.path or "/") or from_netrc(context.environ, origin.host)


def secret_arguments(arguments: Mapping[str, str]) -> tuple[Secret, ...]:
    """Return the values of a query that are credentials by their names, since a server may repeat them."""
    return tuple(Secret(value) for name, value in arguments.items() if is_secret_argument(name))
