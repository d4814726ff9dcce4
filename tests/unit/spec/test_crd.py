from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from syncd.spec import SyncSpec
from syncd.spec.base import Model

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[3]


def load_generator() -> ModuleType:
    """Scripts are no package."""
    spec = importlib.util.spec_from_file_location("generate_crd", ROOT / "scripts" / "generate_crd.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = load_generator()


def fields(schema: dict[str, Any], prefix: str = "") -> set[str]:
    found = set()
    for name, child in schema.get("properties", {}).items():
        found |= {f"{prefix}{name}", *fields(child.get("items", child), f"{prefix}{name}.")}
    return found


def test_the_definition_in_the_repository_is_fresh() -> None:
    assert generator.TARGET.read_text() == generator.text(), "run: make crd"


def test_no_field_has_a_default_that_a_server_would_write_into_a_sync() -> None:
    assert "\ndefault:" not in "\n".join(line.strip() for line in generator.text().splitlines())


def test_every_part_of_the_document_is_in_it() -> None:
    spec = yaml.safe_load(generator.text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    known = fields(spec)
    assert {field.alias or name for name, field in SyncSpec.model_fields.items()} <= known
    assert {"source.git.url", "prune.budget.percent", "drift.ignore.paths"} <= known


def test_durations_are_texts_with_a_least_value() -> None:
    interval = generator.structural(SyncSpec)["properties"]["interval"]
    assert interval["type"] == "string"
    assert interval["x-kubernetes-validations"][0]["rule"] == "duration(self) >= duration('100ms')"
    assert interval["description"].endswith("Default: 1m.")


def test_a_type_that_no_schema_can_say_is_refused() -> None:
    class Torn(Model):
        value: str | int = ""

    with pytest.raises(TypeError, match=r"Torn\.value"):
        generator.structural(Torn)
