"""A plain client of one API server: enough to set the stage for a test, and independent of the code under test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import urllib3

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS = 30
_MERGE_PATCH = "application/merge-patch+json"


class Answer(NamedTuple):
    """What the API server said.

    Attributes:
        status: The HTTP status code.
        body: The parsed JSON, the text where it is none, and for a watch the list of its events.
    """

    status: int
    body: Any


class ApiError(Exception):
    """The API server refused a request.

    Attributes:
        status: The HTTP status code.
        body: The Status object, or text.
    """

    def __init__(self, method: str, path: str, answer: Answer) -> None:
        self.status = answer.status
        self.body = answer.body
        message = answer.body.get("message") if isinstance(answer.body, dict) else answer.body
        super().__init__(f"{method} {path}: {answer.status} {message}")


class Api:
    """Requests to one API server as one user.

    Args:
        server: Its URL.
        authority: The file with its certificate authority.
        token: The user's bearer token.
    """

    def __init__(self, server: str, authority: Path, token: str) -> None:
        self._server = server
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", "User-Agent": "controlplane-tests"}
        self._pool = urllib3.PoolManager(ca_certs=str(authority), headers=headers, retries=False)

    def ask(
        self, method: str, path: str, body: Any = None, *, kind: str = "application/json", seconds: float = _SECONDS
    ) -> Answer:
        """Send one request and return the answer whatever its status.

        Args:
            method: The HTTP method.
            path: Path and query.
            body: Sent as JSON.
            kind: The content type of the body, which tells patches apart.
            seconds: The deadline.

        Raises:
            urllib3.exceptions.HTTPError: There was no answer.
        """
        response = self._pool.request(
            method,
            self._server + path,
            body=None if body is None else json.dumps(body),
            headers={**self._pool.headers, "Content-Type": kind},
            timeout=seconds,
        )
        text = response.data.decode()
        if not response.headers.get("Content-Type", "").startswith("application/json"):
            return Answer(response.status, text)
        if "watch=true" in path and response.status == 200:
            return Answer(response.status, [json.loads(line) for line in text.splitlines()])
        return Answer(response.status, json.loads(text))

    def reaches(self, path: str) -> bool:
        """Tell whether a GET is answered with success, soon, and without an exception if not."""
        try:
            return self.ask("GET", path, seconds=5).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    @staticmethod
    def answers(url: str) -> bool:
        """Tell whether a plain HTTP address, which is etcd's, answers with success."""
        try:
            return urllib3.request("GET", url, timeout=5, retries=False).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def get(self, path: str) -> Any:
        """Return the object or list at a path."""
        return self._must("GET", path)

    def find(self, path: str) -> Any | None:
        """Return the object at a path, or None where there is none."""
        answer = self.ask("GET", path)
        return None if answer.status == 404 else self._checked("GET", path, answer)

    def create(self, path: str, body: Any) -> Any:
        """Create an object in the collection at a path."""
        return self._must("POST", path, body)

    def merge(self, path: str, body: Any) -> Any:
        """Send a JSON merge patch."""
        return self._must("PATCH", path, body, kind=_MERGE_PATCH)

    def delete(self, path: str) -> Any:
        """Delete the object at a path; one that is not there is an error."""
        return self._must("DELETE", path)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _must(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> Any:
        return self._checked(method, path, self.ask(method, path, body, kind=kind))

    @staticmethod
    def _checked(method: str, path: str, answer: Answer) -> Any:
        if answer.status >= 400:
            raise ApiError(method, path, answer)
        return answer.body
