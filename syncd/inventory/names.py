"""The names of labels and annotations, in one place because other tools read and write them too."""

from typing import Final

APPLY_CFG_LABEL: Final = "kubectl.kubernetes.io/apply-cfg"
"""``"true"`` marks an apply-config object."""
ELSEWHERE: Final = "elsewhere"
"""The value of that label on syncd's own ConfigMap while the list is in an object that came along from Git."""
APPLY_HASH_LABEL: Final = "kubectl.kubernetes.io/apply-hash"
"""The hash of the list that the present reconcile ends with: equal to the list's own hash once pruning has finished."""
OBJECTS_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-objects"
"""The list: one ``namespace:group:kind:name`` a line, sorted."""
LIST_HASH_ANNOTATION: Final = "syncd.dev/list-hash"
"""The hash of the list as it stands, so that a hand that edits the list is noticed even between union and trim."""

PAGES_ANNOTATION: Final = "syncd.dev/pages"
"""Where a list goes that is too long for one annotation: one ``name count hash`` of a page a line."""
PAGE_LABEL: Final = "syncd.dev/page-of"
"""On a page: the uid of its apply-config object."""
PLACE_ANNOTATION: Final = "syncd.dev/inventory"
"""On syncd's own ConfigMap: the key of the object that came along from Git and holds the list instead."""
MOVED_ANNOTATION: Final = "syncd.dev/moved-from"
"""Where the list was before, for as long as an object may still name that as its owner: one
``uid namespace:group:kind:name`` of a former apply-config object a line."""
APPROVAL_ANNOTATION: Final = "syncd.dev/approve-prune"
"""What a person allows although it is over the budget: the prunes of one commit, or those of one list of objects by its
hash; both may be given, separated by a slash."""

OWNER_ANNOTATION: Final = "kubectl.kubernetes.io/apply-owner"
"""On an applied object: the uid of its apply-config object."""
APPLY_ID_LABEL: Final = "kubectl.kubernetes.io/apply-id"
"""On an applied object: the same uid as a label, so that one LIST or WATCH a kind finds managed objects only."""
SYNC_ANNOTATION: Final = "syncd.dev/sync"
"""On an applied object: ``namespace/name`` of its Sync, for people, and for an apply-config object made anew."""

BOOKKEEPING: Final = frozenset(
    {
        OBJECTS_ANNOTATION,
        LIST_HASH_ANNOTATION,
        PAGES_ANNOTATION,
        PLACE_ANNOTATION,
        MOVED_ANNOTATION,
        APPROVAL_ANNOTATION,
    }
)
"""The annotations of an apply-config object that are syncd's to write; with the label for the hash, all that is."""

MARKS: Final = frozenset({OWNER_ANNOTATION, APPLY_ID_LABEL, SYNC_ANNOTATION})
"""All that ownership writes onto an object."""
