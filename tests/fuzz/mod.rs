//! Foreign bytes: every parser of what others send takes mutated samples without a panic and without taking long. A
//! refusal is as good as an answer.
//!
//! Samples are in `corpus/`, in `data/`, or made here. Cases are bounded by default; `TOISE_FUZZ_CASES` sets how many there
//! are of each parser. proptest prints a case that failed, and shrinks it.

mod folders;
mod geocoding;
mod mutation;
mod parsers;
mod queries;

use proptest::prelude::ProptestConfig;

/// Cases of a parser, unless `TOISE_FUZZ_CASES` overrides it.
const CASES: u32 = 96;
/// How many times fewer cases a parser gets whose case takes tens of milliseconds.
const SLOW: u32 = 8;

fn cases() -> u32 {
    let given = std::env::var("TOISE_FUZZ_CASES").ok();
    given.map_or(CASES, |text| text.parse().unwrap())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases.max(1),
        // The samples are committed, and a failure says its case: nothing is kept beside them.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// The configuration of a parser.
fn quick() -> ProptestConfig {
    config(cases())
}

/// The configuration of a parser of whole folders, or of whole requests.
fn slow() -> ProptestConfig {
    config(cases() / SLOW)
}
