"""``WWW-Authenticate``, parsed: what a registry wants to see before it answers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from getmodules.util.values import valueclass

_LONGEST = 4_096
_SCHEME = re.compile(r"\s*,?\s*(?P<scheme>[A-Za-z][A-Za-z0-9._~+-]*)(?=\s|,|$)\s*", re.ASCII)
_PARAMETER = re.compile(
    r"\s*,?\s*(?P<name>[A-Za-z0-9_-]+)\s*=\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<token>[^\s,\"]+))", re.ASCII
)


@valueclass(kw_only=False)
class Challenge:
    """One scheme, in lower case, with its parameters."""

    scheme: str
    parameters: Mapping[str, str]


def parse(header: str) -> tuple[Challenge, ...]:
    """The challenges of a header, in order; what makes no sense ends the list."""
    challenges: list[Challenge] = []
    text, at = header[:_LONGEST], 0
    while at < len(text):
        scheme = _SCHEME.match(text, at)
        if scheme is None:
            break
        at = scheme.end()
        parameters: dict[str, str] = {}
        while parameter := _PARAMETER.match(text, at):
            quoted = parameter["quoted"]
            value = parameter["token"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            parameters.setdefault(parameter["name"].lower(), value)
            at = parameter.end()
        challenges.append(Challenge(scheme["scheme"].lower(), parameters))
    return tuple(challenges)


def choose(challenges: tuple[Challenge, ...]) -> Challenge | None:
    """Bearer before Basic: a token that expires is the smaller loss."""
    for scheme in ("bearer", "basic"):
        for challenge in challenges:
            if challenge.scheme == scheme:
                return challenge
    return None
