"""Custom resources come with their definition, also while some other API does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.daemon import eventually

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from tests.parity.sides import Pair

pytestmark = [pytest.mark.controlplane]

_DEAD = {
    "metadata": {"name": "v1.dead.example.com"},
    "spec": {
        "group": "dead.example.com",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": {"name": "nobody", "namespace": "default"},
    },
}
_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


def _definition() -> JSONObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "figs", "kind": "Fig"}
    spec = {"group": "figs.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, "metadata": {"name": "figs.figs.example.com"}, "spec": spec}


def test_a_dead_api_does_not_hold_what_a_new_definition_brings(pair: Pair) -> None:
    api = pair.syncd.control_plane.api
    api.create(_SERVICES, _DEAD)
    try:
        eventually("discovery misses it", lambda: _misses_it(pair))
        fig = {"apiVersion": "figs.example.com/v1", "kind": "Fig", "metadata": {"name": "a", "namespace": "default"}}
        assert pair.syncd.apply([_definition(), fig]).words == ""
    finally:
        api.delete(f"{_SERVICES}/v1.dead.example.com")
        eventually("discovery misses it no more", lambda: not _misses_it(pair))


def _misses_it(pair: Pair) -> bool:
    return "dead.example.com/v1" in pair.syncd.resources().failed
