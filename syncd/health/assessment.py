"""From a live object to its health.

The order of evaluation is that of kstatus (``sigs.k8s.io/cli-utils/pkg/kstatus``): deletion, observed generation, the
standard conditions Reconciling and Stalled, then the rule of the kind, then the condition Ready. Where kapp's rules are
stricter, theirs are taken. Words and the treatment of deletion are Argo CD's.
"""

from __future__ import annotations

from syncd.health.fields import Condition, conditions, find, number, text
from syncd.health.rules import RULES
from syncd.health.status import HealthStatus, degraded, healthy, progressing
from syncd.model import GroupKind, JSONObject

_SUMMARY_CONDITIONS = ("Ready", "Available")
"""What says in one word whether an object of an unknown kind is up; the first one that is there counts."""


def assess(obj: JSONObject) -> HealthStatus:
    """Judge a live object by what it says of itself.

    Nothing here knows the time: what is judged by patience (a Pod that cannot be scheduled, say) is Progressing with
    the cause as its message, and whoever waits decides for how long.

    Args:
        obj: The whole object as the API server has it. Parts that do not have the expected form count as absent.
    """
    rule = RULES.get(_group_kind(obj))
    status = assess_common(obj)
    if status is not None:
        return status
    return rule(obj) if rule else _by_conditions(obj)


def _group_kind(obj: JSONObject) -> GroupKind:
    group, slash, _ = text(obj, "apiVersion").partition("/")
    return GroupKind(group if slash else "", text(obj, "kind"))


def assess_common(obj: JSONObject) -> HealthStatus | None:
    """What holds for every kind; None when it decides nothing."""
    if find(obj, "metadata", "deletionTimestamp"):
        finalizers = find(obj, "metadata", "finalizers")
        names = ", ".join(str(name) for name in finalizers) if isinstance(finalizers, list) else ""
        return progressing(f"is being deleted, waiting for {names}" if names else "is being deleted")
    generation = number(obj, "metadata", "generation", default=-1)
    observed = number(obj, "status", "observedGeneration", default=generation)
    if generation >= 0 and observed != generation:
        return progressing(f"its controller has seen generation {observed} and not yet {generation}")
    found = conditions(obj)
    if (reconciling := found.get("Reconciling")) and reconciling.is_true:
        return progressing(reconciling.cause)
    if (stalled := found.get("Stalled")) and stalled.is_true:
        return degraded(stalled.cause)
    return None


def _by_conditions(obj: JSONObject) -> HealthStatus:
    """What the common conditions say of a kind that has no rule."""
    found = conditions(obj)
    for name in _SUMMARY_CONDITIONS:
        if name in found:
            return _by_condition(found[name], number(obj, "metadata", "generation"))
    return healthy()


def _by_condition(condition: Condition, generation: int) -> HealthStatus:
    if condition.observed_generation is not None and condition.observed_generation < generation:
        return progressing(f"{condition.type} is about generation {condition.observed_generation}, not {generation}")
    return healthy(condition.message) if condition.is_true else progressing(condition.cause)
