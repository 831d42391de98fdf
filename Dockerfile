# docker build -t membar . && docker run --rm -v "$PWD:/work" membar verify dekker.c
FROM rust:1-bookworm AS build
WORKDIR /membar
COPY . .
RUN cargo install --locked --profile dist --path crates/membar --root /opt/membar

# Programs are compiled where they are verified.
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ libc6-dev && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/membar/bin/membar /usr/local/bin/membar
WORKDIR /work
ENTRYPOINT ["membar"]
