#!/bin/sh
# Installs what syncd calls that Debian has. Options go to apt-get install, such as --simulate.
set -eu
# The lists of packages are kept out of the image, and whoever tries this at home keeps their own.
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT
apt() {
    DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 --option Dir::State::Lists="$lists" \
        --option Dir::Cache::pkgcache= --option Dir::Cache::srcpkgcache= "$@"
}
apt update
# git asks ssh for ssh:// repositories, gpg and ssh-keygen for signatures (sops needs no gpg); tini ends what a killed program leaves behind.
apt install --yes --no-install-recommends "$@" ca-certificates git gpg openssh-client tini
