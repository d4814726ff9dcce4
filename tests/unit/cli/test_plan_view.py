"""A plan as people and programs see it."""

from __future__ import annotations

import io

from rich.console import Console

from syncd.cli.plan_view import document, show
from syncd.model import (
    ABSENT,
    Action,
    ActionType,
    FieldChange,
    Manifest,
    ObjectKey,
    Origin,
    Plan,
    Revision,
    Write,
    WriteMethod,
)
from syncd.spec import parse_sync

SYNC = parse_sync(
    {
        "apiVersion": "syncd.dev/v1alpha1",
        "kind": "Sync",
        "metadata": {"name": "shop-dev"},
        "spec": {"source": {"git": {"url": "https://git.example.com/dev.git"}}, "path": "overlays/dev"},
    }
)
REVISION = Revision("main", "a" * 40, "b" * 40)


def key(kind: str, name: str) -> ObjectKey:
    return ObjectKey("shop", "apps" if kind == "Deployment" else "", kind, name)


def manifest(kind: str, name: str) -> Manifest:
    body = {"data": {"password": "very-secret"}}
    return Manifest(key(kind, name), "v1", body, Origin("dev.git", "web.yaml", 1, 3))


PLAN = Plan(
    (
        Action(
            ActionType.CREATE,
            key("Secret", "new"),
            "New",
            "it is in Git and not in the cluster",
            write=Write(WriteMethod.CREATE, {"data": {"password": "very-secret"}}),
            manifest=manifest("Secret", "new"),
        ),
        Action(
            ActionType.UPDATE,
            key("Deployment", "web"),
            "Changed",
            "it was changed in Git",
            changes=(FieldChange("spec.replicas", 1, 3), FieldChange("spec.paused", True, ABSENT)),
            manifest=manifest("Deployment", "web"),
        ),
        Action(ActionType.UNCHANGED, key("Service", "web"), "UpToDate", manifest=manifest("Service", "web")),
        Action(ActionType.PRUNE, key("Service", "old"), "LeftGit", "it left Git"),
        Action(ActionType.KEEP, key("Service", "kept"), "Detached", "it says so"),
        Action(
            ActionType.SKIP,
            key("Thing", "odd"),
            "UnknownKind",
            "nobody serves it",
            manifest=manifest("Thing", "odd"),
            blocking=True,
        ),
    ),
    prune_held="",
)


def shown(plan: Plan) -> str:
    stream = io.StringIO()
    show(Console(file=stream, width=200, markup=False, highlight=False), SYNC, REVISION, plan)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def test_a_plan_has_the_categories_of_the_prune_design_with_reasons_and_fields() -> None:
    assert shown(PLAN) == (
        "syncd/shop-dev  https://git.example.com/dev.git, overlays/dev, main@aaaaaaaaaaaa\n"
        "\n"
        "Resources to add (1)\n"
        "  + Secret shop/new: it is in Git and not in the cluster\n"
        "\n"
        "Resources modified (1)\n"
        "  ~ Deployment.apps shop/web: it was changed in Git\n"
        "      ~ spec.replicas: 1 → 3\n"
        "      - spec.paused: true\n"
        "\n"
        "Resources unmodified (1)\n"
        "    Service shop/web\n"
        "\n"
        "Resources to delete (1)\n"
        "  - Service shop/old: it left Git\n"
        "\n"
        "Kept although they left Git (1)\n"
        "  ! Service shop/kept: it says so\n"
        "\n"
        "Skipped although they are in Git (1)\n"
        "  ! Thing shop/odd: nobody serves it\n"
        "\n"
        "1 to add, 1 to modify, 1 unmodified, 1 to delete, 1 kept, 1 skipped"
    )


def test_an_empty_plan_still_shows_the_four_categories() -> None:
    text = shown(Plan())
    assert text.endswith("0 to add, 0 to modify, 0 unmodified, 0 to delete")
    assert "Kept" not in text


def test_a_held_prune_says_why() -> None:
    assert "Nothing is deleted: over the budget" in shown(Plan(prune_held="over the budget"))


def test_the_json_form_has_every_action_with_its_reason() -> None:
    value = document(SYNC, REVISION, PLAN)
    assert value["changes"] is True
    assert value["counts"] == {"create": 1, "update": 1, "unchanged": 1, "prune": 1, "keep": 1, "skip": 1}
    update = value["actions"][1]
    assert update["key"] == "shop:apps:Deployment:web"
    assert update["reason"] == "Changed"
    assert update["origin"] == "dev.git web.yaml, document 1, line 3"
    assert update["changes"] == [
        {"path": "spec.replicas", "before": 1, "after": 3},
        {"path": "spec.paused", "before": True},
    ]
    assert [action["failure"] for action in value["actions"]] == [False] * 5 + [True]


def test_no_form_of_a_plan_holds_what_a_secret_holds() -> None:
    assert "very-secret" not in shown(PLAN)
    assert "very-secret" not in str(document(SYNC, REVISION, PLAN))
