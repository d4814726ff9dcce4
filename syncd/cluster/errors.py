"""What can go wrong between syncd and an API server, one class per thing that a caller may want to tell apart.

Every error has a CamelCase ``reason`` and a message of one sentence that is safe to show: what a server says about a
Secret goes through :mod:`syncd.cluster.masking` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import orjson

from syncd.cluster.masking import mask_cause, mask_message, shorten_cause, shorten_message
from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.model import JSONObject


class ClusterConfigError(SyncdError):
    """No usable way to the cluster: the kubeconfig is missing or wrong, or its credentials cannot be had."""

    reason = "InvalidClusterConfig"


class SecretUnavailableError(SyncdError):
    """A Secret or ConfigMap that a Sync names is not there, or may not be read."""

    reason = "SecretUnavailable"


class SecretMissingError(SecretUnavailableError):
    """It is not there."""


class RequestCancelledError(SyncdError):
    """The caller, or the end of the transport, stopped the request."""

    reason = "Cancelled"


class Cause(NamedTuple):
    """One thing that is wrong with an object, as the server says it."""

    field: str
    """The path, such as ``spec.template.spec.containers[0].image``; may be empty."""
    reason: str
    """The server's word, such as ``FieldValueInvalid``."""
    message: str


class ApiError(SyncdError):
    """A request failed.

    Attributes:
        status: The HTTP status; 0 when no answer came.
        may_have_acted: Whether the server may have carried the request out all the same.
        retry_after: Seconds that the server asks to be left alone; None when it does not say.
        causes: The single problems, if the server lists any.
        kind: The plural name of the resource that the server speaks of, such as ``namespaces``; may be empty.
        name: The name of the object that the server speaks of; may be empty.
    """

    reason: ClassVar[str] = "ApiError"
    transient: ClassVar[bool] = False
    """Whether the same request may well succeed later without anybody changing anything about it."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        may_have_acted: bool = False,
        retry_after: float | None = None,
        causes: tuple[Cause, ...] = (),
        kind: str = "",
        name: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.may_have_acted = may_have_acted
        self.retry_after = retry_after
        self.causes = causes
        self.kind = kind
        self.name = name


class BadRequestError(ApiError):
    """The server cannot make sense of the request."""

    reason = "BadRequest"


class UnauthorizedError(ApiError):
    """The server does not know who is asking."""

    reason = "Unauthorized"
    transient = True  # credentials are renewed while the daemon runs


class ForbiddenError(ApiError):
    """The server knows who is asking, and says no: by RBAC, a quota or admission."""

    reason = "Forbidden"


class NotFoundError(ApiError):
    """The object (or the namespace that it would be in) does not exist. Compare :class:`NotServedError`."""

    reason = "NotFound"


class NotServedError(ApiError):
    """The server has no such resource at all, which says nothing about objects: their kind may be away for a moment."""

    reason = "KindNotServed"
    transient = True


class AlreadyExistsError(ApiError):
    """The object to create is there already."""

    reason = "AlreadyExists"


class ConflictError(ApiError):
    """Somebody else was faster, or a precondition does not hold."""

    reason = "Conflict"


class ExpiredError(ApiError):
    """The resourceVersion or continue token is too old (or too new): list again."""

    reason = "Expired"


class TooLargeError(ApiError):
    """The request is larger than the server takes."""

    reason = "RequestEntityTooLarge"


class InvalidError(ApiError):
    """The object breaks a rule of its kind; ``causes`` says which."""

    reason = "Invalid"


class TooManyRequestsError(ApiError):
    """The server wants to be asked less often; it did nothing."""

    reason = "TooManyRequests"
    transient = True


class ServerError(ApiError):
    """The server, a webhook or something on the way to it broke."""

    reason = "ServerError"
    transient = True


class MalformedResponseError(ApiError):
    """The answer is not what the Kubernetes API would say."""

    reason = "MalformedResponse"
    transient = True


class UnreachableError(ApiError):
    """No connection, or it broke."""

    reason = "Unreachable"
    transient = True


class TimedOutError(ApiError):
    """No answer within the deadline."""

    reason = "TimedOut"
    transient = True


_BY_REASON: Final[Mapping[str, type[ApiError]]] = {
    "BadRequest": BadRequestError,
    "Unauthorized": UnauthorizedError,
    "Forbidden": ForbiddenError,
    "AlreadyExists": AlreadyExistsError,
    "Conflict": ConflictError,
    "Expired": ExpiredError,
    "Gone": ExpiredError,
    "Invalid": InvalidError,
    "RequestEntityTooLarge": TooLargeError,
    "TooManyRequests": TooManyRequestsError,
}
_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    409: ConflictError,
    410: ExpiredError,
    413: TooLargeError,
    422: InvalidError,
    429: TooManyRequestsError,
}
_SPEAKS_OF_NAMES_ONLY: Final = (
    NotFoundError,
    NotServedError,
    AlreadyExistsError,
    UnauthorizedError,
    ExpiredError,
    TooManyRequestsError,
)
"""Errors whose text never quotes what an object holds."""


def from_response(
    status: int, headers: Mapping[str, str], data: bytes, *, secret: bool = False, sent: object = None
) -> ApiError:
    """Make the error for an HTTP answer of 300 or more.

    Args:
        status: The HTTP status.
        headers: Its headers; only Retry-After counts.
        data: The body, most often a ``kind: Status`` object, but anything may come from a proxy.
        secret: Whether the request was about Secrets.
        sent: The body of the request; what it holds in ``data`` and ``stringData`` is masked if ``secret``.
    """
    return from_status(
        _status_object(data), status, retry_after=retry_after(headers), fallback=_text(data), secret=secret, sent=sent
    )


def from_status(
    body: JSONObject,
    status: int,
    *,
    retry_after: float | None = None,
    fallback: str = "",
    secret: bool = False,
    sent: object = None,
) -> ApiError:
    """Make the error that a ``kind: Status`` object tells of; ``body`` is empty when the answer was none."""
    given = body.get("details")
    details: JSONObject = given if isinstance(given, dict) else {}
    error_class = _class_of(status, str(body.get("reason") or ""), details)
    causes = tuple(_causes(details, secret=secret))
    message = str(body.get("message") or "").strip()
    if not message:
        message = _message_without_status(status, "" if secret else fallback)
    elif issubclass(error_class, InvalidError) and causes:
        message = _invalid_message(message, causes)
    elif secret and not issubclass(error_class, _SPEAKS_OF_NAMES_ONLY):
        message = mask_message(message, name=str(details.get("name") or ""))
    if secret and sent is not None:
        message = mask_message(message, sent=sent)
        causes = tuple(cause._replace(message=mask_message(cause.message, sent=sent)) for cause in causes)
    return error_class(
        shorten_message(message),
        status=status,
        # 503 with Retry-After is how a server turns a request away before looking at it
        may_have_acted=status >= 500 and not (status == 503 and retry_after is not None),
        retry_after=retry_after,
        causes=causes,
        kind=str(details.get("kind") or ""),
        name=str(details.get("name") or ""),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read a Retry-After header in seconds; its date form is not used by Kubernetes and counts as absent."""
    value = headers.get("Retry-After", "").strip()
    return float(value) if value.isascii() and value.isdigit() else None


def _class_of(status: int, reason: str, details: JSONObject) -> type[ApiError]:
    causes = details.get("causes")
    if isinstance(causes, list) and any(
        isinstance(cause, dict) and cause.get("reason") == "ResourceVersionTooLarge" for cause in causes
    ):
        return ExpiredError  # the server's history went back, as after a restored backup: only a new list can help
    if status == 404:
        return NotFoundError if details.get("name") else NotServedError
    if status >= 500:
        return ServerError
    return _BY_REASON.get(reason) or _BY_STATUS.get(status) or ApiError


def _causes(details: JSONObject, *, secret: bool) -> list[Cause]:
    causes = details.get("causes")
    if not isinstance(causes, list):
        return []
    tidy = mask_cause if secret else shorten_cause
    return [
        Cause(str(cause.get("field") or ""), str(cause.get("reason") or ""), tidy(str(cause.get("message") or "")))
        for cause in causes
        if isinstance(cause, dict)
    ]


def _invalid_message(message: str, causes: tuple[Cause, ...]) -> str:
    """Say it again from the causes: the server's own sentence quotes whole values, a pod template for instance."""
    subject, found, _ = message.partition(" is invalid")
    problems = "; ".join(f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes)
    return f"{subject if found else 'the object'} is invalid: {problems}"


def _status_object(data: bytes) -> JSONObject:
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) and body.get("kind") == "Status" else {}


def _text(data: bytes) -> str:
    text = data[:400].decode("utf-8", "replace").strip()
    return "" if text.startswith("<") else text


def _message_without_status(status: int, text: str) -> str:
    if status == 404:
        return "the server does not serve this resource"
    return f"the answer was HTTP {status}" + (f": {text}" if text else ", and not from the Kubernetes API")
