"""One object in a cluster without a server: what the tests of the merge engine apply to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from syncd.merge import engine, json_merge, last_applied, strategic
from syncd.merge.jsonvalue import copy, equal
from syncd.merge.schema import PatchSchema, bundled
from syncd.model import WriteMethod

if TYPE_CHECKING:
    from syncd.merge.engine import Merge
    from syncd.merge.rules import UserRule


class Cluster:
    """One live object, to which configurations are applied."""

    def __init__(self, kind: str = "Deployment", group: str = "apps", schema: PatchSchema | None = None) -> None:
        self.schema = schema or bundled(group, "v1", kind)
        self.header = {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind}
        self.live: dict[str, Any] = {}
        self.rules: tuple[UserRule, ...] = ()

    def configuration(self, **fields: Any) -> dict[str, Any]:
        metadata = {"name": "web", "namespace": "shop", **fields.pop("metadata", {})}
        return {**self.header, "metadata": metadata, **fields}

    def apply(self, **fields: Any) -> Merge:
        """Apply a configuration, and check on the way that nothing changes its inputs and that the write does it."""
        modified = last_applied.stamp(self.configuration(**fields))
        if not self.live:
            self.live = json_merge.apply_patch({}, modified)
            self.live["metadata"]["resourceVersion"] = "1"
        result = self.merge(modified)
        self.live = result.merged
        return result

    def merge(self, modified: dict[str, Any]) -> Merge:
        original = last_applied.read(self.live)
        before = copy([original, modified, self.live])
        result = engine.merge(
            original=original, modified=modified, live=self.live, schema=self.schema, rules=self.rules
        )
        assert equal([original, modified, self.live], before), "inputs were changed"
        if result.write is not None and result.write.method is not WriteMethod.SERVER_SIDE_APPLY:
            assert equal(self.served(result), result.merged), "the write does not lead to what was announced"
        return result

    def served(self, result: Merge) -> Any:
        """What the server makes of the write."""
        assert result.write is not None
        assert result.write.body is not None
        if result.write.method is WriteMethod.JSON_MERGE_PATCH:
            assert result.write.body["metadata"]["resourceVersion"] == self.live["metadata"]["resourceVersion"]
            return json_merge.apply_patch(self.live, result.write.body)
        assert self.schema is not None
        return strategic.apply_patch(self.live, result.write.body, self.schema)

    def change(self, **fields: Any) -> None:
        """Let somebody else, or the server's defaulting, merge fields into the live object."""
        self.live = json_merge.apply_patch(self.live, fields)


def pod_template(**spec: Any) -> dict[str, Any]:
    return {"template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}}
