"""What the API server makes of Syncs: it refuses what `syncd validate` refuses, and names the field."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from syncd.spec import SpecError, parse_sync
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from tests.contract.client import Client
    from tests.contract.servers import Real, Server

DEFINITION = Path(__file__).parents[2] / "deploy" / "crd" / "syncs.syncd.dev.yaml"
GIT = {"url": "https://git.example.com/shop.git"}


class Wrong(NamedTuple):
    field: str
    spec: dict[str, Any]
    cel: bool = False
    """Whether it takes rules in CEL to see it, which the sandbox does not carry out."""
    in_files_too: bool = True


WRONG = {
    "no source": Wrong("spec.source", {}),
    "no URL": Wrong("spec.source.git.url", {"source": {"git": {}}}),
    "a number for an interval": Wrong("spec.interval", {"source": {"git": GIT}, "interval": 5}),
    "no duration": Wrong("spec.interval", {"source": {"git": GIT}, "interval": "soon"}),
    "an unknown word": Wrong("spec.deletionPolicy", {"source": {"git": GIT}, "deletionPolicy": "Keep"}),
    "a budget of more than all": Wrong(
        "spec.prune.budget.percent", {"source": {"git": GIT}, "prune": {"budget": {"percent": 101}}}
    ),
    "a rule without fields": Wrong("spec.drift.ignore", {"source": {"git": GIT}, "drift": {"ignore": [{"paths": []}]}}),
    "no pointer": Wrong("spec.drift.ignore", {"source": {"git": GIT}, "drift": {"ignore": [{"paths": ["spec"]}]}}),
    "too short an interval": Wrong("spec.interval", {"source": {"git": GIT}, "interval": "10ms"}, cel=True),
    "a path upwards": Wrong("spec.path", {"source": {"git": GIT}, "path": "a/../../b"}, cel=True),
    "a namespace to create, and none": Wrong(
        "spec.target", {"source": {"git": GIT}, "target": {"createNamespace": True}}, cel=True
    ),
    "a branch and a tag": Wrong(
        "spec.source.git.ref", {"source": {"git": {**GIT, "ref": {"branch": "a", "tag": "b"}}}}, cel=True
    ),
    "credentials in the URL": Wrong(
        "spec.source.git.url", {"source": {"git": {"url": "https://me:hunter2@git.example.com/shop.git"}}}, cel=True
    ),
    "a remote helper": Wrong("spec.source.git.url", {"source": {"git": {"url": "ext::sh -c true"}}}, cel=True),
    "a signed tag of a branch": Wrong(
        "spec.source.git",
        {"source": {"git": {**GIT, "ref": {"branch": "a"}, "verify": {"mode": "Tag", "secretRef": {"name": "keys"}}}}},
        cel=True,
    ),
    "signatures of nobody": Wrong("spec.source.git.verify", {"source": {"git": {**GIT, "verify": {}}}}, cel=True),
    "a proxy for ssh": Wrong(
        "spec.source.git",
        {"source": {"git": {"url": "git@git.example.com:shop", "proxy": {"address": "http://proxy:3128"}}}},
        cel=True,
    ),
    "a proxy nowhere": Wrong("spec.source.git.proxy", {"source": {"git": {**GIT, "proxy": {}}}}, cel=True),
    "a password in the proxy's address": Wrong(
        "spec.source.git.proxy.address",
        {"source": {"git": {**GIT, "proxy": {"address": "http://me:hunter2@proxy:3128"}}}},
        cel=True,
    ),
    "a file URL": Wrong(
        "spec.source.git.url", {"source": {"git": {"url": "file:///etc"}}}, cel=True, in_files_too=False
    ),
    "a local path": Wrong(
        "spec.source.git.url", {"source": {"git": {"url": "/srv/git"}}}, cel=True, in_files_too=False
    ),
    "a secret on the daemon's disk": Wrong(
        "spec.source.git.secretFile",
        {"source": {"git": {**GIT, "secretFile": "/etc/shadow"}}},
        cel=True,
        in_files_too=False,
    ),
}


def document(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "syncd.dev/v1alpha1", "kind": "Sync", "metadata": {"name": "shop"}, "spec": spec}


def syncs(namespace: str) -> str:
    return f"/apis/syncd.dev/v1alpha1/namespaces/{namespace}/syncs"


@pytest.fixture
def defined(server: Server, namespace: str) -> Client:
    """A client of a server that has the definition, and serves it."""
    server.kubectl("apply", "--server-side", "-f", str(DEFINITION))
    client = server.client
    eventually("Syncs are served", lambda: client.get(syncs(namespace)).status == 200)
    return client


def check_refused(client: Client, namespace: str, wrong: Wrong) -> None:
    answer = client.create(syncs(namespace), document(wrong.spec))
    assert answer.status == 422, answer.body
    causes = answer.body["details"]["causes"]
    assert any(cause["field"].startswith(wrong.field) for cause in causes), causes
    assert "hunter2" not in str(answer.body)


@pytest.mark.parametrize("case", [name for name, wrong in WRONG.items() if not wrong.cel])
def test_a_form_that_is_wrong_is_refused_with_its_field(defined: Client, namespace: str, case: str) -> None:
    check_refused(defined, namespace, WRONG[case])


@pytest.mark.controlplane
@pytest.mark.parametrize("server", ["controlplane"], indirect=True)
@pytest.mark.parametrize("case", [name for name, wrong in WRONG.items() if wrong.cel])
def test_a_rule_that_is_broken_is_told_with_its_field(defined: Client, namespace: str, case: str) -> None:
    check_refused(defined, namespace, WRONG[case])


@pytest.mark.parametrize("case", [name for name, wrong in WRONG.items() if wrong.in_files_too])
def test_the_same_is_wrong_in_a_file(case: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_sync(document(WRONG[case].spec))
    named = [".".join(map(str, problem.path)) for problem in caught.value.problems]
    assert any(name.startswith(WRONG[case].field) for name in named), named


def test_a_whole_sync_is_taken_as_it_is_and_shown_in_columns(defined: Client, server: Server, namespace: str) -> None:
    spec = {"source": {"git": GIT}, "interval": "1h30m", "render": {"helm": {"values": {"a": {"b": [1]}}}}}
    made = defined.made(syncs(namespace), document(spec))
    assert made["spec"] == spec
    status = {"state": "Synced", "health": "Healthy", "revision": "main@0123456789ab", "drift": {"count": 2}}
    assert defined.patch(f"{syncs(namespace)}/shop/status", {"status": status}).status == 200
    table = server.kubectl("get", "sy", "-n", namespace).splitlines()
    assert table[0].split() == ["NAME", "SYNCED", "HEALTH", "REVISION", "DRIFT", "AGE"]
    assert table[1].split()[:5] == ["shop", "Synced", "Healthy", "main@0123456789ab", "2"]


@pytest.mark.controlplane
def test_the_real_server_knows_no_complaint_about_the_definition(real_server: Real) -> None:
    told = real_server.kubectl("apply", "--server-side", "--dry-run=server", "-f", str(DEFINITION))
    assert "Warning" not in told
