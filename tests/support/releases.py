"""A release of a provider, as ``tests/cases/openpgp`` has it: a package, its checksums, keys and signatures."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from getmodules.providers import Hash, Package, Platform, ProviderAddress, measure
from tests.support.checkout import CASES

RELEASE = CASES / "openpgp"

ADDRESS = ProviderAddress.parse("registry.opentofu.org/test/null")
PRIVATE_ADDRESS = ProviderAddress.parse("registry.example/test/null")
LINUX = Platform("linux", "amd64")
DARWIN = Platform("darwin", "arm64")
ZIP = RELEASE / "terraform-provider-null_1.0.0_linux_amd64.zip"

AUTHOR = "3048d393f76f703ab9e3d02d56b3543891af3d34"
AUTHOR_ID = "56B3543891AF3D34"
OTHER = "d7c433eb122685dac313a3510433aa29804faa5d"
EXPIRED = "6b3d2a468be9fb837717bf52e5be5b4bc2994a35"
SUBKEYS = "0c0de98b7c52c7cbe9baa70cd1a78b798fc70d32"
SUBEXPIRED = "e59004dcf50d26272d9704f81cd05add9473d575"
ENCRYPTING = "dda575fc6af0c9d2ecfc61e23856cfc586aea98c"

#: After all keys that expire have expired, and before.
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EARLIER = datetime(2020, 7, 1, tzinfo=UTC)


def read(name: str) -> bytes:
    return (RELEASE / name).read_bytes()


SHASUMS = read("SHA256SUMS")


def cases(name: str) -> Any:
    return json.loads((CASES / name).read_text(encoding="utf-8"))


def package() -> Package:
    return measure(ZIP, LINUX)


def invented(zh: str | None = "a", h1: str = "b", size: int | None = 294) -> Package:
    """A package that exists nowhere."""
    return Package(platform=LINUX, h1=Hash("h1", h1), zh=None if zh is None else Hash("zh", zh), size=size)
