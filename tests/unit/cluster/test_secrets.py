from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster.errors import SecretMissingError, SecretUnavailableError, ServerError
from syncd.cluster.secrets import ClusterData
from tests.unit.cluster.test_client import client_of

if TYPE_CHECKING:
    from tests.faults.cluster.fakeapi import Exchange


def status(code: int, reason: str) -> dict[str, Any]:
    message = 'secrets "git" is forbidden: User "syncd" cannot get resource "secrets"'
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": {"name": "git"}}


def test_a_secret_is_read_decoded_and_anew_each_time() -> None:
    values = iter(["b2xk", "bmV3"])

    def handler(exchange: Exchange) -> None:
        exchange.reply({"kind": "Secret", "data": {"password": next(values)}})

    with client_of(handler) as (client, server):
        secrets = ClusterData.secrets(client)
        assert [secrets.read("syncd", "git")["password"] for _ in range(2)] == [b"old", b"new"]
    assert server.requests[0].path == "/api/v1/namespaces/syncd/secrets/git"


def test_a_secret_without_data_is_empty() -> None:
    with client_of(lambda exchange: exchange.reply({"kind": "Secret"})) as (client, _):
        assert ClusterData.secrets(client).read("syncd", "git") == {}


@pytest.mark.parametrize(
    ("code", "reason", "problem"),
    [
        (404, "NotFound", "the Secret syncd/git does not exist; create it"),
        (403, "Forbidden", "the Secret syncd/git may not be read: allow syncd's service account to get it"),
    ],
)
def test_a_secret_that_cannot_be_had_is_an_error_that_says_what_to_do(code: int, reason: str, problem: str) -> None:
    with (
        client_of(lambda exchange: exchange.reply(status(code, reason), code)) as (client, _),
        pytest.raises(SecretUnavailableError, match=problem),
    ):
        ClusterData.secrets(client).read("syncd", "git")


def test_what_is_no_base64_is_an_error_without_the_value() -> None:
    with (
        client_of(lambda exchange: exchange.reply({"kind": "Secret", "data": {"password": "hunter2!"}})) as (client, _),
        pytest.raises(SecretUnavailableError, match="the value of password is not base64") as caught,
    ):
        ClusterData.secrets(client).read("syncd", "git")
    assert "hunter2" not in str(caught.value)


def test_a_server_that_fails_is_not_taken_for_a_missing_secret() -> None:
    with (
        client_of(lambda exchange: exchange.reply(status(500, "InternalError"), 500)) as (client, _),
        pytest.raises(ServerError),
    ):
        ClusterData.secrets(client).read("syncd", "git")


def test_a_config_map_is_read_in_the_same_way() -> None:
    data = {"kind": "ConfigMap", "data": {"a": "text"}, "binaryData": {"b": "/w=="}}
    with client_of(lambda exchange: exchange.reply(data)) as (client, server):
        assert ClusterData.config_maps(client).read("syncd", "values") == {"a": b"text", "b": b"\xff"}
    assert server.requests[0].path == "/api/v1/namespaces/syncd/configmaps/values"


@pytest.mark.parametrize(("code", "reason", "missing"), [(404, "NotFound", True), (403, "Forbidden", False)])
def test_only_what_is_not_there_is_missing(code: int, reason: str, *, missing: bool) -> None:
    with (
        client_of(lambda exchange: exchange.reply(status(code, reason), code)) as (client, _),
        pytest.raises(SecretUnavailableError, match="the ConfigMap syncd/values") as caught,
    ):
        ClusterData.config_maps(client).read("syncd", "values")
    assert isinstance(caught.value, SecretMissingError) is missing
