from __future__ import annotations

from typing import Any

import pytest

from syncd.spec import SpecError
from syncd.spec.objects import has_source, parse_ending, parse_object, parse_readable

GIT = {"url": "https://git.example.com/shop.git"}


def sync_object(spec: Any) -> dict[str, Any]:
    metadata = {"name": "shop", "namespace": "team", "uid": "1", "generation": 3, "managedFields": []}
    return {
        "apiVersion": "syncd.dev/v1alpha1",
        "kind": "Sync",
        "metadata": metadata,
        "spec": spec,
        "status": {"observedGeneration": 2},
    }


def problems(spec: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse_object(sync_object(spec))
    return [".".join(map(str, problem.path)) for problem in caught.value.problems]


def test_an_object_says_the_same_as_a_file() -> None:
    sync = parse_object(sync_object({"source": {"git": GIT}, "interval": "30s"}))
    assert (sync.id, sync.spec.interval) == ("team/shop", 30)


@pytest.mark.parametrize("url", ["/srv/git", "./git", "../git", "file:///srv/git"])
def test_what_is_on_the_daemons_disk_is_refused(url: str) -> None:
    assert problems({"source": {"git": {"url": url}}}) == ["spec.source.git.url"]


def test_a_secret_on_the_daemons_disk_is_refused() -> None:
    assert problems({"source": {"git": {**GIT, "secretFile": "/etc/shadow"}}}) == ["spec.source.git.secretFile"]


def test_what_a_server_left_out_is_told() -> None:
    assert problems(None) == ["spec"]


def test_an_end_needs_little() -> None:
    ending = parse_ending(sync_object({"source": {"git": {"url": 5}}, "no": "such field", "deletionPolicy": "Orphan"}))
    assert (ending.id, ending.spec.deletion_policy) == ("team/shop", "Orphan")
    assert parse_ending(sync_object(None)).spec.deletion_policy == "Prune"


def test_a_suspended_sync_lets_go_of_its_objects() -> None:
    ending = parse_ending(sync_object({"source": {"git": GIT}, "suspend": True, "deletionPolicy": "Prune"}))
    assert ending.spec.deletion_policy == "Orphan"
    assert not ending.spec.suspend


def test_an_end_does_not_guess_a_policy_that_does_not_hold() -> None:
    with pytest.raises(SpecError, match="deletionPolicy"):
        parse_ending(sync_object({"deletionPolicy": "Perhaps"}))


def test_of_one_that_does_not_hold_what_can_be_read_is_shown() -> None:
    shown = parse_readable(sync_object({"source": {"git": GIT}, "interval": "soon", "path": "apps", "wait": "perhaps"}))
    assert (shown.id, shown.spec.source.git.url, shown.spec.path) == ("team/shop", GIT["url"], "apps")
    assert has_source(shown)
    assert parse_readable(sync_object({"source": {"git": {"url": "/srv/git"}}})).spec.source.git.url == "/srv/git"


@pytest.mark.parametrize("spec", [None, 5, {}, {"source": 5, "path": []}, {"source": {"git": {}}, "suspend": True}])
def test_one_that_says_nothing_right_can_be_shown_too(spec: Any) -> None:
    shown = parse_readable(sync_object(spec))
    assert shown.id == "team/shop"
    assert not has_source(shown)
