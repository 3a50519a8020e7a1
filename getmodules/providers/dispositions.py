"""Dispositions of the hashes of a provider package: who vouches for each of them, and how.

The outcome of an authentication is a collection of them. Two of these can be merged without loss, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Self, final

from getmodules.errors import VerificationError
from getmodules.providers.hashes import Hash, Platform
from getmodules.util.values import field, valueclass


@valueclass
class HashDisposition:
    """The sources that vouch for one hash."""

    #: The ids of the OpenPGP keys whose signatures cover it; which of them to trust must still be decided.
    signed_by: frozenset[str] = frozenset()
    #: True if the provider's origin registry, asked directly, reports it; never because a mirror says so.
    reported_by_registry: bool = False
    #: True if it was calculated here, from the package itself.
    verified_locally: bool = False
    #: True if it is reported by a mirror that the user trusts.
    reported_by_trusted_mirror: bool = False
    #: The platform whose package has it; None if that is unknown, or if several platforms have it.
    platform: Platform | None = None

    def merge(self, other: HashDisposition) -> HashDisposition:
        """Return what both know. Two different platforms are a ``ValueError``."""
        if self.platform is not None and other.platform is not None and self.platform != other.platform:
            raise ValueError(f"{min(self.platform, other.platform)} and {max(self.platform, other.platform)}")
        return HashDisposition(
            signed_by=self.signed_by | other.signed_by,
            reported_by_registry=self.reported_by_registry or other.reported_by_registry,
            verified_locally=self.verified_locally or other.verified_locally,
            reported_by_trusted_mirror=self.reported_by_trusted_mirror or other.reported_by_trusted_mirror,
            platform=self.platform or other.platform,
        )


@final
@valueclass(kw_only=False, eq=False)
class HashDispositions(Mapping[Hash, HashDisposition]):
    """An immutable mapping of hashes to their dispositions."""

    _by_hash: Mapping[Hash, HashDisposition] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_hash", MappingProxyType(dict(self._by_hash)))

    @classmethod
    def of(cls, hashes: Iterable[Hash], disposition: HashDisposition) -> Self:
        """Make a collection in which all of ``hashes`` have the same ``disposition``."""
        return cls(dict.fromkeys(hashes, disposition))

    def merge(self, other: HashDispositions) -> HashDispositions:
        """Return both collections as one. Commutative and associative; conflicting platforms are an error."""
        merged = dict(self._by_hash)
        for hash_, disposition in other.items():
            known = merged.get(hash_)
            try:
                merged[hash_] = disposition if known is None else known.merge(disposition)
            except ValueError as error:
                raise VerificationError(f"the hash {hash_} is said to be that of two platforms: {error}") from None
        return HashDispositions(merged)

    @property
    def key_ids(self) -> tuple[str, ...]:
        """All keys that signed any of the hashes, sorted."""
        return tuple(sorted(frozenset().union(*(disposition.signed_by for disposition in self.values()))))

    def __getitem__(self, key: Hash) -> HashDisposition:
        return self._by_hash[key]

    def __iter__(self) -> Iterator[Hash]:
        return iter(self._by_hash)

    def __len__(self) -> int:
        return len(self._by_hash)

    def __hash__(self) -> int:
        return hash(frozenset(self._by_hash.items()))

    def __repr__(self) -> str:
        return f"HashDispositions({dict(self._by_hash)!r})"
