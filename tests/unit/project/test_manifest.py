"""``getmodules.toml``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from getmodules import ConfigError
from getmodules.project import manifest as subject
from tests.support.checkout import DOCS
from tests.support.refusals import refusal, words_of

PATH = Path("/p/getmodules.toml")
SCHEMA = DOCS / "reference" / "getmodules.schema.json"


def _parse(text: str) -> subject.Manifest:
    return subject.parse_manifest(text, PATH)


FULL = """
[defaults]
dest = "vendor"
registry = "registry.acme.example"

[modules.vpc]
source = "oci://ghcr.io/acme/vpc//net"
version = "~> 1.2"
dest = "infra/vpc"
expect = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

[modules.net]
source = "./net"

[hosts."registry.acme.example:5000"]
plain_http = true
token_variable = "GETMODULES_ACME_TOKEN_registry_acme_example_5000"

[mirrors]
"oci://ghcr.io" = "oci://mirror.acme.example/ghcr"
"""


def test_all_that_a_manifest_may_say() -> None:
    manifest = _parse(FULL)
    assert manifest.modules == {
        "vpc": subject.ModuleEntry(
            name="vpc",
            source="oci://ghcr.io/acme/vpc//net",
            version="~> 1.2",
            dest="infra/vpc",
            expect="h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        ),
        "net": subject.ModuleEntry(name="net", source="./net", dest="vendor/net"),
    }
    assert manifest.registry == "registry.acme.example"
    (host,) = manifest.host_settings.hosts
    assert (host.name, host.plain_http) == ("registry.acme.example:5000", True)
    assert host.token_variable == "GETMODULES_ACME_TOKEN_registry_acme_example_5000"
    assert manifest.host_settings.mirrors == {"oci://ghcr.io": "oci://mirror.acme.example/ghcr"}


def test_an_empty_one() -> None:
    assert _parse("") == subject.Manifest()
    assert not _parse("").host_settings


def test_where_modules_go_by_default() -> None:
    assert _parse('[modules.vpc]\nsource = "./x"').modules["vpc"].dest == "modules/vpc"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        pytest.param("[module.vpc]", "there is no key 'module' here", "did you mean modules?", id="a table"),
        pytest.param(
            '[modules.vpc]\nsorce = "./x"', "[modules.vpc]: there is no key 'sorce'", "did you mean source?", id="a key"
        ),
        pytest.param(
            '[defaults]\ndst = "x"', "[defaults]: there is no key 'dst'", "did you mean dest?", id="a default"
        ),
        pytest.param("[modules.vpc]", "[modules.vpc]: there is no source", "every module has a source", id="no source"),
        pytest.param("[modules]\nvpc = 1", "vpc is not a table: write [modules.vpc]", None, id="no table"),
        pytest.param('[modules."a b"]\nsource = "./x"', "'a b' is no name for a module", "letters", id="a name"),
        pytest.param("[modules.vpc]\nsource = 1", "[modules.vpc]: source is not a string", None, id="no string"),
        pytest.param('[modules.vpc]\nsource = "a::b::c"', "source: 'a::b::c' is no address", None, id="no address"),
        pytest.param(
            '[modules.vpc]\nsource = "./x"\nversion = "1.*"', "version: the version constraint", "leave", id="a version"
        ),
        pytest.param(
            '[modules.vpc]\nsource = "./x"\nexpect = "md5:abc"', "expect: the expected value", "sha256", id="an expect"
        ),
        pytest.param(
            '[modules.vpc]\nsource = "./x"\ndest = "../x"', "dest: '../x' does not lie", "modules/vpc", id="dest"
        ),
        pytest.param(
            '[modules.con]\nsource = "./x"', "[modules.con]: there is no dest, and 'con'", "dest", id="a device"
        ),
        pytest.param('[defaults]\nregistry = "https://h"', "registry: 'https://h'", "HOST", id="a registry"),
        pytest.param('[mirrors]\n"oci://a" = "https://b"', "[mirrors]: 'https://b' cannot", "scheme", id="a mirror"),
        pytest.param("[mirrors]\na = 1", "[mirrors]: a is not a string", None, id="a mirror that is no string"),
        pytest.param('[modules.vpc]\nsource = "./x"\nsource = "./y"\n', "line 3", "TOML", id="a key twice"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str, hint: str | None) -> None:
    error = refusal(ConfigError, "config", _parse, text)
    assert error.message.startswith("getmodules.toml")
    assert message in error.message
    assert error.exit_code == 2
    if hint:
        assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("dests", "relation"),
    [
        pytest.param(("a", "a"), "are the same", id="equal"),
        pytest.param(("a", "a/b"), "lie one in the other", id="nested"),
        pytest.param(("A", "a"), "are the same", id="equal on some systems"),
    ],
)
def test_destinations_that_collide(dests: tuple[str, str], relation: str) -> None:
    text = "".join(f'[modules.m{n}]\nsource = "./x"\ndest = "{dest}"\n' for n, dest in enumerate(dests))
    error = refusal(ConfigError, "config", _parse, text)
    assert f"[modules.m0] and [modules.m1] {relation}" in error.message


def test_a_secret_is_an_error_and_not_shown() -> None:
    error = refusal(ConfigError, "config", _parse, '[modules.vpc]\nsource = "https://u:hunter22@h/x.zip"')
    assert "[modules.vpc]: source: there is a secret" in error.message
    assert "hunter22" not in words_of(error)


def test_reading_it(tmp_path: Path) -> None:
    error = refusal(ConfigError, "config", subject.read_manifest, tmp_path / "getmodules.toml")
    assert "getmodules add" in (error.typed_hint or "")
    (tmp_path / "getmodules.toml").write_text(FULL)
    assert set(subject.read_manifest(tmp_path / "getmodules.toml").modules) == {"vpc", "net"}


def test_reading_it_again(tmp_path: Path) -> None:
    read, path = subject.reader(), tmp_path / "getmodules.toml"
    path.write_text(FULL)
    before = read(path)
    assert read(path) is before
    path.write_text("")
    assert read(path).modules == {}


def test_the_place(tmp_path: Path) -> None:
    for given in (tmp_path, tmp_path / "getmodules.toml"):
        files = subject.ProjectFiles.from_path(given)
        assert (files.manifest, files.directory) == (tmp_path / "getmodules.toml", tmp_path)
        assert files.lock == tmp_path / "getmodules.lock"
    assert subject.ProjectFiles.from_path(tmp_path / "new", directory=True).manifest == tmp_path / "new/getmodules.toml"
    assert subject.ProjectFiles.from_path(tmp_path / "other.toml").lock == tmp_path / "getmodules.lock"
    for name in ("getmodules.lock", "GetModules.lock"):
        refusal(ConfigError, "config", subject.ProjectFiles.from_path, tmp_path / name)


# ------------------------------------------------------------------------------------------------ the schema


def _schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return loaded


TABLES = {
    "": ((), "{key} = 1"),
    "defaults": (("properties", "defaults"), "[defaults]\n{key} = 1"),
    "modules": (("properties", "modules", "additionalProperties"), "[modules.vpc]\n{key} = 1"),
    "hosts": (("properties", "hosts", "additionalProperties"), '[hosts."h"]\n{key} = 1'),
    "policy": (("properties", "policy"), "[policy]\n{key} = 1"),
}


@pytest.mark.parametrize("table", TABLES)
def test_the_schema_knows_the_keys_that_the_parser_knows(table: str) -> None:
    """An unknown key is told the known ones: those are the schema's, and the schema allows no others."""
    steps, text = TABLES[table]
    described = _schema()
    for step in steps:
        described = described[step]
    assert described["additionalProperties"] is False
    for key in described["properties"]:
        # A number is right for none of them, so each key that is known is refused for its value.
        error = refusal(ConfigError, "config", _parse, text.format(key=key))
        assert "there is no key" not in error.message, key
    source = '\nsource = "./x"' if table == "modules" else ""
    error = refusal(ConfigError, "config", _parse, text.format(key="0123456789") + source)
    assert set((error.hint or "").removeprefix("known: ").split(", ")) == set(described["properties"])


def test_the_schema_wants_what_the_parser_wants() -> None:
    assert _schema()["properties"]["modules"]["additionalProperties"]["required"] == ["source"]


def test_the_schema_and_the_parser_have_one_rule_for_names() -> None:
    from getmodules.project import names

    pattern = _schema()["properties"]["modules"]["propertyNames"]["pattern"]
    assert pattern == f"^{names._NAME.pattern}$"
