"""``version = "~> 1.2"`` becomes one tag."""

from __future__ import annotations

from typing import Any

import pytest

from getmodules import ConfigError, GetModulesError, NotFoundError, OfflineError
from getmodules.addresses.versions import Version
from getmodules.project import select as subject
from getmodules.project.manifest import ModuleEntry
from getmodules.project.select import Target
from getmodules.testing import Registry
from tests.support.fakes import FakeGetter, FakePlugin, blob, zip_of
from tests.support.projects import Project


class Tagged(FakeGetter):
    """A getter with versions."""

    version_argument = "version"
    tags: Any = ("1.0.0", "v1.2.0", "1.2.1", "2.0.0", "3.0.0-rc.1", "latest", "sha256-abc", "1.3")

    def versions(self, package: Any, context: Any) -> Any:
        self.asked.append(("versions", str(package)))
        return self.tags


@pytest.fixture
def getter() -> Tagged:
    return Tagged(answer=lambda *_: blob(zip_of()))


@pytest.fixture
def project(tmp_path: Any, getter: Tagged) -> Project:
    made = Project(tmp_path / "project", plugins=(FakePlugin(getter),))
    made.wants("")
    return made


def _entry(version: str | None, source: str = "fake://h/x//net", name: str = "vpc") -> ModuleEntry:
    return ModuleEntry(name=name, source=source, dest=f"modules/{name}", version=version)


def _select(project: Project, *entries: ModuleEntry) -> Target | GetModulesError:
    outcome = subject.find_targets(entries, project.workspace())
    (found,) = [*outcome.done.values(), *(failure.error for failure in outcome.failures)]
    return found


@pytest.mark.parametrize(
    ("constraint", "tag"),
    [
        pytest.param("~> 1.0", "1.2.1", id="the newest that fits"),
        pytest.param("~> 1.2, != 1.2.1", "v1.2.0", id="with a v"),
        pytest.param(">= 1.0", "2.0.0", id="no pre-release"),
        pytest.param("3.0.0-rc.1", "3.0.0-rc.1", id="a pre-release by its name"),
        pytest.param("1.0.0", "1.0.0", id="exactly"),
    ],
)
def test_the_tag_that_is_taken(constraint: str, tag: str, project: Project) -> None:
    target = _select(project, _entry(constraint))
    assert isinstance(target, Target)
    assert (target.selected, str(target.address)) == (tag, f"fake://h/x//net?version={tag}")


def test_without_a_version_nobody_is_asked(project: Project, getter: Tagged) -> None:
    target = _select(project, _entry(None))
    assert isinstance(target, Target)
    assert (target.selected, str(target.address), getter.asked) == (None, "fake://h/x//net", [])


def test_modules_of_one_repository_ask_once(project: Project, getter: Tagged) -> None:
    entries = [_entry("~> 1.0", f"fake://h/x//m{n}", f"m{n}") for n in range(20)]
    assert len(subject.find_targets(entries, project.workspace()).done) == 20
    assert getter.asked == [("versions", "fake://h/x")]


@pytest.mark.parametrize(
    ("tags", "constraint", "kind", "message", "hint"),
    [
        pytest.param(
            ("1.0.0", "v1.0.0", "0.1.0"),
            "1.0.0",
            ConfigError,
            "'1.0.0' and 'v1.0.0' are one version",
            "remove one of them, or name one in the address (version=)",
            id="two spellings",
        ),
        pytest.param(
            ("1.0.0", "v1.0.0", "1.1.0", "1.2.0", "v1.2.0", "1.3.0"),
            "~> 1.0",
            ConfigError,
            "'1.2.0' and 'v1.2.0' are one version",
            "have a version without both (!= 1.2.0)",
            id="two spellings of one that is not the newest",
        ),
        pytest.param(
            ("1.0.0_a", "1.0.0+a"),
            ">= 1.0",
            ConfigError,
            "'1.0.0+a' and '1.0.0_a' are one version",
            "remove one of them",
            id="two spellings of a build",
        ),
        pytest.param(
            ("1.0.0", "3.0.0-rc.1", "3.0.0-rc.2", "4.0.0-rc.1"),
            "~> 3.0",
            NotFoundError,
            "no version fits '~> 3.0': the newest are 4.0.0-rc.1, 3.0.0-rc.2",
            'a pre-release is taken by its exact name only: version = "3.0.0-rc.2"',
            id="a pre-release would",
        ),
        pytest.param(
            (*(f"{major}.{minor}.0" for major in range(1, 8) for minor in range(5)), "9.0.0-rc.1"),
            "~> 2.7.0",
            NotFoundError,
            "no version fits '~> 2.7.0': the newest are 9.0.0-rc.1, 7.4.0, 7.3.0, 7.2.0, 7.1.0",
            "the nearest are 3.1.0, 3.0.0, 2.4.0, 2.3.0",
            id="what is nearest",
        ),
        pytest.param(
            ("1.0.0", "2.0.0"),
            "~> 3.0",
            NotFoundError,
            "no version fits '~> 3.0': the newest are 2.0.0, 1.0.0",
            "name a tag",
            id="none fits",
        ),
        pytest.param(
            ("latest",), "~> 3.0", NotFoundError, "no tag is a semantic version", "name a tag", id="no versions"
        ),
        pytest.param((), "~> 3.0", NotFoundError, "no tag is a semantic version", "name a tag", id="no tags"),
    ],
)
def test_what_cannot_be_selected(
    tags: Any, constraint: str, kind: type, message: str, hint: str, project: Project, getter: Tagged
) -> None:
    getter.tags = tags
    error = _select(project, _entry(constraint))
    assert type(error) is kind
    assert message in error.message
    assert hint in (error.hint or "")
    assert error.address is not None
    assert ("pre-release" in (error.hint or "")) is ("pre-release" in hint)


@pytest.mark.parametrize("constraint", ["~> 1.0", ">= 0.1, != 0.1.0"])
def test_two_spellings_of_a_version_that_does_not_fit_do_no_harm(
    constraint: str, project: Project, getter: Tagged
) -> None:
    getter.tags = ("0.1.0", "v0.1.0", "1.0.0")
    target = _select(project, _entry(constraint))
    assert isinstance(target, Target)
    assert target.selected == "1.0.0"


def test_a_tag_that_is_listed_twice_is_one(project: Project, getter: Tagged) -> None:
    getter.tags = ("1.0.0", "1.1.0", "1.1.0")
    target = _select(project, _entry("~> 1.0"))
    assert isinstance(target, Target)
    assert target.selected == "1.1.0"


def test_a_list_that_is_no_list_is_the_plugins_fault(project: Project, getter: Tagged) -> None:
    getter.tags = (1, 2)
    error = _select(project, _entry("1.0.0"))
    assert isinstance(error, GetModulesError)
    assert error.code == "plugin-contract"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("fake://h/x?version=1", "its source a version=", id="a tag"),
        pytest.param("fake://h/x?digest=abc", "its source a digest=", id="a digest"),
        pytest.param("./src", "file addresses have none", id="a directory"),
        pytest.param("https://h/x.zip", "http addresses have none", id="an archive"),
        pytest.param("tfr://h/a/b/c?version=1.0.0", "its source a version=", id="a registry's own"),
    ],
)
def test_where_a_version_makes_no_sense(source: str, message: str, project: Project) -> None:
    error = _select(project, _entry("~> 1.0", source))
    assert (type(error), isinstance(error, GetModulesError) and error.code) == (ConfigError, "config")
    assert message in str(error)
    assert "[modules.vpc]" in str(error)


def test_what_was_selected_before(project: Project, getter: Tagged) -> None:
    target = subject.locked_target(_entry("~> 1.0"), "v1.2.0", project.workspace())
    assert isinstance(target, Target)
    assert str(target.address) == "fake://h/x//net?version=v1.2.0"
    assert getter.asked == []
    failure = subject.locked_target(_entry("~> 1.0", "./src"), None, project.workspace())
    assert failure.error.code == "config"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("1.2.3", "1.2.3"),
        ("v1.2.3", "1.2.3"),
        ("1.2.3_build.5", "1.2.3+build.5"),
        ("v1.2.3-rc.1_b", "1.2.3-rc.1+b"),
        ("1.2.3+b", "1.2.3+b"),
        ("vv1.2.3", None),
        ("1.2", None),
        ("V1.2.3", None),
        ("01.2.3", None),
        ("", None),
    ],
)
def test_versions_in_tags(tag: str, version: str | None) -> None:
    assert subject.version_in(tag) == (None if version is None else Version.parse(version))


def test_tags_of_a_registry(tmp_path: Any) -> None:
    with Registry() as registry:
        for tag in ("1.0.0", "v1.1.0", "1.1.0_build.7", "latest"):
            registry.push_module("acme/vpc", tag, {"main.tf": tag})
        project = Project(tmp_path / "other")
        project.wants("")
        for constraint, tag in (("~> 1.0, != 1.1.0", "1.0.0"), ("1.1.0+build.7", "1.1.0_build.7")):
            target = _select(project, _entry(constraint, f"oci://{registry.host}/acme/vpc"))
            assert isinstance(target, Target), target
            assert target.address.package.arguments["tag"] == tag


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("oci://{host}/acme/vpc", id="oci"),
        pytest.param("git::https://{host}/acme/vpc", id="git"),
        pytest.param("tfr://{host}/acme/vpc/any", id="a registry"),
    ],
)
def test_offline_no_version_can_be_chosen(source: str, tmp_path: Any) -> None:
    """Also where the repository was asked and fetched before: its packages are kept, and the list is not."""
    with Registry() as registry:
        registry.push_module("acme/vpc", "1.0.0", {"main.tf": "1"})
        cache = tmp_path / "cache"
        online = Project(tmp_path / "online", use_cache=True, cache_dir=cache)
        online.wants(f'[modules.vpc]\nsource = "oci://{registry.host}/acme/vpc"\nversion = "~> 1.0"\n')
        assert online.client.install(online.directory).failures == ()
        registry.forget_requests()
        project = Project(tmp_path / "offline", use_cache=True, cache_dir=cache, offline=True)
        project.wants("")
        repository = source.format(host=registry.host)
        error = _select(project, _entry("~> 1.0", repository))
        assert not registry.requests
    assert isinstance(error, OfflineError), error
    assert error.code == "offline"
    assert error.message.endswith(": which versions there are cannot be found out")
    assert repository in str(error.address)
    assert str(cache) in error.message
    assert "not in the cache" not in str(error)
    assert "lists of versions are not kept" in (error.hint or "")
    assert error.address is not None
