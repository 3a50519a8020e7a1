"""The query of an address, as a value: what it says, and how it was typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from getmodules.util.redact import redact_address
from getmodules.util.values import valueclass


class Argument(NamedTuple):
    name: str
    value: str
    #: ``name=value`` as it was typed: servers may care about the spelling.
    typed: str

    def __repr__(self) -> str:
        return f"Argument({_redacted(self.typed)!r})"


@valueclass(kw_only=False)
class Arguments(Mapping[str, str]):
    """The query of an address: a mapping that remembers order and spelling."""

    items_typed: tuple[Argument, ...] = ()

    def __getitem__(self, name: str) -> str:
        for argument in self.items_typed:
            if argument.name == name:
                return argument.value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (argument.name for argument in self.items_typed)

    def __len__(self) -> int:
        return len(self.items_typed)

    def __repr__(self) -> str:
        return f"Arguments({_redacted(self.query)!r})"

    @property
    def query(self) -> str:
        return "&".join(argument.typed for argument in self.items_typed)

    def without(self, *names: str) -> Arguments:
        return Arguments(tuple(a for a in self.items_typed if a.name not in names))

    def only(self, *names: str) -> Arguments:
        return Arguments(tuple(a for a in self.items_typed if a.name in names))

    def with_value(self, name: str, value: str) -> Arguments:
        """``name`` set to ``value``: in its old place where it had one, else at the end."""
        argument = Argument(name, value, f"{name}={quote(value, safe=':/@+,._~-')}")
        if name not in self:
            return Arguments((*self.items_typed, argument))
        return Arguments(tuple(argument if a.name == name else a for a in self.items_typed))


NO_ARGUMENTS = Arguments()


def _redacted(query: str) -> str:
    return redact_address(f"?{query}").removeprefix("?")
