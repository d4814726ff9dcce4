"""The main job on a real control plane: three environments over HTTP, and everything that can break, breaking."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support.clusters import RealCluster
from tests.support.daemon import DaemonProcess, eventually
from tests.support.repository import Repository
from tests.unit.source.gitserver import serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.controlplane.fixtures import StartControlPlane

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]

MANIFESTS = REPOSITORY / "manifests"
ENVIRONMENTS = ("dev", "staging", "prod")


class Shop:
    """The three environments, their repositories, and a daemon that follows them."""

    def __init__(self, folder: Path, url: str, cluster: RealCluster) -> None:
        self.folder = folder
        self.cluster = cluster
        self.repositories = {name: Repository(folder / "git" / f"{name}.git") for name in ENVIRONMENTS}
        for name, repository in self.repositories.items():
            for part in ("base", "components", f"overlays/{name}"):
                repository.add_folder(MANIFESTS / part, f"{part}/")
        syncs = list(yaml.safe_load_all((MANIFESTS / "syncs.yaml").read_text()))
        for sync, name in zip(syncs, ENVIRONMENTS, strict=True):
            sync["spec"]["source"]["git"]["url"] = f"{url}/{name}.git"
            sync["spec"]["interval"] = "300ms"
        self.daemon = DaemonProcess(folder, cluster.kubeconfig, *syncs)

    def edit(self, name: str, file: str, old: str, new: str) -> str:
        """Commit a change of one file; gives the commit."""
        text = self.repositories[name].files[file].decode()
        assert old in text
        return self.repositories[name].commit({file: text.replace(old, new)})

    def wait(self, name: str, commit: str) -> None:
        """Wait until a commit is live."""
        self.daemon.wait_synced(f"shop-{name}", commit)

    def live(self, name: str, kind: str, object_name: str) -> dict[str, Any] | None:
        """One object of an environment."""
        return self.cluster.kubectl.get(kind, object_name, f"shop-{name}")

    def assert_equal_to_git(self, name: str) -> None:
        """Everything that Git has is live as Git has it, is listed, and nothing else is listed or owned."""
        checkout = self.folder / f"checkout-{name}"
        for path, data in self.repositories[name].files.items():
            (checkout / path).parent.mkdir(parents=True, exist_ok=True)
            (checkout / path).write_bytes(data)
        rendered = self.cluster.kubectl("kustomize", str(checkout / "overlays" / name))
        wanted = {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(rendered) if item}
        inventory = self.cluster.kubectl.get("configmap", f"shop-{name}", "syncd")
        assert inventory is not None
        lines = inventory["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-objects"].splitlines()
        assert {tuple(line.split(":", 3)[2:]) for line in lines} == wanted.keys()
        owner = inventory["metadata"]["uid"]
        for (kind, object_name), item in wanted.items():
            group = item["apiVersion"].rpartition("/")[0]
            found = self.cluster.kubectl.get(f"{kind}.{group}" if group else kind, object_name, f"shop-{name}")
            assert found is not None, (kind, object_name)
            assert found["metadata"]["annotations"]["kubectl.kubernetes.io/apply-owner"] == owner
            assert contains(found, item), (kind, object_name)
        kinds = ",".join(sorted({kind for kind, _ in wanted} - {"Promotion"}))
        selector = f"kubectl.kubernetes.io/apply-id={owner}"
        owned = json.loads(self.cluster.kubectl("get", kinds, "-A", "-l", selector, "-o", "json"))["items"]
        assert {(item["kind"], item["metadata"]["name"]) for item in owned} <= wanted.keys()


def contains(live: Any, wanted: Any) -> bool:
    """Whether live has all that is wanted; a list has to have just as many items."""
    if isinstance(wanted, dict):
        if "stringData" in wanted:
            wanted = {key: value for key, value in wanted.items() if key != "stringData"}
        return isinstance(live, dict) and all(
            key in live and contains(live[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(live, list) and len(live) == len(wanted) and all(map(contains, live, wanted))
    return live == wanted or quantity(live) == quantity(wanted)


def quantity(value: object) -> object:
    """A CPU quantity in one spelling, as far as the samples spell it in two."""
    return value[:-3] if isinstance(value, str) and value.endswith("000m") else str(value)


@pytest.mark.timeout(600)
def test_three_environments_survive_whatever_breaks(tmp_path: Path, start_control_plane: StartControlPlane) -> None:
    control_plane = start_control_plane()
    (tmp_path / "git").mkdir()
    with serving(tmp_path / "git") as git:
        shop = Shop(tmp_path, git.url, RealCluster(control_plane))
        with shop.daemon:
            _converges(shop)
            _follows_a_release(shop)
            _prunes_a_file(shop)
            _puts_a_live_edit_right(shop)

            commit = shop.edit("staging", "overlays/staging/kustomization.yaml", "newTag: ", "newTag: 7.")
            control_plane.part("kube-apiserver").restart()
            shop.wait("staging", commit)

            control_plane.part("etcd").pause()
            commit = shop.edit("prod", "overlays/prod/kustomization.yaml", "newTag: ", "newTag: 8.")
            eventually("a poll has seen the commit", lambda: len(git.seen) > 0)
            control_plane.part("etcd").resume()
            shop.wait("prod", commit)

            commits = {
                name: shop.edit(name, f"overlays/{name}/kustomization.yaml", "newTag: ", "newTag: 9.")
                for name in ENVIRONMENTS
            }
            shop.daemon.wait_for("shop-dev", "is at it", lambda status: status["attempted"]["commit"] == commits["dev"])
            shop.daemon.kill()
            shop.daemon.start()
            for name, commit in commits.items():
                shop.wait(name, commit)
                shop.assert_equal_to_git(name)
            assert shop.daemon.stop() == 0


def _converges(shop: Shop) -> None:
    for name, repository in shop.repositories.items():
        shop.wait(name, repository.commit({"README.md": f"The {name} environment\n"}))
        deployments = shop.cluster.kubectl.names("deployments", f"shop-{name}")
        assert {"web", "worker"} <= deployments
        for deployment in sorted(deployments):
            shop.cluster.kubectl("rollout", "status", f"deployment/{deployment}", "-n", f"shop-{name}", "--timeout=90s")


def _follows_a_release(shop: Shop) -> None:
    shop.wait("dev", shop.edit("dev", "overlays/dev/kustomization.yaml", "newTag: ", "newTag: 6."))
    web = shop.live("dev", "deployment", "web")
    assert web is not None
    assert ":6." in web["spec"]["template"]["spec"]["containers"][0]["image"]


def _prunes_a_file(shop: Shop) -> None:
    before = shop.cluster.kubectl.names("deployments", "shop-dev")
    files = shop.repositories["dev"].files
    overlay = files["overlays/dev/kustomization.yaml"].decode()
    without = "".join(line for line in overlay.splitlines(keepends=True) if "load-test.yaml" not in line)
    changes = {"overlays/dev/load-test.yaml": None, "overlays/dev/kustomization.yaml": without}
    shop.wait("dev", shop.repositories["dev"].commit(changes))
    assert shop.cluster.kubectl.names("deployments", "shop-dev") == before - {"load-test"}


def _puts_a_live_edit_right(shop: Shop) -> None:
    shop.cluster.kubectl("scale", "deployment", "worker", "-n", "shop-dev", "--replicas=7")
    eventually("it is one again", lambda: (shop.live("dev", "deployment", "worker") or {})["spec"]["replicas"] == 1)
    status = shop.daemon.wait_for("shop-dev", "says what drifted", lambda status: status["drift"])
    assert status["drift"][0]["manager"] == "kubectl"
