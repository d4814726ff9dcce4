"""One Sync in depth: what it is doing, what drifts and who did it, what is kept or pending, how long things take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.models import units

from grafana.overview import NAMESPACE, SHORT_WHILE
from grafana.panels import (
    BAD,
    FLAGS,
    GOOD,
    HEALTHS,
    NOTICE,
    QUIET,
    STATES,
    SYNC,
    WARNING,
    Query,
    bars,
    figure,
    growth,
    page,
    series,
    timeline,
    variable,
)

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Dashboard

ONE: Final = 'sync="$sync"'


def build() -> Dashboard:
    """Return the dashboard."""
    return page(
        SYNC,
        "syncd / Sync",
        "One Sync: state, drift by reason and field manager, actions, prunes held and pending, durations, health.",
        (NAMESPACE, CHOICE),
        {"Now": NOW, "Over time": OVER_TIME, "Drift": DRIFT, "Work": WORK, "Objects": OBJECTS},
    )


def newest(metric: str) -> str:
    """The value of a gauge, whichever replica has it."""
    return f"max(syncd_sync_{metric}{{{ONE}}})"


def age(metric: str) -> str:
    """Seconds since a timestamp; no series when there is none."""
    return f"time() - {newest(metric)}"


def events(metric: str, *labels: str) -> Query:
    """How much a counter has grown in the time of one point, by labels."""
    return Query(growth(f"syncd_sync_{metric}", ONE, *labels), " ".join("{{" + label + "}}" for label in labels))


def parts(metric: str, *labels: str) -> Query:
    """A gauge by labels, whichever replica has it."""
    expr = f"max by ({', '.join(labels)}) (syncd_sync_{metric}{{{ONE}}})"
    return Query(expr, " ".join("{{" + label + "}}" for label in labels))


CHOICE: Final = variable(
    "sync", "Sync", "The Sync to look at", 'label_values(syncd_sync_state{sync=~"$namespace/.+"}, sync)'
)

NOW: Final = (
    figure(
        "State",
        "How the cluster compares with Git. OutOfSync: drift, a held prune, or a failure, all of them below. Unknown: "
        "the last reconcile came to nothing; its error is on syncd's status page.",
        newest("state"),
        words=STATES,
        nothing="no such Sync",
    ),
    figure(
        "Health",
        "The worst health of its objects. Degraded or Missing: what Git says was applied and does not work; look at "
        "the object, not at syncd.",
        newest("health"),
        words=HEALTHS,
        nothing="not known",
    ),
    figure(
        "Failing for",
        "How long its reconciles have failed without a break. Read the error on syncd's status page; syncd tries "
        "again by itself, at most a minute (or its interval) apart.",
        age("failing_since_timestamp_seconds"),
        unit=units.Seconds,
        levels=SHORT_WHILE,
        nothing="not failing",
    ),
    figure(
        "Behind Git for",
        "How long Git has had a revision that is not applied. A reason stands beside it: failing or waiting.",
        age("behind_since_timestamp_seconds"),
        unit=units.Seconds,
        levels=SHORT_WHILE,
        nothing="up to date",
    ),
    figure(
        "Drifting objects",
        "Objects that somebody changed and that are not repaired. More than 0 for long: the Sync only reports drift, "
        "or the repair fails, or somebody undoes it each time.",
        f"sum(max by (kind, reason) (syncd_sync_drift_objects{{{ONE}}})) or vector(0)",
        levels=(GOOD, (1, WARNING)),
    ),
    figure(
        "Drift for",
        "How long the oldest of these has not been repaired.",
        age("drift_oldest_timestamp_seconds"),
        unit=units.Seconds,
        levels=(GOOD, (60, NOTICE), (600, BAD)),
        nothing="no drift",
    ),
    figure(
        "Objects",
        "Objects that the Sync manages: the size of its inventory.",
        newest("inventory_objects"),
    ),
    figure(
        "Last success",
        "How long ago a reconcile went well. Much longer than its interval: syncd is stuck, down or overloaded; see "
        "the daemon's dashboard.",
        age("last_success_timestamp_seconds"),
        unit=units.Seconds,
        nothing="never",
    ),
)

OVER_TIME: Final = (
    timeline(
        "State over time",
        "Short bands of OutOfSync after commits are the work itself. Regular ones without commits are somebody "
        "undoing what syncd does.",
        Query(newest("state"), "state"),
        words=STATES,
        height=4,
    ),
    timeline(
        "Health over time",
        "The worst health of all objects. Degraded that begins with a commit was brought by that commit.",
        Query(newest("health"), "health"),
        words=HEALTHS,
        height=4,
    ),
    timeline(
        "What keeps it from working",
        "Prune held: look at what would be deleted, then raise prune.budget or take the commit back. Repository "
        "cannot be read: check credentials and the network. Suspended: somebody stopped it, and has to start it "
        "again.",
        Query(newest("prune_held"), "prune held"),
        Query(newest("source_failing"), "repository cannot be read"),
        Query(newest("suspended"), "suspended"),
        words=FLAGS,
    ),
    series(
        "Waits, by reason",
        "Progressing: an object is not ready yet. DependencyNotReady: what it depends on is not. TugOfWar: see the "
        "rivals below. WindowClosed: nothing may change until it opens. The status page has the sentence.",
        parts("waiting", "reason"),
        stacked=True,
        width=24,
    ),
)

DRIFT: Final = (
    series(
        "Drift found, by kind and reason",
        "What somebody else changed. Objects and fields are on syncd's status page and in its log.",
        events("drift_found_total", "kind", "reason"),
        stacked=True,
        width=8,
    ),
    series(
        "Drift found, by field manager",
        "Who did it. kubectl-edit and kubectl-patch are people: have them commit. A controller: leave the field to it "
        "with drift.ignore, or take the field out of Git. unknown: the object is gone, so nobody says.",
        events("drift_manager_found_total", "manager"),
        stacked=True,
        width=8,
    ),
    series(
        "Drift put right, by reason",
        "Drifts that are gone again, mostly because syncd repaired them. Fewer than found: see what is left at the "
        "right.",
        events("drift_corrected_total", "reason"),
        stacked=True,
        width=8,
    ),
    series(
        "Drift now, by kind and reason",
        "Drift that is not repaired at this moment. It should fall to nothing within seconds, unless drift.action is "
        "Report.",
        parts("drift_objects", "kind", "reason"),
        stacked=True,
        width=8,
    ),
    series(
        "Drift now, by field manager",
        "Who made the drift that is not repaired at this moment.",
        parts("drift_manager_objects", "manager"),
        stacked=True,
        width=8,
    ),
    series(
        "Tugs of war, by rival",
        "Objects that this field manager changes back as often as syncd repairs them; syncd repairs them less often "
        "meanwhile. Leave the field to it (drift.managers, drift.ignore), or stop it.",
        parts("tug_of_war_objects", "manager"),
        stacked=True,
        width=8,
    ),
)

WORK: Final = (
    series(
        "What was changed",
        "Objects created, updated and pruned. Updates at every poll mean that something changes the objects back; see "
        "the drift above.",
        events("actions_total", "action"),
        stacked=True,
        width=8,
    ),
    series(
        "Reconciles, by result",
        "Reconciles that ended in the time of one point.",
        events("reconciles_total", "result"),
        stacked=True,
        width=8,
    ),
    series(
        "Failures in a row",
        "Back to 0 with the first reconcile that goes well. While it grows, read the error on the status page.",
        Query(newest("consecutive_failures"), "failures"),
        levels=(GOOD, (5, WARNING)),
        width=8,
    ),
    series(
        "Duration of a reconcile",
        "How long the last one took, and the Sync's interval: a reconcile as long as the interval never rests. Which "
        "stage takes the time, the daemon's dashboard shows.",
        Query(newest("last_duration_seconds"), "duration"),
        Query(newest("interval_seconds"), "interval"),
        unit=units.Seconds,
        width=24,
    ),
)

OBJECTS: Final = (
    series(
        "Not healthy, by health",
        "Objects that are not Healthy. Progressing that does not end is a rollout that is stuck.",
        parts("unhealthy_objects", "health"),
        stacked=True,
        width=8,
    ),
    series(
        "Kept, by reason",
        "Objects that left Git and are not deleted. BudgetExceeded, EmptyRender, InventoryInDoubt: held for you to "
        "look. Terminating: a finalizer holds them. OwnerLost: delete by hand if they should go. Others are protected "
        "on purpose.",
        parts("kept_objects", "reason"),
        stacked=True,
        width=8,
    ),
    series(
        "Pending, by reason",
        "Objects whose action failed, or waits for one that failed. The reason is the API server's word or syncd's; "
        "the status page has the sentence.",
        parts("pending_objects", "reason"),
        stacked=True,
        width=8,
    ),
    series(
        "Prunes held against the budget",
        "Objects that one commit would delete beyond what one reconcile may delete. Look at them on the status page; "
        "if they should go, raise prune.budget until they are gone.",
        Query('max(syncd_sync_kept_objects{sync="$sync", reason="BudgetExceeded"}) or vector(0)', "would be pruned"),
        Query(newest("prune_budget_objects"), "budget"),
    ),
    bars(
        "Inventory",
        "How long the list of objects is, in apply-config objects. Beyond one it goes on in pages: nothing to do, but "
        "a Sync this large is slower to compare; split it if that hurts.",
        Query(f"{newest('inventory_bytes')} / max(syncd_inventory_limit_bytes)", "of one object"),
        unit=units.PercentUnit,
        levels=(QUIET, (1, NOTICE)),
    ),
)
