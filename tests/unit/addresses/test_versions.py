"""Semantic versions and constraints: what is read, what it allows, how it is spelled."""

from __future__ import annotations

import itertools
import random

import pytest

from getmodules.addresses.versions import Constraint, Version, VersionError

#: From the specification of semver 2.0, and around it: each comes before the next.
IN_ORDER = [
    "0.0.0-0",
    "0.0.0",
    "0.9.10",
    "0.10.0",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0--1",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.1.0",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.0+1",
    "1.0.0+2",
    "1.0.0+10",
    "1.0.0+a",
    "1.0.1",
    "1.1.0",
    "5.0.0-20240101",
    "5.0.0",
    "9223372036854775807.0.0",
]


def test_the_order() -> None:
    versions = [Version.parse(text) for text in IN_ORDER]
    shuffled = random.Random(1).sample(versions, len(versions))
    assert [str(version) for version in sorted(shuffled)] == IN_ORDER
    assert all(a < b and b > a and a != b for a, b in itertools.pairwise(versions))


def test_what_is_behind_the_plus_has_no_precedence() -> None:
    assert Version.parse("1.0.0+a").precedence == Version.parse("1.0.0+b").precedence
    assert Version.parse("1.0.0+a") != Version.parse("1.0.0+b")


def test_a_version_is_not_compared_with_its_text() -> None:
    with pytest.raises(TypeError):
        assert Version.parse("1.0.0") < "2.0.0"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("1", id="one number"),
        pytest.param("1.2", id="two numbers"),
        pytest.param("1.2.3.4", id="four numbers"),
        pytest.param("v1.2.3", id="v"),
        pytest.param("01.2.3", id="leading zero"),
        pytest.param("1.02.3", id="leading zero in the middle"),
        pytest.param("1.2.3-01", id="leading zero in a pre-release"),
        pytest.param("1.2.3-", id="empty pre-release"),
        pytest.param("1.2.3-a..b", id="empty identifier"),
        pytest.param("1.2.3+", id="empty build"),
        pytest.param("1.2.3+a+b", id="two builds"),
        pytest.param("1.2.3-ü", id="beyond ASCII"),
        pytest.param("١.2.3", id="digits of another script"),
        pytest.param(" 1.2.3", id="blank"),
        pytest.param("1.2.3\n", id="line end"),
        pytest.param("-1.2.3", id="negative"),
        pytest.param("9223372036854775808.0.0", id="beyond 64 bits"),
        pytest.param("9" * 300 + ".0.0", id="endless number"),
        pytest.param("1.2.3-" + "a" * 300, id="too long"),
    ],
)
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(VersionError) as caught:
        Version.parse(text)
    assert len(str(caught.value)) < 200


def test_zeros_before_a_number_of_a_pre_release_only_where_they_are_let_in() -> None:
    one, padded = Version.parse("1.2.3-1"), Version.parse("1.2.3-01", padded=True)
    assert str(padded) == "1.2.3-01"
    assert padded != one
    assert padded.precedence == one.precedence
    assert sorted([one, padded]) == sorted([padded, one])
    for text in ("01.2.3", "1.02.3-1"):
        with pytest.raises(VersionError, match="leading zero"):
            Version.parse(text, padded=True)


@pytest.mark.parametrize("text", ["0.0.0", "1.2.3-0a", "1.2.3+001", "1.0.0-x-y-z.--", "1.2.3-a.b+c.d"])
def test_what_is_one_is_written_as_it_was(text: str) -> None:
    assert str(Version.parse(text)) == text


# --------------------------------------------------------------------------------------------- constraints


@pytest.mark.parametrize(
    ("constraint", "allowed", "refused"),
    [
        pytest.param("1.2.0", "1.2.0 1.2.0+b", "1.2.1 1.2.0-rc.1", id="bare"),
        pytest.param("= 1.2", "1.2.0", "1.2.1", id="exactly, two numbers"),
        pytest.param("v1.2.0", "1.2.0", "1.2.1", id="v"),
        pytest.param("!= 1.2.0", "1.2.1 1.1.0", "1.2.0 1.3.0-a", id="not"),
        pytest.param("> 1.2", "1.2.1 2.0.0", "1.2.0 1.3.0-a", id="more"),
        pytest.param(">= 1.2", "1.2.0 2.0.0", "1.1.9 1.2.0-a", id="at least"),
        pytest.param("< 1.2", "1.1.9", "1.2.0 1.2.0-a 1.1.0-a", id="less"),
        pytest.param("<= 1.2", "1.2.0", "1.2.1", id="at most"),
        pytest.param("~> 1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0 2.2.3", id="the patch moves"),
        pytest.param("~> 1.2", "1.2.0 1.9.9", "1.1.9 2.0.0", id="the minor moves"),
        pytest.param("~> 1", "1.0.0 1.9.9 2.0.0 9.0.0", "0.9.9 2.0.0-a", id="everything moves"),
        pytest.param("~> 0.0", "0.0.1 0.9.0", "1.0.0", id="from zero"),
        pytest.param(">= 1.0, < 2.0, != 1.5.0", "1.0.0 1.9.9", "0.9.9 1.5.0 2.0.0", id="several"),
        pytest.param("> 2.0, < 1.0", "", "0.9.0 1.5.0 2.1.0", id="impossible"),
        pytest.param("2.0.0-beta.1", "2.0.0-beta.1", "2.0.0 2.0.0-beta.2", id="a pre-release by its name"),
        pytest.param("= 2.0.0-b, >= 1.0.0", "", "2.0.0-b 2.0.0", id="a pre-release that another term does not want"),
        pytest.param("= 2.0.0-b, >= 2.0.0-a", "", "2.0.0-a 2.0.0-b", id="a pre-release in company"),
        pytest.param("= v2.0-b", "2.0.0-b", "2.0.0-a 2.0.0", id="a pre-release, shortened"),
        pytest.param(">= 2.0.0-a", "2.0.0 3.0.0", "2.0.0-a 2.0.0-b 1.0.0", id="at least a pre-release"),
        pytest.param("~> 2.0.0-a", "", "2.0.0-a 2.0.0-b 2.0.0 2.0.1", id="pessimistic with a pre-release"),
        pytest.param("!= 2.0.0-a", "2.0.0", "2.0.0-a 2.0.0-b", id="not a pre-release"),
        pytest.param("1.0.0+b1", "1.0.0+b1", "1.0.0 1.0.0+b2", id="a build by its name"),
        pytest.param("!= 1.0.0+b1", "1.0.0 1.0.0+b2", "1.0.0+b1", id="not this build"),
        pytest.param(">= 1.0.0+b2", "1.0.0 1.0.0+b1", "0.9.0", id="builds have no order"),
    ],
)
def test_what_a_constraint_allows(constraint: str, allowed: str, refused: str) -> None:
    read = Constraint.parse(constraint)
    assert [text for text in allowed.split() if not read.allows(Version.parse(text))] == []
    assert [text for text in refused.split() if read.allows(Version.parse(text))] == []


def test_without_terms_every_release_will_do() -> None:
    assert Constraint().allows(Version.parse("0.0.1"))
    assert not Constraint().allows(Version.parse("1.0.0-a"))
    assert str(Constraint()) == ""


@pytest.mark.parametrize(
    ("constraint", "versions", "advice"),
    [
        pytest.param("~> 1.2", "", None, id="nothing there"),
        pytest.param("~> 3.0", "1.0.0 2.0.0", None, id="the newest are the nearest"),
        pytest.param("~> 1.2.0", "1.0.0 1.1.0 1.3.0 1.4.0 2.0.0", "are 1.4.0, 1.3.0, 1.1.0, 1.0.0", id="near"),
        pytest.param("< 1.0", "1.1.0 1.2.0 2.0.0 3.0.0", "the nearest are 1.2.0, 1.1.0", id="all are newer"),
        pytest.param("~> 3.0", "1.0.0 3.0.0-a 3.0.0-b", "version=3.0.0-b", id="a pre-release"),
        pytest.param("~> 3.0", "1.0.0 2.0.0 4.0.0-a 2.5.0-a", None, id="pre-releases that would not do either"),
        pytest.param("3.0.0", "1.0.0 3.0.0-rc.1", "version=3.0.0-rc.1", id="the release is not there yet"),
        pytest.param(
            "2.0.0-b", "1.0.0 2.0.0-a 2.0.0-c 5.0.0", "are 5.0.0, 2.0.0-c, 2.0.0-a, 1.0.0", id="a misspelt one"
        ),
        pytest.param("", "1.0.0-a 1.0.0-b", "version=1.0.0-b", id="nothing but pre-releases"),
    ],
)
def test_advice_where_nothing_will_do(constraint: str, versions: str, advice: str | None) -> None:
    there = [Version.parse(text) for text in versions.split()]
    wanted = Constraint.parse(constraint) if constraint else Constraint()
    assert wanted.newest(there) is None
    listed = [version for version in sorted(there) if not version.prerelease][-2:]
    said = wanted.advice(there, "version={}", listed)
    assert said is None if advice is None else advice in (said or "")


def test_the_newest_that_will_do() -> None:
    versions = [Version.parse(text) for text in ("1.9.0", "1.10.0", "2.0.0-rc.1", "1.2.0", "0.1.0")]
    assert str(Constraint.parse("~> 1").newest(versions)) == "1.10.0"
    assert str(Constraint.parse("~> 1.2.0").newest(versions)) == "1.2.0"
    assert Constraint.parse("> 2").newest(versions) is None
    assert Constraint().newest([]) is None


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        pytest.param("1", "1.0.0", id="bare"),
        pytest.param("=v1.2", "1.2.0", id="exactly"),
        pytest.param(">=1.0", ">= 1.0.0", id="blank"),
        pytest.param("~>1", "~> 1.0", id="one number"),
        pytest.param("~>  1.2", "~> 1.2", id="two numbers"),
        pytest.param("~> 1.2.0", "~> 1.2.0", id="three numbers"),
        pytest.param("~> 1.2-beta", "~> 1.2-beta", id="two numbers and a pre-release"),
        pytest.param("< 2.0 ,>=1.0", ">= 1.0.0, < 2.0.0", id="sorted by version"),
        pytest.param("!= 1, < 1, <= 1, ~> 1, ~> 1.0.0, 1, >= 1, > 1",
                     "> 1.0.0, >= 1.0.0, 1.0.0, ~> 1.0.0, ~> 1.0, <= 1.0.0, < 1.0.0, != 1.0.0",
                     id="sorted by operator"),
        pytest.param(">= 1, >= 1.0, >= 1.0.0, 2, = 2", ">= 1.0.0, 2.0.0", id="each once"),
        pytest.param("1.0.0-rc.1+b", "1.0.0-rc.1+b", id="pre-release and build"),
        pytest.param("1.04", "1.4.0", id="leading zeros, as Terraform takes them"),
    ],
)  # fmt: skip
def test_the_canonical_spelling(typed: str, canonical: str) -> None:
    assert str(Constraint.parse(typed)) == canonical
    assert str(Constraint.parse(canonical)) == canonical


@pytest.mark.parametrize(
    ("typed", "place", "word", "hint"),
    [
        pytest.param("", 1, "missing", "~> 1.2", id="empty"),
        pytest.param("  ", 3, "missing", "~> 1.2", id="blank"),
        pytest.param("1.0,", 5, "missing", "~> 1.2", id="comma at the end"),
        pytest.param(", 1.0", 1, "missing", "~> 1.2", id="comma at the beginning"),
        pytest.param("1.0,, 2.0", 5, "missing", "~> 1.2", id="two commas"),
        pytest.param(">= ", 4, "must stand here", "1.2.3", id="an operator alone"),
        pytest.param("=< 1.0", 1, "=<", "write <=", id="turned round"),
        pytest.param("1.0, => 1.0", 6, "=>", "write >=", id="turned round, in the second term"),
        pytest.param("== 1.0", 1, "==", "write =", id="two equals signs"),
        pytest.param("~ 1.2", 1, "~", "write ~>", id="tilde"),
        pytest.param("^1.2", 1, "^", "write ~>", id="caret"),
        pytest.param("<>1.2", 1, "<>", "write !=", id="not, as in BASIC"),
        pytest.param("<< 1.2", 1, "<<", "operators are", id="an operator of nobody's"),
        pytest.param(">= 1.0 < 2.0", 8, "comma", "commas", id="no comma"),
        pytest.param("1.0 2.0", 5, "comma", "commas", id="no comma, no operator"),
        pytest.param("1.0 - 2.0", 5, "two terms", ">= 1.0, <= 2.0", id="a range"),
        pytest.param("1.0 || 2.0", 5, "no 'or'", "commas", id="or"),
        pytest.param("1.*", 2, "wildcard", "~> 1.2", id="wildcard"),
        pytest.param("1.2.x", 4, "wildcard", "~> 1.2", id="wildcard x"),
        pytest.param("*", 1, "wildcard", "leave out all", id="anything"),
        pytest.param("1.2.3.4", 6, "three numbers", "1.2.3", id="four numbers"),
        pytest.param("1.2.3beta", 6, "ends here", "1.2.3-beta.1", id="no dash"),
        pytest.param("1.2.3-", 6, "ends here", "1.2.3-beta.1", id="a dash alone"),
        pytest.param("1.", 2, "ends here", "1.2.3-beta.1", id="a dot alone"),
        pytest.param("latest", 1, "must stand here", "1.2.3", id="a word"),
        pytest.param("V1.2", 1, "must stand here", "1.2.3", id="a large V"),
        pytest.param("1.0\n, 2.0", 4, "ends here", "1.2.3-beta.1", id="line end"),
    ],
)
def test_an_error_says_where_and_what_to_write(typed: str, place: int, word: str, hint: str) -> None:
    with pytest.raises(VersionError) as caught:
        Constraint.parse(typed)
    assert f"character {place}: " in str(caught.value)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint is not None
    assert hint in caught.value.hint


@pytest.mark.parametrize("typed", ["1" * 30, "1.0, " * 1000, "=" * 1999, "9" * 1990])
def test_what_is_too_large_is_refused_in_few_words(typed: str) -> None:
    with pytest.raises(VersionError) as caught:
        Constraint.parse(typed)
    assert len(str(caught.value)) + len(caught.value.hint or "") < 2_400
