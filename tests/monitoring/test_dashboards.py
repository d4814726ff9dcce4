"""The dashboards as files: fresh, of the form that Grafana knows, and complete."""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel
from grafana_foundation_sdk.models.prometheus import Dataquery

from grafana.generate import files
from tests.monitoring.boards import boards, expressions, metrics_named, panels

MODERN = {"stat", "timeseries", "table", "state-timeline", "bargauge", "heatmap"}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}

BOARDS = boards()
PANELS = [pytest.param(panel, id=f"{uid}: {panel['title']}") for uid in BOARDS for panel in panels(BOARDS[uid])]


def everything(value: Any) -> list[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        return [value, *(one for item in value.values() for one in everything(item))]
    return [one for item in value for one in everything(item)] if isinstance(value, list) else []


def assert_contains(read: Any, written: Any) -> None:
    """Nothing that is written got lost or changed when it was read; defaults may have come to it."""
    if isinstance(written, dict):
        for name, value in written.items():
            assert name in read, f"{name} means nothing to Grafana"
            assert_contains(read[name], value)
    elif isinstance(written, list):
        assert len(read) == len(written)
        for one, other in zip(read, written, strict=True):
            assert_contains(one, other)
    else:
        assert read == written


def test_the_generated_files_are_fresh() -> None:
    for path, text in files().items():
        assert path.read_text() == text, f"{path} is stale: make dashboards"


def test_there_are_three_dashboards_with_uids_of_their_own() -> None:
    assert set(BOARDS) == {"syncd-overview", "syncd-sync", "syncd-daemon"}


@pytest.mark.parametrize("uid", BOARDS)
def test_grafanas_types_read_the_whole_dashboard(uid: str) -> None:
    register_default_plugins()
    board = Dashboard.from_json(BOARDS[uid])
    assert_contains(json.loads(json.dumps(board, cls=JSONEncoder)), BOARDS[uid])
    found = [panel for panel in board.panels or () if isinstance(panel, Panel)]
    assert len(found) == len(panels(BOARDS[uid]))
    for panel in found:
        assert not isinstance(panel.options, dict), f"{panel.title}: {panel.type_val} is no type that Grafana knows"
        assert all(isinstance(target, Dataquery) for target in panel.targets or ())


@pytest.mark.parametrize("uid", BOARDS)
def test_panels_have_ids_and_titles_of_their_own_and_do_not_overlap(uid: str) -> None:
    ids = [panel["id"] for panel in BOARDS[uid]["panels"]]
    assert len(set(ids)) == len(ids)
    titles = [panel["title"] for panel in panels(BOARDS[uid])]
    assert len(set(titles)) == len(titles)
    places = [panel["gridPos"] for panel in BOARDS[uid]["panels"]]
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above
    assert all(place["x"] + place["w"] <= 24 for place in places)


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_is_modern_and_says_what_to_do(panel: dict[str, Any]) -> None:
    assert panel["type"] in MODERN
    assert len(panel["description"]) > 40
    assert panel["datasource"] == DATASOURCE
    assert all(target["datasource"] == DATASOURCE for target in panel["targets"])
    assert panel["fieldConfig"]["defaults"]["unit"]


@pytest.mark.parametrize("panel", PANELS)
def test_thresholds_rise(panel: dict[str, Any]) -> None:
    for part in everything(panel["fieldConfig"]):
        if "steps" in part:
            first, *others = [step["value"] for step in part["steps"]]
            assert first is None
            assert all(lower < higher for lower, higher in pairwise(others))


@pytest.mark.parametrize("uid", BOARDS)
def test_variables_are_asked_of_the_data_source_and_all_are_used(uid: str) -> None:
    first, *others = BOARDS[uid]["templating"]["list"]
    assert (first["type"], first["query"]) == ("datasource", "prometheus")
    used = {name for one in expressions() if one.board == uid for name in re.findall(r"\$([a-z]+)", one.text)}
    used |= {name for other in others for name in re.findall(r"\$([a-z]+)", other["query"]["query"])}
    assert {other["name"] for other in others} == used
    assert all(other["datasource"] == DATASOURCE for other in others)
    assert all(metrics_named(re.sub(r"label_values\((.*),.*", r"\1", other["query"]["query"])) for other in others)


@pytest.mark.parametrize("uid", BOARDS)
def test_links_lead_to_dashboards_that_are_there(uid: str) -> None:
    links = BOARDS[uid]["links"]
    assert [(link["type"], link["tags"], link["keepTime"]) for link in links] == [("dashboards", ["syncd"], True)]
    assert "syncd" in BOARDS[uid]["tags"]
    urls = re.findall(r'"url": "/d/([\w-]+)', json.dumps(BOARDS[uid]))
    assert set(urls) <= set(BOARDS)
    if uid == "syncd-overview":
        assert urls == ["syncd-sync"]
