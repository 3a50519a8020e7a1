"""A plugin for getmodules: the scheme ``example:``, and a shorthand for it. Copy it to make your own."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from getmodules import Blob, Context, Member, Members, NotFoundError, Pin, Shorthand, Want, hookimpl

#: The packages; a real plugin would ask a server for them.
PACKAGES: Mapping[str, Mapping[str, bytes]] = {
    "hello": {
        "main.tf": b'output "greeting" {\n  value = "Hello"\n}\n',
        "modules/world/main.tf": b'output "greeting" {\n  value = "Hello, world"\n}\n',
        "modules/moon/main.tf": b'output "greeting" {\n  value = "Hello, moon"\n}\n',
    },
}


class ExampleGetter:
    """Gets ``example://hello`` as single files, and ``example://hello.zip`` as an archive."""

    schemes = ("example",)

    def fetch(self, pin: Pin, wants: tuple[Want, ...], context: Context) -> Blob | Members:
        name = pin.package.url.removeprefix("example://")
        files = PACKAGES.get(name.removesuffix(".zip"))
        if files is None:
            raise NotFoundError(f"there is no example named {name!r}", hint=f"examples: {', '.join(PACKAGES)}")
        if name.endswith(".zip"):
            return Blob(chunks=(zip_of(files),), name=name)
        return Members(members_of(files))


def zip_of(files: Mapping[str, bytes]) -> bytes:
    """Return a zip of the files: the same bytes each time, so that a pin holds."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return target.getvalue()


def members_of(files: Mapping[str, bytes]) -> Iterator[Member]:
    for name, content in files.items():
        yield Member(name, size=len(content), open=partial(tuple, (content,)))


class ExampleDetector:
    """Turns ``hello:world`` into ``examples/hello/world``, and that into ``example://hello//modules/world``.

    The first result is not a URL yet, so it is detected again, by any detector.
    """

    name = "example"

    def detect(self, shorthand: Shorthand) -> str | None:
        package, colon, module = shorthand.body.partition(":")
        if colon and package in PACKAGES:
            return f"examples/{package}/{module}"
        collection, _, path = shorthand.body.partition("/")
        if collection == "examples":
            package, _, module = path.partition("/")
            return f"example://{package}//modules/{module}"
        return None


@hookimpl
def getmodules_getters() -> Iterable[ExampleGetter]:
    return (ExampleGetter(),)


@hookimpl
def getmodules_detectors() -> Iterable[ExampleDetector]:
    return (ExampleDetector(),)
