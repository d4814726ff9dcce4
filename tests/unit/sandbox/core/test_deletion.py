from __future__ import annotations

from tests.unit.sandbox.core.client import CONFIG_MAPS, Http, config_map


def finalized() -> dict[str, object]:
    return config_map() | {"metadata": {"name": "a", "finalizers": ["example.com/wait"]}}


def test_a_deletion_says_what_it_deleted(http: Http) -> None:
    created = http.post(CONFIG_MAPS, config_map())
    deleted = http.delete(f"{CONFIG_MAPS}/a")
    assert (deleted.status, deleted.data["kind"], deleted.data["status"]) == (200, "Status", "Success")
    assert deleted.data["details"] == {"name": "a", "kind": "configmaps", "uid": created.data["metadata"]["uid"]}
    assert http.delete(f"{CONFIG_MAPS}/a").status == 404


def test_some_kinds_answer_the_deleted_object(http: Http) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    http.post(accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}})
    assert http.delete(f"{accounts}/a").data["kind"] == "ServiceAccount"


def test_preconditions_must_hold(http: Http) -> None:
    created = http.post(CONFIG_MAPS, config_map())
    wrong_uid = http.delete(f"{CONFIG_MAPS}/a", {"preconditions": {"uid": "other"}})
    assert (wrong_uid.status, wrong_uid.data["reason"]) == (409, "Conflict")
    assert "the UID in the precondition (other) does not match the UID in record" in wrong_uid.message
    wrong_version = http.delete(f"{CONFIG_MAPS}/a", {"preconditions": {"resourceVersion": "1"}})
    assert "The object might have been modified" in wrong_version.message
    right = {"uid": created.data["metadata"]["uid"], "resourceVersion": created.version}
    assert http.delete(f"{CONFIG_MAPS}/a", {"preconditions": right}).status == 200


def test_finalizers_hold_an_object_until_the_last_is_gone(http: Http) -> None:
    http.post(CONFIG_MAPS, finalized())
    marked = http.delete(f"{CONFIG_MAPS}/a")
    assert marked.data["metadata"].keys() >= {"deletionTimestamp", "deletionGracePeriodSeconds"}
    again = http.delete(f"{CONFIG_MAPS}/a")
    assert again.version == marked.version
    last = http.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})
    assert last.status == 200
    assert http.get(f"{CONFIG_MAPS}/a").status == 404


def test_propagation_that_must_wait_is_a_finalizer(http: Http) -> None:
    for policy, finalizer in (("Foreground", "foregroundDeletion"), ("Orphan", "orphan")):
        http.post(CONFIG_MAPS, config_map(policy.lower()))
        marked = http.delete(f"{CONFIG_MAPS}/{policy.lower()}", {"propagationPolicy": policy})
        assert marked.data["metadata"]["finalizers"] == [finalizer]
    http.post(CONFIG_MAPS, config_map("background"))
    assert http.delete(f"{CONFIG_MAPS}/background", {"propagationPolicy": "Background"}).data["kind"] == "Status"


def test_options_that_contradict_each_other_are_invalid(http: Http) -> None:
    http.post(CONFIG_MAPS, config_map())
    unknown = http.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Sideways"})
    assert (unknown.status, unknown.data["details"]["causes"][0]["reason"]) == (422, "FieldValueNotSupported")
    both = http.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Orphan", "orphanDependents": True})
    assert "orphanDependents and deletionPropagation cannot be both set" in both.message


def test_a_collection_is_deleted_by_selector(http: Http) -> None:
    for name, tier in (("a", "front"), ("b", "back"), ("c", "front")):
        http.post(CONFIG_MAPS, config_map() | {"metadata": {"name": name, "labels": {"tier": tier}}})
    deleted = http.delete(f"{CONFIG_MAPS}?labelSelector=tier%3Dfront")
    assert [item["metadata"]["name"] for item in deleted.data["items"]] == ["a", "c"]
    assert [item["metadata"]["name"] for item in http.get(CONFIG_MAPS).data["items"]] == ["b"]


def test_a_cluster_s_own_namespaces_stay(http: Http) -> None:
    refused = http.delete("/api/v1/namespaces/default")
    assert (refused.status, refused.message) == (
        403,
        'namespaces "default" is forbidden: this namespace may not be deleted',
    )


def test_an_empty_namespace_ends_when_its_finalizer_is_taken_away(http: Http) -> None:
    created = http.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
    assert created.data["spec"] == {"finalizers": ["kubernetes"]}
    marked = http.delete("/api/v1/namespaces/x")
    finished = marked.data | {"spec": {"finalizers": []}}
    assert http.put("/api/v1/namespaces/x/finalize", finished).status == 200
    assert http.get("/api/v1/namespaces/x").status == 404
