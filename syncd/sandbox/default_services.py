"""Defaults of Services, and the addresses and ports that a server allocates for them.

Allocation needs no memory: address and node port follow from namespace and name, out of ranges wide enough that two
Services of a demo or a test do not meet. (A real server draws at random and keeps a bitmap.)
"""

from __future__ import annotations

import hashlib
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncd.model import JSONObject

_FIRST_ADDRESS = int(IPv4Address("10.96.1.0"))  # 10.96.0.0/12, as kubeadm has it, without its first addresses
_ADDRESSES = int(IPv4Address("10.112.0.0")) - _FIRST_ADDRESS - 1
_FIRST_NODE_PORT, _NODE_PORTS = 30000, 2768
_AFFINITY_SECONDS = 10800
_API_SERVER = ("default", "kubernetes")
_API_SERVER_ADDRESS = "10.96.0.1"
_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


def port_default(obj: JSONObject) -> None:
    """A port leads to the same port of the Pods."""
    if obj.get("targetPort") in (None, 0, ""):
        obj["targetPort"] = obj.get("port", 0)


def service_defaults(obj: JSONObject) -> None:
    """Fill a ``ServiceSpec``."""
    if obj["sessionAffinity"] == "None":
        obj.pop("sessionAffinityConfig", None)
    elif not ((obj.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds"):
        obj["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
    kind = obj["type"]
    reachable = kind in _WITH_NODE_PORTS or (kind == "ClusterIP" and obj.get("externalIPs"))
    if reachable and not obj.get("externalTrafficPolicy"):
        obj["externalTrafficPolicy"] = "Cluster"
    if kind != "ExternalName":
        obj.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        obj.setdefault("allocateLoadBalancerNodePorts", True)


def finish_service(obj: JSONObject) -> None:
    """Allocate cluster address and node ports where the Service has none."""
    spec, metadata = obj["spec"], obj["metadata"]
    owner = (metadata.get("namespace", ""), metadata.get("name", ""))
    if spec["type"] != "ExternalName":
        _addresses(spec, owner)
    local = spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    if local and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = _node_port(owner, "health", set())
    if spec["type"] == "NodePort" or (spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts")):
        taken = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
        for port in spec.get("ports") or ():
            if not port.get("nodePort"):
                port["nodePort"] = _node_port(owner, f"{port.get('port')}/{port.get('protocol')}", taken)
                taken.add(port["nodePort"])


def keep_allocated(new: JSONObject, old: JSONObject) -> JSONObject:
    """A Service's next state with the addresses and ports of its present one, as far as it still needs them.

    What is of no use any more is dropped, unless the client changed it (then it is wrong, and will be told so).
    """
    spec, before = dict(new["spec"]), old["spec"]
    needed, had = spec["type"] != "ExternalName", before["type"] != "ExternalName"
    if needed and had and not spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec |= {field: before[field] for field in ("clusterIP", "clusterIPs") if field in before}
    elif needed and had and spec.get("clusterIPs") and spec["clusterIPs"] == before.get("clusterIPs"):
        spec["clusterIPs"] = [spec.get("clusterIP", ""), *spec["clusterIPs"][1:]]  # the old field leads the new one
    useless: list[str] = []
    if had and not needed:
        useless += ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
    if spec["type"] != "LoadBalancer":
        useless += ("allocateLoadBalancerNodePorts", "healthCheckNodePort", "loadBalancerClass")
    if spec["type"] not in _WITH_NODE_PORTS and not spec.get("externalIPs"):
        useless.append("externalTrafficPolicy")
    for field in useless:
        if spec.get(field) == before.get(field):
            spec.pop(field, None)
    if spec.get("ports"):
        spec["ports"] = _keep_node_ports(spec, before.get("ports") or ())
    return new | {"spec": spec}


def _keep_node_ports(spec: JSONObject, before: Sequence[JSONObject]) -> list[JSONObject]:
    numbers = {(port.get("port"), port.get("protocol")): port["nodePort"] for port in before if port.get("nodePort")}
    ports = []
    for port in spec["ports"]:
        number = numbers.get((port.get("port"), port.get("protocol")))
        if spec["type"] in _WITH_NODE_PORTS and number and not port.get("nodePort"):
            ports.append(port | {"nodePort": number})
        elif spec["type"] not in _WITH_NODE_PORTS and number and port.get("nodePort") == number:
            ports.append({field: value for field, value in port.items() if field != "nodePort"})
        else:
            ports.append(dict(port))
    return ports


def _addresses(spec: JSONObject, owner: tuple[str, str]) -> None:
    first = (spec.get("clusterIPs") or [""])[0]
    spec["clusterIP"] = spec.get("clusterIP") or first or _cluster_address(owner)
    spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
    headless_without_selector = spec["clusterIP"] == "None" and not spec.get("selector")
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if headless_without_selector else "SingleStack")
    if not spec.get("ipFamilies"):
        spec["ipFamilies"] = ["IPv4", "IPv6"] if headless_without_selector else ["IPv4"]


def _cluster_address(owner: tuple[str, str]) -> str:
    if owner == _API_SERVER:
        return _API_SERVER_ADDRESS
    return str(IPv4Address(_FIRST_ADDRESS + _draw(*owner) % _ADDRESSES))


def _node_port(owner: tuple[str, str], use: str, taken: set[int]) -> int:
    drawn = _draw(*owner, use)
    while _FIRST_NODE_PORT + drawn % _NODE_PORTS in taken:
        drawn += 1
    return _FIRST_NODE_PORT + drawn % _NODE_PORTS


def _draw(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8], "big")
