"""The values that addresses are made of: arguments, packages, modules, and what the user typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self
from urllib.parse import quote

from getmodules.util.redact import redact_address
from getmodules.util.values import replace, valueclass


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
        """The arguments as they were typed, without the ``?``."""
        return "&".join(argument.typed for argument in self.items_typed)

    def without(self, *names: str) -> Arguments:
        """Return the arguments but for those of these names."""
        return Arguments(tuple(a for a in self.items_typed if a.name not in names))

    def only(self, *names: str) -> Arguments:
        """Return the arguments of these names alone."""
        return Arguments(tuple(a for a in self.items_typed if a.name in names))

    def with_value(self, name: str, value: str) -> Arguments:
        """Return the arguments with ``name`` set to ``value``: in its old place where it had one, else at the end."""
        argument = Argument(name, value, f"{name}={quote(value, safe=':/@+,._~-')}")
        if name not in self:
            return Arguments((*self.items_typed, argument))
        return Arguments(tuple(argument if a.name == name else a for a in self.items_typed))


NO_ARGUMENTS = Arguments()


def _redacted(query: str) -> str:
    return redact_address(f"?{query}").removeprefix("?")


#: Characters that a subdirectory keeps unescaped in an address: all that a URL path may hold, and those of globs.
_SUBDIR_SAFE = "/!$&'()*+,;=:@[]~^{}|"


@valueclass
class ModuleAddress:
    """A package and the directory in it that is wanted. ``str()`` is canonical, ``display()`` redacted."""

    package: PackageAddress
    subdir: str = ""

    def __str__(self) -> str:
        package = self.package
        force = f"{package.getter}::" if package.forced else ""
        subdir = f"//{quote(self.subdir, safe=_SUBDIR_SAFE)}" if self.subdir else ""
        query = f"?{package.arguments.query}" if package.arguments else ""
        return f"{force}{package.url}{subdir}{query}"

    def __repr__(self) -> str:
        return f"ModuleAddress({self.display()!r})"

    def display(self) -> str:
        """Return the address with secrets masked."""
        return redact_address(str(self))


@valueclass
class PackageAddress:
    """The unit of fetching, caching and de-duplicating: a getter, a URL without query, and arguments."""

    getter: str
    url: str
    arguments: Arguments = NO_ARGUMENTS
    #: Whether the getter is written in front (``git::https://…``).
    forced: bool = False

    def __str__(self) -> str:
        return str(ModuleAddress(package=self))

    def __repr__(self) -> str:
        return f"PackageAddress({self.display()!r})"

    def display(self) -> str:
        """Return the address with secrets masked."""
        return redact_address(str(self))

    def with_arguments(self, arguments: Arguments) -> Self:
        """Return the same package with these arguments instead."""
        return self if arguments == self.arguments else replace(self, arguments=arguments)


@valueclass
class SourceAddress:
    """A source as the user typed it, in its parts; nothing is known yet about schemes."""

    force: str | None
    body: str
    subdir: str
    arguments: Arguments
