"""The demo's repositories, and the commands that it tells people to type."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from syncd.cli.demo.guide import experiments, preparation
from syncd.cli.demo.repositories import (
    DemoError,
    Environment,
    make_environments,
    prepare_folder,
    sample_manifests,
)
from syncd.spec import parse_sync


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a demo"  # with a space, as home folders have


@pytest.fixture
def environments(folder: Path) -> tuple[Environment, ...]:
    prepare_folder(folder)
    return make_environments(sample_manifests(), folder)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def build(folder: Path) -> str:
    kubectl = Path(sys.executable).with_name("kubectl")
    done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_each_environment_gets_a_bare_repository_with_one_commit(environments: tuple[Environment, ...]) -> None:
    assert [environment.name for environment in environments] == ["dev", "staging", "prod"]
    for environment in environments:
        assert git(environment.repository, "rev-parse", "--is-bare-repository").strip() == "true"
        assert git(environment.repository, "log", "--format=%s", "main").splitlines() == [
            f"Add the {environment.name} environment"
        ]


def test_a_repository_holds_its_own_overlay_and_no_other(environments: tuple[Environment, ...]) -> None:
    for environment in environments:
        folders = git(environment.repository, "ls-tree", "--name-only", "main", "overlays/").split()
        assert folders == [environment.path]
        assert build(environment.clone / environment.path) == build(sample_manifests() / environment.path)


def test_the_syncs_lead_to_the_repositories(folder: Path, environments: tuple[Environment, ...]) -> None:
    syncs = [parse_sync(document) for document in yaml.safe_load_all((folder / "syncs.yaml").read_text())]
    assert [sync.metadata.name for sync in syncs] == [environment.sync for environment in environments]
    for sync, environment in zip(syncs, environments, strict=True):
        assert git(folder, "ls-remote", sync.spec.source.git.url, "main") == git(
            folder, "ls-remote", str(environment.repository), "main"
        )


def test_a_second_demo_begins_anew(folder: Path, environments: tuple[Environment, ...]) -> None:
    (environments[0].clone / "left-over").touch()
    prepare_folder(folder)
    assert not (folder / environments[0].name).exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(DemoError, match="choose another folder with --dir"):
        prepare_folder(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_a_machine_without_git_gets_one_clear_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_folder(folder)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(DemoError, match="git is not installed"):
        make_environments(sample_manifests(), folder)


def test_somebodys_own_git_configuration_does_not_matter(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gitconfig").write_text("[commit]\n\tgpgSign = true\n[core]\n\thooksPath = /nonexistent\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")  # as in a Git hook
    prepare_folder(folder)
    assert make_environments(sample_manifests(), folder)


def type_in(commands: tuple[str, ...], folder: Path) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for command in commands:
        subprocess.run(command, shell=True, cwd=folder, env=environment, timeout=60, check=True)  # noqa: S602 - what people type


def test_the_commands_that_commit_can_be_copied_as_they_are(
    tmp_path: Path, environments: tuple[Environment, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dev = environments[0]
    release, removal, _ = experiments(environments)
    type_in(tuple(command for command in release.commands if "kubectl" not in command), tmp_path)
    assert "registry.example.com/shop/web:1.9.0\n" in build(dev.clone / dev.path)
    type_in(removal.commands, tmp_path)
    assert "load-test" not in build(dev.clone / dev.path)
    assert git(dev.clone, "status", "--porcelain") == ""
    assert git(dev.repository, "log", "--format=%s", "main").splitlines() == [
        "End the load test",
        "Release 1.9.0 to dev",
        "Add the dev environment",
    ]


def test_a_new_terminal_is_prepared_for_a_path_with_spaces(folder: Path) -> None:
    _, export = preparation(folder / "kubeconfig")
    done = subprocess.run(
        ["sh", "-c", f'{export}; printf %s "$KUBECONFIG"'],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == str(folder / "kubeconfig")


def test_the_samples_are_found_where_the_package_is_installed_without_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(sample_manifests(), tmp_path / "share" / "syncd" / "manifests")
    monkeypatch.setattr(
        "syncd.cli.demo.repositories.__file__", str(tmp_path / "lib" / "syncd" / "cli" / "demo" / "x.py")
    )
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    assert sample_manifests() == tmp_path / "share" / "syncd" / "manifests"
