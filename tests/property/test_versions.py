"""Versions and constraints, whatever they are: an order, and spellings that come back."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given, strategies as st

from getmodules.addresses.versions import Constraint, Operator, Version, VersionError

_identifier = st.from_regex(r"(0|[1-9][0-9]{0,3}|[a-c-][0-9a-c-]{0,3})", fullmatch=True)
_identifiers = st.lists(_identifier, max_size=3).map(".".join)
_number = st.integers(min_value=0, max_value=12)
versions = st.builds(Version, _number, _number, _number, _identifiers, _identifiers)
_terms = st.tuples(st.sampled_from(["", *Operator]), st.sampled_from(["", " "]), versions, st.integers(1, 3))


def _written(term: tuple[str, str, Version, int]) -> str:
    operator, blank, version, precision = term
    numbers = [str(number) for number in version.release]
    rest = str(version).removeprefix(".".join(numbers))
    return f"{operator}{blank if operator else ''}{'.'.join(numbers[:precision])}{rest}"


constraints = st.lists(_terms, min_size=1, max_size=4).map(lambda terms: ", ".join(map(_written, terms)))


@given(versions)
def test_a_version_is_read_as_it_is_written(version: Version) -> None:
    assert Version.parse(str(version)) == version


@given(versions, versions, versions)
def test_the_order_is_total(a: Version, b: Version, c: Version) -> None:
    assert (a < b) + (a == b) + (a > b) == 1
    assert not (a < b < c) or a < c
    assert (a <= b) == (not b < a)
    if a.precedence < b.precedence:
        assert a < b


@given(constraints)
def test_the_canonical_spelling_comes_back(typed: str) -> None:
    canonical = str(Constraint.parse(typed))
    assert str(Constraint.parse(canonical)) == canonical


@given(constraints, versions)
def test_all_terms_hold_for_what_is_allowed(typed: str, version: Version) -> None:
    read = Constraint.parse(typed)
    if read.allows(version):
        assert all(term.allows(version) for term in read.terms)
        assert not version.prerelease or [term.version.prerelease for term in read.terms] == [version.prerelease]


@given(constraints, st.lists(versions, max_size=8))
def test_the_newest_is_allowed_and_nothing_allowed_is_newer(typed: str, known: list[Version]) -> None:
    read = Constraint.parse(typed)
    newest = read.newest(known)
    allowed = [version for version in known if read.allows(version)]
    assert (newest is None) == (not allowed)
    assert newest is None or (newest in allowed and not any(version > newest for version in allowed))


@given(versions, versions)
def test_an_operator_and_its_opposite_share_the_releases(boundary: Version, version: Version) -> None:
    def allows(operator: str) -> bool:
        return Constraint.parse(f"{operator} {boundary}").allows(version)

    if not version.prerelease:
        assert allows("<") != allows(">=")
        assert allows(">") != allows("<=")
        assert allows("=") != allows("!=")


@given(st.text(max_size=30) | st.text("0123456789.,=<>!~-+v xb", max_size=30))
def test_whatever_is_typed_is_read_or_refused(text: str) -> None:
    for parse in (Constraint.parse, Version.parse):
        with suppress(VersionError):
            read = str(parse(text))
            assert read.isascii()
            assert str(parse(read)) == read
