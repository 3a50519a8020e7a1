"""The manifest against the lock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from getmodules import LockStaleError
from getmodules.project import plan as subject
from getmodules.project.lockfile import Lock, LockedModule, LockedPackage
from getmodules.project.manifest import Manifest, ModuleEntry
from getmodules.project.plan import Standing
from tests.support.refusals import refusal

EMPTY = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
ENTRY = ModuleEntry(name="vpc", source="./vpc", dest="modules/vpc")


def _manifest(*entries: ModuleEntry) -> Manifest:
    return Manifest(modules={entry.name: entry for entry in entries})


def _locked(entry: ModuleEntry, h1: str = EMPTY, selected: str | None = None) -> subject.Entry:
    module = LockedModule(
        name=entry.name,
        source=entry.source,
        package=entry.source,
        dest=entry.dest,
        h1=h1,
        version=entry.version,
        expect=entry.expect,
        selected=selected,
    )
    return module, LockedPackage(address=entry.source, id=h1, getter="file")


LOCK = Lock.of([_locked(ENTRY)])


@pytest.mark.parametrize(
    ("entry", "standing", "reasons"),
    [
        pytest.param(ENTRY, Standing.LOCKED, (), id="as it is locked"),
        pytest.param(replace(ENTRY, dest="x"), Standing.MOVED, ("vpc has another dest",), id="elsewhere"),
        pytest.param(replace(ENTRY, source="./x"), Standing.STALE, ("vpc has another source",), id="another source"),
        pytest.param(replace(ENTRY, version="1.0.0"), Standing.STALE, ("vpc has another version",), id="a version"),
        pytest.param(replace(ENTRY, expect=EMPTY), Standing.STALE, ("vpc has another expect",), id="an expectation"),
        pytest.param(
            replace(ENTRY, source="./x", dest="x"), Standing.STALE, ("vpc has another source and dest",), id="two"
        ),
    ],
)
def test_how_a_module_stands(entry: ModuleEntry, standing: Standing, reasons: tuple[str, ...]) -> None:
    plan = subject.compare(_manifest(entry), LOCK)
    assert (plan.standings, plan.orphans, plan.reasons) == ({"vpc": standing}, (), reasons)
    assert plan.fresh("vpc") is (standing is Standing.STALE)
    if reasons:
        error = refusal(LockStaleError, "lock-stale", plan.check)
        assert (reasons[0] in error.message, error.exit_code) == (True, 5)
    else:
        plan.check()


@pytest.mark.parametrize(
    ("version", "selected", "reasons"),
    [
        pytest.param("~> 1.2", "v1.4.0", (), id="one that it allows"),
        pytest.param("1.0.0-beta", "1.0.0-beta", (), id="a pre-release by its name"),
        pytest.param("1.0.0+a", "1.0.0_a", (), id="as OCI tags are written"),
        pytest.param("~> 1.2", "2.0.0", ("vpc has another version",), id="one that it does not allow"),
        pytest.param("~> 1.2", "1.3.0-beta", ("vpc has another version",), id="a pre-release that nobody named"),
        pytest.param("~> 1.2", "main", ("vpc has another version",), id="no version"),
        pytest.param("~> 1.2", None, ("vpc has another version",), id="none"),
    ],
)
def test_a_tag_that_was_written_into_the_lock_by_hand(
    version: str, selected: str | None, reasons: tuple[str, ...]
) -> None:
    entry = replace(ENTRY, version=version)
    plan = subject.compare(_manifest(entry), Lock.of([_locked(entry, selected=selected)]))
    assert plan.reasons == reasons


def test_a_package_of_another_source() -> None:
    plan = subject.compare(_manifest(ENTRY), LOCK, {"vpc"})
    assert (plan.standings, plan.reasons) == ({"vpc": Standing.STALE}, ("vpc has another source",))
    edited = subject.compare(_manifest(replace(ENTRY, source="./x")), LOCK, {"vpc"})
    assert edited.reasons == ("vpc has another source",)


def test_new_and_left_over() -> None:
    plan = subject.compare(_manifest(replace(ENTRY, name="net", dest="modules/net")), LOCK)
    assert (plan.standings, plan.orphans) == ({"net": Standing.NEW}, ("vpc",))
    assert plan.reasons == ("net is new", "vpc was removed")
    assert not plan.in_step


def test_without_a_lock() -> None:
    assert subject.compare(_manifest(ENTRY), None).reasons == ("there is no getmodules.lock", "vpc is new")
    assert subject.compare(_manifest(), None).in_step


def test_not_everything_is_listed() -> None:
    plan = subject.compare(_manifest(*(replace(ENTRY, name=f"m{n}", dest=f"d{n}") for n in range(50))), None)
    assert "; and 31 more" in refusal(LockStaleError, "lock-stale", plan.check).message


def test_merging() -> None:
    other = replace(ENTRY, name="net", source="./net", dest="modules/net")
    moved = replace(ENTRY, dest="elsewhere")
    found = subject.merge_lock(LOCK, {"net": _locked(other)}, _manifest(moved, other))
    assert list(found.modules) == ["net", "vpc"]
    assert found.modules["vpc"].dest == "elsewhere"
    assert set(found.packages) == {"./vpc", "./net"}


def test_what_was_not_looked_up_keeps_its_entry_as_it_is() -> None:
    edited = replace(ENTRY, source="./other", dest="elsewhere")
    assert subject.merge_lock(LOCK, {}, _manifest(edited)) == LOCK


def test_what_the_manifest_has_no_more_goes() -> None:
    assert subject.merge_lock(LOCK, {}, _manifest()) == Lock()
