"""Signatures of commits and tags, made with the real ssh-keygen and gpg."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from syncd.source.errors import InvalidCredentialsError, VerificationFailedError
from syncd.source.keys import Keys
from syncd.source.repository import Repositories
from syncd.spec import GitSource
from tests.support.gitservers import program
from tests.unit.source.gitrepo import GitRepo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ALICE = "Alice <alice@example.com>"


class People:
    """Alice and Mallory, each with an ssh key and an OpenPGP key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ring = folder / "ring"
        self._ring.mkdir(mode=0o700)
        for name in ("alice", "mallory"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name)], check=True
            )
            self.gpg("--passphrase", "", "--quick-gen-key", f"{name.title()} <{name}@example.com>", "ed25519", "sign")

    def gpg(self, *arguments: str) -> bytes:
        return subprocess.run(
            ["gpg", "--batch", "--quiet", "--homedir", str(self._ring), *arguments], check=True, capture_output=True
        ).stdout

    def ssh_key(self, name: str) -> str:
        return (self.folder / f"{name}.pub").read_text()

    def openpgp_key(self, name: str) -> bytes:
        return self.gpg("--armor", "--export", f"{name}@example.com")

    def signing(self, how: str, name: str) -> list[str]:
        """Options that have Git sign."""
        if how == "ssh":
            return ["-c", "gpg.format=ssh", "-c", f"user.signingKey={self.folder / name}"]
        return ["-c", f"gpg.program={self._wrapper()}", "-c", f"user.signingKey={name}@example.com"]

    def _wrapper(self) -> Path:
        script = self.folder / "gpg"
        script.write_text(f'#!/bin/sh\nexec gpg --batch --homedir {self._ring} "$@"\n')
        script.chmod(0o700)
        return script

    def end(self) -> None:
        subprocess.run(["gpgconf", "--homedir", str(self._ring), "--kill", "all"], check=True)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    program("gpg")
    found = People(tmp_path_factory.mktemp("people"))
    yield found
    found.end()


class Signed:
    """A repository whose commits and tags somebody signs, and a Sync's look at it."""

    def __init__(self, folder: Path, people: People) -> None:
        self.repo = GitRepo(folder)
        self.people = people
        self.keys = folder / "keys"
        self.keys.mkdir()
        self.repositories = Repositories(folder / "mirrors")
        self._count = 0

    def commit(self, how: str = "", who: str = "") -> str:
        self._count += 1
        self.repo.write({"a.yaml": f"a: {self._count}"})
        self.repo.git("add", "-A")
        options = [*self.people.signing(how, who), "commit", "-S"] if how else ["commit"]
        self.repo.git(*options, "-q", "-m", "a change")
        self.repo.git("push", "-q", "--force", "origin", "HEAD:refs/heads/main")
        return self.repo.git("rev-parse", "HEAD")

    def tag(self, name: str, how: str = "", who: str = "") -> None:
        options = [*self.people.signing(how, who), "tag", "-s"] if how else ["tag", "-a"]
        self.repo.git(*options, "-m", name, name)
        self.repo.git("push", "-q", "--force", "origin", f"refs/tags/{name}")

    def allow(self, name: str, key: str | bytes) -> None:
        (self.keys / name).write_bytes(key if isinstance(key, bytes) else key.encode())

    def resolve(self, mode: str, deadline: float, **ref: str) -> str:
        verify = {"mode": mode, "secretFile": str(self.keys)}
        git = GitSource.model_validate({"url": self.repo.url, "ref": ref or {"branch": "main"}, "verify": verify})
        return self.repositories.resolve(git, ".", deadline=deadline).commit


@pytest.fixture
def signed(tmp_path: Path, people: People) -> Signed:
    return Signed(tmp_path, people)


def allow_ssh(signed: Signed) -> None:
    signed.allow("alice.sshpub", signed.people.ssh_key("alice"))


def allow_signers(signed: Signed) -> None:
    signed.allow("allowed_signers", f"# people\nalice@example.com {signed.people.ssh_key('alice')}")


def allow_openpgp(signed: Signed) -> None:
    signed.allow("alice.asc", signed.people.openpgp_key("alice"))


ALLOWED: list[Any] = [
    pytest.param("ssh", allow_ssh, r"alice \(SHA256:", id="sshpub"),
    pytest.param("ssh", allow_signers, r"alice@example\.com \(SHA256:", id="allowed-signers"),
    pytest.param("gpg", allow_openpgp, r"Alice <alice@example\.com> \(key [0-9A-F]{40}\)", id="openpgp"),
]


@pytest.mark.parametrize(("how", "allow", "expected"), ALLOWED)
def test_a_commit_counts_only_when_somebody_who_may_has_signed_it(
    *, signed: Signed, how: str, allow: Callable[[Signed], None], expected: str, deadline: float
) -> None:
    allow(signed)
    good = signed.commit(how, "alice")
    assert signed.resolve("HEAD", deadline) == good
    assert signed.resolve("HEAD", deadline, commit=good) == good
    signed.commit(how, "mallory")
    with pytest.raises(VerificationFailedError, match=rf"of main is signed with the .* not allowed; .* {expected}"):
        signed.resolve("HEAD", deadline)
    signed.commit()
    with pytest.raises(VerificationFailedError, match=rf"of main is not signed; allowed are: {expected}"):
        signed.resolve("HEAD", deadline)
    newer = signed.commit(how, "alice")
    assert signed.resolve("HEAD", deadline) == newer


@pytest.mark.parametrize(("how", "allow", "expected"), ALLOWED)
def test_a_commit_that_was_changed_after_it_was_signed_is_refused(
    *, signed: Signed, how: str, allow: Callable[[Signed], None], expected: str, deadline: float
) -> None:
    allow(signed)
    signed.commit(how, "alice")
    changed = signed.repo.work / "changed"
    changed.write_bytes(signed.repo.git("cat-file", "commit", "HEAD").replace("a change", "another").encode() + b"\n")
    forged = signed.repo.git("hash-object", "-t", "commit", "-w", str(changed))
    signed.repo.git("push", "-q", "--force", "origin", f"{forged}:refs/heads/main")
    with pytest.raises(VerificationFailedError, match=rf"of main was changed after .*signed( it)?; .*{expected}"):
        signed.resolve("HEAD", deadline)


def test_a_signature_of_the_other_kind_is_refused(signed: Signed, deadline: float) -> None:
    allow_openpgp(signed)
    signed.commit("ssh", "alice")
    with pytest.raises(VerificationFailedError, match=r"ED25519 key SHA256:.* not allowed"):
        signed.resolve("HEAD", deadline)
    allow_ssh(signed)
    (signed.keys / "alice.asc").unlink()
    signed.commit("gpg", "alice")
    with pytest.raises(VerificationFailedError, match=r"OpenPGP key [0-9A-F]{40}, which is not allowed"):
        signed.resolve("HEAD", deadline)


@pytest.mark.parametrize(("how", "allow", "expected"), ALLOWED)
def test_a_tag_counts_only_when_it_is_signed(
    *, signed: Signed, how: str, allow: Callable[[Signed], None], expected: str, deadline: float
) -> None:
    allow(signed)
    unsigned = signed.commit()
    signed.tag("v1.0.0", how, "alice")
    assert signed.resolve("Tag", deadline, tag="v1.0.0") == unsigned
    assert signed.resolve("Tag", deadline, semver=">=1") == unsigned
    with pytest.raises(VerificationFailedError, match=r"of v1\.0\.0 is not signed"):
        signed.resolve("TagAndHEAD", deadline, tag="v1.0.0")
    good = signed.commit(how, "alice")
    signed.tag("v1.1.0", how, "mallory")
    with pytest.raises(VerificationFailedError, match=rf"the tag v1\.1\.0 is signed with .* not allowed; .*{expected}"):
        signed.resolve("TagAndHEAD", deadline, semver=">=1")
    signed.tag("v1.2.0", how, "alice")
    assert signed.resolve("TagAndHEAD", deadline, semver=">=1") == good
    signed.tag("v1.3.0")
    with pytest.raises(VerificationFailedError, match=r"the tag v1\.3\.0 is not signed"):
        signed.resolve("Tag", deadline, semver=">=1")


def test_a_tag_without_an_object_of_its_own_is_refused(signed: Signed, deadline: float) -> None:
    allow_ssh(signed)
    signed.commit("ssh", "alice")
    signed.repo.tag("v1")
    with pytest.raises(VerificationFailedError, match="the tag v1 is a lightweight tag, which nobody can sign"):
        signed.resolve("Tag", deadline, tag="v1")


def test_a_signed_tag_under_another_name_is_refused(signed: Signed, deadline: float) -> None:
    allow_ssh(signed)
    signed.commit("ssh", "alice")
    signed.tag("v1.0.0", "ssh", "alice")
    signed.repo.git("push", "-q", "origin", "refs/tags/v1.0.0:refs/tags/v2.0.0")
    with pytest.raises(VerificationFailedError, match=r"the tag v2\.0\.0 is not what was signed: that is v1\.0\.0"):
        signed.resolve("Tag", deadline, semver=">=1")


def test_keys_that_are_replaced_count_at_once(signed: Signed, deadline: float) -> None:
    allow_ssh(signed)
    commit = signed.commit("ssh", "alice")
    assert signed.resolve("HEAD", deadline) == commit
    (signed.keys / "alice.sshpub").unlink()
    signed.allow("mallory.sshpub", signed.people.ssh_key("mallory"))
    with pytest.raises(VerificationFailedError, match="allowed are: mallory"):
        signed.resolve("HEAD", deadline)


def test_what_was_checked_is_not_checked_again(
    signed: Signed, deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_openpgp(signed)
    commit = signed.commit("gpg", "alice")
    signed.resolve("HEAD", deadline)
    monkeypatch.setattr(signed.repositories._verifier, "_check", None)
    assert signed.resolve("HEAD", deadline) == commit


def test_nothing_is_left_of_the_keys(signed: Signed, tmp_path: Path, deadline: float) -> None:
    allow_openpgp(signed)
    signed.commit()
    with pytest.raises(VerificationFailedError):
        signed.resolve("HEAD", deadline)
    assert list((tmp_path / "mirrors").glob("verify-*")) == []


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("notes", "x", "it holds no public key: name OpenPGP keys like alice.asc"),
        ("alice.asc", "no key", "alice.asc does not hold an OpenPGP public key"),
        ("alice.asc", "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n", "is no OpenPGP public key"),
        ("alice.sshpub", "no key", "alice.sshpub does not hold a public key of ssh"),
        ("alice.sshpub", "cert-authority ssh-ed25519 AAAA", "alice.sshpub does not hold a public key of ssh"),
        ("allowed_signers", "# nobody", "it holds no public key"),
    ],
)
def test_keys_that_are_none_are_an_error(
    *, signed: Signed, name: str, content: str, problem: str, deadline: float
) -> None:
    signed.allow(name, content)
    signed.commit("ssh", "alice")
    with pytest.raises(InvalidCredentialsError, match=rf"spec\.source\.git\.verify, Secret .*{problem}"):
        signed.resolve("HEAD", deadline)


def test_without_gpg_openpgp_keys_are_of_no_use(
    signed: Signed, tmp_path: Path, deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_openpgp(signed)
    signed.commit("gpg", "alice")
    bare = tmp_path / "bin"
    bare.mkdir()
    for name in ("git", "env"):
        (bare / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(bare))
    with pytest.raises(VerificationFailedError, match="gpg is not installed"):
        signed.resolve("HEAD", deadline)


@pytest.mark.parametrize("ref", [{}, {"branch": "main"}, {"commit": "0" * 40}])
def test_only_tags_can_be_asked_for_signed_tags(ref: dict[str, str]) -> None:
    verify = {"mode": "Tag", "secretRef": {"name": "keys"}}
    with pytest.raises(ValueError, match=r"needs ref\.tag or ref\.semver"):
        GitSource.model_validate({"url": "https://example.com/x.git", "ref": ref, "verify": verify})


@pytest.mark.parametrize("verify", [{}, {"mode": "HEAD"}, {"secretRef": {"name": "a"}, "secretFile": "/b"}])
def test_verification_names_one_secret(verify: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="give secretFile or secretRef, and not both"):
        GitSource.model_validate({"url": "https://example.com/x.git", "verify": verify})


def test_keys_of_the_same_content_have_the_same_digest() -> None:
    block = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"
    one, two = (Keys.of({"a.asc": block, name: block + b"2"}) for name in ("b.asc", "c.asc"))
    assert one.digest == two.digest != Keys.of({"a.asc": block + b"2"}).digest
