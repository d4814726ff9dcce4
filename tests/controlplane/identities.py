"""Who may call the API server: keys, tokens for any user on request, and kubeconfig files.

The API server reads its token file once, at start, so that file knows only the administrator. For all others it asks a
webhook, which is `TokenReviewer`: its tokens say themselves whom they stand for, under a signature.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_REVIEW_SECONDS = 5

_P256_KEY_BEFORE = bytes.fromhex("30310201010420")
_P256_KEY_AFTER = bytes.fromhex("a00a06082a8648ce3d030107")
"""The DER of an elliptic curve key is constant around its 32 bytes, which any number but a few may fill."""


class User(NamedTuple):
    """Somebody as the API server sees them."""

    name: str
    groups: tuple[str, ...] = ()


ADMINISTRATOR = User("admin", ("system:masters",))


def write_private(path: Path, text: str) -> Path:
    """Write a file that only its owner may read."""
    path.touch(mode=0o600)
    path.write_text(text)
    return path


def secret_in(path: Path) -> str:
    """Return the secret in a file, and make both if there are none yet."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32))
    return path.read_text()


def write_signing_key(path: Path) -> None:
    """Make the key that signs the tokens of ServiceAccounts, unless it is there."""
    if path.exists():
        return
    der = _P256_KEY_BEFORE + (secrets.randbits(255) + 1).to_bytes(32) + _P256_KEY_AFTER
    body = base64.encodebytes(der).decode()
    write_private(path, f"-----BEGIN EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\n")


def write_kubeconfig(path: Path, *, server: str, authority: Path, user: str, token: str) -> Path:
    """Write a kubeconfig file that needs no other file. It is JSON, which every reader of YAML reads."""
    authority_data = base64.b64encode(authority.read_bytes()).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": authority_data}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        "current-context": "test",
    }
    return write_private(path, json.dumps(content, indent=2) + "\n")


class TokenReviewer:
    """Issues tokens for any user with any groups, and confirms them to the API server.

    Args:
        secret: What signs them. A token stays good as long as the secret stays the same.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._server = _Server(("127.0.0.1", 0), _handler_for(self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), name="token-reviewer", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the API server asks."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_REVIEW_SECONDS)

    def issue(self, name: str, groups: Sequence[str] = ()) -> str:
        """Return a token; the same user with the same groups gets the same one."""
        content = base64.urlsafe_b64encode(json.dumps([name, list(groups)]).encode()).decode().rstrip("=")
        return f"{content}.{self._signature(content)}"

    def review(self, token: str) -> User | None:
        """Return whom a token stands for; None where it is not one of ours."""
        content, _, signature = token.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(content).encode()):
            return None
        try:
            name, groups = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))
        except (binascii.Error, ValueError):
            return None
        return User(name, tuple(groups))

    def _signature(self, content: str) -> str:
        return hmac.new(self._secret, content.encode(), hashlib.sha256).hexdigest()


class _Server(ThreadingTCPServer):
    # Not http.server's own class: that one looks its host's name up, which takes seconds where there is no DNS.
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Stay silent: an API server that a test kills resets its connections."""


def _handler_for(reviewer: TokenReviewer) -> type[BaseHTTPRequestHandler]:
    """Return the request handler of one reviewer, as http.server wants a class."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 300  # an idle connection of the API server is kept that long

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(_token_review(reviewer.review(asked["spec"]["token"]))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Stay silent: the API server's audit log has it all."""

    return Handler


def _token_review(user: User | None) -> dict[str, Any]:
    status: dict[str, Any] = {"authenticated": user is not None}
    if user is not None:
        status["user"] = {"username": user.name, "uid": user.name, "groups": list(user.groups)}
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status}
