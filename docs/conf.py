"""Sphinx: plain, offline, and strict about references."""

from getmodules.version import VERSION

project = "getmodules"
copyright = "the getmodules authors"  # the name that Sphinx asks for
author = "the getmodules authors"
release = version = VERSION

extensions = ["sphinx.ext.autodoc"]
exclude_patterns = ["_build", "adr/template.rst"]

html_theme = "alabaster"
html_theme_options = {
    "description": "Turn any module address into a directory you can trust",
    "page_width": "1040px",
    "fixed_sidebar": True,
}
html_copy_source = False

#: ``sphinx-build -b man docs OUT`` makes getmodules.1 of the page about the command line.
man_pages = [("reference/cli", "getmodules", "turn module addresses into directories that can be trusted", author, 1)]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True

nitpick_ignore_regex = [
    # The standard library's inventory would need the network.
    ("py:.*", r"(collections|contextlib|dataclasses|datetime|enum|functools|os|pathlib|threading|typing)\..*"),
    ("py:.*", r"(Any|Callable|IO|Iterable|Iterator|Mapping|Path|Self|Sequence|bool|bytes|datetime|int|object|str)"),
    ("py:class", r"(Callable|Mapping|tuple)\[.*"),
    # Variables of types.
    ("py:class", r"getmodules\..*\.T"),
    # Types of attributes that are not classes, or not in the reference.
    ("py:class", r"(getmodules\.api\.model\.MemberPath|Report|SentCredential)"),
    # Docstrings may name modules that are no part of the reference.
    ("py:mod", r"getmodules\..*"),
]
# Values with a field called ``bytes`` would be taken for the type of the same name.
suppress_warnings = ["ref.python"]
