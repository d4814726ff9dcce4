"""The server in its thread."""

import socket
import threading
import urllib.error
import urllib.request

import pytest
from prometheus_client import CollectorRegistry

from syncd.web import ListenError, WebServer, create_app
from tests.unit.web import sample


def serve(**options: str | int) -> WebServer:
    return WebServer(create_app(sample.FakeBoard(), CollectorRegistry()), **options)  # type: ignore[arg-type]  # host and port by name


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as response:  # noqa: S310 - our own address
        body: bytes = response.read()
        return body


def test_it_serves_from_start_to_stop_on_a_free_port() -> None:
    server = serve()
    server.start()
    try:
        assert not server.url.endswith(":0")
        assert get(f"{server.url}/healthz") == b"ok\n"
    finally:
        server.stop()
    with pytest.raises(urllib.error.URLError):
        get(f"{server.url}/healthz")
    assert "web-server" not in {thread.name for thread in threading.enumerate()}


def test_stopping_twice_or_without_a_start_does_no_harm() -> None:
    serve().stop()
    server = serve()
    server.start()
    server.stop()
    server.stop()


def test_a_client_that_stays_connected_does_not_keep_it_from_stopping() -> None:
    server = serve()
    server.start()
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(4096).startswith(b"HTTP/1.1 200")
        server.stop()
        assert "web-server" not in {thread.name for thread in threading.enumerate()}


def test_a_taken_port_is_one_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"):
            serve(port=port).start()


def test_a_host_that_is_nobody_is_one_clear_error() -> None:
    with pytest.raises(ListenError, match=r"cannot listen on no\.such\.host\.invalid port 0"):
        serve(host="no.such.host.invalid").start()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("::", "http://[::1]:8080"),
        ("localhost", "http://localhost:8080"),
        ("::1", "http://[::1]:8080"),
    ],
)
def test_the_url_is_one_that_can_be_opened_here(host: str, url: str) -> None:
    assert serve(host=host, port=8080).url == url
