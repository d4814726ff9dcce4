"""The daemon itself: what it costs the API server and Git, whether it keeps up, what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.models import units

from grafana.panels import (
    BAD,
    DAEMON,
    FLAGS,
    GOOD,
    NOTICE,
    QUIET,
    WARNING,
    Query,
    bars,
    figure,
    growth,
    heat,
    page,
    series,
    timeline,
    variable,
)

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Dashboard

HERE: Final = 'instance=~"$instance"'


def build() -> Dashboard:
    """Return the dashboard."""
    return page(
        DAEMON,
        "syncd / Daemon",
        "The daemon itself: reconciles and their queue, requests to the API server, Git, watches, memory.",
        (INSTANCE,),
        {"Now": NOW, "Reconciles": RECONCILES, "API server": API, "Git": GIT, "Live objects": LIVE, "Process": PROCESS},
    )


def process(metric: str) -> str:
    """A metric of the process, of syncd's only: every Python program exports these names."""
    return f"process_{metric}{{{HERE}}} and on (job, instance) syncd_build_info"


def rate(metric: str, *labels: str, only: str = "") -> str:
    """A counter's growth each second, by labels."""
    selector = f"{HERE}, {only}" if only else HERE
    return f"sum by ({', '.join(labels)}) (rate(syncd_{metric}{{{selector}}}[$__rate_interval]))"


def events(metric: str, *labels: str) -> Query:
    """A counter's growth in the time of one point, by labels."""
    return Query(growth(f"syncd_{metric}", HERE, *labels), " ".join("{{" + label + "}}" for label in labels))


def slowest(metric: str, label: str, *, only: str = "") -> Query:
    """What 95 of 100 stay below, by a label."""
    buckets = rate(f"{metric}_bucket", "le", label, only=only)
    return Query(f"histogram_quantile(0.95, {buckets})", "{{" + label + "}}")


def spread(metric: str, only: str = "") -> str:
    """A histogram for a heatmap."""
    selector = f"{HERE}, {only}" if only else HERE
    return f"sum by (le) (increase(syncd_{metric}_bucket{{{selector}}}[$__rate_interval]))"


INSTANCE: Final = variable(
    "instance", "Instance", "Replicas of syncd", "label_values(syncd_build_info, instance)", everything=".+"
)

NOW: Final = (
    figure(
        "Version",
        "The version of syncd that runs. Two of them are an upgrade under way; if that lasts, look at the rollout.",
        Query(f"count by (version) (syncd_build_info{{{HERE}}})", "{{version}}"),
        nothing="not scraped",
    ),
    figure(
        "Leaders",
        "Replicas that may write: one. None for longer than a few seconds: nothing is applied; see the alert "
        "SyncdNoLeader. Two: these are two installations, or Prometheus has not scraped both since a change of leader.",
        f"sum(syncd_leader{{{HERE}}})",
        levels=(BAD, (1, GOOD), (2, NOTICE)),
    ),
    figure(
        "Up for",
        "Time since the daemon started. If this is short again and again, read the log of the previous container: out "
        "of memory, or a failed probe.",
        f"time() - min({process('start_time_seconds')})",
        unit=units.Seconds,
        levels=(WARNING, (600, GOOD)),
    ),
    figure(
        "Running",
        "Reconciles under way; never more than the daemon has workers (4 unless set).",
        f"sum(syncd_reconciles_running{{{HERE}}})",
    ),
    figure(
        "Waiting",
        "Reconciles that are due and have not begun. A few now and then are fine; if it never falls, give the daemon "
        "more workers or the Syncs longer intervals.",
        f"sum(syncd_reconciles_waiting{{{HERE}}})",
        levels=(GOOD, (10, NOTICE), (50, BAD)),
    ),
    figure(
        "Longest wait",
        "How long the reconcile that has waited longest has been due. A minute and more: one stage is slow, see below.",
        f"max(syncd_reconciles_longest_wait_seconds{{{HERE}}})",
        unit=units.Seconds,
        levels=(GOOD, (30, NOTICE), (120, BAD)),
    ),
    figure(
        "Requests",
        "Requests to the API server each second, without watches that are open. A daemon with nothing to do makes one "
        "or two for each poll of a Sync.",
        f"sum(rate(syncd_api_requests_total{{{HERE}}}[$__rate_interval]))",
        unit=units.RequestsPerSecond,
    ),
    figure(
        "Kinds in doubt",
        "Kinds of which syncd does not know for sure what is live, so that it prunes nothing of them. More than 0 for "
        "long: see which, below, and whether syncd may list and watch them.",
        f"count(max by (kind) (syncd_live_in_doubt{{{HERE}}}) > 0) or vector(0)",
        levels=(GOOD, (1, BAD)),
    ),
    figure(
        "Memory",
        "Resident memory of all replicas shown. It grows with the number of managed objects; see at the bottom of "
        "this page.",
        f"sum({process('resident_memory_bytes')})",
        unit=units.BytesIEC,
    ),
)

RECONCILES: Final = (
    heat(
        "How long reconciles take",
        "Most should be in the lowest rows. A band that rises means that everything became slower: see the stages "
        "beside this.",
        spread("reconcile_duration_seconds", 'stage="total"'),
        width=8,
    ),
    series(
        "Stages, 95 of 100 below",
        "Where the time goes. fetch: Git; render: Kustomize or Helm; observe and apply: the API server; plan: the CPU; "
        "wait: until objects are healthy.",
        slowest("reconcile_duration_seconds", "stage"),
        unit=units.Seconds,
        width=8,
    ),
    heat(
        "From commit to live",
        "How old a commit is, by its own time, when it has been applied. Much more than the interval: commits wait for "
        "a window, for another Sync, or for something that fails; or they are pushed long after they were made.",
        spread("commit_to_applied_seconds"),
        width=8,
    ),
    series(
        "Queue",
        "Reconciles that run and that are due and wait. Waiting that never falls: more workers, or longer intervals.",
        Query(f"sum(syncd_reconciles_running{{{HERE}}})", "running"),
        Query(f"sum(syncd_reconciles_waiting{{{HERE}}})", "waiting"),
        width=8,
    ),
    series(
        "Objects changed, by action and kind",
        "What syncd writes. Kinds that are updated all the time, without commits, are in a tug-of-war.",
        events("actions_total", "action", "kind"),
        stacked=True,
        width=8,
    ),
    series(
        "Actions that failed, by kind and reason",
        "Each try counts. Forbidden: syncd's permissions lack something. Invalid: a manifest is wrong. Conflict: "
        "somebody writes at the same time, which passes.",
        events("action_failures_total", "action", "kind", "reason"),
        stacked=True,
        width=8,
    ),
)

API: Final = (
    series(
        "Requests, by verb",
        "What syncd asks of the API server. get and list at a steady high rate, without commits, are worth an issue.",
        Query(rate("api_requests_total", "verb"), "{{verb}}"),
        unit=units.RequestsPerSecond,
        width=8,
    ),
    series(
        "Answers other than success, by code",
        "0: no answer came. 401 and 403: credentials or permissions. 404 and 409 are part of the work. 429: the "
        "server asks for less. 5xx: the server, or a webhook or an aggregated API behind it, is in trouble.",
        Query(growth("syncd_api_requests_total", f'{HERE}, code!~"2.."', "code", "verb"), "{{code}} {{verb}}"),
        stacked=True,
        width=8,
    ),
    series(
        "Duration of requests, 95 of 100 below",
        "Slow writes are mostly admission webhooks; slow reads are the API server or its etcd.",
        slowest("api_request_duration_seconds", "verb"),
        unit=units.Seconds,
        width=8,
    ),
    heat(
        "How long requests take",
        "All verbs together. Two separate bands: something that only some requests pass through, mostly a webhook.",
        spread("api_request_duration_seconds"),
    ),
    bars(
        "What is asked most",
        "The verbs and resources with most requests each second.",
        Query(
            f"topk(10, {rate('api_requests_total', 'verb', 'resource', 'group')})", "{{verb}} {{resource}} {{group}}"
        ),
        unit=units.RequestsPerSecond,
        levels=(QUIET, (5, NOTICE), (20, WARNING)),
    ),
)

GIT: Final = (
    series(
        "Polls, by result",
        "Looks for a new revision, by what came of them. Anything but Succeeded: which Syncs it is, the overview "
        "shows as failing, and the status page says why.",
        events("git_polls_total", "result"),
        stacked=True,
        width=8,
    ),
    series(
        "Conversations, by operation",
        "ls-remote asks, fetch brings. Many more fetches than commits are worth an issue.",
        Query(rate("git_requests_total", "operation", "result"), "{{operation}} {{result}}"),
        unit=units.RequestsPerSecond,
        width=8,
    ),
    series(
        "Duration of conversations, 95 of 100 below",
        "ls-remote takes a fraction of a second; seconds are the network or the Git server.",
        slowest("git_request_duration_seconds", "operation"),
        unit=units.Seconds,
        width=8,
    ),
)

LIVE: Final = (
    timeline(
        "Kinds in doubt over time",
        "Kinds whose watch is broken. Nothing of such a kind is pruned. Check that syncd may list and watch it, and "
        "whether an aggregated API or a conversion webhook is down.",
        Query(f"max by (kind) (syncd_live_in_doubt{{{HERE}}})", "{{kind}}"),
        words=FLAGS,
        width=24,
    ),
    series(
        "Watches begun, lists and failures",
        "Watches end by themselves every few minutes and begin again. A second list of a kind, or failures that go "
        "on, mean that watches are lost.",
        Query(growth("syncd_live_watches_total", HERE), "watches begun"),
        Query(growth("syncd_live_lists_total", HERE), "lists"),
        Query(growth("syncd_live_failures_total", HERE), "failures"),
        width=8,
    ),
    series(
        "Changes seen, by kind",
        "Changes of managed objects each second, by whomever. A kind that never rests keeps syncd busy: somebody "
        "writes its status, or fights for its spec.",
        Query(f"topk(10, {rate('live_events_total', 'kind')})", "{{kind}}"),
        unit=units.EventsPerSecond,
        width=8,
    ),
    series(
        "Managed objects, by kind",
        "What is held in memory: the objects that Syncs manage, and no others.",
        Query(f"topk(10, max by (kind) (syncd_live_objects{{{HERE}}}))", "{{kind}}"),
        width=8,
    ),
)

PROCESS: Final = (
    series(
        "Memory of each replica",
        "Resident memory. Compare with the container's limit; a line that only rises over days is worth an issue.",
        Query(process("resident_memory_bytes"), "{{instance}}"),
        unit=units.BytesIEC,
        width=8,
    ),
    series(
        "CPU",
        "Processors in use. Python uses about one at a time: at 1 for long, split the Syncs over several daemons.",
        Query(
            f"rate(process_cpu_seconds_total{{{HERE}}}[$__rate_interval]) and on (job, instance) syncd_build_info",
            "{{instance}}",
        ),
        levels=(GOOD, (0.9, WARNING)),
        width=8,
    ),
    series(
        "Open files",
        "Share of the files and connections that the process may have open. Close to 1, reconciles fail: raise the "
        "limit, and report what you see.",
        Query(
            f"process_open_fds{{{HERE}}} / process_max_fds and on (job, instance) syncd_build_info",
            "{{instance}}",
        ),
        unit=units.PercentUnit,
        levels=(GOOD, (0.8, BAD)),
        width=8,
    ),
)
