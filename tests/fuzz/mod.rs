//! Fuzzing: every parser of untrusted input handles mutated samples without a panic and in limited time. It may accept
//! or refuse them.
//!
//! Samples are in `corpus/`, in `data/`, or made here. The number of cases is limited by default; `TOISE_FUZZ_CASES`
//! sets the number for each parser. proptest shrinks and prints a failed case.

mod folders;
mod geocoding;
mod mutation;
mod parsers;
mod queries;

use proptest::prelude::ProptestConfig;

use crate::support::process::variable;

/// Cases of a parser, unless `TOISE_FUZZ_CASES` overrides it.
const CASES: u32 = 96;
/// Divisor of the number of cases for parsers whose cases take tens of milliseconds.
const SLOW: u32 = 8;

fn cases() -> u32 {
    variable("TOISE_FUZZ_CASES", CASES)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases.max(1),
        // The samples are committed, and a failure prints its case, so nothing else is stored.
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
