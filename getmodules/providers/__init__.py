"""Provider packages: their hashes, signatures and dependency lock files.

An authentication results in a collection of hashes, each with a disposition: who vouches for it, and how. From that
follow what to tell the user and what to write into the dependency lock file. All of it is pure: programs that download
call it.
"""

from __future__ import annotations

from getmodules.providers.address import ProviderAddress as ProviderAddress
from getmodules.providers.authentication import (
    ArchiveChecksum as ArchiveChecksum,
    Authenticator as Authenticator,
    Authority as Authority,
    ExpectedHashes as ExpectedHashes,
    LocalChecksum as LocalChecksum,
    SignaturePolicy as SignaturePolicy,
    authenticate_all as authenticate_all,
)
from getmodules.providers.dispositions import (
    HashDisposition as HashDisposition,
    HashDispositions as HashDispositions,
)
from getmodules.providers.hashes import Hash as Hash, Platform as Platform
from getmodules.providers.lockfile import (
    Engine as Engine,
    LockFile as LockFile,
    ProviderLock as ProviderLock,
    format_lock_file as format_lock_file,
    parse_lock_file as parse_lock_file,
    read_lock_file as read_lock_file,
    write_lock_file as write_lock_file,
)
from getmodules.providers.origin import (
    ListedChecksum as ListedChecksum,
    ReportedHashes as ReportedHashes,
    ReportedPackage as ReportedPackage,
    SignedChecksums as SignedChecksums,
    parse_reports as parse_reports,
    parse_shasums as parse_shasums,
)
from getmodules.providers.package import Package as Package, measure as measure
from getmodules.providers.verdict import (
    Summary as Summary,
    hashes_to_lock as hashes_to_lock,
    summarize as summarize,
)
