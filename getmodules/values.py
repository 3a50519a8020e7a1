"""Frozen values: what ``@dataclass(frozen=True, slots=True, kw_only=True)`` makes, made in a fifth of its time.

A short command imports sixty such classes, and the standard library compiles half a dozen functions for each, which
together took longer than the whole work of a small ``get`` (ADR 18). Here the functions are shared, and only
``__init__`` is compiled, so that it has the signature that its users see. Type checkers know :func:`valueclass` for
what it is; and the functions of :mod:`dataclasses` (``replace``, ``fields``, ``asdict``) work on these values as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter, ge, gt, le, lt
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")
#: Instances until it pays to compile what makes them.
_FEW = 12
_ABSENT: Any = type("_Absent", (), {"__repr__": lambda self: "<absent>"})()


class FrozenValueError(AttributeError):
    """Somebody tried to change a value."""


class Field:
    """What is said of a field besides its type."""

    __slots__ = ("compare", "default", "default_factory", "hash", "init", "repr")

    def __init__(
        self, default: Any, default_factory: Any, *, init: bool, repr: bool, compare: bool, hash: bool
    ) -> None:
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare, self.hash = init, repr, compare, hash

    @property
    def is_needed(self) -> bool:
        return self.default is _ABSENT and self.default_factory is _ABSENT


@overload
def field(*, default: T, init: bool = True, repr: bool = True, compare: bool = True, hash: bool = True) -> T: ...
@overload
def field(
    *, default_factory: Callable[[], T], init: bool = True, repr: bool = True, compare: bool = True, hash: bool = True
) -> T: ...
@overload
def field(*, init: bool = True, repr: bool = True, compare: bool = True, hash: bool = True) -> Any: ...
def field(
    *,
    default: Any = _ABSENT,
    default_factory: Any = _ABSENT,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
    hash: bool = True,
) -> Any:
    """As of :mod:`dataclasses`. ``repr=False`` is never shown, ``compare=False`` is no part of what a value is.

    With ``init=False`` it is no parameter; it begins as its default, or not at all.
    """
    return Field(default, default_factory, init=init, repr=repr, compare=compare, hash=hash and compare)


@overload
def valueclass(cls: type[T], /) -> type[T]: ...
@overload
def valueclass(
    *, kw_only: bool = True, frozen: bool = True, order: bool = False, eq: bool = True
) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def valueclass(
    cls: Any = None, /, *, kw_only: bool = True, frozen: bool = True, order: bool = False, eq: bool = True
) -> Any:
    """Make a class of annotations one of values. ``kw_only=False``: its fields may be given by position."""
    if cls is None:
        return lambda decorated: _made(decorated, kw_only, frozen, order, eq)
    return _made(cls, kw_only, frozen, order, eq)


def replace(instance: T, /, **changes: Any) -> T:
    """The same value but for ``changes``."""
    cls: Any = type(instance)
    made: T = cls(**{**cls.__value_given__(instance), **changes})
    return made


def names_of(values: Any) -> tuple[str, ...]:
    """The names of the fields of a value, or of a class of values."""
    return tuple(values.__value_fields__)


# --------------------------------------------------------------------------------------------------- the making


def _made(cls: Any, kw_only: bool, frozen: bool, order: bool, eq: bool) -> Any:
    """The class once more: slots must be known when a class is made."""
    namespace = dict(cls.__dict__)
    fields: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= base.__dict__.get("__value_fields__", {})
    own = _own_fields(namespace)
    fields |= own
    for name in ("__dict__", "__weakref__", *own):
        namespace.pop(name, None)
    namespace |= {
        "__slots__": tuple(own),
        "__value_fields__": fields,
        "__value_given__": _mapper([name for name, each in fields.items() if each.init]),
        "__value_compared__": _getter(name for name, each in fields.items() if each.compare),
        "__value_hashed__": _getter(name for name, each in fields.items() if each.hash),
        "__match_args__": () if kw_only else tuple(fields),
        "__dataclass_fields__": _AsDataclass(),
        "__qualname__": cls.__qualname__,
    }
    if "__init__" not in namespace:
        namespace["__init__"] = _Init(fields, kw_only=kw_only, frozen=frozen)
    methods = _SHOWN | (_FROZEN if frozen else {}) | (_EQUAL if eq else {}) | (_ORDERED if order else {})
    for name, function in methods.items():
        namespace.setdefault(name, function)
    if eq and not frozen:
        namespace["__hash__"] = None
    return type(cls)(cls.__name__, cls.__bases__, namespace)


def _own_fields(namespace: dict[str, Any]) -> dict[str, Field]:
    fields = {}
    for name, annotation in namespace.get("__annotations__", {}).items():
        if not str(annotation).startswith("ClassVar"):
            default = namespace.get(name, _ABSENT)
            fields[name] = (
                default
                if isinstance(default, Field)
                else Field(default, _ABSENT, init=True, repr=True, compare=True, hash=True)
            )
    return fields


def _getter(names: Iterable[str]) -> Callable[[Any], Any]:
    listed = tuple(names)
    return attrgetter(*listed) if listed else lambda instance: ()


def _mapper(names: list[str]) -> Callable[[Any], dict[str, Any]]:
    if len(names) < 2:
        return staticmethod(lambda instance: {name: getattr(instance, name) for name in names})
    of = attrgetter(*names)
    return staticmethod(lambda instance: dict(zip(names, of(instance), strict=True)))


class _Init:
    """``__init__``, compiled for a class of which a few instances were made, or when somebody looks at its signature.

    Compiling it takes longer than all else about a class, and as long as a dozen instances do without.
    """

    def __init__(self, fields: dict[str, Field], *, kw_only: bool, frozen: bool) -> None:
        self._fields, self._kw_only, self._frozen = fields, kw_only, frozen
        self._needed = {name for name, each in fields.items() if each.init and each.is_needed}
        self._given = {name for name, each in fields.items() if each.init}
        self._made = 0

    def __set_name__(self, owner: Any, name: str) -> None:
        self._owner, self._globals = owner, vars(sys.modules[owner.__module__])

    def __get__(self, instance: Any, owner: Any) -> Any:
        self._made += 1
        # Who looks at the signature has no instance; from Python 3.13 on, the class stands in its place.
        looked_at = instance is None or isinstance(instance, type)
        return self._compiled(instance, owner) if looked_at or self._made > _FEW else partial(self._fill, instance)

    def _compiled(self, instance: Any, owner: Any) -> Any:
        made = _init(self._owner, self._fields, self._globals, kw_only=self._kw_only, frozen=self._frozen)
        self._owner.__init__ = made
        return made.__get__(instance, owner)

    def _fill(self, instance: Any, /, *positional: Any, **given: Any) -> None:
        names = given.keys()
        if positional or not self._needed <= names or not names <= self._given:
            self._compiled(instance, type(instance))(*positional, **given)  # which knows best what is wrong
            return
        for name, each in self._fields.items():
            value = given.get(name, _ABSENT)
            if value is _ABSENT:
                if each.default_factory is not _ABSENT:
                    value = each.default_factory()
                elif each.default is not _ABSENT:
                    value = each.default
                else:
                    continue  # no parameter, and it begins as nothing
            object.__setattr__(instance, name, value)
        if hasattr(instance, "__post_init__"):
            instance.__post_init__()


def _init(cls: Any, fields: dict[str, Field], known_there: dict[str, Any], *, kw_only: bool, frozen: bool) -> Any:
    """Compiled, for its signature and its speed."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_absent": _ABSENT}
    parameters, lines = [], []
    for name, each in fields.items():
        given, parameter = name, name
        if each.default_factory is not _ABSENT:
            known[f"_make_{name}"] = each.default_factory
            made = f"_make_{name}()"
            given, parameter = f"{made} if {name} is _absent else {name}" if each.init else made, f"{name}=_absent"
        elif each.default is not _ABSENT:
            known[f"_default_{name}"] = each.default
            given, parameter = name if each.init else f"_default_{name}", f"{name}=_default_{name}"
        elif not each.init:
            continue
        if each.init:
            parameters.append(parameter)
        lines.append(f"  _set(self,{name!r},{given})" if frozen else f"  self.{name}={given}")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    star = "*," if kw_only and parameters else ""
    head = f"def make({','.join(known)}):\n def __init__(self,{star}{','.join(parameters)}):\n"
    made_here: dict[str, Any] = {}
    # Below the globals of its module, where the names in its annotations mean something.
    exec(head + ("\n".join(lines) or "  pass") + "\n return __init__", known_there, made_here)
    init = made_here["make"](**known)
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {name: _annotation(cls, name) for name in fields} | {"return": "None"}
    return init


def _annotation(cls: Any, name: str) -> Any:
    known = (vars(each).get("__annotations__", {}) for each in cls.__mro__)
    return next(annotations[name] for annotations in known if name in annotations)


# -------------------------------------------------------------------------------------------- what values can do


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, each in self.__value_fields__.items() if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    compared = _compared(self)
    return compared(self) == compared(other)


def _compared(value: Any) -> Any:
    return type(value).__value_compared__


def _hash(self: Any) -> int:
    return hash(type(self).__value_hashed__(self))


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    raise FrozenValueError(f"{type(self).__name__}.{name} cannot be changed; replace() makes another value")


def _reduce(self: Any) -> tuple[Any, ...]:
    return _remake, (type(self), {name: getattr(self, name) for name in self.__value_fields__ if hasattr(self, name)})


def _remake(cls: Any, fields: dict[str, Any]) -> Any:
    copied = object.__new__(cls)
    for name, content in fields.items():
        object.__setattr__(copied, name, content)
    return copied


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def ordered(self: Any, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        compared = _compared(self)
        return compare(compared(self), compared(other))

    return ordered


_SHOWN: dict[str, Any] = {"__repr__": _repr, "__reduce__": _reduce, "__replace__": replace}
_FROZEN: dict[str, Any] = {"__setattr__": _refuse, "__delattr__": _refuse}
_EQUAL: dict[str, Any] = {"__eq__": _eq, "__hash__": _hash}
_ORDERED: dict[str, Any] = {
    "__lt__": _ordering(lt),
    "__le__": _ordering(le),
    "__gt__": _ordering(gt),
    "__ge__": _ordering(ge),
}


class _AsDataclass:
    """Makes what :mod:`dataclasses` looks for when somebody asks it about a value, and not before."""

    def __get__(self, instance: Any, owner: Any) -> dict[str, Any]:
        import dataclasses

        made: dict[str, Any] = {}
        for name, each in owner.__value_fields__.items():
            shape: dict[str, Any] = {"init": each.init, "repr": each.repr, "compare": each.compare, "hash": each.hash}
            if each.default_factory is not _ABSENT:
                shape["default_factory"] = each.default_factory
            elif each.default is not _ABSENT:
                shape["default"] = each.default
            standard: Any = dataclasses.field(**shape)
            standard.name, standard.type, standard._field_type = name, _annotation(owner, name), dataclasses._FIELD  # type: ignore[attr-defined]
            made[name] = standard
        return made
