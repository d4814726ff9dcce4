"""What is worth remembering of a Sync from one reconcile to the next.

None of it is needed: a restart begins with an empty memory and ends in the same state. It only saves work, and is
dropped as a whole when in doubt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncd.engine.basis import Basis
    from syncd.inventory import ApplyConfig
    from syncd.model import Manifest, ObjectKey
    from syncd.plan.desired import DesiredSet
    from syncd.plan.settings import Settled
    from syncd.spec import SyncSpec


class KnownInventory(NamedTuple):
    """A list that was read, and what it was read from."""

    config: ApplyConfig
    version: tuple[str, str]
    """The uid and resourceVersion of the apply-config object."""
    pages: Mapping[str, str]
    """The resourceVersions of its pages, by name."""
    resources: object
    """The discovery snapshot that its keys were brought up to date with; compared by identity."""


@dataclass(slots=True)
class Memory:
    """Of one Sync; used by one reconcile at a time.

    Attributes:
        settled: Objects that were found to need nothing.
        manifests: What the desired set below was resolved from; compared by identity.
        discovery: The discovery snapshot that it was resolved with; compared by identity.
        desired: The desired set.
        namespaces: Namespaces that were seen to exist.
        irreplaceable: The digests of manifests whose objects had to be restored when they were to be made anew.
        basis: The last reconcile, if the next one may build on it.
        spec: What the Sync asked for when they were found to need nothing.
        owner: The uid of the apply-config object that they carried then.
        inventory: The list as it was read or written last.
    """

    settled: dict[ObjectKey, Settled] = field(default_factory=dict)
    manifests: tuple[Manifest, ...] | None = None
    discovery: object = None
    desired: DesiredSet | None = None
    namespaces: set[str] = field(default_factory=set)
    basis: Basis | None = None
    irreplaceable: dict[ObjectKey, bytes] = field(default_factory=dict)
    spec: SyncSpec | None = None
    owner: str = ""
    inventory: KnownInventory | None = None

    def want(self, desired: DesiredSet) -> None:
        """Take what Git wants now; what it does not want any more is not worth remembering."""
        self.desired = desired
        for key in self.settled.keys() - desired.by_key.keys():
            del self.settled[key]

    def judge_by(self, spec: SyncSpec, owner: str) -> None:
        """Forget what was found to need nothing if that was under other rules, or with another owner's marks."""
        if (self.spec, self.owner) != (spec, owner):
            self.settled.clear()
            self.spec, self.owner = spec, owner
