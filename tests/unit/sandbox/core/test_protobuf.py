from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.sandbox.protobuf import MAGIC, ProtobufError, decode
from tests.unit.sandbox.core.client import CONFIG_MAPS, Http


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def part(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return MAGIC + part(1, part(1, api_version) + part(2, kind)) + part(2, raw)


def test_a_config_map_is_read() -> None:
    entry = part(1, "key") + part(2, "value")
    binary = part(1, "b") + part(2, b"\xff\x00")
    body = envelope("v1", "ConfigMap", part(1, part(1, "a")) + part(2, entry) + part(3, binary) + part(4, 1))
    assert decode(body) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"key": "value"},
        "binaryData": {"b": "/wA="},
        "immutable": True,
    }


def test_numbers_lists_times_and_embedded_messages_are_read() -> None:
    port = part(3, 80) + part(4, "TCP")
    source = part(1, "vol") + part(2, part(2, part(1, "")))  # a Volume whose VolumeSource stands in it: emptyDir
    container = part(1, "main") + part(6, port) + part(8, part(1, part(1, "cpu") + part(2, part(1, "100m"))))
    spec = part(1, source) + part(2, container) + part(4, -1)
    metadata = part(1, "a") + part(8, part(1, 1) + part(2, 0))
    body = envelope("v1", "Pod", part(1, metadata) + part(2, spec))
    pod = decode(body)
    assert pod["metadata"]["creationTimestamp"] == "1970-01-01T00:00:01Z"
    assert pod["spec"]["terminationGracePeriodSeconds"] == -1
    assert pod["spec"]["volumes"] == [{"name": "vol", "emptyDir": {"medium": ""}}]
    (main,) = pod["spec"]["containers"]
    assert main["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert main["resources"] == {"limits": {"cpu": "100m"}}


def test_int_or_string_is_either() -> None:
    number = part(1, 0) + part(2, 80)
    text = part(1, 1) + part(3, "http")
    ports = part(1, part(3, 1) + part(4, number)) + part(1, part(3, 2) + part(4, text))
    service = decode(envelope("v1", "Service", part(2, ports)))
    assert [port["targetPort"] for port in service["spec"]["ports"]] == [80, "http"]


def test_unknown_fields_are_passed_over() -> None:
    extra = part(99, 1) + varint(98 << 3 | 1) + struct.pack("<d", 1.0)
    assert decode(envelope("v1", "ConfigMap", extra)) == {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{}", "does not appear to be a protobuf message"),
        (envelope("v1", "Nonsense", b""), 'no kind "Nonsense"'),
        (envelope("v1", "ConfigMap", b"\x0a\xff"), "malformed|unexpected EOF"),
        (envelope("v1", "ConfigMap", part(1, 7)), "a number stands where bytes belong"),
        (envelope("v1", "ConfigMap", b"\x0b"), "wire type 3"),
    ],
)
def test_what_is_no_object_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(ProtobufError, match=message):
        decode(body)


@given(st.binary(max_size=60))
def test_rubbish_is_refused_or_read_and_nothing_else(raw: bytes) -> None:
    with suppress(ProtobufError):
        assert decode(envelope("v1", "Pod", raw))["kind"] == "Pod"


def test_a_protobuf_body_makes_an_object(http: Http) -> None:
    body = envelope("v1", "ConfigMap", part(1, part(1, "a")) + part(2, part(1, "x") + part(2, "1")))
    created = http("POST", CONFIG_MAPS, body, "application/vnd.kubernetes.protobuf")
    assert (created.status, created.data["data"]) == (201, {"x": "1"})
    refused = http("POST", CONFIG_MAPS, b"{}", "application/vnd.kubernetes.protobuf")
    assert refused.status == 400
