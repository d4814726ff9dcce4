"""Strategic merge patches against the real implementation, inside kubectl.

Each case is an object, what was applied to it, and what is to be applied now, at random. The patch that syncd builds
must be one that kubectl accepts, and lead to the same object in both. Patches with directives at random places must be
refused by both or lead to the same object. See docs/decisions/0003-merge.md for the documented differences, which the
generator avoids: keys that repeat in long lists, and patches that add and delete the same item of a set.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from syncd.kubeyaml import load_all
from syncd.merge import strategic
from syncd.merge.errors import MergeError
from syncd.merge.jsonvalue import copy, equal
from syncd.merge.schema import bundled
from tests.unit.merge import kubectl

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not kubectl.available, reason=kubectl.MISSING)

GROUPS = {"Deployment": "apps", "Service": "", "Pod": "", "PodDisruptionBudget": "policy"}


class Objects:
    """Makes objects at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - reproducible test data

    def maybe(self, fields: dict[str, Any], likely: float = 0.6) -> dict[str, Any]:
        return {key: value for key, value in fields.items() if self.random.random() < likely}

    def labels(self) -> dict[str, str]:
        return {self.random.choice("abc"): self.random.choice("xyz") for _ in range(self.random.randint(0, 3))}

    def keyed(self, key: str, values: list[Any], **fields: Any) -> list[dict[str, Any]]:
        """A merging list: some of these keys, in any order, each with some of these fields."""
        chosen = self.random.sample(values, self.random.randint(0, len(values)))
        return [{key: value, **self.maybe({name: make() for name, make in fields.items()})} for value in chosen]

    def container(self) -> dict[str, Any]:
        choice = self.random.choice
        return self.maybe(
            {
                "image": choice(["a:1", "b:2"]),
                "args": [choice("pq") for _ in range(self.random.randint(0, 3))],
                "env": self.keyed("name", ["A", "B", "C", "D"], value=lambda: choice("12")),
                "ports": self.keyed("containerPort", [80, 443, 8080], name=lambda: choice("mn")),
                "volumeMounts": self.keyed("mountPath", ["/a", "/b"], name=lambda: choice("vw"), readOnly=lambda: True),
                "resources": self.maybe({"limits": {"cpu": choice(["1", "2"])}, "requests": {"cpu": "1"}}),
                "livenessProbe": choice([{"exec": {"command": ["x"]}}, {"tcpSocket": {"port": 80}}]),
            }
        )

    def pod_spec(self) -> dict[str, Any]:
        choice = self.random.choice
        containers = [
            {"name": name, **self.container()} for name in self.random.sample("abcdef", self.random.randint(1, 5))
        ]
        return {
            "containers": containers,
            **self.maybe(
                {
                    "nodeSelector": self.labels(),
                    "volumes": [
                        {"name": name, **choice([{"emptyDir": {}}, {"configMap": {"name": choice("st")}}])}
                        for name in self.random.sample("vwx", self.random.randint(0, 3))
                    ],
                    "tolerations": [{"key": choice("kl")} for _ in range(self.random.randint(0, 2))],
                    "hostAliases": self.keyed("ip", ["1.1.1.1", "2.2.2.2"], hostnames=lambda: [choice("gh")]),
                    "terminationGracePeriodSeconds": choice([1, 30]),
                    "dnsPolicy": choice(["Default", None]),
                }
            ),
        }

    def make(self, kind: str) -> dict[str, Any]:
        choice = self.random.choice
        finalizers = self.random.sample(["x/a", "x/b", "x/c"], self.random.randint(0, 3))
        metadata = {"name": "web", **self.maybe({"labels": self.labels(), "finalizers": finalizers})}
        group = GROUPS[kind]
        body: dict[str, Any] = {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": metadata}
        if kind == "Pod":
            return {**body, "spec": self.pod_spec()}
        if kind == "Service":
            ports = self.keyed(
                "port", [80, 81, 82, 83], targetPort=lambda: choice([1, "web"]), name=lambda: choice("ab")
            )
            return {**body, "spec": self.maybe({"ports": ports, "selector": self.labels(), "type": "ClusterIP"})}
        if kind == "PodDisruptionBudget":
            return {
                **body,
                "spec": self.maybe({"selector": {"matchLabels": self.labels()}, "minAvailable": choice([1, "5%"])}),
            }
        strategy = choice(
            [{"type": "Recreate"}, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": choice([1, 2])}}]
        )
        template = {"metadata": {"labels": self.labels()}, "spec": self.pod_spec()}
        return {
            **body,
            "spec": {"template": template, **self.maybe({"strategy": strategy, "replicas": choice([1, 2])})},
        }

    def with_directives(self, patch: Any) -> Any:
        """The patch with directives put in at random."""
        if isinstance(patch, list):
            items = [self.with_directives(item) for item in patch]
            if items and isinstance(items[0], dict) and self.random.random() < 0.1:
                items.append({"$patch": self.random.choice(["replace", "merge", "other"])})
            return items
        if not isinstance(patch, dict):
            return patch
        result = {key: self.with_directives(value) for key, value in patch.items() if self.random.random() < 0.9}
        if self.random.random() < 0.08 and result:
            result["$patch"] = self.random.choice(["delete", "replace"])
        for key, value in list(result.items()):
            if isinstance(value, list) and value and self.random.random() < 0.3:
                order = [dict(list(item.items())[:1]) if isinstance(item, dict) else item for item in value]
                result[f"$setElementOrder/{key}"] = order if self.random.random() < 0.8 else order[::-1]
        if "finalizers" in result and self.random.random() < 0.5:
            result["$deleteFromPrimitiveList/finalizers"] = [
                name for name in ("x/a", "x/b") if name not in result["finalizers"]
            ]
        return result


def attempt(seed: int) -> list[str]:
    """The differences in one case; there should be none."""
    objects = Objects(seed)
    kind = objects.random.choice(list(GROUPS))
    last, desired, live = (objects.make(kind) for _ in range(3))
    if objects.random.random() < 0.5:
        last, live = copy(desired), copy(desired)
        live["metadata"]["labels"] = objects.labels()
    schema = bundled(GROUPS[kind], "v1", kind)
    assert schema is not None
    patch = strategic.three_way_patch(last, desired, live, schema)
    hand_made = objects.with_directives(desired)
    hand_made.pop("$patch", None)  # kubectl prints no object without a kind
    problems = []
    for what, each in (("built", patch), ("hand-made", hand_made)):
        try:
            theirs = kubectl.patched(live, each)
        except kubectl.KubectlError as error:
            theirs = f"refused: {error}"
        ours: Any
        try:
            ours = strategic.apply_patch(live, each, schema)
        except MergeError as error:
            ours = f"refused: {error}"
        refused = isinstance(ours, str), isinstance(theirs, str)
        if refused[0] != refused[1] or (not refused[0] and not equal(ours, theirs)):
            problems.append(f"seed {seed}, {kind}, {what} patch {each}\n on {live}\n ours {ours}\n kubectl {theirs}")
    return problems


def check(seeds: range) -> None:
    with ThreadPoolExecutor(4) as pool:
        problems = [problem for found in pool.map(attempt, seeds) for problem in found]
    assert not problems, f"{len(problems)} differences, the first:\n{problems[0]}"


def test_random_patches_lead_to_the_same_object() -> None:
    check(range(20))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_very_many_random_patches_lead_to_the_same_object() -> None:
    check(range(1000, 2100))


@pytest.mark.corpus
def test_real_manifests_are_read_and_patched_alike(shared: Path) -> None:
    problems = []
    files = sorted((shared / "corpus" / "kube-prometheus" / "manifests").glob("*-deployment.yaml"))
    assert files
    for file in files:
        (document,) = load_all(file.read_bytes())
        live = kubectl.read(file.read_text())
        schema = bundled("apps", "v1", "Deployment")
        assert schema is not None
        patch = strategic.two_way_patch(document.value, live, schema)
        if not equal(kubectl.patched(document.value, patch), live):
            problems.append(file.name)
        if not equal(strategic.apply_patch(document.value, patch, schema), live):
            problems.append(file.name)
    assert not problems
