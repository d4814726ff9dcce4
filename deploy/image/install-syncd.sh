#!/bin/sh
# Installs syncd and what it depends on into a virtual environment of its own, without pip in it.
#
#     install-syncd.sh SOURCES FOLDER
#
# Every package is checked against the digest in requirements.txt, also what builds the wheel (requirements-build.txt).
# `make lock` writes both files.
set -eu
sources=$1
target=$2
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/build"
python3 -m venv --without-pip "$target"
pip() {
    "$work/build/bin/python" -m pip --quiet --disable-pip-version-check --no-cache-dir "$@"
}
pip install --require-hashes --only-binary :all: --requirement "$here/requirements-build.txt"
pip wheel --no-build-isolation --no-deps --wheel-dir "$work" "$sources"
pip --python "$target/bin/python" install --no-compile --require-hashes --only-binary :all: --requirement "$here/requirements.txt"
pip --python "$target/bin/python" install --no-compile --no-deps "$work"/syncd-*.whl
# The other half of the Kubernetes client, which nothing here imports, is 70 MB.
rm -r "$target"/lib/python3*/site-packages/kubernetes/aio
# The file system is read-only later, so whatever is not compiled now is compiled at each start. Builders change the times of
# files that they copy, so these may not decide.
"$target/bin/python" -m compileall -q -f --invalidation-mode unchecked-hash "$target/lib"
