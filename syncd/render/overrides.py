"""The Sync's own changes to everything that was rendered, made by the real Kustomize over a generated kustomization.

Kustomize knows which fields refer to a name that changes, and how patches of built-in kinds merge; nobody should have
to learn a second dialect of that. While it works, an annotation tells which object is which, so that origins survive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from syncd.kubeyaml import Document, YAMLError, load_all
from syncd.model import Origin
from syncd.render.errors import RenderFailedError
from syncd.render.objects import manifests_of, take_annotation
from syncd.render.runner import ToolFailedError
from syncd.render.workspace import private_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from syncd.model import InvalidInputError, JSONObject, JSONValue, Manifest
    from syncd.render.runner import Runner
    from syncd.render.tools import Tool
    from syncd.spec import Image, Overrides, Patch

_INDEX: Final = "syncd.dev/rendered-as"
_WHERE: Final = Origin("spec.overrides")


def override(
    manifests: Sequence[Manifest],
    overrides: Overrides,
    *,
    tool: Tool,
    runner: Runner,
    deadline: float,
    errors: list[InvalidInputError],
) -> list[Manifest]:
    """Make the Sync's changes; the order of the manifests and their origins stay.

    Args:
        manifests: As they were rendered, no two with the same key.
        overrides: What to change.
        tool: Kustomize.
        runner: Runs it.
        deadline: On ``time.monotonic()``'s clock.
        errors: Gets what is wrong with single objects afterwards.

    Raises:
        RenderFailedError: Kustomize refuses the changes.
        RenderTimeoutError: The deadline passed.
    """
    with private_folders() as place:
        (place.files / "rendered.yaml").write_bytes(b"".join(map(_document, _marked(manifests))))
        (place.files / "kustomization.yaml").write_bytes(orjson.dumps(_kustomization(overrides)))
        command = (*tool.command, str(place.files))
        try:
            output = runner.run(command, home=place.home, deadline=deadline).stdout
        except ToolFailedError as failure:
            raise RenderFailedError(f"kustomize: {place.message(failure.stderr)}", _WHERE) from None
    try:
        documents = load_all(output)
    except YAMLError as error:
        raise RenderFailedError(f"what kustomize wrote cannot be read: {error.problem}", _WHERE) from None
    found: list[tuple[int, Manifest]] = []
    for document in documents:
        body, mark = take_annotation(document.value, _INDEX)  # a patch may have taken it away
        index = int(mark) if mark is not None else len(manifests)
        origin = manifests[index].origin if mark is not None else _WHERE
        changed = manifests_of([Document(body, origin.document, origin.line)], b"", origin, errors)
        found += [(index, manifest) for manifest in changed]
    return [manifest for _, manifest in sorted(found, key=lambda pair: pair[0])]


def _document(body: JSONObject) -> bytes:
    return b"---\n" + orjson.dumps(body) + b"\n"


def _marked(manifests: Iterable[Manifest]) -> Iterable[JSONObject]:
    for index, manifest in enumerate(manifests):
        metadata = manifest.body["metadata"]
        annotations = {**(metadata.get("annotations") or {}), _INDEX: str(index)}
        yield {**manifest.body, "metadata": {**metadata, "annotations": annotations}}


def _kustomization(overrides: Overrides) -> JSONObject:
    whole: JSONObject = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["rendered.yaml"],
        "namePrefix": overrides.name_prefix,
        "nameSuffix": overrides.name_suffix,
        "labels": [{"pairs": overrides.labels}] if overrides.labels else [],
        "images": _given(overrides.images),
        "patches": [{**patch, "patch": _as_json(patch["patch"])} for patch in _given(overrides.patches)],
        "transformers": [],
    }
    if overrides.annotations:  # not commonAnnotations, which go to pod templates too
        whole["transformers"].append(
            _transformer(
                "AnnotationsTransformer",
                annotations=overrides.annotations,
                fieldSpecs=[{"path": "metadata/annotations", "create": True}],
            )
        )
    if overrides.namespace:  # not the field namespace, which renames Namespaces too
        fields = [{"path": "metadata/namespace", "create": True}]
        metadata = {"name": "namespace", "namespace": overrides.namespace}
        whole["transformers"].append(_transformer("NamespaceTransformer", metadata=metadata, fieldSpecs=fields))
    return {field: value for field, value in whole.items() if value}


def _given(models: Iterable[Image | Patch]) -> list[JSONObject]:
    return [model.model_dump(by_alias=True, exclude_defaults=True) for model in models]


def _as_json(patch: str) -> str:
    """A list of operations as JSON, because Kustomize takes what starts with a bracket for that; the rest as it is."""
    try:
        documents = load_all(patch.encode())
    except YAMLError:
        return patch  # Kustomize says what is wrong with it
    first = documents[0].value if documents else None
    return orjson.dumps(first).decode() if isinstance(first, list) else patch


def _transformer(kind: str, **fields: JSONValue) -> str:
    return orjson.dumps({"apiVersion": "builtin", "kind": kind, "metadata": {"name": kind.lower()}, **fields}).decode()
