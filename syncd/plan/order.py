"""Who waits for whom: a graph over the actions of one plan.

An object waits only for what it depends on. *Hard* edges (a Namespace and its members, a CustomResourceDefinition and
its instances, ``config.kubernetes.io/depends-on``) want success: if that fails, the object is not attempted. What
``depends-on`` names must be healthy besides, else the object waits for a later reconcile. *Soft* edges (what an object
names, what should be in force before a Pod starts) want only an end, since Kubernetes itself puts up with the other
order. Pruning walks the same edges backwards.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Final

from syncd.model import Action, ActionType, ObjectKey
from syncd.plan.annotations import annotation
from syncd.plan.guards.contents import CRD, NAMESPACE, defined_kind
from syncd.plan.references import references

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from syncd.model import GroupKind, JSONObject

DEPENDS_ON: Final = "config.kubernetes.io/depends-on"
_BEFORE_PODS: Final = frozenset({"LimitRange", "NetworkPolicy", "ResourceQuota"})
_RUN_PODS: Final = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "ReplicationController", "StatefulSet"}
)
_WEBHOOKS: Final = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})


@dataclass(frozen=True, slots=True)
class Graph:
    """What has to end, or succeed, before each object.

    Attributes:
        hard: For an object, those that must have succeeded.
        soft: For an object, those that must have ended.
        healthy: For an object, those that its ``depends-on`` names: they must be healthy, whether or not they have
            an action.
        broken: Objects whose ``depends-on`` cannot be followed, with the reason.
    """

    hard: Mapping[ObjectKey, frozenset[ObjectKey]]
    soft: Mapping[ObjectKey, frozenset[ObjectKey]]
    broken: Mapping[ObjectKey, str] = field(default_factory=dict)
    healthy: Mapping[ObjectKey, frozenset[ObjectKey]] = field(default_factory=dict)

    def reversed(self) -> Graph:
        """The graph for pruning: what others depend on goes after them, and nothing waits for a success."""
        after: dict[ObjectKey, set[ObjectKey]] = defaultdict(set)
        for edges in (self.hard, self.soft):
            for key, earlier in edges.items():
                for other in earlier:
                    after[other].add(key)
        return Graph({}, {key: frozenset(later) for key, later in after.items()})


def build_graph(actions: Iterable[Action], known: Collection[ObjectKey]) -> Graph:
    """The graph over actions of one direction: all applied, or all pruned.

    Args:
        actions: Those that write.
        known: Every object of the Sync, so that a ``depends-on`` that names none of them can be told from one whose
            object needs nothing done.
    """
    documents = {action.key: _document(action) for action in actions}
    index = _Index(documents)
    hard: dict[ObjectKey, frozenset[ObjectKey]] = {}
    soft: dict[ObjectKey, frozenset[ObjectKey]] = {}
    broken: dict[ObjectKey, str] = {}
    healthy: dict[ObjectKey, frozenset[ObjectKey]] = {}
    for key, document in documents.items():
        explicit, problem = _depends_on(document, known)
        if problem:
            broken[key] = problem
        if explicit:
            healthy[key] = explicit
        hard[key] = frozenset((*index.containers(key), *(explicit & documents.keys()))) - {key}
        soft[key] = frozenset(index.earlier(key, document)) - {key} - hard[key]
    broken.update(_cycles(hard))
    return Graph(hard, _without_cycles(hard, soft), broken, healthy)


def parse_depends_on(text: str) -> frozenset[ObjectKey]:
    """Read ``group/namespaces/namespace/kind/name`` and ``group/kind/name`` references, separated by commas.

    The format is that of cli-utils (``pkg/object/dependson``). The core group is the empty string.

    Raises:
        ValueError: A reference has another shape.
    """
    keys = set()
    for reference in text.split(","):
        parts = reference.strip().split("/")
        if len(parts) == 5 and parts[1] == "namespaces" and all(parts[2:]):
            keys.add(ObjectKey(parts[2], parts[0], parts[3], parts[4]))
        elif len(parts) == 3 and all(parts[1:]):
            keys.add(ObjectKey("", *parts))
        else:
            raise ValueError(f"{DEPENDS_ON}: {reference.strip()!r} is not group/[namespaces/namespace/]kind/name")
    return frozenset(keys)


class _Index:
    """The objects of one graph by the ways in which others look for them."""

    def __init__(self, documents: Mapping[ObjectKey, JSONObject]) -> None:
        self._keys = documents.keys()
        self._crds: dict[GroupKind, ObjectKey] = {}
        self._before_pods: dict[str, list[ObjectKey]] = defaultdict(list)
        self._bindings: dict[ObjectKey, list[ObjectKey]] = defaultdict(list)
        for key, document in documents.items():
            if key.group_kind == CRD:
                self._crds[defined_kind(document)] = key
            elif key.kind in _BEFORE_PODS:
                self._before_pods[key.namespace].append(key)
            elif key.kind in ("RoleBinding", "ClusterRoleBinding"):
                for named in references(document, key.namespace):
                    if named.kind == "ServiceAccount":
                        self._bindings[named].append(key)

    def containers(self, key: ObjectKey) -> Iterator[ObjectKey]:
        """Without these the object cannot be."""
        namespace = ObjectKey("", NAMESPACE.group, NAMESPACE.kind, key.namespace)
        if key.namespace and namespace in self._keys:
            yield namespace
        if key.group_kind in self._crds:
            yield self._crds[key.group_kind]

    def earlier(self, key: ObjectKey, document: JSONObject) -> Iterator[ObjectKey]:
        """Before these the object should not be."""
        named = list(references(document, key.namespace))
        yield from (other for other in named if other in self._keys)
        if key.kind in _RUN_PODS:
            yield from self._before_pods.get(key.namespace, ())
            for other in named:
                yield from self._bindings.get(other, ())
        if key.kind in _WEBHOOKS:
            yield from (other for other in self._keys if other.kind not in _WEBHOOKS)


def _document(action: Action) -> JSONObject:
    if action.manifest is not None and action.type is not ActionType.PRUNE:
        return action.manifest.body
    return action.live or {"metadata": {}}


def _depends_on(document: JSONObject, known: Collection[ObjectKey]) -> tuple[frozenset[ObjectKey], str]:
    text = annotation(document, DEPENDS_ON)
    if not text:
        return frozenset(), ""
    try:
        keys = parse_depends_on(text)
    except ValueError as error:
        return frozenset(), str(error)
    missing = sorted(keys - set(known))
    if missing:
        return keys, f"{DEPENDS_ON} names {missing[0].display()}, which is not part of this Sync"
    return keys, ""


def _cycles(edges: Mapping[ObjectKey, frozenset[ObjectKey]]) -> dict[ObjectKey, str]:
    """Every object on a cycle, with the cycle in words."""
    found: dict[ObjectKey, str] = {}
    remaining = dict(edges)
    while True:
        try:
            TopologicalSorter(remaining).prepare()
        except CycleError as error:
            cycle: list[ObjectKey] = error.args[1]
            words = " -> ".join(key.display() for key in reversed(cycle))
            found.update(dict.fromkeys(cycle, f"{DEPENDS_ON} goes in a circle: {words}"))
            remaining = {key: earlier for key, earlier in remaining.items() if key not in found}
        else:
            return found


def _without_cycles(
    hard: Mapping[ObjectKey, frozenset[ObjectKey]], soft: Mapping[ObjectKey, frozenset[ObjectKey]]
) -> dict[ObjectKey, frozenset[ObjectKey]]:
    """Drop the soft edges of any object that is on a cycle once they are added: a wish must not block a need."""
    joined = {key: hard[key] | soft[key] for key in hard}
    circular = _cycles(joined)
    return {key: frozenset() if key in circular else earlier for key, earlier in soft.items()}
