"""What all controllers share: their protocol, and small helpers on objects."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

import orjson

from syncd.sandbox import codec
from syncd.sandbox.kinds import built_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import JSONObject, JSONValue
    from syncd.sandbox.kinds import Event, Objects, ServedKind

MANAGER = "kube-controller-manager"
KUBELET = "kubelet"
NODE_NAME = "sandbox-node-1"

POD = built_in("", "Pod")
NODE = built_in("", "Node")
SERVICE = built_in("", "Service")
NAMESPACE = built_in("", "Namespace")
CONFIG_MAP = built_in("", "ConfigMap")
CLAIM = built_in("", "PersistentVolumeClaim")
REPLICA_SET = built_in("apps", "ReplicaSet")
REVISION = built_in("apps", "ControllerRevision")

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # as apimachinery's util/rand


class Key(NamedTuple):
    """Which object a controller is to look at."""

    namespace: str
    name: str


class Controller(Protocol):
    """One loop of the controller manager."""

    def keys(self, event: Event) -> Iterable[Key]:
        """What to look at because of an event."""

    def reconcile(self, key: Key) -> float | None:
        """Bring the world one step nearer to what an object says; called again when that changes anything it watches.

        Returns:
            Seconds after which to look again; None for not before an event says so.

        Raises:
            StatusError: A write was refused; it is tried again later.
        """


def key_of(obj: JSONObject) -> Key:
    """The key of an object itself."""
    return Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def is_kind(event: Event, *kinds: ServedKind) -> bool:
    """Whether an event is about one of these kinds."""
    return any(event.kind.stored_in == kind.stored_in for kind in kinds)


def owned_or_own(event: Event, own: ServedKind, *owned: ServedKind) -> tuple[Key, ...]:
    """The key of the object itself when it is of the own kind, or of its controller when it is of an owned one."""
    if is_kind(event, own):
        return (key_of(event.object),)
    if not is_kind(event, *owned):
        return ()
    owner = controller_of(event.object)
    if owner is None or owner["kind"] != own.kind:
        return ()
    return (Key(event.object["metadata"].get("namespace", ""), owner["name"]),)


def controller_of(obj: JSONObject) -> JSONObject | None:
    """The owner reference of the controller."""
    references = obj["metadata"].get("ownerReferences") or ()
    return next((reference for reference in references if reference.get("controller")), None)


def is_controlled_by(obj: JSONObject, owner: JSONObject) -> bool:
    """Whether an object's controller is this one."""
    reference = controller_of(obj)
    return reference is not None and reference["uid"] == owner["metadata"]["uid"]


def owner_reference(owner: JSONObject) -> JSONObject:
    """The reference that makes ``owner`` the controller."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_deleting(obj: JSONObject) -> bool:
    """Whether an object is being deleted."""
    return "deletionTimestamp" in obj["metadata"]


def timestamp() -> str:
    """Now, as the API writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since(text: str) -> float:
    """How long ago a time of the API was."""
    return (datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()


def short_hash(value: JSONValue, length: int = 10) -> str:
    """A hash that may stand in a name, the same for equal values."""
    digest = hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:length])


def condition(
    obj: JSONObject, kind: str, status: str, reason: str, message: str = "", *, updates: bool = False
) -> JSONObject:
    """A condition for an object's status: its transition time stays while its status does.

    Args:
        obj: The object, with the conditions that it has.
        kind: The condition's type.
        status: ``True``, ``False`` or ``Unknown``.
        reason: CamelCase.
        message: For people.
        updates: Whether the condition also says when it was last updated, as a Deployment's does.
    """
    conditions = obj.get("status", {}).get("conditions") or ()
    old = next((item for item in conditions if item["type"] == kind), None)
    new: JSONObject = {"type": kind, "status": status, "reason": reason}
    if message:
        new["message"] = message
    now = timestamp()
    same = old is not None and old["status"] == status
    new["lastTransitionTime"] = old["lastTransitionTime"] if same and old is not None else now
    if updates:
        unchanged = old is not None and all(
            old.get(field) == new.get(field) for field in ("status", "reason", "message")
        )
        new["lastUpdateTime"] = old["lastUpdateTime"] if unchanged and old is not None else now
    return new


def update_status(
    objects: Objects, kind: ServedKind, obj: JSONObject, status: JSONObject, manager: str = MANAGER
) -> None:
    """Write an object's status unless it is that already."""
    if codec.canonical(kind, "status", status) != obj.get("status", {}):
        objects.update(kind, obj | {"status": status}, manager=manager, subresource="status")
