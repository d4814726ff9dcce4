"""A small valid object of every built-in kind that can be patched, and why some kinds have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.contract.manifests import HOOK_RULE, MANIFESTS

if TYPE_CHECKING:
    from syncd.cluster import ApiResources
    from syncd.model import JSONObject

_POLICY_RULES = {"resourceRules": [HOOK_RULE]}

MORE: dict[str, dict[str, Any]] = {
    "endpoints": {"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]},
    "events.events.k8s.io": {
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/a",
        "reportingInstance": "a",
        "action": "a",
        "reason": "a",
        "type": "Normal",
        "regarding": {"namespace": "default", "kind": "Pod", "name": "a"},
    },
    "events": {"involvedObject": {"namespace": "default", "kind": "Pod", "name": "a"}, "reason": "a"},
    "apiservices": {
        "spec": {"group": "nowhere.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    },
    "nodes": {"spec": {"podCIDR": "10.9.0.0/24"}},
    "mutatingadmissionpolicies": {
        "spec": {
            "matchConstraints": _POLICY_RULES,
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"},
                }
            ],
        }
    },
    "mutatingadmissionpolicybindings": {"spec": {"policyName": "a"}},
    "validatingadmissionpolicies": {
        "spec": {"matchConstraints": _POLICY_RULES, "validations": [{"expression": "true"}]}
    },
    "validatingadmissionpolicybindings": {"spec": {"policyName": "a", "validationActions": ["Deny"]}},
    "customresourcedefinitions": {
        "spec": {
            "group": "parity.example.com",
            "scope": "Namespaced",
            "names": {"plural": "grapes", "kind": "Grape"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": {"colour": {"type": "string"}}}},
                        }
                    },
                }
            ],
        }
    },
    "flowschemas": {"spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 9000}},
    "prioritylevelconfigurations": {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}},
    "ipaddresses": {"spec": {"parentRef": {"group": "", "resource": "services", "namespace": "default", "name": "a"}}},
    "servicecidrs": {"spec": {"cidrs": ["10.77.0.0/24"]}},
    "deviceclasses": {"spec": {}},
    "resourceclaims": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a"}}]}}},
    "resourceclaimtemplates": {
        "spec": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a"}}]}}}
    },
    "resourceslices": {
        "spec": {
            "driver": "example.com",
            "nodeName": "a",
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "a"}],
        }
    },
    "csinodes": {"spec": {"drivers": [{"name": "example.com", "nodeID": "a"}]}},
    "csistoragecapacities": {"storageClassName": "a", "capacity": "1Gi"},
    "volumeattachments": {
        "spec": {"attacher": "example.com", "nodeName": "a", "source": {"persistentVolumeName": "a"}}
    },
    "volumeattributesclasses": {"driverName": "example.com", "parameters": {"a": "b"}},
}
"""By resource, what an object needs besides a name; the contract's table has the other kinds."""
_LEFT_OUT = {
    "/apiservice": "a service that does not answer makes discovery incomplete; the table above has one without",
    "autoscaler-v1": "the same stored object as that of autoscaling/v2",
}

WITHOUT = {
    "CertificateSigningRequest": "needs a signed request, and nothing of its spec may change afterwards",
}
"""Kinds that have no object here."""

_NAMES = {
    "apiservices": "v1.nowhere.example.com",
    "customresourcedefinitions": "grapes.parity.example.com",
    "ipaddresses": "10.77.0.9",
}
_PLACES = dict.fromkeys(("limitranges", "resourcequotas"), "kube-public")  # where they limit nothing that is tested


def objects(resources: ApiResources) -> dict[str, JSONObject]:
    """The objects, by what they are called here."""
    bodies = {name: entry for name, entry in MANIFESTS.items() if name not in _LEFT_OUT}
    bodies |= {name: (name, body) for name, body in MORE.items()}
    return {name: _object(number, *entry, resources) for number, (name, entry) in enumerate(bodies.items())}


def _object(number: int, resource: str, body: JSONObject, resources: ApiResources) -> JSONObject:
    plural, _, group = resource.partition(".")
    group = group.partition("/")[0]
    served = next(found for found in resources if found.plural == plural and group in ("", found.group))
    # Some kinds get the labels of their template if they have none of their own, and syncd's owner label is one.
    metadata: dict[str, Any] = {"name": _NAMES.get(plural, f"parity-{number}"), "labels": {"own": "yes"}}
    if served.namespaced:
        metadata["namespace"] = _PLACES.get(plural, "default")
    return {"apiVersion": served.api_version, "kind": served.kind, "metadata": metadata, **body}
