"""An object that outgrows its last-applied annotation, and shrinks again, loses just what leaves Git."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.merge.last_applied import ANNOTATION
from tests.support.instance import Git, Instance, config_map, sync

if TYPE_CHECKING:
    from tests.support.clusters import ClusterUnderTest

LARGE = "x" * 300_000


def test_an_object_grows_over_the_limit_and_back(cluster: ClusterUnderTest) -> None:
    git, wanted = Git(), sync("shop", prune={"enabled": False})
    with Instance(cluster.kubeconfig, git) as instance:

        def apply(**data: str) -> set[str]:
            """What the live object has after one reconcile; another one finds nothing to do."""
            git.commit("shop", [config_map("a", "default", **data)])
            assert not instance.reconcile(wanted).failures
            assert not instance.reconcile(wanted).plan.changes_cluster
            live = cluster.kubectl.get("configmap", "a", "default")
            assert live is not None
            assert (ANNOTATION in live["metadata"]["annotations"]) == (LARGE not in data.values())
            return set(live["data"])

        assert apply(a="1", b="2") == {"a", "b"}
        cluster.kubectl("patch", "configmap", "a", "-n", "default", "--type=merge", "-p", '{"data":{"theirs":"1"}}')
        assert apply(a="1", c=LARGE) == {"a", "c", "theirs"}
        assert apply(c=LARGE) == {"c", "theirs"}
        assert apply(d="1") == {"d", "theirs"}
        assert apply(e=LARGE) == {"e", "theirs"}
