"""Syncs that are carried out in the name of a ServiceAccount, on a real server with RBAC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from syncd.cluster.errors import ForbiddenError
from syncd.spec import Sync, parse_sync
from tests.support.daemon import DaemonProcess, eventually, sync_document
from tests.support.instance import Git, Instance, apply_config, config_map

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from syncd.engine.result import Reconciliation
    from tests.controlplane.fixtures import NewNamespace
    from tests.controlplane.server import ControlPlane
    from tests.support.repository import Repository

pytestmark = pytest.mark.controlplane

RBAC = "/apis/rbac.authorization.k8s.io/v1"
EVERYTHING = ["get", "list", "watch", "create", "patch", "delete"]


class Tenant(NamedTuple):
    """A namespace, a ServiceAccount in it, and a daemon that may do next to nothing by itself."""

    control_plane: ControlPlane
    namespace: str
    other: str
    daemon: str
    """The daemon's user."""

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:deployer"

    @property
    def kubeconfig(self) -> Path:
        return self.control_plane.kubeconfig_for(self.daemon)

    def sync(self, **spec: Any) -> Sync:
        document = sync_document("shop", "file:///nowhere", serviceAccountName="deployer", **spec)
        return parse_sync({**document, "metadata": {"name": "shop", "namespace": self.namespace}})

    def allow(self, user: str, namespace: str, resource: str, verbs: list[str]) -> None:
        """Let a user do these things to a resource in a namespace; everywhere if that is empty."""
        kind, name = ("Role" if namespace else "ClusterRole"), f"{user.replace(':', '-')}-{resource}"
        rules = [{"apiGroups": [""], "resources": [resource], "verbs": verbs}]
        self.control_plane.api.create(
            f"{_place(namespace)}/{kind.lower()}s", {"metadata": {"name": name}, "rules": rules}
        )
        self.bind(user, namespace, kind, name)

    def bind(self, user: str, namespace: str, kind: str, role: str) -> None:
        """Give a user a role in a namespace; everywhere if that is empty."""
        bindings = "rolebindings" if namespace else "clusterrolebindings"
        self.control_plane.api.create(
            f"{_place(namespace)}/{bindings}",
            {
                "metadata": {"name": f"{user.replace(':', '-')}-{role}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
            },
        )


def _place(namespace: str) -> str:
    return f"{RBAC}/namespaces/{namespace}" if namespace else RBAC


@pytest.fixture
def tenant(control_plane: ControlPlane, namespace_factory: NewNamespace) -> Tenant:
    namespace = namespace_factory("team")
    made = Tenant(control_plane, namespace, namespace_factory("other"), f"daemon-of-{namespace}")
    made.allow(made.daemon, "", "serviceaccounts", ["impersonate"])
    made.allow(made.daemon, namespace, "configmaps", EVERYTHING)
    made.allow(made.user, namespace, "configmaps", EVERYTHING)
    made.bind(made.user, namespace, "ClusterRole", "view")  # to see who uses what is to be pruned
    return made


@pytest.fixture
def git() -> Git:
    return Git()


@pytest.fixture
def life(tenant: Tenant, git: Git) -> Iterator[Instance]:
    with Instance(tenant.kubeconfig, git) as instance:
        yield instance


def secret(namespace: str, name: str = "key") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}}


def fates(result: Reconciliation) -> dict[str, str]:
    return {outcome.action.key.name: outcome.status for outcome in result.outcomes}


def test_everything_but_the_inventory_is_done_in_the_name_of_the_service_account(
    tenant: Tenant, git: Git, life: Instance
) -> None:
    git.commit("shop", [config_map("one", tenant.namespace), config_map("two", tenant.namespace)])
    mark = tenant.control_plane.audit().mark()
    assert not life.reconcile(tenant.sync()).failures
    git.commit("shop", [config_map("one", tenant.namespace, colour="blue")])
    assert fates(life.reconcile(tenant.sync())) == {"one": "done", "two": "done"}
    requests = tenant.control_plane.audit().since(mark).where(user=tenant.daemon, resource="configmaps")
    by_name = {name: {(one.verb, one.impersonated) for one in requests.where(name=name)} for name in ("one", "two")}
    assert by_name["one"] == {("create", tenant.user), ("patch", tenant.user)}
    assert {("get", tenant.user), ("delete", tenant.user)} <= by_name["two"]
    assert {one.impersonated for one in requests.where(name="shop")} == {""}
    assert {one.impersonated for one in requests.where(verb="watch")} == {tenant.user}


def test_what_is_forbidden_is_named_with_user_verb_and_resource_and_the_rest_is_applied(
    tenant: Tenant, git: Git, life: Instance
) -> None:
    git.commit(
        "shop",
        [
            config_map("mine", tenant.namespace),
            config_map("not-mine", tenant.other),
            secret(tenant.namespace),
        ],
    )
    result = life.reconcile(tenant.sync())
    assert fates(result) == {"mine": "done", "not-mine": "failed", "key": "failed"}
    messages = {outcome.action.key.name: outcome.message for outcome in result.failures}
    assert f'User "{tenant.user}" cannot list resource "secrets"' in messages["key"]
    assert f'User "{tenant.user}" cannot list resource "configmaps"' in messages["not-mine"]
    assert f'namespace "{tenant.other}"' in messages["not-mine"]


def test_what_may_be_read_and_not_written_is_refused_by_its_verb(tenant: Tenant, git: Git, life: Instance) -> None:
    tenant.allow(tenant.user, tenant.namespace, "secrets", ["get", "list", "watch"])
    git.commit("shop", [secret(tenant.namespace), config_map("mine", tenant.namespace)])
    result = life.reconcile(tenant.sync())
    assert fates(result) == {"mine": "done", "key": "failed"}
    (refused,) = result.failures
    assert refused.reason == "Forbidden"
    assert f'User "{tenant.user}" cannot create resource "secrets" in API group ""' in refused.message


def test_nobody_is_served_in_a_name_that_the_daemon_may_not_use(tenant: Tenant, git: Git) -> None:
    git.commit("shop", [config_map("one", tenant.namespace)])
    stranger = tenant._replace(daemon=f"stranger-of-{tenant.namespace}")
    stranger.allow(stranger.daemon, tenant.namespace, "configmaps", EVERYTHING)
    with Instance(stranger.kubeconfig, git) as life:
        (failure,) = life.reconcile(tenant.sync()).failures
    assert f'User "{stranger.daemon}" cannot impersonate' in failure.message


def test_the_server_gives_the_groups_of_a_service_account_by_itself(tenant: Tenant, life: Instance) -> None:
    as_tenant = life.reconciler.cluster_of(tenant.sync()).transport
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    told = as_tenant.request("POST", path, body=body).object()["status"]["userInfo"]
    groups = {"system:serviceaccounts", f"system:serviceaccounts:{tenant.namespace}", "system:authenticated"}
    assert (told["username"], set(told["groups"])) == (tenant.user, groups)


@pytest.fixture
def mighty(tenant: Tenant, git: Git) -> Iterator[Instance]:
    """A daemon that may do everything by itself, so that only the name it acts in can stop it."""
    with Instance(tenant.control_plane.kubeconfig, git) as instance:
        yield instance


def test_an_inventory_that_a_tenant_forged_makes_syncd_touch_nothing_that_the_tenant_may_not(
    tenant: Tenant, git: Git, mighty: Instance
) -> None:
    api = tenant.control_plane.api
    git.commit("shop", [config_map("mine", tenant.namespace)])
    mighty.reconcile(tenant.sync())
    mine = f"/api/v1/namespaces/{tenant.namespace}/configmaps"
    uid = api.get(f"{mine}/shop")["metadata"]["uid"]
    marks = {
        "labels": {"kubectl.kubernetes.io/apply-id": uid},
        "annotations": {"kubectl.kubernetes.io/apply-owner": uid},
    }
    theirs = f"/api/v1/namespaces/{tenant.other}/configmaps"
    api.create(theirs, {"metadata": {"name": "victim", **marks}})
    api.create(mine, {"metadata": {"name": "neighbour"}})
    forged = {
        "kubectl.kubernetes.io/last-applied-objects": f"{tenant.other}::ConfigMap:victim\n",
        "syncd.dev/list-hash": None,
        "syncd.dev/pages": "neighbour 0 e3b0c44298fc1c14\n",
    }
    labels = {"kubectl.kubernetes.io/apply-hash": None}
    api.merge(f"{mine}/shop", {"metadata": {"annotations": forged, "labels": labels}})
    git.commit("shop", [config_map("other", tenant.namespace)])
    mighty.reconcile(tenant.sync())
    assert api.find(f"{theirs}/victim")
    assert api.find(f"{mine}/neighbour")


def test_an_inventory_that_is_to_be_elsewhere_is_written_there_in_the_name_of_the_service_account(
    tenant: Tenant, git: Git, mighty: Instance
) -> None:
    git.commit("shop", [config_map("mine", tenant.namespace)])
    mighty.reconcile(tenant.sync())
    git.commit("shop", [apply_config(config_map("list", tenant.other)), config_map("mine", tenant.namespace)])
    with pytest.raises(ForbiddenError, match=f'User "{tenant.user}" cannot get resource "configmaps"'):
        mighty.reconcile(tenant.sync())


def test_a_daemon_follows_and_repairs_in_the_name_of_its_default_service_account(
    tenant: Tenant, repository: Repository, tmp_path: Path
) -> None:
    user = f"system:serviceaccount:syncd:{tenant.namespace}"
    tenant.allow(user, tenant.namespace, "configmaps", EVERYTHING)
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: setting, namespace: %s}\ndata: {colour: blue}\n"
    commit = repository.commit({"all.yaml": body % tenant.namespace})
    kubeconfig = tenant.control_plane.kubeconfig
    options = ("--default-service-account", tenant.namespace)
    sync = sync_document(tenant.namespace, repository.url, interval="1h")
    setting = f"/api/v1/namespaces/{tenant.namespace}/configmaps/setting"
    with DaemonProcess(tmp_path, kubeconfig, sync, options=options) as daemon:
        daemon.wait_synced(tenant.namespace, commit)
        mark = tenant.control_plane.audit().mark()
        tenant.control_plane.api.merge(setting, {"data": {"colour": "red"}})
        eventually(
            "the colour is blue again",
            lambda: tenant.control_plane.api.get(setting)["data"]["colour"] == "blue",
        )
        repairs = tenant.control_plane.audit().since(mark).where(agent="syncd/", writes=True, name="setting")
        assert {one.impersonated for one in repairs} == {user}
        assert daemon.stop() == 0
