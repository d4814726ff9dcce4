"""Real Git servers on loopback: ``git http-backend`` behind nginx with TLS, and OpenSSH's sshd."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.controlplane.ports import free_port
from tests.support.daemon import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NEW_KEY = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_SBIN = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
USER, PASSWORD = "me@example.com", "p@ss:w/ rd%"


def program(name: str) -> str:
    """Where a program is; without it the test skips, except in CI, which has to have it."""
    found = shutil.which(name, path=_SBIN)
    if found is None:
        missing = f"needs {name}; .ci/run names the package"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def write_keys(folder: Path, keys: Mapping[str, str]) -> str:
    """Write a Secret as Kubernetes mounts it: a file for each key. Gives the folder as a Sync names it."""
    folder.mkdir(exist_ok=True)
    for name, text in keys.items():
        (folder / name).write_text(text)
    return str(folder)


class Authority:
    """A certificate authority of its own, with a server's and a client's certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        subject = ("-subj", "/CN=Test authority")
        self._openssl(*_NEW_KEY, "-x509", "-days", "2", *subject, "-keyout", "ca.key", "-out", "ca.crt")
        self.issue("server", "DNS:localhost")
        self.issue("client", "DNS:client")

    def text(self, name: str) -> str:
        """A file's content, such as ``ca.crt`` or ``client.key``."""
        return (self._folder / name).read_text()

    def path(self, name: str) -> Path:
        """Where a file is."""
        return self._folder / name

    def issue(self, name: str, subject: str) -> None:
        """Make a key and a certificate."""
        self._openssl(*_NEW_KEY, "-subj", f"/CN={name}", "-addext", f"subjectAltName={subject}",
                      "-keyout", f"{name}.key", "-out", f"{name}.csr")  # fmt: skip
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", "2", "-copy_extensions", "copyall", "-out", f"{name}.crt")  # fmt: skip

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)


class NginxGit(NamedTuple):
    """A running nginx. Paths below its URL: ``/open``, ``/private`` (password), ``/mutual`` (client certificate), each
    with the repositories of one folder, ``/old`` (too, and redirects to ``/open`` once ``moved`` is there) and
    ``/slow`` (never answers).
    """

    url: str
    authority: Authority
    passwords: Path
    """Who may read ``/private``; may be rewritten while nginx runs."""
    moved: Path


def passwords(password: str) -> str:
    """A file that lets the user in with this password only."""
    digest = subprocess.run(
        ["openssl", "passwd", "-5", "-stdin"], input=password, check=True, capture_output=True, text=True
    ).stdout
    return f"{USER}:{digest}"


_NGINX = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 0;
  server {{
    listen 127.0.0.1:{port} ssl;
    server_name localhost;
    ssl_certificate {authority}/server.crt;
    ssl_certificate_key {authority}/server.key;
    ssl_client_certificate {authority}/ca.crt;
    ssl_verify_client optional;
    location ~ ^/old(?<repository>/.*)$ {{
      if (-f {folder}/moved) {{ return 301 https://localhost:{port}/open$repository$is_args$args; }}
      {backend}
    }}
    location /slow/ {{ proxy_pass http://127.0.0.1:{silent}; }}
    location ~ ^/open(?<repository>/.*)$ {{ {backend} }}
    location ~ ^/private(?<repository>/.*)$ {{
      auth_basic "git";
      auth_basic_user_file {folder}/passwords;
      {backend}
    }}
    location ~ ^/mutual(?<repository>/.*)$ {{
      if ($ssl_client_verify != SUCCESS) {{ return 403; }}
      {backend}
    }}
  }}
}}
"""
_BACKEND = """
      fastcgi_pass unix:{folder}/cgi;
      fastcgi_param SCRIPT_FILENAME {exec_path}/git-http-backend;
      fastcgi_param GIT_PROJECT_ROOT {root};
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param GIT_PROTOCOL $http_git_protocol;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param REMOTE_USER $remote_user;
      fastcgi_param PATH_INFO $repository;
      fastcgi_buffering off;
"""


@contextmanager
def nginx(root: Path) -> Iterator[NginxGit]:
    """Serve the repositories of a folder over https."""
    with (
        tempfile.TemporaryDirectory(prefix="nginx-") as name,  # short: the path of a socket has 108 bytes at most
        socket.create_server(("127.0.0.1", 0)) as silent,
    ):
        folder = Path(name)
        authority = Authority(folder / "authority")
        (folder / "passwords").write_text(passwords(PASSWORD))
        exec_path = subprocess.run(["git", "--exec-path"], check=True, capture_output=True, text=True).stdout.strip()
        port = free_port()
        backend = _BACKEND.format(folder=folder, exec_path=exec_path, root=root)
        values = {"folder": folder, "port": port, "authority": folder / "authority", "backend": backend}
        (folder / "nginx.conf").write_text(_NGINX.format(**values, silent=silent.getsockname()[1]))
        with (folder / "cgi.log").open("wb") as log:
            cgi = subprocess.Popen(
                [program("fcgiwrap"), "-f", "-c", "4", "-s", f"unix:{folder}/cgi"],
                env={"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"},
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            eventually("fcgiwrap listens", (folder / "cgi").exists)
            server = subprocess.Popen(
                [program("nginx"), "-p", name, "-c", f"{name}/nginx.conf", "-e", f"{name}/error.log"],
                start_new_session=True,
            )
            try:
                eventually("nginx listens", lambda: _answers(port))
                yield NginxGit(f"https://localhost:{port}", authority, folder / "passwords", folder / "moved")
            finally:
                _end(server)
        finally:
            _end(cgi)


class SshGit(NamedTuple):
    """A running sshd.

    Attributes:
        url: Followed by the absolute path of a repository.
        identity: A key that may read.
        denied: A key that the server knows, and lets read nothing.
        known_hosts: The server's host key.
        wrong_hosts: Another host key under its name.
    """

    url: str
    identity: str
    denied: str
    known_hosts: str
    wrong_hosts: str


_SSHD = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowUsers {user}
"""
_DENIED = 'echo "ERROR: Permission to shop denied to this deploy key." >&2; exit 1'


@contextmanager
def sshd(passphrase: str = "") -> Iterator[SshGit]:
    """Serve every repository of this machine over ssh, to who has the key; it may have a passphrase."""
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where Debian's sshd leaves its privileges; its service makes it
    with tempfile.TemporaryDirectory(prefix="sshd-") as name:
        folder = Path(name)
        for key, secret in (("host", ""), ("other", ""), ("identity", passphrase), ("denied", "")):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", secret, "-C", key, "-f", str(folder / key)], check=True
            )
        public = {key: (folder / f"{key}.pub").read_text() for key in ("host", "other", "identity", "denied")}
        command = _DENIED.replace('"', '\\"')
        (folder / "authorized").write_text(
            f'restrict {public["identity"]}restrict,command="{command}" {public["denied"]}'
        )
        port, user = free_port(), getpass.getuser()
        (folder / "config").write_text(_SSHD.format(port=port, folder=folder, user=user))
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [program("sshd"), "-D", "-e", "-f", str(folder / "config")], stderr=log, start_new_session=True
            )
        try:
            eventually("sshd listens", lambda: _answers(port))
            host = f"[127.0.0.1]:{port}"
            yield SshGit(
                f"ssh://{user}@127.0.0.1:{port}",
                (folder / "identity").read_text(),
                (folder / "denied").read_text(),
                f"{host} {public['host']}",
                f"{host} {public['other']}",
            )
        finally:
            _end(server)
