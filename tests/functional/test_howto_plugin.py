"""The examples of the page about plugins work as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import responses

from getmodules import Client, Context, Member, Members, Pin, VerificationError, Want, hookimpl
from getmodules.testing import zip_of
from tests.support.checkout import DOCS, ROOT
from tests.support.refusals import refusal

PAGE = DOCS / "how-to" / "write-a-plugin.rst"
#: The examples in the order of the page; a test of the getter follows it.
RESOLVE, VERIFIER, GETTER = range(3)


def blocks() -> list[str]:
    page = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^( *)\.\. code-block:: python\n\n((?:\1    .*\n|\n)+)", page, re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


def test_a_verifier_judges_pins_before_anything_is_fetched(tmp_path: Path) -> None:
    verifier = ModuleType("getmodules_only_ours")
    exec(blocks()[VERIFIER], vars(verifier))
    (tmp_path / "theirs").mkdir()
    with Client(environ={"GETMODULES_PLUGINS": ""}, plugins=[verifier]) as client:
        refusal(VerificationError, "verification", client.get, str(tmp_path / "theirs"), tmp_path / "dest")
        assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
        with responses.RequestsMock() as server:
            server.get("https://modules.acme.example/vpc.zip", body=zip_of({"main.tf": b"# vpc"}))
            installed = client.get("https://modules.acme.example/vpc.zip", tmp_path / "vpc")
    assert [(each.check, each.value) for each in installed.evidence] == [("only-ours", "from modules.acme.example")]


def test_a_getter_that_asks_a_server_is_tested_with_responses(tmp_path: Path) -> None:
    plugin, test = blocks()[GETTER:]
    (tmp_path / "getmodules_acme.py").write_text(plugin, encoding="utf-8")
    (tmp_path / "test_acme.py").write_text(test, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


class Getter:
    schemes = ("acme",)
    arguments = ("version",)

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Members:
        return Members((Member(f"{pin.id}.tf"),))


def test_resolve_pins_with_an_argument(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(blocks()[RESOLVE], names)
    pinning = type("Pinning", (Getter,), {"resolve": names["resolve"]})()
    plugin = SimpleNamespace(getmodules_getters=hookimpl(lambda: (pinning,)))
    with Client(environ={"GETMODULES_PLUGINS": ""}, plugins=[plugin]) as client:
        resolved = client.resolve("acme://vpc")
        assert (resolved.pinned, resolved.id) == ("acme://vpc?version=17", "v17")
        client.get(resolved.pinned, tmp_path / "vpc")
    assert [path.name for path in (tmp_path / "vpc").iterdir()] == ["v17.tf"]


#: What a checker of types must take besides: the rest of what a getter over HTTP is given.
TYPED = """
from collections.abc import Iterable

from getmodules.api import (
    Call, Context, Elsewhere, FullGetter, Getter, HttpAnswer, HttpDownload, HttpSession, PackageAddress, Pin, Secret,
    Verifier,
)


def ask(session: HttpSession, context: Context) -> Elsewhere | None:
    secret = Secret(context.environ.get("ACME_SIGNATURE", ""))
    answer: HttpAnswer = session.request("GET", "https://h/x", context, secret_headers={"X-Signature": secret})
    again: HttpAnswer = session.send(Call(method="HEAD", url="https://h/x"), context)
    body: HttpDownload = session.download("https://h/x", context, secret_headers={"X-Signature": secret})
    rest: Iterable[bytes] | None = body.rest(1)
    again.close()
    return Elsewhere(address=answer.headers["Location"]) if rest is None else None


verifiers: Iterable[Verifier] = getmodules_verifiers()
getters: Iterable[Getter] = getmodules_getters()
"""


@pytest.mark.slow
def test_the_plugins_of_the_page_are_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = "\n".join((blocks()[VERIFIER], blocks()[GETTER], TYPED))
    (tmp_path / "plugin.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path, "plugin.py"],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
