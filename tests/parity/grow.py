"""Objects made up from a kind's OpenAPI schema: a small valid one grows by whatever fields the server accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from syncd.merge.jsonvalue import copy

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Mapping

    from syncd.model import JSONObject

Path = tuple[str | int, ...]

_FIXED = ("apiVersion", "kind", "metadata", "status")
_UNFIT = ("immutable", "globalDefault")  # nothing else could change then; it would change Pods that come later
_DEEPEST = 9
_SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("1", "2"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": (1, 2),
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": ("2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z"),
}


class Grower:
    """Makes up fields for objects of one group and version."""

    def __init__(self, schemas: Mapping[str, Any], rng: random.Random) -> None:
        self._schemas = schemas
        self._rng = rng

    def schema_of(self, item: JSONObject) -> JSONObject | None:
        """The schema of an object's kind."""
        group, _, version = item["apiVersion"].rpartition("/")
        wanted = {"group": group, "version": version, "kind": item["kind"]}
        found = (raw for raw in self._schemas.values() if wanted in raw.get("x-kubernetes-group-version-kind", ()))
        return next(found, None)

    def grown(
        self, item: JSONObject, accepts: Callable[[JSONObject], bool], tries: int
    ) -> tuple[JSONObject, list[Path]]:
        """The object with more fields, and which these are."""
        schema = self.schema_of(item) or {}
        paths: list[Path] = []
        for _ in range(tries):
            free = list(self._free(item, schema, ()))
            if not free:
                break
            path, raw = self._rng.choice(free)
            attempt = put(item, path, self._value(raw, 0))
            if accepts(attempt):
                item = attempt
                paths.append(path)
        return item, paths

    def varied(self, item: JSONObject, paths: list[Path]) -> JSONObject:
        """The object with some of these fields gone and some changed."""
        for path in paths:
            choice = self._rng.randrange(3) if has(item, path) else None
            if choice == 0:
                item = take(item, path)
            elif choice == 1 and (raw := self._at(item, path)) is not None:
                item = put(item, path, self._value(raw, 1))
        return item

    def _at(self, item: JSONObject, path: Path) -> JSONObject | None:
        """The schema of a field."""
        raw = self.schema_of(item)
        for part in path:
            _, raw = self._resolved(raw or {})
            raw = raw.get("items") if isinstance(part, int) else raw.get("properties", {}).get(part)
        return raw

    def _free(self, value: Any, raw: JSONObject, path: Path) -> Iterator[tuple[Path, JSONObject]]:
        """Fields that are not there and could be, at any depth."""
        _, raw = self._resolved(raw)
        if isinstance(value, dict):
            for name, below in raw.get("properties", {}).items():
                if not path and name in (*_FIXED, *_UNFIT):
                    continue
                if name in value:
                    yield from self._free(value[name], below, (*path, name))
                else:
                    yield (*path, name), below
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._free(item, raw.get("items", {}), (*path, index))

    def _resolved(self, raw: JSONObject) -> tuple[str, JSONObject]:
        name = ""
        while (reference := raw.get("$ref") or (raw.get("allOf") or [{}])[0].get("$ref")) is not None:
            name = reference.rpartition("/")[2]
            raw = self._schemas[name]
        return name, raw

    def _value(self, raw: JSONObject, which: int, depth: int = 0) -> Any:  # noqa: PLR0911 - one line for each type
        """One of two values of this type, the smallest that may be valid."""
        name, raw = self._resolved(raw)
        if name in _SCALARS:
            return _SCALARS[name][which]
        if "enum" in raw:
            return raw["enum"][which % len(raw["enum"])]
        match raw.get("type"):
            case "string":
                return ("YQ==", "Yg==")[which] if raw.get("format") == "byte" else "ab"[which]
            case "integer" | "number":
                return 1 + which
            case "boolean":
                return which == 0
            case "array":
                return [self._value(raw["items"], index, depth + 1) for index in range(1 + which)]
        if "additionalProperties" in raw:
            extra = raw["additionalProperties"]
            return {"ab"[index]: self._value(extra, which, depth + 1) for index in range(1 + which)}
        required = raw.get("required", [])
        properties = raw.get("properties", {})
        if not required and properties and depth < _DEEPEST:
            required = [self._rng.choice(sorted(properties))]
        return {field: self._value(properties[field], which, depth + 1) for field in required}


def put(value: Any, path: Path, new: Any) -> Any:
    """A copy with this value at the path."""
    if not path:
        return new
    result = copy(value)
    inner = result
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = new
    return result


def has(value: Any, path: Path) -> bool:
    """Whether there is something at the path."""
    for part in path:
        fits = part in value if isinstance(value, dict) else isinstance(part, int) and part < len(value)
        if not fits:
            return False
        value = value[part]
    return True


def take(value: Any, path: Path) -> Any:
    """A copy without the field."""
    result = copy(value)
    inner = result
    for part in path[:-1]:
        inner = inner[part]
    inner.pop(path[-1])
    return result
