"""``getmodules cache``."""

from __future__ import annotations

from pathlib import Path

import pytest

from getmodules import Digest
from tests.support.commandline import Result, call
from tests.support.snapshots import snapshot
from tests.support.stores import blobs_of, damage, keep, path_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store with two blobs of 1000 bytes."""
    for content in (b"a" * 1000, b"b" * 1000):
        keep(tmp_path / "store", content)
    return tmp_path / "store"


def cache(root: Path | str, *argv: str) -> Result:
    return call("cache", *argv, environ={"GETMODULES_CACHE_DIR": str(root)})


def test_info(root: Path) -> None:
    result = cache(root, "info")
    assert (result.code, result.err) == (0, "")
    assert result.out == f"{root}\n2 packages, 0 repositories, 0 records; 2,000 bytes\n"
    assert cache(root, "info", "--json").object == {
        "path": str(root), "writable": True, "blobs": 2, "workshops": 0, "records": 0, "bytes": 2000,
        "partials": 0,
    }  # fmt: skip


def test_verify(root: Path) -> None:
    assert cache(root, "verify") == (0, "as they should be: 2 (2,000 bytes)\n", "")
    digest = Digest.of(b"a" * 1000)
    damage(path_of(root, digest))
    result = cache(root, "verify", "--json")
    assert (result.code, result.object) == (3, {"blobs": 1, "bytes": 1000, "damaged": [str(digest)]})
    assert not path_of(root, digest).exists()
    assert cache(root, "verify").code == 0


def test_prune_and_clean(root: Path) -> None:
    assert cache(root, "prune", "--max-size", "1500", "--json").object == {"removed": 1, "freed": 1000, "bytes": 1000}
    assert cache(root, "prune", "--older-than", "1d", "--json").object == {"removed": 0, "freed": 0, "bytes": 1000}
    assert cache(root, "clean") == (0, "removed 1,000 bytes: 1 packages and repositories; 0 bytes stay\n", "")
    assert blobs_of(root) == []


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        pytest.param(["dance"], "there is no cache dance", id="an unknown action"),
        pytest.param([], "ACTION", id="no action"),
        pytest.param(["prune"], "needs --max-size, --older-than, or both", id="prune without bounds"),
        pytest.param(["clean", "--max-size", "1"], "takes no --max-size", id="clean with a bound"),
        pytest.param(["prune", "--max-size", "lots"], "takes a size, not 'lots'", id="no size"),
        pytest.param(["prune", "--max-size=-1"], "takes a size, not '-1'", id="a negative size"),
        pytest.param(["prune", "--older-than", "30"], "takes an age, not '30'", id="an age without a unit"),
        pytest.param(["prune", "--older-than", "٣d"], "takes an age", id="other digits"),
        pytest.param(["info", "more"], "more", id="too many words"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_done(root: Path, argv: list[str], words: str) -> None:
    before = snapshot(root)
    result = cache(root, *argv)
    assert result.code == 2
    assert words in result.err
    assert snapshot(root) == before


def test_without_a_cache() -> None:
    assert cache("", "info") == (0, "there is no cache\n", "")
    assert cache("", "info", "--json").object["path"] is None
    for action in (["verify"], ["clean"], ["prune", "--max-size", "0"]):
        result = cache("", *action)
        assert result.code == 2
        assert "GETMODULES_CACHE_DIR" in result.err


def test_a_store_that_must_not_be_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis").touch()
    result = cache(tmp_path, "clean")
    assert result.code == 2
    assert "is not a cache of getmodules" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]
    assert cache("relative", "info").code == 2
