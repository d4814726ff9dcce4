"""What happens to an object between a request and the storage: decode, default, manage fields, validate.

One place that calls the parts, so that a controller's write and a client's write take the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from syncd.sandbox import codec, defaulting, errors, fieldmanager, openapi, strategies, validation
from syncd.sandbox.crd import CustomKinds
from syncd.sandbox.kinds import ManagedBy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from syncd.model import JSONObject
    from syncd.sandbox.kinds import ServedKind
    from syncd.sandbox.typed import Type


class WriteOptions(NamedTuple):
    """How a write is to be done, as its query parameters say."""

    manager: str = "unknown"
    dry_run: bool = False
    field_validation: str = "Warn"
    """``Strict``, ``Warn`` or ``Ignore``."""
    subresource: str = ""


class Pipeline:
    """The steps of a write for all kinds of one server. Used under the store's lock."""

    def __init__(self) -> None:
        self.custom = CustomKinds()
        self._types: dict[ServedKind, Type] = {}

    def register(self, definition: JSONObject) -> tuple[ServedKind, ...]:
        """Take a CustomResourceDefinition in, or its new state; what it serves now."""
        self._types.clear()
        return self.custom.register(definition)

    def unregister(self, name: str) -> None:
        """Forget a CustomResourceDefinition."""
        self._types.clear()
        self.custom.unregister(name)

    def decode(self, kind: ServedKind, obj: JSONObject, options: WriteOptions) -> tuple[JSONObject, list[str]]:
        """Read an object as its kind's types do.

        Returns:
            The object with nothing in it but known fields, and warnings for the client.

        Raises:
            StatusError: 400: a field has a wrong type; or an unknown one was met in strict validation.
        """
        unknown: Sequence[str]
        if kind.custom:
            obj, unknown = self.custom.prune(kind, obj)
        else:
            obj, unknown = codec.decode(kind, obj)
        problems = [f'unknown field "{path}"' for path in unknown]
        if problems and options.field_validation == "Strict":
            raise errors.strict_decoding(kind, problems)
        return obj, [] if options.field_validation == "Ignore" else problems

    def check_sparse(self, kind: ServedKind, applied: JSONObject, options: WriteOptions) -> None:
        """Check a configuration for server-side apply, which keeps only the fields that its author wrote.

        Raises:
            StatusError: A field has a wrong type, or is unknown: there is no lenient way to apply one.
        """
        fieldmanager.check(kind, applied, self._type_of(kind))
        _, problems = self.decode(kind, applied, options._replace(field_validation="Warn"))
        if problems:
            raise errors.untyped(kind, applied, problems)

    def default(self, kind: ServedKind, obj: JSONObject) -> JSONObject:
        """Fill in the defaults of the kind's types, or of its schema."""
        return self.custom.default(kind, obj) if kind.custom else defaulting.apply_defaults(kind, obj)

    def prepare_create(self, kind: ServedKind, new: JSONObject) -> JSONObject:
        """Fill in what the server allocates; after :meth:`manage`, for nobody manages these fields."""
        return strategies.prepare_create(kind, new)

    def prepare_update(self, kind: ServedKind, new: JSONObject, old: JSONObject, options: WriteOptions) -> JSONObject:
        """Keep what the server allocated before; after :meth:`manage`."""
        return strategies.prepare_update(kind, new, old, options.subresource)

    def manage(
        self, kind: ServedKind, live: JSONObject | None, new: JSONObject, options: WriteOptions, now: datetime
    ) -> JSONObject:
        """Keep ``metadata.managedFields`` for a create, update or patch."""
        request = managed_by(kind, options, "Update", now)
        return fieldmanager.update(kind, live, new, request, self._type_of(kind))

    def apply(  # a request, and what it is applied to
        self,
        kind: ServedKind,
        live: JSONObject | None,
        applied: JSONObject,
        options: WriteOptions,
        now: datetime,
        *,
        force: bool,
    ) -> JSONObject:
        """Merge a configuration into the live object, by server-side apply.

        Raises:
            StatusError: 409 with a cause for each field that another manager owns.
        """
        request = managed_by(kind, options, "Apply", now)
        try:
            return fieldmanager.apply(kind, live, applied, request, self._type_of(kind), force=force)
        except fieldmanager.ConflictsError as error:
            raise errors.apply_conflict(error.causes) from None

    def _type_of(self, kind: ServedKind) -> Type:
        """The type of a kind's fields; kept, because types remember what they have seen of their schema."""
        known = self._types.get(kind)
        if known is None:
            schema = self.custom.schema(kind) if kind.custom else openapi.built_in_schema(kind)
            known = self._types[kind] = fieldmanager.type_of(kind, schema, openapi.metadata_schema())
        return known

    def validate(self, kind: ServedKind, new: JSONObject, old: JSONObject | None) -> None:
        """Refuse an object that breaks its kind's rules.

        Raises:
            StatusError: 422 with every cause.
        """
        causes = validation.validate(kind, new, old)
        if kind.custom:
            causes = [*causes, *self.custom.validate(kind, new, old)]
        if causes:
            raise errors.invalid(kind, new["metadata"].get("name", ""), causes)


def managed_by(kind: ServedKind, options: WriteOptions, operation: str, now: datetime) -> ManagedBy:
    """Who writes, for managedFields."""
    return ManagedBy(
        manager=options.manager,
        operation=operation,
        api_version=kind.api_version,
        time=rfc3339(now),
        subresource=options.subresource,
    )


def rfc3339(time: datetime) -> str:
    """A time in UTC as the API writes it, with seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def warnings_text(problems: Sequence[str]) -> list[str]:
    """The values of ``Warning`` headers."""
    return ['299 - "{}"'.format(problem.replace("\\", "\\\\").replace('"', '\\"')) for problem in problems]
