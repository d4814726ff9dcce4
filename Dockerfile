# syncd with all the programs that it calls: docker build --tag syncd:0.1.0 .
#
# Everything that goes in is named by its digest: base images here, Go modules in deploy/image/tools/*/go.sum, Python
# packages in deploy/image/requirements.txt. Debian's packages are those of the day, for their security fixes.
# For a newer base image look its digest up: docker buildx imagetools inspect python:3.11-slim-bookworm
ARG GO_IMAGE=golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d
ARG PYTHON_IMAGE=python:3.11.15-slim-bookworm@sha256:d29f48a31a8b408ed19272ca1e7b10ebae13b240a27e862d3d4217c528e2e0c3

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS tools
ARG TARGETOS
ARG TARGETARCH
COPY deploy/image/build-tools.sh /build/
COPY deploy/image/tools /build/tools
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH /build/build-tools.sh /out

FROM ${PYTHON_IMAGE} AS syncd
COPY deploy/image/install-syncd.sh deploy/image/requirements.txt deploy/image/requirements-build.txt /build/
COPY pyproject.toml README.md LICENSE /build/sources/
COPY manifests /build/sources/manifests
COPY syncd /build/sources/syncd
RUN /build/install-syncd.sh /build/sources /opt/syncd

FROM ${PYTHON_IMAGE}
RUN --mount=type=bind,source=deploy/image/install-packages.sh,target=/tmp/install-packages.sh \
    /tmp/install-packages.sh \
    # The base image leaves it out, and nothing can be written later.
    && python3 -m compileall -q -f --invalidation-mode unchecked-hash -x '/(site-packages|lib2to3|tests?)/' /usr/local/lib/python3* \
    # ssh refuses to run for a user that has no name.
    && groupadd --gid 65532 syncd \
    && useradd --uid 65532 --gid 65532 --no-log-init --no-create-home --home-dir /var/lib/syncd --shell /usr/sbin/nologin syncd \
    && install --directory --owner=65532 --group=65532 /var/lib/syncd
COPY --from=tools /out /usr/local/bin
COPY --from=syncd /opt/syncd /opt/syncd
ENV PATH=/opt/syncd/bin:$PATH \
    SYNCD_DATA_DIR=/var/lib/syncd
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["tini", "--", "syncd"]
CMD ["run", "--listen", ":8080"]
