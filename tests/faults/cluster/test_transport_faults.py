from __future__ import annotations

import json
import socket
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from syncd.cluster.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MalformedResponseError,
    NotFoundError,
    NotServedError,
    RequestCancelledError,
    ServerError,
    TimedOutError,
    TooManyRequestsError,
    UnauthorizedError,
    UnreachableError,
)
from syncd.cluster.transport import Observation, Transport
from syncd.model import SyncdError
from tests.faults.cluster.fakeapi import Exchange, FakeAPI, PlainSession, transport_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATH = "/api/v1/namespaces/shop/configmaps/web"


@contextmanager
def served(handler: Callable[[Exchange], None], **options: Any) -> Iterator[tuple[FakeAPI, Transport]]:
    with FakeAPI(handler) as server, closing(transport_to(server.url, **options)) as transport:
        yield server, transport


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Script:
    """Answers each request with the next of the given steps, and all further ones with the last."""

    def __init__(self, *steps: Callable[[Exchange], None]) -> None:
        self.steps = list(steps)

    def __call__(self, exchange: Exchange) -> None:
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        step(exchange)


def fine(exchange: Exchange) -> None:
    exchange.reply({"ok": True})


def error(code: int, reason: str, **details: Any) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.status(code, reason, **details)


def test_a_request_carries_query_body_and_content_type() -> None:
    with served(fine) as (server, transport):
        answer = transport.request(
            "PATCH", PATH, query={"fieldManager": "syncd"}, body={"a": 1}, content_type="application/merge-patch+json"
        )
        assert answer.json() == {"ok": True}
    request = server.requests[0]
    assert (request.method, request.path, dict(request.query)) == ("PATCH", PATH, {"fieldManager": "syncd"})
    assert request.json() == {"a": 1}
    assert request.headers["Content-Type"] == "application/merge-patch+json"


@pytest.mark.parametrize(
    ("code", "reason", "details", "expected"),
    [
        (404, "NotFound", {"name": "web", "kind": "configmaps"}, NotFoundError),
        (404, "NotFound", {}, NotServedError),
        (401, "Unauthorized", {}, UnauthorizedError),
        (403, "Forbidden", {}, ForbiddenError),
        (409, "AlreadyExists", {}, AlreadyExistsError),
        (409, "Conflict", {}, ConflictError),
        (410, "Expired", {}, ExpiredError),
        (410, "Gone", {}, ExpiredError),
        (422, "Invalid", {}, InvalidError),
        (500, "InternalError", {}, ServerError),
        (504, "Timeout", {"causes": [{"reason": "ResourceVersionTooLarge", "message": "x"}]}, ExpiredError),
        (418, "Teapot", {}, ApiError),
    ],
)
def test_a_status_becomes_the_error_of_its_kind(
    code: int, reason: str, details: dict[str, Any], expected: type[ApiError]
) -> None:
    with served(error(code, reason, **details)) as (_, transport), pytest.raises(ApiError) as caught:
        transport.request("GET", PATH, retry=False)
    assert type(caught.value) is expected
    assert caught.value.status == code


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE", "POST"])
def test_too_many_requests_is_tried_again_whatever_the_method(method: str) -> None:
    script = Script(error(429, "TooManyRequests"), error(429, "TooManyRequests"), fine)
    with served(script) as (server, transport):
        transport.request(method, PATH, body={})
    assert len(server.requests) == 3


def test_retry_after_is_honoured_and_not_waited_for_beyond_the_deadline() -> None:
    with served(error(429, "TooManyRequests", headers={"Retry-After": "30"})) as (server, transport):
        with pytest.raises(TooManyRequestsError) as caught:
            transport.request("GET", PATH, timeout=5)
        assert caught.value.retry_after == 30
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [500, 502, 503, 504])
def test_a_read_is_tried_again_when_the_server_breaks(code: int) -> None:
    with served(Script(error(code, "InternalError"), fine)) as (server, transport):
        transport.request("GET", PATH)
    assert len(server.requests) == 2


@pytest.mark.parametrize("code", [500, 502, 503, 504])
def test_a_write_that_may_have_been_acted_on_is_not_repeated(code: int) -> None:
    with served(Script(error(code, "InternalError"), fine)) as (server, transport):
        with pytest.raises(ServerError) as caught:
            transport.request("PATCH", PATH, body={})
        assert caught.value.may_have_acted
    assert len(server.requests) == 1


def test_a_write_turned_away_with_503_and_retry_after_is_repeated() -> None:
    with served(Script(error(503, "ServiceUnavailable", headers={"Retry-After": "0"}), fine)) as (server, transport):
        transport.request("PATCH", PATH, body={})
    assert len(server.requests) == 2


def test_tries_are_counted_out() -> None:
    with served(error(500, "InternalError")) as (server, transport), pytest.raises(ServerError):
        transport.request("GET", PATH)
    assert len(server.requests) == 5


def test_a_cut_connection_is_tried_again_for_a_read_and_reported_for_a_write() -> None:
    with served(Script(Exchange.cut, fine)) as (server, transport):
        transport.request("GET", PATH)
        server.handler = Exchange.cut
        with pytest.raises(UnreachableError) as caught:
            transport.request("POST", PATH, body={})
    assert caught.value.may_have_acted


def test_an_answer_cut_in_its_midst_is_an_error_and_never_half_an_answer() -> None:
    def half(exchange: Exchange) -> None:
        exchange.raw(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"items": []')
        exchange.cut()

    with served(half) as (_, transport), pytest.raises(UnreachableError):
        transport.request("GET", PATH)


def test_a_refused_connection_was_surely_not_acted_on() -> None:
    with closing(transport_to(f"http://127.0.0.1:{free_port()}")) as transport:
        with pytest.raises(UnreachableError, match="refused") as caught:
            transport.request("POST", PATH, body={})
        assert not caught.value.may_have_acted


def test_a_write_is_tried_again_until_the_server_listens() -> None:
    with FakeAPI(fine) as server:
        server.stop()
        back = threading.Timer(0.05, server.start)
        with closing(transport_to(server.url, retry=None)) as transport:
            back.start()
            assert transport.request("POST", PATH, body={}).json() == {"ok": True}
        back.join()


def test_a_server_that_does_not_answer_meets_the_deadline() -> None:
    with served(Exchange.stall) as (_, transport):
        with pytest.raises(TimedOutError) as caught:
            transport.request("PATCH", PATH, body={}, timeout=0.2)
        assert caught.value.may_have_acted


def test_an_answer_that_drips_for_ever_meets_the_deadline() -> None:
    def drip(exchange: Exchange) -> None:
        exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not exchange.ended.wait(0.02):
            exchange.raw(b" ")

    with served(drip) as (_, transport), pytest.raises(TimedOutError):
        transport.request("GET", PATH, timeout=0.3)


def test_a_body_that_is_not_json_is_malformed() -> None:
    with served(lambda exchange: exchange.reply(b"<html>hello")) as (_, transport):
        answer = transport.request("GET", PATH)
    with pytest.raises(MalformedResponseError):
        answer.json()


def test_a_list_where_an_object_should_be_is_malformed() -> None:
    with served(lambda exchange: exchange.reply([])) as (_, transport), pytest.raises(MalformedResponseError):
        transport.request("GET", PATH).object()


def test_a_proxys_error_page_is_not_quoted() -> None:
    page = b"<html>Bad gateway"
    with (
        served(lambda exchange: exchange.reply(page, 502)) as (_, transport),
        pytest.raises(ServerError, match="HTTP 502") as caught,
    ):
        transport.request("GET", PATH)
    assert "<html>" not in str(caught.value)


def test_a_redirect_is_not_followed() -> None:
    handler = lambda exchange: exchange.reply({}, 302, {"Location": "http://127.0.0.1:1/"})  # noqa: E731 - one use
    with served(handler) as (server, transport), pytest.raises(ApiError, match="HTTP 302"):
        transport.request("GET", PATH)
    assert len(server.requests) == 1


def test_the_fence_is_asked_before_each_try_of_a_write_and_never_before_a_read() -> None:
    asked: list[str] = []
    with served(Script(error(429, "TooManyRequests"), fine), before_write=lambda: asked.append("x")) as (_, transport):
        transport.request("GET", PATH)
        assert not asked
        transport.request("PATCH", PATH, body={}, query={"dryRun": "All"})
        assert not asked
        transport.request("PATCH", PATH, body={})
        assert len(asked) == 1


class FencedError(SyncdError):
    """What a fence raises."""


def test_a_fence_that_raises_keeps_the_write_from_being_sent() -> None:
    def fence() -> None:
        raise FencedError("no longer the leader")

    with served(fine, before_write=fence) as (server, transport), pytest.raises(FencedError):
        transport.request("DELETE", PATH)
    assert not server.requests


def test_the_fence_is_asked_again_when_a_connection_had_to_be_made_first() -> None:
    answers = iter([True, False])

    def fence() -> None:
        if not next(answers):
            raise FencedError("no longer the leader")

    with served(fine, before_write=fence) as (server, transport), pytest.raises(FencedError):
        transport.request("DELETE", PATH)
    assert not server.requests


def test_a_write_that_was_given_up_does_not_arrive_later() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        transport = transport_to(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(TimedOutError):
            transport.request("POST", PATH, body={"big": "x" * 100_000}, timeout=0.2, retry=False)
        late, _ = listener.accept()
        with late, pytest.raises(ConnectionResetError):
            b"".join(iter(lambda: late.recv(65536), b""))


def test_the_observer_sees_each_try_with_its_status() -> None:
    seen: list[Observation] = []
    with served(Script(error(500, "InternalError"), fine), observer=seen.append) as (_, transport):
        transport.request("GET", PATH)
    assert [(item.target.verb, item.target.resource, item.status) for item in seen] == [
        ("get", "configmaps", 500),
        ("get", "configmaps", 200),
    ]


def test_a_stop_ends_the_tries() -> None:
    stop = threading.Event()
    with served(error(429, "TooManyRequests", headers={"Retry-After": "20"})) as (_, transport):
        timer = threading.Timer(0.05, stop.set)
        timer.start()
        with pytest.raises(RequestCancelledError):
            transport.request("GET", PATH, timeout=60, stop=stop)
        timer.join()


def test_closing_the_transport_ends_a_request_in_hand() -> None:
    with served(Exchange.stall) as (server, transport):
        timer = threading.Timer(0.1, transport.close)
        timer.start()
        with pytest.raises(RequestCancelledError):
            transport.request("GET", PATH, timeout=60)
        timer.join()
        with pytest.raises(RequestCancelledError):
            transport.request("GET", PATH)
    assert len(server.requests) == 1


def test_rotated_credentials_are_read_again_after_a_401() -> None:
    tokens = iter(["old", "new"])

    def handler(exchange: Exchange) -> None:
        if exchange.request.headers.get("Authorization") == "new":
            exchange.reply({"ok": True})
        else:
            exchange.status(401, "Unauthorized")

    with FakeAPI(handler) as server:
        session = lambda: PlainSession(server.url, {"Authorization": next(tokens)})  # noqa: E731 - one use
        with closing(Transport(session)) as transport:
            assert transport.request("PATCH", PATH, body={}).json() == {"ok": True}
            server.handler = error(401, "Unauthorized")
            with pytest.raises(UnauthorizedError):
                transport.request("GET", PATH)
    assert len(server.requests) == 3


def test_connections_are_kept_and_used_again() -> None:
    ports = set()

    def handler(exchange: Exchange) -> None:
        ports.add(exchange.handler.client_address[1])
        exchange.reply({})

    with served(handler) as (_, transport):
        for _ in range(5):
            transport.request("GET", PATH)
    assert len(ports) == 1


def test_a_stream_gives_lines_however_they_are_cut() -> None:
    def handler(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.line(b'{"a": 1}\n{"b"')
        exchange.line(b": 2}\n\n")
        exchange.line(b'{"c": 3}\n')
        exchange.end_stream()

    with served(handler) as (_, transport), transport.stream("/x") as stream:
        assert [json.loads(line) for line in stream] == [{"a": 1}, {"b": 2}, {"c": 3}]


def test_a_stream_that_falls_silent_times_out() -> None:
    def handler(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.line(b"{}\n")
        exchange.stall()

    with served(handler) as (_, transport), transport.stream("/x", idle=0.2) as stream:
        lines = iter(stream)
        assert next(lines) == b"{}"
        with pytest.raises(TimedOutError):
            next(lines)


def test_a_stream_that_is_cut_is_unreachable() -> None:
    def handler(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.cut()

    with served(handler) as (_, transport), transport.stream("/x") as stream, pytest.raises(UnreachableError):
        list(stream)


@pytest.mark.parametrize("how", ["stream", "transport"])
def test_a_stream_can_be_ended_from_another_thread(how: str) -> None:
    def handler(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.line(b"{}\n")
        exchange.stall()

    with served(handler) as (_, transport), transport.stream("/x", idle=60) as stream:
        lines = iter(stream)
        next(lines)
        timer = threading.Timer(0.05, stream.close if how == "stream" else transport.close)
        timer.start()
        if how == "stream":
            assert list(lines) == []
        else:
            with pytest.raises(UnreachableError):
                list(lines)
        timer.join()


def test_a_stream_that_is_refused_says_why() -> None:
    with served(error(410, "Expired")) as (_, transport), pytest.raises(ExpiredError):
        transport.stream("/x", {"watch": "true"})


def test_what_a_server_quotes_of_a_secret_stays_hidden() -> None:
    body = {"metadata": {"name": "db"}, "stringData": {"password": "hunter2 is long"}}
    message = 'admission webhook "w.example.com" denied the request: hunter2 is long is too weak'
    with (
        served(lambda exchange: exchange.status(400, "BadRequest", message)) as (_, transport),
        pytest.raises(ApiError) as caught,
    ):
        transport.request("POST", "/api/v1/namespaces/shop/secrets", body=body)
    assert "hunter2" not in str(caught.value)
    assert "w.example.com" in str(caught.value)
