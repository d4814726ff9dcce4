from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from syncd.source.errors import LimitExceededError, MirrorDamagedError, RepositoryNotFoundError, SourceError
from syncd.source.objects import MalformedObjectError, parse_batch, parse_listing
from syncd.source.urls import allowed_protocols, display
from syncd.spec import GitRef, GitSource, SyncSpec

if TYPE_CHECKING:
    from syncd.source.repository import Repositories
    from tests.unit.source.gitrepo import GitRepo


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/pwned",
        "ext::touch",
        "--upload-pack=touch /tmp/pwned",
        "-u",
        "fd::17",
        "https://user:secret@example.com/x.git",
        "https://token@example.com/x.git",
        "ssh://git:secret@example.com/x.git",
        "https://example.com/x.git?private_token=secret",
        "https://example.com/x.git#secret",
        "https://example.com/x y.git",
        "https://example.com/x\n.git",
        "ssh://-oProxyCommand=touch/x",
        "ssh://git@-oProxyCommand=touch/x",
        "-oProxyCommand=touch@example.com:x",
        "git@-oProxyCommand=touch:x",
        "ftp://example.com/x",
        "javascript:alert(1)",
        "https://",
        "",
    ],
)
def test_a_url_that_git_could_take_for_something_else_is_refused(url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        GitSource(url=url)
    assert "secret" not in str(caught.value.errors(include_input=False))


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/org/x.git",
        "https://example.com:8443/org/x.git",
        "ssh://git@example.com:2222/org/x.git",
        "ssh://example.com/x",
        "git@github.com:org/x.git",
        "git@example.com:/srv/x.git",
        "file:///srv/x.git",
        "git://example.com/x",
        "/srv/x.git",
        "./x.git",
        "../x.git",
        "https://[::1]:3000/x.git",
        "https://dev.azure.com/org/project/_git/x",
    ],
)
def test_urls_that_people_use_are_taken(url: str) -> None:
    assert GitSource(url=url).url == url


@pytest.mark.parametrize(
    "name", ["--upload-pack=x", "-x", "a..b", "a b", "a:b", "a^", "a~1", "a*", "a[", "a\\b", "x.lock"]
)
def test_a_ref_that_git_could_take_for_something_else_is_refused(name: str) -> None:
    for field in ("branch", "tag"):
        with pytest.raises(ValidationError):
            GitRef(**{field: name})


@pytest.mark.parametrize("path", ["../..", "/etc", "a/../../b", "a\x00b"])
def test_a_path_out_of_the_repository_is_refused(path: str) -> None:
    with pytest.raises(ValidationError):
        SyncSpec.model_validate({"source": {"git": {"url": "/x"}}, "path": path})


@given(st.sampled_from(["https", "ssh"]), st.text("abc@:%", max_size=6), st.text("abc/?#=&", max_size=12))
def test_no_password_is_shown(scheme: str, user: str, path: str) -> None:
    shown = display(f"{scheme}://{user}:hunter2@example.com/{path}?token=hunter2#hunter2")
    assert "hunter2" not in shown.removesuffix("#hunter2").removesuffix("?token=hunter2") or "/" not in shown
    assert "hunter2" not in shown


@pytest.mark.parametrize(
    ("url", "protocols"),
    [
        ("https://x/y", "https"), ("http://x/y", "http:https"), ("ssh://x/y", "ssh"), ("git@x:y", "ssh"),
        ("file:///x", "file"), ("/x", "file"), ("HTTPS://x/y", "https"),
    ],
)  # fmt: skip
def test_git_may_use_the_protocol_of_the_url_only(url: str, protocols: str) -> None:
    assert allowed_protocols(url) == protocols


def test_a_path_that_looks_like_an_option_is_a_path(repo: GitRepo, repositories: Repositories, deadline: float) -> None:
    repo.commit({"--help/a.yaml": "a: 1", ":(top)/a.yaml": "a: 2", "*/a.yaml": "a: 3", "x/a.yaml": "a: 4"})
    for path in ("--help", ":(top)", "*"):
        revision = repositories.resolve(repo.source(), path, deadline=deadline)
        tree = repositories.tree(repo.source(), revision, path, deadline=deadline)
        assert [entry.path for entry in tree.below(tree.folder)] == [f"{path}/a.yaml"]


def test_hooks_and_configuration_of_a_local_repository_do_nothing(
    repo: GitRepo, repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    repo.commit({"a.yaml": "a: 1"})
    touch = f"touch {tmp_path}/it-ran;"
    with (repo.bare / "config").open("a") as config:
        config.write(
            f"[uploadpack]\n\tpackObjectsHook = {touch}\n[core]\n\tfsmonitor = {touch}\n\tsshCommand = {touch}\n"
        )
    for name in ("post-checkout", "pre-receive", "reference-transaction"):
        hook = repo.bare / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{touch}\n")
        hook.chmod(0o755)
    repositories.resolve(repo.source(), ".", deadline=deadline)
    assert not (tmp_path / "it-ran").exists()


def write_object(repo: GitRepo, kind: str, content: bytes) -> bytes:
    """Put an object into a repository that Git itself would not write."""
    data = f"{kind} {len(content)}".encode() + b"\0" + content
    digest = hashlib.sha1(data)  # noqa: S324 - Git's object ids are SHA-1
    place = repo.bare / "objects" / digest.hexdigest()[:2] / digest.hexdigest()[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(data))
    return digest.digest()


@pytest.mark.parametrize("name", [b"..", b".git", b".", b"../../../../tmp/x"])
def test_a_forged_tree_is_refused(repo: GitRepo, repositories: Repositories, name: bytes, deadline: float) -> None:
    repo.commit({"a.yaml": "a: 1"})
    blob = write_object(repo, "blob", b"a: 1")
    inner = write_object(repo, "tree", b"100644 x.yaml\0" + blob)
    tree = write_object(repo, "tree", b"40000 " + name + b"\0" + inner)
    person = "A <a@example.com> 0 +0000"
    text = f"tree {tree.hex()}\nauthor {person}\ncommitter {person}\n\nx\n"
    commit = write_object(repo, "commit", text.encode())
    (repo.bare / "refs" / "heads" / "main").write_text(commit.hex())
    with pytest.raises((LimitExceededError, SourceError)) as caught:
        repositories.resolve(repo.source(), ".", deadline=deadline)
    assert not isinstance(caught.value, MirrorDamagedError)


def test_a_folder_that_is_no_repository_is_not_taken_for_one(
    repositories: Repositories, tmp_path: Path, deadline: float
) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(RepositoryNotFoundError):
        repositories.resolve(GitSource(url=str(tmp_path / "folder")), ".", deadline=deadline)


@given(st.binary(max_size=200))
def test_any_listing_is_read_or_refused(data: bytes) -> None:
    try:
        entries = parse_listing(data)
    except (MalformedObjectError, ValueError):
        return
    assert all(".." not in Path(entry.path).parts for entry in entries)


@given(st.lists(st.binary(max_size=50), max_size=5), st.integers(0, 300))
def test_blobs_are_read_whole_or_refused(contents: list[bytes], cut: int) -> None:
    blobs = {hashlib.sha1(data).hexdigest(): data for data in contents}  # noqa: S324 - the form of Git's ids
    output = b"".join(b"%s blob %d\n%s\n" % (name.encode(), len(data), data) for name, data in blobs.items())
    assert parse_batch(output, list(blobs)) == blobs
    if blobs and cut < len(output):
        with pytest.raises(MalformedObjectError):
            parse_batch(output[:cut], list(blobs))
