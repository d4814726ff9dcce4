"""Rules of Pods and pod templates, as ``pkg/apis/core/validation`` of Kubernetes words them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncd.sandbox import causes, names, quantity
from syncd.sandbox.kinds import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from syncd.model import JSONObject

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROBE_KINDS = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")


def pod_spec(spec: JSONObject, path: str) -> Iterator[Cause]:
    """What is wrong with a Pod's spec."""
    volumes: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        yield from _volume(volume, volumes, f"{path}.volumes[{index}]")
        volumes.add(volume.get("name", ""))
    if not spec.get("containers"):
        yield causes.required(f"{path}.containers")
    used: set[str] = set()
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            where = f"{path}.{field}[{index}]"
            yield from _container(container, volumes, where, probes=field == "containers")
            if container.get("name") and container["name"] in used:
                yield causes.duplicate(f"{where}.name", container["name"])
            used.add(container.get("name", ""))
    if spec.get("restartPolicy") not in _RESTART_POLICIES:
        yield causes.not_supported(f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES)
    if spec.get("dnsPolicy") not in _DNS_POLICIES:
        yield causes.not_supported(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    account = spec.get("serviceAccountName", "")
    for words in names.subdomain(account) if account else ():
        yield causes.invalid(f"{path}.serviceAccountName", account, words)
    yield from non_negative(spec, path, "terminationGracePeriodSeconds")


def non_negative(obj: JSONObject, path: str, *fields: str) -> Iterator[Cause]:
    """Numbers that must not be below zero."""
    for field in fields:
        value = obj.get(field)
        if value is not None and value < 0:
            yield causes.invalid(f"{path}.{field}", value, "must be greater than or equal to 0")


def _volume(volume: JSONObject, known: set[str], path: str) -> Iterator[Cause]:
    name = volume.get("name", "")
    sources = [field for field in volume if field != "name"]
    for field in sources[1:]:
        yield causes.forbidden(f"{path}.{field}", "may not specify more than 1 volume type")
    if not name:
        yield causes.required(f"{path}.name")
    else:
        for words in names.label(name):
            yield causes.invalid(f"{path}.name", name, words)
    if name in known:
        yield causes.duplicate(f"{path}.name", name)
    claim = volume.get("persistentVolumeClaim")
    if claim is not None and not claim.get("claimName"):
        yield causes.required(f"{path}.persistentVolumeClaim.claimName")
    config = volume.get("configMap")
    if config is not None and not config.get("name"):
        yield causes.required(f"{path}.configMap.name")
    secret = volume.get("secret")
    if secret is not None and not secret.get("secretName"):
        yield causes.required(f"{path}.secret.secretName")


def _container(container: JSONObject, volumes: set[str], path: str, *, probes: bool) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield causes.required(f"{path}.name")
    else:
        for words in names.label(name):
            yield causes.invalid(f"{path}.name", name, words)
    if not container.get("image"):
        yield causes.required(f"{path}.image")
    yield from _ports(container.get("ports") or (), f"{path}.ports")
    for index, variable in enumerate(container.get("env") or ()):
        yield from _variable(variable, f"{path}.env[{index}]")
    yield from _mounts(container.get("volumeMounts") or (), volumes, f"{path}.volumeMounts")
    if container.get("imagePullPolicy") not in _PULL_POLICIES:
        yield causes.not_supported(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), _PULL_POLICIES)
    yield from _resources(container.get("resources") or {}, f"{path}.resources")
    for field in _PROBES if probes else ():
        probe = container.get(field)
        if probe is not None:
            yield from _probe(probe, f"{path}.{field}")
            if field != "readinessProbe" and probe.get("successThreshold", 1) != 1:
                yield causes.invalid(f"{path}.{field}.successThreshold", probe["successThreshold"], "must be 1")


def _ports(ports: Sequence[JSONObject], path: str) -> Iterator[Cause]:
    used: set[str] = set()
    for index, port in enumerate(ports):
        where, name = f"{path}[{index}]", port.get("name", "")
        if name:
            wrong = names.port_name(name)
            for words in wrong:
                yield causes.invalid(f"{where}.name", name, words)
            if not wrong and name in used:
                yield causes.duplicate(f"{where}.name", name)
            used.add(name)
        if not port.get("containerPort"):
            yield causes.required(f"{where}.containerPort")
        for field in ("containerPort", "hostPort"):
            for words in names.port_number(port[field]) if port.get(field) else ():
                yield causes.invalid(f"{where}.{field}", port[field], words)
        if port.get("protocol") not in PROTOCOLS:
            yield causes.not_supported(f"{where}.protocol", port.get("protocol"), PROTOCOLS)


def _variable(variable: JSONObject, path: str) -> Iterator[Cause]:
    name = variable.get("name", "")
    if not name:
        yield causes.required(f"{path}.name")
    elif "=" in name or not name.isprintable():
        words = "a valid environment variable name must consist only of printable ASCII characters other than '='"
        yield causes.invalid(f"{path}.name", name, words)
    source = variable.get("valueFrom")
    if source is None:
        return
    if variable.get("value"):
        yield causes.invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")
    if len(source) != 1:
        words = (
            "may not have more than one field specified at a time"
            if source
            else (
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            )
        )
        yield causes.invalid(f"{path}.valueFrom", "", words)


def _mounts(mounts: Sequence[JSONObject], volumes: set[str], path: str) -> Iterator[Cause]:
    used: set[str] = set()
    for index, mount in enumerate(mounts):
        where, name, place = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield causes.required(f"{where}.name")
        if name not in volumes:
            yield Cause(f"{where}.name", "FieldValueNotFound", f"Not found: {causes.quoted(name)}")
        if not place:
            yield causes.required(f"{where}.mountPath")
        if place in used:
            yield causes.invalid(f"{where}.mountPath", place, "must be unique")
        used.add(place)


def _resources(resources: JSONObject, path: str) -> Iterator[Cause]:
    limits = resources.get("limits") or {}
    for field in ("limits", "requests"):
        for name, amount in sorted((resources.get(field) or {}).items()):
            if quantity.parse(amount) < 0:
                yield causes.invalid(f"{path}.{field}[{name}]", amount, "must be greater than or equal to 0")
    for name, amount in sorted((resources.get("requests") or {}).items()):
        if name in limits and quantity.parse(amount) > quantity.parse(limits[name]):
            words = f"must be less than or equal to {name} limit of {limits[name]}"
            yield causes.invalid(f"{path}.requests", amount, words)


def _probe(probe: JSONObject, path: str) -> Iterator[Cause]:
    handlers = [kind for kind in _PROBE_KINDS if kind in probe]
    if not handlers:
        yield causes.required(path, "must specify a handler type")
    for kind in handlers[1:]:
        yield causes.forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")
    fields = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
    yield from non_negative(probe, path, *fields)
