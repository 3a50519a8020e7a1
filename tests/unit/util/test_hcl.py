"""The part of HCL that lock files are written in, and where exactly something is wrong."""

from __future__ import annotations

import time

import pytest

from getmodules.util.hcl import Block, HclError, Literal, Position, parse_hcl


def _value(text: str) -> str | tuple[Literal, ...] | None:
    return parse_hcl(f"a = {text}\n").attributes["a"][1].value


def _plain(body: Block) -> object:
    values = {name: _texts(literal) for name, (_, literal) in body.attributes.items()}
    return values, [(block.type, [label.value for label in block.labels], _plain(block)) for block in body.blocks]


def _texts(literal: Literal) -> object:
    return [item.value for item in literal.value] if isinstance(literal.value, tuple) else literal.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param('""', "", id="empty"),
        pytest.param(r'"\n\r\t\"\\"', '\n\r\t"\\', id="escapes"),
        pytest.param(r'"\u00e9\U0001F600"', "é😀", id="escapes of characters"),
        pytest.param('"$${a} %%{b} $ % $a 5%"', "${a} %{b} $ % $a 5%", id="marks of templates"),
        pytest.param('"# // /* no comment */"', "# // /* no comment */", id="what looks like a comment"),
        pytest.param('"${"1.0.0"}"', "1.0.0", id="a template of nothing but a string"),
        pytest.param('"${ "a" }"', "a", id="the same with blanks"),
        pytest.param("1", None, id="a number"),
        pytest.param("-1.5e3", None, id="a longer number"),
        pytest.param("true", None, id="a word of HCL"),
        pytest.param("null", None, id="null"),
        pytest.param("[]", (), id="an empty list"),
    ],
)
def test_a_value(text: str, value: object) -> None:
    assert _value(text) == value


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('["a", "b"]', id="on one line"),
        pytest.param('["a", "b",]', id="a comma at the end"),
        pytest.param('[\n  "a",\n  "b",\n]', id="on several lines"),
        pytest.param('[ # first\n"a" // second\n, /* third */ "b"\n\n]', id="comments between"),
    ],
)
def test_a_list(text: str) -> None:
    assert _texts(parse_hcl(f"a = {text}").attributes["a"][1]) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        pytest.param("", ({}, []), id="nothing"),
        pytest.param("\n\n# only a comment", ({}, []), id="no line end at the end"),
        pytest.param('\ufeffa = "b"\n', ({"a": "b"}, []), id="a byte order mark"),
        pytest.param('a = "b"\r\nc = "d"\r\n', ({"a": "b", "c": "d"}, []), id="line ends of Windows"),
        pytest.param('a="b"', ({"a": "b"}, []), id="no blanks"),
        pytest.param("x {\n}\n", ({}, [("x", [], ({}, []))]), id="an empty block"),
        pytest.param("x {}", ({}, [("x", [], ({}, []))]), id="an empty block on one line"),
        pytest.param('x "l" m { a = "b" }\n', ({}, [("x", ["l", "m"], ({"a": "b"}, []))]), id="labels"),
        pytest.param(
            'x {\n  a = "b"\n  y {\n    c = "d"\n  }\n}\n',
            ({}, [("x", [], ({"a": "b"}, [("y", [], ({"c": "d"}, []))]))]),
            id="a block in a block",
        ),
        pytest.param("/* a\nb */ x {\n/* c */ }", ({}, [("x", [], ({}, []))]), id="comments over lines"),
    ],
)
def test_a_file(text: str, plain: object) -> None:
    assert _plain(parse_hcl(text)) == plain


def test_everything_knows_where_it_stands() -> None:
    file = parse_hcl('# é\n\n  x "é" {\n    a = [\n      "b", "c",\n    ]\n  }\n')
    (block,) = file.blocks
    name, literal = block.attributes["a"]
    assert (block.position, block.labels[0].position) == (Position(3, 3), Position(3, 5))
    assert (name, literal.position) == (Position(4, 5), Position(4, 9))
    assert isinstance(literal.value, tuple)
    assert [item.position for item in literal.value] == [Position(5, 7), Position(5, 12)]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        pytest.param("a =", 1, 4, "the end of the file", id="no value"),
        pytest.param("a =\n", 1, 4, "the end of the line", id="no value on this line"),
        pytest.param('a = "b" c = "d"\n', 1, 9, "the end of the line must stand here, not c", id="two on a line"),
        pytest.param('a = "b"\na = "c"\n', 2, 1, "a has a value already: line 1, column 1", id="twice"),
        pytest.param('\na "b"\n', 2, 6, "{ must stand here", id="no block"),
        pytest.param("x {\n", 2, 1, "a name or } must stand here", id="an open block"),
        pytest.param("x {\n}}\n", 2, 2, "the end of the line", id="closed twice"),
        pytest.param('x { a = "b"\n}\n', 1, 12, "} must stand here", id="one line that is two"),
        pytest.param("x { y {} }\n", 1, 7, "= must stand here", id="a block in a line"),
        pytest.param("}\n", 1, 1, "a name must stand here", id="closed and never opened"),
        pytest.param('a = "b\n', 1, 7, "the string does not end", id="an open string"),
        pytest.param('a = "b', 1, 7, "the string does not end", id="an open string at the end"),
        pytest.param(r'a = "\x"', 1, 6, "no such escape", id="an unknown escape"),
        pytest.param(r'a = "\u12"', 1, 6, "no such escape", id="a short escape"),
        pytest.param(r'a = "\ud800"', 1, 6, "no such character", id="half a character"),
        pytest.param(r'a = "\UFFFFFFFF"', 1, 6, "no such character", id="beyond Unicode"),
        pytest.param('a = "b${c}"', 1, 7, "no expressions", id="a template"),
        pytest.param('a = "${c}"', 1, 5, "no expressions", id="only a template"),
        pytest.param('a = "${"c"}d"', 1, 5, "no expressions", id="a template with more"),
        pytest.param('a = "${"c" + "d"}"', 1, 12, "+ has no place here", id="a sum in a template"),
        pytest.param('x "${"l"}" {}', 1, 4, "no expressions", id="a template of nothing but a string in a label"),
        pytest.param('x "l${"m"}" {}', 1, 5, "no expressions", id="a template in a label"),
        pytest.param('a = "%{if b}"', 1, 6, "no expressions", id="a directive"),
        pytest.param("a = b\n", 1, 5, "a string in quotes must stand here, not b", id="a reference"),
        pytest.param("a = f(1)\n", 1, 5, "a string in quotes", id="a call"),
        pytest.param('a = ["b" "c"]\n', 1, 10, ", must stand here", id="no comma"),
        pytest.param("a = [,]\n", 1, 6, "a string in quotes", id="only a comma"),
        pytest.param('a = [["b"]]\n', 1, 6, "a string in quotes", id="a list in a list"),
        pytest.param('a = ["b"\n', 2, 1, "must stand here, not the end of the file", id="an open list"),
        pytest.param("a = <<E\nb\nE\n", 1, 5, "< has no place here", id="a heredoc"),
        pytest.param("a = {}\n", 1, 5, "a string in quotes", id="an object"),
        pytest.param("a = 'b'\n", 1, 5, "' has no place here", id="single quotes"),
        pytest.param("/* a\n", 1, 1, "/ has no place here", id="an open comment"),
        pytest.param('a = "b"\x00\n', 1, 8, "\\x00 has no place here", id="NUL"),
        pytest.param('"a" = "b"\n', 1, 1, "a name must stand here", id="a name in quotes"),
        pytest.param('a = "b"\rc = "d"\n', 1, 8, "\\r has no place here", id="CR alone"),
        pytest.param("x {\n<<<<<<< HEAD\n", 2, 1, "merge conflict", id="a merge conflict"),
        pytest.param("x {\n=======\n", 2, 1, "merge conflict", id="the middle of a merge conflict"),
        pytest.param("x {\n" * 20, 17, 1, "more than 16 deep", id="too deep"),
    ],
)
def test_what_is_refused_and_where(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(HclError) as caught:
        parse_hcl(text)
    assert words in str(caught.value)
    assert caught.value.position == Position(line, column)
    assert str(caught.value.position) == f"line {line}, column {column}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("/*" * 200_000, id="open comments"),
        pytest.param("\n" * 1_000_000, id="empty lines"),
        pytest.param('a = "' + "$" * 500_000, id="marks in a string"),
        pytest.param("a = [" + '"b",\n' * 100_000, id="an open list"),
        pytest.param('a = ["' + "\\n" * 300_000, id="escapes"),
        pytest.param("".join(f'a{n} = "b"\n' for n in range(50_000)), id="many arguments"),
        pytest.param("x {" * 100_000, id="open blocks"),
        pytest.param("a = " + '"${' * 5_000, id="templates in templates"),
    ],
)
def test_a_hostile_file_takes_no_more_time_than_its_length(text: str) -> None:
    started = time.process_time()
    try:
        parse_hcl(text)
    except HclError:
        pass
    assert time.process_time() - started < 10
