"""What plugins offer, as tables; who is asked, and what happens where two claim a name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from getmodules import Client, PluginConflictError, UnknownSchemeError, hookimpl
from getmodules.plugins.catalog import KNOWN_DISTRIBUTIONS, PLUGINS_PAGE
from tests.support.checkout import ROOT
from tests.support.fakes import FakeGetter
from tests.support.refusals import refusal
from tests.support.sites import NO_STRANGERS, first_party


class _Format:
    def __init__(self, names: Iterable[str], suffixes: Iterable[str] = (), media_types: Iterable[str] = ()) -> None:
        self.names, self.suffixes, self.media_types = names, suffixes, media_types

    def unpack(self, archive: Any, context: Any) -> tuple[()]:
        return ()


class _Detector:
    def __init__(self, name: str) -> None:
        self.name = name

    def detect(self, shorthand: Any) -> None:
        return None


class _Sink:
    name = "fancy"

    def open(self, stream: Any) -> None:
        return None


class _Plugin:
    def __init__(self, **offers: Any) -> None:
        self.offers = offers

    @hookimpl
    def getmodules_getters(self) -> Any:
        return self.offers.get("getters", ())

    @hookimpl
    def getmodules_unpackers(self) -> Any:
        return self.offers.get("unpackers", ())

    @hookimpl
    def getmodules_detectors(self) -> Any:
        return self.offers.get("detectors", ())

    @hookimpl
    def getmodules_progress(self) -> Any:
        return self.offers.get("progress", ())


def _catalog(*plugins: _Plugin) -> Any:
    return Client(environ=NO_STRANGERS, plugins=plugins).catalog


@pytest.mark.parametrize(
    ("file_name", "format_name"),
    [
        pytest.param("a.zip", "zip", id="zip"),
        pytest.param("A.ZIP", "zip", id="capitals"),
        pytest.param("a.tar.gz", "tar.gz", id="the longest suffix"),
        pytest.param("a.b.tgz", "tar.gz", id="a short form"),
        pytest.param("a.zip.tar", "tar", id="the last one counts"),
        pytest.param("a.gz", None, id="a codec alone is no archive"),
        pytest.param("zip", None, id="a name without a dot"),
        pytest.param(".zip", None, id="nothing before the suffix"),
        pytest.param("", None, id="no name"),
    ],
)
def test_an_unpacker_by_file_name(file_name: str, format_name: str | None) -> None:
    unpacker = first_party().catalog.unpacker_for_name(file_name)
    assert (unpacker and unpacker.names[0]) == format_name


@pytest.mark.parametrize(
    ("media_type", "format_name"),
    [
        ("application/zip", "zip"),
        ("application/x-zip-compressed", "zip"),
        ("Application/ZIP; charset=binary", "zip"),
        ("application/gzip", "tar.gz"),
        ("application/x-gzip", "tar.gz"),
        ("application/x-tar", "tar"),
        ("application/x-bzip2", "tar.bz2"),
        ("application/x-xz", "tar.xz"),
        ("application/zstd", "tar.zst"),
        ("text/html", None),
        ("application/octet-stream", None),
        ("", None),
    ],
)
def test_an_unpacker_by_media_type(media_type: str, format_name: str | None) -> None:
    unpacker = first_party().catalog.unpacker_for_media_type(media_type)
    assert (unpacker and unpacker.names[0]) == format_name


def test_a_longer_suffix_of_a_plugin_wins() -> None:
    catalog = _catalog(_Plugin(unpackers=[_Format(["mod"], [".Mod.Zip"], ["Application/Mod"])]))
    assert catalog.unpacker_for_name("a.mod.zip").names == ("mod",)
    assert catalog.unpacker_for_name("a.zip").names == ("zip",)
    assert catalog.unpacker_for_media_type("application/mod").names == ("mod",)


def test_two_claims_make_a_name_unusable_and_no_other() -> None:
    catalog = _catalog(
        _Plugin(getters=[FakeGetter(schemes=("one", "both"))], unpackers=[_Format(["zip"], [".zip", ".z1"])]),
        _Plugin(getters=[FakeGetter(schemes=("two", "both"))]),
    )
    assert catalog.getter("one").schemes == ("one", "both")
    assert catalog.getter("two").schemes == ("two", "both")
    error = refusal(PluginConflictError, "plugin-conflict", catalog.getter, "both")
    assert error.message.count("this program") == 2
    assert catalog.unpacker_for_name("a.z1").names == ("zip",)
    assert catalog.unpacker_for_name("a.tgz").names == ("tar.gz", "tgz")
    refusal(PluginConflictError, "plugin-conflict", catalog.unpacker_for_name, "a.zip")
    claimed = [conflict.message.split(" is claimed")[0] for conflict in catalog.conflicts()]
    assert claimed == ["the scheme 'both'", "the archive format 'zip'", "the suffix '.zip'"]


def test_strangers_detect_after_forges_and_before_paths() -> None:
    names = [d.name for d in _catalog(_Plugin(detectors=[_Detector("a"), _Detector("b")])).detectors]
    assert names == ["github", "gitlab", "bitbucket", "git", "registry", "a", "b", "file"]


def test_a_stranger_named_file_is_no_path_detector() -> None:
    names = [(d.name, d.plugin.first_party) for d in _catalog(_Plugin(detectors=[_Detector("file")])).detectors]
    assert names[-2:] == [("file", False), ("file", True)]


def test_progress_by_name() -> None:
    assert "fancy" in _catalog(_Plugin(progress=[_Sink()])).progress
    assert "fancy" not in first_party().catalog.progress


@pytest.mark.parametrize(
    ("scheme", "hint"),
    [
        ("nosuch", "distributions with an entry point in the group getmodules"),
        ("example", "that is for the plugin getmodules-example: docs/reference/plugins.rst in the source"),
        ("htp", "did you mean http?"),
        ("ssh", "git::ssh://"),
        ("nothing-like-it", "known schemes: file, git, http, https, oci, oci-layout"),
    ],
)
def test_an_unknown_scheme_says_what_to_do(scheme: str, hint: str) -> None:
    error = refusal(UnknownSchemeError, "unknown-scheme", first_party().catalog.getter, scheme)
    assert hint in (error.hint or "")


@pytest.mark.parametrize(("scheme", "distribution"), KNOWN_DISTRIBUTIONS.items())
def test_the_hint_at_a_plugin_of_ours_is_the_page_that_says_where_it_is(scheme: str, distribution: str) -> None:
    """One hint, and no command: a name that is not published is anybody's to take in a package index."""
    error = refusal(UnknownSchemeError, "unknown-scheme", first_party().catalog.getter, scheme)
    assert error.hint == (
        f"that is for the plugin {distribution}: "
        "docs/reference/plugins.rst in the source of getmodules says where it is"
    )
    page = (ROOT / PLUGINS_PAGE).read_text()
    row = page[page.index(f"* - ``{distribution}``") :].partition("* - ``")[2]
    assert f"``{scheme}``" in row.partition("   * - ``")[0]
    published = (ROOT / "plugins" / distribution / "setup.cfg").is_file()
    assert ("not published" in row.partition("   * - ``")[0]) is not published


def test_a_plugin_that_is_there_and_does_not_load_is_named_beside_it() -> None:
    broken = _Plugin(getters=[FakeGetter(schemes=("Bad one",))])
    hint = _catalog(broken).unknown_scheme("s3").hint or ""
    assert "getmodules-objectstore" in hint
    assert "a plugin did not load: " in hint


def test_an_offer_that_breaks_its_port_takes_its_plugin_along() -> None:
    catalog = _catalog(_Plugin(getters=[FakeGetter(schemes=("good",)), FakeGetter(schemes=("Bad one",))]))
    assert "good" not in catalog.getters
    (error,) = (plugin.error for plugin in catalog.plugins if plugin.error)
    assert error.code == "plugin-contract"
