"""Sphinx: plain, offline, and strict about references."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from sphinx.pycode import ModuleAnalyzer

from getmodules.version import VERSION

if TYPE_CHECKING:
    from docutils.nodes import Element, TextElement
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

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
    (
        "py:.*",
        r"(collections|concurrent|contextlib|dataclasses|datetime|enum|functools|os|pathlib|threading|typing)\..*",
    ),
    (
        "py:.*",
        r"(Any|Callable|Executor|IO|Iterable|Iterator|Mapping|Path|Self|Sequence|bool|bytes|datetime|int|object|str)",
    ),
    ("py:class", r"(Callable|Mapping|tuple)\[.*"),
    # Variables of types.
    ("py:class", r"getmodules\..*\.T"),
    # Types of attributes that are not classes, or not in the reference.
    ("py:class", r"(AbstractContextManager|Guard|Report)"),
]
# Values with a field called ``bytes`` would be taken for the type of the same name.
suppress_warnings = ["ref.python"]

#: Where a name is looked for that a signature has as it is written in the code.
PUBLIC_MODULES = ("getmodules", "getmodules.api", "getmodules.errors", "getmodules.providers", "getmodules.testing")


def link_public_name(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: TextElement) -> Element | None:
    """Return the link for a type by the public name that it is documented under, wherever it is defined."""
    if node["refdomain"] != "py":
        return None
    domain = env.get_domain("py")
    name = node["reftarget"].rpartition(".")[2]
    for module in (node.get("py:module"), *PUBLIC_MODULES):
        if f"{module}.{name}" in domain.objects:
            target = f"{module}.{name}"
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, content)
    return None


def shown_signature(
    app: Sphinx, what: str, name: str, value: object, options: object, arguments: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Return a signature without what no caller can write: functions as defaults, and the one of all Protocols."""
    if arguments is None or (what == "class" and arguments == "(*args, **kwargs)"):
        return "" if arguments else None, result
    return re.sub(r"<absent>|<function .*?>(?=[,)])", "...", arguments), result


def take_comment(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Describe a name for a type, or a constant, by the comment where it is defined, and not by its own type."""
    if what != "data":
        return
    attribute = name.rpartition(".")[2]
    for home in [name for name in sys.modules if name.startswith("getmodules.")]:
        if vars(sys.modules[home]).get(attribute) is value:
            comment = ModuleAnalyzer.for_module(home).find_attr_docs().get(("", attribute))
            if comment:
                lines[:] = comment
                return


def setup(app: Sphinx) -> None:
    app.connect("missing-reference", link_public_name)
    app.connect("autodoc-process-signature", shown_signature)
    app.connect("autodoc-process-docstring", take_comment)
