"""Frozen values: what ``@dataclass(frozen=True, slots=True, kw_only=True)`` makes, made in a twentieth of its time.

A short command imports sixty such classes. The standard library compiles half a dozen functions for each of them; here
nothing is compiled: the functions are shared, and ``__init__`` goes through a table of the fields (ADR 24). Type
checkers know what :func:`valueclass` makes, ``inspect.signature`` shows its parameters, and the functions of
:mod:`dataclasses` (``replace``, ``fields``, ``asdict``) work on these values as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter, eq as equal, ge, gt, le, lt
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")
_ABSENT: Any = type("_Absent", (), {"__repr__": lambda self: "<absent>"})()


class FrozenValueError(AttributeError):
    """A frozen value was assigned to."""


class Field:
    """One field: its type as it is written, its default, and whether it is shown, compared and hashed."""

    __slots__ = ("annotation", "compare", "default", "default_factory", "hash", "init", "repr")

    def __init__(
        self, default: Any, default_factory: Any, *, init: bool, repr: bool, compare: bool, hash: bool
    ) -> None:
        self.annotation, self.default, self.default_factory = "", default, default_factory
        self.init, self.repr, self.compare, self.hash = init, repr, compare, hash

    @property
    def is_needed(self) -> bool:
        return self.init and self.default is _ABSENT and self.default_factory is _ABSENT

    def initial(self) -> Any:
        return self.default if self.default_factory is _ABSENT else self.default_factory()


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
    """Describe a field, like ``dataclasses.field``.

    ``init=False`` is not a parameter: it begins as its default, or not at all. ``repr=False`` is never shown,
    ``compare=False`` is not part of the value, ``hash=False`` is compared but cannot be hashed.
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
    """Return the same value but for ``changes``."""
    fields: dict[str, Field] = type(instance).__value_fields__  # type: ignore[attr-defined]
    given = {name: getattr(instance, name) for name, each in fields.items() if each.init}
    return type(instance)(**(given | changes))


def names_of(values: Any) -> tuple[str, ...]:
    """Return the names of the fields of a value, or of a class of values."""
    return tuple(values.__value_fields__)


# ------------------------------------------------------------------------------------------------ making a class


def _made(cls: Any, kw_only: bool, frozen: bool, order: bool, eq: bool) -> Any:
    """Make the class again, with slots: they must be known when a class is made."""
    namespace = dict(cls.__dict__)
    own = _own_fields(namespace)
    inherited = (vars(base).get("__value_fields__", {}) for base in reversed(cls.__mro__[1:]))
    fields = {name: each for table in (*inherited, own) for name, each in table.items()}
    for name in ("__dict__", "__weakref__", *own):
        namespace.pop(name, None)
    namespace |= {
        "__slots__": tuple(own),
        "__value_fields__": fields,
        "__value_compared__": _getter(name for name, each in fields.items() if each.compare),
        "__value_hashed__": _getter(name for name, each in fields.items() if each.hash),
        "__match_args__": () if kw_only else tuple(fields),
        "__dataclass_fields__": _StandardFields(),
        "__qualname__": cls.__qualname__,
    }
    if "__init__" not in namespace:
        namespace["__init__"] = init = _init(cls, fields, kw_only)
        namespace["__signature__"] = _SignatureOnDemand(init, fields, kw_only)
    methods = _COMMON | (_FROZEN if frozen else {}) | (_EQUAL if eq else {}) | (_ORDERED if order else {})
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
            fields[name] = each = default if isinstance(default, Field) else field(default=default)
            each.annotation = annotation
    return fields


def _getter(names: Iterable[str]) -> Callable[[Any], Any]:
    listed = tuple(names)
    return attrgetter(*listed) if listed else lambda instance: ()


def _init(cls: Any, fields: dict[str, Field], kw_only: bool) -> Callable[..., None]:
    """Return the ``__init__`` of a class: the same for all, but for the table that it goes through."""
    table = tuple(fields.items())
    parameters = {name: each for name, each in table if each.init}
    needed = {name for name, each in parameters.items() if each.is_needed}
    positions = () if kw_only else tuple(parameters)

    def __init__(self: Any, /, *positional: Any, **named: Any) -> None:  # noqa: N807
        given = dict(zip(positions, positional, strict=False)) | named if positional else named
        if len(given) < len(positional) + len(named) or not needed <= given.keys() <= parameters.keys():
            _refuse_call(__init__.__qualname__, _signature(fields, kw_only), positional, named)
        for name, each in table:
            value = given[name] if name in given else each.initial()
            if value is not _ABSENT:
                object.__setattr__(self, name, value)
        if hasattr(self, "__post_init__"):
            self.__post_init__()

    __init__.__qualname__, __init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return __init__


def _refuse_call(function: str, signature: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        raise TypeError(f"{function}(): {error}") from None


# ---------------------------------------------------------------------------------------- what others ask a class


def _signature(fields: dict[str, Field], kw_only: bool) -> Any:
    from inspect import Parameter, Signature  # slow to import: longer than making all classes takes

    kind = Parameter.KEYWORD_ONLY if kw_only else Parameter.POSITIONAL_OR_KEYWORD
    given = {name: each for name, each in fields.items() if each.init}
    defaults = {name: Parameter.empty if each.is_needed else each.default for name, each in given.items()}
    parameters = (Parameter(name, kind, default=defaults[name], annotation=given[name].annotation) for name in given)
    return Signature(list(parameters), return_annotation="None")


class _SignatureOnDemand:
    """The ``__signature__`` of a class, made when it is first read."""

    def __init__(self, init: object, fields: dict[str, Field], kw_only: bool) -> None:
        self._init, self._fields, self._kw_only = init, fields, kw_only

    def __get__(self, instance: object, owner: Any) -> Any:
        if instance is not None or owner.__init__ is not self._init:  # an instance, or an heir with another __init__
            raise AttributeError("__signature__")
        return _signature(self._fields, self._kw_only)


class _StandardFields:
    """The fields in the form of :mod:`dataclasses`, made when one of its functions asks for them."""

    def __get__(self, instance: object, owner: Any) -> dict[str, Any]:
        import dataclasses

        made: dict[str, Any] = {}
        for name, each in owner.__value_fields__.items():
            shape: dict[str, Any] = {"init": each.init, "repr": each.repr, "compare": each.compare, "hash": each.hash}
            if each.default_factory is not _ABSENT:
                shape["default_factory"] = each.default_factory
            elif each.default is not _ABSENT:
                shape["default"] = each.default
            standard: Any = dataclasses.field(**shape)
            standard.name, standard.type, standard._field_type = name, each.annotation, dataclasses._FIELD  # type: ignore[attr-defined]
            made[name] = standard
        return made


# -------------------------------------------------------------------------------------------- what values can do


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, each in self.__value_fields__.items() if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """Return a method that compares values of one class, field by field."""

    def compared(self: Any, other: Any) -> Any:
        cls: Any = type(self)
        if type(other) is not cls:
            return NotImplemented
        return compare(cls.__value_compared__(self), cls.__value_compared__(other))

    return compared


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


_COMMON: dict[str, Any] = {"__repr__": _repr, "__reduce__": _reduce, "__replace__": replace}
_FROZEN: dict[str, Any] = {"__setattr__": _refuse, "__delattr__": _refuse}
_EQUAL: dict[str, Any] = {"__eq__": _comparison(equal), "__hash__": _hash}
_ORDERED: dict[str, Any] = {
    "__lt__": _comparison(lt),
    "__le__": _comparison(le),
    "__gt__": _comparison(gt),
    "__ge__": _comparison(ge),
}
