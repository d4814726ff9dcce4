"""Fields of built-in types of which at most one may be set.

OpenAPI hardly declares them, so they are listed here, from the validation of the API server. Setting another member
must clear the one that is live, whoever set it, or the server refuses the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from syncd.model import JSONObject


class Union(NamedTuple):
    """One group of fields that exclude each other."""

    members: frozenset[str]
    discriminator: str = ""
    """The field that names the chosen member, "" when there is none."""
    by_value: tuple[tuple[str, str], ...] = ()
    """Which member belongs to which value of the discriminator; a value that is not here has none."""


def _one_of(*members: str) -> tuple[Union, ...]:
    return (Union(frozenset(members)),)


_ROLLING_UPDATE = (Union(frozenset({"rollingUpdate"}), "type", (("RollingUpdate", "rollingUpdate"),)),)
_HANDLERS = ("exec", "grpc", "httpGet", "tcpSocket")
_APPS = "io.k8s.api.apps.v1."
_CORE = "io.k8s.api.core.v1."

UNIONS: Final[dict[str, tuple[Union, ...]]] = {
    _APPS + "DeploymentStrategy": _ROLLING_UPDATE,
    _APPS + "DaemonSetUpdateStrategy": _ROLLING_UPDATE,
    _APPS + "StatefulSetUpdateStrategy": _ROLLING_UPDATE,
    _CORE + "EnvVar": _one_of("value", "valueFrom"),
    _CORE + "EnvVarSource": _one_of("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"),
    _CORE + "EnvFromSource": _one_of("configMapRef", "secretRef"),
    _CORE + "Probe": _one_of(*_HANDLERS),
    _CORE + "LifecycleHandler": _one_of("sleep", *_HANDLERS),
    "io.k8s.api.policy.v1.PodDisruptionBudgetSpec": _one_of("maxUnavailable", "minAvailable"),
    "io.k8s.api.networking.v1.IngressBackend": _one_of("resource", "service"),
}
"""By the name of the type's definition. Volumes are not here: their patch strategy, retainKeys, does the same."""


def losers(unions: tuple[Union, ...], modified: JSONObject, live: JSONObject) -> list[str]:
    """The live fields that must go because ``modified`` chooses another member of their union, and lacks them."""
    gone: list[str] = []
    for union in unions:
        lost = [member for member in union.members if member in live and member not in modified]
        if not lost:  # most often
            continue
        if union.discriminator:
            chosen = modified.get(union.discriminator)
            if chosen is not None:
                kept = dict(union.by_value).get(chosen)
                gone += sorted(member for member in lost if member != kept)
        elif any(modified.get(member) is not None for member in union.members):
            gone += sorted(lost)
    return gone
