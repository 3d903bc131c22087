# The image of every way to run: `confroll serve`, `confroll watch`, `confroll sink`. Nothing but the program, a C library and
# certificates; no shell, not root, and no uid that OpenShift would not change.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --release --locked --bin confroll && cp target/release/confroll /confroll

FROM gcr.io/distroless/cc-debian12:nonroot
LABEL org.opencontainers.image.source=https://github.com/confroll/confroll \
      org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /confroll /usr/local/bin/confroll
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/confroll"]
