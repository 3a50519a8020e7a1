"""Errors for a registry, or its token service, that refuses a credential or wants one: with what to type next."""

from __future__ import annotations

from getmodules.api.http import HttpAnswer, origin_of
from getmodules.api.ports import Origin
from getmodules.errors import AuthenticationError, SentCredential
from getmodules.getters.oci.docker_config import canonical_host
from getmodules.getters.oci.registries import registry_name
from getmodules.net.credentials import TOKEN_WORD
from getmodules.net.refusals import refused
from getmodules.util.redact import printable
from getmodules.util.values import valueclass

#: What ``getmodules auth check`` leaves out of a hint.
CHECK = "; getmodules auth check "


@valueclass
class RefusedAccess:
    """The access to a registry that was refused; ``looked_in`` are the places of credentials for it."""

    registry: Origin
    #: Empty if only the registry itself was asked.
    repository: str
    #: ``pull``; ``pull,push``.
    actions: str
    sent: SentCredential | None
    looked_in: tuple[str, ...]

    @property
    def name(self) -> str:
        return printable(canonical_host(registry_name(self.registry)))

    @property
    def place(self) -> str:
        return f"{self.name}/{printable(self.repository)}" if self.repository else self.name

    def by_registry(self, answer: HttpAnswer, said: str) -> AuthenticationError:
        """Return the error for a 401 or a 403 of the registry, or of a host that it sent us on to."""
        from getmodules.net.wire import shown_host

        if origin_of(answer.url) == self.registry:
            return refused(
                answer, sent=self.sent, explain=said, looked_in=self.looked_in, advice=self._advice(answer.status)
            )
        error = refused(answer, sent=None, explain=said)
        error.hint = (
            f"{self.name} sent us on to {shown_host(answer.url)}, and its credentials go to no other host; "
            "such addresses expire, so try again"
        )
        return error

    def by_token_service(self, answer: HttpAnswer, said: str) -> AuthenticationError:
        error = refused(
            answer, sent=self.sent, explain=said, looked_in=self.looked_in, advice=self._advice(answer.status)
        )
        error.within(f"the token service of {self.name}")
        return error

    def _advice(self, status: int) -> str:
        login, check = f"getmodules login {self.name}", f"{CHECK}{self.place}"
        if self.sent is None:
            return f"{login}{check} shows where one is looked for"
        if TOKEN_WORD in self.sent.found_in:
            login = f"set {self.sent.found_in} to another, or unset it and {login}"
        if status == 401 and "push" not in self.actions:
            return f"are they wrong or expired? {login}{check} tries it again"
        account = self.sent.username or "this account"
        what = "push to" if "push" in self.actions else "read"
        return f"may {account} {what} {self.place}? If not: {login}{check} tries it again"
