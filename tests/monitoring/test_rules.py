"""The alerting rules as files: what promtool says of them, and whether each can be understood and acted on."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.monitoring.boards import REPOSITORY, RULES
from tests.monitoring.programs import promtool
from tests.support.kubectl import Kubectl

if TYPE_CHECKING:
    from pathlib import Path

CASES = REPOSITORY / "tests" / "monitoring" / "rules_test.yaml"
RUNBOOKS = REPOSITORY / "docs" / "runbooks"

ALERTS: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
]
EACH = pytest.mark.parametrize("alert", ALERTS, ids=[alert["alert"] for alert in ALERTS])


def test_promtool_finds_nothing_wrong() -> None:
    assert f"{len(ALERTS)} rules found" in promtool("check", "rules", str(RULES))


def test_each_alert_fires_when_it_should_and_only_then() -> None:
    promtool("test", "rules", str(CASES))


@EACH
def test_an_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(alert: dict[str, Any]) -> None:
    name = alert["alert"]
    (case,) = [case for case in yaml.safe_load(CASES.read_text())["tests"] if name in json.dumps(case)]
    expected = case["promql_expr_test"]
    assert any(name in question["expr"] + json.dumps(question["exp_samples"]) for question in expected)
    assert any("alertname" not in question["expr"] and not question["exp_samples"] for question in expected)


@EACH
def test_an_alert_says_what_is_wrong_and_what_to_do(alert: dict[str, Any]) -> None:
    notes = alert["annotations"]
    assert set(notes) == {"summary", "description", "runbook", "runbook_page"}
    assert alert["labels"]["severity"] in ("warning", "critical")
    page, _, section = notes["runbook_page"].partition("#")
    assert section == alert["alert"].lower()
    assert re.search(rf"^## {alert['alert']}$", (REPOSITORY / page).read_text(), re.MULTILINE)


def test_there_is_no_runbook_section_without_an_alert() -> None:
    sections = re.findall(r"^## (Syncd\w+)$", (RUNBOOKS / "alerts.md").read_text(), re.MULTILINE)
    assert sections == [alert["alert"] for alert in ALERTS]


def test_the_manifests_hold_the_rules_and_the_dashboards(tmp_path: Path) -> None:
    text = Kubectl(tmp_path / "none")("kustomize", str(REPOSITORY / "deploy" / "monitoring"))
    objects = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text)}
    assert objects["PrometheusRule", "syncd"]["spec"] == yaml.safe_load(RULES.read_text())
    assert objects["ServiceMonitor", "syncd"]["spec"]["endpoints"][0]["path"] == "/metrics"
    boards = [each for (kind, _), each in objects.items() if kind == "ConfigMap"]
    assert {name for each in boards for name in each["data"]} == {
        path.name for path in (REPOSITORY / "grafana" / "dashboards").iterdir()
    }
    # kubectl apply keeps the whole object in an annotation, and all annotations together have this limit.
    assert all(len(json.dumps(each)) < 262144 for each in boards)
    assert all(each["metadata"]["labels"]["grafana_dashboard"] == "1" for each in boards)
