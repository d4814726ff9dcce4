from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from syncd.source.repository import Repositories

if TYPE_CHECKING:
    from tests.unit.source.gitrepo import GitRepo

FILES = {
    "apps/web/kustomization.yaml": "resources: [../../base, ../../nowhere]\ncomponents: [../../component]\n",
    "base/kustomization.yaml": "resources: [web.yaml, ../deeper]\n",
    "base/web.yaml": "a: 1",
    "deeper/kustomization.yaml": "resources: [x.yaml]\n",
    "deeper/x.yaml": "a: 1",
    "component/kustomization.yaml": "kind: Component\n",
    "plain/a.yaml": "a: 1",
    "unrelated/a.yaml": "a: 1",
}


class Follower:
    """Asks for the tree of a path again and again."""

    def __init__(self, repo: GitRepo, repositories: Repositories) -> None:
        self.repo = repo
        self.repositories = repositories

    def tree(self, path: str, repositories: Repositories | None = None) -> str:
        asked = repositories or self.repositories
        return asked.resolve(self.repo.source(), path, deadline=time.monotonic() + 60).tree


@pytest.fixture
def follower(repo: GitRepo, repositories: Repositories) -> Follower:
    repo.commit(FILES)
    return Follower(repo, repositories)


def test_without_inputs_elsewhere_the_tree_is_the_folders_own(repo: GitRepo, follower: Follower) -> None:
    assert follower.tree("plain") == repo.git("rev-parse", "HEAD:plain")
    assert follower.tree(".") == repo.git("rev-parse", "HEAD^{tree}")


@pytest.mark.parametrize(
    ("changed", "matters"),
    [
        ("apps/web/new.yaml", True),
        ("base/web.yaml", True),
        ("deeper/x.yaml", True),
        ("component/new.yaml", True),
        ("nowhere/kustomization.yaml", True),
        ("nowhere", True),
        ("unrelated/a.yaml", False),
        ("apps/other/kustomization.yaml", False),
        ("base.yaml", False),
        ("basement/a.yaml", False),
    ],
)
def test_the_tree_changes_exactly_when_an_input_does(
    repo: GitRepo, follower: Follower, changed: str, *, matters: bool
) -> None:
    before = follower.tree("apps/web")
    repo.commit({changed: "b: 2"})
    assert (follower.tree("apps/web") != before) is matters
    repo.git("rm", "-rq", changed)
    repo.commit() if changed not in FILES else repo.commit({changed: FILES[changed]})
    assert follower.tree("apps/web") == before


def test_a_tree_does_not_depend_on_what_was_asked_before(
    repo: GitRepo, follower: Follower, repositories: Repositories
) -> None:
    for number, files in enumerate((
        {"deeper/x.yaml": "a: 2"},
        {"base/kustomization.yaml": "resources: [web.yaml, ../plain]\n"},
        {"unrelated/a.yaml": "a: 2"},
        {"plain/kustomization.yaml": "resources: [../unrelated]\n"},
    )):  # fmt: skip
        repo.commit(files)
        fresh = Repositories(repo.bare.parent / f"mirrors-{number}")
        assert follower.tree("apps/web", repositories) == follower.tree("apps/web", fresh)


def test_new_references_bring_new_inputs(repo: GitRepo, follower: Follower) -> None:
    repo.commit({"base/kustomization.yaml": "resources: [web.yaml, ../plain]\n"})
    before = follower.tree("apps/web")
    repo.commit({"plain/a.yaml": "a: 2"})
    assert follower.tree("apps/web") != before


def test_links_out_of_the_folder_are_inputs(repo: GitRepo, follower: Follower) -> None:
    (repo.work / "plain" / "link").symlink_to("../way/a.yaml")
    (repo.work / "way").symlink_to("unrelated")
    repo.commit()
    before = follower.tree("plain")
    repo.commit({"unrelated/a.yaml": "a: 2"})
    changed = follower.tree("plain")
    assert changed != before
    (repo.work / "way").unlink()
    (repo.work / "way").symlink_to("base")
    repo.commit()
    assert follower.tree("plain") not in (before, changed)


def test_a_change_of_mode_alone_is_a_change(repo: GitRepo, follower: Follower) -> None:
    before = follower.tree("apps/web")
    (repo.work / "base" / "web.yaml").chmod(0o755)
    repo.commit()
    assert follower.tree("apps/web") != before


def test_kustomizations_that_do_not_parse_or_lead_nowhere_are_left_to_the_renderer(
    repo: GitRepo, follower: Follower
) -> None:
    files = {
        "a/kustomization.yaml": "a: [",
        "b/kustomization.yaml": "resources: [../../../.., https://example.com/x, /etc, 5, {a: b}, '']\n",
        "c/kustomization.yaml": "resources: [../c, ../d]\n",
        "d/kustomization.yaml": "resources: [../c]\n",
    }
    repo.commit(files)
    assert follower.tree("a") == repo.git("rev-parse", "HEAD:a")
    assert len({follower.tree(path) for path in "abcd"}) == 4


def test_a_folder_above_is_an_input_as_a_whole(repo: GitRepo, follower: Follower) -> None:
    repo.commit({"apps/up/kustomization.yaml": "resources: [../..]\n"})
    before = follower.tree("apps/up")
    repo.commit({"unrelated/a.yaml": "a: 3"})
    assert follower.tree("apps/up") != before
