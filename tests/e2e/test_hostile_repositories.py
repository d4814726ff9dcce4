"""Repositories that are far larger than anybody's manifests end in a clear error, and cost the daemon little."""

from __future__ import annotations

import hashlib
import resource
import zlib
from pathlib import Path
from typing import Final

import pytest

from tests.support.clusters import Sandbox
from tests.support.daemon import DaemonProcess, sync_document
from tests.unit.source.gitrepo import GitRepo

MAP: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default}\ndata: {colour: %s}\n"
COMMIT: Final = "commit refs/heads/main\ncommitter A <a@example.com> 1 +0000\ndata 0\nfrom refs/heads/main^0\n"
MEMORY: Final = 600 << 20
"""In bytes: what the daemon, and each of its children, may allocate."""
RESIDENT: Final = 300 << 20
"""In bytes: what the daemon may ever hold."""


def write_zeros(repo: GitRepo, size: int) -> str:
    """Put a blob of zeros into a repository, which packs to almost nothing, and give its id.

    Git would do the same, but takes four times as long for its own SHA-1.
    """
    header, chunk = b"blob %d\0" % size, bytes(1 << 20)
    digest, packer = hashlib.sha1(header), zlib.compressobj(1)  # noqa: S324 - the form of Git's ids
    packed = [packer.compress(header)]
    for _ in range(size // len(chunk)):
        digest.update(chunk)
        packed.append(packer.compress(chunk))
    name = digest.hexdigest()
    place = repo.bare / "objects" / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"".join([*packed, packer.flush()]))
    repo._run("config", "core.compression", "1", cwd=repo.bare)
    return name


def peak(pid: int) -> int:
    """The most bytes that a process has ever held."""
    status = (Path("/proc") / str(pid) / "status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) << 10


@pytest.mark.slow
def test_a_gigabyte_in_one_file_and_a_hundred_thousand_files_are_refused_and_nothing_is_applied(tmp_path: Path) -> None:
    blob, files = GitRepo(tmp_path, "blob"), GitRepo(tmp_path, "files")
    good = {repo: repo.commit({"a.yaml": MAP % (repo.bare.stem, "blue")}) for repo in (blob, files)}
    sandbox = Sandbox(tmp_path)
    documents = [sync_document(repo.bare.stem, repo.url) for repo in good]
    try:
        with DaemonProcess(tmp_path, sandbox.kubeconfig, *documents) as daemon:
            resource.prlimit(daemon.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
            for repo, commit in good.items():
                daemon.wait_synced(repo.bare.stem, commit)
            blob.fast_import(f"{COMMIT}M 100644 {write_zeros(blob, 1 << 30)} big.yaml\n{red('blob')}")
            names = (f"M 100644 inline {number % 300}/{number}.yaml\ndata 5\na: 1\n\n" for number in range(100_000))
            files.fast_import(f"{COMMIT}{red('files')}{''.join(names)}")
            refused = {
                repo.bare.stem: daemon.wait_for(repo.bare.stem, "is refused", lambda status: status["error"])
                for repo in good
            }
            assert {status["reason"] for status in refused.values()} == {"LimitExceeded"}
            assert "big.yaml: it has 1073741824 bytes, and syncd reads files of up to 16777216" in str(refused["blob"])
            assert "there are 100001 files" in str(refused["files"])
            assert "syncd reads up to 20000 files" in str(refused["files"])
            for repo, commit in good.items():
                assert refused[repo.bare.stem]["applied"]["commit"] == commit
                live = sandbox.kubectl.get("configmap", repo.bare.stem, "default")
                assert live is not None
                assert live["data"] == {"colour": "blue"}
            assert peak(daemon.pid) < RESIDENT
    finally:
        sandbox.server.stop()


def red(name: str) -> str:
    """A change of the manifest that was fine, for ``git fast-import``."""
    text = MAP % (name, "red")
    return f"M 100644 inline a.yaml\ndata {len(text)}\n{text}\n"
