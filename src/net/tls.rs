//! Sets up the cryptography of every outgoing connection: ring, chosen once for the process.

use rustls::crypto::ring;

/// Starts building an HTTP client; every client of the project begins here.
pub fn client_builder() -> reqwest::ClientBuilder {
    // Fails when a provider was installed before, by an earlier call or by a program that embeds this crate.
    let _ = ring::default_provider().install_default();
    reqwest::Client::builder()
}
