"""A certificate authority of the tests' own, made with openssl, for servers on loopback."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.tools import need

NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:127.0.0.2,IP:::1"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Authority:
    """``ca`` signs the servers' and the clients' certificates."""

    ca: Path
    certificate: Path
    key: Path
    client: Path

    def server_context(self, *, wants_client_certificate: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        if wants_client_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.ca)
        return context


def make_authority(directory: Path) -> Authority:
    openssl = need("openssl")

    def run(*arguments: str) -> None:
        subprocess.run([openssl, *arguments], cwd=directory, check=True, capture_output=True)

    # Python 3.13 verifies strictly: an authority must say that it may sign.
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    run("req", "-x509", *KEY, *usage, "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=tests")
    for name, extension in (("server", NAMES), ("client", "extendedKeyUsage=clientAuth")):
        (directory / f"{name}.ext").write_text(extension)
        run("req", *KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        run(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "2", "-out", f"{name}.crt", "-extfile", f"{name}.ext",
        )  # fmt: skip
    client = directory / "client.pem"
    client.write_text((directory / "client.crt").read_text() + (directory / "client.key").read_text())
    return Authority(directory / "ca.crt", directory / "server.crt", directory / "server.key", client)
