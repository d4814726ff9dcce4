"""The ``scale`` subresource: an object seen as a number of replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from syncd.sandbox import errors, store
from syncd.sandbox.kinds import Cause, ServedKind

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from syncd.sandbox.store import Context

KIND = ServedKind("autoscaling", "v1", "Scale", "scales", "scale")


class Paths(NamedTuple):
    """Where an object has what a Scale shows; each a chain of field names."""

    replicas: tuple[str, ...] = ("spec", "replicas")
    status: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")


def paths(context: Context, kind: ServedKind) -> Paths:
    """The paths of a kind: a CustomResourceDefinition names its own."""
    declared = store.custom_version(context, kind).get("subresources", {}).get("scale")
    if not declared:
        return Paths()

    def chain(field: str) -> tuple[str, ...]:
        return tuple(declared.get(field, "").strip(".").split("."))

    return Paths(chain("specReplicasPath"), chain("statusReplicasPath"), chain("labelSelectorPath"))


def of(obj: JSONObject, at: Paths) -> JSONObject:
    """The Scale of an object."""
    fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    metadata = {field: obj["metadata"][field] for field in fields if field in obj["metadata"]}
    replicas = _get(obj, at.replicas)
    status: JSONObject = {"replicas": _get(obj, at.status) or 0}
    selector = _get(obj, at.selector)
    if selector:
        status["selector"] = selector if isinstance(selector, str) else selector_text(selector)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def check(obj: JSONObject, at: Paths) -> None:
    """Refuse to show a Scale of an object that does not say how many replicas it wants.

    Raises:
        StatusError: 500, as the real server has it.
    """
    if _get(obj, at.replicas) is None:
        raise errors.internal(f'the spec replicas field ".{".".join(at.replicas)}" does not exist')


def scaled(obj: JSONObject, scale: JSONObject, at: Paths) -> JSONObject:
    """The object with the number of replicas that a Scale asks for.

    Raises:
        StatusError: 422, the number is negative.
    """
    replicas = scale.get("spec", {}).get("replicas", 0)
    name = obj["metadata"]["name"]
    if not isinstance(replicas, int) or replicas < 0:
        message = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise errors.invalid(KIND, name, [Cause("spec.replicas", "FieldValueInvalid", message)])
    version = scale.get("metadata", {}).get("resourceVersion", obj["metadata"]["resourceVersion"])
    changed = _set(obj, at.replicas, replicas)
    return changed | {"metadata": changed["metadata"] | {"resourceVersion": version}}


def _get(obj: JSONObject, path: tuple[str, ...]) -> Any:
    value: Any = obj
    for field in path:
        value = value.get(field) if isinstance(value, dict) else None
    return value


def _set(obj: JSONObject, path: tuple[str, ...], value: Any) -> JSONObject:
    field, rest = path[0], path[1:]
    return obj | {field: _set(obj.get(field) or {}, rest, value) if rest else value}


def selector_text(selector: JSONObject) -> str:
    """A label selector as text; a ReplicationController's is a plain map."""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or ():
        key, values = expression["key"], ",".join(sorted(expression.get("values") or ()))
        terms.append(
            {
                "In": f"{key} in ({values})",
                "NotIn": f"{key} notin ({values})",
                "Exists": key,
                "DoesNotExist": f"!{key}",
            }[expression["operator"]]
        )
    return ",".join(terms)
