"""What the sandbox is known to do otherwise than a real server, and why that is left so.

Each has a test, marked with :func:`differs`, that holds what a real server does; on the sandbox it must fail. The
section of the sandbox's README is made from here, by ``python -m tests.contract.describe``.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

MARK = "differs"


class Difference(NamedTuple):
    """One difference.

    Attributes:
        what: What a client sees, sandbox first.
        why: Why it is left so.
    """

    what: str
    why: str


DIFFERENCES: dict[str, Difference] = {
    "users": Difference(
        "Plain HTTP, at most one token, no RBAC, no impersonation; access reviews say yes.",
        "A sandbox has one user.",
    ),
    "admission": Difference(
        "Webhooks, admission policies, quotas, limit ranges and APIServices are stored, and not carried out.",
        "They would call out to programs that do not run here, or need a scheduler.",
    ),
    "no-kubelet": Difference(
        "Pods have no logs, exec, attach, port-forward or proxy, and are deleted at once.",
        "There is no kubelet, and nothing runs.",
    ),
    "protobuf": Difference(
        "Answers are JSON or YAML, never protobuf or CBOR; bodies in protobuf are read.",
        "Clients take JSON wherever they prefer another.",
    ),
    "syntax-words": Difference(
        "Errors of JSON and YAML syntax have the same code and reason, but other words.",
        "They are those of other parsers.",
    ),
    "repeated-objects": Difference(
        "Where a field comes twice in a JSON object, the last value holds, also where both are objects.",
        "Go's reader merges the two; strict validation, which kubectl asks for, refuses them on both.",
    ),
    "storage-hashes": Difference(
        "`storageVersionHash` in discovery has other values.",
        "Clients may only compare them with each other.",
    ),
    "scale-managers": Difference(
        "Scaling a custom resource is noted in managedFields with its time, as for built-in kinds.",
        "A real server notes it without time when it is done by a patch, and not at all when by a replacement.",
    ),
    "version": Difference(
        "`/version` says `+sandbox`.",
        "Nobody should take it for a real server.",
    ),
    "selector-words": Difference(
        "Errors in label selectors and continue tokens have the same code and reason, but other words.",
        "They are the words of a parser that is not here.",
    ),
    "strategic-words": Difference(
        "Errors in strategic merge patches have the same code and reason, but other words.",
        "Go's conversion between types finds them there, and the reader of objects here.",
    ),
    "merged-order": Difference(
        "A body that a merge patch makes invalid is quoted with its fields in another order.",
        "Go sorts some of them and not others; nobody reads them by their order.",
    ),
    "go-values": Difference(
        "Errors about immutable fields quote a Job's template as JSON, and no difference of a claim.",
        "A real server prints its internal Go structures there.",
    ),
    "column-descriptions": Difference(
        "The columns of Tables have no descriptions, but for those of custom kinds.",
        "kubectl shows them nowhere.",
    ),
    "enums": Difference(
        "Schemas of built-in kinds do not name the values that a field may have; a wrong one is refused all the same.",
        "The published definitions that they are made from have none.",
    ),
    "zero-defaults": Difference(
        "Schemas of built-in kinds do not have Go's zero values as defaults.",
        "They mean nothing to clients; the published definitions have none.",
    ),
    "cel": Difference(
        "Rules in CEL (`x-kubernetes-validations`) are stored and published, and not carried out.",
        "It takes an interpreter of CEL with Kubernetes' own functions and cost limits.",
    ),
    "defaults-on-read": Difference(
        "A default that a definition gets later shows in older objects when they are next written, not at once.",
        "Objects are served as the bytes that were stored, which is what makes ten thousand of them fast.",
    ),
}
"""By a short name, in the order of the README."""


def differs(name: str) -> pytest.MarkDecorator:
    """Mark a test, or one of its parameters, that the sandbox is known to fail."""
    assert name in DIFFERENCES, f"{name} is not in the list of differences"
    return pytest.mark.differs(name)
