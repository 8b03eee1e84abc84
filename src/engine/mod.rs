//! Questions over the lake: typed filters, top-k with cursor, exact totals, scores.

pub mod filter;
