"""Parse the part of HCL in which lock files are written: blocks, attributes, literal strings and lists of them.

Every value knows its line and column. There are no expressions: a lock file is data, and what would have to be
evaluated is refused. (A template that holds nothing but a literal, ``"${"1.0.0"}"``, is that literal; both engines
read it so, except in labels.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NoReturn

from getmodules.util.redact import printable
from getmodules.util.values import valueclass

#: Deeper than any block that means something.
_DEPTH: Final = 16

_HCL = "lock files are written by init: restore the file from version control, or remove it and lock anew"

_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t]+ | /\*.*?\*/)
  | (?P<newline>(?:\#|//)[^\n]*\n? | \r?\n)
  | (?P<name>[^\W\d][\w-]*)
  | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
  | (?P<quote>")
  | (?P<mark>[{}\[\],=])
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(r'[^"\\\r\n$%]+|\$\$\{|%%\{|\$(?!\{)|%(?!\{)')
_ESCAPE = re.compile(r'\\(?:(?P<one>[nrt"\\])|u(?P<four>[0-9A-Fa-f]{4})|U(?P<eight>[0-9A-Fa-f]{8}))')
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_TEMPLATE_MARKS = {"$${": "${", "%%{": "%{"}
_MERGE_MARKER = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?:[ \r\n]|$)", re.MULTILINE)


@valueclass(kw_only=False, order=True)
class Position:
    """A line and a column; both count from 1, columns in characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class HclError(ValueError):
    """The message is the problem alone; ``position`` says where it is."""

    def __init__(self, position: Position, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.position = position
        self.hint = hint


@valueclass(kw_only=False)
class Literal:
    """A string, a list, or a number or a word that means something to HCL (then ``value`` is ``None``)."""

    position: Position
    value: str | tuple[Literal, ...] | None


@valueclass(kw_only=False)
class Block:
    type: str
    position: Position
    labels: tuple[Literal, ...]
    attributes: Mapping[str, tuple[Position, Literal]]
    blocks: tuple[Block, ...]


def parse_hcl(text: str) -> Block:
    """Parse a whole file, as the body of one block without a name."""
    marker = _MERGE_MARKER.search(text)
    if marker:
        raise HclError(
            _position(text, marker.start()),
            "the mark of a merge conflict",
            "resolve the conflict: keep one version of each block, or remove the file and lock anew",
        )
    parser = _Parser(text.removeprefix("\ufeff"))
    attributes, blocks = parser.body(end="", depth=0)
    return Block("", Position(1, 1), (), attributes, blocks)


def _position(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0
        self._kind = self._token = ""
        self._start = 0
        self._line, self._line_start = 1, 0
        self._advance()

    # ------------------------------------------------------------------------------------------ tokens

    def _advance(self) -> None:
        """Go to the next token that is neither blank nor a comment within a line."""
        while True:
            self._start = self._offset
            if self._offset == len(self._text):
                self._kind = self._token = ""
                return
            match = _TOKEN.match(self._text, self._offset)
            if match is None:
                shown = printable(self._text[self._offset], 20)
                raise HclError(self._here(), f"{shown} has no place here", _HCL)
            self._offset, self._kind, self._token = match.end(), match.lastgroup or "", match[0]
            if self._kind != "blank":
                return

    def _here(self) -> Position:
        """Return the current position, counted on from the last one, so that a long file is gone through once."""
        newlines = self._text.count("\n", self._line_start, self._start)
        if newlines:
            self._line += newlines
            self._line_start = self._text.rfind("\n", 0, self._start) + 1
        return Position(self._line, self._start - self._line_start + 1)

    def _fail(self, wanted: str) -> NoReturn:
        found = {"": "the end of the file", "newline": "the end of the line"}.get(self._kind)
        raise HclError(self._here(), f"{wanted} must stand here, not {found or printable(self._token, 40)}", _HCL)

    def _is(self, token: str) -> bool:
        return self._kind == "mark" and self._token == token

    def _expect(self, token: str) -> None:
        if not self._is(token):
            self._fail(token)
        self._advance()

    def _skip_newlines(self) -> None:
        while self._kind == "newline":
            self._advance()

    # ---------------------------------------------------------------------------------------- structure

    def body(self, end: str, depth: int) -> tuple[dict[str, tuple[Position, Literal]], tuple[Block, ...]]:
        """Parse attributes and blocks, each on lines of its own, up to ``end``."""
        attributes: dict[str, tuple[Position, Literal]] = {}
        blocks: list[Block] = []
        self._skip_newlines()
        while not (self._is(end) if end else not self._kind):
            if self._kind != "name":
                self._fail(f"a name{f' or {end}' if end else ''}")
            name, position = self._token, self._here()
            self._advance()
            if self._is("="):
                if name in attributes:
                    raise HclError(position, f"{printable(name)} has a value already: {attributes[name][0]}")
                self._advance()
                attributes[name] = (position, self._value())
            else:
                blocks.append(self._block(name, position, depth))
            if self._kind not in ("newline", ""):
                self._fail("the end of the line")
            self._skip_newlines()
        return attributes, tuple(blocks)

    def _block(self, type_: str, position: Position, depth: int) -> Block:
        if depth == _DEPTH:
            raise HclError(position, f"blocks are nested more than {_DEPTH} deep")
        labels = []
        while self._kind in ("quote", "name"):
            labels.append(self._label())
        self._expect("{")
        if self._kind == "newline":
            attributes, blocks = self.body("}", depth + 1)
        else:
            attributes, blocks = self._one_line_body(), ()
        self._expect("}")
        return Block(type_, position, tuple(labels), attributes, blocks)

    def _label(self) -> Literal:
        """Parse a label: a word, or a string that is not a template of any kind, since both engines refuse those."""
        position = self._here()
        label = Literal(position, self._text_to_quote() if self._kind == "quote" else self._token)
        self._advance()
        return label

    def _one_line_body(self) -> dict[str, tuple[Position, Literal]]:
        if self._kind != "name":
            return {}
        name, position = self._token, self._here()
        self._advance()
        self._expect("=")
        return {name: (position, self._value())}

    # ------------------------------------------------------------------------------------------- values

    def _value(self) -> Literal:
        if not self._is("["):
            return self._scalar()
        position = self._here()
        self._advance()
        items: list[Literal] = []
        self._skip_newlines()
        while not self._is("]"):
            items.append(self._scalar())
            self._skip_newlines()
            if not self._is("]"):
                self._expect(",")
                self._skip_newlines()
        self._advance()
        return Literal(position, tuple(items))

    def _scalar(self) -> Literal:
        if self._kind == "quote":
            return self._string()
        position = self._here()
        if self._kind == "number" or self._token in ("true", "false", "null"):
            self._advance()
            return Literal(position, None)
        return self._fail("a string in quotes")

    def _string(self) -> Literal:
        """Parse a string from its opening quote on."""
        position = self._here()
        is_template = self._text.startswith("${", self._offset)
        text = self._wrapped_text(position) if is_template else self._text_to_quote()
        self._advance()
        return Literal(position, text)

    def _text_to_quote(self) -> str:
        """Read the text up to the closing quote, by the character: blanks and comments mean nothing in it."""
        pieces: list[str] = []
        while not self._text.startswith('"', self._offset):
            match = _PLAIN.match(self._text, self._offset) or _ESCAPE.match(self._text, self._offset)
            if match is None:
                self._start = self._offset
                raise HclError(self._here(), self._problem_in_string(), _HCL)
            pieces.append(self._unescaped(match) if match.re is _ESCAPE else _TEMPLATE_MARKS.get(match[0], match[0]))
            self._offset = match.end()
        self._offset += 1
        return "".join(pieces)

    def _wrapped_text(self, position: Position) -> str:
        """Parse ``"${"1.0.0"}"``, a template around nothing but a literal."""
        self._offset += len("${")
        self._advance()
        if self._kind == "quote":
            text = self._text_to_quote()
            self._advance()
            if self._is("}") and self._text.startswith('"', self._offset):
                self._offset += 1
                return text
        raise HclError(position, "there are no expressions in a lock file", _HCL)

    def _problem_in_string(self) -> str:
        if self._text.startswith(("${", "%{"), self._offset):
            return "there are no expressions in a lock file"
        if self._text.startswith("\\", self._offset):
            return "there is no such escape"
        return "the string does not end"

    def _unescaped(self, escape: re.Match[str]) -> str:
        if escape["one"]:
            return _ESCAPED[escape["one"]]
        number = int(escape["four"] or escape["eight"], 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            self._start = self._offset
            raise HclError(self._here(), "there is no such character", _HCL)
        return chr(number)
