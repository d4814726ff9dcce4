"""What the server itself writes into ``metadata``, and its checks on names, namespaces and versions."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import orjson

from syncd.sandbox import errors, storage
from syncd.sandbox.kinds import Cause

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind

_DEPLOYMENT = ("apps", "Deployment")
_STATUS_MAY_WRITE = ("annotations", "finalizers", "labels", "managedFields")
"""What a write to the status subresource of a built-in kind may change of ``metadata``."""
_STATUS_KEEPS_METADATA = frozenset(
    {
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("networking.k8s.io", "ServiceCIDR"),
        ("resource.k8s.io", "ResourceClaim"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)
"""The kinds of which such a write may change no metadata at all."""
_SYSTEM_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # as apimachinery's util/rand: no vowels, nothing easily mistaken
_GENERATED_LENGTH = 5
_MAX_GENERATE_BASE = 63 - _GENERATED_LENGTH

_WITH_GENERATION = frozenset(
    {
        ("", "Pod"),
        ("", "PodTemplate"),
        ("", "ReplicationController"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("batch", "CronJob"),
        ("batch", "Job"),
        ("networking.k8s.io", "Ingress"),
        ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("policy", "PodDisruptionBudget"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("resource.k8s.io", "DeviceClass"),
        ("resource.k8s.io", "ResourceSlice"),
    }
)
"""The built-in kinds whose registry counts generations (``pkg/registry/*/*/strategy.go``); custom kinds all do."""

_UPDATE_NEEDS_VERSION = frozenset(
    {
        ("node.k8s.io", "RuntimeClass"),
        ("policy", "PodDisruptionBudget"),
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "VolumeAttachment"),
        ("storage.k8s.io", "CSINode"),
        ("coordination.k8s.io", "Lease"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    }
)
"""The built-in kinds that a PUT without resourceVersion is refused for; custom kinds all are."""


def counts_generations(kind: ServedKind) -> bool:
    """Whether ``metadata.generation`` is kept for this kind."""
    return kind.custom or (kind.group, kind.kind) in _WITH_GENERATION


def generated_name(prefix: str) -> str:
    """A name for ``metadata.generateName``."""
    suffix = "".join(secrets.choice(_NAME_ALPHABET) for _ in range(_GENERATED_LENGTH))
    return prefix[:_MAX_GENERATE_BASE] + suffix


def placed(kind: ServedKind, obj: JSONObject, namespace: str, name: str = "") -> JSONObject:
    """The object with the namespace and name that the path says.

    Raises:
        StatusError: 400, the object says something else.
    """
    metadata = dict(obj.get("metadata") or {})
    own = metadata.get("namespace", "")
    if kind.namespaced and own and own != namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if kind.namespaced:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    if name:
        own = metadata.get("name", "")
        if not own:
            raise errors.bad_request(
                f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )
        if own != name:
            raise errors.bad_request(f"the name of the object ({own}) does not match the name on the URL ({name})")
    return obj | {"metadata": metadata}


def for_create(kind: ServedKind, obj: JSONObject, *, uid: str, now: str) -> JSONObject:
    """A new object with what the server writes; status is dropped where it has its own subresource."""
    metadata = dict(obj["metadata"])
    generation = metadata.get("generation")
    for field in (*_SYSTEM_FIELDS, "resourceVersion", "selfLink"):
        metadata.pop(field, None)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generated_name(metadata["generateName"])
    metadata |= {"uid": uid, "creationTimestamp": now}
    if counts_generations(kind):
        metadata["generation"] = 1
    elif generation:
        metadata["generation"] = generation  # where the registry does not care, it stays as it was sent
    created = obj | {"metadata": metadata}
    if "status" in kind.subresources:
        created.pop("status", None)
    return created


def for_update(kind: ServedKind, new: JSONObject, old: JSONObject, subresource: str = "") -> JSONObject:
    """A replacement with what the server keeps of the old state: its own fields, and what the subresource leaves."""
    metadata = dict(new["metadata"])
    kept = old["metadata"]
    if subresource == "status" and not kind.custom:
        may_write = ("managedFields",) if (kind.group, kind.kind) in _STATUS_KEEPS_METADATA else _STATUS_MAY_WRITE
        written = {field: metadata[field] for field in may_write if field in metadata}
        kept = {field: value for field, value in kept.items() if field not in may_write}
        if (kind.group, kind.kind) == _DEPLOYMENT:
            written = written | {"labels": old["metadata"].get("labels")}
        own = {field: value for field, value in (kept | written).items() if value is not None}
        return _with(old | {"metadata": own}, "status", new)
    if subresource == "status":  # a custom resource's status keeps managedFields apart, and nothing else of metadata
        managed = {k: v for k, v in metadata.items() if k == "managedFields"}
        return _with(old | {"metadata": kept | managed}, "status", new)
    for field in (*_SYSTEM_FIELDS, "resourceVersion"):
        metadata.pop(field, None)
        if field in kept:
            metadata[field] = kept[field]
    metadata.pop("selfLink", None)
    updated = new | {"metadata": metadata}
    if "status" in kind.subresources:
        updated = _with(updated, "status", old)
    return updated


def _with(obj: JSONObject, field: str, source: JSONObject) -> JSONObject:
    """The object with one field as another object has it."""
    if field in source:
        return obj | {field: source[field]}
    return {name: value for name, value in obj.items() if name != field}


def with_generation(kind: ServedKind, new: JSONObject, old: JSONObject) -> JSONObject:
    """Count the generation on when anything but metadata (and a status of its own subresource) differs."""
    if not counts_generations(kind):
        return new
    ignored = {"metadata", "status", "apiVersion"} if "status" in kind.subresources else {"metadata", "apiVersion"}
    same_annotations = new["metadata"].get("annotations") == old["metadata"].get("annotations")
    if (kind.group, kind.kind) == _DEPLOYMENT and not same_annotations:
        pass  # its registry counts changes of annotations too
    elif all(new.get(field) == old.get(field) for field in (new.keys() | old.keys()) - ignored):
        return new
    return new | {"metadata": new["metadata"] | {"generation": old["metadata"].get("generation", 0) + 1}}


def check_preconditions(kind: ServedKind, new: JSONObject, old: JSONObject, *, patched: bool = False) -> None:
    """Refuse a replacement that was made for another object, or for another state of it.

    Raises:
        StatusError: 409, uid or resourceVersion differ; 422, a kind that needs a resourceVersion got none.
    """
    metadata, name = new["metadata"], old["metadata"]["name"]
    uid, own_uid = metadata.get("uid", ""), old["metadata"]["uid"]
    if uid and uid != own_uid and patched:
        message = f'Invalid value: "{uid}": field is immutable'
        raise errors.invalid(kind, name, [Cause("metadata.uid", "FieldValueInvalid", message)])
    if uid and uid != own_uid:
        why = (
            f"StorageError: invalid object, Code: 4, Key: /registry/{kind.plural}/{storage.key_of(old).lstrip('/')}, "
            "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            f"UID in precondition: {uid}, UID in object meta: {own_uid}"
        )
        raise errors.conflict(kind.group_resource, name, why)
    version = metadata.get("resourceVersion", "")
    if version in ("", "0"):
        if kind.custom or (kind.group, kind.kind) in _UPDATE_NEEDS_VERSION:
            message = f"Invalid value: {version or '0'}: must be specified for an update"
            by_plural = kind._replace(kind=kind.plural)  # the real server names the resource here, not the kind
            raise errors.invalid(by_plural, name, [Cause("metadata.resourceVersion", "FieldValueInvalid", message)])
    elif not version.isdecimal():
        raise errors.bad_version(version)
    elif version != old["metadata"]["resourceVersion"]:
        raise errors.conflict(kind.group_resource, name)


def same(new: JSONObject, old: JSONObject) -> bool:
    """Whether two states are equal but for the times in managedFields: then nothing is written.

    Numbers and booleans are told apart, which ``==`` does not do.
    """
    plain_new, plain_old = _without_times(new), _without_times(old)
    if plain_new != plain_old:
        return False
    return orjson.dumps(plain_new, option=orjson.OPT_SORT_KEYS) == orjson.dumps(plain_old, option=orjson.OPT_SORT_KEYS)


def _without_times(obj: JSONObject) -> JSONObject:
    metadata = obj["metadata"]
    managed = [
        {field: value for field, value in entry.items() if field != "time"}
        for entry in metadata.get("managedFields", ())
    ]
    return obj | {"metadata": metadata | {"managedFields": managed}}
