//! Files of addresses: the forms that people send, and the limits on them.

#![expect(clippy::unwrap_used, reason = "test")]

mod bounds;
mod forms;
