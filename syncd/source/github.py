"""Tokens of a GitHub App: asked for with the App's key, good for an hour, and used until shortly before their end.

As GitHub documents it under "Authenticating as a GitHub App installation".
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import orjson
import urllib3

from syncd.source.errors import (
    AuthenticationRefusedError,
    InvalidCredentialsError,
    RepositoryUnreachableError,
    SourceError,
    SourceTimeoutError,
    UntrustedServerError,
)

if TYPE_CHECKING:
    from syncd.source.proxy import ProxyAddress

USERNAME: Final = "x-access-token"
"""The name that goes with a token as its password."""
_API: Final = "https://api.github.com"
_SPARE_SECONDS: Final = 300.0
"""A token that ends sooner is not used any more: a fetch may take this long."""
_REQUEST_SECONDS: Final = 30.0
_ANSWER_LIMIT: Final = 64 << 10
_KEPT: Final = 1000
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class App:
    """An App as a Secret describes it. Its key is never shown by ``repr``."""

    id: str
    installation: str
    private_key: str = field(repr=False)
    api: str = _API
    ca: str = field(default="", repr=False)
    """The authority that the API's certificate is of, if not one that everybody trusts."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]+", self.id) or not re.fullmatch(r"[0-9]+", self.installation):
            raise InvalidCredentialsError(
                "githubAppID and githubAppInstallationID must be the numbers that GitHub shows"
            )
        if not self.private_key:
            raise InvalidCredentialsError("a GitHub App needs the key githubAppPrivateKey too")
        parts = urlsplit(self.api)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise InvalidCredentialsError("githubAppBaseURL must be an https URL, like https://ghe.example.com/api/v3")


class _Slot:
    """The token of one App; who holds the lock asks for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.token = ""
        self.good_until = float("-inf")


class AppTokens:
    """The tokens that are in use. Safe to use from many threads, which share each token."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: dict[App, _Slot] = {}

    def token(self, app: App, proxy: ProxyAddress | None, deadline: float) -> str:
        """A token that is good for a while.

        Args:
            app: Whose it is.
            proxy: The way to the API, if not straight.
            deadline: On ``time.monotonic()``'s clock.

        Raises:
            SourceError: GitHub gives none, or the App's key is none.
        """
        slot = self._slot(app)
        if not slot.lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise SourceTimeoutError(f"{app.api}: timed out waiting for another question for a token")
        try:
            if time.monotonic() >= slot.good_until:
                slot.token, seconds = _ask(app, proxy, deadline)
                slot.good_until = time.monotonic() + seconds - _SPARE_SECONDS
            return slot.token
        finally:
            slot.lock.release()

    def forget(self, app: App) -> None:
        """Ask for another token next time: this one did not open what it should."""
        with self._lock:
            self._slots.pop(app, None)

    def _slot(self, app: App) -> _Slot:
        with self._lock:
            if app not in self._slots and len(self._slots) >= _KEPT:
                self._slots.clear()  # keys that were replaced; those in use are asked for again
            return self._slots.setdefault(app, _Slot())


def _ask(app: App, proxy: ProxyAddress | None, deadline: float) -> tuple[str, float]:
    """A new token, and for how many seconds it is good."""
    url = f"{app.api.rstrip('/')}/app/installations/{app.installation}/access_tokens"
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {_proof(app)}",
        "User-Agent": "syncd",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    seconds = min(_REQUEST_SECONDS, deadline - time.monotonic())
    if seconds <= 0:
        raise SourceTimeoutError(f"{app.api}: timed out before a token was asked for")
    try:
        with _pool(app, proxy) as pool:
            answer = pool.request(
                "POST", url, headers=headers, timeout=urllib3.Timeout(total=seconds), retries=False, redirect=False,
                preload_content=False,
            )  # fmt: skip
            try:
                status, body = answer.status, _object(answer.read(_ANSWER_LIMIT))
            finally:
                answer.close()
    except urllib3.exceptions.HTTPError as error:
        raise _no_answer(app, error) from None
    token = body.get("token")
    if status != 201 or not isinstance(token, str) or not token:
        raise _refusal(app, status, str(body.get("message") or "no reason given")[:200])
    return token, _lifetime(body.get("expires_at"))


def _pool(app: App, proxy: ProxyAddress | None) -> urllib3.PoolManager:
    try:
        context = ssl.create_default_context(cadata=app.ca or None)
    except ssl.SSLError:
        raise InvalidCredentialsError("the key ca.crt does not hold a certificate") from None
    if proxy is None:
        return urllib3.PoolManager(ssl_context=context)
    headers = urllib3.make_headers(proxy_basic_auth=proxy.login) if proxy.login else None
    return urllib3.ProxyManager(proxy.address, proxy_headers=headers, ssl_context=context)


def _proof(app: App) -> str:
    """What proves that we have the App's key; good for minutes."""
    import jwt  # noqa: PLC0415 - with all of its cryptography it takes long to load, and few Syncs need it

    now = int(time.time())
    try:  # a minute ago, as GitHub advises: clocks differ
        return jwt.encode({"iat": now - 60, "exp": now + 540, "iss": app.id}, app.private_key, algorithm="RS256")
    except (ValueError, TypeError, jwt.PyJWTError):
        raise InvalidCredentialsError("githubAppPrivateKey does not hold an RSA private key in PEM form") from None


def _refusal(app: App, status: int, message: str) -> SourceError:
    what = {
        401: "GitHub does not know the App by this ID and key",
        403: "the App is suspended, or may not read",
        404: "the App has no such installation",
    }.get(status, f"no token came (HTTP {status})")
    text = f"{app.api}: GitHub App {app.id}, installation {app.installation}: {what} ({message})"
    return AuthenticationRefusedError(text) if status in (401, 403, 404) else RepositoryUnreachableError(text)


def _no_answer(app: App, error: urllib3.exceptions.HTTPError) -> SourceError:
    text = f"{app.api}: no token for the GitHub App {app.id}: "
    if isinstance(error, urllib3.exceptions.SSLError):
        return UntrustedServerError(f"{text}the server's certificate is not trusted")
    # A NewConnectionError is a kind of timeout, whatever it was.
    if isinstance(error, urllib3.exceptions.TimeoutError) and not isinstance(
        error, urllib3.exceptions.NewConnectionError
    ):
        return SourceTimeoutError(f"{text}timed out")
    way = "the proxy" if isinstance(error, urllib3.exceptions.ProxyError) else "the server"
    return RepositoryUnreachableError(f"{text}{way} cannot be reached")


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _lifetime(expires_at: object) -> float:
    try:
        end = datetime.fromisoformat(str(expires_at))
        return (end - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return 0.0  # used once, then asked for again
