"""Merging is commutative and associative; what is written reads back; no text is more than refused."""

from __future__ import annotations

import string

from hypothesis import given, strategies as st

from getmodules import AddressError, ConfigError, VerificationError
from getmodules.addresses.versions import Constraint, Version
from getmodules.providers import (
    Hash,
    HashDisposition,
    HashDispositions,
    LockFile,
    Platform,
    ProviderAddress,
    ProviderLock,
    format_lock_file,
    parse_lock_file,
    parse_shasums,
)
from tests.support.releases import SHASUMS

# ------------------------------------------------------------------------------------------------- merging

_PLATFORM = st.sampled_from([None, Platform("linux", "amd64"), Platform("darwin", "arm64")])
_DISPOSITION = st.builds(
    HashDisposition,
    signed_by=st.frozensets(st.sampled_from("KLM")),
    reported_by_registry=st.booleans(),
    verified_locally=st.booleans(),
    reported_by_trusted_mirror=st.booleans(),
    platform=_PLATFORM,
)
_FEW_HASHES = st.sampled_from([Hash("zh", "a"), Hash("zh", "b"), Hash("h1", "a")])
_DISPOSITIONS = st.dictionaries(_FEW_HASHES, _DISPOSITION).map(HashDispositions)


def _merged(*parts: HashDispositions) -> HashDispositions | None:
    """``None`` for a contradiction."""
    try:
        found = parts[0]
        for part in parts[1:]:
            found = found.merge(part)
    except VerificationError:
        return None
    return found


@given(_DISPOSITIONS, _DISPOSITIONS)
def test_merging_is_commutative(one: HashDispositions, other: HashDispositions) -> None:
    assert _merged(one, other) == _merged(other, one)


@given(_DISPOSITIONS, _DISPOSITIONS, _DISPOSITIONS)
def test_merging_is_associative(one: HashDispositions, two: HashDispositions, three: HashDispositions) -> None:
    behind = _merged(two, three)
    assert _merged(one, two, three) == (None if behind is None else _merged(one, behind))


@given(_DISPOSITIONS)
def test_merging_with_itself_or_with_nothing_changes_nothing(found: HashDispositions) -> None:
    assert found.merge(found) == found.merge(HashDispositions()) == HashDispositions().merge(found) == found


@given(_DISPOSITIONS, _DISPOSITIONS)
def test_merging_forgets_nothing(one: HashDispositions, other: HashDispositions) -> None:
    merged = _merged(one, other)
    if merged is None:
        return
    assert set(merged) == {*one, *other}
    for part in (one, other):
        for hash_, known in part.items():
            assert known.merge(merged[hash_]) == merged[hash_]


# -------------------------------------------------------------------------------------------- the lock file

_WORD = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8)
_LETTERS = st.text("абвгджзийяéüñ", min_size=1, max_size=6)
_PART = st.one_of(_WORD, _LETTERS, st.builds("{}-{}".format, _WORD, _WORD)).filter(
    lambda part: not part.startswith(("terraform-", "opentofu-"))
)
_PORT = st.one_of(st.just(""), st.integers(1, 65_535).filter(lambda port: port != 443).map(":{}".format))
_ADDRESS = st.builds("{}.example{}/{}/{}".format, st.one_of(_WORD, _LETTERS), _PORT, _PART, _PART).map(
    ProviderAddress.parse
)
_NUMBER = st.integers(0, 10**6)
_IDENTIFIERS = st.lists(_WORD.filter(lambda word: not word.isdecimal()), max_size=2).map(".".join)
_VERSION = st.builds(Version, _NUMBER, _NUMBER, _NUMBER, _IDENTIFIERS, _IDENTIFIERS)
_TERM = st.builds(
    "{} {}".format,
    st.sampled_from(["=", "!=", ">", ">=", "<", "<=", "~>"]),
    _VERSION.map(lambda v: f"{v.major}.{v.minor}.{v.patch}"),
)
_CONSTRAINTS = st.one_of(
    st.none(),
    # Parsed from the canonical spelling, as a reader does, so that terms stand in its order.
    st.lists(_TERM, min_size=1, max_size=3).map(", ".join).map(Constraint.parse).map(str).map(Constraint.parse),
)
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_HASH = st.builds(
    Hash,
    st.text(_VISIBLE.translate(str.maketrans("", "", "\"'\\:")), min_size=1, max_size=6),
    st.text(_VISIBLE.translate(str.maketrans("", "", "\"'\\")), max_size=50),
)
_LOCK = st.builds(
    ProviderLock, address=_ADDRESS, version=_VERSION, constraints=_CONSTRAINTS, hashes=st.frozensets(_HASH, max_size=4)
)
_LOCK_FILE = st.lists(_LOCK, max_size=4).map(LockFile.of)


@given(_LOCK_FILE)
def test_what_is_written_reads_back_and_is_written_again_alike(lock_file: LockFile) -> None:
    text = format_lock_file(lock_file)
    again = parse_lock_file(text.encode(), "lock.hcl")
    assert again == lock_file
    assert again.warnings == ()
    assert format_lock_file(again) == text


_MARKS = '{}[],="#\\\n \r\0\ufeffé1'
_WORDS = ("${", "//", "/*", "*/", "version", "hashes", "constraints", "module", "provider")
_FRAGMENTS = st.sampled_from([*_MARKS, *_WORDS, '"a.b/c/d"', '"h1:a"', '"1.0.0"'])


@given(st.one_of(st.binary(), st.lists(_FRAGMENTS, max_size=40).map(lambda parts: "".join(parts).encode())))
def test_any_file_is_read_or_refused_with_its_place(data: bytes) -> None:
    try:
        lock_file = parse_lock_file(data, "lock.hcl")
    except ConfigError as error:
        place = error.message.removeprefix("lock.hcl, line ").partition(":")[0]
        line, column = map(int, place.split(", column "))
        lines = data.decode("utf-8", "replace").split("\n")
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
    else:
        assert parse_lock_file(format_lock_file(lock_file).encode(), "lock.hcl") == lock_file


@given(st.text())
def test_any_address_is_normalised_or_refused(text: str) -> None:
    try:
        address = ProviderAddress.parse(text)
    except AddressError:
        return
    assert ProviderAddress.parse(str(address)) == address


@given(_ADDRESS)
def test_an_address_reads_back(address: ProviderAddress) -> None:
    assert ProviderAddress.parse(str(address)) == address


# --------------------------------------------------------------------------------------------- SHA256SUMS


@given(st.integers(0, len(SHASUMS) - 1), st.integers(0, 255))
def test_a_changed_byte_is_refused_or_changes_what_is_listed(offset: int, byte: int) -> None:
    changed = bytearray(SHASUMS)
    changed[offset] = byte
    try:
        listed = parse_shasums(bytes(changed))
    except VerificationError:
        return
    # The mark of binary mode is the one thing that has two spellings.
    same = bytes(changed).replace(b" *", b"  ") == SHASUMS
    assert (dict(listed) == dict(parse_shasums(SHASUMS))) is same


@given(st.binary())
def test_any_bytes_are_refused_or_list_something(document: bytes) -> None:
    try:
        listed = parse_shasums(document)
    except VerificationError:
        return
    assert listed
