"""The installed plugin as users have it; what is not in its source comes from getmodules."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from getmodules_example import PACKAGES, ExampleDetector, ExampleGetter, zip_of

import getmodules
from getmodules import Client, GetModulesError, Limits, Progress


@pytest.fixture
def client() -> Client:
    """Return a client that has only this plugin, whatever is installed here."""
    return Client(environ={"GETMODULES_PLUGINS": "getmodules-example"})


def _files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def _refused(tmp_path: Path, client: Client, source: str, **more: object) -> GetModulesError:
    """Return the error, after checking that nothing was left behind."""
    with pytest.raises(GetModulesError) as caught:
        client.get(source, tmp_path / "dest", **more)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    return caught.value


def test_it_is_installed_and_loads(client: Client) -> None:
    assert [entry.value for entry in entry_points(group="getmodules", name="example")] == ["getmodules_example"]
    (plugin,) = (each for each in client.catalog.plugins if each.name == "example")
    assert plugin.distribution == "getmodules-example"
    assert plugin.error is None
    assert client.catalog.getter("example").schemes == ("example",)


@pytest.mark.parametrize("source", ["example://hello", "example://hello.zip"], ids=["members", "archive"])
def test_a_package_is_installed(tmp_path: Path, client: Client, source: str) -> None:
    installed = client.get(source, tmp_path / "dest")
    assert _files(tmp_path / "dest") == PACKAGES["hello"]
    assert installed.h1 == getmodules.hash_tree(tmp_path / "dest")


# --------------------------------------------------------------------------- what the detector does


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("hello:world", "example://hello//modules/world"),
        ("examples/hello/moon", "example://hello//modules/moon"),
        ("hello:world//deeper", "example://hello//modules/world/deeper"),
        ("example://hello", "example://hello"),
    ],
)
def test_shorthand(client: Client, source: str, address: str) -> None:
    assert str(client.detect(source)) == address
    assert str(client.detect(address)) == address


def test_shorthand_goes_round_until_it_is_a_url(client: Client) -> None:
    steps = client.explain("hello:world").steps
    assert [step.address for step in steps] == ["examples/hello/world", "example://hello//modules/world"]


def test_other_shorthand_is_left_to_others(client: Client) -> None:
    assert str(client.detect("github.com/acme/hello")) == "git::https://github.com/acme/hello.git"


# --------------------------------------------------------------------------- what the core does


def test_a_subdirectory(tmp_path: Path, client: Client) -> None:
    client.get("hello:world", tmp_path / "dest")
    assert _files(tmp_path / "dest") == {"main.tf": PACKAGES["hello"]["modules/world/main.tf"]}


def test_a_subdirectory_that_is_not_there(tmp_path: Path, client: Client) -> None:
    assert _refused(tmp_path, client, "hello:mars").code == "subdirectory-not-found"


def test_an_archive_is_pinned_and_its_pin_holds(tmp_path: Path, client: Client) -> None:
    first = client.get("example://hello.zip", tmp_path / "first")
    assert first.pinned == f"example://hello.zip?checksum={first.id}"
    again = client.get(first.pinned, tmp_path / "again", expect=first.id)
    assert (again.id, again.h1) == (first.id, first.h1)


def test_what_is_expected_must_come(tmp_path: Path, client: Client) -> None:
    good = client.get("hello:world", tmp_path / "good").h1
    (tmp_path / "inner").mkdir()
    client.get("hello:world", tmp_path / "inner" / "dest", expect=good)
    (tmp_path / "other").mkdir()
    assert _refused(tmp_path / "other", client, "hello:moon", expect=good).code == "digest-mismatch"
    wrong = "sha256:" + "0" * 64
    assert _refused(tmp_path / "other", client, "example://hello.zip", expect=wrong).code == "digest-mismatch"
    assert _refused(tmp_path / "other", client, f"example://hello.zip?checksum={wrong}").code == "digest-mismatch"


@pytest.mark.parametrize(
    ("source", "limits", "code"),
    [
        ("example://hello", Limits(entries=2), "limit-exceeded/entries"),
        ("example://hello", Limits(file_bytes=10), "limit-exceeded/file-bytes"),
        ("example://hello.zip", Limits(total_bytes=10), "limit-exceeded/total-bytes"),
        ("example://hello.zip", Limits(download_bytes=10), "limit-exceeded/download-bytes"),
    ],
    ids=["entries", "file", "total", "download"],
)
def test_limits(tmp_path: Path, client: Client, source: str, limits: Limits, code: str) -> None:
    error = _refused(tmp_path, client, source, limits=limits)
    assert error.code == code
    assert "getmodules-example" in error.message, "whoever reads it knows whose package that was"


def test_progress(tmp_path: Path, client: Client) -> None:
    class Counter(Progress):
        done = 0

        def advance(self, package: str, amount: int) -> None:
            self.done += amount

    counter = Counter()
    client.get("example://hello.zip", tmp_path / "dest", progress=counter)
    assert counter.done >= len(zip_of(PACKAGES["hello"]))


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("example://nosuch", "not-found"),
        ("example://hello?version=1", "address"),
        ("example://hello//..", "address"),
        ("example://hello?filename=a", "address"),
    ],
    ids=["unknown", "argument", "dots", "filename"],
)
def test_errors(tmp_path: Path, client: Client, source: str, code: str) -> None:
    assert _refused(tmp_path, client, source).code == code


# --------------------------------------------------------------------------- without an installation


def test_the_objects_work_alone(tmp_path: Path) -> None:
    """Pass the module itself to a client, for quick tests of a plugin."""
    import getmodules_example

    client = Client(environ={"GETMODULES_PLUGINS": ""}, plugins=[getmodules_example])
    assert client.get("hello:world", tmp_path / "dest").files == 1
    assert ExampleGetter.schemes == ("example",)
    assert ExampleDetector().detect(getmodules.Shorthand("other:thing", None, None)) is None
