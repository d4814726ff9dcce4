"""What a cluster has before anybody has done anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import writing
from syncd.sandbox.kinds import built_in
from syncd.sandbox.pipeline import WriteOptions

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from syncd.sandbox.store import Context

_OPTIONS = WriteOptions(manager="kube-apiserver")
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_SERVICE: JSONObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "clusterIP": "10.96.0.1",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        "type": "ClusterIP",
    },
}


def fill(context: Context) -> None:
    """Create the objects of an empty cluster; nothing when they are there."""
    namespaces = built_in("", "Namespace")
    if context.storage.entries(namespaces.stored_in):
        return
    for name in _NAMESPACES:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        writing.create(context, namespaces, "", namespace, _OPTIONS)
    writing.create(context, built_in("", "Service"), "default", _SERVICE, _OPTIONS)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)):
        priority = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        writing.create(context, built_in("scheduling.k8s.io", "PriorityClass"), "", priority, _OPTIONS)
