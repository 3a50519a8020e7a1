#!/usr/bin/env python3
"""Move and merge the modules of getmodules into their new folders, one folder a step.

``scripts/move.py STEP`` does one step on the working tree. What is moved already is left alone, so that the work can
go on from any commit.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_FUTURE = "from __future__ import annotations\n"

#: A step: new module (below getmodules) -> old modules in the order in which their text stands in the new one.
STEPS: dict[str, dict[str, str]] = {
    "util": {
        "util.values": "values",
        "util.redact": "redact",
        "util.digest": "digest",
        "util.once": "memo",
        "util.worker": "worker",
        "util.interrupts": "interrupts",
        "util.processes": "childprocess",
        "util.strict_json": "strictjson",
        "util.hcl": "providers.hcl",
    },
    "files": {
        "files.opening": "openflags below",
        "files.local": "localfile",
        "files.durable": "durable userfile",
        "files.locking": "locking",
        "files.removal": "removal",
        "files.private": "privatedir privaterooms",
        "files.staging": "destination staging",
        "files.download_file": "arriving",
        "files.os_errors": "oserrors",
        "files.syscalls": "syscalls",
    },
    "addresses": {
        "addresses.types": "arguments",
        "addresses.grammar": "address",
        "addresses.url": "url",
        "addresses.core_arguments": "treatment",
        "addresses.mirrors": "mirrors",
        "addresses.versions": "versions",
    },
    "api": {
        "api.model": "model results",
        "api.ports": "progress ports",
        "api.hookspecs": "hookspecs",
        "api.limits": "limits deadline",
    },
    "archive": {
        "archive.zip": "archive.zipdirectory archive.zip",
        "archive.tar": "archive.tarextensions archive.tar",
        "archive.directory": "tree",
        "archive.source": "archive.refusals archive.source",
        "archive.names": "archive.paths",
        "archive.selection": "archive.outlet",
        "archive.writer": "archive.sink archive.place archive.writer",
        "archive.target_dir": "archive.ground",
        "archive.write_thread": "archive.pace archive.hand archive.write_thread",
        "archive.tree_hash": "dirhash",
        "archive.hashing": "hashing",
    },
    "cache": {
        "cache.blobs": "store.blobs",
        "cache.records": "store.records",
        "cache.locks": "store.claims",
        "cache.location": "store.places store.home",
        "cache.upkeep": "store.upkeep",
        "cache.session": "store.visit workshop",
    },
    "net": {
        "net.session": "net.outcome net.session",
        "net.wire": "net.body net.wire",
        "net.connections": "net.framing net.connections",
        "net.settings": "net.certificates net.settings net.network",
        "net.credentials": "net.masking net.netrc net.credentials",
        "net.address_check": "net.reach",
        "net.terraform_get": "net.terraformget",
        "getters.http.source": "net.access net.websource",
        "getters.http.pages": "net.webpages",
    },
    "plugins": {
        "plugins.loader": "plugins",
        "plugins.entry_points": "entrypoints",
        "plugins.guard": "guard",
        "plugins.checks": "soundness",
        "plugins.adapters": "bound",
        "plugins.getter_adapter": "boundgetter",
        "plugins.catalog": "catalog",
    },
    "pipeline": {
        "pipeline.detect": "detection",
        "pipeline.resolve": "journey",
        "pipeline.recall": "recall",
        "pipeline.install": "arrival pipeline",
        "pipeline.receive": "content",
        "pipeline.spool": "spool",
        "pipeline.gates": "demands",
        "pipeline.checksums": "checksums expected",
        "pipeline.operation": "reporting means",
        "pipeline.settings": "config",
        "pipeline.batch": "batch",
    },
    "getters": {
        "getters.http.plugin": "getters.http",
        "getters.git.plugin": "getters.git",
        "getters.git.remote": "git.remote",
        "getters.git.refs": "git.refs",
        "getters.git.locate": "git.locate",
        "getters.git.fetch": "git.fetch",
        "getters.git.repository": "git.package git.members",
        "getters.git.tree": "git.submodules git.walk",
        "getters.git.objects": "git.parse git.objects git.batch",
        "getters.git.store": "git.store",
        "getters.git.process": "git.gitpython git.process git.progress git.command",
        "getters.git.connection": "git.credentials git.redirects git.connection",
        "getters.git.environment": "git.environment",
        "getters.git.rewriting": "git.rewriting",
        "getters.git.host_check": "git.reach",
        "getters.git.messages": "git.hearing",
        "getters.git.errors": "git.reasons git.failures",
        "getters.oci.plugin": "getters.oci",
        "getters.oci.reference": "oci.reference",
        "getters.oci.registries": "oci.registries",
        "getters.oci.results": "oci.results",
        "getters.oci.repository": "oci.repository",
        "getters.oci.artifact": "oci.artifact",
        "getters.oci.client": "oci.weblinks oci.client",
        "getters.oci.upload": "oci.upload",
        "getters.oci.auth": "oci.challenge oci.realm oci.explain oci.auth",
        "getters.oci.docker_config": "oci.authkeys oci.authfiles oci.dockerconfig",
        "getters.oci.docker_login": "oci.authwriter oci.dockerlogin",
        "getters.oci.cred_helper": "oci.helperprocess oci.credhelper",
        "getters.oci.login": "oci.login",
        "getters.oci.layout": "oci.layout",
        "getters.oci.layout_files": "oci.layoutindex oci.layoutfiles",
        "getters.oci.layout_writer": "oci.layoutwriter",
        "getters.oci.push": "oci.push",
        "getters.oci.pack": "oci.pack",
        "getters.oci.ignore": "oci.ignore",
        "getters.oci.worktree": "oci.workgit oci.worktree",
        "getters.oci.inspect": "oci.inspect",
        "getters.registry.plugin": "getters.registry",
        "getters.registry.host": "tfregistry.names tfregistry.tokens tfregistry.host",
        "getters.registry.modules": "tfregistry.modules",
    },
    "providers": {
        "providers.hashes": "providers.platforms providers.hashes",
        "providers.authentication": "providers.policy providers.authentication",
        "providers.origin": "providers.reports providers.shasums providers.origin",
        "providers.lockfile": "providers.lockfile providers.lockstore",
        "signatures.openpgp": "providers.signatures",
        "signatures.openpgp_keys": "providers.sequoia providers.componentkeys providers.certificates",
    },
    "project": {
        "project.toml": "project.document",
        "project.edit": "project.edit project.changes",
        "project.destinations": "project.dests",
        "project.workspace": "project.files project.state project.bench",
        "project.plan": "project.entries project.plan",
        "project.select": "project.selection",
        "project.lock": "project.lookup project.lock",
        "project.trees": "project.trees project.tree project.verify",
    },
    "cli": {
        "cli.network_options": "cli.headers cli.network",
    },
    "testing": {
        "testing.faults.table": "testing.faults",
        "testing.faults.fault": "testing.misbehaviour.fault",
        "testing.faults.blobs": "testing.misbehaviour.blobs",
        "testing.faults.framing": "testing.misbehaviour.framing",
        "testing.faults.manifests": "testing.misbehaviour.manifests",
        "testing.faults.statuses": "testing.misbehaviour.statuses",
        "testing.faults.tokens": "testing.misbehaviour.tokens",
        "testing.faults.transport": "testing.misbehaviour.transport",
        "testing.faults.trust": "testing.misbehaviour.trust",
        "testing.registry.wire": "testing.registry.wire testing.registry.refusal",
        "testing.registry.server": "testing.registry.connection testing.registry.exchange testing.registry.server",
        "testing.registry.store": "testing.registry.contents testing.registry.store",
        "testing.registry.layout_store": "testing.registry.layoutstore",
        "testing.registry.access": "testing.registry.tokens testing.registry.access testing.registry.tokenendpoint",
        "testing.registry.manifests": "testing.registry.listing testing.registry.manifests",
        "testing.registry.service": "testing.registry.armed testing.registry.application testing.registry.service",
    },
    "tests": {},
}
#: Names that go to another module than the rest of theirs: step -> old module -> new module -> names.
TAKEN: dict[str, dict[str, dict[str, str]]] = {
    "files": {"archive.ground": {"files.durable": "write_all"}},
    "addresses": {
        "model": {
            "addresses.types": "SourceAddress PackageAddress ModuleAddress _SUBDIR_SAFE",
            "addresses.core_arguments": "CORE_ARGUMENTS",
        },
        "detection": {"addresses.grammar": "unusable"},
    },
}
#: What a taken name needs where it goes.
NEEDED = {
    "addresses.grammar": "from getmodules.errors import UnsafeContentError",
    "addresses.types": "from typing import Self\n\nfrom getmodules.util.values import replace",
}
#: Names that would mean two things in a merged module: old module -> name -> new name.
RENAMES = {
    "archive.place": {"_FILE": "_FILE_FLAGS"},
    "cli.headers": {"_refuse": "_refuse_header"},
}
#: The unit tests' helpers have a folder of their own.
SUPPORT = {
    "tests.unit.git.stores": "tests.support.gitstores",
    "tests.unit.oci.layouts": "tests.support.layouts",
    "tests.unit.oci.repositories": "tests.support.repositories",
    "tests.security.tars": "tests.support.hostiletars",
    "tests.security.zips": "tests.support.hostilezips",
    "tests.security.cases": "tests.support.securitycases",
    "tests.security.corpus": "tests.support.corpus",
    "tests.security.readers": "tests.support.readers",
}


#: What each folder is, in a sentence.
INITS = {
    "util": "Leaves without a domain: frozen values, redaction, digests, strict JSON, workers.",
    "files": "This machine's files, opened with suspicion: staging and publishing, removal, locks, durable writes.",
    "addresses": "Addresses of modules, without any I/O: their grammar, URLs, arguments, mirrors and versions.",
    "api": "The public vocabulary: the values of the flow, the ports of plugins, their hooks and limits.",
    "archive": "The content of packages: archives and directories as members, the one writer, hashes of trees.",
    "cache": "The cache between runs: blobs by digest, records, locks, and what one run sees of them.",
    "plugins": "Plugins: loading each in isolation, checking what it returns, and tables of what they offer.",
    "pipeline": "The way of a package from its address to its destination, and many packages side by side.",
    "signatures": "Signatures: OpenPGP keys and what they signed.",
    "getters.http": "The getter for web servers.",
    "getters.git": "The getter for git repositories: git as a child process, objects read and hashed by us.",
    "getters.oci": "The getter for OCI registries and layouts; publishing to them and their credentials.",
    "getters.registry": "The getter for module registries, by Terraform's registry protocol.",
    "testing.faults": "The faults of the test registry, sorted by what they are about.",
}
#: From the roof down: a folder imports from those below it alone.
LAYERS = [
    "__main__ | testing",
    "cli",
    "client",
    "project | providers",
    "signatures",
    "pipeline | getters",
    "plugins | cache | net | archive",
    "api",
    "addresses",
    "files",
    "errors",
    "util | version",
]


def path_of(module: str) -> Path:
    return (ROOT / module.replace(".", "/")).with_suffix(".py")


def is_complete(folder: str) -> bool:
    """Whether all that goes into a folder is there."""
    waiting = [
        old
        for table in STEPS.values()
        for new, olds in table.items()
        for old in olds.split()
        if new.partition(".")[0] == folder and new not in olds.split() and path_of(f"getmodules.{old}").is_file()
    ]
    exists = (ROOT / "getmodules" / folder).is_dir() or path_of(f"getmodules.{folder}").is_file()
    return exists and not waiting


class Move:
    """One step: which module and which name is where afterwards."""

    def __init__(self, step: str) -> None:
        self.merged: dict[str, list[str]] = {}
        for new, olds in STEPS[step].items():
            present = [f"getmodules.{old}" for old in olds.split() if path_of(f"getmodules.{old}").is_file()]
            if present:
                self.merged[f"getmodules.{new}"] = present
        self.modules = {old: new for new, olds in self.merged.items() for old in olds}
        #: Modules that a merged module knew by name, and now is itself.
        self.aliases: set[str] = set()
        self.names: dict[tuple[str, str], str] = {}
        for old, targets in TAKEN.get(step, {}).items():
            for new, names in targets.items():
                self.names |= {(f"getmodules.{old}", name): f"getmodules.{new}" for name in names.split()}
        self.renames = {(f"getmodules.{old}", a): b for old, names in RENAMES.items() for a, b in names.items()}
        self.modules |= self._tests() if step != "tests" else self._support()

    def _tests(self) -> dict[str, str]:
        """Unit tests stand in the folder of what they test; a merged module keeps its tests apart."""
        moved = {}
        for new, olds in self.merged.items():
            for old in olds:
                folder, _, stem = old.removeprefix("getmodules").rpartition(".")
                longer = {p.stem for p in path_of(f"getmodules{folder}.x").parent.glob(f"{stem}?*.py")}
                for path in sorted(path_of(f"tests.unit{folder}.x").parent.glob(f"test_{stem}*.py")):
                    rest = path.stem.removeprefix("test_")
                    if not f"{rest}_".startswith(f"{stem}_") or any(f"{rest}_".startswith(f"{x}_") for x in longer):
                        continue
                    there, _, name = new.removeprefix("getmodules").rpartition(".")
                    topic = rest.removeprefix(stem)
                    if old != self._main(name, olds):
                        topic = f"_{stem.removeprefix(name.replace('_', ''))}{topic}"
                    moved[f"tests.unit{folder}.{path.stem}"] = f"tests.unit{there}.test_{name}{topic}"
        return {old: new for old, new in moved.items() if old != new}

    @staticmethod
    def _main(name: str, olds: list[str]) -> str:
        """The old module that the new one is named after, else the last."""
        return next((old for old in olds if old.rpartition(".")[2] == name), olds[-1])

    def _support(self) -> dict[str, str]:
        loose = [path.stem for path in (ROOT / "tests").glob("*.py") if path.stem != "conftest"]
        return {f"tests.{stem}": f"tests.support.{stem}" for stem in loose} | {
            old: new for old, new in SUPPORT.items() if path_of(old).is_file()
        }

    # --------------------------------------------------------------------------------------- references

    def place(self, module: str, name: str) -> tuple[str, str]:
        """Where ``from module import name`` finds it afterwards: module and name."""
        whole = f"{module}.{name}"
        if whole in self.modules:
            there, _, last = self.modules[whole].rpartition(".")
            return there, last
        new_name = self.renames.get((module, name), name)
        return self.names.get((module, name)) or self.modules.get(module, module), new_name

    def import_lines(self, node: ast.ImportFrom, here: str) -> list[str]:
        """The statement as it is afterwards; nothing, where the name is in this very module."""
        by_module: dict[str, list[str]] = {}
        for alias in node.names:
            module, name = self.place(node.module or "", alias.name)
            bound = alias.asname or alias.name
            if module == here:
                assert bound == name, f"{here}: {ast.unparse(node)}"
                continue
            if f"{module}.{name}" == here:
                self.aliases.add(bound)
                continue
            by_module.setdefault(module, []).append(
                name if name == bound and not alias.asname else f"{name} as {bound}"
            )
        return [f"from {module} import {', '.join(names)}" for module, names in by_module.items()]

    def with_imports(self, text: str, here: str) -> str:
        lines = text.splitlines(keepends=True)
        nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)]
        for node in sorted(nodes, key=lambda n: -n.lineno):
            root = (node.module or "").partition(".")[0]
            if root in ("getmodules", "tests") and node.end_lineno is not None:
                old = ast.unparse(node)
                new = self.import_lines(node, here)
                if new != [old]:
                    indent = " " * node.col_offset
                    lines[node.lineno - 1 : node.end_lineno] = [f"{indent}{line}\n" for line in new]
        return "".join(lines)

    def with_strings(self, text: str) -> str:
        """Dotted names in strings, docs and configuration; imports are rewritten already."""

        def replaced(match: re.Match[str]) -> str:
            parts = match[0].split(".")
            for end in range(len(parts), 1, -1):
                module, rest = ".".join(parts[:end]), parts[end:]
                if rest and (module, rest[0]) in self.names:
                    return ".".join([self.names[module, rest[0]], *rest])
                if module in self.modules:
                    return ".".join([self.modules[module], *rest])
            return match[0]

        def public(match: re.Match[str]) -> str:
            """A row of the table of public names."""
            return (
                f'"{match[1]}": "{self.names[match[2], match[1]]}"' if (match[2], match[1]) in self.names else match[0]
            )

        text = re.sub(r'"(\w+)": "(getmodules[.\w]+)"', public, text)
        return "".join(
            line
            if re.match(r"\s*(from|import) ", line)
            else re.sub(r"(?<![\w.:/@-])(?:getmodules|tests)(?:\.\w+)+(?![\w]*[/:]/)", replaced, line)
            for line in text.splitlines(keepends=True)
        )

    # --------------------------------------------------------------------------------------- files

    def merge(self, new: str, olds: list[str]) -> str:
        header: list[str] = []
        docstrings: list[str] = []
        bodies: list[str] = []
        for old in olds:
            self.aliases.clear()
            text = self._renamed(old, path_of(old).read_text(encoding="utf-8"))
            text = self.with_strings(self._without_taken(old, self.with_imports(text, new)))
            for alias in self.aliases:
                text = re.sub(rf"(?<![\w.]){alias}\.(?=[A-Za-z_])", "", text)
            tree = ast.parse(text)
            lines = text.splitlines(keepends=True)
            docstrings.append(ast.get_docstring(tree, clean=False) or "")
            for node in reversed(tree.body):
                is_docstring = node is tree.body[0]
                is_import = isinstance(node, ast.Import | ast.ImportFrom)
                is_typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
                if is_docstring or is_import or is_typing:
                    if not is_docstring:
                        header.append("".join(lines[node.lineno - 1 : node.end_lineno]))
                    lines[node.lineno - 1 : node.end_lineno] = []
            bodies.append("".join(lines).strip("\n"))
        imports = sorted({part for part in header if part != _FUTURE}, key=lambda part: part.startswith("if "))
        *others, main = docstrings
        quoted = '"""' + main.rstrip() + "".join(f"\n\n{other.strip()}" for other in others)
        quoted += '\n"""\n' if "\n" in quoted else '"""\n'
        return "\n".join([quoted, _FUTURE, "".join(imports), "", "\n\n\n".join(filter(None, bodies)), ""])

    def _renamed(self, old: str, text: str) -> str:
        for (module, name), new in self.renames.items():
            if module == old:
                text = re.sub(rf"(?<![\w.]){name}\b", new, text)
        return text

    def _without_taken(self, old: str, text: str) -> str:
        """What goes to another module is put down there, behind what is there."""
        lines = text.splitlines(keepends=True)
        left: list[str] = []
        for node in reversed(ast.parse(text).body):
            target = node.targets[0] if isinstance(node, ast.Assign) else node
            name = getattr(target, "id", getattr(target, "name", ""))
            if (old, name) in self.names and node.end_lineno is not None:
                start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]) - 1
                while lines[start - 1].startswith("#:"):
                    start -= 1
                there = path_of(self.names[old, name])
                moved = there.read_text(encoding="utf-8") + "\n\n" + "".join(lines[start : node.end_lineno])
                there.write_text(moved, encoding="utf-8")
                lines[start : node.end_lineno] = []
                left.append(f"from {self.names[old, name]} import {name}\n")
        return "".join(lines).replace(_FUTURE, _FUTURE + "\n" + "".join(left), 1) if left else text

    def run(self) -> None:
        texts = {new: self.merge(new, olds) for new, olds in self.merged.items()}
        for old in self.modules:
            if old.startswith("getmodules."):
                path_of(old).unlink()
        for new, text in texts.items():
            there = path_of(new)
            there.parent.mkdir(parents=True, exist_ok=True)
            init = there.parent / "__init__.py"
            if not init.exists():
                folder = ".".join(there.parent.relative_to(ROOT / "getmodules").parts)
                init.write_text(f'"""{INITS[folder]}"""\n', encoding="utf-8")
            needed = NEEDED.get(new.removeprefix("getmodules."), "")
            there.write_text(text.replace(_FUTURE, f"{_FUTURE}\n{needed}\n", 1), encoding="utf-8")
        for old, _ in self.names:
            if path_of(old).is_file():
                text = path_of(old).read_text(encoding="utf-8")
                path_of(old).write_text(self._without_taken(old, text), encoding="utf-8")
        for old, new in self.modules.items():
            if old.startswith("tests.") and path_of(old).is_file():
                assert not path_of(new).exists(), new
                path_of(new).parent.mkdir(parents=True, exist_ok=True)
                path_of(old).rename(path_of(new))
        made = {path_of(new) for new in self.merged}
        for path in set(self.tracked()) - made:
            text = path.read_text(encoding="utf-8")
            here = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            changed = self.with_imports(text, here) if path.suffix == ".py" else text
            if path.suffix == ".rst":
                changed = self.with_doc_imports(changed)
            changed = self.with_strings(changed)
            if changed != text:
                path.write_text(changed, encoding="utf-8")
        for package in (*sorted((ROOT / "getmodules").rglob("__init__.py")),):
            rest = [p for p in package.parent.iterdir() if p.name not in ("__init__.py", "__pycache__")]
            if not rest:
                shutil.rmtree(package.parent)
        self.write_contracts()

    def write_contracts(self) -> None:
        """The layers of the folders that are there; while modules lie flat, nothing is said about those."""
        path = ROOT / "setup.cfg"
        text = path.read_text(encoding="utf-8")
        rows = []
        for layer in LAYERS:
            there = [folder for folder in layer.split(" | ") if is_complete(folder)]
            if there:
                rows.append("    " + " | ".join(there))
        known = {name for layer in LAYERS for name in layer.split(" | ")}
        entries = {p.stem for p in (ROOT / "getmodules").glob("*") if p.suffix in ("", ".py")} - {
            "__init__",
            "__pycache__",
        }
        flat = entries - known - {"store", "git", "oci", "tfregistry"}
        house = [
            "# A folder imports only from those below it; side by side in one row, neither imports the other.",
            "[importlinter:contract:house]",
            "name = A folder imports only from those below it",
            "type = layers",
            "containers = getmodules",
            *(["exhaustive = true"] if not flat and entries <= known else []),
            "layers =",
            *rows,
            "",
            "",
        ]
        start = text.index("# From the roof down" if "# From the roof down" in text else "# A folder imports only")
        end = text.index("[importlinter:contract:", text.index("[importlinter:contract:house]") + 10)
        text = text[:start] + "\n".join(house) + text[end:]
        if path_of("getmodules.archive.writer").is_file() and not path_of("getmodules.archive.outlet").is_file():
            start = text.index("[importlinter:contract:archive]")
            end = text.index("[importlinter:contract:", start + 10)
            archive = [
                "[importlinter:contract:archive]",
                "name = Readers know nothing of the writer, the writer nothing of the readers",
                "type = independence",
                "modules =",
                "    getmodules.archive.zip",
                "    getmodules.archive.tar",
                "    getmodules.archive.writer",
                "",
                "",
            ]
            text = text[:start] + "\n".join(archive) + text[end:]
        if path_of("getmodules.signatures.openpgp").is_file() and "[importlinter:contract:providers]" in text:
            start = text.index("[importlinter:contract:providers]")
            text = text[:start] + text[text.index("[importlinter:contract:", start + 10) :]
            one = "    getmodules.signatures.openpgp_keys -> pysequoia\n"
            text = text.replace(one * 3, one)
        if not (ROOT / "getmodules/oci").exists():
            text = text.replace("getmodules.oci.**", "getmodules.getters.oci.**")
        path.write_text(text, encoding="utf-8")

    def with_doc_imports(self, text: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            node = ast.parse(match[2]).body[0]
            assert isinstance(node, ast.ImportFrom)
            return "\n".join(match[1] + line for line in self.import_lines(node, ""))

        return re.sub(r"^( *)(from getmodules[.\w]* import [\w, ]+)$", replaced, text, flags=re.MULTILINE)

    def tracked(self) -> list[Path]:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout.decode()
        paths = {ROOT / name for name in listed.split("\0") if name}
        kinds = {".py", ".rst", ".cfg", ".ini", ".toml", ".sh", ""}
        skipped = {Path(__file__).resolve(), ROOT / "LICENSE"}
        return sorted(p for p in paths if p.is_file() and p.suffix in kinds and p not in skipped)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Move(name).run()
    ruff = str(Path(sys.executable).with_name("ruff"))
    subprocess.run([ruff, "check", "-q", "--fix", "--select", "I,F401,F811", "--no-cache", "."], cwd=ROOT, check=False)
    subprocess.run([ruff, "format", "-q", "--no-cache", "."], cwd=ROOT, check=True)
