from __future__ import annotations

import pytest

from syncd.sandbox.errors import StatusError
from syncd.sandbox.negotiation import JSON, YAML, Form, accepted
from syncd.sandbox.requests import parse

APPS = "/apis/apps/v1/namespaces/a/deployments"


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/pods", "", ("list", "", "v1", "pods", "", "", "")),
        ("GET", "/api/v1/namespaces/a/pods/b", "", ("get", "", "v1", "pods", "a", "b", "")),
        ("GET", "/api/v1/namespaces/a/pods", "watch=1", ("watch", "", "v1", "pods", "a", "", "")),
        ("GET", "/api/v1/namespaces/a/pods", "watch=false", ("list", "", "v1", "pods", "a", "", "")),
        ("GET", "/api/v1/namespaces", "", ("list", "", "v1", "namespaces", "", "", "")),
        ("GET", "/api/v1/namespaces/a", "", ("get", "", "v1", "namespaces", "", "a", "")),
        ("PUT", "/api/v1/namespaces/a/finalize", "", ("update", "", "v1", "namespaces", "", "a", "finalize")),
        ("PATCH", f"{APPS}/b/scale", "", ("patch", "apps", "v1", "deployments", "a", "b", "scale")),
        ("DELETE", APPS, "", ("deletecollection", "apps", "v1", "deployments", "a", "", "")),
        ("POST", APPS, "", ("create", "apps", "v1", "deployments", "a", "", "")),
        ("GET", "/apis/batch/v1/jobs/a%3Ab", "", ("get", "batch", "v1", "jobs", "", "a:b", "")),
        ("GET", "/apis/apps/v1", "", ("get", "", "", "", "", "", "")),
        ("GET", "/healthz", "", ("get", "", "", "", "", "", "")),
    ],
)
def test_paths_name_objects(method: str, path: str, query: str, expected: tuple[str, ...]) -> None:
    found = parse(method, path, query, {})
    said = (found.verb, found.group, found.version, found.resource, found.namespace, found.name, found.subresource)
    assert said == expected


def test_a_number_that_is_none_is_a_bad_request() -> None:
    with pytest.raises(StatusError, match="invalid syntax"):
        parse("GET", "/api/v1/pods", "limit=x", {}).query.number("limit")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", Form(JSON)),
        ("*/*", Form(JSON)),
        ("application/json", Form(JSON)),
        ("application/yaml", Form(YAML)),
        ("application/vnd.kubernetes.protobuf,application/json", Form(JSON)),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Form(JSON, "Table", "v1")),
        ("application/json;as=Table;v=v9;g=meta.k8s.io, application/json", Form(JSON)),
        ("application/json; as=PartialObjectMetadataList; v=v1", Form(JSON, "PartialObjectMetadataList", "v1")),
    ],
)
def test_the_first_form_that_can_be_made_is_taken(header: str, expected: Form) -> None:
    assert accepted(header) == expected


def test_what_cannot_be_made_is_not_acceptable() -> None:
    with pytest.raises(StatusError) as error:
        accepted("text/html")
    assert error.value.code == 406
