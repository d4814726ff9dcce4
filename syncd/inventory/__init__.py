"""The apply-config object: its format, its hashes, and the marks that it puts on what it owns. Pure.

The object follows the prune design of kubectl (kubernetes/kubectl#572): a label says what it is, one annotation lists
the keys of everything that was applied, one label holds a hash, and every listed object points back with an annotation.
"""

from syncd.inventory.applyconfig import ApplyConfig
from syncd.inventory.ownership import Owner, Ownership

__all__ = ["ApplyConfig", "Owner", "Ownership"]
