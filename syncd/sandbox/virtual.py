"""Kinds that are answered and never stored: access reviews, token reviews and token requests.

The sandbox has one user, who may do everything; whoever asks is told so.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind

USER: JSONObject = {"username": "sandbox-admin", "groups": ["system:masters", "system:authenticated"]}
_DEFAULT_EXPIRATION = 3600
_EVERYTHING: JSONObject = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def review(kind: ServedKind, obj: JSONObject) -> JSONObject:
    """The answer to a review."""
    statuses: dict[str, JSONObject] = {
        "SelfSubjectRulesReview": _EVERYTHING,
        "SelfSubjectReview": {"userInfo": USER},
        "TokenReview": {"authenticated": True, "user": USER},
    }
    return obj | {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": obj.get("metadata") or {},
        "status": statuses.get(kind.kind, {"allowed": True}),
    }


def token(account: JSONObject, request: JSONObject, now: datetime) -> JSONObject:
    """The answer to a TokenRequest for a service account: a token that the sandbox does not check."""
    spec = request.get("spec") or {}
    seconds = spec.get("expirationSeconds") or _DEFAULT_EXPIRATION
    expiry = (now + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {field: account["metadata"][field] for field in ("name", "namespace")}
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": metadata,
        "spec": spec | {"expirationSeconds": seconds},
        "status": {"token": secrets.token_urlsafe(32), "expirationTimestamp": expiry},
    }
