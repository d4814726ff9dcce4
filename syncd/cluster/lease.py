"""A Lease (coordination.k8s.io/v1) as the API server has it: read, and written unless somebody else was faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.cluster.discovery import Resource
from syncd.cluster.errors import NotFoundError

if TYPE_CHECKING:
    from syncd.cluster.transport import Transport
    from syncd.model import JSONObject

LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)


_ADDRESS: Final = "syncd.dev/address"
"""The annotation with the holder's address."""


class LeasePlace(NamedTuple):
    """Where a Lease is."""

    namespace: str
    name: str


class LeaseClient:
    """Reads and writes one Lease; nothing is tried twice, since whoever asks has a pace of its own.

    Args:
        transport: The way to the server; without a fence, for the fence hangs on the Lease.
        place: Where the Lease is.
        address: Where whoever writes it is served, as a URL, for the others to know; "" if that is nobody's business.
    """

    def __init__(self, transport: Transport, place: LeasePlace, address: str = "") -> None:
        self._transport = transport
        self._place = place
        self._address = address

    def read(self, timeout: float) -> JSONObject | None:
        """The Lease, or None when there is none.

        Raises:
            ApiError: It cannot be read.
        """
        try:
            return self._transport.request("GET", LEASES.path(*self._place), timeout=timeout, retry=False).object()
        except NotFoundError:
            return None

    def write(self, spec: JSONObject, resource_version: str, timeout: float) -> JSONObject:
        """Write it, if it is still as it was at ``resource_version``, or still missing if that is "".

        Raises:
            ConflictError: Somebody else was faster. Creating raises AlreadyExistsError then.
            ApiError: It may not, or cannot, be written.
        """
        namespace, name = self._place
        metadata: JSONObject = {"name": name, "namespace": namespace}
        if self._address:
            metadata["annotations"] = {_ADDRESS: self._address}
        if resource_version:
            metadata["resourceVersion"] = resource_version
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
        method, path = ("PUT", LEASES.path(namespace, name)) if resource_version else ("POST", LEASES.path(namespace))
        return self._transport.request(method, path, body=body, timeout=timeout, retry=False).object()


def address_in(lease: JSONObject | None) -> str:
    """Where whoever wrote a Lease last is served; "" if it does not say so."""
    return str((lease["metadata"].get("annotations") or {}).get(_ADDRESS, "")) if lease else ""
