"""Gates: demands that must hold before a package goes on, and the one judge of them.

The lock, ``--expect``, ``checksum=``, ``digest=``: all of them say the same thing, "this must be there at that
gate". A gate passes when every demand holds and no verifier refuses; neither can overrule the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from getmodules.api.model import Archive, Demand, Evidence, Gate, Pin, Tree
from getmodules.api.ports import Context
from getmodules.errors import ConfigError, DigestMismatchError, LockMismatchError, VerificationError
from getmodules.plugins.adapters import VerifierAdapter
from getmodules.util.digest import Digest
from getmodules.util.redact import printable

EXPECT = "expect"
CHECKSUM = "checksum"
PROMISED = "digest"
LOCK = "lock"

_SUBJECTS = {Gate.PIN: "pin", Gate.BYTES: "archive", Gate.TREE: "tree"}
#: What to do where one does not hold.
HINTS = {
    EXPECT: "what is there now is not what was expected: has it been changed, or the wrong value been copied?",
    CHECKSUM: "what is there now is not what checksum= names: has it been changed, or the wrong value been copied?",
    PROMISED: "the source did not deliver what it promised; try again, and if it stays so, do not trust it",
    LOCK: "the content changed since it was locked: find out why before getmodules lock --upgrade NAME takes it",
}


def of_expectation(expect: str | None, by: str = "the caller") -> tuple[Demand, ...]:
    """Return the demand of ``--expect``: ``sha256:…`` on the archive's bytes, ``h1:…`` on the installed tree."""
    if expect is None:
        return ()
    if expect.startswith("h1:"):
        return (Demand(gate=Gate.TREE, check=EXPECT, value=expect, by=by),)
    try:
        digest = Digest.parse(expect)
    except ValueError as error:
        raise ConfigError(
            f"the expected value {printable(expect)!r} cannot be used: {error}",
            hint="expect sha256:HEX of an archive, or h1:… of the installed tree",
        ) from None
    return (Demand(gate=Gate.BYTES, check=EXPECT, value=str(digest), by=by),)


def of_checksum(digest: Digest, by: str) -> Demand:
    return Demand(gate=Gate.BYTES, check=CHECKSUM, value=str(digest), by=by)


def of_promises(digests: Iterable[Digest], by: str) -> tuple[Demand, ...]:
    return tuple(Demand(gate=Gate.BYTES, check=PROMISED, value=str(digest), by=by) for digest in digests)


def algorithms(demands: Iterable[Demand]) -> frozenset[str]:
    """Return the algorithms that the bytes must be hashed with to judge ``demands``."""
    return frozenset(Digest.parse(d.value, weak=True).algorithm for d in demands if d.gate is Gate.BYTES)


def judge(
    gate: Gate,
    subject: Pin | Archive | Tree,
    demands: Iterable[Demand],
    verifiers: Sequence[VerifierAdapter],
    context: Context,
) -> tuple[Evidence, ...]:
    """Return the evidence that ``subject`` may pass ``gate``; raise :class:`VerificationError` if it may not."""
    evidence = [_hold(gate, subject, demand) for demand in demands if demand.gate is gate]
    for verifier in verifiers:
        if gate in verifier.gates:
            said = verifier.verify(gate, subject, context)
            if said is not None:
                by = verifier.plugin.distribution
                evidence.append(Evidence(check=verifier.name, subject=_SUBJECTS[gate], value=printable(said), by=by))
    return tuple(evidence)


def _hold(gate: Gate, subject: Pin | Archive | Tree, demand: Demand) -> Evidence:
    found = _found(subject, demand)
    if found != demand.value:
        failure: type[VerificationError] = LockMismatchError if demand.check == LOCK else DigestMismatchError
        raise failure(
            f"{demand.by} wants the {_SUBJECTS[gate]} to be {demand.value}, but it is {found}",
            hint=HINTS.get(demand.check),
        )
    return Evidence(check=demand.check, subject=_SUBJECTS[gate], value=demand.value, by=demand.by)


def _found(subject: Pin | Archive | Tree, demand: Demand) -> str:
    if isinstance(subject, Pin):
        return str(subject.id)
    if isinstance(subject, Tree):
        return subject.h1
    return str(subject.digests[Digest.parse(demand.value, weak=True).algorithm])
