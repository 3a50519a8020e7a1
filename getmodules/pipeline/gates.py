"""Gates: demands that must hold before a package goes on, and the one judge of them.

The lock, ``--expect``, ``checksum=``, ``digest=``: all of them say the same thing, "this must be there at that
gate". A gate passes when every demand holds and no verifier refuses; neither can overrule the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from getmodules.addresses.mirrors import Mirrors
from getmodules.addresses.types import PackageAddress
from getmodules.api.model import Archive, Demand, Evidence, Gate, Pin, Tree
from getmodules.api.ports import Context
from getmodules.errors import ConfigError, DigestMismatchError, LockMismatchError, VerificationError
from getmodules.plugins.adapters import VerifierAdapter
from getmodules.util.digest import Digest
from getmodules.util.redact import printable
from getmodules.util.values import replace, valueclass

EXPECT = "expect"
CHECKSUM = "checksum"
PROMISED = "digest"
LOCK = "lock"

_SUBJECTS = {Gate.ADDRESS: "address", Gate.PIN: "pin", Gate.BYTES: "archive", Gate.TREE: "tree"}
#: What to do where one does not hold.
HINTS = {
    EXPECT: "what is there now is not what was expected: has it been changed, or the wrong value been copied?",
    CHECKSUM: "what is there now is not what checksum= names: has it been changed, or the wrong value been copied?",
    PROMISED: "the source did not deliver what it promised; try again, and if it stays so, do not trust it",
    LOCK: "the content changed since it was locked: find out why before getmodules lock --upgrade NAME takes it",
}


def of_expectation(expect: str | None, by: str = "the caller") -> tuple[Demand, ...]:
    """Return the demand of ``--expect``: ``sha256:…`` on the archive's bytes, ``h1:…`` or ``t1:…`` on the tree."""
    if expect is None:
        return ()
    if expect.startswith(("h1:", "t1:")):
        return (Demand(gate=Gate.TREE, check=EXPECT, value=expect, by=by),)
    try:
        digest = Digest.parse(expect)
    except ValueError as error:
        raise ConfigError(
            f"the expected value {printable(expect)!r} cannot be used: {error}",
            hint="expect sha256:HEX of an archive, or h1:… or t1:… of the installed tree",
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
    held = (_hold(gate, subject, demand) for demand in demands if demand.gate is gate)
    said = (_ask(verifier, gate, subject, context) for verifier in verifiers if gate in verifier.gates)
    return (*held, *(evidence for evidence in said if evidence is not None))


def _ask(
    verifier: VerifierAdapter, gate: Gate, subject: PackageAddress | Pin | Archive | Tree, context: Context
) -> Evidence | None:
    said = verifier.verify(gate, subject, context)
    if said is None:
        return None
    by = verifier.plugin.distribution
    return Evidence(check=verifier.name, subject=_SUBJECTS[gate], value=printable(said), by=by)


@valueclass(kw_only=False)
class AddressGate:
    """The verifiers that are asked about an address before anything is contacted."""

    verifiers: tuple[VerifierAdapter, ...]

    @classmethod
    def of(cls, verifiers: Iterable[VerifierAdapter]) -> AddressGate | None:
        """Return the gate of those of ``verifiers`` that serve it, or None."""
        asked = tuple([verifier for verifier in verifiers if Gate.ADDRESS in verifier.gates])
        return cls(asked) if asked else None

    def __call__(self, address: PackageAddress, context: Context, /) -> tuple[Evidence, ...]:
        said = (_ask(each, Gate.ADDRESS, address, self._context_for(each, context)) for each in self.verifiers)
        return tuple(evidence for evidence in said if evidence is not None)

    def _context_for(self, verifier: VerifierAdapter, context: Context) -> Context:
        """Return the context of a verifier, which may have a server of its own to ask: the others judge that."""
        others = AddressGate.of(each for each in self.verifiers if each is not verifier)
        return replace(context, address_gate=others, admitted=())


def admit(package: PackageAddress, context: Context) -> tuple[Evidence, ...]:
    """Return what verifiers say of a package's address and of its mirror's; raise where one keeps us from either."""
    if context.address_gate is None:
        return ()
    return tuple(said for address in addresses_of(package, context.mirrors) for said in context.admit(address))


def addresses_of(package: PackageAddress, mirrors: Mirrors) -> tuple[PackageAddress, ...]:
    """Return the addresses at which a package is asked for: its own, and its mirror's if it has one."""
    mirrored = mirrors.mirrored(package)
    return (package,) if mirrored is package else (package, mirrored)


def _hold(gate: Gate, subject: Pin | Archive | Tree, demand: Demand) -> Evidence:
    found = _found(subject, demand)
    if found != demand.value:
        failure: type[VerificationError] = LockMismatchError if demand.check == LOCK else DigestMismatchError
        raise failure(
            f"{demand.by} wants the {_SUBJECTS[gate]} to be {printable(demand.value)}, but it is {printable(found)}",
            hint=_hint(subject, demand),
        )
    return Evidence(check=demand.check, subject=_SUBJECTS[gate], value=demand.value, by=demand.by)


def _hint(subject: Pin | Archive | Tree, demand: Demand) -> str | None:
    hint = demand.hint or HINTS.get(demand.check)
    if isinstance(subject, Tree) and subject.left_out:
        # Locks of earlier versions count it, and so does a hash of the directory that is copied.
        return f"its .git is left out: was it counted when the hash was made? If not, {hint}"
    return hint


def _found(subject: Pin | Archive | Tree, demand: Demand) -> str:
    if isinstance(subject, Pin):
        return str(subject.id)
    if isinstance(subject, Tree):
        return subject.t1 if demand.value.startswith("t1:") else subject.h1
    return str(subject.digests[Digest.parse(demand.value, weak=True).algorithm])
