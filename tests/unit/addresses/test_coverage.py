"""Which requests are a package's own."""

from __future__ import annotations

import pytest

from getmodules import PackageAddress
from getmodules.addresses.coverage import covers

OCI, GIT = "oci://r.example/acme/vpc", "https://h.example/acme/vpc.git"


@pytest.mark.parametrize(
    ("getter", "package", "url", "own"),
    [
        pytest.param("oci", OCI, "https://r.example/v2/acme/vpc/manifests/1", True, id="manifest"),
        pytest.param("oci", OCI, "http://r.example/v2/acme/vpc/tags/list", True, id="without TLS"),
        pytest.param("oci", OCI, "https://r.example/v2/", True, id="entrance"),
        pytest.param("oci", OCI, "https://r.example/v2/acme/vpc2/manifests/1", False, id="a longer name"),
        pytest.param("oci", OCI, "https://r.example/v2/acme/other/blobs/x", False, id="another repository"),
        pytest.param("oci", OCI, "https://r.example/token", False, id="the token service at the same host"),
        pytest.param("oci", OCI, "https://r.example:5000/v2/acme/vpc/blobs/x", False, id="another port"),
        pytest.param("oci", "oci://r.example/", "https://r.example/v2/", True, id="login"),
        pytest.param("oci", "oci://r.example/", "https://r.example/v2/acme/vpc/tags/list", False, id="login only"),
        pytest.param("oci", "oci://r.example:443/p", "https://r.example/v2/p/blobs/x", True, id="default port"),
        pytest.param("oci", "oci://docker.io/nginx", "https://registry-1.docker.io/v2/library/nginx/x", True, id="hub"),
        pytest.param("oci", "oci://docker.io/nginx", "https://auth.docker.io/token", False, id="hub's tokens"),
        pytest.param("https", "https://h.example/p.zip", "https://h.example/p.zip", True, id="web"),
        pytest.param("https", "https://u:p@h.example/p.zip", "https://h.example/p.zip", True, id="web with a user"),
        pytest.param("https", "https://h.example/p.zip", "https://h.example/q.zip", False, id="the same host"),
        pytest.param("https", "https://h.example/p.zip", "http://h.example/p.zip", False, id="another scheme"),
        pytest.param("git", GIT, f"{GIT}/info/refs", True, id="git"),
        pytest.param("git", f"{GIT}/", f"{GIT}/info/refs", True, id="git with a slash"),
        pytest.param("git", GIT, "https://h.example/acme/vpc.gitx/info/refs", False, id="another repository of git"),
        pytest.param("git", "ssh://h.example/a.git", "https://h.example/a.git/x", False, id="git over ssh"),
        pytest.param("tfr", "tfr://h.example/a/b/c", "https://h.example/.well-known/terraform.json", True, id="tfr"),
        pytest.param("tfr", "tfr://h.example/a/b/c", "https://h.example/v1/modules/", False, id="a service"),
        pytest.param("other", "other://h.example/x", "https://h.example/anything", True, id="a stranger's host"),
        pytest.param("other", "other://h.example:8/x", "https://h.example/anything", False, id="a stranger's port"),
        pytest.param("other", "other://bucket/x", "https://bucket.s3.example/x", False, id="a stranger's other host"),
        pytest.param("other", "other:///x", "https://h.example/x", False, id="a stranger without a host"),
    ],
)
def test_a_packages_own_requests(getter: str, package: str, url: str, *, own: bool) -> None:
    assert covers(PackageAddress(getter=getter, url=package), url) is own
