"""``getmodules inspect``: shows the manifest at an address of a registry, and what refers to it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from getmodules.cli.options import Parser, add_work, base_of, client_of
from getmodules.cli.render import Console, harmless
from getmodules.util.redact import redact

if TYPE_CHECKING:
    from getmodules.getters.oci.results import Inspected, Referrer

_EPILOG = """\
For people a tree: the manifest, its layers, its annotations, and what refers to
it (signatures, attestations), down to what refers to those.

with --json: {"address", "digest", "media_type", "manifest", "referrers"}, where
manifest is as it was published, and referrers is a list of {"digest",
"artifact_type", "manifest", "referrers"}

examples:
  getmodules inspect "oci://ghcr.io/acme/vpc?tag=1.2.0"
  getmodules inspect --json "oci-layout::./registry?tag=1.0.0"
"""

#: The lists of descriptors in manifests and indexes, and the name of one entry of each.
_LISTS = {"layers": "layer", "manifests": "manifest"}


class _Node(NamedTuple):
    text: str
    below: tuple[_Node, ...] = ()


def parser() -> Parser:
    made = Parser(
        usage="getmodules inspect ADDRESS [OPTION...]",
        description="Show a manifest, whatever kind of artifact it is, and what refers to it.",
        epilog=_EPILOG,
    )
    made.add_argument("address", metavar="ADDRESS", help="the package, with ?tag= or ?digest=")
    add_work(made)
    return made


def run(options: argparse.Namespace, console: Console) -> int:
    from getmodules.cli.progress import notices

    client, base = client_of(options, console), base_of(options)
    inspected = client.inspect(options.address, base=base, progress=notices(console))
    console.result("\n".join(map(harmless, _lines(_tree(inspected)))), _as_json(inspected))
    return 0


def _as_json(inspected: Inspected) -> dict[str, object]:
    return {
        "address": inspected.address,
        "digest": inspected.digest,
        "media_type": inspected.media_type,
        "manifest": dict(inspected.manifest),
        "referrers": _referrers_as_json(inspected.referrers),
    }


def _referrers_as_json(referrers: Iterable[Referrer]) -> list[dict[str, object]]:
    return [
        {
            "digest": referrer.digest,
            "artifact_type": referrer.artifact_type,
            "manifest": dict(referrer.manifest),
            "referrers": _referrers_as_json(referrer.referrers),
        }
        for referrer in referrers
    ]


# ------------------------------------------------------------------------------------------------------ the tree


def _tree(inspected: Inspected) -> _Node:
    manifest = inspected.manifest
    head = [_Node(f"digest {inspected.digest}"), _Node(f"type {inspected.media_type}")]
    if "artifactType" in manifest:
        head.append(_Node(f"artifact {_text(manifest['artifactType'])}"))
    return _Node(inspected.address, (*head, *_contents(manifest), *_referrers(inspected.referrers)))


def _referrers(referrers: Iterable[Referrer]) -> Iterator[_Node]:
    for referrer in referrers:
        below = (*_contents(referrer.manifest), *_referrers(referrer.referrers))
        yield _Node(f"referrer {referrer.artifact_type or 'of no type'} {referrer.digest}", below)


def _contents(manifest: Mapping[str, Any]) -> Iterator[_Node]:
    """Yield the descriptors of a manifest, leaving out what violates the specification; --json shows everything."""
    if isinstance(config := manifest.get("config"), Mapping):
        yield _descriptor("config", config)
    for name, one in _LISTS.items():
        listed = manifest.get(name)
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, Mapping):
                yield _descriptor(one, each)
    yield from _annotations(manifest)


def _descriptor(name: str, descriptor: Mapping[str, Any]) -> _Node:
    size = descriptor.get("size")
    shown = [name, *(_text(descriptor[key]) for key in ("mediaType", "artifactType", "digest") if key in descriptor)]
    if isinstance(size, int):
        shown.append(f"{size:,} byte{'' if size == 1 else 's'}")
    if isinstance(platform := descriptor.get("platform"), Mapping):
        shown.append("/".join(_text(platform[key]) for key in ("os", "architecture", "variant") if key in platform))
    return _Node(" ".join(shown), tuple(_annotations(descriptor)))


def _annotations(of: Mapping[str, Any]) -> Iterator[_Node]:
    annotations = of.get("annotations")
    if isinstance(annotations, Mapping) and annotations:
        yield _Node("annotations", tuple(_Node(f"{_text(k)}: {_text(v)}") for k, v in annotations.items()))


def _text(value: object) -> str:
    return redact(value) if isinstance(value, str) else repr(value)


def _lines(node: _Node) -> Iterator[str]:
    """Yield the lines of the tree, in ASCII, which works in any locale."""
    yield node.text
    for number, child in enumerate(node.below, 1):
        last = number == len(node.below)
        first, *more = _lines(child)
        yield f"{'`-- ' if last else '|-- '}{first}"
        yield from (f"{'    ' if last else '|   '}{line}" for line in more)
