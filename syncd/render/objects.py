"""From YAML documents to manifests: what is an object, what is a list of objects, and what is neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncd.kubeyaml import line_of
from syncd.model import InvalidInputError, JSONObject, JSONValue, Manifest, ObjectKey, Origin
from syncd.render.errors import DuplicateManifestError, InvalidManifestError, raise_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from syncd.kubeyaml import Document

LOCAL_CONFIG: Final = "config.kubernetes.io/local-config"
_LIST: Final = "List"

Path = tuple[str | int, ...]


class _Problem(Exception):  # noqa: N818 - it never leaves this module
    """What is wrong with a field."""

    def __init__(self, field: Path, message: str) -> None:
        super().__init__(message)
        self.field = field


def manifests_of(
    documents: Iterable[Document], data: bytes, origin: Origin, errors: list[InvalidInputError]
) -> Iterator[Manifest]:
    """The manifests in a file, lists taken apart and local configuration left out.

    Args:
        documents: What the file holds.
        data: The file, to find the line of a mistake.
        origin: The file.
        errors: Gets what is wrong with objects, which are left out.
    """
    for document in documents:
        place = origin._replace(document=document.index, line=document.line)
        try:
            for body in _objects(document.value, ()):
                yield Manifest(key_of(body), body["apiVersion"], body, place)
        except _Problem as problem:
            line = line_of(data, document.index, problem.field) if problem.field else 0
            errors.append(InvalidManifestError(str(problem), place._replace(line=line or document.line)))


def key_of(body: JSONObject) -> ObjectKey:
    """The key of a whole object, with the namespace as it is written."""
    group, slash, _ = body["apiVersion"].partition("/")
    metadata = body["metadata"]
    return ObjectKey(metadata.get("namespace") or "", group if slash else "", body["kind"], metadata["name"])


def take_annotation(body: JSONValue, name: str) -> tuple[JSONValue, str | None]:
    """A document without one annotation, and what that says; None where it is not there."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(annotations, dict) or name not in annotations:
        return body, None
    rest = {key: text for key, text in annotations.items() if key != name}
    metadata = {key: value for key, value in metadata.items() if key != "annotations" or rest}
    if rest:
        metadata["annotations"] = rest
    return {**body, "metadata": metadata}, str(annotations[name])


def duplicates(manifests: Iterable[Manifest]) -> None:
    """Refuse manifests of which two have the same key.

    Raises:
        DuplicateManifestError: Two have; names both places.
        InvalidInputsError: That is so for several keys.
    """
    first: dict[ObjectKey, Manifest] = {}
    errors: list[InvalidInputError] = []
    for manifest in manifests:
        known = first.setdefault(manifest.key, manifest)
        if known is not manifest:
            problem = f"{manifest.key.display()} is already described in {known.origin}"
            errors.append(DuplicateManifestError(problem, manifest.origin))
    if errors:
        raise_all(errors)


def _objects(value: JSONValue, field: Path) -> Iterator[JSONObject]:
    """The objects in a document.

    Raises:
        _Problem: It holds something else.
    """
    if not isinstance(value, dict):
        raise _Problem(field, f"a Kubernetes object is a map, and this is {_described(value)}")
    _require_text(value, "apiVersion", field)
    _require_text(value, "kind", field)
    if _is_local(value):
        return
    if _is_list(value):
        for index, item in enumerate(value.get("items") or []):
            yield from _objects(_typed(item, value), (*field, "items", index))
        return
    _check_type(value, field)
    _check_metadata(value, field)
    yield value


def _is_list(value: JSONObject) -> bool:
    """Whether it stands for its items: ``kind: List``, or the typed list of a kind, such as a RoleList."""
    if value["kind"] == _LIST and value["apiVersion"] == "v1":
        return isinstance(value.get("items"), list | None)
    metadata = value.get("metadata")
    named = isinstance(metadata, dict) and "name" in metadata
    return value["kind"].endswith(_LIST) and isinstance(value.get("items"), list) and not named


def _typed(item: JSONValue, parent: JSONObject) -> JSONValue:
    """An item of a typed list, which need not repeat the type that its list implies."""
    if not isinstance(item, dict) or parent["kind"] == _LIST:
        return item
    return {"apiVersion": parent["apiVersion"], "kind": parent["kind"].removesuffix(_LIST), **item}


def _is_local(value: JSONObject) -> bool:
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(LOCAL_CONFIG) == "true"


def _check_type(value: JSONObject, field: Path) -> None:
    group, slash, version = value["apiVersion"].rpartition("/")
    if (slash and not group) or not version or "/" in group or ":" in group:
        raise _Problem((*field, "apiVersion"), f"apiVersion {value['apiVersion']!r} is not like v1 or apps/v1")
    if ":" in value["kind"] or "/" in value["kind"]:
        raise _Problem((*field, "kind"), f"{value['kind']!r} is not a kind")


def _check_metadata(value: JSONObject, field: Path) -> None:
    what = value["kind"]
    metadata = value.get("metadata")
    here = (*field, "metadata")
    if not isinstance(metadata, dict):
        raise _Problem(here, f"the {what} has no metadata.name")
    if not metadata.get("name"):
        if metadata.get("generateName"):
            raise _Problem(
                (*here, "generateName"),
                f"the {what} has generateName instead of name: what is applied again and again needs a name",
            )
        raise _Problem(here, f"the {what} has no metadata.name")
    _require_text(metadata, "name", here)
    namespace = metadata.get("namespace")
    if namespace is not None and (not isinstance(namespace, str) or ":" in namespace):
        raise _Problem((*here, "namespace"), f"metadata.namespace of the {what} is not a namespace's name")
    for name in ("labels", "annotations"):
        _check_texts(metadata.get(name), (*here, name), what)


def _check_texts(texts: JSONValue, field: Path, what: str) -> None:
    if texts is None:
        return
    if not isinstance(texts, dict):
        raise _Problem(field, f"metadata.{field[-1]} of the {what} is {_described(texts)}, not a map of texts")
    for key, text in texts.items():
        if not isinstance(text, str):
            raise _Problem(
                (*field, key), f"metadata.{field[-1]} of the {what}: {key} is {_described(text)}; put it in quotes"
            )


def _require_text(value: JSONObject, name: str, field: Path) -> None:
    text = value.get(name)
    if not isinstance(text, str) or not text:
        problem = f"is {_described(text)}, not a text" if text else "is missing"
        hint = "" if field else "; if this is no Kubernetes object, leave the file out with .syncdignore"
        raise _Problem((*field, name), f"{name} {problem}{hint if not text else ''}")


def _described(value: JSONValue) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a map"}
    return names[type(value)]
