"""What people see while they wait."""

from __future__ import annotations

import io
import signal
import threading
import time
from pathlib import Path

import pytest

from getmodules import Client, Phase, Progress
from getmodules.cli import interrupt, progress as subject
from getmodules.cli.render import Console, cells
from getmodules.errors import ConfigError, PluginContractError
from tests.support.commandline import Terminal, call, make_plugin

PACKAGE = "https://example.com/a/b/vpc.zip"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def _console(stderr: io.StringIO | None = None, **environ: str) -> Console:
    return Console(stdout=io.StringIO(), stderr=stderr or io.StringIO(), environ=environ)


@pytest.mark.parametrize(
    ("name", "stderr", "term", "quiet", "kind"),
    [
        pytest.param("auto", Terminal(), "xterm", False, subject.Lines, id="auto on a terminal"),
        pytest.param("auto", Terminal(), "dumb", False, subject.Notices, id="auto on a dumb terminal"),
        pytest.param("auto", io.StringIO(), "xterm", False, subject.Notices, id="auto in a pipe"),
        pytest.param("auto", Terminal(), "xterm", True, subject.Notices, id="auto and quiet"),
        pytest.param("plain", io.StringIO(), "xterm", False, subject.Plain, id="plain"),
        pytest.param("plain", io.StringIO(), "xterm", True, subject.Notices, id="plain and quiet"),
        pytest.param("none", Terminal(), "xterm", False, subject.Notices, id="none on a terminal"),
    ],
)
def test_which_progress_is_shown(name: str, stderr: io.StringIO, term: str, quiet: bool, kind: type[Progress]) -> None:
    console = _console(stderr, TERM=term)
    console.quiet = quiet
    with subject.open_progress(name, Client(), console) as shown:
        assert isinstance(shown, subject.InterruptibleProgress)
        assert type(shown.shown) is kind


def test_a_signal_that_got_lost_is_raised_between_pieces_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    err = io.StringIO()
    attentive = subject.InterruptibleProgress(subject.Plain(_console(err)))
    attentive.phase(PACKAGE, Phase.RESOLVING)
    attentive.advance(PACKAGE, 1)
    monkeypatch.setattr(interrupt, "_received", [signal.SIGTERM])
    with pytest.raises(interrupt.Interrupted):
        attentive.phase(PACKAGE, Phase.UNPACKING)
    with pytest.raises(interrupt.Interrupted):
        attentive.advance(PACKAGE, 1)
    attentive.notice(PACKAGE, "cleaning goes on")
    attentive.finished(PACKAGE, None)
    assert err.getvalue() == f"note: cleaning goes on\n  address: {PACKAGE}\n"


# ------------------------------------------------------------------------------------------------ plugins

SINK = """
from getmodules import Progress, hookimpl

class Dots(Progress):
    def __init__(self, stream):
        self.stream = stream

    def phase(self, package, phase, total=None):
        self.stream.write(".")

class Sink:
    name = "dots"

    def open(self, stream):
        return {opened}

@hookimpl
def getmodules_progress():
    return [Sink()]
"""


def test_the_progress_of_a_plugin(site: Path) -> None:
    make_plugin(site, "progress-dots", SINK.format(opened="Dots(stream)"))
    err = io.StringIO()
    with subject.open_progress("dots", Client(), _console(err)) as shown:
        shown.phase(PACKAGE, Phase.RESOLVING)
    assert err.getvalue() == "."


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("planned", (3,)),
        ("modules", (PACKAGE, ("vpc",))),
        ("phase", (PACKAGE, Phase.RESOLVING)),
        ("advance", (PACKAGE, 1)),
        ("notice", (PACKAGE, "m")),
        ("finished", (PACKAGE, None)),
    ],
)
def test_what_the_progress_of_a_plugin_raises_is_its_own_fault(
    method: str, arguments: tuple[object, ...], site: Path
) -> None:
    source = (
        SINK.format(opened="Dots(stream)")
        .replace("def phase", f"def {method}")
        .replace("self, package, phase, total=None", "self, *arguments")
    )
    make_plugin(site, "progress-raising", source.replace('self.stream.write(".")', "raise ZeroDivisionError"))
    with subject.open_progress("dots", Client(), _console()) as shown, pytest.raises(PluginContractError) as caught:
        getattr(shown, method)(*arguments)
    assert caught.value.code == "plugin-contract"
    assert "progress-raising 1.0" in caught.value.message


def test_a_progress_that_raises_leaves_nothing_behind(site: Path, here: Path) -> None:
    source = SINK.format(opened="Dots(stream)").replace('self.stream.write(".")', "raise ZeroDivisionError")
    make_plugin(site, "progress-raising", source)
    result = call("get", "./tree", "dest", "--progress", "dots", "--json")
    assert result.code == 1
    assert result.object["error"]["code"] == "plugin-contract"
    assert not any(path.name.startswith((".getmodules", "dest")) for path in here.iterdir())


def test_the_progress_of_a_plugin_that_is_none(site: Path) -> None:
    make_plugin(site, "progress-none", SINK.format(opened="None"))
    with (
        pytest.raises(PluginContractError, match="progress-none") as caught,
        subject.open_progress("dots", Client(), _console()),
    ):
        pytest.fail("it was opened")
    assert caught.value.code == "plugin-contract"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("plan", "did you mean plain?", id="near"),
        pytest.param("x", "known: auto, plain, none", id="far"),
        pytest.param("", "known: auto, plain, none", id="empty"),
    ],
)
def test_a_progress_that_nobody_knows(name: str, hint: str) -> None:
    with (
        pytest.raises(ConfigError, match=f"there is no progress '{name}'") as caught,
        subject.open_progress(name, Client(), _console()),
    ):
        pytest.fail("it was opened")
    assert (caught.value.code, caught.value.hint) == ("config", hint)


# ------------------------------------------------------------------------------------------ notices, plain


@pytest.mark.parametrize("kind", [subject.Notices, subject.Plain, subject.Lines])
def test_each_shows_notices_unless_quiet(kind: type[subject.Notices]) -> None:
    err = io.StringIO()
    console = _console(err)
    kind(console).notice(PACKAGE, "md5 can be forged\x1b[2J")
    assert err.getvalue() == f"note: md5 can be forged\\x1b[2J\n  address: {PACKAGE}\n"
    console.quiet = True
    kind(console).notice(PACKAGE, "again")
    assert "again" not in err.getvalue()


Step = tuple[Phase, int | None, int]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        pytest.param(
            [(Phase.RESOLVING, None, 0), (Phase.DOWNLOADING, 3 << 20, 3 << 20), (Phase.INSTALLING, None, 9)],
            "installed vpc (3.0 MiB)\n",
            id="downloaded",
        ),
        pytest.param(
            [(Phase.VERIFYING, 7, 7), (Phase.INSTALLING, None, 9)], "installed vpc (from the cache)\n", id="cache"
        ),
        pytest.param([(Phase.RESOLVING, None, 0), (Phase.INSTALLING, None, 9)], "installed vpc\n", id="a path"),
        pytest.param([(Phase.DOWNLOADING, 5, 5), (Phase.UNPACKING, None, 9)], "fetched vpc (5 B)\n", id="for a lock"),
        pytest.param([(Phase.RESOLVING, None, 0)], "", id="asked only"),
        pytest.param([(Phase.RESOLVING, None, 0), (Phase.PUBLISHING, 9, 9)], "published vpc (9 B)\n", id="pushed"),
        pytest.param(
            [(Phase.RESOLVING, None, 0), (Phase.PUBLISHING, 0, 0)], "published vpc (there already)\n", id="again"
        ),
    ],
)
def test_plain_is_a_line_when_a_module_is_there(steps: list[Step], said: str) -> None:
    err = io.StringIO()
    plain = subject.Plain(_console(err))
    for error in (ValueError("it failed"), None):
        plain.modules(PACKAGE, ("vpc",))
        for phase, total, done in steps:
            plain.phase(PACKAGE, phase, total)
            plain.advance(PACKAGE, done)
        assert err.getvalue() == ""
        plain.finished(PACKAGE, error)
    assert err.getvalue() == said


def test_plain_has_a_line_for_each_module_of_a_package() -> None:
    err = io.StringIO()
    plain = subject.Plain(_console(err))
    plain.modules(PACKAGE, ("vpc", "failed", "bad\x1b[2J"))
    plain.phase(PACKAGE, Phase.DOWNLOADING)
    plain.advance(PACKAGE, 5)
    plain.phase(PACKAGE, Phase.INSTALLING)
    plain.modules(PACKAGE, ("vpc", "bad\x1b[2J"))
    plain.finished(PACKAGE, None)
    assert err.getvalue() == "installed vpc\ninstalled bad\\x1b[2J\n"


# -------------------------------------------------------------------------------------------------- line


def _line(clock: Clock | None = None) -> subject.Lines:
    return subject.Lines(_console(), clock or Clock())


def _drawn(lines: subject.Lines, width: int = 100) -> str:
    """The one line that is there, or none."""
    return "".join(lines.render(width, 1))


def test_the_line_says_what_is_going_on() -> None:
    clock = Clock()
    line = _line(clock)
    assert _drawn(line) == ""
    line.phase(PACKAGE, Phase.RESOLVING)
    assert _drawn(line) == f"resolving    {PACKAGE}"
    line.phase(PACKAGE, Phase.DOWNLOADING, 40 << 20)
    clock.now += 2
    line.advance(PACKAGE, 10 << 20)
    line.advance(PACKAGE, 10 << 20)
    assert _drawn(line) == f"downloading  {PACKAGE}  20.0 MiB of 40.0 MiB  10.0 MiB/s"
    line.phase(PACKAGE, Phase.UNPACKING)
    assert _drawn(line) == f"unpacking    {PACKAGE}"
    line.advance(PACKAGE, 500)
    assert _drawn(line) == f"unpacking    {PACKAGE}  500 B"
    line.finished(PACKAGE, None)
    assert _drawn(line) == ""


def test_several_packages_have_a_line_each_and_one_for_all_of_them() -> None:
    lines = _line()
    lines.planned(5)
    assert lines.render(100, 24) == []
    lines.phase("first", Phase.DOWNLOADING, 4)
    lines.phase("second", Phase.RESOLVING)
    lines.advance("first", 1)
    assert lines.render(100, 24) == [
        "downloading  first  1 B of 4 B",
        "resolving    second",
        "0 of 5 packages, 2 running  1 B",
    ]
    lines.finished("first", ValueError())
    assert lines.render(100, 24) == ["resolving    second", "1 of 5 packages, 1 running  1 B"]
    lines.planned(2)
    assert lines.render(100, 24)[-1] == "0 of 2 packages, 1 running  1 B"


def test_one_package_of_one_needs_no_total() -> None:
    lines = _line()
    lines.planned(1)
    lines.phase("only", Phase.RESOLVING)
    assert lines.render(100, 24) == ["resolving    only"]


@pytest.mark.parametrize("height", [0, 1, 2, 5, 24])
def test_the_lines_are_never_more_than_the_terminal_has(height: int) -> None:
    lines = _line()
    lines.planned(100)
    for number in range(50):
        lines.phase(f"package-{number}", Phase.RESOLVING)
    drawn = lines.render(80, height)
    assert len(drawn) <= max(height, 2)
    assert drawn[0] == "resolving    package-0"
    assert drawn[-1].startswith("0 of 100 packages, 50 running")


def test_what_was_never_begun_does_not_matter() -> None:
    line = _line()
    line.advance("unknown", 5)
    line.finished("unknown", None)
    assert _drawn(line) == ""


@pytest.mark.parametrize("width", [1, 2, 3, 5, 10, 20, 40, 60, 79, 200])
@pytest.mark.parametrize("package", [PACKAGE, "https://例え.jp/" + "模块" * 40, "e\u0301" * 90], ids=ascii)
def test_the_line_is_never_wider_than_the_terminal(package: str, width: int) -> None:
    clock = Clock()
    line = _line(clock)
    line.phase(package, Phase.DOWNLOADING, 1 << 40)
    clock.now += 1
    line.advance(package, 1 << 39)
    drawn = _drawn(line, width)
    assert cells(drawn) <= width
    assert drawn


VPC_AND_49 = ("vpc", *(f"module-{number}" for number in range(49)))
LONG = "n" * 64


@pytest.mark.parametrize(
    ("names", "width", "drawn"),
    [
        pytest.param(("vpc",), 79, "downloading  vpc  20.0 MiB of 40.0 MiB  10.0 MiB/s", id="80 columns"),
        pytest.param(("vpc", "net"), 59, "downloading  vpc, net  20.0 MiB of 40.0 MiB  10.0 MiB/s", id="60 columns"),
        pytest.param(VPC_AND_49, 79, "downloading  vpc and 49 more  20.0 MiB of 40.0 MiB  10.0 MiB/s", id="many"),
        pytest.param(("n" * 20,), 59, f"downloading  {'n' * 20}  20.0 MiB of 40.0 MiB", id="a name of 20, 60 columns"),
        pytest.param(("n" * 33,), 59, f"downloading  {'n' * 33}  20.0 MiB", id="a name of 33, 60 columns"),
        pytest.param(("n" * 46,), 59, f"downloading  {'n' * 46}", id="a name of 46, 60 columns"),
        pytest.param(("n" * 59,), 59, "n" * 59, id="a name of 59, 60 columns"),
        pytest.param((LONG,), 79, f"downloading  {LONG}", id="the longest name, 80 columns"),
    ],
)
def test_a_name_is_not_cut(names: tuple[str, ...], width: int, drawn: str) -> None:
    clock = Clock()
    line = _line(clock)
    line.modules(PACKAGE, names)
    line.phase(PACKAGE, Phase.DOWNLOADING, 40 << 20)
    clock.now += 2
    line.advance(PACKAGE, 20 << 20)
    assert _drawn(line, width) == drawn
    assert cells(drawn) <= width


def test_a_package_whose_modules_have_all_failed_is_not_shown() -> None:
    line = _line()
    line.phase(PACKAGE, Phase.INSTALLING)
    line.modules(PACKAGE, ())
    assert _drawn(line) == ""


def test_what_comes_from_the_cache_says_so() -> None:
    line = _line()
    line.modules(PACKAGE, ("vpc",))
    assert _drawn(line) == ""
    line.phase(PACKAGE, Phase.UNPACKING)
    assert _drawn(line) == "unpacking    vpc  from the cache"


def test_what_is_downloaded_is_counted_with_its_hosts() -> None:
    err = io.StringIO()
    traffic = subject.Traffic(subject.Plain(_console(err)))
    for package in (PACKAGE, "git::https://u@example.com:8443/r?ref=a::b", "oci://example.com/acme/vpc"):
        traffic.modules(package, ("vpc",))
        traffic.phase(package, Phase.DOWNLOADING)
        traffic.advance(package, 20)
        traffic.phase(package, Phase.UNPACKING)
        traffic.advance(package, 1000)
        traffic.finished(package, None)
    assert (traffic.bytes, traffic.hosts) == (60, {"example.com", "example.com:8443"})
    assert err.getvalue() == "fetched vpc (20 B)\n" * 3


def test_a_harmful_address_is_made_harmless() -> None:
    line = _line()
    line.phase("a\x1b[2J", Phase.RESOLVING)
    assert _drawn(line) == r"resolving    a\x1b[2J"


def test_the_thread_draws_at_most_ten_times_a_second_and_clears_up() -> None:
    err = Terminal()
    console = _console(err, COLUMNS="60")
    began = time.monotonic()
    with subject.open_progress("auto", Client(), console) as shown:
        shown.phase(PACKAGE, Phase.DOWNLOADING)
        while "downloading" not in err.getvalue() or time.monotonic() < began + 0.5:
            shown.advance(PACKAGE, 1)
            assert time.monotonic() < began + 30
    took = time.monotonic() - began
    drawings = err.getvalue().count("downloading")
    assert 1 <= drawings <= took / 0.1 + 1
    assert err.getvalue().endswith(" \r")
    assert not any(thread.name == "progress" for thread in threading.enumerate())


def test_what_is_done_at_once_is_never_drawn() -> None:
    err = Terminal()
    with subject.open_progress("auto", Client(), _console(err)) as shown:
        shown.phase(PACKAGE, Phase.RESOLVING)
        shown.finished(PACKAGE, None)
    assert err.getvalue() == ""


def test_a_line_that_was_never_started_can_be_stopped() -> None:
    _line().stop()


def test_many_threads_may_report() -> None:
    line = subject.Lines(_console(Terminal()), time.monotonic)

    def work(name: str) -> None:
        for _ in range(300):
            line.phase(name, Phase.DOWNLOADING)
            line.advance(name, 1)
            assert cells(_drawn(line, 60)) <= 60
            line.finished(name, None)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(8)]
    line.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    line.stop()
    assert _drawn(line, 60) == ""


# ------------------------------------------------------------------------------------------------ figures


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "1.0 KiB"), (1024, "1.0 KiB"), (102_300, "99.9 KiB"),
        (102_400, "100 KiB"), (1 << 20, "1.0 MiB"), (1023 << 20, "1.0 GiB"), (1 << 40, "1.0 TiB"),
        (5000 << 40, "5000 TiB"),
    ],
)  # fmt: skip
def test_amount(number: int, shown: str) -> None:
    assert subject.format_bytes(number) == shown


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        pytest.param("abcdefghij", 10, "abcdefghij", id="fits"),
        pytest.param("abcdefghij", 9, "abc...hij", id="the middle goes"),
        pytest.param("abcdefghij", 8, "abc...ij", id="odd"),
        pytest.param("abcdefghij", 3, "...", id="no room"),
        pytest.param("abcdefghij", 1, ".", id="one column"),
        pytest.param("abcdefghij", 0, "", id="none"),
        pytest.param("abcdefghij", -3, "", id="less than none"),
        pytest.param("中中中中中", 8, "中...中", id="wide characters are not cut in two"),
    ],
)
def test_shortened(text: str, width: int, shown: str) -> None:
    assert subject.shorten(text, width) == shown
