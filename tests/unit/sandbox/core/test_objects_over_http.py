from __future__ import annotations

from typing import Any

import pytest

from tests.unit.sandbox.core.client import CONFIG_MAPS, DEPLOYMENTS, Http, config_map, deployment


def test_a_created_object_can_be_read_and_has_what_the_server_writes(http: Http) -> None:
    created = http.post(CONFIG_MAPS, config_map(data={"x": "1"}))
    assert created.status == 201
    assert created.data["metadata"].keys() >= {"uid", "creationTimestamp", "resourceVersion", "namespace"}
    read = http.get(f"{CONFIG_MAPS}/a")
    assert read.status == 200
    assert read.data == created.data


def test_the_name_can_be_generated(http: Http) -> None:
    body = config_map() | {"metadata": {"generateName": "job-"}}
    names = {http.post(CONFIG_MAPS, body).data["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


def test_a_new_object_has_no_version_yet(http: Http) -> None:
    refused = http.post(CONFIG_MAPS, config_map() | {"metadata": {"name": "a", "resourceVersion": "5"}})
    assert (refused.status, refused.message) == (500, "resourceVersion should not be set on objects to be created")


def test_a_namespace_is_nothing_to_an_object_of_the_cluster(http: Http) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "namespace": "other"}}
    assert "namespace" not in http.post("/api/v1/namespaces", body).data["metadata"]


def test_some_kinds_are_created_by_a_put(http: Http) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"}, "rules": []}
    assert http.put(f"{path}/a", role).status == 201
    assert http.put(f"{path}/a", role).status == 200
    assert http.put(f"{CONFIG_MAPS}/a", config_map()).status == 404


def test_errors_come_in_the_form_that_was_asked_for(http: Http) -> None:
    refused = http.get(f"{CONFIG_MAPS}/none", accept="application/yaml")
    assert refused.status == 404
    assert b"reason: NotFound\n" in refused.data


def test_a_second_object_of_a_name_is_refused(http: Http) -> None:
    http.post(CONFIG_MAPS, config_map())
    refused = http.post(CONFIG_MAPS, config_map())
    assert (refused.status, refused.data["reason"]) == (409, "AlreadyExists")
    assert refused.message == 'configmaps "a" already exists'


def test_what_is_not_there_is_not_found(http: Http) -> None:
    missing = http.get(f"{DEPLOYMENTS}/web")
    assert (missing.status, missing.data["reason"]) == (404, "NotFound")
    assert missing.message == 'deployments.apps "web" not found'
    assert missing.data["details"] == {"name": "web", "group": "apps", "kind": "deployments"}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/api/v1/foos", "NotFound"),
        ("/apis/apps/v9/deployments", "NotFound"),
        ("/api/v1/namespaces/default/namespaces", "NotFound"),
        (f"{CONFIG_MAPS}/a/status", "NotFound"),
    ],
)
def test_unknown_resources_of_known_groups_answer_a_status(http: Http, path: str, reason: str) -> None:
    answer = http.get(path)
    assert (answer.status, answer.data["reason"]) == (404, reason)


def test_unknown_groups_answer_plain_text(http: Http) -> None:
    answer = http.get("/apis/nope/v1/foos")
    assert (answer.status, answer.data) == (404, b"404 page not found\n")


def test_an_object_needs_its_namespace(http: Http) -> None:
    refused = http.post("/api/v1/namespaces/nowhere/configmaps", config_map())
    assert (refused.status, refused.message) == (404, 'namespaces "nowhere" not found')


def test_a_namespace_that_goes_away_takes_no_new_objects(http: Http) -> None:
    http.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}})
    marked = http.delete("/api/v1/namespaces/old")
    assert marked.data["status"]["phase"] == "Terminating"
    refused = http.post("/api/v1/namespaces/old/configmaps", config_map())
    assert (refused.status, refused.data["reason"]) == (403, "Forbidden")
    assert refused.message == (
        'configmaps "a" is forbidden: unable to create new content in namespace old because it is being terminated'
    )
    assert refused.data["details"]["causes"][0]["reason"] == "NamespaceTerminating"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            config_map() | {"metadata": {"name": "a", "namespace": "other"}},
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
            (
                'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): '
                "unknown conversion"
            ),
        ),
        (
            {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}},
            (
                'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for '
                'version "v2" in scheme "pkg/runtime/scheme.go:111"'
            ),
        ),
        (
            config_map(data={"x": 1}),
            (
                'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go '
                "struct field ConfigMap.data of type string"
            ),
        ),
    ],
)
def test_bodies_that_do_not_fit_the_path_are_bad_requests(http: Http, body: dict[str, Any], message: str) -> None:
    refused = http.post(CONFIG_MAPS, body)
    assert (refused.status, refused.data["reason"], refused.message) == (400, "BadRequest", message)


def test_a_built_in_kind_may_leave_its_type_out(http: Http) -> None:
    created = http.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert (created.data["kind"], created.data["apiVersion"]) == ("ConfigMap", "v1")


def test_unknown_fields_are_dropped_with_a_warning(http: Http) -> None:
    created = http.post(CONFIG_MAPS, config_map(colour="red"))
    assert created.status == 201
    assert "colour" not in created.data
    assert created.headers["warning"] == '299 - "unknown field \\"colour\\""'


def test_unknown_and_duplicate_fields_are_errors_in_strict_validation(http: Http) -> None:
    unknown = http.post(f"{CONFIG_MAPS}?fieldValidation=Strict", config_map(colour="red"))
    assert (unknown.status, unknown.message) == (
        400,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "colour"',
    )
    twice = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1","x":"2"}}'
    duplicate = http.post(f"{CONFIG_MAPS}?fieldValidation=Strict", twice)
    assert duplicate.message.endswith('strict decoding error: duplicate field "data.x"')


def test_a_dry_run_answers_and_stores_nothing(http: Http) -> None:
    assert http.post(f"{CONFIG_MAPS}?dryRun=All", config_map()).status == 201
    assert http.get(f"{CONFIG_MAPS}/a").status == 404
    http.post(CONFIG_MAPS, config_map())
    assert http("DELETE", f"{CONFIG_MAPS}/a?dryRun=All").status == 200
    assert http.put(f"{CONFIG_MAPS}/a?dryRun=All", config_map(data={"x": "1"})).data["data"] == {"x": "1"}
    assert "data" not in http.get(f"{CONFIG_MAPS}/a").data


def test_a_replacement_with_an_old_version_is_a_conflict(http: Http) -> None:
    first = http.post(CONFIG_MAPS, config_map())
    http.put(f"{CONFIG_MAPS}/a", config_map(data={"x": "1"}))
    stale = http.put(f"{CONFIG_MAPS}/a", first.data)
    assert (stale.status, stale.data["reason"]) == (409, "Conflict")
    assert stale.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_a_replacement_for_another_uid_is_a_conflict(http: Http) -> None:
    http.post(CONFIG_MAPS, config_map())
    refused = http.put(f"{CONFIG_MAPS}/a", config_map() | {"metadata": {"name": "a", "uid": "other"}})
    assert refused.status == 409
    assert "Precondition failed: UID in precondition: other" in refused.message


def test_some_kinds_are_not_replaced_without_a_version(http: Http) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {}}
    assert http.post(path, lease).status == 201
    refused = http.put(f"{path}/a", lease)
    assert (refused.status, refused.data["reason"]) == (422, "Invalid")
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in refused.message


def test_a_replacement_that_changes_nothing_keeps_the_version(http: Http) -> None:
    created = http.post(CONFIG_MAPS, config_map(data={"x": "1"}))
    assert http.put(f"{CONFIG_MAPS}/a", config_map(data={"x": "1"})).version == created.version


def test_what_the_server_writes_cannot_be_replaced(http: Http) -> None:
    created = http.post(CONFIG_MAPS, config_map()).data["metadata"]
    body = config_map() | {"metadata": {"name": "a", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7}}
    replaced = http.put(f"{CONFIG_MAPS}/a", body).data["metadata"]
    assert replaced["creationTimestamp"] == created["creationTimestamp"]
    assert "generation" not in replaced


def test_generation_counts_changes_of_the_specification_only(http: Http) -> None:
    created = http.post(DEPLOYMENTS, deployment())
    assert created.data["metadata"]["generation"] == 1
    labelled = http.patch(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.data["metadata"]["generation"] == 1
    scaled = http.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}})
    assert scaled.data["metadata"]["generation"] == 2
    status = http.patch(f"{DEPLOYMENTS}/web/status", {"status": {"replicas": 3}})
    assert status.data["metadata"]["generation"] == 2


def test_status_is_written_through_its_subresource_only(http: Http) -> None:
    created = http.post(DEPLOYMENTS, deployment() | {"status": {"replicas": 5}})
    assert created.data["status"] == {}
    plain = http.patch(f"{DEPLOYMENTS}/web", {"status": {"replicas": 5}})
    assert plain.data["status"] == {}
    written = http.patch(f"{DEPLOYMENTS}/web/status", {"status": {"replicas": 5}, "spec": {"replicas": 9}})
    assert (written.data["status"]["replicas"], written.data["spec"]["replicas"]) == (5, 1)


def test_scale_shows_and_sets_the_replicas(http: Http) -> None:
    http.post(DEPLOYMENTS, deployment())
    shown = http.get(f"{DEPLOYMENTS}/web/scale")
    assert (shown.data["kind"], shown.data["spec"], shown.data["status"]["selector"]) == (
        "Scale",
        {"replicas": 1},
        "app=web",
    )
    scaled = http.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 4}})
    assert scaled.data["spec"] == {"replicas": 4}
    assert http.get(f"{DEPLOYMENTS}/web").data["spec"]["replicas"] == 4
    assert http.put(f"{DEPLOYMENTS}/web/scale", scaled.data | {"spec": {"replicas": -1}}).status == 422


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{CONFIG_MAPS}/a"),
        ("PUT", CONFIG_MAPS),
        ("PATCH", CONFIG_MAPS),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", "/api/v1/configmaps"),
    ],
)
def test_methods_that_a_path_has_not_are_refused(http: Http, method: str, path: str) -> None:
    refused = http(method, path, {})
    assert (refused.status, refused.data["reason"]) == (405, "MethodNotAllowed")


def test_bodies_have_a_limit(http: Http) -> None:
    refused = http.post(CONFIG_MAPS, config_map(data={"x": "x" * (3 << 20)}))
    assert (refused.status, refused.data["reason"]) == (413, "RequestEntityTooLarge")


def test_yaml_goes_in_and_comes_out(http: Http) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: 'yes'}\n"
    created = http("POST", CONFIG_MAPS, body, "application/yaml")
    assert created.data["data"] == {"x": "yes"}
    assert b"kind: ConfigMap\n" in http.get(f"{CONFIG_MAPS}/a", accept="application/yaml").data


def test_bodies_of_other_types_are_refused(http: Http) -> None:
    refused = http("POST", CONFIG_MAPS, b"{}", "text/plain")
    assert (refused.status, refused.data["reason"]) == (415, "UnsupportedMediaType")


def test_two_versions_of_a_kind_show_the_same_object(http: Http) -> None:
    path = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    body = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 70,
        },
    }
    assert http.post(path.format("v1"), body).status == 201
    second = http.get(path.format("v2") + "/a").data
    assert second["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 70
    first = http.get(path.format("v1") + "/a").data
    assert first["spec"]["targetCPUUtilizationPercentage"] == 70
    assert first["metadata"]["uid"] == second["metadata"]["uid"]


def test_an_event_can_be_read_in_both_groups(http: Http) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "a", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "message": "hello",
        "type": "Normal",
        "reason": "Started",
    }
    assert http.post("/api/v1/namespaces/default/events", event).status == 201
    other = http.get("/apis/events.k8s.io/v1/namespaces/default/events/a").data
    assert (other["note"], other["regarding"]["name"], other["apiVersion"]) == ("hello", "p", "events.k8s.io/v1")
