"""What registries and default admission plugins do to an object between its decoding and its storing.

On a create they fill in what is allocated (addresses, selectors, tokens, finalizers), on an update they keep what was
allocated before and what clients may not write. Nobody is noted as manager of these fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge import jsonvalue
from syncd.sandbox.default_kinds import TEMPLATE_GENERATION, take_template_labels
from syncd.sandbox.default_services import finish_service, keep_allocated
from syncd.sandbox.pod_admission import admit_pod

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind


def prepare_create(kind: ServedKind, obj: JSONObject) -> JSONObject:
    """A new object, typed and defaulted, with what the server allocates; ``obj`` is left alone."""
    finisher = _FINISHERS.get((kind.group, kind.kind))
    if finisher is None or kind.custom:
        return obj
    finished: JSONObject = jsonvalue.copy(obj)
    finisher(finished)
    return finished


def prepare_update(kind: ServedKind, new: JSONObject, old: JSONObject, subresource: str = "") -> JSONObject:
    """The next state of an object with what the server keeps of the present one; both are left alone."""
    if kind.custom or subresource:
        return new
    if (kind.group, kind.kind) == ("", "Service"):
        kept = keep_allocated(new, old)
        finish_service(kept)
        return kept
    if (kind.group, kind.kind) == ("", "Namespace"):
        return new | {"spec": old.get("spec", {})}  # finalizers change through /finalize alone
    if (kind.group, kind.kind) == ("", "Pod"):
        pod: JSONObject = jsonvalue.copy(new)
        admit_pod(pod, new=False)
        return pod
    if (kind.group, kind.kind) == ("apps", "DaemonSet"):
        return _count_template(new, old)
    return new


def _count_template(new: JSONObject, old: JSONObject) -> JSONObject:
    count = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0"))
    count += new["spec"]["template"] != old["spec"]["template"]
    annotations = new["metadata"]["annotations"] | {TEMPLATE_GENERATION: str(count)}
    return new | {"metadata": new["metadata"] | {"annotations": annotations}}


def _finish_namespace(obj: JSONObject) -> None:
    obj["spec"]["finalizers"] = sorted({*(obj["spec"].get("finalizers") or ()), "kubernetes"})


def _finish_job(obj: JSONObject) -> None:
    """Selector and template labels that tell a Job's Pods from those of others."""
    spec, metadata = obj["spec"], obj["metadata"]
    uid, name = metadata.get("uid"), metadata.get("name")
    if spec.get("manualSelector") or not (uid and name):
        return
    template = spec["template"].setdefault("metadata", {})
    own = {
        "job-name": name,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "batch.kubernetes.io/controller-uid": uid,
    }
    template["labels"] = own | (template.get("labels") or {})
    selector = spec.setdefault("selector", {})
    own_selector = {"batch.kubernetes.io/controller-uid": uid}
    selector["matchLabels"] = own_selector | (selector.get("matchLabels") or {})
    take_template_labels(obj)  # as a server does when it reads the Job back from its storage


def _finish_claim(obj: JSONObject) -> None:
    _add_finalizer(obj, "kubernetes.io/pvc-protection")


def _finish_volume(obj: JSONObject) -> None:
    obj.setdefault("status", {})["lastPhaseTransitionTime"] = obj["metadata"]["creationTimestamp"]
    _add_finalizer(obj, "kubernetes.io/pv-protection")


def _add_finalizer(obj: JSONObject, finalizer: str) -> None:
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, finalizer]


def _finish_pod(obj: JSONObject) -> None:
    admit_pod(obj, new=True)


_FINISHERS: dict[tuple[str, str], Callable[[JSONObject], None]] = {
    ("", "Namespace"): _finish_namespace,
    ("", "PersistentVolume"): _finish_volume,
    ("", "PersistentVolumeClaim"): _finish_claim,
    ("", "Pod"): _finish_pod,
    ("", "Service"): finish_service,
    ("batch", "Job"): _finish_job,
}
