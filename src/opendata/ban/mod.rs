//! The national address base (BAN): addresses and named places as published by department, and the local bases of
//! communes (BAL 1.1 to 1.4) that it is built from.

pub mod columns;
pub mod record;
