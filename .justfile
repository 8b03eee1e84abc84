# Tasks of this repository for `just` (https://just.systems); `just --list` lists them. Each works without just, too.

# List the tasks
_default:
    @just --list

# Compile everything, without tests and lints
check:
    cargo check --locked --workspace --all-targets --features cluster

# Run the tests; arguments go to cargo, such as `just test --lib` or `just test search`
test *arguments:
    cargo test --workspace --features cluster {{ arguments }}

# Run the benches, all or some: `just bench --bench search_sales`
bench *arguments:
    cargo bench {{ arguments }}

# Build the documentation of the code, and write the recorded results of benches into the pages
docs:
    cargo doc --locked --workspace --features cluster --no-deps
    docs/tools/render.py

# Build a release, fill ./toise-data with synthetic rows and serve them on 127.0.0.1:8080
demo *arguments:
    cargo run --release -- demo {{ arguments }}

# Run all checks that a change must pass
ci:
    .ci/run

# Format the Rust code
fmt:
    cargo fmt --all

# Lint as the checks do: warnings are errors
lint:
    cargo clippy --locked --workspace --all-targets --features cluster -- -D warnings
