"""Where kubectl is known to go wrong and syncd must not; each test names the bug."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from syncd.inventory import Owner
from syncd.inventory.names import APPLY_ID_LABEL
from syncd.merge import engine, last_applied
from syncd.merge.errors import MergeError
from syncd.merge.jsonvalue import copy
from syncd.merge.schema import PatchSchema, bundled
from syncd.model import ABSENT, FieldChange, WriteMethod
from tests.unit.merge.cluster import Cluster, pod_template

if TYPE_CHECKING:
    from collections.abc import Iterable

UDP = {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 5353}
TCP = {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 5353}


def service(*ports: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"ports": list(ports)}}


def container(**fields: Any) -> dict[str, Any]:
    return pod_template(containers=[{"name": "web", "image": "web:1", **fields}])


def container_of(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.live["spec"]["template"]["spec"]["containers"][0]
    return found


def paths(changes: Iterable[FieldChange]) -> list[str]:
    return [change.path for change in changes]


class TestAServicePortOnTcpAndUdp:
    """k#39188, k#59482, k#105279, k#131918."""

    def test_adding_the_second_protocol_keeps_both(self) -> None:
        cluster = Cluster("Service", "")
        cluster.apply(**service(UDP))
        result = cluster.apply(**service(UDP, TCP))
        assert cluster.live["spec"]["ports"] == [UDP, TCP]
        assert result.write is not None
        assert result.write.method is WriteMethod.JSON_MERGE_PATCH
        assert paths(result.changes) == ["spec.ports[port=53,protocol=TCP]"]

    def test_changing_both_changes_both_and_keeps_node_ports(self) -> None:
        cluster = Cluster("Service", "")
        cluster.apply(**service(UDP, TCP))
        cluster.change(**service({**UDP, "nodePort": 30001}, {**TCP, "nodePort": 30002}))
        cluster.apply(**service({**UDP, "targetPort": 1}, {**TCP, "targetPort": 2}))
        assert cluster.live["spec"]["ports"] == [
            {**UDP, "targetPort": 1, "nodePort": 30001},
            {**TCP, "targetPort": 2, "nodePort": 30002},
        ]

    def test_removing_one_keeps_the_other(self) -> None:
        cluster = Cluster("Service", "")
        cluster.apply(**service(UDP, TCP))
        cluster.apply(**service(UDP))
        assert cluster.live["spec"]["ports"] == [UDP]

    def test_a_protocol_that_is_not_written_is_tcp(self) -> None:
        cluster = Cluster("Service", "")
        implied = {key: value for key, value in TCP.items() if key != "protocol"}
        cluster.apply(**service(UDP, implied))
        cluster.change(**service(UDP, TCP))
        assert cluster.apply(**service(UDP, implied)).write is None

    def test_without_repetition_the_patch_is_kubectls(self) -> None:
        cluster = Cluster("Service", "")
        cluster.apply(**service(UDP))
        result = cluster.apply(**service({**UDP, "targetPort": 1}))
        assert result.write is not None
        assert result.write.method is WriteMethod.STRATEGIC_MERGE_PATCH


def test_a_container_port_on_tcp_and_udp_keeps_both(deployment: Cluster) -> None:
    udp, tcp = ({"containerPort": 53, "protocol": protocol} for protocol in ("UDP", "TCP"))
    deployment.apply(spec=container(ports=[udp]))
    deployment.apply(spec=container(ports=[udp, tcp]))
    assert container_of(deployment)["ports"] == [udp, tcp]
    deployment.apply(spec=container(ports=[tcp]))
    assert container_of(deployment)["ports"] == [tcp]


class TestDuplicateEnvironmentVariables:
    """k#58477, k#106809, k#132422, kubectl#1750, kubectl#1766."""

    def test_removing_the_repetition_keeps_the_variable(self, deployment: Cluster) -> None:
        a, again, b = {"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "B", "value": "3"}
        deployment.apply(spec=container(env=[a, again, b]))
        deployment.apply(spec=container(env=[again, b]))
        assert container_of(deployment)["env"] == [again, b]

    def test_repetitions_that_are_desired_are_taken_as_they_are_and_settle(self, deployment: Cluster) -> None:
        env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}]
        deployment.apply(spec=container(env=env[:1]))
        deployment.apply(spec=container(env=env))
        assert [item["value"] for item in container_of(deployment)["env"] if item["name"] == "A"] == ["1", "2"]
        assert deployment.apply(spec=container(env=env)).write is None

    def test_a_repeated_key_that_nobody_desires_any_more_takes_only_what_was_applied(self, deployment: Cluster) -> None:
        own, foreign = {"name": "A", "value": "own"}, {"name": "A", "value": "foreign"}
        deployment.apply(spec=container(env=[own]))
        deployment.change(spec=container(env=[own, foreign]))
        deployment.apply(spec=container(env=[]))
        assert container_of(deployment)["env"] == [foreign]


class TestPatchesThatAreSentForEver:
    def test_the_selector_of_a_disruption_budget(self) -> None:
        cluster = Cluster("PodDisruptionBudget", "policy")
        spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        cluster.apply(spec=spec)
        cluster.change(spec={"unhealthyPodEvictionPolicy": "IfHealthyBudget"})
        assert cluster.apply(spec=spec).write is None

    def test_finalizers_that_are_not_sorted(self) -> None:
        cluster = Cluster("ConfigMap", "")
        metadata = {"finalizers": ["z/last", "a/first"]}
        cluster.apply(metadata=metadata, data={"a": "1"})
        assert cluster.apply(metadata=metadata, data={"a": "1"}).write is None
        cluster.apply(metadata=metadata, data={"a": "2"})
        assert cluster.live["metadata"]["finalizers"] == ["z/last", "a/first"]

    def test_nulls_in_the_manifest(self, deployment: Cluster) -> None:
        spec = {**container(), "replicas": None}
        deployment.apply(spec=spec)
        deployment.change(spec={"strategy": {"type": "RollingUpdate"}})
        assert deployment.apply(spec=spec).write is None

    def test_nulls_in_the_manifest_of_a_custom_resource(self) -> None:
        cluster = Cluster("Thing", "example.com")
        cluster.apply(spec={"a": 1, "b": None})
        assert cluster.apply(spec={"a": 1, "b": None}).write is None
        cluster.change(spec={"b": 2})
        cluster.apply(spec={"a": 1, "b": None})
        assert cluster.live["spec"] == {"a": 1}

    def test_a_creation_timestamp_of_null(self, deployment: Cluster) -> None:
        spec = container()
        spec["template"]["metadata"]["creationTimestamp"] = None
        deployment.apply(metadata={"creationTimestamp": None}, spec=spec)
        deployment.change(metadata={"creationTimestamp": "2020-01-01T00:00:00Z", "uid": "u"})
        assert deployment.apply(metadata={"creationTimestamp": None}, spec=spec).write is None

    def test_metadata_and_status_that_only_the_server_writes(self, deployment: Cluster) -> None:
        exported = {"resourceVersion": "7", "uid": "old", "generation": 4, "selfLink": "/x", "managedFields": []}
        deployment.apply(spec=container())
        deployment.change(metadata={"uid": "new"})
        deployment.apply(metadata=exported, spec=container(), status={"replicas": 9})
        assert deployment.live["metadata"]["uid"] == "new"
        assert "status" not in deployment.live
        assert deployment.apply(metadata=exported, spec=container(), status={"replicas": 9}).write is None

    def test_a_defaulted_rolling_update_of_the_desired_strategy(self, deployment: Cluster) -> None:
        spec = {**container(), "strategy": {"type": "RollingUpdate"}}
        deployment.apply(spec=spec)
        deployment.change(spec={"strategy": {"rollingUpdate": {"maxSurge": "25%"}}})
        assert deployment.apply(spec=spec).write is None
        result = deployment.apply(spec={**spec, "replicas": 3})
        assert paths(result.changes) == ["spec.replicas"]


class TestQuantities:
    """k#116135, k#66450."""

    @pytest.mark.parametrize(
        ("desired", "live"),
        [("1000m", "1"), (0.5, "500m"), ("1024Mi", "1Gi"), (1, "1"), ("0.1", "100m"), ("1e3", "1k")],
    )
    def test_written_differently_are_no_change(self, deployment: Cluster, desired: Any, live: str) -> None:
        spec = container(resources={"limits": {"cpu": desired}})
        deployment.apply(spec=spec)
        container_of(deployment)["resources"]["limits"]["cpu"] = live
        assert deployment.apply(spec=spec).write is None
        result = deployment.apply(spec={**spec, "replicas": 2})
        assert paths(result.changes) == ["spec.replicas"]
        assert container_of(deployment)["resources"]["limits"]["cpu"] == live

    def test_of_another_amount_are_a_change(self, deployment: Cluster) -> None:
        deployment.apply(spec=container(resources={"limits": {"cpu": "1"}}))
        deployment.apply(spec=container(resources={"limits": {"cpu": "1001m"}}))
        assert container_of(deployment)["resources"]["limits"]["cpu"] == "1001m"

    def test_elsewhere_text_is_text(self) -> None:
        cluster = Cluster("ConfigMap", "")
        cluster.apply(data={"cpu": "1000m"})
        result = cluster.apply(data={"cpu": "1"})
        assert result.changes == (FieldChange("data.cpu", "1000m", "1"),)


class TestSecretStringData:
    """k#89938, k#23564."""

    def test_it_is_folded_into_data_and_leaves_no_trace(self) -> None:
        cluster = Cluster("Secret", "")
        cluster.apply(stringData={"password": "hunter2"})
        assert cluster.live["data"] == {"password": "aHVudGVyMg=="}
        assert "stringData" not in cluster.live
        assert "hunter2" not in cluster.live["metadata"]["annotations"][last_applied.ANNOTATION]
        assert cluster.apply(stringData={"password": "hunter2"}).write is None

    def test_a_key_that_leaves_it_is_removed(self) -> None:
        cluster = Cluster("Secret", "")
        cluster.apply(stringData={"a": "1", "b": "2"}, data={"c": "Mw=="})
        cluster.apply(stringData={"a": "1"}, data={"c": "Mw=="})
        assert cluster.live["data"] == {"a": "MQ==", "c": "Mw=="}

    def test_it_wins_over_data(self) -> None:
        cluster = Cluster("Secret", "")
        cluster.apply(data={"a": "MQ=="}, stringData={"a": "2"})
        assert cluster.live["data"] == {"a": "Mg=="}

    def test_base64_that_is_wrapped_is_the_same(self) -> None:
        cluster = Cluster("Secret", "")
        cluster.apply(data={"a": "aHVu\nZGVy\n"})
        cluster.live["data"]["a"] = "aHVuZGVy"
        assert cluster.apply(data={"a": "aHVu\nZGVy\n"}).write is None


class TestUnions:
    def test_recreate_over_a_defaulted_rolling_update(self, deployment: Cluster) -> None:
        deployment.apply(spec=container())
        deployment.change(spec={"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}})
        deployment.apply(spec={**container(), "strategy": {"type": "Recreate"}})
        assert deployment.live["spec"]["strategy"] == {"type": "Recreate"}

    @pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
    def test_on_delete_over_a_defaulted_rolling_update(self, kind: str) -> None:
        cluster = Cluster(kind)
        cluster.apply(spec=container())
        cluster.change(spec={"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}})
        cluster.apply(spec={**container(), "updateStrategy": {"type": "OnDelete"}})
        assert cluster.live["spec"]["updateStrategy"] == {"type": "OnDelete"}

    def test_a_value_over_somebodys_value_from(self, deployment: Cluster) -> None:
        deployment.apply(spec=container(env=[{"name": "A"}]))
        deployment.change(spec=container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]))
        deployment.apply(spec=container(env=[{"name": "A", "value": "1"}]))
        assert container_of(deployment)["env"] == [{"name": "A", "value": "1"}]

    def test_another_probe_handler_keeps_the_other_fields_of_the_probe(self, deployment: Cluster) -> None:
        deployment.apply(spec=container())
        deployment.change(spec=container(livenessProbe={"exec": {"command": ["x"]}, "periodSeconds": 10}))
        deployment.apply(spec=container(livenessProbe={"tcpSocket": {"port": 80}}))
        assert container_of(deployment)["livenessProbe"] == {"tcpSocket": {"port": 80}, "periodSeconds": 10}

    def test_a_union_that_a_crd_declares(self) -> None:
        source = {
            "type": "object",
            "oneOf": [{"required": ["git"]}, {"required": ["bucket"]}],
            "properties": {name: {"type": "object"} for name in ("git", "bucket", "other")},
        }
        schema = PatchSchema.from_openapi(
            {"Thing": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"source": source}}}}},
            "Thing",
        )
        cluster = Cluster("Thing", "example.com", schema)
        cluster.apply(spec={})
        cluster.change(spec={"source": {"git": {"url": "x"}, "other": {}}})
        cluster.apply(spec={"source": {"bucket": {"name": "y"}}})
        assert cluster.live["spec"]["source"] == {"bucket": {"name": "y"}, "other": {}}


class TestTheAnnotationLimit:
    def big(self, **data: str) -> dict[str, Any]:
        return {"data": {"big": "x" * 300_000, **data}}

    def test_an_object_beyond_it_is_applied_by_the_server(self) -> None:
        cluster = Cluster("ConfigMap", "")
        cluster.live = {**cluster.configuration(data={"small": "1"}), "metadata": {"name": "web", "namespace": "shop"}}
        result = cluster.apply(**self.big())
        assert result.write is not None
        assert result.write.method is WriteMethod.SERVER_SIDE_APPLY
        assert result.write.body == cluster.configuration(**self.big())
        assert cluster.live["data"] == {"small": "1", "big": "x" * 300_000}

    def test_what_was_applied_is_read_from_the_managed_fields(self) -> None:
        cluster = Cluster("ConfigMap", "")
        fields: dict[str, Any] = {"f:data": {".": {}, "f:big": {}, "f:gone": {}}}
        live = cluster.configuration(**self.big(gone="1", foreign="2"))
        live["metadata"]["managedFields"] = [{"manager": "syncd", "operation": "Apply", "fieldsV1": fields}]
        cluster.live = live
        cluster.apply(**self.big())
        assert sorted(cluster.live["data"]) == ["big", "foreign"]
        assert cluster.apply(**self.big()).write is None

    def test_it_counts_bytes_and_not_characters(self) -> None:
        assert last_applied.fits({"metadata": {"annotations": {last_applied.ANNOTATION: "", "a": "x" * 200_000}}})
        assert not last_applied.fits({"metadata": {"annotations": {last_applied.ANNOTATION: "", "a": "é" * 200_000}}})


def test_a_field_that_the_new_version_of_a_kind_has_renamed_is_not_deleted_by_its_old_name() -> None:
    schema = bundled("autoscaling", "v2", "HorizontalPodAutoscaler")
    header = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    old = {"apiVersion": "autoscaling/v1", **header, "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50}}
    new = {"apiVersion": "autoscaling/v2", **header, "spec": {"maxReplicas": 3}}
    result = engine.merge(original=old, modified=new, live=copy(new), schema=schema)
    assert result.write is None
    result = engine.merge(original=old, modified=new, live={**new, "spec": {"maxReplicas": 4}}, schema=schema)
    assert result.write is not None
    assert result.write.body == {"spec": {"maxReplicas": 3}}


def test_labels_of_others_stay_when_the_last_one_leaves_git(deployment: Cluster) -> None:
    """Kubectl takes away the whole map that left, and everybody's labels with it; the owner's label keeps it here."""
    owner = Owner("uid-1", "shop/web")
    mine = owner.mark(last_applied.stamp(deployment.configuration(metadata={"labels": {"mine": "x"}})))
    deployment.live = {**mine, "metadata": {**mine["metadata"], "labels": {**mine["metadata"]["labels"], "its": "y"}}}
    merged = deployment.merge(owner.mark(last_applied.stamp(deployment.configuration()))).merged
    assert merged["metadata"]["labels"] == {APPLY_ID_LABEL: "uid-1", "its": "y"}


class TestAdoption:
    def test_an_object_without_the_annotation_loses_nothing(self, deployment: Cluster) -> None:
        deployment.live = {
            **deployment.configuration(spec={**container(), "paused": True, "replicas": 5}),
            "metadata": {"name": "web", "namespace": "shop", "labels": {"foreign": "x"}, "resourceVersion": "1"},
        }
        deployment.apply(metadata={"labels": {"own": "y"}}, spec={**container(), "replicas": 2})
        assert deployment.live["metadata"]["labels"] == {"foreign": "x", "own": "y"}
        assert deployment.live["spec"]["paused"] is True
        assert deployment.live["spec"]["replicas"] == 2

    def test_an_object_that_kubectl_applied_last_loses_what_it_had_applied(self, deployment: Cluster) -> None:
        deployment.apply(spec={**container(), "paused": True})  # the annotation is kubectl's own, byte for byte
        deployment.apply(spec=container())
        assert "paused" not in deployment.live["spec"]

    def test_an_object_that_kubectl_created_keeps_its_other_fields(self, deployment: Cluster) -> None:
        deployment.live = deployment.configuration(spec={**container(), "paused": True})
        deployment.live["metadata"]["managedFields"] = [{"manager": "kubectl-create", "operation": "Update"}]
        deployment.apply(spec=container())
        assert deployment.live["spec"]["paused"] is True


def test_errors_name_object_field_and_rule(deployment: Cluster) -> None:
    deployment.apply(spec=pod_template(containers=[{"name": "a"}]))
    with pytest.raises(MergeError) as caught:
        deployment.apply(spec=pod_template(containers=[{"image": "hunter2"}]))
    assert str(caught.value) == (
        "Deployment shop/web: spec.template.spec.containers: map does not contain declared merge key: name"
    )


def test_crds_whose_schemas_are_maps_of_maps_are_sent_as_json_merge_patches() -> None:
    """As kubectl does, after two warnings: strategic merge cannot follow their properties."""
    cluster = Cluster("CustomResourceDefinition", "apiextensions.k8s.io")

    def versions(kind: str) -> dict[str, Any]:
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": kind}}}}
        return {"versions": [{"name": "v1", "schema": schema}], "names": {"kind": "Thing"}}

    cluster.apply(spec=versions("object"))
    cluster.change(spec={"conversion": {"strategy": "None"}})
    result = cluster.apply(spec=versions("string"))
    assert result.write is not None
    assert cluster.live["spec"] == {**versions("string"), "conversion": {"strategy": "None"}}


def test_an_order_that_changes_is_a_change(deployment: Cluster) -> None:
    a, b = {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}
    deployment.apply(spec=container(env=[b, a]))
    result = deployment.apply(spec=container(env=[a, b]))
    assert container_of(deployment)["env"] == [a, b]
    assert result.changes == (
        FieldChange("spec.template.spec.containers[name=web].env[order]", ["name=B", "name=A"], ["name=A", "name=B"]),
    )


def test_only_the_annotation_differs_when_a_field_is_taken_over_as_it_is(deployment: Cluster) -> None:
    deployment.apply(spec=container())
    deployment.change(spec={"replicas": 2})
    result = deployment.apply(spec={**container(), "replicas": 2})
    assert result.write is not None
    assert result.changes == ()


def test_changes_have_both_sides(deployment: Cluster) -> None:
    deployment.apply(spec={**container(), "replicas": 1, "paused": True})
    result = deployment.apply(metadata={"labels": {"a.b/c": "d"}}, spec={**container(), "replicas": 2})
    assert result.changes == (
        FieldChange("metadata.labels", ABSENT, {"a.b/c": "d"}),
        FieldChange("spec.replicas", 1, 2),
        FieldChange("spec.paused", True, ABSENT),
    )
    result = deployment.apply(metadata={"labels": {"a.b/c": "e"}}, spec={**container(), "replicas": 2})
    assert result.changes == (FieldChange("metadata.labels[a.b/c]", "d", "e"),)
