"""From a request to its answer, without any socket."""

from __future__ import annotations

from types import MappingProxyType

from getmodules.testing.registry import blobs, listing, manifests, tokenendpoint, uploads
from getmodules.testing.registry.access import Access, authorize
from getmodules.testing.registry.call import Behaviour, Call
from getmodules.testing.registry.names import Route, checked_name
from getmodules.testing.registry.refusal import RefusalError
from getmodules.testing.registry.store import Store
from getmodules.testing.registry.tokens import Tokens
from getmodules.testing.registry.wire import Answer, Request
from getmodules.util.values import field, valueclass

_HANDLERS = MappingProxyType(
    {
        "blob": blobs.handle,
        "upload": uploads.handle,
        "manifest": manifests.handle,
        "tags": listing.tags,
        "referrers": listing.referrers,
    }
)


@valueclass(kw_only=False)
class Application:
    store: Store
    access: Access
    behaviour: Behaviour
    tokens: Tokens = field(default_factory=Tokens)

    def answer(self, request: Request, route: Route, realm: str) -> Answer:
        try:
            answer = self._answer(request, route, realm)
        except RefusalError as refusal:
            answer = refusal.answer()
        return answer.with_header("Docker-Distribution-Api-Version", "registry/2.0")

    def _answer(self, request: Request, route: Route, realm: str) -> Answer:
        if route.name:
            checked_name(route.name)
        grant = authorize(self.access, self.tokens, request, route, realm)
        if route.kind == "token":
            return tokenendpoint.handle(self.access, self.tokens, request)
        if route.kind == "ping":
            return self._ping(request)
        handler = _HANDLERS.get(route.kind)
        if handler is None:
            raise RefusalError(404, "NOT_FOUND", "page not found")
        return handler(Call(request, route, self.store, grant, self.behaviour))

    def _ping(self, request: Request) -> Answer:
        if request.method not in ("GET", "HEAD"):
            raise RefusalError(405, "UNSUPPORTED", f"{request.method} is not supported here")
        return Answer.of_json(200, {})
