"""``getmodules push``, into layouts on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commandline import call
from tests.support.snapshots import write_tree

ADDRESS = "oci-layout::./registry?tag=1.0.0"


def test_the_pin_stands_alone_on_stdout_and_brings_the_package_back(here: Path) -> None:
    pushed = call("push", "tree", ADDRESS)
    assert (pushed.code, pushed.err) == (0, "")
    assert pushed.out.startswith(f"oci-layout://{here}/registry?digest=sha256:")
    assert call("get", pushed.out.strip(), "dest").code == 0
    assert call("resolve", ADDRESS).out == pushed.out


def test_what_json_has(here: Path) -> None:
    result = call("push", "tree", ADDRESS, "--json", "--annotation", "a.b=c=d", "--annotation", "e=")
    assert (result.code, result.err) == (0, "")
    pushed = result.object
    assert list(pushed) == [
        "address", "pinned", "id", "digests", "annotations", "files", "size", "sent", "dry_run", "contents",
    ]  # fmt: skip
    assert pushed["pinned"] == f"oci-layout://{here}/registry?digest={pushed['id']}"
    assert set(pushed["digests"]) == {"manifest", "layer"}
    assert pushed["annotations"] == {"a.b": "c=d", "e": "", "org.opencontainers.image.version": "1.0.0"}
    assert pushed["sent"] > 0
    assert call("push", "tree", ADDRESS, "--json", "--annotation", "a.b=c=d", "--annotation", "e=").object["sent"] == 0


def test_a_dry_run_says_the_same_and_writes_nothing(here: Path) -> None:
    tried = call("push", "tree", ADDRESS, "--dry-run")
    assert tried.code == 0
    assert tried.err.endswith("\nnote: a dry run: nothing was published\n")
    assert not (here / "registry").exists()
    assert call("push", "tree", ADDRESS, "--dry-run", "-q") == (0, tried.out, "")
    assert call("push", "tree", ADDRESS).out == tried.out


LISTED = "in the package: 2 files, {size:,} bytes as a zip\n  größe.tf\n  sub/b.tf\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["--dry-run"], LISTED + "note: a dry run: nothing was published\n", id="dry-run"),
        pytest.param(["-v"], LISTED, id="verbose"),
        pytest.param([], "", id="else-not"),
        pytest.param(["-q", "--dry-run"], "", id="nor-quietly"),
        pytest.param(["--json", "--dry-run"], "note: a dry run: nothing was published\n", id="nor-twice"),
    ],
)
def test_what_is_in_it_is_listed(options: list[str], said: str, here: Path) -> None:
    write_tree(here / "module", {"sub/b.tf": "b", "größe.tf": "a"})
    shown = call("push", "module", ADDRESS, "-q", "--json", "--dry-run").object
    assert shown["contents"] == ["größe.tf", "sub/b.tf"]
    result = call("push", "module", ADDRESS, *options)
    assert (result.code, result.err) == (0, said.format(size=shown["size"]))
    assert "--json" in options or result.out.startswith("oci-layout://")


def test_what_may_be_secret_is_left_out_with_a_notice(here: Path) -> None:
    write_tree(here / "module", {"main.tf": "", "terraform.tfstate": "{}", ".env": "PASSWORD=x"})
    result = call("push", "module", ADDRESS)
    assert result.err.startswith(
        "note: left out, since it may be secret: '.env', 'terraform.tfstate' "
        "(!PATTERN in .getmodulesignore takes it in)\n"
    )
    call("get", result.out.strip(), "dest")
    assert [path.name for path in (here / "dest").iterdir()] == ["main.tf"]


def test_a_tag_moves_by_force_only(here: Path) -> None:
    first = call("push", "tree", ADDRESS).out
    (here / "tree" / "more.tf").write_text("#\n")
    refused = call("push", "tree", ADDRESS)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.endswith("code: destination-exists\n")
    assert call("resolve", ADDRESS).out == first
    moved = call("push", "tree", ADDRESS, "--force")
    assert moved.code == 0
    assert call("resolve", ADDRESS).out == moved.out != first


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        pytest.param(["", ADDRESS], "config", id="no-directory"),
        pytest.param(["tree", ADDRESS, "--annotation", "novalue"], "config", id="annotation-without-value"),
        pytest.param(["tree", ADDRESS, "--annotation", "a=1", "--annotation", "a=2"], "config", id="annotation-twice"),
        pytest.param(["tree", ADDRESS, "--annotation", "=x"], "config", id="annotation-without-name"),
        pytest.param(["tree", "oci-layout::./registry"], "address", id="no-tag"),
        pytest.param(["tree", "oci-layout::./registry//sub?tag=1"], "address", id="subdirectory"),
        pytest.param(["tree", "./elsewhere"], None, id="no-registry"),
    ],
)
def test_what_is_wrong_is_known_before_anything_is_written(argv: list[str], code: str | None, here: Path) -> None:
    result = call("push", *argv)
    assert (result.code, result.out) == (2, "")
    assert code is None or result.err.endswith(f"code: {code}\n")
    assert not (here / "registry").exists()


def test_base_is_for_the_address(here: Path) -> None:
    (here / "other").mkdir()
    assert call("push", "tree", ADDRESS, "--base", "other").code == 0
    assert (here / "other" / "registry" / "index.json").is_file()
