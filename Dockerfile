# One file for the images of all Go programs: a static binary that runs as nobody, for amd64 and arm64.
#
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg MODULE=jobset-controller --build-arg PROGRAM=./cmd/manager .
#
# `make images` builds all of them; its list in the Makefile has the arguments of each.

# The toolchain runs on the machine that builds, and compiles for the other.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG MODULE
ARG PROGRAM=./cmd/manager
ARG VERSION=devel
ARG COMMIT=
# Further settings of the linker, in the words of go build -ldflags.
ARG LDFLAGS=
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY . .
WORKDIR /src/${MODULE}
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} GOWORK=off go build -trimpath -tags grpcnotrace -o /program \
    -ldflags "-s -w -X github.com/holdfast-project/holdfast/shared/version.version=${VERSION} -X github.com/holdfast-project/holdfast/shared/version.commit=${COMMIT} ${LDFLAGS}" \
    ${PROGRAM}

FROM scratch
# The sidecar at the container runtime is root: its manifest as printed relies on its image for that.
ARG RUN_AS=65532:65532
COPY --from=build /program /program
USER ${RUN_AS}
ENTRYPOINT ["/program"]
