//! The contract, asked through a real socket: one module per resource.

mod contract {
    mod errors;
    mod keys;
    mod opendata;
    mod server;
}
mod support;
