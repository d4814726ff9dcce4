"""All Syncs: is everything in sync, what is not, since when, by whom, is it being repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.models import units

from grafana.panels import (
    BAD,
    FLAGS,
    GOOD,
    HEALTHS,
    NOTICE,
    OVERVIEW,
    QUIET,
    STATES,
    SYNC,
    WARNING,
    Column,
    Query,
    bars,
    figure,
    growth,
    page,
    series,
    table,
    timeline,
    variable,
)

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Dashboard

SYNCS: Final = 'sync=~"$namespace/.+"'
STATE: Final = f"max by (sync) (syncd_sync_state{{{SYNCS}}})"
SUSPENDED: Final = f"syncd_sync_suspended{{{SYNCS}}} == 1"
HELD: Final = (
    f"max by (sync) (syncd_sync_prune_held{{{SYNCS}}}) == 1 "
    f'unless on (sync) syncd_sync_kept_objects{{{SYNCS}, reason="PruneOff"}}'
)
DRIFT: Final = f"max by (sync, kind, reason) (syncd_sync_drift_objects{{{SYNCS}}})"
KEPT: Final = f"max by (sync, reason) (syncd_sync_kept_objects{{{SYNCS}}})"
IN_DEPTH: Final = f"/d/{SYNC}?var-sync=${{__value.raw}}&${{datasource:queryparam}}&${{__url_time_range}}"
SHORT_WHILE: Final = (GOOD, (300, NOTICE), (900, BAD))
"""Seconds for which something may be wrong before somebody should look, and before an alert fires."""


def age(metric: str) -> str:
    """Seconds since a timestamp, for each Sync that has one."""
    return f"time() - max by (sync) ({metric}{{{SYNCS}}})"


def build() -> Dashboard:
    """Return the dashboard."""
    return page(
        OVERVIEW,
        "syncd / Overview",
        "Is everything in sync, what is not, since when, by whom, and is it being repaired.",
        (NAMESPACE,),
        {"Now": NOW, "Every Sync": EVERY_SYNC, "Drift": DRIFT_ROW, "Work": WORK},
    )


NAMESPACE: Final = variable(
    "namespace",
    "Namespace",
    "Namespaces of Syncs, not of what they apply",
    "label_values(syncd_sync_state, sync)",
    regex="/^([^/]+)/",
    everything="[^/]+",
)

NOW: Final = (
    figure(
        "Syncs",
        "Syncs that this syncd knows. None at all: look at Status > Targets in Prometheus, then at the daemon's log.",
        f"count({STATE}) or vector(0)",
        levels=(BAD, (1, QUIET)),
    ),
    figure(
        "In sync",
        "Share of the Syncs, without suspended ones, whose newest revision is live without a difference. Below 100 %: "
        "the table below says which ones are not, and why.",
        f"avg(({STATE} unless on (sync) {SUSPENDED}) == bool 0)",
        unit=units.PercentUnit,
        levels=(BAD, (0.9, WARNING), (1, GOOD)),
    ),
    figure(
        "Not in sync",
        "Syncs that are not suspended and are OutOfSync or Unknown. A minute after a commit is nothing to worry "
        "about; longer than that, open the Sync in the table below.",
        f"count({STATE} > 0 unless on (sync) {SUSPENDED}) or vector(0)",
        levels=(GOOD, (1, WARNING)),
    ),
    figure(
        "Failing",
        "Syncs whose last reconcile failed. Their errors are on syncd's status page; a Sync that fails for a quarter "
        "of an hour raises SyncdSyncFailing or SyncdGitUnreachable.",
        f"count(max by (sync) (syncd_sync_consecutive_failures{{{SYNCS}}}) > 0) or vector(0)",
        levels=(GOOD, (1, BAD)),
    ),
    figure(
        "Drifting objects",
        "Objects that somebody changed and that are not repaired. Mostly this is 0, since drift is corrected within a "
        "second; it stays where a Sync only reports (drift.action: Report) or a repair fails.",
        f"sum({DRIFT}) or vector(0)",
        levels=(GOOD, (1, WARNING)),
    ),
    figure(
        "Oldest drift",
        "For how long the oldest drift has not been repaired. Commit the change or undo it; who made it is below.",
        f"max({age('syncd_sync_drift_oldest_timestamp_seconds')})",
        unit=units.Seconds,
        levels=(GOOD, (60, NOTICE), (600, BAD)),
    ),
    figure(
        "Prunes held",
        "Syncs in which objects left Git and none is deleted, because that would be more than the budget allows, or "
        "the list of objects is in doubt. Look at what would go, then raise prune.budget or take the commit back.",
        f"count({HELD}) or vector(0)",
        levels=(GOOD, (1, WARNING)),
    ),
    figure(
        "Not healthy",
        "Syncs with an object that is Missing, Degraded or Unknown. What was applied does not work: open the Sync, "
        "then the object.",
        f"count(max by (sync) (syncd_sync_health{{{SYNCS}}}) > 2) or vector(0)",
        levels=(GOOD, (1, WARNING)),
    ),
)

EVERY_SYNC: Final = (
    table(
        "State of every Sync",
        "The worst come first. A click on a name opens the Sync in depth. Empty cells: nothing of that sort.",
        Column("State", STATE, words=STATES, levels=(GOOD, (1, WARNING), (2, BAD))),
        Column(
            "Health",
            f"max by (sync) (syncd_sync_health{{{SYNCS}}})",
            words=HEALTHS,
            levels=(GOOD, (1, QUIET), (3, WARNING), (4, BAD)),
        ),
        Column(
            "Failing for",
            age("syncd_sync_failing_since_timestamp_seconds"),
            units.Seconds,
            SHORT_WHILE,
        ),
        Column("Behind Git for", age("syncd_sync_behind_since_timestamp_seconds"), units.Seconds, SHORT_WHILE),
        Column("Drifting objects", f"sum by (sync) ({DRIFT})", levels=(GOOD, (1, WARNING))),
        Column("Drift for", age("syncd_sync_drift_oldest_timestamp_seconds"), units.Seconds, SHORT_WHILE),
        Column(
            "Prune held", f"max by (sync) (syncd_sync_prune_held{{{SYNCS}}})", words=FLAGS, levels=(GOOD, (1, WARNING))
        ),
        Column("Kept", f"sum by (sync) ({KEPT})"),
        Column("Objects", f"max by (sync) (syncd_sync_inventory_objects{{{SYNCS}}})"),
        Column("Last success", age("syncd_sync_last_success_timestamp_seconds"), units.Seconds),
        Column(
            "Suspended",
            f"max by (sync) (syncd_sync_suspended{{{SYNCS}}})",
            words=(("no", QUIET), ("yes", NOTICE)),
            levels=(QUIET, (1, NOTICE)),
        ),
        label="sync",
        heading="Sync",
        link=IN_DEPTH,
        height=12,
    ),
    timeline(
        "Syncs that were not in sync",
        "Only Syncs that were OutOfSync or Unknown at some time in the range shown. Short bands after commits are the "
        "work itself; long or regular ones want a look at the Sync.",
        Query(
            f"{STATE} and on (sync) max by (sync) (max_over_time(syncd_sync_state{{{SYNCS}}}[$__range])) > 0",
            "{{sync}}",
        ),
        words=STATES,
        height=9,
    ),
)

DRIFT_ROW: Final = (
    series(
        "Drift found and put right",
        "Objects that somebody else changed, and drifts that are gone again. Where the lines part, repairs fail or "
        "are switched off. A steady rate is a tug-of-war with another controller: see by whom.",
        Query(f"{growth('syncd_sync_drift_found_total', SYNCS)} or vector(0)", "found"),
        Query(f"{growth('syncd_sync_drift_corrected_total', SYNCS)} or vector(0)", "put right"),
        width=8,
    ),
    series(
        "Drift found, by whom",
        "Drifts by the field manager that made them. kubectl-edit and kubectl-patch are people: have them commit. A "
        "controller's name: leave the field to it with drift.ignore, or take it out of Git.",
        Query(
            growth("syncd_sync_drift_manager_found_total", SYNCS, "manager"),
            "{{manager}}",
        ),
        stacked=True,
        width=8,
    ),
    series(
        "Drift now, by reason",
        "Objects that drift at this moment: changed, missing, with an extra field, or without their owner's mark.",
        Query(f"sum by (reason) ({DRIFT})", "{{reason}}"),
        stacked=True,
        width=8,
    ),
    bars(
        "Longest without repair",
        "Syncs whose oldest drift has waited longest. Ten minutes raise SyncdDriftNotRepaired.",
        Query(f"topk(10, {age('syncd_sync_drift_oldest_timestamp_seconds')})", "{{sync}}"),
        unit=units.Seconds,
        levels=(GOOD, (60, NOTICE), (600, BAD)),
        width=8,
    ),
    bars(
        "Failing longest",
        "Syncs that have failed for longest. The error of each is on syncd's status page.",
        Query(f"topk(10, {age('syncd_sync_failing_since_timestamp_seconds')})", "{{sync}}"),
        unit=units.Seconds,
        levels=SHORT_WHILE,
        width=8,
    ),
    bars(
        "Behind Git for longest",
        "Syncs whose repository has a revision that is not applied. Those that fail are beside this; the others are "
        "waiting for their turn, which the daemon's dashboard shows.",
        Query(f"topk(10, {age('syncd_sync_behind_since_timestamp_seconds')})", "{{sync}}"),
        unit=units.Seconds,
        levels=SHORT_WHILE,
        width=8,
    ),
)

WORK: Final = (
    series(
        "What was changed",
        "Objects created, updated and pruned. A burst without a commit is drift being put right; a burst of prunes "
        "that nobody expects is a reason to suspend the Sync and look at the last commit.",
        Query(growth("syncd_sync_actions_total", SYNCS, "action"), "{{action}}"),
        stacked=True,
        width=8,
    ),
    series(
        "Reconciles, by result",
        "Reconciles that ended in the time of one point. Failures follow one another at growing distances, up to a "
        "minute, so a few of them are one cause.",
        Query(growth("syncd_sync_reconciles_total", SYNCS, "result"), "{{result}}"),
        stacked=True,
        width=8,
    ),
    series(
        "Objects kept, by reason",
        "Objects that left Git and are not deleted. Terminating: a finalizer holds them. BudgetExceeded, EmptyRender, "
        "InventoryInDoubt: held for you to look. OwnerLost: delete by hand if they should go. The rest is protected "
        "on purpose.",
        Query(f"sum by (reason) ({KEPT})", "{{reason}}"),
        width=8,
    ),
    bars(
        "Slowest Syncs",
        "How long the last reconcile of each took. Where time goes by stage, the daemon's dashboard shows.",
        Query(f"topk(10, max by (sync) (syncd_sync_last_duration_seconds{{{SYNCS}}}))", "{{sync}}"),
        unit=units.Seconds,
        levels=(GOOD, (10, NOTICE), (60, WARNING)),
    ),
    bars(
        "Longest inventories",
        "How long the lists of objects are, in apply-config objects. Beyond one they go on in pages: nothing to do, "
        "but a Sync this large is slower to compare; split it if that hurts.",
        Query(
            f"topk(10, max by (sync) (syncd_sync_inventory_bytes{{{SYNCS}}})"
            " / scalar(max(syncd_inventory_limit_bytes)))",
            "{{sync}}",
        ),
        unit=units.PercentUnit,
        levels=(GOOD, (1, NOTICE)),
    ),
)
