"""A project for tests: a directory with modules, and a client that knows nothing of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from getmodules import Client
from getmodules.pipeline.batch import Pace
from getmodules.pipeline.operation import Operation
from getmodules.project.manifest import ProjectFiles, read_manifest
from getmodules.project.workspace import Workspace
from tests.support.fakes import installed_files, zip_of

#: What no run leaves in a project besides what it was asked for.
KEPT = {"getmodules.toml", "getmodules.lock", ".getmodules"}


class Project:
    """``src`` is a module with a directory ``net``, ``pkg.zip`` the same packed."""

    def __init__(self, directory: Path, **client: Any) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.write("src/main.tf", "# main\n")
        self.write("src/net/net.tf", "# net\n")
        self.repack()
        self.client = Client(**{"environ": {"GETMODULES_PLUGINS": ""}, "use_cache": False, **client})

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name: str) -> str:
        return (self.directory / name).read_text()

    def repack(self, **files: str) -> None:
        content = {"main.tf": "# main\n", "net/net.tf": "# net\n", **files}
        (self.directory / "pkg.zip").write_bytes(zip_of({name: text.encode() for name, text in content.items()}))

    def wants(self, text: str = "", **sources: str) -> None:
        """The manifest: ``text``, and a module for each of ``sources``."""
        tables = [f'[modules.{name}]\nsource = "{source}"\n' for name, source in sources.items()]
        self.write("getmodules.toml", "\n".join([*([text] if text else []), *tables]))

    @property
    def manifest(self) -> Path:
        return self.directory / "getmodules.toml"

    @property
    def lock(self) -> str:
        return self.read("getmodules.lock")

    @property
    def has_lock(self) -> bool:
        return (self.directory / "getmodules.lock").exists()

    def tree(self, dest: str) -> dict[str, bytes]:
        """The files of what is installed."""
        return installed_files(self.directory / dest)

    def workspace(self, *, read: bool = True, offline: bool = False) -> Workspace:
        operation: Operation = self.client._services.operation()
        return Workspace(
            files=ProjectFiles.from_path(self.directory),
            operation=operation,
            pace=Pace(),
            read=read_manifest if read else None,
        )

    @property
    def installed(self) -> Mapping[str, Any]:
        """What the checkout remembers."""
        found: dict[str, Any] = json.loads(self.read(".getmodules/installed.json"))
        return found

    def leftovers(self, beside: Iterable[str] = ()) -> set[str]:
        """What lies in the project that no test put there: private directories above all."""
        return {path.name for path in self.directory.rglob(".getmodules*") if path.name not in {".getmodules", *beside}}
