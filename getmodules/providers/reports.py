"""Hashes that a registry reports beside ``shasum``, in the three forms that were ever proposed for them.

* shipped: ``"packages": {"linux_amd64": {"hashes": ["zh:…", "h1:…"], "package_size": 294}}``
* drafts: ``"hashes": {"zh:…": ["h1:…"]}`` and ``"hashes": ["zh:…", "h1:…"]``

All become rows: hashes that belong to one package, with whatever else is said about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from getmodules.errors import VerificationError
from getmodules.providers.hashes import ZH, Hash
from getmodules.providers.platforms import Platform
from getmodules.util.redact import printable
from getmodules.util.strict_json import (
    StrictJsonError,
    array_of,
    integer,
    mapping,
    optional,
    required,
    string,
    table_of,
)
from getmodules.util.values import valueclass

#: Far more packages than any release has.
MOST_HASHES: Final = 10_000
_WHAT = "the registry's answer"


@valueclass
class ReportedPackage:
    """One row. In the plainest form it holds the hashes of all packages, and ``platform`` is not known."""

    hashes: tuple[Hash, ...]
    platform: Platform | None = None
    size: int | None = None

    def of_scheme(self, scheme: str) -> frozenset[Hash]:
        return frozenset(hash_ for hash_ in self.hashes if hash_.scheme == scheme)


#: One form of a report, complete.
Report = tuple[ReportedPackage, ...]


def parse_reports(answer: Mapping[str, Any]) -> tuple[Report, ...]:
    """Each report in the decoded answer of a registry; none where it reports no hashes, as most do."""
    try:
        reports = (_packages(answer), _hashes(answer))
    except (StrictJsonError, ValueError) as error:
        raise VerificationError(
            f"the hashes that the registry reports cannot be read: {error}", hint="tell those who run the registry"
        ) from None
    if sum(len(row.hashes) for report in reports for row in report) > MOST_HASHES:
        raise VerificationError(f"the registry reports more than {MOST_HASHES:,} hashes")
    return tuple(filter(None, reports))


def _packages(answer: Mapping[str, Any]) -> Report:
    rows = []
    for name, package in (optional(answer, "packages", table_of(mapping), _WHAT) or {}).items():
        what = f"{_WHAT}: package {printable(name, 80)!r}"
        size = required(package, "package_size", integer, what)
        if size < 1:
            raise StrictJsonError(f"{what}: 'package_size' must be at least 1")
        hashes = _parse_all(required(package, "hashes", array_of(string), what))
        rows.append(ReportedPackage(hashes=hashes, platform=Platform.parse(name), size=size))
    return tuple(rows)


def _hashes(answer: Mapping[str, Any]) -> Report:
    reported = answer.get("hashes")
    if isinstance(reported, Mapping):
        by_zip = table_of(array_of(string))(reported, f"{_WHAT}: 'hashes'")
        for key in by_zip:
            if Hash.parse(key).scheme != ZH:
                raise StrictJsonError(f"{_WHAT}: 'hashes' is to name packages by their {ZH}: hashes")
        return tuple(ReportedPackage(hashes=_parse_all([key, *hashes])) for key, hashes in by_zip.items())
    flat = optional(answer, "hashes", array_of(string), _WHAT)
    return (ReportedPackage(hashes=_parse_all(flat)),) if flat else ()


def _parse_all(texts: list[str]) -> tuple[Hash, ...]:
    return tuple(map(Hash.parse, texts))
