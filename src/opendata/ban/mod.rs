//! The national address base (BAN): addresses and named places as published by department, and the local bases of
//! communes (BAL 1.1 to 1.5) that it is built from.

pub mod columns;
mod house_number;
mod identity;
pub mod record;
