"""What a registry, or whoever hands out its tokens, says in the body of a refusal."""

from __future__ import annotations

from getmodules.net.wire import Answer
from getmodules.util.strict_json import StrictJsonError, array_of, loads, mapping, required


def explain_error(answer: Answer) -> str:
    """The code and message of a registry's error body; whatever else it sent, shortened."""
    text = answer.read_some(8_192)
    try:
        document = mapping(loads(text, "the error", 8_192), "the error")
        errors = required(document, "errors", array_of(mapping), "the error")
        said = [": ".join(filter(None, (str(e.get("code", "")), str(e.get("message", ""))))) for e in errors]
        return answer.shown("; ".join(said), 300)
    except StrictJsonError:
        return answer.shown(" ".join(text.decode("utf-8", "replace").split()), 300)
