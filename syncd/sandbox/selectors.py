"""Label and field selectors, parsed and refused as apimachinery does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from syncd.sandbox.errors import StatusError, bad_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind

    Predicate = Callable[[JSONObject], bool]

_LABEL_TERM = re.compile(
    r"""\s*(?:
        !\s*(?P<absent>[^\s=!<>(),]+)
        | (?P<key>[^\s=!<>(),]+)(?:
            \s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)
            | \s*(?P<operator>==|!=|=|<|>)\s*(?P<value>[^\s=!<>(),]*)
        )?
    )\s*(?P<end>,|$)""",
    re.VERBOSE,
)

_FIELD_TERM = re.compile(r"(?P<field>[^=!,]+)(?P<operator>==|!=|=)(?P<value>(?:\\.|[^\\,=])*)(?:,|$)")

_COMMON_FIELDS = ("metadata.name", "metadata.namespace")
_EVENT_FIELDS = (
    "involvedObject.apiVersion",
    "involvedObject.fieldPath",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.resourceVersion",
    "involvedObject.uid",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
_FIELDS_OF_KIND: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    ("", "Event"): _EVENT_FIELDS,
    ("events.k8s.io", "Event"): _EVENT_FIELDS,
    ("", "Namespace"): ("status.phase",),
    ("", "Node"): ("spec.unschedulable",),
    ("", "Secret"): ("type",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("", "ReplicationController"): ("status.replicas",),
    ("apps", "ReplicaSet"): ("status.replicas",),
    ("batch", "Job"): ("status.successful",),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("spec.signerName",),
}
_STORED_FIELD = {"status.successful": "status.succeeded", "source": "source.component"}
_ZERO_OF_FIELD = {"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.successful": "0"}


def label_selector(text: str) -> Predicate | None:
    """The test that a ``labelSelector`` parameter means; None when it chooses everything.

    Raises:
        StatusError: 400, it cannot be parsed.
    """
    if not text.strip():
        return None
    terms: list[Callable[[Mapping[str, str]], bool]] = []
    position = 0
    while position < len(text):
        found = _LABEL_TERM.match(text, position)
        if found is None:
            raise bad_request(f"unable to parse requirement: found {text[position:]!r}, expected: identifier")
        terms.append(_label_term(found))
        position = found.end()

    def chosen(obj: JSONObject) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(term(labels) for term in terms)

    return chosen


def _label_term(found: re.Match[str]) -> Callable[[Mapping[str, str]], bool]:
    absent, key, operator = found["absent"], found["key"], found["operator"]
    if absent is not None:
        return lambda labels: absent not in labels
    if found["set"] is not None:
        values = {value.strip() for value in found["values"].split(",")}
        if found["set"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if operator is None:
        return lambda labels: key in labels
    return _compare(key, operator, found["value"])


def _compare(key: str, operator: str, value: str) -> Callable[[Mapping[str, str]], bool]:
    if operator in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    try:
        bound = int(value)
    except ValueError:
        message = (
            f"values[0][{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
        )
        raise bad_request(message) from None

    def chosen(labels: Mapping[str, str]) -> bool:
        try:
            number = int(labels[key])
        except (KeyError, ValueError):
            return False
        return number > bound if operator == ">" else number < bound

    return chosen


def field_selector(kind: ServedKind, text: str, selectable: tuple[str, ...] = ()) -> Predicate | None:
    """The test that a ``fieldSelector`` parameter means; None when it chooses everything.

    Args:
        kind: Says which fields can be selected.
        text: The parameter.
        selectable: Further fields, as a CustomResourceDefinition names them.

    Raises:
        StatusError: 400, it cannot be parsed or names a field that this kind cannot be selected by.
    """
    if not text.strip():
        return None
    terms: list[tuple[tuple[str, ...], str, str, bool]] = []
    for field, operator, value in field_terms(text):
        known = (*_COMMON_FIELDS, *_FIELDS_OF_KIND.get((kind.group, kind.kind), ()), *selectable)
        if field not in known:
            raise _unknown_field(kind, field)
        path = tuple(_STORED_FIELD.get(field, field).split("."))
        terms.append((path, _ZERO_OF_FIELD.get(field, ""), value, operator != "!="))

    def chosen(obj: JSONObject) -> bool:
        return all((_text(obj, path, zero) == value) is wanted for path, zero, value, wanted in terms)

    return chosen


def _unknown_field(kind: ServedKind, field: str) -> StatusError:
    if kind.custom or (kind.group, kind.kind) in _FIELDS_OF_KIND:
        return bad_request(f"field label not supported: {field}")
    return bad_request(f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def field_terms(text: str) -> list[tuple[str, str, str]]:
    """Field, operator and value of each term.

    Raises:
        StatusError: 400, it cannot be parsed.
    """
    terms: list[tuple[str, str, str]] = []
    position = 0
    while position < len(text):
        found = _FIELD_TERM.match(text, position)
        if found is None:
            raise bad_request(f"invalid selector: {text!r}; can't understand {text[position:]!r}")
        value = re.sub(r"\\([\\,=])", r"\1", found["value"])
        terms.append((found["field"].strip(), found["operator"], value))
        position = found.end()
    return terms


def _text(obj: JSONObject, path: tuple[str, ...], zero: str) -> str:
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        return zero
    return str(value).lower() if isinstance(value, bool) else str(value)
