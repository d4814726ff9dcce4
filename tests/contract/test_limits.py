"""How large an object may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contract.client import path

if TYPE_CHECKING:
    from tests.contract.client import Client

ANNOTATIONS = 256 * 1024
REQUEST = 3 * 1024 * 1024
STORED = 1024 * 1024 + 512 * 1024


def test_annotations_may_have_so_many_bytes_and_no_more(client: Client, namespace: str) -> None:
    for size, status in ((ANNOTATIONS - 1, 201), (ANNOTATIONS, 422)):
        metadata = {"name": f"a-{size}", "annotations": {"k": "x" * size}}
        answer = client.create(path("configmaps", namespace), {"metadata": metadata})
        assert answer.status == status
    assert answer.reason == "Invalid"
    assert answer.body["details"]["causes"] == [
        {
            "reason": "FieldValueTooLong",
            "message": "Too long: may not be more than 262144 bytes",
            "field": "metadata.annotations",
        }
    ]


def test_data_may_have_so_many_bytes_and_no_more(client: Client, namespace: str) -> None:
    body = {"metadata": {"name": "big"}, "data": {"a": "x" * (1024 * 1024 + 1)}}
    answer = client.create(path("configmaps", namespace), body)
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert answer.message == 'ConfigMap "big" is invalid: []: Too long: may not be more than 1048576 bytes'


def test_a_request_that_is_too_long_is_refused(client: Client, namespace: str) -> None:
    body = {"metadata": {"name": "big"}, "data": {"a": "x" * (REQUEST + 1)}}
    answer = client.create(path("configmaps", namespace), body)
    assert (answer.status, answer.reason) == (413, "RequestEntityTooLarge")
    assert answer.message == "Request entity too large: limit is 3145728"


def test_an_object_that_the_storage_cannot_take_is_refused(client: Client, namespace: str) -> None:
    rule = {"apiGroups": ["x" * 1000], "resources": ["y"], "verbs": ["get"]}
    body = {"metadata": {"name": "big"}, "rules": [rule] * (STORED // 1000 + 100)}
    answer = client.create(path("roles", namespace), body)
    assert (answer.status, answer.reason) == (500, "")
    assert answer.message == "etcdserver: request is too large"


def test_a_label_may_have_63_characters(client: Client, namespace: str) -> None:
    for size, status in ((63, 201), (64, 422)):
        metadata = {"name": f"l-{size}", "labels": {"k": "x" * size}}
        assert client.create(path("configmaps", namespace), {"metadata": metadata}).status == status


def test_a_name_may_have_253_characters(client: Client, namespace: str) -> None:
    for size, status in ((253, 201), (254, 422)):
        assert client.create(path("configmaps", namespace), {"metadata": {"name": "x" * size}}).status == status
