//! The `toise` executable. All its code is in the crates under `src/`; see `toise --help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    toise::cli::main()
}
