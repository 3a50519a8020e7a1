"""What surrounds a get does not change it, and it changes nothing around it: variables, hooks, settings, processes."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from getmodules import Client, ConfigError, Phase, Progress, UnsafeContentError
from tests.support.commandline import COMMAND, PATIENCE, run_on_terminal
from tests.support.gitplaces import Place, processes_of
from tests.support.gitrepos import Gitlink, Repository, modules
from tests.support.gitservers import GitServer, git_http
from tests.support.processes import ORDINARY
from tests.support.snapshots import snapshot
from tests.support.tools import need
from tests.support.waiting import wait_until

SECRET = "s3cr3t-t0ken-f0r-all"
FILES = {"main.tf": b"# main\n", "sub/a.tf": b"# a\n"}


@pytest.fixture
def server(place: Place) -> Iterator[GitServer]:
    lib = place.repository("lib").commit_files({"lib.tf": b"# lib\n"})
    place.repository().commit_files(
        {**FILES, ".gitmodules": modules(lib={"path": "lib", "url": "../lib.git"}), "lib": Gitlink(lib)}
    )
    with git_http(place.root) as running:
        yield running


def command(place: Place, *argv: str | Path, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """``getmodules …`` in a child with the place's environment."""
    return subprocess.run(
        [COMMAND, *argv], capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=cwd or place.work,
        env={**place.environ, **more}, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def installed_well(place: Place) -> bool:
    files = place.files()
    return {**FILES, "lib/lib.tf": b"# lib\n"}.items() <= files.items()


def evil(place: Place) -> Path:
    """A program that leaves a trace when it is run, whatever it is run as."""
    directory = place.home / "evil"
    directory.mkdir(exist_ok=True)
    for name in ("evil", "git", "git-remote-http", "git-upload-pack", "git-index-pack", "post-checkout"):
        program = directory / name
        program.write_text(f"#!/bin/sh\ntouch {place.home}/executed\nexit 1\n")
        program.chmod(0o755)
    return directory


@pytest.fixture
def caller(place: Place) -> Path:
    """Somebody's own work tree, made by git, with a change that is not committed."""
    directory = place.home / "caller"
    git = need("git")
    environment = {**place.environ, "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*arguments: str) -> None:
        subprocess.run([git, "-C", directory, *arguments], check=True, env=environment, capture_output=True)

    directory.mkdir()
    run("init", "-q", "-b", "main")
    (directory / "own").write_text("own\n")
    run("add", "own")
    run("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "own")
    (directory / "own").write_text("changed\n")
    return directory


# --------------------------------------------------------------------------------------------- variables

#: By row: variables with ``{caller}`` (the caller's repository) and ``{evil}`` (a directory of evil programs).
VARIABLES = {
    "what a hook sets": {
        "GIT_DIR": "{caller}/.git",
        "GIT_WORK_TREE": "{caller}",
        "GIT_INDEX_FILE": "{caller}/.git/index",
        "GIT_PREFIX": "",
        "GIT_COMMON_DIR": "{caller}/.git",
    },
    "a relative directory": {"GIT_DIR": ".git"},
    "objects": {
        "GIT_OBJECT_DIRECTORY": "{caller}/.git/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "{caller}/.git/objects",
        "GIT_QUARANTINE_PATH": "{caller}/.git/objects",
        "GIT_SHALLOW_FILE": "{caller}/.git/shallow",
        "GIT_GRAFT_FILE": "{caller}/own",
        "GIT_REPLACE_REF_BASE": "refs/heads/",
        "GIT_NAMESPACE": "evil",
        "GIT_DEFAULT_HASH": "sha256",
    },
    "programs": {
        "GIT_EXEC_PATH": "{evil}",
        "GIT_SSH": "{evil}/evil",
        "GIT_PROXY_COMMAND": "{evil}/evil",
        "GIT_ASKPASS": "{evil}/evil",
        "SSH_ASKPASS": "{evil}/evil",
        "GIT_PAGER": "{evil}/evil",
        "GIT_EDITOR": "{evil}/evil",
        "GIT_EXTERNAL_DIFF": "{evil}/evil",
        "GIT_TEMPLATE_DIR": "{evil}",
    },
    "settings": {
        "GIT_CONFIG_COUNT": "4",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": "{evil}/evil",
        "GIT_CONFIG_KEY_1": "core.hooksPath",
        "GIT_CONFIG_VALUE_1": "{evil}",
        "GIT_CONFIG_KEY_2": "url.ext::{evil}/evil.insteadOf",
        "GIT_CONFIG_VALUE_2": "http://",
        "GIT_CONFIG_KEY_3": "protocol.ext.allow",
        "GIT_CONFIG_VALUE_3": "always",
    },
    "settings as git hands them on": {"GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='{evil}/evil' 'core.bare'='false'"},
    "settings that are broken": {"GIT_CONFIG_COUNT": "x", "GIT_CONFIG_PARAMETERS": "'"},
    "transports": {"GIT_ALLOW_PROTOCOL": "ext", "GIT_PROTOCOL_FROM_USER": "1", "GIT_PROTOCOL": "version=9"},
    "no transports": {"GIT_ALLOW_PROTOCOL": "", "GIT_HTTP_LOW_SPEED_LIMIT": "x"},
    "traces": dict.fromkeys(
        ("GIT_TRACE", "GIT_TRACE_PACKET", "GIT_TRACE_CURL", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE_REFS"),
        "{caller}/trace",
    ),
    "talk": {"GIT_CURL_VERBOSE": "1", "GIT_TERMINAL_PROMPT": "1", "GIT_TRANSFER_TRACE": "1", "GIT_FLUSH": "0"},
    "how paths are read": {
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_GLOB_PATHSPECS": "1",
        "GIT_CEILING_DIRECTORIES": "/",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM": "x",
        "GIT_ATTR_SOURCE": "HEAD",
    },
    "a language": {"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"},
    "no home": {"HOME": ""},
}  # fmt: skip


#: What is got, by turns: each row of variables or settings meets one of them, and each of them many rows.
SOURCES = ("git::{url}/a.git", "git::{url}/a.git//sub", "git::file://{root}/a.git")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "source"), [(row, SOURCES[number % len(SOURCES)]) for number, row in enumerate(VARIABLES)]
)
def test_no_variable_of_git_has_any_effect(
    row: str, source: str, place: Place, server: GitServer, caller: Path
) -> None:
    variables = {
        name.format(evil=evil(place)): value.format(caller=caller, evil=evil(place))
        for name, value in VARIABLES[row].items()
    }
    before = snapshot(caller)
    source = source.format(url=server.url, root=place.root)
    done = command(place, "get", source, place.dest, "--json", cwd=caller, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert installed_well(place) if "//sub" not in source else place.files() == {"a.tf": b"# a\n"}
    assert snapshot(caller) == before
    assert not (place.home / "executed").exists()


def test_inside_a_hook_of_the_callers_repository(place: Place, server: GitServer, caller: Path) -> None:
    """go-getter, run by one, detaches the HEAD of the caller's own repository."""
    hook = caller / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nexec {COMMAND} get 'git::{server.url}/a.git?ref=main' {place.dest} --json\n")
    hook.chmod(0o755)
    commit = ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-a", "-m", "more"]
    done = subprocess.run(
        [need("git"), "-C", caller, *commit], env=place.environ, capture_output=True, text=True, timeout=PATIENCE,
        check=True,
    )  # fmt: skip
    assert installed_well(place), done.stderr
    assert (caller / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert set(os.listdir(caller)) == {".git", "own"}
    assert not (caller / ".git" / "FETCH_HEAD").exists()
    assert not (caller / ".git" / "shallow").exists()


# --------------------------------------------------------------------------------------------- settings

SETTINGS = {
    "hooks": "[core]\n\thooksPath = {evil}\n",
    "a monitor": "[core]\n\tfsmonitor = {evil}/evil\n",
    "templates": "[init]\n\ttemplateDir = {evil}\n",
    "ext allowed": '[protocol]\n\tallow = always\n[protocol "ext"]\n\tallow = always\n',
    "submodules": "[submodule]\n\trecurse = true\n[fetch]\n\trecurseSubmodules = true\n",
    "pruning, tags, graphs": "[fetch]\n\tprune = true\n\twriteCommitGraph = true\n[remote]\n\tpushDefault = x\n",
    "housekeeping": "[gc]\n\tauto = 1\n[maintenance]\n\tauto = true\n\tstrategy = incremental\n",
    "names in other hashes": "[init]\n\tdefaultObjectFormat = sha256\n\tdefaultBranch = evil\n",
    "ends of lines": "[core]\n\tautocrlf = true\n\tsafecrlf = true\n\tquotePath = true\n\tprecomposeUnicode = true\n",
    "a prompt": "[core]\n\taskPass = {evil}/evil\n",
    "colours and pagers": "[color]\n\tui = always\n[core]\n\tpager = {evil}/evil\n[pager]\n\tfetch = true\n",
    "lazy in another way": "[fetch]\n\tunpackLimit = 1000000\n\tnegotiationAlgorithm = skipping\n",
    "no partial clones": "[core]\n\trepositoryFormatVersion = 0\n[promisor]\n\tquiet = true\n",
    "bundles": "[transfer]\n\tbundleURI = true\n\thideRefs = refs/heads\n[fetch]\n\tbundleURI = http://127.0.0.1:1/x\n",
    "an old protocol": "[protocol]\n\tversion = 0\n",
    "aliases": "[alias]\n\tfetch = !{evil}/evil\n\tls-remote = !{evil}/evil\n\tcat-file = !{evil}/evil\n",
}


@pytest.mark.slow
@pytest.mark.parametrize(("row", "source"), [(row, SOURCES[number % 2]) for number, row in enumerate(SETTINGS)])
def test_the_users_settings_do_no_harm(row: str, source: str, place: Place, server: GitServer) -> None:
    (place.home / ".gitconfig").write_text(SETTINGS[row].replace("{evil}", str(evil(place))))
    place.get(source.format(url=server.url))
    assert installed_well(place) if "//sub" not in source else place.files() == {"a.tf": b"# a\n"}
    assert not (place.home / "executed").exists()


def test_the_settings_of_a_repository_on_this_machine_do_no_harm(place: Place, server: GitServer) -> None:
    repository = place.root / "a.git"
    commands = evil(place)
    with (repository / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {commands}/evil\n\thooksPath = {commands}\n\tsshCommand = {commands}/evil\n"
            f"\talternateRefsCommand = {commands}/evil\n"
            f"[uploadpack]\n\tpackObjectsHook = {commands}/evil\n[credential]\n\thelper = {commands}/evil\n"
            f'[remote "getmodules"]\n\tuploadpack = {commands}/evil\n'
        )
    hooks = repository / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-upload-pack", "pre-receive"):
        (hooks / name).symlink_to(commands / "evil")
    before = snapshot(repository)
    place.get(place.file_url())
    assert installed_well(place)
    assert not (place.home / "executed").exists()
    assert snapshot(repository) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_a_repository_of_somebody_else_on_this_machine(place: Place, server: GitServer) -> None:
    """git reads it only where the user has said so, since its configuration is somebody else's."""
    for path in (place.root / "lib.git", *(place.root / "lib.git").rglob("*")):
        os.chown(path, ORDINARY, ORDINARY)
    error = place.refused(place.file_url("lib"), ConfigError, "config")
    assert "safe.directory" in str(error.hint)
    (place.home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {place.root}/lib.git\n")
    place.get(place.file_url("lib"))
    assert place.files() == {"lib.tf": b"# lib\n"}


def test_alternates_of_a_repository_on_this_machine(place: Place) -> None:
    """``git clone --shared`` makes such: its objects are elsewhere, and are read there."""
    other = place.repository("other")
    commit = other.commit_files(FILES)
    repository = place.repository()
    (repository.path / "objects" / "info" / "alternates").write_text(f"{other.path}/objects\n")
    repository.branch(commit)
    place.get(place.file_url())
    assert place.files() == FILES


@pytest.mark.parametrize("transport", ["ext", "fd"])
def test_commands_are_no_transport_also_where_the_user_allows_them(
    transport: str, place: Place, server: GitServer
) -> None:
    """git would take the user's word for one of them before ours for all."""
    canary = place.top / "canary"
    (place.home / ".gitconfig").write_text(
        f'[protocol "{transport}"]\n\tallow = always\n'
        f'[url "{transport}::touch {canary} %S "]\n\tinsteadOf = {server.url}/\n'
    )
    place.refused(f"git::{server.url}/a.git", UnsafeContentError, "unsafe-content/elsewhere")
    assert not canary.exists()


# --------------------------------------------------------------------------------------------- secrets


@pytest.mark.slow
@pytest.mark.parametrize("where", ["environment", "address", "helper", "rule", "rule for all of it", "token in a rule"])
@pytest.mark.parametrize("outcome", ["let in", "refused"])
@pytest.mark.parametrize("suffix", ["", "//sub"], ids=["whole", "subdirectory"])
def test_no_secret_in_any_command_line_or_file(
    where: str, outcome: str, suffix: str, place: Place, server: GitServer
) -> None:
    """Each program that is started, and each byte that is written to a file, as the kernel sees them."""
    strace = need("strace")
    server.behave(basic=("ada", SECRET if outcome == "let in" else "another"))
    host = server.url.removeprefix("http://")
    source = f"git::http://{host}/a.git{suffix}"
    variables = {}
    if where == "environment":
        name = f"127_0_0_1_{server.port}"
        variables = {f"GETMODULES_TOKEN_{name}": SECRET, f"GETMODULES_USERNAME_{name}": "ada"}
    elif where == "address":
        source = source.replace("//", f"//ada:{SECRET}@", 1)
    elif "rule" in where:
        login = SECRET if "token" in where else f"ada:{SECRET}"
        if "token" in where:
            server.behave(basic=(SECRET if outcome == "let in" else "another", ""))
        places = ("a.git", "lib.git") if where == "rule for all of it" else ("",)
        rules = (f'[url "http://{login}@{host}/{each}"]\n\tinsteadOf = http://{host}/{each}\n' for each in places)
        (place.home / ".gitconfig").write_text("".join(rules))
    else:
        program, kept = place.home / "helper", place.home / "kept"
        kept.write_text(f"username=ada\npassword={SECRET}\n")
        program.write_text(f'#!/bin/sh\n[ "$1" = get ] && cat {kept}\n')
        program.chmod(0o755)
        (place.home / ".gitconfig").write_text(f"[credential]\n\thelper = {program}\n")
    log = place.top / "strace.log"
    done = subprocess.run(
        [strace, "-f", "-y", "-s", "65536", "-e", "trace=execve,write,pwrite64,writev", "-o", log,
         COMMAND, "get", source, place.dest, "--json", "-v"],
        env={**place.environ, **variables}, capture_output=True, text=True, timeout=PATIENCE, check=False,
        stdin=subprocess.DEVNULL, cwd=place.work,
    )  # fmt: skip
    assert done.returncode == (0 if outcome == "let in" else 4), done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr
    trace = log.read_text(errors="replace")
    assert "git-remote-http" in trace
    assert list(leaks(trace, own=source)) == []
    log.unlink()


def leaks(trace: str, own: str) -> Iterator[str]:
    """Lines of strace's in which the secret is an argument, or goes into a file; what the user typed aside."""
    for line in trace.splitlines():
        if SECRET not in line:
            continue
        written = re.search(r"(?:p?write(?:64|v)?)\((\d+)<([^>]*)>", line)
        if written is None:
            if own not in line:
                yield line
        elif written[2].startswith("/") and not written[2].startswith("/dev/"):
            yield line


# --------------------------------------------------------------------------------------------- processes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes(number: signal.Signals, place: Place, server: GitServer) -> None:
    server.behave(drip=0.2)
    child = subprocess.Popen(
        [COMMAND, "get", f"git::{server.url}/a.git", place.dest], env=place.environ, cwd=place.work,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: server.packs > 0, "it never asked for a pack")
    assert any("git" in line for line in processes_of(place.home))
    child.send_signal(number)
    _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode in (130, 143, -number), err
    assert "Traceback" not in err
    place.nothing_is_left()
    assert os.listdir(place.work) == []


@pytest.mark.slow
def test_killed_it_leaves_no_process_and_the_next_run_works(place: Place, server: GitServer) -> None:
    """git notices that its parent is gone when it writes to it; what it left half done is no obstacle."""
    server.behave(drip=0.05)
    child = subprocess.Popen(
        [COMMAND, "get", f"git::{server.url}/a.git", place.dest, "-q"], env=place.environ, cwd=place.work
    )
    wait_until(lambda: server.packs > 0, "it never asked for a pack")
    child.kill()
    child.wait()
    server.behave(drip=None)
    done = command(place, "get", f"git::{server.url}/a.git", place.dest, "--json")
    assert done.returncode == 0, done.stdout
    assert installed_well(place)
    assert [name for name in os.listdir(place.work) if name != "dest"] == []
    wait_until(lambda: not processes_of(place.home), lambda: f"{processes_of(place.home)}")


def test_cancelling_ends_it(place: Place, server: GitServer) -> None:
    """An exception in the program's own progress is how it says: enough."""

    class EnoughError(Exception):
        pass

    class Impatient(Progress):
        def phase(self, package: str, phase: Phase, total: int | None = None) -> None:
            if phase is Phase.DOWNLOADING:
                raise EnoughError

    with Client(environ=place.environ, progress=Impatient()) as client, pytest.raises(EnoughError):
        client.get(f"git::{server.url}/a.git", place.dest)
    place.nothing_is_left()
    assert os.listdir(place.work) == []


@pytest.mark.slow
def test_a_helper_that_hangs_is_ended_with_all_its_children(place: Place, server: GitServer) -> None:
    server.behave(basic=("ada", SECRET))
    program = place.home / "helper"
    program.write_text("#!/bin/sh\nsleep 1000 &\nsleep 1001\n")
    program.chmod(0o755)
    (place.home / ".gitconfig").write_text(f"[credential]\n\thelper = {program}\n")
    done = command(place, "get", f"git::{server.url}/a.git", place.dest, "--json", "--limit", "seconds=3")
    assert json.loads(done.stdout)["error"]["code"] == "network/timeout"
    place.nothing_is_left()


def test_it_never_talks_to_the_terminal(place: Place, server: GitServer) -> None:
    """With a terminal at hand, git and ssh would ask there; what asks for a password waits for nobody."""
    server.behave(basic=("ada", SECRET))
    result = run_on_terminal(
        "get", f"git::{server.url}/a.git", place.dest, "--limit", "seconds=20", cwd=place.work, **place.environ
    )
    assert result.code == 4, result
    assert "Username for" not in result.err.replace("could not read Username for", "")


def test_progress_of_a_large_repository_is_told(place: Place) -> None:
    Repository(place.root / "big.git").commit_files({"noise": random.Random(8).randbytes(3_000_000)})
    amounts: list[int] = []

    class Seen(Progress):
        def advance(self, package: str, amount: int) -> None:
            amounts.append(amount)

    with git_http(place.root) as server, Client(environ=place.environ, progress=Seen()) as client:
        client.get(f"git::{server.url}/big.git", place.dest)
    assert sum(amounts) >= 3_000_000
