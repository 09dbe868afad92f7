# The daemon in a container: no root, no shell needed, read-only root file system.
# docs/service.md says how to run it; compose.yaml is an example with an agent in a second container.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p countersign --bin countersign \
 && cargo build --profile release-hook --locked -p countersign --bin countersign-hook

# A container in which agents run: only the client side, as another user than the daemon.
FROM debian:bookworm-slim AS agent
RUN groupadd --gid 10002 countersign-agents \
 && useradd --uid 10003 --gid 10002 --create-home --shell /bin/bash agent
COPY --from=build /src/target/release/countersign /src/target/release-hook/countersign-hook \
  /usr/local/bin/
USER 10003:10002
WORKDIR /home/agent

FROM debian:bookworm-slim AS daemon
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 countersign \
 && groupadd --gid 10002 countersign-agents \
 && useradd --uid 10001 --gid 10001 --groups 10002 --no-create-home \
      --home-dir /var/lib/countersign --shell /usr/sbin/nologin countersign \
 && install -d -o 10001 -g 10001 -m 0700 /var/lib/countersign \
 && install -d -o 10001 -g 10001 -m 0755 /run/countersign \
 && install -d -o 0 -g 10001 -m 0750 /etc/countersign
COPY --from=build /src/target/release/countersign /usr/local/bin/
COPY --chown=0:10001 --chmod=0640 packaging/container/countersign.toml /etc/countersign/
# The daemon gives its socket to the group of the agents, so it is a member of it. With a group in
# this line, the other groups of the user would not count.
USER 10001
ENV COUNTERSIGN_CONFIG=/etc/countersign/countersign.toml COUNTERSIGN_STATE=/var/lib/countersign
VOLUME ["/var/lib/countersign", "/run/countersign"]
EXPOSE 6001
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["countersign", "service", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["countersign"]
CMD ["serve"]
