from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Generic, TypeVar

import pytest

from getmodules.util.values import FrozenValueError, field, names_of, replace, valueclass

T = TypeVar("T")


@valueclass
class Parcel(Generic[T]):
    """All that a field can be."""

    kinds: ClassVar[int] = 3
    weight: int
    to: str = "x"
    things: list[int] = field(default_factory=list, hash=False)
    secret: str = field(default="S3cr3t", repr=False, compare=False)
    seen: int = field(default=0, init=False, compare=False)

    @property
    def heavier(self) -> int:
        return self.weight + 1


@valueclass(kw_only=False, order=True)
class Point:
    x: int
    y: int = 0

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")


@valueclass(kw_only=False, frozen=False)
class Counter:
    count: int = 0
    names: list[str] = field(default_factory=list)


@valueclass
class Labelled(Point):
    label: str = field()


@valueclass
class Nothing:
    pass


def test_fields_and_defaults() -> None:
    parcel: Parcel[int] = Parcel(weight=1)
    assert (parcel.weight, parcel.to, parcel.things, parcel.secret, parcel.seen) == (1, "x", [], "S3cr3t", 0)
    assert Parcel(weight=1).things is not parcel.things
    assert parcel.heavier == 2
    assert Parcel.kinds == 3
    assert names_of(Parcel) == ("weight", "to", "things", "secret", "seen")
    assert (Point(1), Point(1, 2).y, Counter(3).count) == (Point(x=1, y=0), 2, 3)
    assert Labelled(x=1, label="a").y == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param(lambda: Parcel(1), "Parcel.*positional", id="by position"),  # type: ignore[call-arg]
        pytest.param(Parcel, "Parcel.*missing.*weight", id="missing"),
        pytest.param(lambda: Parcel(weight=1, size=2), "Parcel.*'size'", id="unknown"),  # type: ignore[call-arg]
        pytest.param(lambda: Parcel(weight=1, seen=2), "Parcel.*'seen'", id="no parameter"),  # type: ignore[call-arg]
        pytest.param(lambda: Point(1, 2, 3), "Point.*positional", id="one too many"),  # type: ignore[call-arg]
        pytest.param(lambda: Point(1, x=2), "Point.*multiple.*'x'", id="twice"),  # type: ignore[misc]
        pytest.param(lambda: replace(Point(1), z=2), "Point.*'z'", id="replaced, and unknown"),
    ],
)
def test_what_cannot_be_made(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        wrong()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda parcel: setattr(parcel, "weight", 2), id="set"),
        pytest.param(lambda parcel: setattr(parcel, "colour", 2), id="a new one"),
        pytest.param(lambda parcel: delattr(parcel, "weight"), id="deleted"),
    ],
)
def test_nothing_changes(change: Callable[[object], None]) -> None:
    parcel: Parcel[int] = Parcel(weight=1)
    with pytest.raises(FrozenValueError, match=r"Parcel\.\w+ cannot be changed"):
        change(parcel)
    assert parcel == Parcel(weight=1)


def test_slots_keep_strangers_out_of_what_may_change() -> None:
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(AttributeError):
        counter.other = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        hash(counter)


def test_what_a_value_is() -> None:
    assert Parcel(weight=1) == Parcel(weight=1, secret="another")
    assert Parcel(weight=1) != Parcel(weight=2)
    assert hash(Parcel(weight=1, things=[1])) == hash(Parcel(weight=1))
    assert Point(1).__eq__((1, 0)) is NotImplemented
    assert (Nothing(), hash(Nothing())) == (Nothing(), hash(Nothing()))
    assert {Point(1), Point(1, 0)} == {Point(1)}


def test_order() -> None:
    assert sorted([Point(2), Point(1, 5), Point(1)]) == [Point(1), Point(1, 5), Point(2)]
    assert Point(1) < Point(2) <= Point(2)
    assert Point(3) > Point(2) >= Point(2)
    with pytest.raises(TypeError):
        _ = Point(1) < (2, 0)  # type: ignore[operator]


def test_what_is_shown() -> None:
    assert repr(Parcel(weight=1)) == "Parcel(weight=1, to='x', things=[], seen=0)"
    assert str(inspect.signature(Point)) == "(x: 'int', y: 'int' = 0) -> 'None'"
    shown = "(*, weight: 'int', to: 'str' = 'x', things: 'list[int]' = <absent>, secret: 'str' = 'S3cr3t') -> 'None'"
    assert str(inspect.signature(Parcel)) == shown


def test_what_is_checked_at_birth() -> None:
    with pytest.raises(ValueError, match="negative"):
        Point(-1)
    with pytest.raises(ValueError, match="negative"):
        replace(Point(1), x=-1)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies(again: Callable[[object], object]) -> None:
    assert again(Point(1, 2)) == Point(1, 2)
    assert again(Parcel(weight=1, things=[1])) == Parcel(weight=1, things=[1])


def test_the_standard_library_takes_them_for_dataclasses() -> None:
    parcel: Parcel[int] = Parcel(weight=1, things=[1])
    assert dataclasses.is_dataclass(parcel)
    assert dataclasses.replace(parcel, to="y") == replace(parcel, to="y") == Parcel(weight=1, to="y", things=[1])
    expected: Mapping[str, object] = {"weight": 1, "to": "x", "things": [1], "secret": "S3cr3t", "seen": 0}
    assert dataclasses.asdict(parcel) == expected
    assert [each.name for each in dataclasses.fields(Point)] == ["x", "y"]


def test_the_first_instances_may_be_made_at_once_and_by_heirs() -> None:
    @valueclass
    class Base:
        x: int

    class Heir(Base):
        __slots__ = ()

        def __init__(self) -> None:
            super().__init__(x=2)

    together = threading.Barrier(4)

    def make(kind: Callable[[], Base]) -> int:
        together.wait()
        return kind().x

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(make, [Heir, lambda: Base(x=1), Heir, lambda: Base(x=1)])) == [2, 1, 2, 1]
    assert str(inspect.signature(Base)) == "(*, x: 'int') -> 'None'"
    assert str(inspect.signature(Heir)) == "() -> 'None'"


def test_a_value_that_is_called_has_a_signature_of_its_own() -> None:
    @valueclass
    class Answer:
        x: int

        def __call__(self, question: str) -> int:
            return self.x

    assert list(inspect.signature(Answer(x=1)).parameters) == ["question"]


def test_the_signature_is_known_before_the_first_instance() -> None:
    @valueclass(kw_only=False)
    class Fresh:
        x: int = 3

    assert list(inspect.signature(Fresh).parameters) == ["x"]
    assert Fresh.__init__.__qualname__.endswith("Fresh.__init__")
