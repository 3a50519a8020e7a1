"""Plugins that are wrong or hostile: each is an error that names its distribution and breaks nothing else."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from getmodules import (
    Client,
    ConfigError,
    ContentError,
    GetModulesError,
    LimitExceededError,
    Limits,
    NetworkError,
    PluginConflictError,
    PluginContractError,
    PluginError,
    PluginLoadError,
    UnknownSchemeError,
    UnsafeContentError,
    hookimpl,
)
from getmodules.api import hookspecs
from getmodules.plugins.catalog import build
from getmodules.plugins.loader import REQUIRED, Plugin, PluginSelection, attributed, load
from tests.support.fakes import FakeGetter, client_with, members_of
from tests.support.refusals import refusal, words_of
from tests.support.sites import NO_STRANGERS, Site, a_site
from tests.support.snapshots import snapshot

WHO = "acme-plugin 1.0"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with a_site(tmp_path / "site") as site:
        yield site


def _plugin(client: Client, name: str = "acme-plugin") -> Plugin:
    return next(plugin for plugin in client.catalog.plugins if plugin.name == name)


def _still_works(client: Client, tmp_path: Path) -> None:
    """Another scheme, with the same client."""
    source = tmp_path / "a directory"
    source.mkdir()
    (source / "main.tf").write_bytes(b"# main\n")
    client.get(str(source), tmp_path / "copy")
    assert (tmp_path / "copy" / "main.tf").read_bytes() == b"# main\n"


def _fails_to_get(client: Client, tmp_path: Path, source: str = "acme://x") -> GetModulesError:
    """The error of ``get``, which left the destination and its parent as they were."""
    parent = tmp_path / "parent"
    (parent / "dest").mkdir(parents=True)
    (parent / "other").write_text("mine")
    before = snapshot(parent)
    with pytest.raises(GetModulesError) as caught:
        client.get(source, parent / "dest")
    assert snapshot(parent) == before
    assert words_of(caught.value).replace("\n", "").isprintable()
    return caught.value


# ------------------------------------------------------------------------------- what cannot be loaded

A_GETTER = """
class Getter:
    schemes = ("acme",)
    def fetch(self, pin, wants, context):
        return Members(())
"""
A_HOOK = """
@hookimpl
def getmodules_getters():
    return (Getter(),)
"""


@pytest.mark.parametrize(
    ("source", "kind", "word"),
    [
        pytest.param("import there_is_no_such_module", PluginLoadError, "there_is_no_such_module", id="missing import"),
        pytest.param("def broken(:", PluginLoadError, "SyntaxError", id="syntax error"),
        pytest.param("raise ValueError('no')", PluginLoadError, "ValueError: no", id="raises at import"),
        pytest.param("raise SystemExit(3)", PluginLoadError, "SystemExit: 3", id="ends the program at import"),
        pytest.param(
            "class Odd(BaseException): pass\nraise Odd('odd')",
            PluginLoadError,
            "Odd: odd",
            id="BaseException at import",
        ),
        pytest.param("raise GeneratorExit", PluginLoadError, "GeneratorExit", id="GeneratorExit at import"),
        pytest.param(
            "import getmodules\nraise getmodules.FetchError('early')", PluginLoadError, "early", id="one of our errors"
        ),
        pytest.param(
            "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
            PluginLoadError,
            "Mute",
            id="an exception that cannot be shown",
        ),
        pytest.param(
            "raise ValueError('\\x1b[2J\\n')", PluginLoadError, "\\x1b[2J", id="escape sequence in what it says"
        ),
        pytest.param("raise ValueError('https://u:pw@h/')", PluginLoadError, "u:****@h", id="password in what it says"),
        pytest.param("", PluginLoadError, "implements no hook", id="no hook"),
        pytest.param(
            "@hookimpl\ndef getmodules_geters(): return ()", PluginLoadError, "getmodules_geters", id="misspelt hook"
        ),
        pytest.param("def getmodules_getters(): return ()", PluginLoadError, "not marked", id="unmarked hook"),
        pytest.param(
            "@hookimpl\ndef getmodules_getters(config): return ()",
            PluginLoadError,
            "config",
            id="unknown hook argument",
        ),
        pytest.param(
            "@hookimpl\ndef getmodules_getters(): pass", PluginContractError, "returned None", id="hook returns None"
        ),
        pytest.param(
            "@hookimpl\ndef getmodules_getters(): return 3",
            PluginContractError,
            "not iterable",
            id="hook returns a number",
        ),
        pytest.param(
            "@hookimpl\ndef getmodules_getters(): return 'acme'", PluginContractError, "has no schemes", id="a string"
        ),
        pytest.param(
            "@hookimpl\ndef getmodules_getters(): raise KeyError('k')",
            PluginContractError,
            "KeyError",
            id="hook raises",
        ),
        pytest.param(
            "@hookimpl\ndef getmodules_getters(): raise SystemExit", PluginContractError, "SystemExit", id="hook exits"
        ),
        pytest.param(
            "import getmodules\n@hookimpl\ndef getmodules_getters(): raise getmodules.NetworkError('down')",
            PluginContractError,
            "down",
            id="hook raises one of our errors",
        ),
        pytest.param(
            A_GETTER + "@hookimpl\ndef getmodules_getters():\n    yield Getter()\n    raise ValueError('halfway')",
            PluginContractError,
            "halfway",
            id="hook raises halfway",
        ),
        pytest.param(
            A_GETTER + "@hookimpl\ndef getmodules_getters():\n    while True: yield Getter()",
            PluginContractError,
            "is there an end",
            id="endless offers",
        ),
        pytest.param(
            A_GETTER + "@hookimpl\ndef getmodules_getters(): return (Getter,)",
            PluginContractError,
            "the class Getter",
            id="a class",
        ),
        pytest.param(
            "@hookimpl\ndef getmodules_getters(): return (object(),)",
            PluginContractError,
            "has no schemes, fetch",
            id="not a getter",
        ),
        pytest.param(
            "class G:\n    schemes = 'acme'\n    fetch = None\n@hookimpl\ndef getmodules_getters(): return (G(),)",
            PluginContractError,
            "tuple of strings",
            id="schemes is one string",
        ),
        pytest.param(
            "class G:\n    schemes = ('Ac me',)\n    fetch = None\n@hookimpl\ndef getmodules_getters(): return (G(),)",
            PluginContractError,
            "not a scheme",
            id="no scheme",
        ),
        pytest.param(
            "import itertools\nclass G:\n    schemes = map('s{}'.format, itertools.count())\n    fetch = None\n"
            "@hookimpl\ndef getmodules_getters(): return (G(),)",
            PluginContractError,
            "is there an end",
            id="endless schemes",
        ),
        pytest.param(
            "class G:\n    fetch = None\n    @property\n    def schemes(self): raise ValueError('later')\n"
            "@hookimpl\ndef getmodules_getters(): return (G(),)",
            PluginContractError,
            "ValueError",
            id="schemes raises",
        ),
        pytest.param(
            A_GETTER.replace("schemes", "arguments = property(lambda self: 1 / 0)\n    schemes") + A_HOOK,
            PluginContractError,
            "ZeroDivisionError",
            id="an optional attribute raises",
        ),
        pytest.param(
            A_GETTER.replace("schemes", "core_arguments = ('checksum', 'ref')\n    schemes") + A_HOOK,
            PluginContractError,
            "core_arguments can only be",
            id="unknown core arguments",
        ),
        pytest.param(
            "class D:\n    name = '\\x1b[2J'\n    detect = None\n@hookimpl\ndef getmodules_detectors(): return (D(),)",
            PluginContractError,
            "printable",
            id="control characters in a name",
        ),
        pytest.param(
            "class U:\n    names = ('x',)\n    suffixes = ('ip',)\n    media_types = ()\n    unpack = None\n"
            "@hookimpl\ndef getmodules_unpackers(): return (U(),)",
            PluginContractError,
            "dot",
            id="a suffix without a dot",
        ),
        pytest.param(
            "class V:\n    name = 'v'\n    gates = ('pin',)\n    verify = None\n"
            "@hookimpl\ndef getmodules_verifiers(): return (V(),)",
            PluginContractError,
            "Gate",
            id="a gate that is a string",
        ),
        pytest.param(
            "@hookimpl(wrapper=True)\ndef getmodules_getters():\n    yield\n    return 7",
            PluginContractError,
            "",
            id="a wrapper with a strange result",
        ),
    ],
)
def test_a_plugin_that_cannot_be_loaded(
    site: Site, tmp_path: Path, source: str, kind: type[GetModulesError], word: str
) -> None:
    site.add("acme-plugin", source)
    site.add("good-plugin", A_GETTER.replace("acme", "good") + A_HOOK)
    client = site.client()
    error = _plugin(client).error
    assert type(error) is kind
    assert WHO in error.message
    assert word in error.message
    assert words_of(error).replace("\n", "").isprintable()

    unknown = _fails_to_get(client, tmp_path)
    assert type(unknown) is UnknownSchemeError
    assert WHO in (unknown.hint or ""), "whoever misses the scheme learns why"

    assert client.detect("good://x").package.getter == "good"
    _still_works(client, tmp_path)


def test_the_users_interrupt_while_plugins_load_is_no_plugins_fault(site: Site) -> None:
    site.add("acme-plugin", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        site.client()


def test_an_entry_point_that_leads_nowhere(site: Site) -> None:
    site.describe("acme-plugin", "1.0", {"a": "there_is_no_such_module", "b": "json:no_such_attribute"})
    client = site.client()
    for name, word in (("a", "ModuleNotFoundError"), ("b", "no_such_attribute")):
        error = _plugin(client, name).error
        assert isinstance(error, PluginLoadError)
        assert word in error.message
        assert error.hint is not None
        assert error.hint.startswith("upgrade or remove acme-plugin")
        assert WHO in error.message


def test_an_entry_point_may_name_an_object(site: Site, tmp_path: Path) -> None:
    source = (
        "class Holder:\n    class Inner:\n        @hookimpl\n        def getmodules_getters(self): return (Getter(),)\n"
    )
    site.add("acme-plugin", A_GETTER + source + "Holder.it = Holder.Inner()", entries={"it": "acme_plugin:Holder.it"})
    client = site.client()
    assert client.get("acme://x", tmp_path / "dest").files == 0


def test_a_class_as_plugin_is_refused(site: Site) -> None:
    source = "class P:\n    @hookimpl\n    def getmodules_getters(self): return ()\n"
    site.add("acme-plugin", source, entries={"acme-plugin": "acme_plugin:P"})
    assert isinstance(_plugin(site.client()).error, PluginContractError)


def test_control_characters_in_names_never_reach_a_person(site: Site) -> None:
    site.describe("evil\x1b[2J", "1\x07", {"na\x1b[31mme": "no_such_module"})
    client = site.client()
    (broken,) = (plugin for plugin in client.catalog.plugins if not plugin.first_party)
    assert broken.error is not None
    for text in (broken.name, broken.distribution, broken.version, words_of(broken.error).replace("\n", "")):
        assert text.isprintable()
    assert site.client(without_plugins=[broken.name]).catalog.plugins, "the name that is shown takes it out"


def test_a_wrapper_has_no_say_about_other_plugins(site: Site, tmp_path: Path) -> None:
    site.add(
        "aaa-wrapper",
        """
        @hookimpl(wrapper=True, tryfirst=True)
        def getmodules_getters():
            yield
            return [()]

        @hookimpl(hookwrapper=True, trylast=True)
        def getmodules_detectors():
            outcome = yield
            outcome.force_result([()])
        """,
    )
    site.add("zzz-wrapper", "@hookimpl(wrapper=True)\ndef getmodules_getters():\n    yield\n    raise ValueError")
    site.add("acme-plugin", A_GETTER + A_HOOK)
    client = site.client()
    assert client.get("acme://x", tmp_path / "dest").address == "acme://x"
    assert str(client.detect("github.com/o/r")) == "git::https://github.com/o/r.git"
    _still_works(client, tmp_path)


def test_an_object_that_is_equal_to_everything_displaces_nobody(site: Site) -> None:
    source = A_GETTER.replace("acme", "{0}") + (
        "class P:\n    def __eq__(self, other): {1}\n    __hash__ = object.__hash__\n"
        "    @hookimpl\n    def getmodules_getters(self): return (Getter(),)\nit = P()\n"
    )
    site.add("aaa-plugin", source.format("aaa", "return True"), entries={"aaa": "aaa_plugin:it"})
    site.add("bbb-plugin", source.format("bbb", "raise ValueError"), entries={"bbb": "bbb_plugin:it"})
    site.add("acme-plugin", A_GETTER + A_HOOK)
    client = site.client()
    assert {"aaa", "acme"} <= set(client.catalog.getters.names)
    assert "bbb-plugin 1.0" in str(_plugin(client, "bbb").error), "pluggy compares it with itself"


def test_one_object_by_two_names_claims_its_schemes_twice(site: Site, tmp_path: Path) -> None:
    site.add("acme-plugin", A_GETTER + A_HOOK, entries={"one": "acme_plugin", "two": "acme_plugin"})
    client = site.client()
    error = _fails_to_get(client, tmp_path)
    assert type(error) is PluginConflictError
    assert "'one'" in error.message
    assert "'two'" in error.message
    assert WHO in error.message
    _still_works(client, tmp_path)


def test_a_getter_that_is_offered_twice_is_a_conflict_with_itself(site: Site, tmp_path: Path) -> None:
    site.add("acme-plugin", A_GETTER + "@hookimpl\ndef getmodules_getters(): return (Getter(), Getter())")
    error = _fails_to_get(site.client(), tmp_path)
    assert error.code == "plugin-conflict"
    assert WHO in error.message


def test_a_scheme_that_is_said_twice_is_no_conflict(site: Site) -> None:
    site.add("acme-plugin", A_GETTER.replace('("acme",)', '("acme", "acme")') + A_HOOK)
    assert str(site.client().detect("acme://x")) == "acme://x"


@pytest.mark.parametrize("scheme", ["file", "https", "git"])
def test_a_taken_scheme_is_an_error_that_names_both(site: Site, tmp_path: Path, scheme: str) -> None:
    site.add("acme-plugin", A_GETTER.replace('("acme",)', f'("acme", "{scheme}")') + A_HOOK)
    client = site.client()
    source = {"file": "file:///x", "https": "https://h/x.zip", "git": "git::https://h/x"}[scheme]
    error = _fails_to_get(client, tmp_path, source)
    assert type(error) is PluginConflictError
    assert error.code == "plugin-conflict"
    assert WHO in error.message
    assert "(getmodules " in error.message
    assert "--no-plugin acme-plugin" in (error.typed_hint or "")
    assert client.get("acme://x", tmp_path / "dest").files == 0, "its other scheme works"
    assert str(site.client(without_plugins=["acme-plugin"]).detect(source)) == source
    assert [conflict.message for conflict in client.catalog.conflicts()] == [error.message]


# ------------------------------------------------------------------------------- what goes wrong at work


def _getter(body: str, more: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return (
        f"class Getter:\n    schemes = ('acme',)\n    arguments = ('a',)\n{more}\n"
        f"    def fetch(self, pin, wants, context):\n{lines}\n"
        "@hookimpl\ndef getmodules_getters(): return (Getter(),)\n"
    )


def _method(name: str, body: str) -> str:
    return f"    def {name}(self, *arguments):\n        {body}\n"


HARMLESS = "return Members(())"
PLUGIN_FAULT = (PluginContractError, "plugin-contract")


@pytest.mark.parametrize(
    ("source", "expected", "word"),
    [
        # wrong types
        *(
            pytest.param(_getter(f"return {value}"), PLUGIN_FAULT, "fetch returned", id=f"fetch returns {value}")
            for value in ("None", "b'bytes'", "'text'", "[]", "Blob", "pin")
        ),
        pytest.param(
            _getter("return Blob(chunks=b'abc', name='a.zip')"), PLUGIN_FAULT, "yielded int", id="chunks are bytes"
        ),
        pytest.param(_getter("return Blob(chunks=None, name='a.zip')"), PLUGIN_FAULT, "not iterable", id="no chunks"),
        pytest.param(
            _getter("return Blob(chunks=('a',), name='a.zip')"), PLUGIN_FAULT, "yielded str", id="text chunks"
        ),
        pytest.param(
            _getter("return Blob(chunks=(), size=-1)"), PLUGIN_FAULT, "size is negative", id="a negative size"
        ),
        pytest.param(
            _getter("return Blob(chunks=(), size='9')"),
            PLUGIN_FAULT,
            "size is str, not int, or None",
            id="a size as text",
        ),
        pytest.param(
            _getter("return Blob(chunks=(), name=b'x')"),
            PLUGIN_FAULT,
            "name is bytes, not str, or None",
            id="a name as bytes",
        ),
        pytest.param(
            _getter("return Blob(chunks=(), digests=('x',))"),
            PLUGIN_FAULT,
            "digests is tuple of str, not tuple of Digest",
            id="digests as text",
        ),
        pytest.param(_getter("return Members(None)"), PLUGIN_FAULT, "not iterable", id="no members"),
        pytest.param(
            _getter("return Members(('main.tf',))"), PLUGIN_FAULT, "yielded str, not Member", id="members are names"
        ),
        pytest.param(
            _getter("return Members((Member(b'x'),))"), PLUGIN_FAULT, "name is bytes, not str", id="name as bytes"
        ),
        pytest.param(
            _getter("return Members((Member('x', 'file'),))"), PLUGIN_FAULT, "kind is str, not Kind", id="kind as text"
        ),
        pytest.param(
            _getter("return Members((Member('x', size=-1),))"), PLUGIN_FAULT, "size is negative", id="bad size"
        ),
        pytest.param(
            _getter("return Members((Member('x', executable=1),))"),
            PLUGIN_FAULT,
            "executable is int, not bool",
            id="executable as int",
        ),
        pytest.param(
            _getter("return Members((Member('x', open=3),))"),
            PLUGIN_FAULT,
            "open is int, not function",
            id="open is a number",
        ),
        pytest.param(
            _getter("return Members((tuple.__new__(Member, ('x',)),))"),
            PLUGIN_FAULT,
            "without all its arguments",
            id="half a member",
        ),
        pytest.param(
            _getter("return Members((Member('x', open=lambda: None),))"), PLUGIN_FAULT, "not iterable", id="no content"
        ),
        pytest.param(
            _getter("return Members((Member('x', open=lambda: ('a',)),))"),
            PLUGIN_FAULT,
            "yielded str",
            id="text content",
        ),
        pytest.param(
            _getter("return Elsewhere(address=3)"), PLUGIN_FAULT, "address is int, not str", id="elsewhere is a number"
        ),
        pytest.param(
            _getter(HARMLESS, _method("resolve", "return 'pin'")), PLUGIN_FAULT, "resolve returned", id="resolve: text"
        ),
        pytest.param(
            _getter(HARMLESS, _method("resolve", "return Pin(package=arguments[0])")),
            PLUGIN_FAULT,
            "without an id",
            id="resolve: a pin without an id",
        ),
        pytest.param(
            _getter(HARMLESS, _method("resolve", "return Pin(package=arguments[0], id='\\x1b[2J')")),
            PLUGIN_FAULT,
            "id is empty, or not printable",
            id="resolve: an escape sequence as id",
        ),
        pytest.param(
            _getter(HARMLESS, _method("resolve", "return Pin(package=None, id='1')")),
            PLUGIN_FAULT,
            "Pin whose package is NoneType, not PackageAddress",
            id="resolve: a pin of nothing",
        ),
        pytest.param(
            _getter(
                HARMLESS,
                _method("resolve", "return Pin(package=PackageAddress(getter='file', url='file:///'), id='1')"),
            ),
            PLUGIN_FAULT,
            "package.getter is 'file', which is another getter's; it is one of 'acme'",
            id="resolve: a pin of another getter's",
        ),
        pytest.param(
            _getter(
                HARMLESS, _method("resolve", "return Pin(package=PackageAddress(getter='acme', url='x y'), id='1')")
            ),
            PLUGIN_FAULT,
            "cannot be used",
            id="resolve: a pin of no URL",
        ),
        pytest.param(
            _getter(
                HARMLESS,
                _method(
                    "resolve",
                    "from dataclasses import replace; p = arguments[0];"
                    " return Pin(package=replace(p, arguments={'version': '17'}), id='1')",
                ),
            ),
            PLUGIN_FAULT,
            "package.arguments is dict of str to str, not Arguments: package.arguments.with_value(NAME, VALUE)",
            id="resolve: a pin with a dict of arguments",
        ),
        pytest.param(
            _getter(HARMLESS, _method("resolve", "return Pin(package=str(arguments[0]), id='1')")),
            PLUGIN_FAULT,
            "Pin whose package is str, not PackageAddress",
            id="resolve: a pin of text",
        ),
        pytest.param(
            _getter(HARMLESS, _method("resolve", "return Pin(package=arguments[0], id=17)")),
            PLUGIN_FAULT,
            "Pin whose id is int, not str",
            id="resolve: a number as id",
        ),
        pytest.param(
            _getter(HARMLESS, _method("demands", "return (Demand(gate=Gate.PIN, check='c', value=3, by='b'),)")),
            PLUGIN_FAULT,
            "Demand whose value is int, not str",
            id="demands: a number as value",
        ),
        pytest.param(
            _getter("return Blob(chunks=(), validator={'etag': 3})"),
            PLUGIN_FAULT,
            "Blob whose validator is dict of str to int, not dict of str to str",
            id="a validator with a number",
        ),
        pytest.param(
            _getter(HARMLESS, _method("resolve", "return Pin(package=arguments[0], id='1', digests=3)")),
            PLUGIN_FAULT,
            "digests",
            id="resolve: digests are a number",
        ),
        pytest.param(
            _getter(HARMLESS, _method("check", "return 3")),
            PLUGIN_FAULT,
            "check returned int, not PackageAddress, or None",
            id="check: a number",
        ),
        pytest.param(
            _getter(HARMLESS, _method("check", "return PackageAddress(getter='file', url='file:///')")),
            PLUGIN_FAULT,
            "package.getter is 'file'",
            id="check: another getter's package",
        ),
        pytest.param(
            _getter(HARMLESS, _method("check", "return PackageAddress(getter='acme', url=None)")),
            PLUGIN_FAULT,
            "package.url is NoneType, not str",
            id="check: no URL",
        ),
        pytest.param(
            _getter(
                HARMLESS,
                _method("check", "from dataclasses import replace; return replace(arguments[0], url='acme://x//y?z')"),
            ),
            PLUGIN_FAULT,
            "no URL",
            id="check: more than a URL",
        ),
        pytest.param(
            _getter(HARMLESS, _method("demands", "return 3")), PLUGIN_FAULT, "demands", id="demands: a number"
        ),
        pytest.param(
            _getter(HARMLESS, _method("demands", "return (3,)")),
            PLUGIN_FAULT,
            "yielded int, not Demand",
            id="demands: numbers",
        ),
        pytest.param(
            _getter(
                HARMLESS, _method("demands", "return (Demand(gate=Gate.BYTES, check='c', value='no digest', by='b'),)")
            ),
            PLUGIN_FAULT,
            "whose value is no digest",
            id="demands: no digest for bytes",
        ),
        pytest.param(
            _getter(HARMLESS, "    def demands(self, package):\n        while True: yield None\n"),
            PLUGIN_FAULT,
            "is there an end",
            id="demands: endless",
        ),
        # raising, in each call and while iterated
        *(
            pytest.param(
                _getter(HARMLESS, _method(method, "raise KeyError('k')")),
                PLUGIN_FAULT,
                "KeyError",
                id=f"{method} raises",
            )
            for method in ("check", "demands", "resolve")
        ),
        *(
            pytest.param(_getter(f"raise {error}"), PLUGIN_FAULT, f"fetch raised {name}", id=f"fetch raises {name}")
            for name, error in (
                ("OSError", "OSError(28, 'full')"),
                ("SystemExit", "SystemExit(0)"),
                ("GeneratorExit", "GeneratorExit"),
                ("StopIteration", "StopIteration"),
                ("RecursionError", "RecursionError('deep')"),
                ("MemoryError", "MemoryError"),
                ("Odd", "type('Odd', (BaseException,), {})('odd')"),
            )
        ),
        pytest.param(
            _getter(HARMLESS, "    resolve = property(lambda self: 1 / 0)\n"),
            PLUGIN_FAULT,
            "ZeroDivisionError",
            id="an optional method that raises when it is looked up",
        ),
        pytest.param(
            _getter(
                "def chunks():\n    yield b'PK'\n    raise OSError('reset')\nreturn Blob(chunks=chunks(), name='a.zip')"
            ),
            PLUGIN_FAULT,
            "OSError: reset",
            id="chunks raise halfway",
        ),
        pytest.param(
            _getter("def chunks():\n    yield b'PK'\n    raise SystemExit\nreturn Blob(chunks=chunks(), name='a.zip')"),
            PLUGIN_FAULT,
            "SystemExit",
            id="chunks exit halfway",
        ),
        pytest.param(
            _getter("def items():\n    yield Member('a')\n    raise ValueError('half')\nreturn Members(items())"),
            PLUGIN_FAULT,
            "ValueError: half",
            id="members raise halfway",
        ),
        pytest.param(
            _getter(
                "def data():\n    yield b'x'\n    raise ValueError('half')\nreturn Members((Member('a', open=data),))"
            ),
            PLUGIN_FAULT,
            "ValueError: half",
            id="content raises halfway",
        ),
        pytest.param(
            _getter("def data():\n    raise ValueError('shut')\nreturn Members((Member('a', open=data),))"),
            PLUGIN_FAULT,
            "ValueError: shut",
            id="open raises",
        ),
        pytest.param(
            _getter(
                "class Items(list):\n    def close(self): raise ValueError('stuck')\n"
                "return Members(Items((Member('a'),)))"
            ),
            PLUGIN_FAULT,
            "closing raised ValueError: stuck",
            id="close of members raises",
        ),
        pytest.param(
            _getter(
                "class Chunks(list):\n    def close(self): raise SystemExit\n"
                "return Blob(chunks=Chunks([b'x']), name='a.zip')"
            ),
            PLUGIN_FAULT,
            "closing raised SystemExit",
            id="close of chunks raises",
        ),
        pytest.param(
            _getter("class Items:\n    def __iter__(self): raise ValueError('no')\nreturn Members(Items())"),
            PLUGIN_FAULT,
            "ValueError: no",
            id="iter raises",
        ),
        pytest.param(
            _getter("raise OSError('https://u:S3cr3t@h/?token=S3cr3t \\x1b[2J')"),
            PLUGIN_FAULT,
            "u:****@h",
            id="what it says has secrets and escape sequences",
        ),
        # members that leave, special files, more bytes than said
        *(
            pytest.param(
                _getter(f"return Members((Member({name!r}, open=lambda: (b'x',)),))"),
                (UnsafeContentError, f"unsafe-content/{part}"),
                "",
                id=f"a member named {name!r}",
            )
            for name, part in (
                ("../x", "parent-path"),
                ("a/../../x", "parent-path"),
                ("/etc/x", "absolute-path"),
                ("C:/x", "absolute-path"),
                ("a\\..\\x", "bad-name"),
                ("a\x00b", "bad-name"),
                ("", "bad-name"),
            )
        ),
        *(
            pytest.param(
                _getter(f"return Members((Member('l', Kind.SYMLINK, target={target!r}),))"),
                (UnsafeContentError, "unsafe-content/link-escapes"),
                "",
                id=f"a link to {target}",
            )
            for target in ("../x", "/etc/passwd")
        ),
        pytest.param(
            _getter("return Members((Member('d', Kind.SYMLINK, target='..'), Member('d/x')))"),
            (UnsafeContentError, "unsafe-content/file-and-directory"),
            "",
            id="a member below a link",
        ),
        pytest.param(
            _getter("return Members((Member('h', Kind.HARDLINK, target='/etc/passwd'),))"),
            (UnsafeContentError, "unsafe-content/absolute-path"),
            "",
            id="a hard link out",
        ),
        pytest.param(
            _getter("return Members((Member('s', Kind.SPECIAL),))"),
            (UnsafeContentError, "unsafe-content/special-file"),
            "",
            id="a special file",
        ),
        pytest.param(
            _getter("return Members((Member('a'), Member('a')))"),
            (UnsafeContentError, "unsafe-content/duplicate-name"),
            "",
            id="a name twice",
        ),
        pytest.param(
            _getter("return Members((Member('a', size=1, open=lambda: (b'xx',)),))"),
            (ContentError, "corrupt-archive"),
            "announced",
            id="a member with more bytes than it said",
        ),
        pytest.param(
            _getter("return Members((Member('a', size=3, open=lambda: (b'xx',)),))"),
            (ContentError, "corrupt-archive"),
            "announced",
            id="a member with fewer bytes than it said",
        ),
        pytest.param(
            _getter("return Blob(chunks=(b'xx',), size=1, name='a.zip')"),
            (NetworkError, "network"),
            "sends more",
            id="a blob with more bytes than it said",
        ),
        pytest.param(
            _getter("return Blob(chunks=(b'xx',), size=3, name='a.zip')"),
            (NetworkError, "network"),
            "sent 2",
            id="a blob with fewer bytes than it said",
        ),
        pytest.param(
            _getter("return Blob(chunks=(memoryview(bytes(64)).cast('Q'),), size=8, name='a.zip')"),
            (NetworkError, "network"),
            "sends more",
            id="bytes that are counted as wider things",
        ),
        pytest.param(
            _getter("import itertools\nreturn Blob(chunks=itertools.repeat(bytes(1 << 20)), name='a.zip')"),
            (LimitExceededError, "limit-exceeded/download-bytes"),
            "",
            id="an endless blob",
        ),
        pytest.param(
            _getter("import itertools\nreturn Members(Member(f'd{n}') for n in itertools.count())"),
            (LimitExceededError, "limit-exceeded/entries"),
            "",
            id="endless members",
        ),
        pytest.param(
            _getter("import itertools\nreturn Members((Member('a', open=lambda: itertools.repeat(bytes(1 << 20))),))"),
            (LimitExceededError, "limit-exceeded/file-bytes"),
            "",
            id="endless content",
        ),
        pytest.param(
            _getter("return Blob(chunks=(b'not a zip',), name='a.zip', digests=(Digest('sha256', '0' * 64),))"),
            (GetModulesError, "digest-mismatch"),
            "",
            id="a promise that is not kept",
        ),
        pytest.param(
            _getter("return Blob(chunks=(b'x',), format='nosuch')"),
            (ContentError, "unsupported-content"),
            "nosuch",
            id="a format that nobody reads",
        ),
        pytest.param(
            _getter("return Elsewhere(address='acme://x')"),
            (GetModulesError, "fetch/too-many-hops"),
            "",
            id="sent on for ever",
        ),
        pytest.param(
            _getter("return Elsewhere(address='/etc')"),
            (UnsafeContentError, "unsafe-content/local-source"),
            "",
            id="sent on to this machine",
        ),
    ],
)
def test_a_plugin_that_goes_wrong_at_work(
    site: Site, tmp_path: Path, source: str, expected: tuple[type[GetModulesError], str], word: str
) -> None:
    site.add("acme-plugin", "from getmodules import Digest\n" + source)
    client = site.client(limits=Limits(download_bytes=4 << 20, entries=100, file_bytes=4 << 20, total_bytes=8 << 20))
    error = _fails_to_get(client, tmp_path, "acme://x?a=1")
    assert isinstance(error, expected[0])
    assert error.code == expected[1]
    assert WHO in error.message
    assert word in error.message
    assert "S3cr3t" not in words_of(error)
    _still_works(client, tmp_path)


def test_the_users_interrupt_inside_a_plugin_is_no_plugins_fault(site: Site, tmp_path: Path) -> None:
    site.add("acme-plugin", _getter("raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        site.client().get("acme://x", tmp_path / "parent" / "dest")
    assert not (tmp_path / "parent").exists()


def test_the_legitimate_words_of_a_plugin_pass_but_for_their_secrets(site: Site, tmp_path: Path) -> None:
    site.add(
        "acme-plugin",
        "from getmodules import NotFoundError\n"
        + _getter(
            "raise NotFoundError('no https://u:S3cr3t@h/\\x1b[2J', hint='see ?token=S3cr3t', address='https://t@h')"
        ),
    )
    error = _fails_to_get(site.client(), tmp_path)
    assert error.code == "not-found"
    assert error.message == "no https://u:****@h/\\x1b[2J"
    assert (error.hint, error.address) == ("see ?token=****", "https://****@h")
    assert str(error) == error.message
    assert error.__cause__ is None


def test_a_close_that_fails_does_not_hide_what_went_wrong_before(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site.add(
        "acme-plugin",
        _getter(
            "class Items(list):\n    def close(self): raise ValueError('stuck')\n"
            "return Members(Items((Member('../x'),)))"
        ),
    )
    assert _fails_to_get(site.client(), tmp_path).code == "unsafe-content/parent-path"
    assert "stuck" in caplog.text


@pytest.mark.parametrize(
    ("fetched", "code"),
    [
        pytest.param("Blob(chunks=Source(), name='no-archive')", "unsupported-content", id="a blob that nobody reads"),
        pytest.param(
            "Blob(chunks=Source(), name='a.zip', size=1 << 60)", "limit-exceeded/download-bytes", id="too large"
        ),
        pytest.param("Blob(chunks=Source(), name='a.zip')", "corrupt-archive", id="a blob that is no zip"),
        pytest.param("Members(Source())", "plugin-contract", id="members that are none"),
    ],
)
def test_what_a_getter_opened_is_closed_whatever_happens(site: Site, tmp_path: Path, fetched: str, code: str) -> None:
    site.add(
        "acme-plugin",
        "closed = []\nclass Source:\n    def __iter__(self): return iter((b'x',))\n"
        "    def close(self): closed.append(1)\n" + _getter(f"return {fetched}"),
    )
    client = site.client()
    assert _fails_to_get(client, tmp_path).code == code
    import sys

    assert sys.modules["acme_plugin"].closed == [1]


def test_an_unpacker_that_yields_members_that_leave(site: Site, tmp_path: Path) -> None:
    site.add(
        "acme-plugin",
        """
        class Unpacker:
            names = ("acme",)
            suffixes = (".acme",)
            media_types = ("application/acme",)
            def unpack(self, archive, context):
                yield Member("../x")

        @hookimpl
        def getmodules_unpackers():
            return (Unpacker(),)
        """,
    )
    (tmp_path / "x.acme").write_bytes(b"x")
    client = site.client()
    error = _fails_to_get(client, tmp_path, str(tmp_path / "x.acme"))
    assert error.code == "unsafe-content/parent-path"
    assert WHO in error.message
    _still_works(client, tmp_path)


@pytest.mark.parametrize("body", ["raise ValueError('no')", "return 3", "raise SystemExit"])
@pytest.mark.parametrize("hook", ["detectors", "verifiers"])
def test_a_detector_or_verifier_that_goes_wrong(site: Site, tmp_path: Path, hook: str, body: str) -> None:
    site.add(
        "acme-plugin",
        f"""
        class Offer:
            name = "acme"
            gates = (Gate.PIN,)
            def detect(self, shorthand):
                {body}
            def verify(self, gate, subject, context):
                {body}

        @hookimpl
        def getmodules_{hook}():
            return (Offer(),)
        """,
    )
    (tmp_path / "here").mkdir()
    error = _fails_to_get(site.client(), tmp_path, "./x" if hook == "detectors" else str(tmp_path / "here"))
    assert error.code == "plugin-contract"
    assert WHO in error.message


def test_what_a_first_party_plugin_brings_is_nobodys_fault(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "l").symlink_to("/etc/passwd")
    error = refusal(
        UnsafeContentError,
        "unsafe-content/link-escapes",
        Client(environ=NO_STRANGERS).get,
        str(tmp_path / "x"),
        tmp_path / "dest",
    )
    assert "plugin" not in error.message


def test_an_error_names_a_plugin_once() -> None:
    stranger = Plugin(name="p", distribution="d", version="1")
    with pytest.raises(NetworkError) as caught, attributed(stranger), attributed(stranger):
        raise NetworkError("down")
    assert caught.value.message == "down (brought by plugin 'p' (d 1))"
    with pytest.raises(ConfigError, match=r"^wrong$"), attributed(stranger):
        raise ConfigError("wrong")


# ------------------------------------------------------------------------------- who may come in


@pytest.fixture
def three(site: Site) -> Site:
    for letter in "abc":
        site.add(
            f"{letter}-Plugin",
            A_GETTER.replace("acme", letter) + A_HOOK,
            entries={letter: f"{letter}_Plugin"},
            module=f"{letter}_Plugin",
        )
    return site


def _strangers(client: Client) -> set[str]:
    return {p.name for p in client.catalog.plugins if not p.first_party and p.left_out is None and p.name in "abc"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, {"a", "b", "c"}, id="unset: all"),
        pytest.param("", set(), id="empty: none"),
        pytest.param(",", set(), id="only a comma: none"),
        pytest.param("a", {"a"}, id="one"),
        pytest.param(" a , c ", {"a", "c"}, id="two, with blanks"),
        pytest.param("b-plugin", {"b"}, id="by distribution"),
        pytest.param("B_Plugin", {"b"}, id="by distribution in another spelling"),
        pytest.param("nosuch", set(), id="a name that nobody has"),
    ],
)
def test_the_environment_lets_only_these_in(three: Site, value: str | None, expected: set[str]) -> None:
    client = three.client(environ={} if value is None else {"GETMODULES_PLUGINS": value})
    assert _strangers(client) == expected
    assert {"file", "http", "https", "git", "oci"} <= set(client.catalog.getters.names), "first-party ones stay"
    for left_out in {"a", "b", "c"} - expected:
        error = refusal(UnknownSchemeError, "unknown-scheme", client.detect, f"{left_out}://x")
        why = "GETMODULES_PLUGINS does not name it"
        assert f"plugin {left_out!r} ({left_out}-plugin 1.0) brings it, and is switched off: {why}" in (
            error.hint or ""
        )


A_POLICY = """
class Policy:
    name = "policy"
    gates = ("tree",)
    def verify(self, gate, subject, demands, context):
        raise VerificationError("no")
@hookimpl
def getmodules_verifiers():
    return (Policy(),)
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import there_is_no_such_module", id="missing import"),
        pytest.param(A_POLICY.replace("verifiers", "verifier"), id="misspelt hook"),
        pytest.param(A_POLICY.replace('("tree",)', '("no-such-gate",)'), id="wrong offer"),
        pytest.param(A_POLICY.replace("return (Policy(),)", "raise ValueError"), id="hook that raises"),
    ],
)
def test_whoever_names_a_plugin_relies_on_it(
    source: str, site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be the policy that would have refused; found by itself, it is loudly missing."""
    (tmp_path / "source").mkdir()
    site.add("acme-plugin", source)
    client = site.client(environ={"GETMODULES_PLUGINS": "acme_plugin"})
    for call in (client.get, client.resolve):
        arguments = (str(tmp_path / "source"), tmp_path / "dest")[: 2 if call == client.get else 1]
        with pytest.raises(PluginError) as caught:
            call(*arguments)
        assert WHO in caught.value.message
        assert caught.value.hint
    assert not (tmp_path / "dest").exists()
    assert client.detect("./x", base=tmp_path).package.getter == "file"
    assert caplog.text == ""
    by_itself = site.client()
    for name in ("one", "two"):
        by_itself.get(str(tmp_path / "source"), tmp_path / name)
    assert caplog.text.count("what it brings is missing") == 1
    assert WHO in caplog.text


def test_a_plugin_that_is_named_and_not_there(three: Site, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    client = three.client(environ={"GETMODULES_PLUGINS": "a,nosuch"})
    error = refusal(ConfigError, "config", client.get, str(tmp_path / "source"), tmp_path / "dest")
    assert "'nosuch'" in error.message
    assert "getmodules plugins" in (error.typed_hint or "")
    three.client(environ={"GETMODULES_PLUGINS": "a,B_plugin"}).get(str(tmp_path / "source"), tmp_path / "dest")


@pytest.mark.parametrize("name", ["a", "a-plugin", "A_Plugin"])
def test_any_plugin_can_be_taken_out(three: Site, name: str) -> None:
    client = three.client(without_plugins=[name])
    assert _strangers(client) == {"b", "c"}
    error = refusal(UnknownSchemeError, "unknown-scheme", client.detect, "a://x")
    assert (error.hint or "").startswith(
        "plugin 'a' (a-plugin 1.0) brings it, and is switched off: taken out by its name"
    )


@pytest.mark.parametrize(
    ("named", "without"),
    [
        pytest.param("a", "a", id="by one name"),
        pytest.param("b,A_Plugin", "a", id="by the distribution's name"),
        pytest.param("a", "a-plugin", id="its distribution"),
        pytest.param("git", "git", id="one of ours"),
        pytest.param("getmodules", "git", id="one of all of ours"),
    ],
)
def test_a_plugin_that_is_named_cannot_be_taken_out(three: Site, named: str, without: str, tmp_path: Path) -> None:
    error = refusal(
        ConfigError, "config", three.client, environ={"GETMODULES_PLUGINS": named}, without_plugins=[without]
    )
    assert error.exit_code == 2
    assert f"'{without}'" in error.message
    assert "GETMODULES_PLUGINS" in error.message
    assert f"--no-plugin {without}" in (error.typed_hint or "")


def test_another_than_the_named_plugin_can_be_taken_out(three: Site) -> None:
    client = three.client(environ={"GETMODULES_PLUGINS": "a"}, without_plugins=["b", "git"])
    assert _strangers(client) == {"a"}


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        pytest.param("shelf", "brings it, and is switched off", id="by the plugin's name"),
        pytest.param("racks", "brings it, and is switched off", id="by the distribution's name"),
        pytest.param("crates", "which may bring it, is switched off", id="by nothing"),
    ],
)
def test_whoever_may_bring_a_scheme_is_named(site: Site, scheme: str, said: str) -> None:
    """What is switched off is not imported, so its name is all that there is to go by."""
    site.add("getmodules-racks", A_GETTER + A_HOOK, entries={"Shelf": "getmodules_racks"})
    for client, why in (
        (site.client(environ=NO_STRANGERS), "GETMODULES_PLUGINS does not name it"),
        (site.client(without_plugins=["shelf"]), "taken out by its name"),
    ):
        hint = refusal(UnknownSchemeError, "unknown-scheme", client.detect, f"{scheme}://x").hint or ""
        assert "plugin 'Shelf' (getmodules-racks 1.0)" in hint
        assert f"{said}: {why}" in hint


def test_a_plugin_that_is_left_out_is_not_even_imported(site: Site, tmp_path: Path) -> None:
    site.add("acme-plugin", f"open({str(tmp_path / 'canary')!r}, 'w').close()")
    site.client(without_plugins=["acme-plugin"])
    site.client(environ=NO_STRANGERS)
    assert not (tmp_path / "canary").exists()
    site.client()
    assert (tmp_path / "canary").exists()


def test_a_first_party_plugin_can_be_taken_out() -> None:
    client = Client(environ=NO_STRANGERS, without_plugins=["git"])
    refusal(UnknownSchemeError, "unknown-scheme", client.detect, "git::https://h/x")
    assert str(client.detect("https://h/x")) == "https://h/x"
    nothing = Client(environ=NO_STRANGERS, without_plugins=["getmodules"])
    assert nothing.catalog.getters.names == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("gti", "git", id="a misspelt one"),
        pytest.param("\x1b[2J", "getmodules plugins", id="control characters"),
        pytest.param("", "getmodules plugins", id="empty"),
    ],
)
def test_a_plugin_that_is_not_there_cannot_be_taken_out(name: str, hint: str) -> None:
    error = refusal(ConfigError, "config", Client, environ=NO_STRANGERS, without_plugins=[name])
    assert hint in (error.typed_hint or "")
    assert words_of(error).replace("\n", "").isprintable()


def test_a_program_brings_its_own_plugins(tmp_path: Path) -> None:
    client = client_with(FakeGetter(answer=lambda *_: members_of()))
    assert client.get("fake://h/x", tmp_path / "dest").files == 4
    own = client.catalog.plugins[-1]
    assert (own.name, own.distribution, own.first_party) == ("FakePlugin", "this program", False)


def test_a_programs_own_plugin_may_be_a_module(site: Site) -> None:
    (site.root / "own.py").write_text(
        f"from getmodules import *\nfrom getmodules import Members, hookimpl\n{A_GETTER}{A_HOOK}"
    )
    spec = importlib.util.spec_from_file_location("own", site.root / "own.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    client = Client(environ=NO_STRANGERS, plugins=[module])
    assert client.catalog.plugins[-1].name == "own"
    assert "acme" in client.catalog.getters.names


@pytest.mark.parametrize("own", [object(), 3, "text", None], ids=lambda own: type(own).__name__)
def test_a_programs_own_plugin_that_is_none(own: Any) -> None:
    client = Client(environ=NO_STRANGERS, plugins=[own])
    error = client.catalog.plugins[-1].error
    assert isinstance(error, PluginLoadError)
    assert "this program" in error.message
    assert str(client.detect("https://h/x")) == "https://h/x"


def test_first_party_plugins_come_first_and_all_load() -> None:
    plugins = load(PluginSelection())
    parties = [plugin.first_party for plugin in plugins]
    assert parties == sorted(parties, reverse=True)
    ours = build(plugin for plugin in plugins if plugin.first_party)
    assert [plugin.name for plugin in ours.plugins if plugin.error] == []
    assert ours.conflicts() == []


def test_a_hook_may_be_a_generator(tmp_path: Path) -> None:
    class Generous:
        @hookimpl
        def getmodules_getters(self) -> Iterable[FakeGetter]:
            yield FakeGetter(schemes=("one",))
            yield FakeGetter(schemes=("two",))

    catalog = Client(environ=NO_STRANGERS, plugins=[Generous()]).catalog
    assert {"one", "two"} <= set(catalog.getters.names)


# ------------------------------------------------------------------------------- where hooks are found


@hookimpl
def getmodules_getters() -> tuple[FakeGetter, ...]:
    return (FakeGetter(),)


class Bound:
    @hookimpl
    def getmodules_getters(self) -> tuple[FakeGetter, ...]:
        return (FakeGetter(),)


class Static:
    @staticmethod
    @hookimpl
    def getmodules_getters() -> tuple[FakeGetter, ...]:
        return (FakeGetter(),)


def _module(**names: Any) -> ModuleType:
    module = ModuleType("plugin")
    vars(module).update(names)
    return module


def test_each_hook_says_what_its_offers_need() -> None:
    assert {name for name in vars(hookspecs) if name.startswith("getmodules_")} == set(REQUIRED)


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(_module(getmodules_getters=getmodules_getters), id="a function of a module"),
        pytest.param(_module(getmodules_getters=Bound().getmodules_getters), id="a bound method in a module"),
        pytest.param(_module(getmodules_getters=staticmethod(getmodules_getters)), id="a static method in a module"),
        pytest.param(Bound(), id="a method"),
        pytest.param(Static(), id="a static method"),
    ],
)
def test_hooks_are_found(plugin: object) -> None:
    loaded = load(PluginSelection(), [plugin])[-1]
    assert loaded.error is None
    assert list(loaded.offers) == ["getmodules_getters"]
    assert [type(offer) for offer in loaded.offers["getmodules_getters"]] == [FakeGetter]


@pytest.mark.parametrize("value", [REQUIRED, Bound], ids=["a mapping", "a class"])
def test_what_is_no_function_is_no_hook(value: object) -> None:
    loaded = load(PluginSelection(), [_module(getmodules_getters=getmodules_getters, getmodules_detectors=value)])[-1]
    assert isinstance(loaded.error, PluginLoadError)
    assert "getmodules_detectors is not marked as a hook, or is none" in loaded.error.message


# ------------------------------------------------------------------------------- dependencies that are missing


@pytest.mark.parametrize(
    ("source", "where"),
    [
        pytest.param("import there_is_no_sdk.client\n" + A_GETTER + A_HOOK, "at import", id="when it is loaded"),
        pytest.param(_getter("import there_is_no_sdk"), "in fetch", id="when it is used"),
        pytest.param(
            _getter("def items():\n    import there_is_no_sdk\n    yield\nreturn Members(items())"),
            "in fetch",
            id="while it is read",
        ),
    ],
)
def test_a_missing_dependency_is_the_users_to_install(site: Site, tmp_path: Path, source: str, where: str) -> None:
    site.add("acme-plugin", source)
    with site.client() as client:
        error = _plugin(client).error or _fails_to_get(client, tmp_path)
        assert type(error) is (PluginLoadError if where == "at import" else PluginContractError)
        assert "there_is_no_sdk" in error.message
        assert error.hint is not None
        assert error.hint.startswith(
            "it needs the module there_is_no_sdk, which is not installed: install what brings it"
        )
        assert "the documentation of acme-plugin" in error.hint
        assert "report this" not in error.hint
        _still_works(client, tmp_path)
