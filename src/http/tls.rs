//! TLS from two PEM files, read again on demand so that a renewed certificate needs no restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Protocols offered, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What certificate and key can be refused for.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or holds no PEM of the kind expected.
    #[error("{path}: {source}")]
    Pem {
        /// Which file.
        path: String,
        /// Why.
        source: pem::Error,
    },
    /// The file holds no certificate.
    #[error("{path}: holds no certificate in PEM form")]
    NoCertificate {
        /// Which file.
        path: String,
    },
    /// The key is not that of the certificate, or of a kind not supported.
    #[error("{certificate}: {source}")]
    Refused {
        /// The certificate's file.
        certificate: String,
        /// Why.
        source: rustls::Error,
    },
}

/// The certificate and key in use. Cheap to clone; all clones see a renewal.
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
    /// Files that cannot be read or do not belong together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(TlsInner {
            current: ArcSwap::new(read(certificate, key)?),
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        })))
    }

    /// Reads the files again; connections made from then on use them. On an error what was in use stays.
    ///
    /// # Errors
    /// As for [`Tls::load`].
    pub fn reload(&self) -> Result<(), TlsError> {
        let renewed = read(&self.0.certificate, &self.0.key)?;
        self.0.current.store(renewed);
        Ok(())
    }

    /// What accepts the next connection.
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
    // The provider is named, so that nothing depends on one being installed for the process.
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
