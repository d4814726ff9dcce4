"""Two API servers of the same make, one for syncd and one for kubectl, and what is the same of their objects."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import orjson

from syncd.engine.memory import Memory
from syncd.merge.diff import changes
from syncd.model import ActionType, ObjectKey
from syncd.render.objects import key_of
from tests.support.daemon import eventually
from tests.support.instance import Git, Instance, sync
from tests.support.kubectl import Kubectl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from syncd.cluster import ApiResources
    from syncd.model import JSONObject
    from tests.controlplane.server import ControlPlane

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OWNER_MARKS = ("kubectl.kubernetes.io/apply-owner", "kubectl.kubernetes.io/apply-id", "syncd.dev/sync")
_OWN_TO_EACH = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
_CHOSEN_BY_THE_SERVER = re.compile(rb'"(clusterIP|nodePort|healthCheckNodePort)":("10\.[0-9.]+"|[0-9]+)')


_WORDS = ("-f", "-", "-o", "name", "--validate=warn")
"""What kubectl finds to be invalid by itself would keep it from applying anything else, so that the server judges."""
_FIRST = ("Namespace", "CustomResourceDefinition")


class Rejected(NamedTuple):
    """What one round of applying could not do, by kind, group and name."""

    objects: frozenset[str]
    words: str

    def about(self, name: str) -> str:
        """The lines that name an object."""
        return "\n".join(line for line in self.words.splitlines() if name.rpartition("/")[2] in line)


class Side(Protocol):
    """One server and who applies to it."""

    control_plane: ControlPlane


class KubectlSide:
    """``kubectl apply``."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self._kubectl = Kubectl(control_plane.kubeconfig)
        self._pool = ThreadPoolExecutor(2)

    def close(self) -> None:
        """End what runs beside."""
        self._pool.shutdown()

    def apply(self, objects: Iterable[JSONObject], large: Iterable[JSONObject] = ()) -> Rejected:
        """Apply everything; what is refused stops nothing else.

        Namespaces and definitions go first, as a person would do it; and so do large objects, which have no room for
        their last-applied annotation and are applied on the server. Of the rest custom resources go beside all others:
        kubectl reads large schemas for them first.
        """
        first: list[JSONObject] = []
        rest: list[JSONObject] = []
        for item in objects:
            (first if item["kind"] in _FIRST else rest).append(item)
        large = list(large)
        done = [self._apply(large, "--server-side"), self._apply(first)]
        self._await_established([*first, *large])
        done += self._pool.map(
            self._apply, ([item for item in rest if _is_custom(item) is kind] for kind in (True, False))
        )
        return Rejected(frozenset().union(*(one.objects for one in done)), "".join(one.words for one in done))

    def _apply(self, batch: list[JSONObject], *how: str) -> Rejected:
        if not batch:
            return Rejected(frozenset(), "")
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": batch})
        done = self._kubectl.try_run("apply", *how, *_WORDS, stdin=listed)
        return Rejected(frozenset({_spelled(item) for item in batch} - set(done.stdout.split())), done.stderr)

    def _await_established(self, objects: Iterable[JSONObject]) -> None:
        names = [item["metadata"]["name"] for item in objects if item["kind"] == "CustomResourceDefinition"]
        eventually("the definitions are served", lambda: all(map(self._is_established, names)))

    def _is_established(self, name: str) -> bool:
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        status = (self.control_plane.api.find(path) or {}).get("status", {})
        return any(
            condition["type"] == "Established" and condition["status"] == "True"
            for condition in status.get("conditions") or ()
        )


def _is_custom(item: JSONObject) -> bool:
    group = item["apiVersion"].rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


class SyncdSide:
    """A Sync, one life of syncd for all rounds."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self._git = Git()
        self._instance = Instance(control_plane.kubeconfig, self._git, width=8)
        self._sync = sync("parity", prune={"enabled": False})
        self.patches = 0

    def close(self) -> None:
        """End the life."""
        self._instance.__exit__(None, None, None)

    def apply(self, objects: Iterable[JSONObject]) -> Rejected:
        """Apply everything; what is refused stops nothing else.

        Each patch is sent as a dry run first: what the server then refuses is refused.
        """
        self._git.commit("parity", objects)
        refused = self._rehearse()
        result = self._instance.reconcile(self._sync)
        failed = {_named(outcome.action.key) for outcome in result.failures}
        assert refused == failed & refused, "a patch that is refused as a dry run is refused"
        return Rejected(frozenset(failed), "\n".join(outcome.message for outcome in result.failures))

    def resources(self) -> ApiResources:
        """What the server serves."""
        return self._instance.cluster.discovery.refresh()

    def path(self, item: JSONObject, *, name: bool = True) -> str:
        """Where an object is, or its collection."""
        key = key_of(item)
        version = item["apiVersion"].rpartition("/")[2]
        resource = self._instance.cluster.discovery.resources().find_version(key.group, version, key.kind)
        resource = resource or self._instance.cluster.discovery.refresh().find_version(key.group, version, key.kind)
        assert resource is not None, f"{item['apiVersion']} {item['kind']} is not served"
        return resource.path(key.namespace or "default", key.name if name else "")

    def pending(self) -> dict[str, Any]:
        """What another reconcile would change, with the fields."""
        plan = self._plan()
        return {_named(action.key): action.changes or action.reason for action in plan if action.type.changes_cluster}

    def _rehearse(self) -> set[str]:
        client, discovery = self._instance.cluster.client, self._instance.cluster.discovery
        refused = set()
        for action in self._plan():
            if action.type is not ActionType.UPDATE or action.write is None or action.manifest is None:
                continue
            group, _, version = action.manifest.api_version.rpartition("/")
            resource = discovery.resources().find_version(group, version, action.key.kind)
            assert resource is not None
            self.patches += 1
            try:
                client.patch(resource, action.key.namespace, action.key.name, action.write, dry_run=True, timeout=30)
            except Exception:  # noqa: BLE001 - whatever the reason, the test compares who was refused
                refused.add(_named(action.key))
        return refused

    def _plan(self) -> Any:
        deadline = self._instance.deadline()
        revision = self._instance.reconciler.resolve(self._sync, deadline)
        memory = self._instance.memories.setdefault(self._sync.id, Memory())
        return self._instance.reconciler.plan(self._sync, revision, memory, deadline).plan.actions


def _named(key: ObjectKey) -> str:
    kind = f"{key.kind}.{key.group}" if key.group else key.kind
    return f"{kind.lower()}/{key.name}"


def _spelled(item: JSONObject) -> str:
    return _named(key_of(item))


class Pair:
    """The two sides, which get the same commits and the same edits."""

    def __init__(self, one: ControlPlane, other: ControlPlane) -> None:
        self.syncd = SyncdSide(one)
        self.kubectl = KubectlSide(other)
        self._pool = ThreadPoolExecutor(2)

    def close(self) -> None:
        """End both."""
        self._pool.shutdown()
        self.syncd.close()
        self.kubectl.close()

    def path(self, item: JSONObject, *, name: bool = True) -> str:
        """Where an object is, or its collection."""
        return self.syncd.path(item, name=name)

    def edit(self, item: JSONObject, patch: JSONObject) -> None:
        """Let somebody else change an object on both sides; an edit that the server refuses is none."""
        for side in (self.syncd, self.kubectl):
            side.control_plane.api.ask("PATCH", self.path(item), patch, kind="application/merge-patch+json")

    def apply_and_compare(
        self, step: str, objects: Sequence[JSONObject], large: Sequence[JSONObject] = ()
    ) -> frozenset[str]:
        """Apply on both sides at the same time, and fail if they refuse different objects or end up different.

        Args:
            step: What this is about.
            objects: What to apply.
            large: What has no room for its last-applied annotation.

        Returns:
            What both refused.
        """
        both = [
            self._pool.submit(self.syncd.apply, [*objects, *large]),
            self._pool.submit(self.kubectl.apply, objects, large),
        ]
        ours, theirs = (one.result() for one in both)
        both_pictures = [
            self._pool.submit(self._pictures, side, [*objects, *large]) for side in (self.syncd, self.kubectl)
        ]
        our_pictures, their_pictures = (one.result() for one in both_pictures)
        found = [
            f"{name} {change.path}: kubectl {change.before!r:.300}, syncd {change.after!r:.300}"
            for name, seen in our_pictures.items()
            for change in changes({"object": their_pictures[name]}, {"object": seen})
        ]
        names = Counter(map(_spelled, objects))
        unclear = {name for name, times in names.items() if times > 1}  # kubectl does not say in which namespace
        found += [f"only syncd refuses {name}: {ours.about(name)}" for name in ours.objects - theirs.objects - unclear]
        found += [
            f"only kubectl refuses {name}: {theirs.about(name)}" for name in theirs.objects - ours.objects - unclear
        ]
        assert len(theirs.objects) < len(objects), theirs.words
        assert not found, "\n".join([f"step {step!r}:", *found])
        return ours.objects

    def _pictures(self, side: Side, objects: Sequence[JSONObject]) -> dict[str, JSONObject]:
        return {
            f"{_spelled(item)} {item['metadata'].get('namespace', '')}": picture(
                side.control_plane.api.find(self.path(item)) or {}
            )
            for item in objects
        }


def picture(live: JSONObject) -> JSONObject:
    """An object without what differs between two servers on which the same was done, and without owner marks.

    What was applied last is part of it, as the value that it holds.
    """
    if not live:
        return {}
    text = _CHOSEN_BY_THE_SERVER.sub(
        rb'"\1":"chosen"', orjson.dumps(live).replace(live["metadata"]["uid"].encode(), b"UID")
    )
    found: JSONObject = orjson.loads(text)
    metadata = {field: value for field, value in found["metadata"].items() if field not in _OWN_TO_EACH}
    for field in ("labels", "annotations"):
        kept = {key: value for key, value in metadata.pop(field, {}).items() if key not in _OWNER_MARKS}
        remembered = kept.pop(LAST_APPLIED, None)
        metadata |= {field: kept} if kept else {}
        found |= {"lastApplied": _remembered(remembered)} if remembered else {}
    spec = found.get("spec")
    if isinstance(spec, dict) and "clusterIPs" in spec:
        found["spec"] = {**spec, "clusterIPs": len(spec["clusterIPs"])}
    return {**{field: value for field, value in found.items() if field != "status"}, "metadata": metadata}


def _remembered(text: str) -> JSONObject:
    """What was applied last; a Secret's stringData as the data that it becomes, which is how syncd remembers it."""
    found: JSONObject = orjson.loads(text)
    texts = found.pop("stringData", {})
    data = {key: b64encode(value.encode()).decode() for key, value in texts.items()}
    return {**found, "data": {**found.get("data", {}), **data}} if data else found
