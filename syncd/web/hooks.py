"""Webhooks: a Git server says that somebody pushed, and the Syncs that follow the repository look at once.

A call can do no more than that: what is synced is still what ``git ls-remote`` says, so a call that is repeated, late
or about nothing new is harmless, and many calls become one look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

import orjson
import structlog
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from syncd.model import SyncdError
from syncd.source.urls import Place
from syncd.web.body import read_body
from syncd.web.pushes import FORGES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from starlette.requests import Request

    from syncd.daemon.status import Board
    from syncd.model import JSONValue
    from syncd.web.pushes import Forge

log = structlog.get_logger("syncd")

_AT_ONCE: Final = 16
"""Calls whose bodies are held at the same time: nobody has proved anything yet while a body arrives."""


class WebhookSecretError(SyncdError):
    """The file with the webhooks' secret is not there or empty."""

    reason = "InvalidWebhookSecret"


class SecretFile:
    """The secrets that callers may know: one in each line, so that one can be replaced by another.

    Args:
        path: Read anew for each call.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[bytes, ...]:
        """The secrets now.

        Raises:
            WebhookSecretError: The file cannot be read, or holds none.
        """
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise WebhookSecretError(
                f"the webhook secret in {self._path} cannot be read: {error.strerror}; write a long random line to it"
            ) from None
        secrets = tuple(line.strip() for line in data.splitlines() if line.strip())
        if not secrets:
            raise WebhookSecretError(f"the webhook secret in {self._path} is empty; write a long random line to it")
        return secrets


class Hooks:
    """The endpoint.

    Args:
        board: Knows which Syncs there are.
        trigger: Has the Sync of an id reconciled at once; raises KeyError if it is gone.
        secrets: What callers must know.
    """

    def __init__(self, board: Board, trigger: Callable[[str], None], secrets: SecretFile) -> None:
        self._board = board
        self._trigger = trigger
        self._secrets = secrets
        self._calls = 0

    async def receive(self, request: Request) -> tuple[int, JSONValue]:
        """Answer one call: the HTTP status and a JSON body.

        Raises:
            HTTPException: It is not from somebody who knows the secret, or not what such a server sends.
        """
        forge = FORGES.get(request.path_params["forge"])
        if forge is None:
            raise HTTPException(404, f"There is no webhook of that name; there are: {', '.join(sorted(FORGES))}.")
        if self._calls >= _AT_ONCE:
            raise HTTPException(503, "Too many calls at once.", {"Retry-After": "5"})
        self._calls += 1
        try:
            return await run_in_threadpool(self._answer, forge, request.headers, await read_body(request))
        finally:
            self._calls -= 1

    def _answer(self, forge: Forge, headers: Mapping[str, str], body: bytes) -> tuple[int, JSONValue]:
        try:
            secrets = self._secrets.read()
        except WebhookSecretError as error:
            log.error("webhook refused", forge=forge.name, error=str(error), reason=error.reason)  # noqa: TRY400 - its words say it all
            raise HTTPException(503, "The webhook is not set up. The log says more.") from None
        if not forge.trusts(headers, body, secrets):
            log.warning("webhook refused", forge=forge.name, error="the signature is missing or wrong")
            wanted = " or ".join(forge.signatures)
            raise HTTPException(401, f"The signature in the header {wanted} is missing or wrong.")
        if not forge.is_push(headers):
            return 200, {"triggered": [], "message": "Not a push: nothing to do."}
        if standby := self._board.standby():
            raise HTTPException(503, f"This replica stands by: {standby}.", {"Retry-After": "5"})
        named = list(forge.places(_payload(body)))
        if not named:
            raise HTTPException(400, "The payload names no repository.")
        triggered = self._look(named)
        log.info("webhook", forge=forge.name, repository="/".join(filter(None, named[0])), triggered=triggered)
        message = "They look now." if triggered else "No Sync follows this repository."
        return 202, {"triggered": triggered, "message": message}

    def _look(self, named: list[Place]) -> list[str]:
        triggered = []
        for status in self._board.statuses():
            place = Place.of(status.sync.spec.source.git.url)
            if not status.sync.spec.suspend and any(place.is_meant_by(other) for other in named):
                try:
                    self._trigger(status.id)
                except KeyError:
                    continue  # it was removed just now
                triggered.append(status.id)
        return triggered


def _payload(body: bytes) -> dict[str, Any]:
    """The JSON object of a call; GitHub and Gitea can also send it as a form's field.

    The body says which, not its type: curl calls everything a form.
    """
    try:
        if body.startswith(b"payload="):
            body = parse_qs(body.decode("ascii"), max_num_fields=10)["payload"][0].encode()
        payload = orjson.loads(body)
    except (ValueError, KeyError):
        raise HTTPException(400, "The body is no JSON object.") from None
    if not isinstance(payload, dict):
        raise HTTPException(400, "The body is no JSON object.")
    return payload
