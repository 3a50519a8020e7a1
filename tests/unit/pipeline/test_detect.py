"""The detector chain: every rule of the grammar, and what is refused before anybody is asked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import getmodules
from getmodules import AddressError, Client, GetModulesError, UnknownSchemeError, UnsafeContentError, hookimpl
from getmodules.addresses.url import check_url
from getmodules.api.ports import Shorthand
from getmodules.pipeline.detect import MAX_ROUNDS, detect_elsewhere
from tests.support.checkout import CASES
from tests.support.refusals import refusal, words_of
from tests.support.sites import NO_STRANGERS, first_party

SHA256 = "0123456789abcdef" * 4


def _cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{file.split('_')[0]}: {case['source'][:60]}")
        for file in ("addresses.json", "oci_addresses.json")
        for case in json.loads((CASES / file).read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("case", _cases())
def test_a_vector(case: dict[str, Any]) -> None:
    if case.get("error"):
        with pytest.raises(AddressError):
            first_party().detect(case["source"], base=case["base"])
        return
    address = first_party().detect(case["source"], base=case["base"] or "/none")
    assert str(address) == case["expect"]


def _row(source: str, canonical: str, name: str) -> Any:
    return pytest.param(source, canonical, id=name)


@pytest.mark.parametrize(
    ("source", "canonical"),
    [
        # github
        _row("github.com/o/r", "git::https://github.com/o/r.git", "github"),
        _row("github.com/o/r.git", "git::https://github.com/o/r.git", "github with .git"),
        _row("github.com/o/r/sub/dir", "git::https://github.com/o/r.git//sub/dir", "github with a directory"),
        _row("github.com/o/r/sub//more", "git::https://github.com/o/r.git//sub/more", "both subdirectories"),
        _row("github.com/o/r/", "git::https://github.com/o/r.git", "github with a final slash"),
        _row(
            "github.com/o/r?ref=feature/x",
            "git::https://github.com/o/r.git?ref=feature/x",
            "a slash in ref (go-getter 469, 422)",
        ),
        _row(
            "github.com/o/r/sub?ref=v1", "git::https://github.com/o/r.git//sub?ref=v1", "ref after sub (go-getter 257)"
        ),
        _row("git::github.com/o/r", "git::https://github.com/o/r.git", "github, forced"),
        # gitlab
        _row("gitlab.com/g/p", "git::https://gitlab.com/g/p.git", "gitlab"),
        _row("gitlab.com/g/p/sub", "git::https://gitlab.com/g/p.git//sub", "gitlab with a directory"),
        _row("gitlab.com/g/sub/p.git", "git::https://gitlab.com/g/sub/p.git", "gitlab subgroup (go-getter 479)"),
        _row("gitlab.com/g/s/p.git/sub", "git::https://gitlab.com/g/s/p.git//sub", "subgroup and directory"),
        _row("gitlab.com/g/p.git/x.git", "git::https://gitlab.com/g/p.git//x.git", "the first .git ends it"),
        # bitbucket
        _row("bitbucket.org/o/r", "git::https://bitbucket.org/o/r.git", "bitbucket"),
        _row("bitbucket.org/o/r/sub", "git::https://bitbucket.org/o/r.git//sub", "bitbucket with a directory"),
        # scp
        _row("git@h.example:o/r.git", "git::ssh://git@h.example/o/r.git", "scp form"),
        _row("git@h.example:/srv/r.git", "git::ssh://git@h.example/srv/r.git", "scp form, absolute"),
        _row("git@h.example:~/r.git", "git::ssh://git@h.example/~/r.git", "scp form, home"),
        _row("git::user@h.example:p", "git::ssh://user@h.example/p", "any user after git::"),
        _row("git@h.example:r//sub?ref=v1", "git::ssh://git@h.example/r//sub?ref=v1", "scp form, all parts"),
        _row("git@h.example:a b%20c", "git::ssh://git@h.example/a%20b%2520c", "the scp form is literal"),
        # paths
        _row(".", "file:///base", "the base itself"),
        _row("..", "file:///", "its parent"),
        _row("./x", "file:///base/x", "below it"),
        _row("../x", "file:///x", "beside it"),
        _row("./a/../../x", "file:///x", "dots in the middle"),
        _row("../../../x", "file:///x", "more dots than directories"),
        _row("/x/y", "file:///x/y", "absolute"),
        _row("/x//y", "file:///x//y", "absolute, with a subdirectory"),
        _row("C:\\x\\y", "file:///C:/x/y", "a drive"),
        _row("c:/x", "file:///c:/x", "a drive with slashes"),
        _row(".\\x", "file:///base/x", "relative with backslashes"),
        _row("./a b", "file:///base/a%20b", "a blank in a path"),
        _row("./a%20b", "file:///base/a%2520b", "a percent sign in a path"),
        _row("./a#b", "file:///base/a%23b", "a # in a path"),
        _row("./é", "file:///base/%C3%A9", "letters beyond ASCII in a path"),
        _row("file::./x", "file::file:///base/x", "a path, forced"),
        _row("git::./x", "git::file:///base/x", "a repository on this machine"),
        _row("oci-layout::./x?tag=1", "oci-layout:///base/x?tag=1", "an OCI layout on this machine"),
        # URLs are nobody's shorthand
        _row("https://github.com/o/r", "https://github.com/o/r", "a URL is returned untouched"),
        _row("git::https://github.com/o/r", "git::https://github.com/o/r", "a forced URL too"),
        _row("git://h.example/r", "git::git://h.example/r", "git's own protocol"),
        _row("https::https://h.example/a.zip", "https://h.example/a.zip", "a force that says nothing new"),
        _row("http::https://h.example/a.zip", "https://h.example/a.zip", "https stays https"),
        _row("HTTPS://H.example/A", "https://h.example/A", "scheme and host in lower case"),
        _row("https://h.example/a/?x=1//y", "https://h.example/a/?x=1//y", "a // in the query"),
        _row("https://h.example/a/b//", "https://h.example/a/b", "an empty subdirectory"),
        _row("https://h.example/a.zip//b//c/./d/", "https://h.example/a.zip//b/c/d", "a cleaned subdirectory"),
        _row("https://h.example/a?token=a+b", "https://h.example/a?token=a+b", "a plus"),
        _row("https://h.example/a?b=%2f&a=/", "https://h.example/a?b=%2f&a=/", "order and spelling of the query"),
        _row("oci://h.example/r?tag=1.0.0_build", "oci://h.example/r?tag=1.0.0_build", "oci"),
        # the core's arguments
        _row("./a.zip?archive=zip", "file:///base/a.zip?archive=zip", "archive"),
        _row("./a.zip?archive=F", "file:///base/a.zip?archive=F", "archive, as Go writes false"),
        _row("./a?archive=false&filename=m.tf", "file:///base/a?archive=false&filename=m.tf", "filename"),
        _row(
            "./a.zip?checksum=file:./SUMS",
            "file:///base/a.zip?checksum=file:file:///base/SUMS",
            "a checksum file's base",
        ),
        _row(
            "./a.zip?checksum=file:///SUMS",
            "file:///base/a.zip?checksum=file:file:///SUMS",
            "a checksum file by its URL",
        ),
        _row(
            "./a.zip?checksum=file:https://h.example/S%3Fa=b",
            "file:///base/a.zip?checksum=file:https://h.example/S%3Fa%3Db",
            "a checksum file with a query",
        ),
    ],
)
def test_the_canonical_address(source: str, canonical: str) -> None:
    address = first_party().detect(source, base="/base")
    assert str(address) == canonical
    assert first_party().detect(canonical) == address, "parse∘str is the identity"


@pytest.mark.parametrize(
    ("source", "word"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("   ", "empty", id="blanks"),
        pytest.param("git::", "no address", id="git:: alone"),
        pytest.param("git::ext::sh -c id", "one getter", id="ext, forced within git"),
        pytest.param("git:: ext::sh -c id", "no URL", id="ext after a blank"),
        pytest.param("git::EXT::sh -c id", "one getter", id="ext in capitals"),
        pytest.param("git::ext://sh -c id", "blank", id="ext as a scheme"),
        pytest.param("git::ext://sh/id", "transport", id="ext as a scheme without blanks"),
        pytest.param("git::fd://h/foo", "transport", id="fd, a kin of ext"),
        pytest.param("git::%65xt::sh -c id", "no URL", id="ext, percent-encoded"),
        pytest.param("git@ext::sh -c id", "no URL", id="ext as a host"),
        pytest.param("git::--upload-pack=x", "no URL", id="an option as repository"),
        pytest.param("--upload-pack=x", "no URL", id="an option alone"),
        pytest.param("git@-oProxyCommand=x:y", "not valid", id="an option in the scp form"),
        pytest.param("git::-oProxyCommand=x@h:y", "no URL", id="an option as user of the scp form"),
        pytest.param("ssh://-oProxyCommand=x/y", "no plugin", id="ssh without git"),
        pytest.param("git::ssh://-oProxyCommand=x/y", "not valid", id="an option as host"),
        pytest.param("https://good\\@evil/", "backslash", id="two hosts in one"),
        pytest.param("https://h:0/x", "port", id="port 0"),
        pytest.param("https://h:65536/x", "port", id="port 65536"),
        pytest.param("a\tb", "control", id="tab"),
        pytest.param("a\rb", "control", id="CR"),
        pytest.param("a\nb", "control", id="LF"),
        pytest.param("a\x00b", "control", id="NUL"),
        pytest.param("///etc", "no package", id="three slashes"),
        pytest.param("//a/../../x", "no package", id="two slashes and dots"),
        pytest.param("./a?archive=rar", "rar", id="unknown archive"),
        pytest.param("./a?archive=", "archive", id="empty archive"),
        pytest.param("./a?archive=true", "true", id="archive=true says nothing"),
        pytest.param(f"./a?checksum=sha256:{SHA256[:-1]}", "63", id="a checksum with an odd length"),
        pytest.param(f"./a?checksum={SHA256[:-1]}", "63", id="a bare checksum with an odd length"),
        pytest.param("./a?checksum=", "checksum", id="an empty checksum"),
        pytest.param("./a?checksum=crc32:00000000", "crc32", id="unknown algorithm"),
        pytest.param(f"./a?checksum=sha256:{SHA256.upper()}", "lower-case", id="a checksum in capitals"),
        pytest.param("./a?checksum=file:", "names no file", id="a checksum file without a name"),
        pytest.param("./a?checksum=file:./b//c", "subdirectory", id="a checksum file with a subdirectory"),
        pytest.param("./a?checksum=file:x/y", "no path", id="a checksum file that is no address"),
        pytest.param("./a" + "?checksum=file:./b" * 500, "checksum file", id="checksum files of checksum files"),
        pytest.param("./a?checksum=file:./b%3Farchive=zip", "checksum file", id="a checksum file to unpack"),
        pytest.param("./a?filename=a/b", "filename", id="a file name with a slash"),
        pytest.param("./a?filename=..", "filename", id="a file name of dots"),
        pytest.param("./a?filename=%2e%2e%2fx", "filename", id="a file name that leads out, encoded"),
        pytest.param("./a?filename=a%5Cb", "filename", id="a file name with a backslash"),
        pytest.param("./a?filename=", "filename", id="an empty file name"),
        pytest.param("./a?filename=x&archive=zip", "single file", id="a single file that is an archive"),
        pytest.param("./a?ref=v1", "no argument 'ref'", id="an argument that the getter does not know"),
        pytest.param(f"git::https://h/r?checksum=sha256:{SHA256}", "no meaning", id="checksum for git"),
        pytest.param("git::https://h/r?archive=zip", "no meaning", id="archive for git"),
        pytest.param("git::https://h/r?filename=x", "no meaning", id="filename for git"),
        pytest.param("git::https://h/r?tag=v1", "no argument 'tag'", id="an oci argument for git"),
        pytest.param("oci-layout::./x?archive=zip", "no meaning", id="archive for oci-layout"),
        pytest.param(f"oci://h/r?checksum=sha256:{SHA256}", "no meaning", id="checksum for oci"),
        pytest.param("foo/bar", "no path", id="a bare name"),
        pytest.param("host.example/x", "no URL", id="a host without a scheme"),
        pytest.param("~/x", "~", id="a home directory"),
        pytest.param("namespace/name/system", "no path", id="a registry address"),
        pytest.param(".hidden/x", "no path", id="a hidden directory without ./"),
        pytest.param("user@h.example:p", "no URL", id="any user without git::"),
        pytest.param("oci://", "no registry", id="oci without anything"),
        pytest.param("oci://h", "no repository", id="oci without a repository"),
        pytest.param("oci://h/Repo", "not a repository", id="capitals in a repository"),
        pytest.param("oci://h/r?digest=sha256:abc", "digits", id="a short digest"),
        pytest.param("oci://u@h/r", "user name", id="userinfo for oci"),
        pytest.param("oci://h/r#x", "fragment", id="fragment for oci"),
        pytest.param("oci://h/r//s#x", "fragment", id="fragment after an oci subdirectory"),
        pytest.param("oci://h/r?tag=x#y", "fragment", id="fragment after an oci tag"),
        pytest.param("./a\\b", "backslash", id="a backslash in a path"),
        pytest.param("file:///?x", "no argument", id="an argument of file"),
        pytest.param("..//sub", "root", id="the root directory and a subdirectory"),
        pytest.param("x" * 100_000, "characters", id="100 kB"),
        pytest.param("https://h/" + "a" * 100_000, "characters", id="100 kB of a URL"),
        pytest.param("?a=" * 33_000, "characters", id="100 kB of arguments"),
    ],
)
def test_what_is_refused_before_anybody_is_asked(source: str, word: str) -> None:
    with pytest.raises(AddressError) as caught:
        first_party().detect(source, base="/base")
    assert caught.value.code in ("address", "unknown-scheme")
    assert word in caught.value.message
    assert words_of(caught.value).replace("\n", "").isprintable()
    assert len(words_of(caught.value)) < 3_000


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        pytest.param("foo/bar", "./foo/bar", id="a bare name"),
        pytest.param("a/b/c", "registry", id="a registry address"),
        pytest.param("host.example/x", "https://host.example/x", id="a host"),
        pytest.param("oci:/h/r", "oci://h/r", id="one slash"),
        pytest.param("file:/etc", "file:///etc", id="a file URL with one slash"),
        pytest.param("oci-layout:./x", "write oci-layout::./x", id="a path with one colon"),
        pytest.param("git:../x", "write git::../x", id="a path above with one colon"),
        pytest.param("file://C:/x", "file:///C:/x", id="a drive for a host"),
        pytest.param("https://h:0/x", "behind the host", id="no port"),
        pytest.param("https://host.example:/x", "behind the host", id="a colon and no port"),
        pytest.param("https://u:pa/ss@h/x", "%2F", id="a slash in a password"),
        pytest.param("./a?checksum=crc32:D41d", "write checksum=sha256:HEX", id="a checksum of no use"),
        pytest.param("./a?checksum=sha256:D41d", "with 64", id="a checksum that is too short"),
        pytest.param(f"./a?checksum=md5:{'AB' * 16}", f"write {'ab' * 16}", id="a checksum in capitals"),
        pytest.param("oci://h/r:1.0", "oci://h/r?tag=1.0", id="a tag in Docker's form"),
        pytest.param("nosuch::https://x", "entry point in the group getmodules", id="a scheme of no plugin"),
        pytest.param("example://x", "the plugin getmodules-example", id="the scheme of the example"),
        pytest.param("htps://x/y", "did you mean http", id="a misspelt scheme"),
        pytest.param("./a?archive=rar", "tar.gz", id="the known archives"),
        pytest.param("https://h/a?checksum=SHA", "sha256:HEX", id="what a checksum looks like"),
        pytest.param("oci://h/r?tag=1.0+b", "'_'", id="a plus in a tag"),
        pytest.param("", "is a variable not set", id="nothing"),
        pytest.param("./a?archive=zip&archive=tar", "leave one out", id="an argument twice"),
        pytest.param("git::https://h/x?archive=zip", "arguments: depth, ref, sshkey", id="what git has no use for"),
        pytest.param(f"oci://h/r?checksum={'0' * 64}", "arguments: digest, tag", id="what oci has no use for"),
        pytest.param("file::https://h/x", "leave file:: out", id="a web address as file"),
        pytest.param("https::ftp://h/x", "leave https:: out", id="another protocol by http"),
        pytest.param("git::https://h", "git::https://HOST/PATH", id="no repository"),
        pytest.param("git::https://h/x?sshkey=YQ==", "git::ssh://", id="a key for another transport"),
        pytest.param("oci://h/r?digest=sha256:AB", "64 lower-case digits", id="what a digest looks like"),
    ],
)
def test_a_hint_says_what_to_write(source: str, hint: str) -> None:
    with pytest.raises(AddressError) as caught:
        first_party().detect(source, base="/base")
    assert hint in (caught.value.hint or "")


def test_without_the_detector_of_paths_a_path_is_none() -> None:
    client = Client(environ={"GETMODULES_PLUGINS": ""}, without_plugins=["file"])
    error = refusal(AddressError, "address", client.detect, "./x", base="/base")
    assert "switched off" in (error.hint or "")


def test_an_unknown_scheme_is_an_error_of_its_own() -> None:
    for source in ("nosuch://h/x", "nosuch::x", "nosuch:x", "ext::sh -c id"):
        refusal(UnknownSchemeError, "unknown-scheme", first_party().detect, source)


@pytest.mark.parametrize("base", [None, ""], ids=["none", "empty"])
@pytest.mark.parametrize("source", [".", "./x", "../x", "./a?checksum=file:./b", "/a?checksum=file:./b"])
def test_a_relative_source_needs_a_base(source: str, base: str | None) -> None:
    assert "relative" in refusal(AddressError, "address", first_party().detect, source, base=base).message


def test_a_base_is_absolute_and_the_working_directory_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "absolute" in refusal(AddressError, "address", first_party().detect, "./x", base="here").message
    assert str(first_party().detect("./x", base=Path("/there"))) == "file:///there/x"


@pytest.mark.skipif(os.name == "nt", reason="file names are bytes on POSIX only")
def test_a_path_that_is_not_utf_8_reaches_its_directory() -> None:
    address = first_party().detect("./x", base="/a\udcff")
    assert address.package.url == "file:///a%FF/x"


def test_the_parts_of_an_address() -> None:
    address = getmodules.detect("github.com/o/r//sub?ref=v1&depth=1")
    assert (address.package.getter, address.package.url) == ("git", "https://github.com/o/r.git")
    assert dict(address.package.arguments) == {"ref": "v1", "depth": "1"}
    assert address.subdir == "sub"
    assert str(address.package) == "git::https://github.com/o/r.git?ref=v1&depth=1"


def test_the_steps_of_the_chain_are_told() -> None:
    steps = first_party().explain("github.com/o/r/sub//more?ref=v1").steps
    assert [(step.detector, step.address) for step in steps] == [("github", "git::https://github.com/o/r.git//sub")]
    assert first_party().explain("https://h/x").steps == ()


# ---------------------------------------------------------------------------------------------- stacking


class _Rewrites:
    """A detector that follows a table."""

    def __init__(self, table: dict[str, str], name: str = "table") -> None:
        self.name = name
        self._table = table
        self.asked: list[Shorthand] = []

    def detect(self, shorthand: Shorthand) -> str | None:
        self.asked.append(shorthand)
        return self._table.get(shorthand.body)


class _Rewriter:
    def __init__(self, *detectors: _Rewrites) -> None:
        self._detectors = detectors

    @hookimpl
    def getmodules_detectors(self) -> Iterable[_Rewrites]:
        return self._detectors


def _with(*detectors: _Rewrites) -> Client:
    return Client(environ=NO_STRANGERS, plugins=[_Rewriter(*detectors)])


def test_what_a_detector_gives_goes_round_again() -> None:
    client = _with(_Rewrites({"acme:vpc": "lib:acme/vpc//net?depth=1", "lib:acme/vpc": "github.com/acme/vpc/modules"}))
    detected = client.explain("acme:vpc//a?ref=v1")
    assert str(detected.address) == "git::https://github.com/acme/vpc.git//modules/net/a?depth=1&ref=v1"
    assert [step.detector for step in detected.steps] == ["table", "table", "github"]


def test_a_detector_sees_the_force_and_the_base_but_neither_query_nor_subdirectory() -> None:
    rewrites = _Rewrites({"acme:vpc": "./x"})
    assert str(_with(rewrites).detect("git::acme:vpc//sub?ref=v1", base="/b")) == "git::file:///b/x//sub?ref=v1"
    assert rewrites.asked[0] == Shorthand("acme:vpc", "git", "/b")


def test_the_users_force_beats_the_detectors() -> None:
    client = _with(_Rewrites({"acme:vpc": "file::/x"}))
    assert str(client.detect("git::acme:vpc")) == "git::file:///x"
    assert str(client.detect("acme:vpc")) == "file::file:///x"


def test_a_plugin_adds_shorthand_and_takes_none_over() -> None:
    client = _with(_Rewrites({"github.com/o/r": "/evil", "./x": "/instead"}))
    assert str(client.detect("github.com/o/r")) == "git::https://github.com/o/r.git"
    assert str(client.detect("./x", base="/b")) == "file:///instead", "paths come last"


@pytest.mark.parametrize(
    "table",
    [
        pytest.param({"a:": "a:"}, id="itself"),
        pytest.param({"a:": "b:", "b:": "a:"}, id="a ring of two"),
        pytest.param({"a:" * n: "a:" * (n + 1) for n in range(1, 20)}, id="longer and longer"),
    ],
)
def test_detectors_that_go_round_in_circles(table: dict[str, str]) -> None:
    error = refusal(AddressError, "address", _with(_Rewrites(table)).detect, "a:")
    assert "circles" in error.message
    assert "this program" in error.message


def test_eight_rounds_are_allowed() -> None:
    table = {f"r{n}": f"r{n + 1}" for n in range(MAX_ROUNDS)} | {f"r{MAX_ROUNDS - 1}": "https://h/x"}
    client = _with(_Rewrites(table))
    assert len(client.explain("r0").steps) == MAX_ROUNDS
    table[f"r{MAX_ROUNDS - 1}"], table[f"r{MAX_ROUNDS}"] = f"r{MAX_ROUNDS}", "https://h/x"
    refusal(AddressError, "address", client.detect, "r0")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        pytest.param("", "address", id="empty"),
        pytest.param("https://h/\x1b[2J", "address", id="an escape sequence"),
        pytest.param("https://h/x//..", "address", id="leads out"),
        pytest.param("nosuch://h/x", "unknown-scheme", id="an unknown scheme"),
        pytest.param("https://h/x?a=1&a=2", "address", id="an argument twice"),
        pytest.param("https://u:s3cr3t@h:99999/x", "address", id="a bad port, and a password"),
    ],
)
def test_what_is_wrong_with_a_detectors_result_names_its_plugin(given: str, code: str) -> None:
    with pytest.raises(AddressError) as caught:
        _with(_Rewrites({"acme:vpc": given})).detect("acme:vpc")
    assert caught.value.code == code
    assert "_Rewriter" in caught.value.message
    assert "this program" in caught.value.message
    assert "s3cr3t" not in words_of(caught.value)


def test_an_argument_that_is_typed_and_detected_is_there_twice() -> None:
    client = _with(_Rewrites({"acme:vpc": "https://h/x?a=1"}))
    assert "twice" in refusal(AddressError, "address", client.detect, "acme:vpc?a=2").message


# ---------------------------------------------------------------------------------------------- elsewhere


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("./x", id="a relative path"),
        pytest.param("../../etc", id="a relative path upwards"),
        pytest.param("nosuch://x", id="an unknown scheme"),
        pytest.param("https://h/\r\nX: y", id="control characters"),
        pytest.param("https://h/x//..", id="leads out"),
        pytest.param("", id="empty"),
    ],
)
def test_a_servers_answer_that_is_no_address_is_no_fault_of_the_user(source: str) -> None:
    error = refusal(UnsafeContentError, "unsafe-content/elsewhere", detect_elsewhere, source, first_party().catalog)
    assert words_of(error).replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("/etc", id="a path"),
        pytest.param("file:///etc", id="a file URL"),
        pytest.param("FILE:///etc", id="a file URL in capitals"),
        pytest.param("file::/etc", id="a forced path"),
        pytest.param("git::file:///srv/r.git", id="a repository by file URL"),
        pytest.param("git::/srv/r.git", id="a repository by path"),
        pytest.param("oci-layout::/srv/layout", id="an OCI layout"),
        pytest.param("C:\\x", id="a drive"),
        pytest.param("https://h/a.zip?checksum=file:/etc/passwd", id="a checksum file"),
    ],
)
def test_a_server_never_names_a_local_source(source: str) -> None:
    refusal(UnsafeContentError, "unsafe-content/local-source", detect_elsewhere, source, first_party().catalog)


def test_a_server_may_use_shorthand() -> None:
    address = detect_elsewhere("github.com/o/r//sub?ref=v1", first_party().catalog)
    assert str(address) == "git::https://github.com/o/r.git//sub?ref=v1"


# ---------------------------------------------------------------------------------------------- secrets

SECRET = "S3cr3tS3cr3t"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"https://u:{SECRET}@h/x", id="password"),
        pytest.param(f"https://{SECRET}@h/x", id="token as user"),
        pytest.param(f"HTTPS://{SECRET}@h/x", id="token as user, capitals"),
        pytest.param(f"git::https://u:{SECRET}@h/x?ref=v1", id="password for git"),
        pytest.param(f"git::ssh://git:{SECRET}@h/x", id="password for ssh"),
        pytest.param(f"git::ssh://git@h/x?sshkey={SECRET}", id="sshkey"),
        pytest.param(f"git::ssh://git@h/x?sshke%79={SECRET}", id="sshkey, encoded"),
        pytest.param(f"https://h/x?X-Amz-Signature={SECRET}&a=b", id="signature of S3"),
        pytest.param(f"https://h/x?X-Amz-Security-Token={SECRET}", id="token of S3"),
        pytest.param(f"https://h/x?sv=1&sig={SECRET}", id="signature of Azure"),
        pytest.param(f"https://h/x?private_token={SECRET}", id="token of GitLab"),
        pytest.param(f"https://h/x?a=1&%74oken={SECRET}", id="token, encoded"),
        pytest.param(f"https://h/x?passphrase={SECRET}", id="passphrase"),
        pytest.param(f"./a.zip?checksum=file:https://u:{SECRET}@h/x", id="password in the checksum file's address"),
        pytest.param(f"./a.zip?checksum=file:https%3A%2F%2Fu%3A{SECRET}%40h%2Fx", id="password in an encoded address"),
        pytest.param(
            f"./a.zip?checksum=file:https://h/x%3Ftoken%3D{SECRET}", id="token in the checksum file's address"
        ),
    ],
)
def test_a_secret_works_and_is_never_shown(source: str) -> None:
    address = first_party().detect(source, base="/b")
    assert SECRET in str(address), "it works"
    assert SECRET not in address.display()
    assert SECRET not in address.package.display()
    assert "****" in address.display()
    assert first_party().detect(str(address)) == address


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"https://u:{SECRET}@h:99999/x", id="bad port"),
        pytest.param(f"https://u:{SECRET}@h/x//..", id="bad subdirectory"),
        pytest.param(f"https://u:{SECRET}@h/%zz", id="bad escape"),
        pytest.param(f"https://u:{SECRET}@h/a\nb", id="line feed"),
        pytest.param(f"https://u:a/{SECRET}@h/x", id="a slash in the password"),
        pytest.param(f"https://u:{SECRET}/a@h/x", id="a slash after most of the password"),
        pytest.param(f"https://u:a {SECRET}@h/x", id="a blank in the password"),
        pytest.param(f"https://u:a?{SECRET}@h/x", id="a question mark in the password"),
        pytest.param(f"https://u:a#{SECRET}@h/x", id="a # in the password"),
        pytest.param(f"https://u:a@{SECRET}@h/x", id="an @ in the password"),
        pytest.param(f"https://u:%zz{SECRET}@h/x", id="a bad escape in the password"),
        pytest.param(f"https://-{SECRET}@h/x", id="a token that looks like an option"),
        pytest.param(f"https:/u:{SECRET}@h/x", id="one slash"),
        pytest.param(f"https:u:{SECRET}@h/x", id="no slash"),
        pytest.param(f"u:{SECRET}@h:p", id="the scp form with a password"),
        pytest.param(f"git::u:{SECRET}@h:p", id="the scp form with a password, forced"),
        pytest.param(f"nosuch://u:{SECRET}@h/x", id="unknown scheme"),
        pytest.param(f"nosuch://{SECRET}@h/x", id="unknown scheme, token as user"),
        pytest.param(f"oci://u:{SECRET}@h/x", id="userinfo for oci"),
        pytest.param(f"oci://{SECRET}@h/x", id="a token for oci"),
        pytest.param(f"git::ssh://git@h/x?sshkey={SECRET}!", id="sshkey that is not base64"),
        pytest.param(f"git::ssh://git@h/x?sshkey={SECRET}é", id="sshkey beyond ASCII"),
        pytest.param(f"git::ssh://git@h/x?sshkey=AAAA\n{SECRET}", id="sshkey with its line ends"),
        pytest.param(f"git::ssh://git@h/x?sshkey=AAAA {SECRET}", id="sshkey with blanks"),
        pytest.param(f"git::ssh://git@h/x?sshkey=AAAA#{SECRET}", id="sshkey with a fragment"),
        pytest.param(f"git::ssh://git@h/x?sshkey=AAAA;{SECRET}", id="sshkey with a semicolon"),
        pytest.param(f"git::https://h/x?sshkey={SECRET}", id="sshkey for https"),
        pytest.param(f"https://h/x?a=1;token={SECRET}", id="token after a semicolon"),
        pytest.param(f"https://h/x?token={SECRET}&token={SECRET}", id="token twice"),
        pytest.param(f"./x?token={SECRET}", id="a token for file"),
        pytest.param(f"oci://h/x?token={SECRET}", id="a token for oci, as argument"),
        pytest.param(f"git::https://h/x?ref=-x&token={SECRET}", id="a token beside a bad ref"),
        pytest.param(f"./a?checksum=file:nosuch://u:{SECRET}@h/x", id="a checksum file of an unknown scheme"),
        pytest.param(f"./a?checksum=file:https://u:{SECRET}@h/x//y", id="a checksum file with a subdirectory"),
        pytest.param(f"https://u:{SECRET}@h/{'a' * 20_000}", id="too long"),
        pytest.param(f"::https://u:{SECRET}@h/x", id="no force"),
        pytest.param(f" https://u:{SECRET}@h/x", id="a blank in front"),
        pytest.param(f"git::git::https://u:{SECRET}@h/x", id="two forces"),
    ],
)
def test_an_error_never_shows_a_secret(source: str) -> None:
    with pytest.raises(GetModulesError) as caught:
        first_party().detect(source, base="/b")
    error = caught.value
    assert isinstance(error, AddressError)
    assert SECRET not in words_of(error)
    assert SECRET not in json.dumps(error.as_json())
    assert SECRET not in repr(error)


def test_no_repr_of_an_address_shows_a_secret() -> None:
    """Logs and assertions show values that way."""
    address = first_party().detect(f"https://u:{SECRET}@h/x.zip?token={SECRET}&keep=1")
    package = address.package
    for value in (address, package, package.arguments, [*package.arguments.items_typed], check_url(package.url)):
        assert SECRET not in repr(value)
    assert "keep=1" in repr(package)
    assert SECRET in str(address)
