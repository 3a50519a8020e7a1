"""The structure of the project, held by tests: what no single module can promise about itself."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

import getmodules
from getmodules import api, errors
from getmodules.api import hookspecs
from getmodules.api.limits import Limits
from tests.support.checkout import DOCS, PACKAGE, ROOT, TESTS

MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 600
MAP = DOCS / "explanation" / "architecture.rst"
#: The map says where these will be.
_TO_COME = frozenset({"terraform/", "providers/sources/", "signatures/cosign.py"})


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _error_classes() -> dict[str, type[errors.GetModulesError]]:
    root = errors.GetModulesError  # nobody raises it: it has no situation of its own
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, root) and value is not root
    }


ERRORS = _error_classes()
CODES = {cls.base_code for cls in ERRORS.values()} | {
    f"{cls.base_code}/{part}" for cls in ERRORS.values() for part in vars(cls).get("parts", ())
}
HOOKS = sorted(name for name in vars(hookspecs) if name.startswith("getmodules_"))

each_module = pytest.mark.parametrize("path", MODULES, ids=_name)


def test_there_is_something_to_look_at() -> None:
    assert len(MODULES) > 10
    assert len(ERRORS) > 20
    assert len(HOOKS) >= 6


# --------------------------------------------------------------------------------------------- modules


@each_module
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(_tree(path)), "the module has no docstring"


@each_module
def test_a_module_has_one_reason_to_exist(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < LONGEST


@each_module
def test_only_the_renderer_prints(path: Path) -> None:
    if _name(path) == "getmodules/cli/render.py":
        return
    lines = [
        node.lineno
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert lines == []


@each_module
def test_no_exception_is_swallowed_wholesale(path: Path) -> None:
    def catches_all(handler: ast.ExceptHandler) -> bool:
        caught = handler.type
        names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
        return any(name is None or ast.unparse(name) in ("Exception", "BaseException") for name in names)

    def does_nothing(statement: ast.stmt) -> bool:
        return isinstance(statement, ast.Pass | ast.Continue) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        )

    lines = [
        node.lineno
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ExceptHandler) and catches_all(node) and all(map(does_nothing, node.body))
    ]
    assert lines == []


FOLDERS = sorted({path.parent for path in MODULES} - {PACKAGE})


@pytest.mark.parametrize("folder", FOLDERS, ids=_name)
def test_a_folder_has_tests_of_its_own(folder: Path) -> None:
    """``tests/unit`` mirrors the folders; which module of a folder a test is about, its name begins with."""
    behaves = any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for path in folder.glob("*.py")
        for node in ast.walk(_tree(path))
    )
    mirror = TESTS / "unit" / folder.relative_to(PACKAGE)
    assert not behaves or list(mirror.glob("test_*.py")), f"{_name(mirror)} has no tests"


def test_a_unit_test_belongs_to_a_module() -> None:
    """``test_zip.py``, and where that grows too long ``test_zip_hostile.py``."""
    strays = []
    for path in (TESTS / "unit").rglob("test_*.py"):
        folder = PACKAGE / path.parent.relative_to(TESTS / "unit")
        subject = path.stem.removeprefix("test_")
        stems = {module.stem.strip("_") for module in folder.glob("*.py")}
        if path != Path(__file__).resolve() and not any(f"{subject}_".startswith(f"{stem}_") for stem in stems):
            strays.append(_name(path))
    assert strays == []


# --------------------------------------------------------------------------------------------- errors


def _documented_codes() -> set[str]:
    text = (DOCS / "reference" / "errors.rst").read_text(encoding="utf-8")
    return set(re.findall(r"^``([a-z0-9/-]+)``\n[-~]+$", text, re.MULTILINE))


def test_every_error_code_is_documented_and_nothing_else_is() -> None:
    documented = _documented_codes()
    assert CODES - documented == set(), "not in docs/reference/errors.rst"
    assert documented - CODES == set(), "in docs/reference/errors.rst, but not in errors.py"


def test_a_documented_code_has_a_paragraph() -> None:
    text = (DOCS / "reference" / "errors.rst").read_text(encoding="utf-8")
    bodies = re.split(r"^``[a-z0-9/-]+``\n[-~]+$", text, flags=re.MULTILINE)[1:]
    paragraphs = [re.sub(r"^\.\. _.*$", "", body, flags=re.MULTILINE).strip() for body in bodies]
    assert [p for p in paragraphs if len(p) < 40] == []


def test_the_tree_in_the_docstring_names_every_class() -> None:
    drawn = set(re.findall(r"\w+Error", errors.__doc__ or ""))
    assert set(ERRORS) - drawn == set()


def _calls_with_part() -> Iterator[tuple[str, str, str]]:
    """Where, who is called, and the literal ``part=`` that it is given."""
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Call):
                for keyword in node.keywords:
                    if keyword.arg == "part" and isinstance(keyword.value, ast.Constant) and keyword.value.value:
                        yield f"{_name(path)}:{node.lineno}", ast.unparse(node.func), keyword.value.value


def test_every_part_in_the_source_is_listed() -> None:
    """Outside of an error's own constructor (a helper that passes it on) any class may be meant."""
    all_parts = frozenset().union(*(cls.parts for cls in ERRORS.values()))
    unlisted = []
    for where, callee, part in _calls_with_part():
        cls = ERRORS.get(callee.rpartition(".")[2])
        if part not in (cls.parts if cls else all_parts):
            unlisted.append(f"{where}: {part}")
    assert unlisted == []


def _words_of_the_source() -> set[str]:
    """Each string that could become a part; not those of ``getmodules.testing``, whose faults have such names too."""
    words = set()
    for path in MODULES:
        if path != PACKAGE / "errors.py" and PACKAGE / "testing" not in path.parents:
            for node in ast.walk(_tree(path)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    words.add(node.value)
    return words


def _exceeded_limits() -> set[str]:
    """The first arguments of ``limits.exceeded(…)``, which makes the part from the field's name."""
    return {
        node.args[0].value.replace("_", "-")
        for path in MODULES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "exceeded"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def test_every_listed_part_is_used() -> None:
    words, limits = _words_of_the_source(), _exceeded_limits()
    by_field = {field.name.replace("_", "-") for field in fields(Limits)}
    unused = []
    for cls in ERRORS.values():
        for part in vars(cls).get("parts", ()):
            used = limits if cls is errors.LimitExceededError and part in by_field else words
            if part not in used:
                unused.append(f"{cls.base_code}/{part}")
    assert sorted(unused) == []


# --------------------------------------------------------------------------------------------- hooks, packaging


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_is_documented_and_tested(hook: str) -> None:
    documented = (DOCS / "reference" / "hooks.rst").read_text(encoding="utf-8")
    assert re.search(rf"^\.\. autofunction:: {hook}$", documented, re.MULTILINE)
    assert getattr(hookspecs, hook).__doc__
    tests = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__).resolve()]
    assert any(hook in path.read_text(encoding="utf-8") for path in tests), "no test uses the hook"


def test_every_entry_point_leads_somewhere() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    missing = []
    for group in setup["options.entry_points"].values():
        for line in filter(None, group.splitlines()):
            module = line.partition("=")[2].strip().partition(":")[0]
            if not (ROOT / (module.replace(".", "/") + ".py")).is_file():
                missing.append(line)
    assert missing == []


def test_readme_and_gate_run_the_same_two_commands() -> None:
    """``.ci/run`` takes the commands from README.rst: there must be two, and the second runs the tests."""
    readme = (ROOT / "README.rst").read_text(encoding="utf-8")
    commands = re.findall(r"^    \$ (.*)$", readme, re.MULTILINE)
    assert len(commands) >= 2
    assert "pip install" in commands[0]
    assert commands[0].endswith("examples/tour.sh")
    assert "getmodules get" in (ROOT / "examples" / "tour.sh").read_text(encoding="utf-8")
    assert "python -m pytest" in commands[1]


# --------------------------------------------------------------------------------------------- what is public

#: What users and authors of plugins read and copy. The map of the code and the decisions are about the inside.
_OPEN_PAGES = [
    path
    for path in (*sorted(DOCS.rglob("*.rst")), ROOT / "README.rst", *sorted((ROOT / "plugins").rglob("*.rst")))
    if not {"adr", "build"} & set(path.parts) and path != DOCS / "explanation" / "architecture.rst"
]
_PLUGIN_MODULES = [path for path in sorted((ROOT / "plugins").rglob("*.py")) if "build" not in path.parts]
#: Public as a whole; of these two packages the reference shows inner names, too.
_PUBLIC_PACKAGES = ("getmodules.testing", "getmodules.providers")
#: Files and repositories that are called like modules.
_NO_MODULES = re.compile(r"getmodules\.(toml|lock|schema|git)\b")
_DOTTED = re.compile(r"(?<![\w./@-])getmodules(?:\.[A-Za-z_]\w*)+")
_IMPORT = re.compile(r"^ *from (getmodules(?:\.[\w.]+)?) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def _is_public(name: str) -> bool:
    """Return whether a dotted name, or the beginning of it up to an attribute, may be named to users."""
    if name == "getmodules" or any(f"{name}.".startswith(f"{package}.") for package in _PUBLIC_PACKAGES):
        return True
    _, first, *rest = name.split(".")
    if first == "api":
        return not rest or rest[0] in api.__all__
    if first == "errors":
        return not rest or rest[0] in ERRORS or rest[0] in ("GetModulesError", "exit_code")
    return first in _NAMES and not isinstance(getattr(getmodules, first), ModuleType)


_NAMES = frozenset(dir(getmodules))


def _named(text: str) -> set[str]:
    names = {name for name in _DOTTED.findall(text) if not _NO_MODULES.match(name)}
    for module, imported in _IMPORT.findall(text):
        parts = imported.strip("()").replace("\n", " ").split("#")[0].split(",")
        names |= {f"{module}.{part.split()[0]}" for part in parts if part.strip() not in ("", "*")}
    return names


@pytest.mark.parametrize("path", [*_OPEN_PAGES, *_PLUGIN_MODULES], ids=_name)
def test_docs_and_plugins_name_nothing_but_what_is_public(path: Path) -> None:
    """``getmodules``, ``getmodules.api``, ``.errors``, ``.testing`` and ``.providers``: all else may move any day."""
    named = _named(path.read_text(encoding="utf-8"))
    assert sorted(name for name in named if not _is_public(name)) == []


def test_the_test_for_public_names_looks_at_something() -> None:
    assert len(_OPEN_PAGES) > 20
    assert {path.name for path in _PLUGIN_MODULES} >= {"getmodules_example.py", "test_example.py"}
    assert _named("from getmodules import (\n    Blob,\n    Pin as P,\n)\n:class:`~getmodules.net.wire.Wire`") == {
        "getmodules.Blob",
        "getmodules.Pin",
        "getmodules.net.wire.Wire",
    }
    for name in ("getmodules.Blob", "getmodules.get", "getmodules.api.Pin.id", "getmodules.errors.FetchError"):
        assert _is_public(name)
    for name in ("getmodules.net.wire.Wire", "getmodules.api.model", "getmodules.client", "getmodules.nothing"):
        assert not _is_public(name)


# --------------------------------------------------------------------------------------------- the map

_MAP = MAP.read_text(encoding="utf-8")


def test_the_map_has_each_folder_and_no_other() -> None:
    section = re.search(r"^The folders\n-+\n(.*?)^What comes next", _MAP, re.MULTILINE | re.DOTALL)
    assert section
    listed = re.findall(r"^``([\w./]+)``$", section[1], re.MULTILINE)
    not_ideas = {"__init__.py", "__main__.py", "version.py", "__pycache__/", "py.typed"}
    there = {f"{path.name}/" if path.is_dir() else path.name for path in PACKAGE.iterdir()} - not_ideas
    assert sorted(listed) == sorted(there)
    assert len(there) <= 18


def test_the_map_names_files_that_are_there() -> None:
    named = re.findall(r"``((?:[a-z_]+/)*[a-z_]+\.py|(?:[a-z_]+/)+)``", _MAP)
    assert len(named) > 50
    roots = (PACKAGE, PACKAGE / "getters", PACKAGE / "api", ROOT, TESTS / "unit")
    missing = {name for name in named if not any((root / name).exists() for root in roots)}
    assert missing - {"catalog.py", "install.py", "batch.py", "session.py", "render.py"} == _TO_COME


def test_the_map_names_functions_and_classes_that_are_there() -> None:
    """In the column that says where an arrow is: a file, and what is in it."""
    cells = re.findall(r"^     - (``[a-z_/]+\.py``(?:.|\n       )*)$", _MAP, re.MULTILINE)
    pairs = [pair for cell in cells for pair in re.findall(r"``([a-z_/]+\.py)`` ``(\w+)``", cell)]
    assert len(pairs) > 20
    missing = [
        f"{path}: {name}"
        for path, name in pairs
        if not re.search(rf"^ *(def|class) {name}\b", (PACKAGE / path).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert missing == []


def test_the_map_shows_the_layers_that_are_checked() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    rows = setup["importlinter:contract:house"]["layers"].split("\n")
    block = re.search(r"import each other::\n\n((?:    .*\n)+)", _MAP)
    assert block
    assert [row.strip() for row in block[1].splitlines()] == [row for row in rows if row]


ADRS = sorted((DOCS / "adr").glob("0*.rst"))


@pytest.mark.parametrize("path", ADRS, ids=lambda path: path.stem[:4])
def test_a_decision_that_holds_names_files_that_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"{int(path.stem[:4])}. ")
    assert len(re.findall(r"Status: (?:accepted|proposed|superseded by \d+|replaced by \d+)", text)) == 1
    if re.search(r"Status: (superseded|replaced)", text):
        return
    named = re.findall(r"``((?:[a-z_]+/)+[a-z_]+\.py)``", text)
    assert [name for name in named if not any((root / name).is_file() for root in (PACKAGE, ROOT))] == []
