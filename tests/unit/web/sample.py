"""A believable board: Syncs in every state that the pages know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from syncd.daemon.status import Counts, DriftRecord, Fight, HistoryEntry, ObjectStatus, SyncState, SyncStatus
from syncd.health import Health
from syncd.model import ABSENT, ActionType, DriftReason, FieldChange, ObjectKey, OutcomeStatus, Revision
from syncd.spec import Sync, parse_sync

NOW = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)
MAIN = Revision("main", "4f1c2b7a9d3e5f60718293a4b5c6d7e8f9012345", "9a0b1c2d3e4f5061728394a5b6c7d8e9f0a1b2c3")
OLDER = Revision("main", "b71e04c5d6f7a8091a2b3c4d5e6f708192a3b4c5", "00112233445566778899aabbccddeeff00112233")

SCRIPT_BEFORE = "server:\n  port: 8080\n  workers: 4\nlog:\n  level: info\n  format: json\n"
SCRIPT_AFTER = SCRIPT_BEFORE.replace("workers: 4", "workers: 16").replace("level: info", "level: debug")

ATTACK = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}javascript:alert(3)"


@dataclass
class FakeBoard:
    """A board whose answers a test sets."""

    syncs: tuple[SyncStatus, ...] = ()
    not_ready: str = ""
    not_alive: str = ""
    stands_by: str = ""
    leads_at: str = ""

    def statuses(self) -> tuple[SyncStatus, ...]:
        return tuple(sorted(self.syncs, key=lambda status: status.id))

    def status(self, sync_id: str) -> SyncStatus | None:
        return next((status for status in self.syncs if status.id == sync_id), None)

    def ready(self) -> str:
        return self.not_ready

    def alive(self) -> str:
        return self.not_alive

    def standby(self) -> str:
        return self.stands_by

    def leader(self) -> str:
        return self.leads_at


def ago(**parts: float) -> datetime:
    return NOW - timedelta(**parts)


def make_sync(name: str, namespace: str = "syncd", **spec: Any) -> Sync:
    source = {
        "git": {"url": f"https://git.example.com/platform/{name.rpartition('-')[2]}.git", "ref": {"branch": "main"}}
    }
    document = {"apiVersion": "syncd.dev/v1alpha1", "kind": "Sync", "metadata": {"name": name, "namespace": namespace}}
    return parse_sync({**document, "spec": {"source": source, **spec}})


def make_object(
    text: str,
    action: ActionType = ActionType.UNCHANGED,
    reason: str = "Unchanged",
    health: Health | None = Health.HEALTHY,
    **rest: Any,
) -> ObjectStatus:
    values: dict[str, Any] = {"message": "", "outcome": OutcomeStatus.DONE, "origin": "apps/shop/web.yaml, document 1"}
    return ObjectStatus(ObjectKey.parse(text), action, reason, health=health, **{**values, **rest})


def healthy(name: str, **spec: Any) -> SyncStatus:
    objects = tuple(
        make_object(text, origin=f"apps/{name}/{text.split(':')[-1]}.yaml, document 1")
        for text in (
            "::Namespace:shop",
            "shop::ConfigMap:settings",
            "shop::Service:web",
            "shop:apps:Deployment:web",
            "shop:autoscaling:HorizontalPodAutoscaler:web",
            ":rbac.authorization.k8s.io:ClusterRole:system:shop:reader",
        )
    )
    return SyncStatus(
        sync=make_sync(name, **spec),
        state=SyncState.SYNCED,
        health=Health.HEALTHY,
        attempted=MAIN,
        applied=MAIN,
        reason="Succeeded",
        last_attempt=ago(seconds=24),
        last_success=ago(seconds=24),
        next_attempt=NOW + timedelta(seconds=38),
        durations={"fetch": 0.12, "render": 0.4, "observe": 0.01, "plan": 0.02, "apply": 0.0, "total": 0.55},
        counts=Counts(unchanged=len(objects)),
        objects=objects,
        inventory_size=len(objects),
        history=(HistoryEntry(ago(hours=3), MAIN, Counts(created=2, updated=1, unchanged=3), 1.8),),
    )


def drifted(name: str, **spec: Any) -> SyncStatus:
    status = healthy(name, **spec)
    records = (
        DriftRecord(
            ObjectKey.parse("shop:apps:Deployment:web"),
            DriftReason.CHANGED,
            ago(minutes=3),
            (
                FieldChange("spec.replicas", 1, 3),
                FieldChange("spec.template.spec.containers[name=web].image", "shop/web:hotfix", "shop/web:1.8.2"),
                FieldChange("spec.template.spec.containers[name=web].env[name=DEBUG]", {"name": "DEBUG"}, ABSENT),
            ),
            manager="kubectl-edit",
            operation="Update",
        ),
        DriftRecord(
            ObjectKey.parse("shop::ConfigMap:settings"),
            DriftReason.CHANGED,
            ago(minutes=7),
            (FieldChange("data.settings.yaml", SCRIPT_BEFORE, SCRIPT_AFTER),),
            manager="k9s",
            operation="Update",
        ),
        DriftRecord(ObjectKey.parse("shop::Service:web"), DriftReason.MISSING, ago(hours=2), corrected_at=ago(hours=1)),
    )
    return replace(status, state=SyncState.OUT_OF_SYNC, health=Health.PROGRESSING, drift=records)


def failing(name: str, **spec: Any) -> SyncStatus:
    error = (
        "2 of 42 objects could not be applied: Deployment.apps shop/worker: admission webhook "
        '"policy.example.com" denied the request: containers must not run as root; Ingress.networking.k8s.io shop/web: '
        "spec.rules[0].host: Invalid value"
    )
    kept = make_object(
        "shop::PersistentVolumeClaim:orders",
        ActionType.KEEP,
        "DeletionDetached",
        message="client.lifecycle.config.k8s.io/deletion: detach is set on it",
        origin="",
    )
    pending = make_object(
        "shop:batch:Job:migrate-41",
        ActionType.PRUNE,
        "LeftGit",
        outcome=OutcomeStatus.ABANDONED,
        error="waits for Deployment.apps shop/worker, which failed",
        message="it left Git",
        health=Health.SUSPENDED,
        origin="",
    )
    failed = make_object(
        "shop:apps:Deployment:worker",
        ActionType.UPDATE,
        "Changed",
        Health.DEGRADED,
        outcome=OutcomeStatus.FAILED,
        error='admission webhook "policy.example.com" denied the request: containers must not run as root',
        health_message='ReplicaSet "worker-77c" has timed out progressing.',
        changes=(FieldChange("spec.template.spec.securityContext.runAsNonRoot", True, False),),
    )
    created = make_object(
        "shop::Secret:db",
        ActionType.CREATE,
        "NotThere",
        changes=(FieldChange("data.password", ABSENT, "*** (after)"),),
    )
    missing = make_object("shop:networking.k8s.io:Ingress:web", ActionType.SKIP, "Invalid", Health.MISSING)
    status = healthy(name, **spec)
    return replace(
        status,
        state=SyncState.OUT_OF_SYNC,
        health=Health.DEGRADED,
        applied=OLDER,
        reason="ApplyFailed",
        error=error,
        problems=tuple(error.split(": ", 1)[1].split("; ")),
        failing_since=ago(minutes=41),
        failures=7,
        last_success=ago(minutes=41),
        counts=Counts(created=1, updated=1, unchanged=6, kept=1, skipped=1, failed=2),
        objects=(*status.objects, kept, pending, failed, created, missing),
        inventory_size=42,
        prune_held="15 of 42 objects would be pruned, which is 36 % and more than the budget of 30 %; "
        "raise prune.budget if that is meant",
        history=(HistoryEntry(ago(minutes=2), MAIN, Counts(failed=2, unchanged=40), 2.31, error), *status.history),
    )


def unknown(name: str, **spec: Any) -> SyncStatus:
    return SyncStatus(
        sync=make_sync(name, **spec),
        reason="GitFailed",
        error="https://git.example.com/platform/prod.git: could not resolve host git.example.com",
        failing_since=ago(hours=5),
        failures=112,
        last_attempt=ago(minutes=4),
        next_attempt=NOW + timedelta(minutes=1),
    )


def fought_over(name: str) -> SyncStatus:
    fight = Fight(ObjectKey("billing", "apps", "Deployment", "worker"), "kube-controller-manager", 7)
    message = "kube-controller-manager and syncd change Deployment.apps billing/worker in turns"
    return replace(healthy(name), reason="TugOfWar", message=message, fights=(fight,))


def believable() -> FakeBoard:
    """Twelve Syncs in various states."""
    return FakeBoard(
        (
            healthy("shop-dev", path="apps/shop"),
            drifted("shop-staging", path="apps/shop", drift={"action": "Report"}),
            failing("shop-prod", path="apps/shop"),
            unknown("billing-prod"),
            healthy("billing-dev"),
            replace(healthy("billing-staging"), health=Health.PROGRESSING, reconciling=True),
            healthy("monitoring-prod", path="clusters/prod/monitoring"),
            replace(healthy("monitoring-dev", suspend=True), health=Health.SUSPENDED),
            SyncStatus(sync=make_sync("ingress-prod")),
            fought_over("ingress-dev"),
            healthy("cert-manager"),
            healthy("crds"),
        )
    )


def hostile() -> SyncStatus:
    """A Sync in which everything that anybody can choose is an attack."""
    document = make_sync("victim").model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
    document["spec"]["path"] = ATTACK
    document["spec"]["source"]["git"] = {"url": f"https://git.example.com/{ATTACK.replace(' ', '')}"}
    revision = Revision(ATTACK, ATTACK, ATTACK)
    key = ObjectKey(ATTACK, ATTACK, ATTACK, ATTACK)
    changes = (FieldChange(ATTACK, ATTACK, {ATTACK: [ATTACK]}), FieldChange(ATTACK, ATTACK + "\n", f"{ATTACK}\nx"))
    objects = tuple(
        make_object(
            "shop::ConfigMap:x",
            action,
            ATTACK,
            Health.DEGRADED,
            message=ATTACK,
            error=ATTACK,
            health_message=ATTACK,
            origin=ATTACK,
            changes=changes,
            outcome=OutcomeStatus.FAILED,
        )
        for action in ActionType
    )
    return SyncStatus(
        sync=parse_sync(document),
        state=SyncState.OUT_OF_SYNC,
        health=Health.DEGRADED,
        attempted=revision,
        applied=revision._replace(commit="other" + ATTACK),
        reason=ATTACK,
        error=ATTACK,
        problems=(ATTACK, ATTACK),
        failing_since=NOW,
        failures=2,
        last_attempt=NOW,
        last_success=NOW,
        durations={ATTACK: 1.0, "total": 1.0},
        objects=tuple(replace(item, key=key) for item in objects),
        inventory_size=6,
        drift=(DriftRecord(key, DriftReason.CHANGED, NOW, changes, ATTACK, ATTACK),),
        prune_held=ATTACK,
        message=ATTACK,
        fights=(Fight(key, ATTACK, 4),),
        history=(HistoryEntry(NOW, revision, Counts(failed=1), 1.0, ATTACK),),
    )
