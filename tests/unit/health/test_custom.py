from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from syncd.health import CustomChecks, Health
from syncd.model import GroupKind
from syncd.spec import HealthCheck, SpecError, parse_sync
from syncd.spec.expressions import EvaluationError, Predicate

if TYPE_CHECKING:
    from syncd.health import HealthStatus

CHECK = {
    "group": "example.com",
    "kind": "Database",
    "current": "status.?conditions.orValue([]).exists(c, c.type == 'Ready' && c.status == 'True')",
    "inProgress": "has(status.phase) && status.phase == 'Restoring'",
    "failed": "status.phase == 'Broken'",
}


def health(**status: Any) -> HealthStatus:
    obj = {"apiVersion": "example.com/v1", "kind": "Database", "metadata": {"generation": 2}, "status": status}
    return CustomChecks([HealthCheck.model_validate(CHECK)]).assess(GroupKind("example.com", "Database"), obj)


READY = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, Health.PROGRESSING),
        ({"conditions": [{"type": "Ready", "status": "False"}]}, Health.PROGRESSING),
        ({"conditions": READY}, Health.HEALTHY),
        ({"conditions": READY, "phase": "Restoring"}, Health.PROGRESSING),
        ({"conditions": READY, "phase": "Broken"}, Health.DEGRADED),
        ({"conditions": READY, "observedGeneration": 1}, Health.PROGRESSING),
    ],
)
def test_expressions_decide_after_what_holds_for_every_kind(status: dict[str, Any], expected: Health) -> None:
    assert health(**status).health is expected


def test_only_the_named_kind_is_judged_by_them() -> None:
    checks = CustomChecks([HealthCheck.model_validate(CHECK)])
    assert checks.assess(GroupKind("", "Database"), {"metadata": {}}).health is Health.HEALTHY


def test_a_field_that_is_not_there_yet_is_said_to_be_missing() -> None:
    check = HealthCheck.model_validate({"kind": "Thing", "current": "status.replicas == spec.replicas"})
    found = CustomChecks([check]).assess(GroupKind("", "Thing"), {"metadata": {}, "spec": {"replicas": 1}})
    assert found.health is Health.PROGRESSING
    assert 'Key not found in map : "replicas"' in found.message


@pytest.mark.parametrize("text", ["status.", "nope == 1", "1 + 1", "status.phase = 'x'"])
def test_what_is_no_expression_is_refused_before_it_runs(text: str) -> None:
    source = {"git": {"url": "https://git.example.com/a.git"}}
    spec = {"source": source, "healthChecks": [{"kind": "Thing", "current": text}]}
    with pytest.raises(SpecError, match=r"spec\.healthChecks\.0\.current"):
        parse_sync({"metadata": {"name": "shop"}, "spec": spec})


def test_every_evaluation_ends() -> None:
    many = {"status": {"items": list(range(1000))}}
    slow = Predicate("status.items.all(a, status.items.all(b, status.items.all(c, a + b + c >= 0)))")
    with pytest.raises(EvaluationError, match="Iteration budget exceeded"):
        slow.holds(many)
