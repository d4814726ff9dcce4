"""A story that a real Prometheus watches: does every panel and every alert say what happened?"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml

from tests.monitoring.boards import REPOSITORY, RULES, expressions, metrics_named, substitute
from tests.monitoring.programs import Labels, Prometheus
from tests.support.clusters import Sandbox
from tests.support.daemon import DaemonProcess, eventually, metric, sync_document
from tests.support.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOUR = 3600.0
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n"
SETTING = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {colour: blue}\n"
PAUSED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  paused: true
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.com/web:1"}]}
"""
FRONT = """\
apiVersion: v1
kind: Service
metadata: {name: front, namespace: found}
spec: {type: LoadBalancer, ports: [{port: 80}]}
"""
STRAY = "apiVersion: nowhere.example.com/v1\nkind: Stray\nmetadata: {name: stray}\n"
MANY = {f"many-{number}.yaml": SETTING % (f"many-{number}", "shop") for number in range(15)}
SHOP = {
    "namespace.yaml": NAMESPACE % "shop",
    "settings.yaml": SETTING % ("settings", "shop"),
    "web.yaml": PAUSED,
    **MANY,
}
AUDIT = {name: SETTING % (name.removesuffix(".yaml"), "audit") for name in ("one.yaml", "two.yaml")}
AUDIT["namespace.yaml"] = NAMESPACE % "audit"


class Story(NamedTuple):
    """All that takes part."""

    folder: Path
    cluster: Sandbox
    shop: Repository
    audit: Repository
    daemon: DaemonProcess
    prometheus: Prometheus

    def shows(self, board: str, panel: str, wanted: object, ref: str = "A", sync: str = "syncd/shop") -> None:
        """Wait until a panel shows something: a number, values by labels, or what a function says yes to."""
        (asked,) = [one for one in EXPRESSIONS if (one.board, one.panel, one.ref) == (f"syncd-{board}", panel, ref)]
        self._wait(f"{panel} shows {wanted}", fill_in(asked.text, sync), wanted)

    def alerts(self, alert: str, *syncs: str, later: float = HOUR) -> None:
        """Wait until an alert's expression holds for just these Syncs, if nothing changes for a while."""
        expected = {(f"syncd/{name}",) for name in syncs}
        self._wait(f"{alert} holds for {expected}", ALERTS[alert], lambda found: set(found) == expected, later)

    def _wait(self, what: str, expression: str, wanted: object, later: float = 0.0) -> None:
        last: dict[Labels, float] = {}

        def holds() -> bool:
            nonlocal last
            last = self.prometheus.query(expression, later=later)
            if callable(wanted):
                return bool(wanted(last))
            return last == (wanted if isinstance(wanted, dict) else {(): wanted})

        try:
            eventually(what, holds)
        except AssertionError:
            raise AssertionError(f"{what}: it is {last}") from None


EXPRESSIONS = expressions()
ALERTS = {
    rule["alert"]: rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
}


def fill_in(expression: str, sync: str = "syncd/shop") -> str:
    values = {"__rate_interval": "30s", "__range": "60s", "namespace": "[^/]+", "instance": ".+", "sync": sync}
    return substitute(expression, **values)


def some(*labels: str) -> Callable[[dict[Labels, float]], bool]:
    """There is a series with these labels and a value above zero."""
    return lambda found: found.get(labels, 0.0) > 0


def change_setting(story: Story, name: str, namespace: str, colour: str) -> None:
    patch = f'{{"data":{{"colour":"{colour}"}}}}'
    story.cluster.kubectl("patch", "configmap", name, "-n", namespace, "--type=merge", "-p", patch)


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """Syncs: one that corrects, one that only reports, one that waits for its repository, one suspended."""
    shop, audit = Repository(tmp_path / "shop.git"), Repository(tmp_path / "audit.git")
    shop.commit(SHOP)
    audit.commit(AUDIT)
    cluster = Sandbox(tmp_path)
    syncs = (
        sync_document("shop", shop.url),
        sync_document("audit", audit.url, drift={"action": "Report"}, prune={"enabled": False}),
        sync_document("lost", f"file://{tmp_path / 'lost.git'}", wait=True),
        sync_document("resting", shop.url, suspend=True),
    )
    try:
        with DaemonProcess(tmp_path, cluster.kubeconfig, *syncs) as daemon:
            address = daemon.url.removeprefix("http://")
            with Prometheus(tmp_path, address, RULES) as prometheus:
                yield Story(tmp_path, cluster, shop, audit, daemon, prometheus)
    finally:
        cluster.server.stop()


def test_every_panel_and_every_alert_tells_the_story(story: Story) -> None:
    begin = time.time()
    it_begins_well(story)
    a_repository_appears(story)
    somebody_edits(story)
    somebody_fights(story)
    a_commit_is_bad(story)
    a_commit_deletes_too_much(story)
    an_object_does_not_go_away(story)
    all_is_put_right(story)
    every_expression_has_had_a_value(story, begin)
    every_documented_metric_was_there(story)
    the_daemon_ends(story)


def it_begins_well(story: Story) -> None:
    story.shows("overview", "Syncs", 4)
    story.shows("overview", "In sync", 2 / 3)
    story.shows("overview", "Not in sync", 1)
    story.shows("overview", "Failing", 1)
    story.shows("overview", "Drifting objects", 0)
    story.shows("overview", "Oldest drift", {})
    story.shows("sync", "State", 0)
    story.shows("sync", "Objects", 18)
    story.shows("sync", "Failing for", {})
    story.shows("sync", "Failing for", lambda found: found[()] > 0, sync="syncd/lost")
    story.shows("overview", "What was changed", some("create"))
    story.shows("daemon", "Leaders", 1)
    story.shows("daemon", "Kinds in doubt", 0)
    story.shows("daemon", "Polls, by result", some("RepositoryNotFound"))
    story.shows("daemon", "Managed objects, by kind", lambda found: found[("ConfigMap",)] == 18)
    story.alerts("SyncdGitUnreachable", "lost")
    story.alerts("SyncdGitUnreachable", later=0)
    story.alerts("SyncdSyncFailing")
    story.alerts("SyncdDriftNotRepaired")
    story.alerts("SyncdPruneHeld")
    story.alerts("SyncdNotSyncing", "shop", "audit", "lost")
    story.alerts("SyncdNotSyncing", later=0)
    for alert in ("SyncdDown", "SyncdWatchFailing", "SyncdAPIErrors"):
        story.alerts(alert, later=0)


def a_repository_appears(story: Story) -> None:
    lost = Repository(story.folder / "lost.git")
    lost.commit(
        {"namespace.yaml": NAMESPACE % "found", "prize.yaml": SETTING % ("prize", "found"), "front.yaml": FRONT}
    )
    story._wait("it waits", "syncd_sync_waiting_since_timestamp_seconds", some("syncd/lost"))
    address = '{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}'
    story.cluster.kubectl(
        "patch", "service", "front", "-n=found", "--subresource=status", "--type=merge", "-p", address
    )
    story.shows("daemon", "Stages, 95 of 100 below", lambda found: ("wait",) in found)
    story.shows("overview", "Failing", 0)
    story.shows("overview", "In sync", 1)
    story.alerts("SyncdGitUnreachable")


def somebody_edits(story: Story) -> None:
    change_setting(story, "settings", "shop", "red")
    story.shows("overview", "Drift found, by whom", some("kubectl-patch"))
    story.shows("overview", "Drift found and put right", some(), ref="A")
    story.shows("overview", "Drift found and put right", some(), ref="B")
    story.shows("sync", "Drift found, by kind and reason", some("ConfigMap", "changed"))
    story.shows("sync", "Drift put right, by reason", some("changed"))
    story.shows("sync", "Drift now, by kind and reason", {})
    story.alerts("SyncdDriftNotRepaired")

    change_setting(story, "one", "audit", "red")
    story.shows("overview", "Drifting objects", 1)
    story.shows("overview", "Oldest drift", lambda found: found[()] > 0)
    story.shows("overview", "Drift now, by reason", {("changed",): 1})
    story.shows("sync", "State", 1, sync="syncd/audit")
    story.shows("sync", "Drift now, by field manager", {("kubectl-patch",): 1}, sync="syncd/audit")
    story.alerts("SyncdDriftNotRepaired", "audit")
    story.alerts("SyncdDriftNotRepaired", later=0)


def somebody_fights(story: Story) -> None:
    def tear() -> float | None:
        change_setting(story, "prize", "found", "red")
        eventually("the prize is put right", lambda: "red" not in story.cluster.kubectl(*prize))
        return metric(story.daemon, "syncd_sync_tug_of_war_objects", sync="syncd/lost")

    prize = ("get", "configmap", "prize", "-n", "found", "-o", "jsonpath={.data}")
    eventually("a tug of war is noticed", tear)
    story.shows("sync", "Tugs of war, by rival", {("kubectl-patch",): 1}, sync="syncd/lost")
    story.shows("sync", "Waits, by reason", {("TugOfWar",): 1}, sync="syncd/lost")


def a_commit_is_bad(story: Story) -> None:
    story.shop.commit({"stray.yaml": STRAY})
    story.shows("overview", "Failing", 1)
    story.shows("sync", "Pending, by reason", lambda found: sum(found.values()) == 1)
    story.shows("sync", "Failures in a row", lambda found: found[()] >= 1)
    story.shows("sync", "Behind Git for", lambda found: found[()] >= 0)
    story.shows(
        "daemon", "Actions that failed, by kind and reason", lambda found: any("Stray" in str(one) for one in found)
    )
    story.alerts("SyncdSyncFailing", "shop")
    story.alerts("SyncdGitUnreachable")
    story.shop.commit({"stray.yaml": None})
    story.shows("overview", "Failing", 0)
    story.shows("sync", "Behind Git for", {})
    story.alerts("SyncdSyncFailing")


def a_commit_deletes_too_much(story: Story) -> None:
    story.audit.commit({"two.yaml": None})
    story.shows("sync", "Kept, by reason", {("PruneOff",): 1}, sync="syncd/audit")
    story.shop.commit(dict.fromkeys(list(MANY)[:12]))
    story.shows("overview", "Prunes held", 1)
    story.shows("sync", "Kept, by reason", {("BudgetExceeded",): 12})
    story.shows("sync", "Prunes held against the budget", 12, ref="A")
    story.shows("sync", "Prunes held against the budget", 5, ref="B")
    story.alerts("SyncdPruneHeld", "shop")
    story.shop.commit({name: MANY[name] for name in list(MANY)[:12]})
    story.shows("overview", "Prunes held", 0)
    story.alerts("SyncdPruneHeld")


def an_object_does_not_go_away(story: Story) -> None:
    finalizer = '{"metadata":{"finalizers":["example.com/wait"]}}'
    story.cluster.kubectl("patch", "configmap", "many-0", "-n", "shop", "--type=merge", "-p", finalizer)
    story.shop.commit({"many-0.yaml": None})
    story.shows("sync", "Kept, by reason", {("Terminating",): 1})
    story.alerts("SyncdPrunePending", "shop")
    nothing = '{"metadata":{"finalizers":null}}'
    story.cluster.kubectl("patch", "configmap", "many-0", "-n", "shop", "--type=merge", "-p", nothing)
    story.shows("sync", "Kept, by reason", {})
    story.shows("sync", "Objects", 17)
    story.alerts("SyncdPrunePending")


def all_is_put_right(story: Story) -> None:
    change_setting(story, "one", "audit", "blue")
    story.shows("overview", "Drifting objects", 0)
    story.shows("overview", "Failing", 0)
    story.shows("overview", "Oldest drift", {})
    story.alerts("SyncdDriftNotRepaired")


def every_expression_has_had_a_value(story: Story, begin: float) -> None:
    known = story.prometheus.metrics()
    for one in EXPRESSIONS:
        assert metrics_named(one.text) <= known, f"{one.board}, {one.panel}: {metrics_named(one.text) - known}"
        values = sum(
            story.prometheus.over_time(fill_in(one.text, f"syncd/{name}"), since=begin)
            for name in ("shop", "audit", "lost")
        )
        assert values, f"{one.board}, {one.panel}, {one.ref} has never had a value: {one.text}"
    for alert, expression in ALERTS.items():
        assert metrics_named(expression) <= known, f"{alert}: {metrics_named(expression) - known}"
    rules = story.prometheus.rules()
    assert {rule["name"] for rule in rules} == set(ALERTS)
    assert not [rule["lastError"] for rule in rules if rule["health"] != "ok"]


def every_documented_metric_was_there(story: Story) -> None:
    page = (REPOSITORY / "docs" / "reference" / "metrics.md").read_text()
    documented = set(re.findall(r"^\| `(syncd_\w+)`", page, re.MULTILINE))
    known = story.prometheus.metrics()
    assert documented <= known | {name.removesuffix("_bucket") for name in known}


def the_daemon_ends(story: Story) -> None:
    assert story.daemon.stop() == 0
    story._wait("SyncdDown holds", ALERTS["SyncdDown"], 1)
