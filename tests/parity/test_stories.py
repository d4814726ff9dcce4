"""Lists, live edits and defaults come out as kubectl apply makes them; where they do not, that is a choice."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pytest

from tests.parity.stories import STORIES, Step, Story

if TYPE_CHECKING:
    from syncd.model import JSONObject
    from tests.parity.sides import Pair

pytestmark = [pytest.mark.controlplane, pytest.mark.slow]


def test_objects_live_the_same_lives(pair: Pair) -> None:
    """All stories side by side, so that each step is one reconcile and one kubectl apply."""
    last = [story.steps[-1].body for story in STORIES.values()]
    refused: set[str] = set()
    before = pair.syncd.patches
    for number, steps in enumerate(zip_longest(*(story.steps for story in STORIES.values()))):
        objects = []
        for (name, story), step, final in zip(STORIES.items(), steps, last, strict=True):
            item = _object(name, story, step or Step(final))
            objects.append(item)
            if step and step.edit:
                pair.edit(item, step.edit)
        refused = set(pair.apply_and_compare(f"step {number + 1} of the stories", objects))
    assert refused == {"job.batch/job-parallelism", "persistentvolumeclaim/claim", "service/service-types"}
    assert pair.syncd.pending().keys() <= refused
    assert pair.syncd.patches - before > 2 * len(STORIES)


def _object(name: str, story: Story, step: Step) -> JSONObject:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", **step.body.get("metadata", {})}
    return {"apiVersion": story.api_version, "kind": story.kind, **step.body, "metadata": metadata}
