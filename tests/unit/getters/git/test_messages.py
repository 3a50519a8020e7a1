"""Who said it: names and servers have many words, and none of them is taken for one of a program on this machine."""

from __future__ import annotations

import time
from urllib.parse import unquote

import pytest

from getmodules.getters.git.errors import FailedCommand, git_error
from getmodules.getters.git.messages import detail, parse_messages

WHAT = "git fetch from ssh://git@h/acme/vpc.git"
#: git ends with this over ssh, whatever it was.
END = (
    "\nfatal: Could not read from remote repository.\n\n"
    "Please make sure you have the correct access rights\nand the repository exists.\n"
)
COMMAND = "ssh -o BatchMode=yes -o ConnectTimeout=15"

# --------------------------------------------------------------------------------------------- who

#: What is heard, and which of it was said on this machine.
WHO = {
    "git": ("fatal: early EOF", "fatal: early EOF"),
    "ssh": ("Host key verification failed.", "Host key verification failed."),
    "ssh in its frame": ("@@@@\n@    WARNING: REVOKED HOST KEY DETECTED!    @", "WARNING: REVOKED HOST KEY DETECTED!"),
    "beside the pack": ("remote: fatal: early EOF\nfatal: x", "fatal: x"),
    "an error of the server": ("error: x\nfatal: remote error: y\nfatal: z", "error: x"),
    "an odd name": ("error: object 12: hasDot: y\nfatal: z", ""),
    "a forge": ("ERROR: x\nFATAL: y\nGitea: z", ""),
    "a warning": ("warning: certificate", ""),
    "a shell with our command": (f"{COMMAND}: 1: Syntax error: x", ""),
    "what git repeats": ("fatal: expected shallow/unshallow, got x", "fatal: expected shallow/unshallow"),
    "what git quotes": ("fatal: protocol error: unexpected 'x'", "fatal: protocol error: "),
    "what is locked": ("error: cannot lock ref 'refs/x/1': Unable to create '/c/1.lock': No space left on device",
                       "error: cannot lock ref '': Unable to create '': No space left on device"),
    "our repository": ("fatal: 'acme/vpc.git' and /acme/vpc and h", "fatal: '' and  and h"),
    "our host": ("ssh: connect to host h port 22: x", "ssh: connect to host  port 22: x"),
    "another repository": ("fatal: 'acme/vpc-eu' https://x/y z", "fatal: ''  z"),
    "somebody": ("fatal: git@x.example: y", "fatal: : y"),
    "a ref": ("fatal: couldn't find remote ref refs/heads/x", "fatal: couldn't find remote ref "),
}  # fmt: skip


@pytest.mark.parametrize(("said", "here"), WHO.values(), ids=WHO)
def test_who_said_it(said: str, here: str) -> None:
    assert parse_messages(said, WHAT).here == here


@pytest.mark.parametrize(
    ("said", "program"),
    [
        pytest.param(f"{COMMAND}: 1: ssh: not found", "ssh", id="with our command"),
        pytest.param(f"remote: {COMMAND}: 1: ssh: not found", None, id="beside the pack"),
        pytest.param("remote: ssh: not found", None, id="beside the pack, alone"),
        pytest.param(f"fatal: remote error: no\n{COMMAND}: 1: ssh: not found", None, id="an error of two lines"),
        pytest.param("ssh: Could not resolve hostname h: No such file or directory", None, id="ssh itself"),
        pytest.param("bash: line 1: git-upload-pack: command not found", None, id="on the server"),
        pytest.param("error: cannot run index-pack: No such file or directory", None, id="another program"),
    ],
)
def test_the_program_that_is_missing(said: str, program: str | None) -> None:
    assert parse_messages(said + END, WHAT).missing == program


# --------------------------------------------------------------------------------------------- names

#: Each of these has words that mean something where a program says them.
NAMES = (
    *("terraform-aws-acm-certificate", "lambda-timeout", "timeout", "safe.directory", "dubious%20ownership", "tls-SSL"),
    *("self-signed", "corrupt", "early%20EOF", "No%20space%20left%20on%20device", "it's%20certificate", "too%20slow"),
    *("Name%20or%20service%20not%20known", "Connection%20timed%20out", "Authentication%20failed", "index-pack"),
    *("not%20our%20ref", "remote%20error:%20", "ssh:%20not%20found", "SAML%20SSO", "rate.limited"),
)
UNABLE = "fatal: unable to access '{url}/': "
NO_REPOSITORY = "does not appear to be a git repository" + END
#: ``{url}`` is the address, ``{path}`` what is in there, decoded, and ``{name}`` that without its first ``/``.
NAMED = {
    "https://h/acme/{}.git": {
        "fatal: repository '{url}/' not found": "not-found",
        "fatal: {url}/info/refs not valid: is this a git repository?": "not-found",
        UNABLE + "The requested URL returned error: 503": "network",
        UNABLE + "The requested URL returned error: 403": "authentication/forbidden",
        UNABLE + "Failed to connect to h port 443 after 0 ms: Couldn't connect to server": "network",
        UNABLE + "Recv failure: Connection reset by peer": "network",
        UNABLE + "Could not resolve host: h": "network",
        "error: {url} did not send all necessary objects": "corrupt-archive",
    },
    "http://h/{}/": {"fatal: unable to access '{url}': The requested URL returned error: 404": "not-found"},
    "file:///srv/{}.git": {"fatal: '{path}' " + NO_REPOSITORY: "not-found"},
    "file:///srv/{}.git/": {"fatal: '{path}/' " + NO_REPOSITORY: "not-found"},
    "git://h/{}.git": {"fatal: remote error: no such repository: {path}": "not-found"},
    "git://h/{}": {"fatal: remote error: access denied or repository not exported: {path}": "not-found"},
    "ssh://git@h/srv/{}.git": {
        "fatal: '{path}' " + NO_REPOSITORY: "not-found",
        "ssh: connect to host h port 22: Connection refused" + END: "network",
    },
    "ssh://git@h/~/{}.git": {"fatal: '{name}' " + NO_REPOSITORY: "not-found"},
    "ssh://git@h/acme/{}": {"Gitea: Cannot find repository: {name}" + END: "not-found"},
    "ssh://git@h/{}/vpc.git": {"Gitea: Cannot find repository: {name}" + END: "not-found"},
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("url", "said", "code"),
    [pytest.param(url, said, code, id=f"{url} {code}") for url in NAMED for said, code in NAMED[url].items()],
)
def test_a_repositorys_name_says_nothing(url: str, said: str, code: str, name: str) -> None:
    url = url.format(name)
    path = "/" + unquote(url).rstrip("/").split("/", 3)[3]
    command = FailedCommand(f"git ls-remote of {url}", None, "TOKEN" if url.startswith("http") else None)
    error = git_error(said.format(url=url, path=path, name=path.lstrip("/")), command)
    assert error.code == code, error
    assert url in error.message


@pytest.mark.parametrize(
    "host", ["timeout", "certificate", "ssl", "certificate.example", "no-route.timeout.example", "self-signed"]
)
@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ("https", "fatal: unable to access 'https://{}/r/': Failed to connect to {} port 443 after 0 ms: Couldn't con"),
        ("https", "fatal: unable to access 'https://{}/r/': Could not resolve host: {}"),
        ("git", "fatal: unable to connect to {}:\n{}[0: 127.0.0.1]: errno=Connection refused"),
        ("git", "fatal: unable to look up {} (port 9418) (Name or service not known)"),
        ("ssh", "ssh: connect to host {} port 22: Connection refused" + END),
        ("ssh", "ssh: Could not resolve hostname {}: Name or service not known" + END),
        ("ssh", "Connection closed by {} port 22" + END),
    ],
)
def test_a_hosts_name_says_nothing(scheme: str, said: str, host: str) -> None:
    error = git_error(said.replace("{}", host), FailedCommand(f"git ls-remote of {scheme}://{host}/r"))
    assert error.code == "network", error


@pytest.mark.parametrize("user", ["certificate", "timeout", "self-signed"])
def test_a_users_name_says_nothing(user: str) -> None:
    said = f"{user}@h: Permission denied (publickey)." + END
    assert git_error(said, FailedCommand(f"git ls-remote of ssh://{user}@h/r")).code == "authentication"


# --------------------------------------------------------------------------------------------- servers

#: How a server's words arrive, and what they are then called.
CHANNELS = {
    "an error": ("fatal: remote error: {}", "network"),
    "an error of two lines": ("fatal: remote error: no\nfatal: {}", "network"),
    "beside the pack": ("remote: {}\nfatal: something new", "fetch/unreadable"),
    "beside the pack, like ours": ("remote: fatal: {}\nfatal: something new", "fetch/unreadable"),
    "in odd line ends": ("remote: \u2028fatal: {}\x0bfatal: {}\x85error: {}\nfatal: x", "fetch/unreadable"),
    "a forge": ("ERROR: {}" + END, "fetch/unreadable"),
    "over ssh": ("{}" + END, "fetch/unreadable"),
    "before the login": ("\n{}\n\ngit@h: Permission denied (publickey)." + END, "authentication"),
    "an answer's text": ("remote: {}\nfatal: unable to access 'https://h/': The requested URL returned error: 404",
                         "not-found"),
    "an odd name": ("error: object 12: gitmodulesUrl: disallowed: {}\nfatal: {}", "unsafe-content/submodule"),
    "a warning of an odd name": ("warning: object 12: gitmodulesParse: {}\nfatal: x", "fetch/unreadable"),
    "an unexpected answer": ("fatal: expected shallow/unshallow, got {}", "fetch/unreadable"),
}  # fmt: skip


@pytest.mark.parametrize(("said", "code"), CHANNELS.values(), ids=CHANNELS)
@pytest.mark.parametrize(
    "words",
    [
        *("No space left on device", "attempting to allocate 99 over limit 1", "detected dubious ownership", "Timeout"),
        *("certificate", "SSL certificate problem: self-signed certificate", "Name or service not known", "corrupt"),
        *("Could not resolve host: h", "Bad configuration option", "Operation too slow", "Connection timed out to h"),
    ],
)
def test_a_server_does_not_talk_us_into_errors_of_this_machine(words: str, said: str, code: str) -> None:
    if said.startswith(("{}", "\n{}")) and words.startswith("Connection "):
        words = f"The {words}"  # over ssh nobody can tell who says a whole line
    assert git_error(said.replace("{}", words), FailedCommand(WHAT)).code == code


@pytest.mark.parametrize(
    "line",
    [
        *("a" * 60_000, "a." * 30_000, "1." * 30_000, "'/" * 30_000, "'" + "/" * 60_000, "\"a' " * 15_000),
        *("@" * 60_000, "a://" * 15_000, "-o BatchMode=yes " * 3500, " -o BatchMode=yes :" * 3500, ": " * 30_000),
        *("/a" * 30_000, "fatal: " * 8500, "Load key \n" * 6500, "exceeded " * 7000, "host h " * 9000),
        *("Host key for has changed " * 2500, "MD5:" * 15_000, "ownership in repository at '" * 2000),
        "remote: got '\n" * 4500,
    ],
    ids=lambda line: line[:20].strip(),
)
def test_odd_text_is_looked_through_in_no_time(line: str) -> None:
    """What a server sends is bounded, and must not be able to keep us busy."""
    began = time.process_time()
    for beginning in ("", "fatal: ", "remote: "):
        git_error(beginning + line + END, FailedCommand(WHAT))
    assert time.process_time() - began < 5


# --------------------------------------------------------------------------------------------- what is shown

SHOWN = {
    "a reason before all else": ("Hello.\nfatal: x\nfatal: the remote end hung up unexpectedly", "fatal: x"),
    "several": ("error: x\nremote: y\nfatal: z\nerror: x", "error: x; remote: y; fatal: z"),
    "the end of what is unknown": ("a\nb\nc\nd" + END, "b; c; d"),
    "what follows, where no reason is": ("warning: w\nfatal: the remote end hung up unexpectedly" + END,
                                         "warning: w; fatal: the remote end hung up unexpectedly"),
    "git's end alone": (END, "fatal: Could not read from remote repository."),
    "how far it was": ("Receiving objects:  10% (1/10)\nremote: Counting objects: 5, done.\nremote: Total 3", ""),
    "rules and frames": ("remote: \nremote: ====\n@@@@\n@  Host key x  @\nremote: y", "Host key x; remote: y"),
    "a warning of ssh": ("** WARNING: not post-quantum\nI do not know you." + END, "I do not know you."),
    "nothing": ("", ""),
}  # fmt: skip


@pytest.mark.parametrize(("said", "shown"), SHOWN.values(), ids=SHOWN)
def test_what_is_shown(said: str, shown: str) -> None:
    assert detail(said) == shown


def test_gits_words_are_escaped_redacted_and_short() -> None:
    shown = detail("Receiving objects: 10%\nremote: \x1b[31mred\nfatal: https://ada:s3cr3t@h/r\n" + "fatal: x" * 500)
    assert "\x1b" not in shown
    assert "s3cr3t" not in shown
    assert "Receiving" not in shown
    assert len(shown) < 500
