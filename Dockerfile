# syntax=docker/dockerfile:1
# toise in a container: built in one stage, run in another that adds root certificates and the executable to a small
# Debian, as a user without rights. The root file system may be read-only; data is in the volume /data, temporary files in /tmp.
#
# With --build-arg EXECUTABLE=prebuilt the executable is prebuilt/amd64/toise or prebuilt/arm64/toise, and nothing runs on
# the processor of the image: an image for ARM is made on any machine.
ARG EXECUTABLE=build
FROM --platform=$BUILDPLATFORM debian:bookworm-slim AS files
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 toise \
    && useradd --system --uid 10001 --gid toise --home-dir /data --no-create-home --shell /usr/sbin/nologin toise \
    && install -d -o toise -g toise -m 0750 /data

FROM scratch AS prebuilt
ARG TARGETARCH
COPY --chmod=755 prebuilt/$TARGETARCH/toise /toise

FROM rust:1.95-slim-bookworm AS build
WORKDIR /source
ENV CARGO_TERM_COLOR=never
# Names every crate in the executable, for scanners: `cargo audit bin toise` and `trivy` read it from there.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    cargo install --locked --version 0.7.7 cargo-auditable
COPY . .
# The folder of the build outlives it, so that a second build only builds what changed.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    cargo auditable build --locked --profile dist --features cluster --bin toise && cp target/dist/toise /toise

# hadolint ignore=DL3006
FROM $EXECUTABLE AS executable

FROM debian:bookworm-slim
COPY --from=files /etc/ssl/certs /etc/ssl/certs
COPY --from=files /etc/passwd /etc/group /etc/
COPY --from=files --chown=10001:10001 --chmod=750 /data /data
COPY --from=executable /toise /usr/local/bin/toise
COPY packaging/docker/healthcheck /usr/local/bin/toise-healthcheck
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/toise/
LABEL org.opencontainers.image.title="toise" \
      org.opencontainers.image.description="Open engine for French property data" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
USER 10001:10001
WORKDIR /data
VOLUME /data
ENV TOISE_SERVER__LISTEN=0.0.0.0:8080 \
    TOISE_LOG__FORMAT=json
EXPOSE 8080
STOPSIGNAL SIGTERM
# The first start migrates the store and opens the tables, which may take longer than a health check waits.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["toise-healthcheck"]
ENTRYPOINT ["toise", "--data", "/data"]
CMD ["serve"]
