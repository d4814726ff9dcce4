"""Whether an object may be stored: what the real server's registries check, in their words.

Metadata of every kind, and the rules of the kinds that people apply that are most often broken. What is not checked
here is taken: the README lists it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import causes, names
from syncd.sandbox.validation_definitions import definition_violations
from syncd.sandbox.validation_kinds import RULES
from syncd.sandbox.validation_updates import UPDATE_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import Cause, ServedKind

MAX_ANNOTATIONS = 262144
"""The most bytes that keys and values of an object's annotations may have together."""
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_RBAC = "rbac.authorization.k8s.io"
_CHANGES_FIRST = {("apps", "DaemonSet")}
_NAME_RULES: dict[tuple[str, str], Callable[[str], list[str]]] = {
    ("", "Namespace"): names.label,
    ("", "Service"): names.label,
    ("apps", "StatefulSet"): names.label,
    (_RBAC, "ClusterRole"): names.path_segment,
    (_RBAC, "ClusterRoleBinding"): names.path_segment,
    (_RBAC, "Role"): names.path_segment,
    (_RBAC, "RoleBinding"): names.path_segment,
}


def validate(kind: ServedKind, new: JSONObject, old: JSONObject | None) -> list[Cause]:
    """Everything that is wrong with a new object, or with the next state of one."""
    found = list(_metadata(kind, new, old))
    if kind.custom:
        return found
    key = (kind.group, kind.kind)
    if key == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        return [*found, *definition_violations(new, old)]
    rule, update_rule = RULES.get(key), UPDATE_RULES.get(key)
    changes = list(update_rule(new, old)) if old is not None and update_rule is not None else []
    if key in _CHANGES_FIRST:
        found += changes
    if rule is not None and (old is None or new.get("spec") != old.get("spec") or key not in _BY_SPEC):
        found += rule(new)
    if key not in _CHANGES_FIRST:
        found += changes
    return found


_BY_SPEC = {key for key in RULES if key not in (("", "ConfigMap"), ("", "Secret")) and key[0] != _RBAC}
"""Kinds whose rules look at nothing but ``spec``: what an update leaves alone need not be judged again."""


def _metadata(kind: ServedKind, new: JSONObject, old: JSONObject | None) -> Iterator[Cause]:
    metadata = new["metadata"]
    if old is None:
        yield from _name(kind, metadata)
    elif "deletionTimestamp" in old["metadata"]:
        added = [f for f in metadata.get("finalizers") or () if f not in (old["metadata"].get("finalizers") or ())]
        if added:
            words = f"no new finalizers can be added if the object is being deleted, found new finalizers {_go(added)}"
            yield causes.forbidden("metadata.finalizers", words)
    previous = old["metadata"] if old is not None else {}
    if metadata.get("labels") != previous.get("labels"):
        yield from label_violations(metadata.get("labels") or {}, "metadata.labels")
    if metadata.get("annotations") != previous.get("annotations"):
        yield from annotation_violations(metadata.get("annotations") or {}, "metadata.annotations")
    yield from _owners(metadata.get("ownerReferences") or ())
    if metadata.get("finalizers") != previous.get("finalizers"):
        yield from _finalizers(metadata.get("finalizers") or ())


def _go(texts: list[str]) -> str:
    """A list as Go's %#v writes it."""
    return "[]string{" + ", ".join(causes.quoted(text) for text in texts) + "}"


def _name(kind: ServedKind, metadata: JSONObject) -> Iterator[Cause]:
    rule = _NAME_RULES.get((kind.group, kind.kind), names.subdomain)
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    if prefix:
        for words in rule(f"{prefix.rstrip('-')}" if prefix.rstrip("-") else prefix):
            yield causes.invalid("metadata.generateName", prefix, words)
    if not name:
        yield causes.required("metadata.name", "name or generateName is required")
        return
    for words in rule(name):
        yield causes.invalid("metadata.name", name, words)


def label_violations(found: JSONObject, path: str) -> Iterator[Cause]:
    """What is wrong with labels."""
    for key, value in sorted(found.items()):
        for words in names.qualified(key):
            yield causes.invalid(path, key, words)
        for words in names.label_value(value):
            yield causes.invalid(path, value, words)


def annotation_violations(found: JSONObject, path: str) -> Iterator[Cause]:
    """What is wrong with annotations: their keys, or their size."""
    for key in sorted(found):
        for words in names.qualified(key.lower()):
            yield causes.invalid(path, key, words)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in found.items())
    if size > MAX_ANNOTATIONS:
        yield causes.too_long(path, MAX_ANNOTATIONS)


def _owners(references: Sequence[JSONObject]) -> Iterator[Cause]:
    path = "metadata.ownerReferences"
    for reference in references:
        for field, words in (
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ):
            if not reference.get(field):
                yield causes.invalid(f"{path}.{field}", reference.get(field, ""), words)
    controllers = [reference for reference in references if reference.get("controller")]
    if len(controllers) > 1:
        words = (
            "Only one reference can have Controller set to true. Found "
            f'"true" in references for {controllers[0]["kind"]}/{controllers[0]["name"]} and '
            f"{controllers[1]['kind']}/{controllers[1]['name']}"
        )
        yield causes.invalid(path, references, words)


def _finalizers(found: Sequence[str]) -> Iterator[Cause]:
    for index, finalizer in enumerate(found):
        path = f"metadata.finalizers[{index}]"
        wrong = names.qualified(finalizer)
        for words in wrong:
            yield causes.invalid(path, finalizer, words)
        if not wrong and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS and not _is_old(finalizer):
            words = "name is neither a standard finalizer name nor is it fully qualified"
            yield causes.invalid(path, finalizer, words)


def _is_old(finalizer: str) -> bool:
    """Finalizers from before the rule, which the server itself sets."""
    return finalizer == "customresourcecleanup.apiextensions.k8s.io" or finalizer.endswith(".k8s.io")
