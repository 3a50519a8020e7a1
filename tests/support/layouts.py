"""Layouts for tests, made by hand: nothing of ours writes them."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

from getmodules.getters.oci.repository import OCI_MANIFEST, RawManifest

REF_NAME = "org.opencontainers.image.ref.name"


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


def a_manifest(**more: Any) -> bytes:
    config = {"mediaType": "application/vnd.oci.empty.v1+json", "digest": sha256(b"{}"), "size": 2}
    return encoded({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": [], **more})


ONE, TWO, THREE = a_manifest(), a_manifest(n=2), a_manifest(n=3)


def raw(body: bytes, media_type: str = OCI_MANIFEST) -> RawManifest:
    return RawManifest(media_type=media_type, body=body)


class HandMade:
    """A layout that grows; :meth:`write` writes its index."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        (path / "blobs/sha256").mkdir(parents=True)
        (path / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        self.write()

    def blob(self, data: bytes) -> str:
        digest = sha256(data)
        self.blob_path(digest).write_bytes(data)
        return digest

    def blob_path(self, digest: str) -> Path:
        return self.path / "blobs" / digest.replace(":", "/")

    def manifest(self, body: bytes, name: str | None, media_type: str = OCI_MANIFEST, **more: Any) -> str:
        digest = self.blob(body)
        entry: dict[str, Any] = {"mediaType": media_type, "digest": digest, "size": len(body), **more}
        if name is not None:
            entry["annotations"] = {REF_NAME: name, **entry.get("annotations", {})}
        self.entries.append(entry)
        self.write()
        return digest

    def write(self, **more: Any) -> None:
        self.index({"schemaVersion": 2, "manifests": self.entries, **more})

    def index(self, document: object) -> None:
        (self.path / "index.json").write_bytes(encoded(document))

    def read_index(self) -> Any:
        return json.loads((self.path / "index.json").read_bytes())


def packed(made: HandMade, tar: Path, prefix: str = "") -> Path:
    with tarfile.open(tar, "w") as archive:
        archive.add(made.path, prefix or ".")
    return tar
