#!/bin/sh
# Builds kustomize, helm and sops, or those that are named, from the sources of their releases, as published Go modules.
#
#     build-tools.sh FOLDER [kustomize] [helm] [sops]
#
# tools/*/go.mod says which releases, and go.sum has the digest of every module that goes in, so a changed source does not
# build. The same release gives the same bytes, whoever builds it with the same Go. For another platform set GOOS and GOARCH.
# The first time it takes some minutes, later ones some seconds.
set -eu
target=$(mkdir -p "$1" && cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- kustomize helm sops
tools=$(dirname "$0")/tools

# Nothing but the committed files and the installed Go may decide what comes out.
export CGO_ENABLED=0 GOFLAGS=-mod=readonly GOTOOLCHAIN=local GOWORK=off

release() {
    (cd "$tools/$1" && go list -m -f '{{.Version}}' "$2")
}

for name in "$@"; do
    case $name in
        # Its source knows itself by the minor version only; the release's own build adds the rest in the same way.
        helm) known="-X helm.sh/helm/v4/internal/version.version=$(release helm helm.sh/helm/v4)" ;;
        *) known= ;;
    esac
    (cd "$tools/$name" && go build -trimpath -buildvcs=false -ldflags "-s -w $known" -o "$target/$name" tool)
done
