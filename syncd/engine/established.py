"""Waiting until a CustomResourceDefinition is established and its kinds are served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.model import JSONObject, SyncdError
from syncd.plan.guards.contents import defined_kind

if TYPE_CHECKING:
    from syncd.cluster import Cluster, Resource
    from syncd.engine.deadline import Deadline

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0


class NotEstablishedError(SyncdError):
    """The API server does not serve a CustomResourceDefinition."""

    reason = "NotEstablished"


def await_established(cluster: Cluster, resource: Resource, crd: JSONObject, deadline: Deadline) -> None:
    """Wait until the server says Established and discovery lists the kind in every served version.

    Raises:
        NotEstablishedError: The server refuses the names, or the deadline passed.
    """
    name = crd["metadata"]["name"]
    pause = _FIRST_PAUSE
    while not (_established(crd) and _served(cluster, crd)):
        if deadline.over:
            raise NotEstablishedError(f"the API server did not serve it in time: {_condition_message(crd)}")
        deadline.wait(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
        crd = cluster.client.get(resource, "", name, timeout=deadline.request)


def _established(crd: JSONObject) -> bool:
    conditions = {item["type"]: item for item in (crd.get("status") or {}).get("conditions") or ()}
    refused = conditions.get("NamesAccepted", {})
    if refused.get("status") == "False":
        raise NotEstablishedError(f"its names are not accepted: {refused.get('message', '')}")
    return bool(conditions.get("Established", {}).get("status") == "True")


def _served(cluster: Cluster, crd: JSONObject) -> bool:
    group, kind = defined_kind(crd)
    served = [version["name"] for version in crd["spec"]["versions"] if version.get("served")]
    if all(cluster.discovery.resources().find_version(group, version, kind) for version in served):
        return True
    resources = cluster.discovery.refresh()
    return all(resources.find_version(group, version, kind) for version in served)


def _condition_message(crd: JSONObject) -> str:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return "; ".join(f"{item['type']}={item['status']}" for item in conditions) or "it has no conditions yet"
