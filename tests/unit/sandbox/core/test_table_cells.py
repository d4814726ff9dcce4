from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from syncd.sandbox import jsonpath
from syncd.sandbox.durations import human_duration, since
from syncd.sandbox.table_cells import cell
from syncd.sandbox.table_columns import BUILT_IN

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def row(group: str, kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    whole = {"metadata": {"name": "a", "namespace": "b", "creationTimestamp": "2026-01-01T11:58:30Z"}} | obj
    return {column.name: cell(column, whole, NOW) for column in BUILT_IN[group, kind]}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (185, "3m5s"),
        (605, "10m"),
        (3 * 3600 + 60, "3h1m"),
        (9 * 3600, "9h"),
        (50 * 3600, "2d2h"),
        (9 * 86400, "9d"),
        (800 * 86400, "2y70d"),
        (10 * 365 * 86400, "10y"),
    ],
)
def test_durations_read_as_kubectl_writes_them(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def test_a_time_that_is_none_is_told_apart_from_none_at_all() -> None:
    assert since("soon", NOW) == "<invalid>"
    assert since(None, NOW) == "<unknown>"
    assert since("2026-01-01T11:59:00Z", NOW) == "60s"


def test_a_service_shows_addresses_and_ports() -> None:
    spec = {
        "type": "NodePort",
        "clusterIP": "10.0.0.1",
        "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
        "selector": {"app": "web"},
    }
    shown = row("", "Service", {"spec": spec})
    assert (shown["Port(s)"], shown["External-IP"], shown["Selector"]) == ("80:30080/TCP,53/UDP", "<none>", "app=web")
    pending = row("", "Service", {"spec": spec | {"type": "LoadBalancer"}})
    assert pending["External-IP"] == "<pending>"


def test_a_pod_shows_why_it_waits() -> None:
    waiting = {"ready": False, "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    pod = {
        "spec": {"containers": [{"name": "main"}], "nodeName": "n"},
        "status": {"phase": "Running", "containerStatuses": [waiting]},
    }
    shown = row("", "Pod", pod)
    assert (shown["Ready"], shown["Status"], shown["Restarts"], shown["Node"]) == ("0/1", "CrashLoopBackOff", "2", "n")


def test_a_job_shows_how_far_it_is() -> None:
    status = {
        "succeeded": 1,
        "startTime": "2026-01-01T11:00:00Z",
        "completionTime": "2026-01-01T11:00:30Z",
        "conditions": [{"type": "Complete", "status": "True"}],
    }
    shown = row("batch", "Job", {"spec": {"completions": 1, "template": {"spec": {}}}, "status": status})
    assert (shown["Status"], shown["Completions"], shown["Duration"]) == ("Complete", "1/1", "30s")


def test_an_endpoint_slice_shows_a_few_addresses() -> None:
    endpoints = [{"addresses": [f"10.0.0.{number}"]} for number in range(5)]
    shown = row("discovery.k8s.io", "EndpointSlice", {"addressType": "IPv4", "endpoints": endpoints, "ports": []})
    assert shown["Endpoints"] == "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more..."


def test_every_cell_can_be_made_of_an_object_that_says_nothing() -> None:
    for group, kind in BUILT_IN:
        assert row(group, kind, {"spec": {}})["Name"] == "a"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.size", [3]),
        (".spec.list[0].name", ["x"]),
        (".spec.list[*].name", ["x", "y"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".metadata.annotations.example\\.com/a", ["1"]),
        (".spec.none", []),
        (".spec..", []),
    ],
)
def test_paths_of_printer_columns(path: str, expected: list[object]) -> None:
    obj = {
        "metadata": {"annotations": {"example.com/a": "1"}},
        "spec": {"size": 3, "list": [{"name": "x"}, {"name": "y"}]},
        "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
    }
    assert jsonpath.find(path, obj) == expected
