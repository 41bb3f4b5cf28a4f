# Every command of the project. `just check` is everything that CI runs.

# List the commands.
default:
    @just --list --unsorted

# Everything that must hold before a change lands: format, lints, docs, tests.
check:
    .ci/run

# All tests, as README has it. Needs Node.js with npm for the ones against real Yjs.
test *args:
    cargo test --workspace {{args}}

# The core alone: what a person who works on files builds and tests.
core *args:
    cargo test -p yfs-conformance -p yfs-types -p yfs-markdown -p yfs-engine -p yfs-vfs -p yfs-store -p yfs {{args}}

# All scenarios of the web editor that are played in Firefox (needs one on the PATH).
firefox:
    YFS_FIREFOX=all cargo test -p yfs-tests --test it the_editors_work_in_firefox

# Lints alone.
lint:
    cargo fmt --all -- --check
    rustfmt --check crates/doors/yfs-cli/src/commands/*.rs crates/doors/yfs-cli/src/commands/*/*.rs
    cargo clippy --workspace --all-targets --locked -- -D warnings
    npm --prefix crates/doors/yfs-node run --silent format:check
    npm --prefix crates/doors/yfs-node run --silent lint

# Format all Rust, TypeScript and JavaScript.
format:
    cargo fmt --all
    rustfmt crates/doors/yfs-cli/src/commands/*.rs crates/doors/yfs-cli/src/commands/*/*.rs
    npm --prefix crates/doors/yfs-node run --silent format

# Benchmarks; the figures belong in docs/performance.md.
bench *args:
    cargo bench --workspace {{args}}

# Long random runs of all property tests, hostile bytes included, from a new seed unless one is given; chaos on a
# mirrored folder and among clones that are killed, from as many seeds.
soak cases="20000" steps="1000000" seeds="1000" peers="10000" seed=`od -An -N4 -tu4 /dev/urandom | tr -d ' '`:
    PROPTEST_RNG_SEED={{seed}} PROPTEST_CASES={{cases}} YFS_FUZZ_CASES={{cases}} YFS_STEPS={{steps}} \
        YFS_CHAOS_SEEDS={{seeds}} YFS_CHAOS_SEED={{seed}} YFS_KILLS=200 YFS_DAMAGES=2000 YFS_RACES=1000 YFS_INDEX_SEEDS=1000 \
        YFS_CLONES={{seeds}} YFS_CLONES_SEED={{seed}} YFS_PEER_HISTORIES={{peers}} YFS_PEER_SEED={{seed}} \
        cargo test --release --workspace

# Mutation fuzzing of one target for some seconds (needs cargo-fuzz and a nightly toolchain).
fuzz target="gate" seconds="60":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}} -rss_limit_mb=2048

# Write what is generated from the types of yfs-wire: TypeScript, and the schemas of the OpenAPI document.
wire:
    UPDATE_EXPECT=1 cargo test -p yfs-tests --test it wire::

# The Node packages that the tests hold yfs against, from their lock files.
node:
    npm --prefix tests/node ci --ignore-scripts --no-audit --no-fund
    npm --prefix tests/node/editors ci --ignore-scripts --no-audit --no-fund

# Build a wheel of the Python package into target/dist (needs maturin).
wheel:
    packaging/build-python.sh

# Licences, advisories, bans and sources of all dependencies (needs cargo-deny).
deny:
    cargo deny --workspace check

# Lines of wings, circles of imports, the largest types, public items that nothing uses.
house *args:
    node tests/node/house.mjs {{args}}

# The documentation of all crates.
doc *args:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked {{args}}

# Serve a directory to Yjs editors; the demo if no other is named.
serve dir="yfs-demo":
    test -e {{dir}} || cargo run --release -- demo {{dir}}
    cargo run --release -- serve {{dir}}

# Render docs/ as a book, in target/book.
book:
    command -v mdbook > /dev/null || cargo install mdbook
    mdbook build

# Write docs/reference/commands.md from the definition of the command line.
reference:
    UPDATE_EXPECT=1 cargo test -p yfs-cli --bins reference

# Pictures of the states of the web editor, light, dark and on a phone, in docs/images/states: lists
# what differs from the last ones. `just screenshots --compare` writes none; names choose states.
screenshots *args:
    cargo build --workspace
    npm --prefix tests/node/web ci --ignore-scripts --no-audit --no-fund
    npm --prefix crates/doors/yfs-web/app run --silent build:harness
    YFS_COMMAND="$PWD/target/debug/yfs" HARNESS_PAGE="$PWD/crates/doors/yfs-web/app/dist-harness" node tests/node/web/screenshots.mjs docs/images/states fixtures {{args}}
