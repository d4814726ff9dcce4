"""What a Sync may apply: the namespaces and kinds that its target allows."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from syncd.model import GroupKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncd.model import Manifest, ObjectKey
    from syncd.spec import Target

_NAMESPACE = GroupKind("", "Namespace")
_CORE = "core"


class NotPermittedError(InvalidInputError):
    """A manifest is outside of what its Sync may apply."""

    reason = "NotPermitted"


def check(manifests: Iterable[Manifest], target: Target) -> None:
    """Refuse manifests that the target does not allow.

    One that is refused refuses the whole revision. Leaving it out instead would apply a part of what belongs together,
    and look like its removal from Git, so that an object of that key would be pruned.

    Args:
        manifests: With the namespaces that the objects will have.
        target: What is allowed.

    Raises:
        NotPermittedError: Something is not allowed; names the first, and how many there are.
    """
    refused = [(manifest, problem) for manifest in manifests if (problem := _problem(manifest.key, target))]
    if refused:
        (first, problem), more = refused[0], len(refused) - 1
        others = f" (and {more} more manifests that are not allowed)" if more else ""
        raise NotPermittedError(f"{first.key.display()} is refused: {problem}{others}", first.origin)


def _problem(key: ObjectKey, target: Target) -> str:
    if target.allowed_kinds and not any(_matches(key.group_kind, pattern) for pattern in target.allowed_kinds):
        return f"its kind is not in spec.target.allowedKinds ({', '.join(target.allowed_kinds)})"
    if not target.allowed_namespaces:
        return ""
    namespace = key.name if key.group_kind == _NAMESPACE else key.namespace
    if not namespace:
        return (
            ""
            if target.allowed_kinds
            else (
                "spec.target.allowedNamespaces is set, and it is in no namespace; spec.target.allowedKinds can allow it"
            )
        )
    if any(fnmatchcase(namespace, pattern) for pattern in target.allowed_namespaces):
        return ""
    return f"the namespace is not in spec.target.allowedNamespaces ({', '.join(target.allowed_namespaces)})"


def _matches(kind: GroupKind, pattern: str) -> bool:
    """Whether a kind is meant by ``Kind`` (of any group) or ``group/Kind``; the core group is called ``core``."""
    group, _, name = pattern.rpartition("/")
    return fnmatchcase(kind.kind, name) and (not group or fnmatchcase(kind.group or _CORE, group))
