"""``getmodules completion``: what the real shells offer, with nothing but themselves."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from getmodules.cli.main import COMMANDS
from tests.support.commandline import call
from tests.support.tools import need
from tests.support.waiting import PATIENCE

Complete = Callable[[str, Path], set[str]]

MANIFEST = """\
registry = "x"
[modules.vpc]
source = "./src"
  [ modules . "quo-ted" ]  # a comment
source = "[modules.no]"
# [modules.commented]
[modules.net]
[hosts.h]
[modules.crlf]\r
[modules.last]"""
MODULES = {"vpc", "quo-ted", "net", "crlf", "last"}
#: No program can be found.
NOTHING = {"PATH": "/nonexistent", "LC_ALL": "C.UTF-8", "TERM": "xterm"}


def _script(shell: str, tmp_path: Path) -> Path:
    done = call("completion", shell)
    assert (done.code, done.err) == (0, "")
    path = tmp_path / f"_getmodules.{shell}"
    path.write_text(done.out)
    return path


def _run(argv: list[str], cwd: Path) -> set[str]:
    done = subprocess.run(
        argv,
        cwd=cwd,
        env={**NOTHING, "HOME": str(cwd.parent)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stderr == ""
    return {line.partition("\t")[0] for line in done.stdout.splitlines() if line}


def bash(line: str, cwd: Path) -> set[str]:
    # As readline does: = and : are words of their own.
    words = [word for word in re.split(r"\s+|(=|:)", line) if word] + ([""] if line.endswith(" ") else [])
    code = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _getmodules; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return _run([need("bash"), "--norc", "-c", code, "-", str(_script("bash", cwd.parent)), *words], cwd)


def fish(line: str, cwd: Path) -> set[str]:
    script = _script("fish", cwd.parent)
    offered = _run([need("fish"), "-N", "-c", f"source {script}; complete -C '{line}'"], cwd)
    return {word.rpartition("=")[2] for word in offered}


ZSH = """\
autoload -U compinit; compinit -u -D
source {script}
compadd () {{
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
    local -a hits; builtin compadd -A hits "$@"; print -rl -- "${{hits[@]/#/<hit>}}"
    builtin compadd "$@"
}}
null-line () {{ print; print '<end>' }}
zle -N null-line; bindkey '^M' null-line; bindkey '^J' null-line
zstyle ':completion:*' list-grouped false; zstyle ':completion:*' insert-tab false
unsetopt auto_menu beep; setopt list_ambiguous
PS1=''; print '<ready>'
"""


def zsh(line: str, cwd: Path) -> set[str]:
    """Type the line and a tab into a shell at a terminal, and return what is added to the list of matches."""
    rc = cwd.parent / ".zshrc"
    rc.write_text(ZSH.format(script=_script("zsh", cwd.parent)))
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [need("zsh"), "-i"], cwd=cwd, env={**NOTHING, "HOME": str(rc.parent)}, stdin=theirs, stdout=theirs,
        stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        _read_until(ours, b"<ready>")
        os.write(ours, line.encode() + b"\t\r")
        said = _read_until(ours, b"<end>\r\n")
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    return set(re.findall(r"<hit>([^\s\x1b]+)", said.decode()))


def _read_until(terminal: int, mark: bytes) -> bytes:
    said, began = b"", time.monotonic()
    while mark not in said:
        assert time.monotonic() < began + PATIENCE, said
        if select.select([terminal], [], [], 0.1)[0]:
            said += os.read(terminal, 1 << 16)
    return said


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    (directory / "below" / "here").mkdir(parents=True)
    (directory / "other").mkdir()
    (directory / "getmodules.toml").write_text(MANIFEST)
    (directory / "other" / "getmodules.toml").write_text("[modules.elsewhere]\n")
    (directory / "a.pem").write_text("")
    return directory


SHELLS = pytest.mark.parametrize("complete", [bash, zsh, fish])


@SHELLS
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        pytest.param("getmodules ", set(COMMANDS), id="commands"),
        pytest.param("getmodules inst", {"install"}, id="a command"),
        pytest.param("getmodules help inst", {"install"}, id="a command as an argument"),
        pytest.param("getmodules install ", MODULES, id="modules"),
        pytest.param("getmodules install --locked vpc n", {"net"}, id="the second module"),
        pytest.param("getmodules remove v", {"vpc"}, id="module to remove"),
        pytest.param("getmodules verify -q --json l", {"last"}, id="module to verify"),
        pytest.param("getmodules lock --upgrade q", {"quo-ted"}, id="module to upgrade"),
        pytest.param("getmodules install --progress p", {"plain"}, id="a fixed value"),
        pytest.param("getmodules install --progress=p", {"plain"}, id="a fixed value behind ="),
        pytest.param("getmodules get --progress ", {"auto", "plain", "none"}, id="all fixed values"),
        pytest.param("getmodules cache ", {"info", "verify", "prune", "clean"}, id="actions"),
        pytest.param("getmodules auth ", {"check"}, id="the only action"),
        pytest.param("getmodules completion z", {"zsh"}, id="shells"),
        pytest.param("getmodules install --manifest other ", {"elsewhere"}, id="modules of another manifest"),
        pytest.param("getmodules install --ca-file a.p", {"a.pem"}, id="a file"),
        pytest.param("getmodules install --jobs ", set(), id="what nobody knows"),
        pytest.param("getmodules add v", set(), id="a new name"),
    ],
)
def test_what_is_offered(complete: Complete, line: str, offered: set[str], project: Path) -> None:
    assert complete(line, project) == offered


@SHELLS
def test_the_options_of_the_parser_are_offered(complete: Complete, project: Path) -> None:
    for command in ("get", "install", "completion"):
        shown = set(re.findall(r"^  (?:-\w, |-\w \w+, )?(--[a-z-]+)", call(command, "--help-all").out, re.MULTILINE))
        assert {"--help", "--help-all"} <= shown
        assert complete(f"getmodules {command} --", project) == shown
    assert complete("getmodules --vers", project) == {"--version"}


@SHELLS
def test_the_manifest_is_looked_for_upwards(complete: Complete, project: Path) -> None:
    assert complete("getmodules install ", project / "below" / "here") == MODULES


@SHELLS
def test_without_a_manifest_there_are_no_modules(complete: Complete, project: Path) -> None:
    (project / "getmodules.toml").unlink()
    assert complete("getmodules install ", project / "below") == set()


def test_another_shell() -> None:
    refused = call("completion", "tcsh")
    assert (refused.code, refused.out) == (2, "")
    assert "there is no completion for 'tcsh'" in refused.err
    assert "one of: bash, zsh, fish" in refused.err


def test_what_is_not_shown_is_not_offered() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "--password " not in call("completion", shell).out.replace("=", " ")
