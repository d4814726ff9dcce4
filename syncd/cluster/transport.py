"""HTTP to one API server: deadlines, retries, cancellation and typed errors, in this one place.

The official client's connection pool carries the requests; its typed layer is not used, because it costs fifteen times
the time. What is repeated here, within the caller's deadline, with capped and jittered backoff and honouring
Retry-After, is only what cannot do harm: reads, and writes that the server has surely not acted on. A write whose fate
is unknown is left to the caller, who can look.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from urllib.parse import urlencode

import orjson
import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationValueError,
    NameResolutionError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)

from syncd.cluster.errors import (
    ApiError,
    ClusterConfigError,
    MalformedResponseError,
    RequestCancelledError,
    TimedOutError,
    UnauthorizedError,
    UnreachableError,
    from_response,
)
from syncd.cluster.retry import RetryPolicy
from syncd.cluster.sockets import FENCE, OpenConnections
from syncd.cluster.stream import Stream
from syncd.cluster.target import Target, target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from syncd.model import JSONObject, JSONValue

JSON: Final = "application/json"
CONNECT_TIMEOUT: Final = 5.0
READ_GAP: Final = 15.0
"""Seconds without a byte after which the answer to a read is given up and asked for again."""
RENEWAL_INTERVAL: Final = 60.0
"""Seconds at least between two readings of the credentials because of 401 answers."""

_NO_QUERY: Final[Mapping[str, str]] = {}


class Stop(Protocol):
    """What ends a wait early; a ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Whether to stop."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is time to stop, or for so many seconds."""


class Session(Protocol):
    """One way to reach one API server, and to prove who is asking."""

    @property
    def url(self) -> str:
        """Where the server is, without a slash at the end."""

    @property
    def pool(self) -> urllib3.PoolManager:
        """Its connections."""

    def authorization(self, timeout: float) -> Mapping[str, str]:
        """The headers that say who is asking, renewed if they have to be, within so many seconds."""


class Observation(NamedTuple):
    """One try of one request, for metrics."""

    target: Target
    status: int
    """0 when no answer came."""
    seconds: float
    """Until the whole answer was there; for a stream, until it began."""


class Response(NamedTuple):
    """A successful answer."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    def json(self) -> JSONValue:
        """Parse the body.

        Raises:
            MalformedResponseError: It is not JSON.
        """
        try:
            return orjson.loads(self.data)
        except orjson.JSONDecodeError as error:
            raise MalformedResponseError(f"the answer is not JSON: {error}", status=self.status) from None

    def object(self) -> JSONObject:
        """Parse the body, which must be a JSON object.

        Raises:
            MalformedResponseError: It is something else.
        """
        value = self.json()
        if not isinstance(value, dict):
            raise MalformedResponseError("the answer is not a JSON object", status=self.status)
        return value


class _Call(NamedTuple):
    """One request, ready to be sent as often as it takes."""

    method: str
    path: str
    query: Mapping[str, str]
    body: object
    payload: bytes | None
    headers: Mapping[str, str]
    target: Target

    @property
    def reads(self) -> bool:
        return self.method in ("GET", "HEAD")

    @property
    def writes(self) -> bool:
        return not self.reads and "dryRun" not in self.query

    @property
    def url_path(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class Transport:
    """Requests to one API server, in one name. Safe to use from many threads.

    Attributes:
        before_write: Called before each try of each request that may change something, as late as can be; raises to
            forbid it.
        observer: Called after each try.
    """

    def __init__(
        self,
        open_session: Callable[[], Session],
        *,
        user_agent: str = "syncd",
        retry: RetryPolicy | None = None,
        before_write: Callable[[], None] | None = None,
        observer: Callable[[Observation], None] | None = None,
        user: str = "",
    ) -> None:
        self.before_write = before_write
        self.observer = observer
        self._open_session = open_session
        self._user_agent = user_agent
        self._retry = retry or RetryPolicy()
        self._names = {"User-Agent": user_agent} | ({"Impersonate-User": user} if user else {})
        self._connections = OpenConnections()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._renewed_at = float("-inf")
        self._session = self._new_session()

    @property
    def url(self) -> str:
        """The server's address."""
        return self._session.url

    def acting_as(self, user: str) -> Transport:
        """Another transport to the same server, whose requests are made in somebody else's name.

        The groups of a ServiceAccount are added by the server itself; that its user may be impersonated is enough.
        """
        return Transport(
            self._open_session,
            user_agent=self._user_agent,
            retry=self._retry,
            before_write=self.before_write,
            observer=self.observer,
            user=user,
        )

    def request(  # noqa: PLR0913 - the parts of an HTTP request, all but two by keyword
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: JSONValue = None,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        stop: Stop | None = None,
        retry: bool = True,
    ) -> Response:
        """Send a request and read the whole answer.

        Args:
            method: The HTTP method.
            path: The path below the server's URL, percent-encoded where needed.
            query: The query; values are encoded here.
            body: A JSON value to send, or bytes as they are; None sends no body.
            content_type: What the body is.
            accept: What the answer should be.
            headers: Further headers.
            timeout: Seconds for everything, all tries and waits together.
            stop: Ends the tries early.
            retry: Whether to try again at all.

        Returns:
            The answer, of a status below 300 (or 304, if ``headers`` asked for it).

        Raises:
            ApiError: The server said no, or nothing at all in time.
            RequestCancelledError: ``stop`` was set or the transport closed.
        """
        all_headers = {"Accept": accept, **(headers or {})}
        call = self._call(method, path, query, body=body, content_type=content_type, headers=all_headers)
        deadline = time.monotonic() + timeout
        for attempt in itertools.count(1):
            self._check(stop)
            session = self._session
            try:
                return self._try(session, call, deadline, timeout)
            except ApiError as error:
                if isinstance(error, UnauthorizedError) and attempt == 1 and self._renew(session):
                    continue
                delay = self._retry.delay(error, attempt, reads=call.reads) if retry else None
                if delay is None or time.monotonic() + delay >= deadline:
                    raise
            self._pause(delay, stop)
        raise AssertionError("unreachable: itertools.count never ends")

    def stream(
        self, path: str, query: Mapping[str, str] | None = None, *, timeout: float = 15.0, idle: float = 300.0
    ) -> Stream:
        """Open an answer that goes on, line by line, as a watch does. Tried once.

        Args:
            path: The path below the server's URL.
            query: The query.
            timeout: Seconds until the answer must begin.
            idle: Seconds without a byte after which the stream counts as dead.

        Raises:
            ApiError: The server said no, or nothing at all in time.
            RequestCancelledError: The transport is closed.
        """
        call = self._call("GET", path, query, headers={"Accept": JSON})
        self._check(None)
        session, started, status = self._session, time.monotonic(), 0
        try:
            raw = self._send(session, call, timeout, timeout)
            status = raw.status
            if status < 300:
                return Stream(raw, idle)
            try:
                raise from_response(status, raw.headers, self._read(raw, started + timeout), secret=call.target.secret)
            finally:
                raw.close()
        except (HTTPError, OSError) as error:
            raise self._translate(error, call, timeout) from error
        except UnauthorizedError:
            self._renew(session)
            raise
        finally:
            self._observe(call, status, started)

    def close(self) -> None:
        """End everything: requests in hand fail at once, streams end, and nothing can be asked any more."""
        self._closed.set()
        self._connections.cut_all()
        self._session.pool.clear()

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        *,
        headers: Mapping[str, str],
        body: JSONValue = None,
        content_type: str = JSON,
    ) -> _Call:
        all_headers = {**self._names, **headers}
        payload = None
        if body is not None:
            payload = body if isinstance(body, bytes) else orjson.dumps(body)
            all_headers["Content-Type"] = content_type
        query = query or _NO_QUERY
        return _Call(method, path, query, body, payload, all_headers, target_of(method, path, query))

    def _try(self, session: Session, call: _Call, deadline: float, timeout: float) -> Response:
        """Send once and read the answer."""
        started, status = time.monotonic(), 0
        rest = deadline - started
        if rest <= 0:
            raise TimedOutError(f"no time left for {call.method} {call.path}")
        try:
            raw = self._send(session, call, rest, min(rest, READ_GAP) if call.reads else rest)
            try:
                status = raw.status
                data = self._read(raw, deadline)
            except BaseException:
                raw.close()  # what is left unread must not be taken for the next answer
                raise
            raw.release_conn()
        except (HTTPError, OSError) as error:
            raise self._translate(error, call, timeout) from error
        finally:
            self._observe(call, status, started)
        if status >= 300 and status != 304:
            raise from_response(status, raw.headers, data, secret=call.target.secret, sent=call.body)
        return Response(status, raw.headers, data)

    def _send(self, session: Session, call: _Call, rest: float, gap: float) -> urllib3.BaseHTTPResponse:
        """Send, after asking the fence as late as can be: getting the credentials and connecting may take seconds."""
        headers = {**call.headers, **session.authorization(rest)}
        fence = self.before_write if call.writes else None
        if fence is not None:
            fence()
        token = FENCE.set(fence)
        try:
            return session.pool.urlopen(
                call.method,
                session.url + call.url_path,
                body=call.payload,
                headers=headers,
                timeout=urllib3.Timeout(total=rest, connect=min(rest, CONNECT_TIMEOUT), read=gap),
                retries=False,
                redirect=False,
                preload_content=False,
            )
        finally:
            FENCE.reset(token)

    @staticmethod
    def _read(raw: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
        """Read the body as it comes, so that one that drips for ever meets the deadline too."""
        chunks = []
        while chunk := raw.read1(1 << 18):
            chunks.append(chunk)
            if time.monotonic() > deadline:
                raise ReadTimeoutError(None, None, "the answer took too long")  # type: ignore[arg-type] # no pool here
        return b"".join(chunks)

    def _translate(self, error: Exception, call: _Call, timeout: float) -> Exception:
        """Say in our own words why there is no answer."""
        if self._closed.is_set():
            return RequestCancelledError("the connection to the API server was closed by syncd itself")
        if isinstance(error, LocationValueError):
            return ClusterConfigError(f"not an address of an API server: {self._session.url}")
        unsent = isinstance(error, ConnectTimeoutError | ProxyError)
        if isinstance(error, ReadTimeoutError | TimeoutError):
            message = f"no answer to {call.method} {call.path} within {timeout:g} s"
            return TimedOutError(message, may_have_acted=not call.reads)
        if isinstance(error, SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
            unsent = True
        message = f"cannot reach the API server at {self._session.url}: {_why(error)}"
        return UnreachableError(message, may_have_acted=not (unsent or call.reads))

    def _new_session(self) -> Session:
        session = self._open_session()
        self._connections.watch(session.pool)
        return session

    def _renew(self, refused: Session) -> bool:
        """Read the credentials anew after a 401: files may have been rotated. Returns whether they were."""
        with self._lock:
            if self._session is not refused:
                return True  # another thread did
            if time.monotonic() - self._renewed_at < RENEWAL_INTERVAL:
                return False
            self._renewed_at = time.monotonic()
            self._session = self._new_session()
        refused.pool.clear()
        return True

    def _check(self, stop: Stop | None) -> None:
        if self._closed.is_set() or (stop is not None and stop.is_set()):
            raise RequestCancelledError("the request was stopped before it was sent")

    def _pause(self, seconds: float, stop: Stop | None) -> None:
        """Wait between two tries; in slices, since there are two things that may end it."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            self._closed.wait(min(rest, 0.1))
            self._check(stop)

    def _observe(self, call: _Call, status: int, started: float) -> None:
        if self.observer is not None:
            self.observer(Observation(call.target, status, time.monotonic() - started))


def _why(error: Exception) -> str:
    """The innermost reason, which is what helps: connection refused, certificate has expired."""
    if isinstance(error, NameResolutionError):
        return "its name cannot be resolved"
    if isinstance(error, ConnectTimeoutError) and "timed out" in str(error):
        return "connecting timed out"
    text = str(error.args[-1] if error.args else error)
    if isinstance(error, SSLError):
        return text
    return text.rpartition("] ")[2].rstrip("')\"") or type(error).__name__
