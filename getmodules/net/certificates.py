"""Files with certificates that cannot be used: looked into when a connection has failed, and not before.

The libraries say of a missing or broken file what they say of a broken network, and would try it again.
"""

from __future__ import annotations

import os
import ssl

from getmodules.errors import ConfigError
from getmodules.net.settings import NetSettings
from getmodules.util.redact import printable


def unusable_file(settings: NetSettings, host: str, port: int) -> ConfigError | None:
    """What is wrong with the files that are for ``host``, if anything is."""
    authorities = settings.ca_for(host, port)
    certificate = settings.client_certificate_for(host, port)
    # A context as a client's, whose own authorities are never read.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if authorities is not None:
            shown = authorities
            _load_authorities(context, authorities)
        if certificate is not None:
            path, key = (certificate, None) if isinstance(certificate, str) else certificate
            shown = path if key is None else f"{path},{key}"
            # Never the prompt of OpenSSL for the password of a key.
            context.load_cert_chain(path, key, password=lambda: "")
    except OSError as error:
        return ConfigError(
            f"{printable(shown, 500)!r} is no usable file of certificates: {printable(error.strerror or str(error))}",
            hint="certificates are read in PEM; a client's needs its key beside it, without a password",
        )
    return None


def _load_authorities(context: ssl.SSLContext, path: str) -> None:
    if os.path.isdir(path):
        context.load_verify_locations(capath=path)
    else:
        context.load_verify_locations(cafile=path)
