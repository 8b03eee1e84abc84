//! Questions over the lake: typed filters, top-k with cursor, exact totals, scores.

pub mod cursor;
pub mod filter;
pub mod pool;
