"""Whatever is typed: an error of ours, or an address that reads back as itself and shows no secret."""

from __future__ import annotations

import string
from urllib.parse import quote

from hypothesis import assume, example, given, strategies as st

from getmodules import AddressError, ModuleAddress
from getmodules.util.redact import redact, redact_address
from tests.support.refusals import words_of
from tests.support.sites import first_party

SECRET = "S3cr3t0S3cr3t"

_NAME = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=8)
_HOST = st.builds("{}.example".format, st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8))
_PORT = st.one_of(st.just(""), st.integers(1, 65_535).map(":{}".format))
_TEXT = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="\\/"), min_size=1, max_size=8)
_PATH_PART = _TEXT.map(lambda text: quote(text, safe="!$&'()*+,;=:@~")).filter(lambda part: ".." not in part)
_SUBDIR = st.lists(_PATH_PART, max_size=3).map("/".join)
_USER = st.sampled_from(["", "u@", "u:p@", "u%40x:p%2F@"])
_QUERY = st.dictionaries(
    _NAME.filter(lambda name: name.lower() not in ("archive", "checksum", "filename")), _TEXT.map(quote), max_size=3
).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs.items()))


def _joined(start: str, subdir: str, query: str) -> str:
    return start + (f"//{subdir}" if subdir else "") + (f"?{query}" if query else "")


_HTTP = st.builds(
    lambda scheme, user, host, port, path, subdir, query: _joined(
        f"{scheme}://{user}{host}{port}/{path}", subdir, query
    ),
    st.sampled_from(["http", "https", "https::https"]),
    _USER,
    _HOST,
    _PORT,
    _PATH_PART,
    _SUBDIR,
    _QUERY,
)
_GIT = st.builds(
    lambda start, path, subdir, ref: _joined(f"{start}{path}", subdir, f"ref={ref}" if ref else ""),
    st.sampled_from(
        ["git::https://h.example/", "git::ssh://git@h.example/", "git@h.example:", "github.com/o/", "git::/"]
    ),
    _NAME,
    _SUBDIR,
    st.sampled_from(["", "v1", "feature/x", "a+b", "pkg@1.2.3"]),
)
_OCI = st.builds(
    lambda host, port, name, subdir, tag: _joined(f"oci://{host}{port}/{name}", subdir, f"tag={tag}" if tag else ""),
    _HOST,
    _PORT,
    st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8),
    _SUBDIR,
    st.sampled_from(["", "1.0", "latest"]),
)
_FILE = st.builds(
    lambda start, path, subdir: _joined(f"{start}{path}", subdir, ""),
    st.sampled_from(["./", "../", "/a/", "file:///", "file::./", "oci-layout::./"]),
    _NAME,
    _SUBDIR,
)


def _detect(text: str) -> ModuleAddress:
    return first_party().detect(text, base="/base")


def _attempt(text: str) -> ModuleAddress | AddressError:
    try:
        return _detect(text)
    except AddressError as error:
        return error


def _reads_back(address: ModuleAddress) -> None:
    again = _detect(str(address))
    assert again == address
    assert str(again) == str(address)
    assert str(address).isascii()
    assert str(address).isprintable()


@given(st.one_of(_HTTP, _GIT, _OCI, _FILE))
def test_a_good_address_reads_back_as_itself(text: str) -> None:
    _reads_back(_detect(text))


@given(st.one_of(_HTTP, _GIT, _OCI, _FILE))
def test_a_subdirectory_stays_inside(text: str) -> None:
    parts = _detect(text).subdir.split("/")
    assert ".." not in parts
    assert "." not in parts
    assert parts == [""] or "" not in parts


_FRAGMENTS = st.sampled_from(
    [
        "git::", "ext::", "oci://", "https://", "file:///", "oci-layout::", "//", "/", "..", ".", "./", "?", "&", "=",
        "#", "%", "%2e", "%252e", "%00", "@", ":", "::", "\\", " ", "\n", "\x00", "\x1b", "h.example", "[::1]", ":0",
        ":99999", "checksum=file:", "archive=", "filename=", "ref=", "tag=", "digest=sha256:", "~", "C:\\", "-", "é",
        "\u202e",
        "\ud800", "github.com/o/r", "gitlab.com/g/s/p.git", "git@h:", "*", "[", "+", ";",
    ]
)  # fmt: skip
_SOUP = st.lists(st.one_of(_FRAGMENTS, st.text(max_size=3)), max_size=12).map("".join)


@given(st.one_of(st.text(), _SOUP))
@example("git::ssh://git@h/x?sshkey=é")
@example("./a?checksum=file:./b?checksum=file:./c")
@example("https://[::1/x")
def test_any_text_is_an_address_or_an_error_of_ours(text: str) -> None:
    outcome = _attempt(text)
    if isinstance(outcome, AddressError):
        assert words_of(outcome).replace("\n", "").isprintable()
    else:
        _reads_back(outcome)


_SECRET_PLACES = st.sampled_from(
    [
        "https://u:{}@h.example/x", "https://{}@h.example/x", "git::https://u:{}@h.example/x", "oci://u:{}@h.example/x",
        "git::ssh://git:{}@h.example/x", "u:{}@h.example:x", "https://h.example/x?token={}", "./x?X-Amz-Signature={}",
        "git::ssh://git@h.example/x?sshkey={}", "./x?checksum=file:https://u:{}@h.example/x",
        "./x?checksum=file:https%3A%2F%2Fu%3A{}%40h.example%2Fx", "./x?checksum=file:https://h.example/x%3Ftoken%3D{}",
    ]
)  # fmt: skip


@given(
    _SECRET_PLACES,
    st.sampled_from(["", "//..", "//sub", ":0", "?", "&a=1", "&a=1&a=2", "\n", " ", "%zz", "#x", "\x1b"]),
)
def test_a_secret_is_never_shown(place: str, after: str) -> None:
    outcome = _attempt(place.format(SECRET) + after)
    if isinstance(outcome, AddressError):
        assert SECRET not in words_of(outcome)
    else:
        assert SECRET not in outcome.display()
        assert SECRET not in outcome.package.display()


@given(_SECRET_PLACES, st.text(st.characters(exclude_characters="&?#/@"), max_size=5))
def test_whatever_stands_beside_a_secret(place: str, beside: str) -> None:
    """Blanks, line ends and the like end no key that somebody pasted."""
    assume("?" in place)
    assume("%40" not in place)
    assume("@h" not in place.partition("?")[2])
    assert SECRET not in redact_address(place.format(beside + SECRET))


@given(st.one_of(st.text(), _SOUP, _HTTP))
def test_redacting_twice_changes_nothing(text: str) -> None:
    for mask in (redact, redact_address):
        assert mask(mask(text)) == mask(text)
