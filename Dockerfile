# One static binary on an empty file system: no shell, no packages, nothing to update but the binary itself.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src

COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download

COPY . .
ARG VERSION=dev
ARG REVISION=
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION -X main.revision=$REVISION" -o /out/server ./cmd/server

# What a static binary still looks for: certificate authorities (Redis or MySQL over TLS) and a name for its user.
RUN mkdir -p /out/etc/ssl/certs \
 && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
 && echo 'seckill:x:65532:65532:seckill:/:/nologin' > /out/etc/passwd \
 && echo 'seckill:x:65532:' > /out/etc/group

FROM scratch
ARG VERSION=dev
ARG REVISION=
LABEL org.opencontainers.image.title="seckill" \
      org.opencontainers.image.description="Flash-sale coupon service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.base.name="scratch"
COPY --from=build /out/ /

# A container that forgot its settings must refuse to start, not sell from memory.
ENV SECKILL_EMBEDDED=never \
    SECKILL_HTTP_ADDR=:8080 \
    SECKILL_LOG_FORMAT=json

USER 65532:65532
# Purchases and orders; the operations listener (metrics, profiles) is on 127.0.0.1:8081 unless it is set otherwise.
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["/server", "health"]
ENTRYPOINT ["/server"]
