"""``.terraform.lock.hcl``, judged by what OpenTofu itself reads and writes (tests/cases/lockfile.json)."""

from __future__ import annotations

from typing import Any

import pytest

from getmodules import ConfigError
from getmodules.addresses.versions import Constraint, Version
from getmodules.providers import (
    Engine,
    Hash,
    LockFile,
    ProviderAddress,
    ProviderLock,
    format_lock_file,
    parse_lock_file,
)
from getmodules.providers.lockfile import LOCK_FILE_BYTES
from tests.support.refusals import refusal
from tests.support.releases import ADDRESS, PRIVATE_ADDRESS, cases

CASES = cases("lockfile.json")
HEADER = '# This file is maintained automatically by "{} init".\n# Manual edits may be lost in future updates.\n'


def _lock(address: ProviderAddress = ADDRESS, **fields: Any) -> ProviderLock:
    return ProviderLock(**{"address": address, "version": Version(1, 0, 0), **fields})


@pytest.mark.parametrize("case", [case for case in CASES if case["ok"]], ids=lambda case: case["name"])
def test_what_opentofu_reads(case: dict[str, Any]) -> None:
    lock_file = parse_lock_file(case["input"].encode(), "lock.hcl")
    assert [
        {
            "address": str(lock.address),
            "version": str(lock.version),
            "constraints": str(lock.constraints or ""),
            "hashes_as_loaded": sorted(map(str, lock.hashes)),
        }
        for lock in sorted(lock_file.providers.values(), key=lambda lock: lock.address.sort_key)
    ] == case["providers"]
    assert format_lock_file(lock_file) == case["saved"]
    assert len(lock_file.warnings) == len(case["diagnostics"])


@pytest.mark.parametrize("case", [case for case in CASES if not case["ok"]], ids=lambda case: case["name"])
def test_what_opentofu_refuses_and_in_which_line(case: dict[str, Any]) -> None:
    error = refusal(ConfigError, "config", parse_lock_file, case["input"].encode(), "lock.hcl")
    assert error.message.startswith(f"lock.hcl, line {case['diagnostics'][0]['line']}, column ")


@pytest.mark.parametrize("case", cases("lockfile_generated.json"), ids=lambda case: ascii(case["input"])[:60])
def test_files_that_nobody_wrote_are_judged_as_by_opentofu(case: dict[str, Any]) -> None:
    """Put together at random, and given to OpenTofu 1.12.6. It sorts hashes only when it changes them."""
    if case["ok"]:
        assert format_lock_file(parse_lock_file(case["input"].encode(), "lock.hcl")) == case["saved"]
    else:
        error = refusal(ConfigError, "config", parse_lock_file, case["input"].encode(), "lock.hcl")
        line = int(error.message.removeprefix("lock.hcl, line ").partition(",")[0])
        assert line in case["lines"]


# --------------------------------------------------------------------------------------------------- reading

BLOCK = 'provider "registry.opentofu.org/test/null" {{\n  version = "1.0.0"\n{}}}\n'


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        pytest.param('version = "1"\n', "line 1, column 1", "'version' is not expected", id="an argument outside"),
        pytest.param(BLOCK.format('  more = "1"\n'), "line 3, column 3", "'more' is not expected", id="an argument"),
        pytest.param(BLOCK.format('  version = "2.0.0"\n'), "line 3, column 3", "already", id="a version twice"),
        pytest.param(BLOCK.format("  hashes = []\n"), "line 3, column 12", "is empty", id="no hashes"),
        pytest.param(BLOCK.format('  hashes = "h1:a"\n'), "line 3, column 12", "a list", id="hashes no list"),
        pytest.param(BLOCK.format("  hashes = null\n"), "line 3, column 12", "a list", id="hashes null"),
        pytest.param(
            BLOCK.format('  hashes = [\n    "h1:a",\n    "b",\n  ]\n'),
            "line 5, column 5",
            "scheme",
            id="the second hash",
        ),
        pytest.param(
            BLOCK.format('  hashes = ["h1:a b"]\n'), "line 3, column 13", "no hash has", id="a blank in a hash"
        ),
        pytest.param(
            BLOCK.format('  constraints = ["1.0"]\n'), "line 3, column 17", "in quotes", id="constraints a list"
        ),
        pytest.param(
            BLOCK.format('  constraints = "wat"\n'), "line 3, column 17", "version must stand", id="no constraints"
        ),
        pytest.param(
            BLOCK.format('  constraints = "> 1.0.0, = 1.0.0"\n'), "line 3, column 17", "normal form", id="another order"
        ),
        pytest.param(
            BLOCK.replace('"1.0.0"', '"1.0"').format(""), "line 2, column 13", "version", id="a short version"
        ),
        pytest.param(BLOCK.replace('"1.0.0"', '"v1.0.0"').format(""), "line 2, column 13", "version", id="a v"),
        pytest.param(BLOCK.replace('"1.0.0"', '"01.0.0"').format(""), "line 2, column 13", "zero", id="a zero"),
        pytest.param(BLOCK.replace('"1.0.0"', "1.0").format(""), "line 2, column 13", "in quotes", id="a number"),
        pytest.param("provider {\n}\n", "line 1, column 1", "one label", id="no label"),
        pytest.param(
            BLOCK.replace("test/null", "test/NULL").format(""), "line 1, column 10", "test/null", id="capitals"
        ),
        pytest.param('provider "null" {\n}\n', "line 1, column 10", "no provider address", id="a type alone"),
        pytest.param('provider "registry.opentofu.org/-/null" {\n}\n', "line 1, column 10", "legacy", id="legacy"),
        pytest.param(
            'provider "terraform.io/builtin/terraform" {\n}\n', "line 1, column 10", "built into", id="built in"
        ),
        pytest.param('module "a" {\n', "line 2, column 1", "must stand here", id="a module block without an end"),
        pytest.param('module "a" b {\n}\n', "line 1, column 1", "one label", id="a module with two labels"),
        pytest.param("<<<<<<< HEAD\n", "line 1, column 1", "merge conflict", id="a merge conflict"),
    ],
)
def test_what_is_refused_and_where(text: str, place: str, words: str) -> None:
    error = refusal(ConfigError, "config", parse_lock_file, text.encode(), "a/.terraform.lock.hcl")
    assert error.message.startswith(f"a/.terraform.lock.hcl, {place}: ")
    assert words in error.message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"# \xc3\xa9 \xff\n", "line 1, column 5: this is not UTF-8", id="not UTF-8"),
        pytest.param(b"#\n#\xff", "line 2, column 2: this is not UTF-8", id="not UTF-8, further down"),
        pytest.param("x".encode("utf-16"), "line 1, column 1: this is not UTF-8", id="UTF-16"),
        pytest.param(b"\n" * (LOCK_FILE_BYTES + 1), "more than the", id="too large"),
    ],
)
def test_what_is_no_text(data: bytes, words: str) -> None:
    assert words in refusal(ConfigError, "config", parse_lock_file, data, "lock.hcl").message


def test_the_name_of_the_file_is_shown_printably() -> None:
    error = refusal(ConfigError, "config", parse_lock_file, b"?", "a\x1b[31m")
    assert "\x1b" not in error.message


def test_blocks_for_modules_are_read_over_with_one_warning() -> None:
    text = BLOCK.format("") + 'module "a" {\n  x = "y"\n  z {\n  }\n}\nmodule "b" {\n}\n'
    lock_file = parse_lock_file(text.encode(), "lock.hcl")
    assert list(lock_file.providers) == [ADDRESS]
    (warning,) = lock_file.warnings
    assert warning.startswith("line 4, column 1: module blocks")


@pytest.mark.parametrize("version", ["1.0.0-01", "1.0.0-rc.007", "1.0.0-0", "1.0.0+007"])
def test_a_version_stays_as_it_was_written(version: str) -> None:
    """Also with zeros that semver does not allow, and the engines do; ``tests/functional`` asks them."""
    text = HEADER.format("tofu") + "\n" + BLOCK.replace('"1.0.0"', f'"{version}"').format("")
    lock_file = parse_lock_file(text.encode(), "lock.hcl")
    assert [str(lock.version) for lock in lock_file.providers.values()] == [version]
    assert format_lock_file(lock_file) == text


def test_hashes_of_unknown_schemes_are_kept() -> None:
    text = BLOCK.format('  hashes = [\n    "h9:z",\n  ]\n')
    lock_file = parse_lock_file(text.encode(), "lock.hcl")
    assert lock_file.providers[ADDRESS].hashes == {Hash("h9", "z")}
    assert format_lock_file(lock_file).endswith("\n" + text)


# --------------------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("engine", Engine)
def test_each_engine_has_its_header(engine: Engine) -> None:
    assert format_lock_file(LockFile(), engine) == HEADER.format(engine.value)


def test_blocks_are_sorted_by_host_as_dns_has_it() -> None:
    texts = ["испытание.com/a/a", "example.com/b/a", "example.com/a/b", "example.com/a/a", "zzz.com/a/a"]
    lock_file = LockFile.of(_lock(ProviderAddress.parse(text)) for text in texts)
    written = [line.split('"')[1] for line in format_lock_file(lock_file).splitlines() if line.startswith("provider")]
    assert written == ["example.com/a/a", "example.com/a/b", "example.com/b/a", "испытание.com/a/a", "zzz.com/a/a"]


def test_values_are_aligned_only_with_constraints() -> None:
    lock = _lock(constraints=Constraint.parse("~> 1.0"), hashes=frozenset({Hash("zh", "b"), Hash("h1", "a")}))
    assert format_lock_file(LockFile.of([lock]), Engine.TERRAFORM) == HEADER.format("terraform") + (
        '\nprovider "registry.opentofu.org/test/null" {\n  version     = "1.0.0"\n  constraints = "~> 1.0"\n'
        '  hashes = [\n    "h1:a",\n    "zh:b",\n  ]\n}\n'
    )


def test_what_hcl_would_take_for_a_template_is_escaped() -> None:
    lock = _lock(hashes=frozenset({Hash("x", "${a}%{b}")}))
    text = format_lock_file(LockFile.of([lock]))
    assert '"x:$${a}%%{b}"' in text
    assert parse_lock_file(text.encode(), "lock.hcl") == LockFile.of([lock])


def test_one_provider_is_locked_anew() -> None:
    before = LockFile.of([_lock(), _lock(PRIVATE_ADDRESS)])
    after = before.with_lock(_lock(version=Version(2, 0, 0)))
    assert {str(lock.address): str(lock.version) for lock in after.providers.values()} == {
        str(ADDRESS): "2.0.0",
        str(PRIVATE_ADDRESS): "1.0.0",
    }
    assert str(before.providers[ADDRESS].version) == "1.0.0"


def test_a_lock_file_is_a_value() -> None:
    assert LockFile.of([_lock()]) == LockFile.of([_lock()])
    assert LockFile.of([_lock()]) != LockFile()
    with pytest.raises(TypeError):
        LockFile().providers[ADDRESS] = _lock()  # type: ignore[index]
