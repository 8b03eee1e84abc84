//! TLS from two PEM files. They can be reloaded, so a renewed certificate needs no restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Protocols offered, preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Why a certificate and key were rejected.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or contains no PEM of the expected kind.
    #[error("{path}: {source}")]
    Pem {
        /// The file.
        path: String,
        /// Why.
        source: pem::Error,
    },
    /// The file contains no certificate.
    #[error("{path}: contains no certificate in PEM format")]
    NoCertificate {
        /// The file.
        path: String,
    },
    /// The key does not belong to the certificate, or its kind is not supported.
    #[error("{certificate}: {source}")]
    Refused {
        /// The certificate's file.
        certificate: String,
        /// Why.
        source: rustls::Error,
    },
}

/// The certificate and key in use. Cheap to clone; a reload applies to all clones.
#[derive(Clone, Debug)]
pub struct Tls(Arc<TlsInner>);

#[derive(Debug)]
struct TlsInner {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<ServerConfig>,
}

impl Tls {
    /// Reads certificate chain and key.
    ///
    /// # Errors
    /// The files cannot be read or do not belong together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(TlsInner {
            current: ArcSwap::new(read(certificate, key)?),
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        })))
    }

    /// Reloads the files; new connections use them. On an error, the previous ones stay in use.
    ///
    /// # Errors
    /// As for [`Tls::load`].
    pub fn reload(&self) -> Result<(), TlsError> {
        let renewed = read(&self.0.certificate, &self.0.key)?;
        self.0.current.store(renewed);
        Ok(())
    }

    /// The acceptor for the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.current.load_full())
    }
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let unreadable = |path: &Path| {
        let path = path.display().to_string();
        move |source| TlsError::Pem { path, source }
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(unreadable(certificate))?;
    if chain.is_empty() {
        let path = certificate.display().to_string();
        return Err(TlsError::NoCertificate { path });
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(unreadable(key))?;
    let refused = |source| TlsError::Refused {
        certificate: certificate.display().to_string(),
        source,
    };
    // The provider is passed explicitly, so that nothing depends on one installed for the process.
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(refused)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(refused)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(Arc::new(config))
}
