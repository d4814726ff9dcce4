"""The Sync document: what a user writes, its defaults and its validation.

The same models read ``kind: Sync`` documents from files and from the cluster. Unknown fields are errors, every error is
reported with the path of its field, and every model is frozen. Each module holds one part of the document.
"""

from __future__ import annotations

from syncd.spec.base import Model, SecretRef, parse_duration
from syncd.spec.decryption import Decryption
from syncd.spec.dependency import Dependency
from syncd.spec.drift import DriftPolicy
from syncd.spec.fields import FieldRule, Pointer, Selector
from syncd.spec.health import HealthCheck
from syncd.spec.merge import MergePolicy, MergeRule
from syncd.spec.overrides import Image, Overrides, Patch, PatchTarget
from syncd.spec.prune import Adopt, Prune, PruneBudget
from syncd.spec.render import HelmRender, KustomizeRender, PlainRender, Render
from syncd.spec.source import GitProxy, GitRef, GitSource, GitVerify, Source
from syncd.spec.substitute import Substitute, ValuesFrom
from syncd.spec.sync import API_VERSION, KIND, FieldProblem, SpecError, Sync, SyncMetadata, SyncSpec, parse_sync
from syncd.spec.target import Target
from syncd.spec.windows import Window

__all__ = [
    "API_VERSION",
    "KIND",
    "Adopt",
    "Decryption",
    "Dependency",
    "DriftPolicy",
    "FieldProblem",
    "FieldRule",
    "GitProxy",
    "GitRef",
    "GitSource",
    "GitVerify",
    "HealthCheck",
    "HelmRender",
    "Image",
    "KustomizeRender",
    "MergePolicy",
    "MergeRule",
    "Model",
    "Overrides",
    "Patch",
    "PatchTarget",
    "PlainRender",
    "Pointer",
    "Prune",
    "PruneBudget",
    "Render",
    "SecretRef",
    "Selector",
    "Source",
    "SpecError",
    "Substitute",
    "Sync",
    "SyncMetadata",
    "SyncSpec",
    "Target",
    "ValuesFrom",
    "Window",
    "parse_duration",
    "parse_sync",
]
