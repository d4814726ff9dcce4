"""Signatures: a commit or tag that none of the Sync's keys has signed is never rendered.

Git itself checks them, with ``ssh-keygen`` or ``gpg``, and its exit status decides: what these programs print ("Good
signature") is also printed for keys that nobody has named. What they print is only used to say what is wrong.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import OrderedDict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from syncd.source.errors import InvalidCredentialsError, SourceTimeoutError, VerificationFailedError
from syncd.source.keys import Keys
from syncd.source.processes import ProcessTimeoutError, supervise
from syncd.source.refs import Target
from syncd.source.secrets import SecretPlace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from syncd.source.command import GitRunner
    from syncd.source.mirror import Mirror
    from syncd.source.secrets import SecretReader
    from syncd.spec import GitVerify

_REMEMBERED: Final = 10_000
_OUTPUT_LIMIT: Final = 1 << 20
_SIGNED: Final = re.compile(rb"^(?:gpgsig|gpgsig-sha256) ", re.MULTILINE)
_CONFIG: Final = """\
[include]
\tpath = "{base}"
[gpg]
\tprogram = gpg
[gpg "ssh"]
\tallowedSignersFile = "{signers}"
[gpg "x509"]
\tprogram = false
"""
# Nothing is left running, and every key in the private ring is one that the Sync names.
_GPG_CONFIG: Final = "no-autostart\nno-auto-key-retrieve\nno-auto-key-locate\ntrust-model always\n"

# What the programs print, and what it means, in order; the groups go into the sentence.
_MEANINGS: Final = tuple(
    (re.compile(pattern, re.MULTILINE), sentence)
    for pattern, sentence in (
        (r"^\[GNUPG:\] REVKEYSIG (\S+) (.*)$", "is signed by {1} (key {0}), whose key is revoked"),
        (r"^\[GNUPG:\] EXPKEYSIG (\S+) (.*)$", "is signed by {1} (key {0}), whose key has expired"),
        (r"^\[GNUPG:\] EXPSIG (\S+) (.*)$", "is signed by {1} (key {0}), and the signature has expired"),
        (r"^\[GNUPG:\] BADSIG (\S+) (.*)$", "was changed after {1} (key {0}) signed it"),
        (r"^\[GNUPG:\] ERRSIG \S+ .* ([0-9A-F]{40,})$", "is signed with the OpenPGP key {0}, which is not allowed"),
        (r"^\[GNUPG:\] NO_PUBKEY (\S+)", "is signed with the OpenPGP key {0}, which is not allowed"),
        (
            r'^Good "git" signature with (\S+) key (SHA256:\S+)',
            "is signed with the {0} key {1}, which is not allowed",
        ),
        (r'^Good "git" signature for (.+) with', "is signed by {0}, who may not sign it (any more)"),
        (r"incorrect signature", "was changed after it was signed"),
    )
)


class _Seen(NamedTuple):
    """Something that was found well signed."""

    mirror: str
    mode: str
    target: Target
    keys: str


class Verifier:
    """Checks signatures, each once for the same keys. Safe to use from many threads.

    Args:
        runner: Runs Git.
        secrets: Reads the keys, for each check anew, as they may be replaced.
    """

    def __init__(self, runner: GitRunner, secrets: SecretReader) -> None:
        self._runner = runner
        self._secrets = secrets
        self._seen: OrderedDict[_Seen, None] = OrderedDict()

    def check(self, mirror: Mirror, verify: GitVerify, target: Target, *, namespace: str, deadline: float) -> None:
        """Refuse a commit that is not signed as the Sync wants it.

        Args:
            mirror: Has the commit.
            verify: What the Sync wants.
            target: What it is to follow now.
            namespace: The Sync's.
            deadline: On ``time.monotonic()``'s clock.

        Raises:
            VerificationFailedError: Who signed, if anybody did, and who should have.
            InvalidCredentialsError: There are no keys to check with.
            MirrorDamagedError: The mirror does not hold what it should.
        """
        place = SecretPlace.of(verify.secret_file, verify.secret_ref, namespace)
        assert place is not None  # noqa: S101 - the model has made sure
        try:
            self._check_with(Keys.of(place.read(self._secrets)), mirror, verify.mode, target, deadline)
        except InvalidCredentialsError as error:
            raise InvalidCredentialsError(f"{mirror.url}: spec.source.git.verify, Secret {place}: {error}") from None

    def _check_with(self, keys: Keys, mirror: Mirror, mode: str, target: Target, deadline: float) -> None:
        seen = _Seen(mirror.name, mode, target, keys.digest)
        if seen in self._seen:
            return
        if mode != "Tag":
            content = mirror.read("cat-file", "commit", target.commit, deadline=deadline)
            signed = _SIGNED.search(content.partition(b"\n\n")[0]) is not None
            name = f"the commit {target.commit[:12]} of {target.short}"
            self._check(mirror, _Question("commit", target.commit, name, signed, keys), deadline)
        if mode != "HEAD":
            name = f"the tag {target.short}"
            signed = self._is_signed_tag(mirror, target, name, deadline)
            self._check(mirror, _Question("tag", target.tag, name, signed, keys), deadline)
        self._seen[seen] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    def _is_signed_tag(self, mirror: Mirror, target: Target, name: str, deadline: float) -> bool:
        """Have the tag itself in the mirror; it must be the tag that its name says, and point to the commit."""
        if not target.tag:
            problem = "is a lightweight tag, which nobody can sign; push an annotated one (git tag --sign)"
            raise VerificationFailedError(f"{mirror.url}: {name} {problem}")
        if not mirror.is_ready(target.tag):
            with mirror.exclusive(deadline):
                mirror.fetch(Target("", target.tag), deadline)
        head, _, message = mirror.read("cat-file", "tag", target.tag, deadline=deadline).partition(b"\n\n")
        fields = dict(line.split(" ", 1) for line in head.decode("utf-8", "replace").splitlines() if " " in line)
        # A server could hand out the signed tag of an old version under the name of a new one.
        if fields.get("tag") != target.short or fields.get("object") != target.commit:
            problem = f"is not what was signed: that is {fields.get('tag')}, for {fields.get('object', '')[:12]}"
            raise VerificationFailedError(f"{mirror.url}: {name} {problem}")
        return b"-----BEGIN " in message

    def _check(self, mirror: Mirror, question: _Question, deadline: float) -> None:
        with self._prepared(question.keys, deadline) as environment:
            told = "is not signed"
            if question.signed:
                report = mirror.bad_signature(question.kind, question.id, environment, deadline)
                if report is None:
                    return
                told = _told(report)
            allowed = ", ".join([*question.keys.ssh_names(), *self._openpgp_names(environment, deadline)])
        raise VerificationFailedError(f"{mirror.url}: {question.name} {told}; allowed are: {allowed}")

    @contextmanager
    def _prepared(self, keys: Keys, deadline: float) -> Iterator[dict[str, str]]:
        """A private folder with the keys, and the environment in which Git uses nothing else."""
        with tempfile.TemporaryDirectory(prefix="verify-", dir=self._runner.home) as name:
            folder = Path(name)
            signers, config, ring = folder / "signers", folder / "gitconfig", folder / "gnupg"
            signers.write_text(keys.signers, encoding="utf-8")
            config.write_text(_CONFIG.format(base=self._runner.home / "gitconfig", signers=signers), encoding="utf-8")
            ring.mkdir(mode=0o700)
            (ring / "gpg.conf").write_text(_GPG_CONFIG, encoding="ascii")
            environment = {"GIT_CONFIG_GLOBAL": str(config), "GNUPGHOME": str(ring)}
            # A ring is the keys one after the other. Importing them would need an agent, and with it a short path.
            ring_data = b"".join(self._gpg(environment, deadline, "--dearmor", stdin=key) for key in keys.openpgp)
            if ring_data:
                (ring / "pubring.gpg").write_bytes(ring_data)
            yield environment

    def _openpgp_names(self, environment: dict[str, str], deadline: float) -> list[str]:
        if not (Path(environment["GNUPGHOME"]) / "pubring.gpg").exists():
            return []
        names, print_ = [], ""
        listing = self._gpg(environment, deadline, "--with-colons", "--fingerprint", "--list-keys")
        for line in listing.decode("utf-8", "replace").splitlines():
            fields = line.split(":")
            if fields[0] == "pub":
                print_ = ""
            elif fields[0] == "fpr":
                print_ = print_ or fields[9]
            elif fields[0] == "uid":
                names.append(f"{fields[9]} (key {print_})")
        return names

    def _gpg(self, environment: dict[str, str], deadline: float, *arguments: str, stdin: bytes = b"") -> bytes:
        program = shutil.which("gpg")
        if program is None:
            raise VerificationFailedError("gpg is not installed: signatures with OpenPGP keys cannot be checked")
        process = subprocess.Popen(
            [program, "--batch", "--quiet", *arguments],
            env={"GNUPGHOME": environment["GNUPGHOME"], "HOME": environment["GNUPGHOME"], "LC_ALL": "C"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            done = supervise(
                process, deadline=deadline, stop=self._runner.stop, stdin=stdin, stdout_limit=_OUTPUT_LIMIT
            )
        except ProcessTimeoutError:
            raise SourceTimeoutError("timed out in gpg, which reads the keys that may sign") from None
        if done.status != 0:
            raise InvalidCredentialsError("a key that is to verify signatures is no OpenPGP public key")
        return done.stdout


class _Question(NamedTuple):
    """Whether one object is well signed."""

    kind: str
    id: str
    name: str
    signed: bool
    """Whether there is any signature at all."""
    keys: Keys


def _told(report: str) -> str:
    """What is wrong with a signature, in a sentence whose subject is what was signed."""
    for pattern, sentence in _MEANINGS:
        found = pattern.search(report)
        if found:
            return sentence.format(*found.groups())
    lines = [line for line in report.splitlines() if line.strip() and not line.startswith("[GNUPG:]")]
    return f"has a signature that cannot be checked ({lines[-1][:200] if lines else 'of an unknown kind'})"
