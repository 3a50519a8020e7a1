"""Repositories on disk: each is a plain OCI image layout in a directory of its own.

``acme/vpc`` is in ``acme+vpc``: names cannot contain a plus, so that a repository and one below it (``acme`` and
``acme/blobs``) are not in each other's way, and every tool reads the directory as it is.
``index.json`` lists every manifest; those with the annotation ``org.opencontainers.image.ref.name`` are tags.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from getmodules.errors import ConfigError
from getmodules.testing.registry.names import checked_name
from getmodules.testing.registry.store import (
    IMAGE_INDEX,
    INDEXES,
    LayoutContents,
    Manifest,
    MemoryStore,
    Repository,
    read_bytes,
)
from getmodules.testing.registry.wire import RefusalError
from getmodules.util.digest import Digest

REF_NAME = "org.opencontainers.image.ref.name"
_MARK = {"imageLayoutVersion": "1.0.0"}


class LayoutStore(MemoryStore):
    """A store that reads the directories at its start, and writes every change to them."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        self._repositories = {repository.name: repository for repository in self._stored()}

    def create(self, name: str) -> Repository:
        with self._lock:
            if name not in self._repositories:
                self._repositories[name] = Repository(name, LayoutContents(self._path(name)))
                self._write(self._repositories[name])
            return self._repositories[name]

    def save(self, repository: Repository) -> None:
        self._write(repository)

    def _path(self, name: str) -> Path:
        return self._directory / checked_name(name).replace("/", "+")

    def _stored(self) -> Iterator[Repository]:
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            paths = sorted(self._directory.iterdir())
        except OSError as error:
            raise ConfigError(f"{self._directory}: no layouts can be kept there: {error.strerror}") from error
        for path in paths:
            if (path / "oci-layout").is_file():
                name = path.name.replace("+", "/")
                try:
                    yield _loaded(checked_name(name), path)
                except RefusalError as refusal:
                    raise ConfigError(f"{path}: the name of this layout is no repository's") from refusal

    def _write(self, repository: Repository) -> None:
        layout = self._path(repository.name)
        layout.mkdir(parents=True, exist_ok=True)
        with repository.lock:
            _replace(layout / "oci-layout", _MARK)
            index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": list(_listed(repository))}
            _replace(layout / "index.json", index)


def _listed(repository: Repository) -> Iterator[dict[str, object]]:
    tagged = set(repository.tags.values())
    for tag, digest in sorted(repository.tags.items()):
        yield _short(repository.manifests[digest]) | {"annotations": {REF_NAME: tag}}
    for digest, manifest in sorted(repository.manifests.items()):
        if digest not in tagged:
            yield _short(manifest)


def _short(manifest: Manifest) -> dict[str, object]:
    """Return a descriptor without the manifest's annotations, among which may be a name that is not our tag."""
    return {key: value for key, value in manifest.descriptor().items() if key != "annotations"}


def _replace(path: Path, value: object) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(json.dumps(value, indent=1), encoding="utf-8")
    os.replace(temporary, path)


def _loaded(name: str, layout: Path) -> Repository:
    repository = Repository(name, LayoutContents(layout))
    try:
        index = json.loads((layout / "index.json").read_bytes())
        for descriptor in index["manifests"]:
            _load(repository, descriptor)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{layout}: this is no OCI image layout: {error}") from error
    return repository


def _load(repository: Repository, descriptor: dict[str, object]) -> None:
    digest = Digest.parse(str(descriptor["digest"]))
    if repository.contents.size(digest) is None:
        return
    tag = _annotation(descriptor, REF_NAME)
    if tag is not None:
        repository.tags[tag] = digest
    if digest in repository.manifests:
        return
    data = read_bytes(repository.contents, digest)
    manifest = Manifest.of(data, str(descriptor["mediaType"]), digest)
    repository.manifests[digest] = manifest
    if manifest.media_type in INDEXES:
        # Other tools list only the top of an index there; the manifests below it are manifests too.
        for child in json.loads(data).get("manifests", ()):
            _load(repository, child)


def _annotation(descriptor: dict[str, object], name: str) -> str | None:
    annotations = descriptor.get("annotations")
    value = annotations.get(name) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) else None
