"""The pages, the JSON form, probes and headers, as a browser or a script gets them."""

from __future__ import annotations

import dataclasses
import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry, Gauge
from starlette.testclient import TestClient

from syncd.daemon.status import DriftRecord, SyncStatus
from syncd.model import ActionType, DriftReason, FieldChange, ObjectKey
from syncd.web import create_app
from tests.unit.web import sample

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def board() -> sample.FakeBoard:
    return sample.believable()


@pytest.fixture
def client(board: sample.FakeBoard) -> Iterator[TestClient]:
    registry = CollectorRegistry()
    Gauge("syncd_example", "An example.", registry=registry).set(1)
    with TestClient(create_app(board, registry, clock=lambda: sample.NOW), raise_server_exceptions=False) as client:
        yield client


def titles(page: str) -> list[str]:
    return [part.split(">")[1].split("<")[0] for part in page.split('class="title"')[1:]]


def test_the_start_page_lists_every_sync_worst_first(client: TestClient) -> None:
    names = titles(client.get("/").text)
    assert len(names) == 12
    assert names[:4] == ["billing-prod", "shop-prod", "shop-staging", "ingress-prod"]


def test_the_start_page_says_what_fails_and_drifts(client: TestClient) -> None:
    page = client.get("/").text
    assert "2 failing" in page
    assert "1 drifted" in page
    assert "could not resolve host git.example.com" in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("state=OutOfSync", {"shop-prod", "shop-staging"}),
        ("health=Degraded", {"shop-prod"}),
        ("name=SHOP", {"shop-prod", "shop-staging", "shop-dev"}),
        ("state=Synced&name=shop", {"shop-dev"}),
        ("state=Unknown&health=Healthy", set()),
    ],
)
def test_filters_choose_syncs_on_the_page_and_in_json(client: TestClient, query: str, expected: set[str]) -> None:
    assert set(titles(client.get(f"/?{query}").text)) == expected
    assert {item["name"] for item in client.get(f"/api/v1/syncs?{query}").json()["items"]} == expected


@pytest.mark.parametrize("path", ["/?state=Green", "/api/v1/syncs?health=Sick", "/syncs/syncd/shop-dev?page=x"])
def test_a_filter_that_says_nothing_is_refused_with_what_to_choose_from(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 400
    assert "must be" in response.text


def test_an_empty_board_says_how_to_begin(client: TestClient, board: sample.FakeBoard) -> None:
    board.syncs = ()
    assert "syncd run --config" in client.get("/").text


def test_the_page_of_a_sync_shows_drift_with_fields_manager_and_age(client: TestClient) -> None:
    page = client.get("/syncs/syncd/shop-staging").text
    assert "spec.template.spec.containers[name=web].image" in page
    assert "- &#34;shop/web:hotfix&#34;" in page
    assert "+ &#34;shop/web:1.8.2&#34;" in page
    assert "kubectl-edit" in page
    assert 'title="2026-09-01 11:57:00 UTC">3 min ago' in page
    assert "only reported" in page


def test_an_origin_does_not_repeat_the_repository_of_the_page(client: TestClient, board: sample.FakeBoard) -> None:
    url = "https://git.example.com/platform/shop.git"
    here, elsewhere = (
        sample.make_object("::Namespace:shop", origin=f"{source} base/namespace.yaml, line 3")
        for source in (url, "https://git.example.com/base.git")
    )
    board.syncs = (dataclasses.replace(sample.healthy("shop"), objects=(here, elsewhere)),)
    page = client.get("/syncs/syncd/shop").text
    assert ">base/namespace.yaml, line 3<" in page
    assert ">https://git.example.com/base.git base/namespace.yaml, line 3<" in page


def test_the_page_of_a_sync_shows_errors_and_held_kept_and_pending_prunes(client: TestClient) -> None:
    page = client.get("/syncs/syncd/shop-prod").text
    assert "containers must not run as root" in page
    assert "7 times in a row" in page
    assert "more than the budget of 30 %" in page
    assert "DeletionDetached" in page
    assert "waits for Deployment.apps shop/worker, which failed" in page


def test_what_is_kept_for_one_reason_is_told_once(client: TestClient, board: sample.FakeBoard) -> None:
    kept = tuple(
        sample.make_object(f"shop::ConfigMap:map-{number}", ActionType.KEEP, "BudgetExceeded", message="too many")
        for number in range(600)
    )
    board.syncs = (dataclasses.replace(sample.healthy("shop-dev"), objects=kept),)
    page = client.get("/syncs/syncd/shop-dev?show=failed").text
    assert page.count("too many") == 1
    assert ("map-499<" in page, "map-500<" in page) == (True, False)
    assert "and 597 more" in page
    assert "and 100 more" in page


def test_a_sync_that_has_never_run_has_a_page(client: TestClient) -> None:
    assert "nothing applied yet" in client.get("/syncs/syncd/ingress-prod").text


@pytest.mark.parametrize(("show", "count"), [("failed", 2), ("changed", 3), ("kept", 1), ("skipped", 1)])
def test_objects_can_be_chosen_by_what_became_of_them(client: TestClient, show: str, count: int) -> None:
    page = client.get(f"/syncs/syncd/shop-prod?show={show}").text
    assert page.split('id="objects"')[1].split('id="history"')[0].count('<tr class="row') == count


def test_many_objects_come_in_pages(client: TestClient, board: sample.FakeBoard) -> None:
    objects = tuple(sample.make_object(f"shop::ConfigMap:settings-{number:04}") for number in range(450))
    board.syncs = (dataclasses.replace(sample.healthy("many"), objects=objects),)
    first, last = (client.get(f"/syncs/syncd/many?page={page}").text for page in (1, 3))
    assert "settings-0199" in first
    assert "settings-0200" not in first
    assert "401\u2013450 of 450" in last
    assert "settings-0449" in client.get("/syncs/syncd/many?page=99").text


def test_an_unknown_sync_is_not_found_in_the_form_that_was_asked_for(client: TestClient) -> None:
    page, data = client.get("/syncs/syncd/nobody"), client.get("/api/v1/syncs/syncd/nobody")
    assert (page.status_code, data.status_code) == (404, 404)
    assert "There is no Sync syncd/nobody." in page.text
    assert data.json() == {"error": "There is no Sync syncd/nobody."}


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/", "/syncs/syncd/shop-dev", "/api/v1/syncs", "/metrics", "/healthz"])
def test_nothing_can_be_changed(client: TestClient, method: str, path: str) -> None:
    assert client.request(method, path).status_code == 405


def test_json_has_every_part_of_a_sync(client: TestClient) -> None:
    sync = client.get("/api/v1/syncs/syncd/shop-staging").json()
    assert sync["state"] == "OutOfSync"
    assert sync["applied"] == {"ref": "main", "commit": sample.MAIN.commit, "tree": sample.MAIN.tree}
    assert sync["lastAttempt"] == "2026-09-01T11:59:36.000Z"
    assert sync["driftCount"] == 2
    assert sync["drift"][0]["changes"][0] == {"path": "spec.replicas", "before": 1, "after": 3}
    assert sync["drift"][0]["changes"][2] == {
        "path": "spec.template.spec.containers[name=web].env[name=DEBUG]",
        "before": {"name": "DEBUG"},
    }
    assert sync["objects"][0]["key"] == "::Namespace:shop"


def test_json_of_the_list_leaves_the_objects_out(client: TestClient) -> None:
    items = client.get("/api/v1/syncs").json()["items"]
    assert len(items) == 12
    assert "objects" not in items[0]


def test_json_holds_numbers_and_text_beyond_what_fast_encoders_take(
    client: TestClient, board: sample.FakeBoard
) -> None:
    change = FieldChange("spec.big", 2**70, "half a pair: \ud83d")
    record = DriftRecord(ObjectKey("", "", "Thing", "x"), DriftReason.CHANGED, sample.NOW, (change,))
    board.syncs = (dataclasses.replace(sample.healthy("odd"), drift=(record,)),)
    assert json.loads(client.get("/api/v1/syncs/syncd/odd").content)["drift"][0]["changes"][0]["before"] == 2**70
    assert client.get("/syncs/syncd/odd").status_code == 200


def test_metrics_are_those_of_the_registry(client: TestClient) -> None:
    response = client.get("/metrics")
    assert "syncd_example 1.0" in response.text
    assert response.headers["content-type"].startswith("text/plain; version=")


def test_metrics_come_as_openmetrics_to_those_who_ask(client: TestClient) -> None:
    response = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert response.text.endswith("# EOF\n")


def test_probes_answer_with_the_reason(client: TestClient, board: sample.FakeBoard) -> None:
    assert (client.get("/healthz").status_code, client.get("/readyz").status_code) == (200, 200)
    board.not_ready = "the API server has not answered yet"
    board.not_alive = "the scheduler is dead"
    ready, alive = client.get("/readyz"), client.get("/healthz")
    assert (ready.status_code, ready.text) == (503, "the API server has not answered yet\n")
    assert (alive.status_code, alive.text) == (503, "the scheduler is dead\n")
    assert "the API server has not answered yet" in client.get("/").text


@pytest.mark.parametrize(
    "path", ["/", "/syncs/syncd/shop-dev", "/nowhere", "/api/v1/syncs", "/metrics", "/healthz", "/static/style.css"]
)
def test_every_answer_forbids_the_browser_to_do_more_than_show_it(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")


def test_an_error_of_ours_shows_nothing_of_it() -> None:
    class Broken(sample.FakeBoard):
        def statuses(self) -> tuple[SyncStatus, ...]:
            raise RuntimeError("password=hunter2")

    with TestClient(create_app(Broken(), CollectorRegistry()), raise_server_exceptions=False) as client:
        response = client.get("/")
    assert response.status_code == 500
    assert "hunter2" not in response.text
    assert response.headers["content-security-policy"].startswith("default-src 'none'")


def test_links_are_relative_so_that_any_proxy_may_stand_before(client: TestClient) -> None:
    start, sync = client.get("/").text, client.get("/syncs/syncd/shop-dev").text
    assert 'href="./static/style.css"' in start
    assert 'href="./syncs/syncd/shop-dev"' in start
    assert 'href="../../static/style.css"' in sync


class Collector(HTMLParser):
    """What a browser would make of a page: elements, and attributes that could run something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.suspicious: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name.startswith("on") or name == "style" or (name in ("href", "src") and "javascript:" in (value or "")):
                self.suspicious.append((name, value))


@pytest.mark.parametrize("path", ["/", "/syncs/syncd/victim", "/?name={attack}", "/syncs/{attack}/x", "/{attack}"])
def test_nothing_from_git_the_cluster_or_the_url_becomes_markup(
    client: TestClient, board: sample.FakeBoard, path: str
) -> None:
    benign = Collector()
    benign.feed(client.get(path.replace("{attack}", "x").replace("victim", "shop-prod")).text)
    board.syncs = (sample.hostile(),)
    board.not_ready = sample.ATTACK
    response = client.get(path.replace("{attack}", sample.ATTACK.replace("/", "%2F")))
    assert "<script>alert" not in response.text
    assert "49javascript" not in response.text
    found = Collector()
    found.feed(response.text)
    assert found.suspicious == []
    assert set(found.tags) <= set(benign.tags) | {"section", "ul", "li", "pre", "br", "details", "form", "input", "b"}
    assert found.tags.count("script") == benign.tags.count("script") <= 1
    assert found.tags.count("img") == benign.tags.count("img") == 1


def test_json_is_never_taken_for_a_page(client: TestClient, board: sample.FakeBoard) -> None:
    board.syncs = (sample.hostile(),)
    response = client.get("/api/v1/syncs/syncd/victim")
    assert response.headers["content-type"] == "application/json"
    assert response.json()["error"] == sample.ATTACK


def test_a_replica_that_stands_by_says_so(client: TestClient, board: sample.FakeBoard) -> None:
    board.syncs = ()
    board.stands_by = "other leads"
    assert "This replica stands by: other leads." in client.get("/").text
    assert client.get("/api/v1/syncs").json() == {"standby": "other leads", "items": []}
    assert client.get("/api/v1/syncs/syncd/shop-dev").status_code == 503
    assert client.get("/syncs/syncd/shop-dev").status_code == 503
