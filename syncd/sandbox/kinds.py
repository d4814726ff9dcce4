"""The kinds that the sandbox serves, and the values that its parts hand to each other.

The built-in table is that of Kubernetes 1.36 (its own ``api/discovery`` documents): every kind of a stable API version
that clients of a sync daemon meet. Custom kinds join it at run time, through :mod:`syncd.sandbox.crd`.

A write passes through functions on JSON objects, none of which changes its arguments (:mod:`syncd.sandbox.pipeline`):
decoded, defaulted, its managers noted, completed, validated, stored. What a client of the real server would get as an
error Status is raised as :class:`syncd.sandbox.errors.StatusError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from syncd.model import JSONObject

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class GroupResource(NamedTuple):
    """Where objects are stored: a group and a plural, whatever version they are read in."""

    group: str
    resource: str

    def __str__(self) -> str:
        """The form that error messages have: ``deployments.apps``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


class ServedKind(NamedTuple):
    """One kind in one version, as discovery describes it."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    verbs: tuple[str, ...] = ALL_VERBS
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    """Of ``status`` and ``scale`` and the few others that are served."""
    custom: bool = False
    """Whether a CustomResourceDefinition brought it."""
    storage_group: str = ""
    storage_version: str = ""
    """The group and version that its objects are stored in, where that is another one."""

    @property
    def api_version(self) -> str:
        """``group/version``, or the version alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> GroupResource:
        """Group and plural, as error messages and metrics name the kind."""
        return GroupResource(self.group, self.plural)

    @property
    def stored_in(self) -> GroupResource:
        """Where its objects are stored."""
        if self.storage_version:
            return GroupResource(self.storage_group, self.plural)
        return GroupResource(self.group, self.plural)

    @property
    def stored_api_version(self) -> str:
        """The ``apiVersion`` that its objects are stored with."""
        if not self.storage_version:
            return self.api_version
        return f"{self.storage_group}/{self.storage_version}" if self.storage_group else self.storage_version


class Cause(NamedTuple):
    """One thing that is wrong with an object, as it stands in ``details.causes`` of a 422."""

    field: str
    """The path as the real server writes it: ``spec.template.spec.containers[0].image``."""
    reason: str
    """``FieldValueInvalid``, ``FieldValueRequired``, ``FieldValueForbidden``, ``FieldValueNotSupported``, ..."""
    message: str
    """The whole text without the field: ``Invalid value: "x": must be ...`` or ``Required value``."""


class ManagedBy(NamedTuple):
    """Who writes, how and when: what an entry of ``metadata.managedFields`` is made of."""

    manager: str
    operation: str
    """``Apply`` or ``Update``."""
    api_version: str
    time: str
    """RFC 3339 in UTC with seconds."""
    subresource: str = ""


class Event(NamedTuple):
    """One change of one object, in the order in which the changes were made."""

    type: str
    """``ADDED``, ``MODIFIED`` or ``DELETED``."""
    kind: ServedKind
    """The kind in the version that its objects are stored in."""
    object: JSONObject
    """The object after the change; for a deletion, its last state. Never to be changed in place."""
    previous: JSONObject | None = None
    """The object before the change."""


class Events(Protocol):
    """A watch in a thread: first an ADDED for every object that is there, then every change."""

    def next(self, timeout: float | None = None) -> Event | None:
        """Wait for the next event; None when ``timeout`` seconds pass, or after :meth:`close`."""

    def close(self) -> None:
        """End the watch, and wake who waits in :meth:`next`. Thread-safe."""


class Objects(Protocol):
    """What controllers do with the store. Thread-safe; writes run the whole pipeline as the named manager.

    Objects are in the version that they are stored in; those handed out are never to be changed in place. Every method
    but :meth:`watch` raises :class:`syncd.sandbox.errors.StatusError` where a request would be refused.
    """

    def kinds(self) -> tuple[ServedKind, ...]:
        """Every kind served now, custom ones included, in the version that its objects are stored in."""

    def find(self, kind: ServedKind, namespace: str, name: str) -> JSONObject | None:
        """One object; None when it is not there."""

    def list(self, kind: ServedKind, namespace: str = "", selector: str = "") -> list[JSONObject]:
        """All objects of a kind, in one namespace or all, that a label selector chooses."""

    def create(self, kind: ServedKind, obj: JSONObject, *, manager: str) -> JSONObject:
        """Create an object; its namespace and name (or generateName) are in its metadata."""

    def update(self, kind: ServedKind, obj: JSONObject, *, manager: str, subresource: str = "") -> JSONObject:
        """Replace an object, or only its ``status``; a conflict when its ``resourceVersion`` is given and old."""

    def delete(
        self, kind: ServedKind, namespace: str, name: str, *, uid: str = "", propagation: str = "Background"
    ) -> None:
        """Delete an object, if it has this uid."""

    def watch(self, *kinds: ServedKind) -> Events:
        """Follow these kinds; without any, every kind, those that come later included."""


def _kind(api_version: str, names: str, *, short: str = "", scope: str = "Namespaced", **more: str) -> ServedKind:
    """One row of the table; ``names`` are kind, plural and singular, lists are separated by blanks."""
    group, _, version = api_version.rpartition("/")
    kind, plural, singular = names.split()
    storage_group, _, storage_version = more.get("stored", "").rpartition("/")
    return ServedKind(
        group,
        version,
        kind,
        plural,
        singular,
        tuple(short.split()),
        scope == "Namespaced",
        tuple(more["verbs"].split()) if "verbs" in more else ALL_VERBS,
        tuple(more.get("categories", "").split()),
        tuple(more.get("sub", "").split()),
        storage_group=storage_group,
        storage_version=storage_version,
    )


_CLUSTER = "Cluster"
_ADMISSION = "admissionregistration.k8s.io/v1"
_AUTHORIZATION = "authorization.k8s.io/v1"
_FLOW = "flowcontrol.apiserver.k8s.io/v1"
_RBAC = "rbac.authorization.k8s.io/v1"
_NAMESPACE_VERBS = "create delete get list patch update watch"

BUILT_IN: tuple[ServedKind, ...] = (
    _kind("v1", "ConfigMap configmaps configmap", short="cm"),
    _kind("v1", "Endpoints endpoints endpoints", short="ep"),
    _kind("v1", "Event events event", short="ev"),
    _kind("v1", "LimitRange limitranges limitrange", short="limits"),
    _kind(
        "v1",
        "Namespace namespaces namespace",
        short="ns",
        scope=_CLUSTER,
        verbs=_NAMESPACE_VERBS,
        sub="finalize status",
    ),
    _kind("v1", "Node nodes node", short="no", scope=_CLUSTER, sub="status"),
    _kind("v1", "PersistentVolumeClaim persistentvolumeclaims persistentvolumeclaim", short="pvc", sub="status"),
    _kind("v1", "PersistentVolume persistentvolumes persistentvolume", short="pv", scope=_CLUSTER, sub="status"),
    _kind("v1", "Pod pods pod", short="po", categories="all", sub="eviction status"),
    _kind("v1", "PodTemplate podtemplates podtemplate"),
    _kind(
        "v1",
        "ReplicationController replicationcontrollers replicationcontroller",
        short="rc",
        categories="all",
        sub="scale status",
    ),
    _kind("v1", "ResourceQuota resourcequotas resourcequota", short="quota", sub="status"),
    _kind("v1", "Secret secrets secret"),
    _kind("v1", "ServiceAccount serviceaccounts serviceaccount", short="sa", sub="token"),
    _kind("v1", "Service services service", short="svc", categories="all", sub="status"),
    _kind("apps/v1", "ControllerRevision controllerrevisions controllerrevision"),
    _kind("apps/v1", "DaemonSet daemonsets daemonset", short="ds", categories="all", sub="status"),
    _kind("apps/v1", "Deployment deployments deployment", short="deploy", categories="all", sub="scale status"),
    _kind("apps/v1", "ReplicaSet replicasets replicaset", short="rs", categories="all", sub="scale status"),
    _kind("apps/v1", "StatefulSet statefulsets statefulset", short="sts", categories="all", sub="scale status"),
    _kind("batch/v1", "CronJob cronjobs cronjob", short="cj", categories="all", sub="status"),
    _kind("batch/v1", "Job jobs job", categories="all", sub="status"),
    _kind(
        "autoscaling/v2",
        "HorizontalPodAutoscaler horizontalpodautoscalers horizontalpodautoscaler",
        short="hpa",
        categories="all",
        sub="status",
    ),
    _kind(
        "autoscaling/v1",
        "HorizontalPodAutoscaler horizontalpodautoscalers horizontalpodautoscaler",
        short="hpa",
        categories="all",
        sub="status",
        stored="autoscaling/v2",
    ),
    _kind("networking.k8s.io/v1", "IngressClass ingressclasses ingressclass", scope=_CLUSTER),
    _kind("networking.k8s.io/v1", "Ingress ingresses ingress", short="ing", sub="status"),
    _kind("networking.k8s.io/v1", "IPAddress ipaddresses ipaddress", short="ip", scope=_CLUSTER),
    _kind("networking.k8s.io/v1", "NetworkPolicy networkpolicies networkpolicy", short="netpol"),
    _kind("networking.k8s.io/v1", "ServiceCIDR servicecidrs servicecidr", scope=_CLUSTER, sub="status"),
    _kind("policy/v1", "PodDisruptionBudget poddisruptionbudgets poddisruptionbudget", short="pdb", sub="status"),
    _kind(_RBAC, "ClusterRoleBinding clusterrolebindings clusterrolebinding", scope=_CLUSTER),
    _kind(_RBAC, "ClusterRole clusterroles clusterrole", scope=_CLUSTER),
    _kind(_RBAC, "RoleBinding rolebindings rolebinding"),
    _kind(_RBAC, "Role roles role"),
    _kind("storage.k8s.io/v1", "CSIDriver csidrivers csidriver", scope=_CLUSTER),
    _kind("storage.k8s.io/v1", "CSINode csinodes csinode", scope=_CLUSTER),
    _kind("storage.k8s.io/v1", "CSIStorageCapacity csistoragecapacities csistoragecapacity"),
    _kind("storage.k8s.io/v1", "StorageClass storageclasses storageclass", short="sc", scope=_CLUSTER),
    _kind("storage.k8s.io/v1", "VolumeAttachment volumeattachments volumeattachment", scope=_CLUSTER, sub="status"),
    _kind(
        "storage.k8s.io/v1",
        "VolumeAttributesClass volumeattributesclasses volumeattributesclass",
        short="vac",
        scope=_CLUSTER,
    ),
    _kind("scheduling.k8s.io/v1", "PriorityClass priorityclasses priorityclass", short="pc", scope=_CLUSTER),
    _kind("coordination.k8s.io/v1", "Lease leases lease"),
    _kind("discovery.k8s.io/v1", "EndpointSlice endpointslices endpointslice"),
    _kind("events.k8s.io/v1", "Event events event", short="ev", stored="v1"),
    _kind(
        _ADMISSION,
        "MutatingAdmissionPolicy mutatingadmissionpolicies mutatingadmissionpolicy",
        scope=_CLUSTER,
        categories="api-extensions",
    ),
    _kind(
        _ADMISSION,
        "MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings mutatingadmissionpolicybinding",
        scope=_CLUSTER,
        categories="api-extensions",
    ),
    _kind(
        _ADMISSION,
        "MutatingWebhookConfiguration mutatingwebhookconfigurations mutatingwebhookconfiguration",
        scope=_CLUSTER,
        categories="api-extensions",
    ),
    _kind(
        _ADMISSION,
        "ValidatingAdmissionPolicy validatingadmissionpolicies validatingadmissionpolicy",
        scope=_CLUSTER,
        categories="api-extensions",
        sub="status",
    ),
    _kind(
        _ADMISSION,
        "ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings validatingadmissionpolicybinding",
        scope=_CLUSTER,
        categories="api-extensions",
    ),
    _kind(
        _ADMISSION,
        "ValidatingWebhookConfiguration validatingwebhookconfigurations validatingwebhookconfiguration",
        scope=_CLUSTER,
        categories="api-extensions",
    ),
    _kind(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition customresourcedefinitions customresourcedefinition",
        short="crd crds",
        scope=_CLUSTER,
        categories="api-extensions",
        sub="status",
    ),
    _kind(
        "apiregistration.k8s.io/v1",
        "APIService apiservices apiservice",
        scope=_CLUSTER,
        categories="api-extensions",
        sub="status",
    ),
    _kind("node.k8s.io/v1", "RuntimeClass runtimeclasses runtimeclass", scope=_CLUSTER),
    _kind(
        "certificates.k8s.io/v1",
        "CertificateSigningRequest certificatesigningrequests certificatesigningrequest",
        short="csr",
        scope=_CLUSTER,
        sub="approval status",
    ),
    _kind(_FLOW, "FlowSchema flowschemas flowschema", scope=_CLUSTER, sub="status"),
    _kind(
        _FLOW,
        "PriorityLevelConfiguration prioritylevelconfigurations prioritylevelconfiguration",
        scope=_CLUSTER,
        sub="status",
    ),
    _kind("resource.k8s.io/v1", "DeviceClass deviceclasses deviceclass", scope=_CLUSTER),
    _kind("resource.k8s.io/v1", "ResourceClaim resourceclaims resourceclaim", sub="status"),
    _kind("resource.k8s.io/v1", "ResourceClaimTemplate resourceclaimtemplates resourceclaimtemplate"),
    _kind("resource.k8s.io/v1", "ResourceSlice resourceslices resourceslice", scope=_CLUSTER),
    _kind(
        _AUTHORIZATION, "LocalSubjectAccessReview localsubjectaccessreviews localsubjectaccessreview", verbs="create"
    ),
    _kind(
        _AUTHORIZATION,
        "SelfSubjectAccessReview selfsubjectaccessreviews selfsubjectaccessreview",
        scope=_CLUSTER,
        verbs="create",
    ),
    _kind(
        _AUTHORIZATION,
        "SelfSubjectRulesReview selfsubjectrulesreviews selfsubjectrulesreview",
        scope=_CLUSTER,
        verbs="create",
    ),
    _kind(
        _AUTHORIZATION, "SubjectAccessReview subjectaccessreviews subjectaccessreview", scope=_CLUSTER, verbs="create"
    ),
    _kind(
        "authentication.k8s.io/v1",
        "SelfSubjectReview selfsubjectreviews selfsubjectreview",
        scope=_CLUSTER,
        verbs="create",
    ),
    _kind("authentication.k8s.io/v1", "TokenReview tokenreviews tokenreview", scope=_CLUSTER, verbs="create"),
)
"""Kinds that are always served; within a group, the preferred version first."""


def built_in(group: str, kind: str) -> ServedKind:
    """The preferred version of a built-in kind.

    Raises:
        KeyError: There is none.
    """
    return _PREFERRED[group, kind]


_PREFERRED = {(kind.group, kind.kind): kind for kind in reversed(BUILT_IN)}
