"""Errors as a Kubernetes API server answers them: ``Status`` objects, word for word where clients may read them.

The wording is that of apimachinery's ``pkg/api/errors`` and of the registry and handlers of Kubernetes 1.36.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from syncd.model import SyncdError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Cause, GroupResource, ServedKind

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class StatusError(SyncdError):
    """A request that is refused.

    Attributes:
        code: The HTTP status.
        status_reason: The Status's ``reason``, such as ``NotFound``.
        details: The Status's ``details``; None when it has none. (Some errors have empty ones.)
        continue_token: What the client may go on with; "" but for a list that expired.
    """

    reason: ClassVar[str] = "Refused"

    def __init__(self, code: int, status_reason: str, message: str, details: JSONObject | None = None) -> None:
        self.code = code
        self.status_reason = status_reason
        self.details = details
        self.continue_token = ""
        super().__init__(message)

    def status(self) -> JSONObject:
        """The ``Status`` object."""
        status: JSONObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": str(self),
        }
        if self.status_reason:
            status["reason"] = self.status_reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def _details(resource: GroupResource, name: str = "", **more: object) -> JSONObject:
    details: JSONObject = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.resource
    return details | more


def not_found(resource: GroupResource, name: str) -> StatusError:
    """404: there is no such object."""
    return StatusError(404, "NotFound", f'{resource} "{name}" not found', _details(resource, name))


def unknown_path() -> StatusError:
    """404: there is no such resource or subresource."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: GroupResource, name: str) -> StatusError:
    """409: an object of this name is there."""
    return StatusError(409, "AlreadyExists", f'{resource} "{name}" already exists', _details(resource, name))


def conflict(resource: GroupResource, name: str, why: str = MODIFIED, causes: Sequence[Cause] = ()) -> StatusError:
    """409: the object is not in the state that the request presumes."""
    details = _details(resource, name)
    if causes:
        details["causes"] = _causes(causes)
    return StatusError(409, "Conflict", f'Operation cannot be fulfilled on {resource} "{name}": {why}', details)


def apply_conflict(causes: Sequence[Cause]) -> StatusError:
    """409: a server-side apply meets fields that others own; ``causes`` have one entry for each field."""
    by_manager: dict[str, list[str]] = {}
    for cause in causes:
        by_manager.setdefault(cause.message, []).append(cause.field)
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines = (
            f"{who.replace('conflict', 'conflicts', 1)}:\n" + "\n".join(f"- {field}" for field in fields)
            for who, fields in by_manager.items()
        )
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", message, {"causes": _causes(causes)})


def invalid(kind: ServedKind, name: str, causes: Sequence[Cause]) -> StatusError:
    """422: the object is wrong, for these reasons."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    errors = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    who = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details: JSONObject = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.kind
    details["causes"] = _causes(causes)
    return StatusError(422, "Invalid", f'{who} "{name}" is invalid: {errors}', details)


def _causes(causes: Sequence[Cause]) -> list[JSONObject]:
    return [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]


def bad_request(message: str) -> StatusError:
    """400: the request makes no sense."""
    return StatusError(400, "BadRequest", message)


def unprocessable() -> StatusError:
    """422: a JSON patch does not fit the object."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def unauthorized() -> StatusError:
    """401: no token, or a wrong one."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: GroupResource, name: str, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    """403: it is not allowed."""
    details = _details(resource, name)
    if causes:
        details["causes"] = _causes(causes)
    return StatusError(403, "Forbidden", f'{resource} "{name}" is forbidden: {why}', details)


def method_not_allowed() -> StatusError:
    """405: the path is there, but not for this method."""
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def not_acceptable(representations: Sequence[str]) -> StatusError:
    """406: none of the media types that the client accepts can be made."""
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(representations)}"
    return StatusError(406, "NotAcceptable", message, {})


def wrong_patch_type() -> StatusError:
    """415: the body is of no patch type at all."""
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def unsupported_media_type(supported: Sequence[str]) -> StatusError:
    """415: the body is of a type that cannot be read here."""
    return StatusError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(supported),
    )


def entity_too_large(why: str) -> StatusError:
    """413: the body is too long."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {why}")


def expired(message: str) -> StatusError:
    """410: the history that the request asks for is gone."""
    return StatusError(410, "Expired", message)


def too_old(asked: int, oldest: int) -> StatusError:
    """410: a watch asks for events older than those that are kept."""
    return expired(f"too old resource version: {asked} ({oldest})")


def internal(message: str) -> StatusError:
    """500: the sandbox has a mistake."""
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


def cannot_be_handled(kind: ServedKind, problem: str) -> StatusError:
    """400: a body cannot be read as its kind."""
    return bad_request(_said_of(kind) + problem)


def decoding_problem(kind: ServedKind, error: StatusError) -> str:
    """What is wrong by an error of :func:`cannot_be_handled`; "" if it is another error."""
    message = str(error)
    return message.removeprefix(_said_of(kind)) if message.startswith(_said_of(kind)) else ""


def _said_of(kind: ServedKind) -> str:
    return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '


def strict_decoding(kind: ServedKind, problems: Sequence[str]) -> StatusError:
    """400: unknown or duplicate fields, in strict field validation."""
    return cannot_be_handled(kind, f"strict decoding error: {', '.join(problems)}")


def invalid_patch(value: str, problem: str) -> StatusError:
    """422: what a patch makes of an object cannot be read as its kind."""
    text = f"Invalid value: {json.dumps(value, ensure_ascii=False)}: {problem}"
    cause = {"reason": "FieldValueInvalid", "message": text, "field": "patch"}
    return StatusError(422, "Invalid", f' "" is invalid: patch: {text}', {"causes": [cause]})


def invalid_list_options(field: str, text: str) -> StatusError:
    """422: the parameters of a list or watch contradict each other."""
    return _invalid_options("ListOptions", field, text)


def invalid_delete_options(field: str, text: str) -> StatusError:
    """422: the options of a deletion are wrong."""
    return _invalid_options("DeleteOptions", field, text)


def continue_too_old(token: str) -> StatusError:
    """410: a paged list cannot go on consistently; ``token`` goes on inconsistently."""
    error = expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list."
    )
    error.continue_token = token
    return error


def version_too_large(asked: int, present: int) -> StatusError:
    """504: the state that is asked for is still to come."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {asked}, current: {present}"
    return StatusError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def invalid_write_options(verb: str, field: str, text: str) -> StatusError:
    """422: the parameters of a write are wrong."""
    return _invalid_options(
        {"create": "CreateOptions", "update": "UpdateOptions"}.get(verb, "PatchOptions"), field, text
    )


def _invalid_options(kind: str, field: str, text: str) -> StatusError:
    reason = _REASONS.get(text.partition(":")[0], "FieldValueInvalid")
    cause = {"reason": reason, "message": text, "field": field}
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [cause]}
    return StatusError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {field}: {text}', details)


_REASONS = {
    "Forbidden": "FieldValueForbidden",
    "Required value": "FieldValueRequired",
    "Unsupported value": "FieldValueNotSupported",
    "Too long": "FieldValueTooLong",
}


def untyped(kind: ServedKind, applied: JSONObject, problems: Sequence[str]) -> StatusError:
    """500, as the real server has it: a configuration for server-side apply has fields that its schema does not."""
    path = min(problem.removeprefix('unknown field "').rstrip('"') for problem in problems)
    said = f".{path}: field not declared in schema"
    meta = applied.get("metadata", {})
    who = f"{meta.get('namespace', '')}/{meta.get('name', '')}; {kind.group}/{kind.version}, Kind={kind.kind}"
    return StatusError(500, "", f"failed to create typed patch object ({who}): {said}")


def version_on_create() -> StatusError:
    """500, as the real server has it: a new object says which version it has."""
    return StatusError(500, "", "resourceVersion should not be set on objects to be created")


def unreadable_version(text: str) -> StatusError:
    """500, as the real server has it: a watch is to begin at a resourceVersion that is no number."""
    problem = f'strconv.ParseUint: parsing "{text}": invalid syntax'
    return StatusError(500, "", f'resourceVersion: Invalid value: "{text}": {problem}')


def wrong_apply_type(api_version: str, kind: str) -> StatusError:
    """400: a configuration for server-side apply is of another kind than its path."""
    group, _, version = api_version.rpartition("/")
    return bad_request(f"invalid object type: {f'{group}/{version}' if version else '/'}, Kind={kind}")


def bad_strategic_patch(why: str) -> StatusError:
    """500, as the real server has it: a strategic merge patch breaks its format."""
    return StatusError(500, "", why)


def too_large_for_storage() -> StatusError:
    """500, as the real server has it: etcd takes no object of this size."""
    return StatusError(500, "", "etcdserver: request is too large")


def bad_version(text: str) -> StatusError:
    """500, as the real server has it: the resourceVersion of a replacement is no number."""
    return StatusError(500, "", f'strconv.ParseUint: parsing "{text}": invalid syntax')
