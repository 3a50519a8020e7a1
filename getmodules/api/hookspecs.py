"""The hooks of getmodules: the plugin author's reference.

A plugin is a module or an object that has some of these, each marked with :data:`hookimpl`, and that is named
by an entry point in the group ``getmodules``. Hooks are *registration* hooks: each is called once, without
arguments, and returns an iterable of objects that fit the port named in its signature
(:mod:`getmodules.api.ports`). Later calls go to those objects directly. A hook may gain arguments in later
versions, never lose one; pluggy lets an implementation leave out what it does not need.

.. versionadded:: 0.1
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from getmodules.api.ports import Credentials, Detector, Getter, ProgressSink, Unpacker, Verifier

PROJECT = "getmodules"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def getmodules_detectors() -> Iterable[Detector]:
    """Detectors rewrite shorthand: ``acme:vpc`` becomes ``github.com/acme/vpc``. (0.1)

    They are asked after getmodules' own detectors for forges and before the one for paths.
    """
    return ()


@hookspec
def getmodules_getters() -> Iterable[Getter]:
    """Getters bring packages of the schemes that they name. (0.1)

    A scheme has one getter: two claims make it unusable, with an error that names both distributions, until
    one of the plugins is taken out (``--no-plugin``).
    """
    return ()


@hookspec
def getmodules_unpackers() -> Iterable[Unpacker]:
    """Unpackers read archive formats: by ``archive=`` name, by suffix, by media type. (0.1)"""
    return ()


@hookspec
def getmodules_credentials() -> Iterable[Credentials]:
    """Credentials look up secrets for an origin; the first that has one wins. (0.1)"""
    return ()


@hookspec
def getmodules_verifiers() -> Iterable[Verifier]:
    """Verifiers refuse pins, archives or trees; all of them are asked at each of their gates. (0.1)"""
    return ()


@hookspec
def getmodules_progress() -> Iterable[ProgressSink]:
    """Ways to show progress, chosen with ``--progress NAME``. (0.1)"""
    return ()
