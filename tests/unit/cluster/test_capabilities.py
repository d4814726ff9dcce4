from __future__ import annotations

from contextlib import closing

from syncd.cluster.capabilities import ServerFacts
from syncd.cluster.discovery import Discovery
from tests.faults.cluster.fakeapi import FakeAPI, transport_to
from tests.unit.cluster.test_discovery import aggregated, answers, entry


def test_the_version_and_all_that_is_served_are_asked_when_discovery_is() -> None:
    served = {
        "/version": {"gitVersion": "v1.37.1"},
        "/api": aggregated(("", [("v1", [entry("Secret", "secrets")], "Current")])),
        "/apis": aggregated(("example.com", [("v1", [entry("Oak", "oaks")], "Current")])),
    }
    with FakeAPI(answers(served)) as server, closing(transport_to(server.url)) as transport:
        discovery = Discovery(transport)
        facts = ServerFacts(transport, discovery)
        assert facts.get() == ("v1.37.1", ("example.com/v1", "example.com/v1/Oak", "v1", "v1/Secret"))
        facts.get()
        assert [request.path for request in server.requests].count("/version") == 1
        served["/version"] = {"gitVersion": "v1.38.0"}
        discovery.refresh()
        assert facts.get()[0] == "v1.38.0"
