"""What a Sync's render needs besides its files: read anew each time, so that what was rotated or changed is seen."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import orjson

from syncd.render.sops import Keys
from syncd.render.substitute import variables
from syncd.source.secrets import SecretPlace

if TYPE_CHECKING:
    from syncd.render.substitute import Variables
    from syncd.render.surroundings import Surroundings
    from syncd.spec import SyncSpec


class Given(NamedTuple):
    """Keys for decryption and values of variables; None for what the Sync does not ask for."""

    keys: Keys | None
    variables: Variables | None

    def __repr__(self) -> str:
        return "Given(...)"

    @property
    def identity(self) -> str:
        """Equal if and only if all of it is. A hash, so that no secret is kept for longer than it is needed."""
        keys = [hashlib.sha256(part).hexdigest() for part in self.keys[:2]] if self.keys else None
        values, secret = self.variables or (None, ())
        return hashlib.sha256(orjson.dumps([keys, values, sorted(secret)], option=orjson.OPT_SORT_KEYS)).hexdigest()


def gather(spec: SyncSpec, surroundings: Surroundings, namespace: str) -> Given:
    """Read everything that a Sync names.

    Args:
        spec: The Sync.
        surroundings: Where ConfigMaps and Secrets are.
        namespace: The Sync's own.

    Raises:
        InvalidInputError: Something in it is not what it should be.
        SyncdError: A ConfigMap or Secret is missing, or cannot be read.
    """
    keys = found = None
    if (how := spec.decryption) is not None:
        place = SecretPlace.of(how.secret_file, how.secret_ref, namespace)
        keys = Keys.of(place.read(surroundings.secrets), str(place)) if place else None
    if spec.substitute is not None:
        found = variables(spec.substitute, surroundings, namespace)
    return Given(keys, found)
