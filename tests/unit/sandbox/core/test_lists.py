from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import orjson
import pytest

from tests.unit.sandbox.core.client import CONFIG_MAPS, TABLE, Http, config_map, deployment

if TYPE_CHECKING:
    from tests.unit.sandbox.core.conftest import Start


def fill(http: Http, count: int = 5) -> None:
    for number in range(count):
        http.post(CONFIG_MAPS, config_map(f"a{number}", data={"x": "1"}))


def names(answer: object) -> list[str]:
    return [item["metadata"]["name"] for item in answer.data["items"]]  # type: ignore[attr-defined]  # an Answer


def test_a_list_is_ordered_and_has_a_version(http: Http) -> None:
    fill(http)
    listed = http.get(CONFIG_MAPS)
    assert (listed.data["kind"], names(listed)) == ("ConfigMapList", ["a0", "a1", "a2", "a3", "a4"])
    assert listed.data["metadata"].keys() == {"resourceVersion"}
    assert not listed.data["items"][0].keys() & {"kind", "apiVersion"}


def test_pages_show_one_state_whatever_changes_meanwhile(http: Http) -> None:
    fill(http)
    first = http.get(f"{CONFIG_MAPS}?limit=2")
    assert (names(first), first.data["metadata"]["remainingItemCount"]) == (["a0", "a1"], 3)
    http.delete(f"{CONFIG_MAPS}/a2")
    http.patch(f"{CONFIG_MAPS}/a3", {"data": {"x": "2"}})
    http.post(CONFIG_MAPS, config_map("a2b"))
    second = http.get(f"{CONFIG_MAPS}?limit=2&continue={first.data['metadata']['continue']}")
    assert names(second) == ["a2", "a3"]
    assert second.data["items"][1]["data"] == {"x": "1"}
    assert second.version == first.version
    last = http.get(f"{CONFIG_MAPS}?limit=2&continue={second.data['metadata']['continue']}")
    assert names(last) == ["a4"]
    assert "continue" not in last.data["metadata"]


def test_a_page_of_a_forgotten_state_is_gone_and_can_go_on_with_the_present_one(start: Start) -> None:
    server, http = start()
    fill(http)
    first = http.get(f"{CONFIG_MAPS}?limit=2")
    http.delete(f"{CONFIG_MAPS}/a2")
    server.compact()
    gone = http.get(f"{CONFIG_MAPS}?limit=2&continue={first.data['metadata']['continue']}")
    assert (gone.status, gone.data["reason"]) == (410, "Expired")
    assert gone.message.startswith("The provided continue parameter is too old")
    inconsistent = http.get(f"{CONFIG_MAPS}?limit=2&continue={gone.data['metadata']['continue']}")
    assert names(inconsistent) == ["a3", "a4"]


def test_pages_of_a_selection_do_not_say_how_many_remain(http: Http) -> None:
    fill(http)
    page = http.get(f"{CONFIG_MAPS}?limit=2&labelSelector=!none")
    assert page.data["metadata"].keys() == {"resourceVersion", "continue"}


def test_a_past_state_can_be_listed_exactly(http: Http) -> None:
    fill(http, 2)
    then = http.get(CONFIG_MAPS).version
    http.delete(f"{CONFIG_MAPS}/a0")
    exact = http.get(f"{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert (names(exact), exact.version) == (["a0", "a1"], then)
    assert names(http.get(f"{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=NotOlderThan")) == ["a1"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("resourceVersion=x", 400),
        ("resourceVersion=99999", 504),
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422),
        ("resourceVersionMatch=Nearly&resourceVersion=1", 422),
        ("continue=xx", 400),
        ("limit=x", 400),
        ("labelSelector=a===b", 400),
        ("fieldSelector=data.x=1", 400),
    ],
)
def test_parameters_that_cannot_be_read_are_refused(http: Http, query: str, status: int) -> None:
    assert http.get(f"{CONFIG_MAPS}?{query}").status == status


def test_a_token_with_a_version_is_refused(http: Http) -> None:
    fill(http, 2)
    token = http.get(f"{CONFIG_MAPS}?limit=1").data["metadata"]["continue"]
    assert http.get(f"{CONFIG_MAPS}?limit=1&continue={token}&resourceVersion=5").status == 400
    assert orjson.loads(base64.urlsafe_b64decode(token + "=="))["v"] == "meta.k8s.io/v1"


def test_only_metadata_can_be_asked_for(http: Http) -> None:
    fill(http, 1)
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    listed = http.get(CONFIG_MAPS, accept=accept)
    assert listed.data["kind"] == "PartialObjectMetadataList"
    (item,) = listed.data["items"]
    assert (item["kind"], "data" in item) == ("PartialObjectMetadata", False)
    one = http.get(f"{CONFIG_MAPS}/a0", accept="application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
    assert one.data["kind"] == "PartialObjectMetadata"


def cells(http: Http, path: str) -> dict[str, object]:
    table = http.get(path, accept=TABLE).data
    assert table["kind"] == "Table"
    columns = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(columns, table["rows"][0]["cells"], strict=True))


def test_tables_have_the_columns_of_their_kind(http: Http) -> None:
    fill(http, 1)
    assert cells(http, CONFIG_MAPS) == {"Name": "a0", "Data": 1, "Age": cells(http, CONFIG_MAPS)["Age"]}
    path = "/apis/apps/v1/namespaces/default/deployments"
    http.post(path, deployment(replicas=2))
    shown = cells(http, path)
    assert (shown["Ready"], shown["Images"], shown["Selector"]) == ("0/2", "nginx:1", "app=web")


def test_a_table_carries_as_much_of_the_objects_as_was_asked_for(http: Http) -> None:
    fill(http, 1)
    kinds = {}
    for include in ("None", "Metadata", "Object"):
        row = http.get(f"{CONFIG_MAPS}?includeObject={include}", accept=TABLE).data["rows"][0]
        kinds[include] = (row["object"] or {}).get("kind")
    assert kinds == {"None": None, "Metadata": "PartialObjectMetadata", "Object": "ConfigMap"}


def test_every_built_in_kind_has_a_table(http: Http) -> None:
    for group in (
        "/api/v1",
        *(f"/apis/{g['preferredVersion']['groupVersion']}" for g in http.get("/apis").data["groups"]),
    ):
        for resource in http.get(group).data["resources"]:
            if "list" in resource["verbs"]:
                assert http.get(f"{group}/{resource['name']}", accept=TABLE).data["kind"] == "Table"
