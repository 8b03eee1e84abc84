//! Limits of portfolios and of what an account sets for them.

/// Maximum homes of a portfolio.
pub const HOMES_MAX: u64 = 1_000_000;
/// Maximum portfolios of an account.
pub const PORTFOLIOS_MAX: usize = 20;
/// Maximum bytes of a file of homes.
pub const FILE_BYTES_MAX: usize = 512 << 20;
/// Default for the change of a value that is reported, in percent.
pub const MOVED_PERCENT_DEFAULT: f64 = 5.0;
/// Bounds of the change of a value that is reported, in percent.
pub const MOVED_PERCENT: (f64, f64) = (0.1, 100.0);
/// Maximum new comparables that a home names; its answer has the number of all.
pub const NEW_COMPARABLES_MAX: usize = 10;
/// Maximum characters of a name.
pub const NAME_CHARS_MAX: usize = 100;
/// The rule for the name of a portfolio.
pub const NAME_RULE: &str =
    "must be 1 to 100 characters, without control characters, slashes or spaces at the ends";
