# Everything CI checks before it tests: format, lints, docs.
check:
    cargo fmt --check --all
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace

# Licences, sources and banned crates (needs cargo-deny).
deny:
    cargo deny --config .deny.toml check bans licenses sources

# All tests, on the real parts.
test:
    cargo test --workspace

# The simulation's 200 seeds, with more steps each than `cargo test` takes.
simulate steps="2000":
    CONFROLL_SIMULATION_STEPS={{steps}} cargo test --profile simulation --test it -- simulation::whatever --nocapture

# Looks for inputs that break what fuzz/harness states: events, annotations, record or regex. What is found is written
# to fuzz/artifacts and goes to fuzz/seeds with its mending (needs nightly and `cargo install cargo-fuzz`).
fuzz target seconds="600":
    cp Cargo.lock fuzz/Cargo.lock
    mkdir -p fuzz/corpus/{{target}}
    cargo +nightly fuzz run {{target}} fuzz/corpus/{{target}} fuzz/seeds/{{target}} -- \
        -max_total_time={{seconds}} -timeout=10 -max_len=8192

# The pictures of docs/messages, of every kind of chat message (needs chromium and ImageMagick).
pictures:
    #!/usr/bin/env bash
    set -euo pipefail
    folder=$(mktemp -d)
    cargo demo --messages --exit --save "$folder"
    for page in "$folder"/*.html; do
        picture=docs/messages/$(basename "$page" .html).png
        chromium --headless --no-sandbox --hide-scrollbars --window-size=760,1200 --screenshot="$picture" "file://$page"
        mogrify -trim -bordercolor white -border 12 "$picture"
    done

# The function against the cluster of the current kubeconfig.
run:
    KUBECONFIG="${KUBECONFIG:-$HOME/.kube/config}" cargo run -- serve

# A change told by hand: `just send shop ConfigMap app`.
send namespace kind name:
    curl -si localhost:8080 -H 'ce-specversion: 1.0' -H "ce-id: $RANDOM" -H 'ce-source: by-hand' \
        -H 'ce-type: dev.knative.apiserver.ref.update' -H 'content-type: application/json' \
        -d '{"apiVersion":"v1","kind":"{{kind}}","namespace":"{{namespace}}","name":"{{name}}"}'

# What is measured, beside the raw limit.
bench *scenarios:
    cargo bench --bench reload -- {{scenarios}}

# deploy/confroll.yaml from the chart
manifest:
    CONFROLL_WRITE_MANIFEST=1 cargo test --locked --test it -- charting::the_plain_manifest
