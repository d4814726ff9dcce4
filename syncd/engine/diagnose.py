"""Why an object is not ready, in the words of the cluster: its last events, and its Pods and theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from syncd.cluster.errors import ApiError
from syncd.health import Health, assess
from syncd.model import GroupKind, ObjectKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.cluster import Cluster
    from syncd.engine.deadline import Deadline
    from syncd.model import JSONObject

_POD = GroupKind("", "Pod")
_EVENT = GroupKind("", "Event")
_PODS = 2
"""Pods whose trouble is told; those of one template mostly have the same."""
_EVENTS = 3
"""Events that are told of one object."""
_OPERATORS = {"In": "{} in ({})", "NotIn": "{} notin ({})", "Exists": "{}", "DoesNotExist": "!{}"}


def diagnose(cluster: Cluster, key: ObjectKey, deadline: Deadline) -> tuple[str, ...]:
    """Ask the cluster about one object; a question that it does not answer is left out.

    Costs a list of the object's events, one of its Pods, and one of the events of each Pod that is in trouble.
    """
    if deadline.over:
        return ()
    live = cluster.live.get(key)
    try:
        lines = [*_events(cluster, key, deadline)]
        for pod, trouble in _troubled_pods(cluster, key, live.parse() if live else {}, deadline):
            lines += [f"{pod.display()}: {trouble}", *_events(cluster, pod, deadline)]
    except ApiError as error:
        lines = [f"its events could not be read: {error}"]
    return tuple(dict.fromkeys(lines))


def _events(cluster: Cluster, key: ObjectKey, deadline: Deadline) -> Iterator[str]:
    """The newest events about one object, oldest first."""
    resource = cluster.discovery.resources().find(_EVENT)
    if resource is None:
        return
    about = f"involvedObject.kind={key.kind},involvedObject.name={key.name}"
    found = list(cluster.client.list(resource, key.namespace or "default", fields=about, timeout=deadline.request))
    for event in sorted(found, key=_moment)[-_EVENTS:]:
        times = event.get("count") or (event.get("series") or {}).get("count") or 1
        again = f" ({times} times)" if times > 1 else ""
        message = " ".join(str(event.get("message", "")).split())
        head = f"{event.get('type', 'Normal')} event on {key.kind} {key.name}"
        yield f"{head}: {event.get('reason', '')}{again}: {message}"


def _moment(event: JSONObject) -> str:
    series = event.get("series") or {}
    moments = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return max((str(moment) for moment in moments if moment), default="")


def _troubled_pods(
    cluster: Cluster, key: ObjectKey, live: JSONObject, deadline: Deadline
) -> Iterator[tuple[ObjectKey, str]]:
    """The Pods that the object selects and that are not ready, each with the cause."""
    spec = live.get("spec") or {}
    selector = _selector(spec.get("selector")) if "template" in spec else ""
    resource = cluster.discovery.resources().find(_POD)
    if not selector or resource is None:
        return
    told = 0
    for pod in cluster.client.list(resource, key.namespace, selector, timeout=deadline.request):
        health = assess(pod)
        if health.health is not Health.HEALTHY and told < _PODS:
            told += 1
            yield ObjectKey(key.namespace, "", "Pod", pod["metadata"]["name"]), health.message


def _selector(selector: Any) -> str:
    """A label selector in the form that a list takes; "" when there is none."""
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:  # a ReplicationController's
        return ",".join(f"{name}={value}" for name, value in selector.items())
    parts = [f"{name}={value}" for name, value in (selector.get("matchLabels") or {}).items()]
    parts += [
        _OPERATORS[rule["operator"]].format(rule["key"], ",".join(rule.get("values") or ()))
        for rule in selector.get("matchExpressions") or ()
    ]
    return ",".join(parts)
