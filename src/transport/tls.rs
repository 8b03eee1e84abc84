//! TLS from PEM files: a certificate chain, its key and, if callers must show certificates, the authority that signs
//! those. The files can be reloaded, so a renewed certificate needs no restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// Protocols offered, preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Reasons why a certificate and its key are rejected.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or contains no PEM of the expected kind.
    #[error("{path}: {source}")]
    Pem {
        /// The file.
        path: String,
        /// The error.
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
        /// The error.
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
    /// The authority that signs the certificates of callers; `None` if callers show no certificate.
    authority: Option<PathBuf>,
    current: ArcSwap<ServerConfig>,
}

impl Tls {
    /// Reads certificate chain and key.
    ///
    /// # Errors
    /// The files cannot be read or do not belong together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        Self::load_with_client_auth(certificate, key, None)
    }

    /// Like [`Tls::load`]. If an authority is given, callers must show a certificate that it signed.
    ///
    /// # Errors
    /// As for [`Tls::load`].
    pub fn load_with_client_auth(
        certificate: &Path,
        key: &Path,
        authority: Option<&Path>,
    ) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(TlsInner {
            current: ArcSwap::new(read(certificate, key, authority)?),
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            authority: authority.map(Path::to_owned),
        })))
    }

    /// Reloads the files; new connections use them. On an error, the previous ones stay in use.
    ///
    /// # Errors
    /// As for [`Tls::load`].
    pub fn reload(&self) -> Result<(), TlsError> {
        let authority = self.0.authority.as_deref();
        let renewed = read(&self.0.certificate, &self.0.key, authority)?;
        self.0.current.store(renewed);
        Ok(())
    }

    /// Returns the acceptor for the next connection.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.current.load_full())
    }
}

fn unreadable(path: &Path) -> impl Fn(pem::Error) -> TlsError + '_ {
    |source| TlsError::Pem {
        path: path.display().to_string(),
        source,
    }
}

/// Reads the certificates of a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(unreadable(path))?;
    if chain.is_empty() {
        Err(TlsError::NoCertificate {
            path: path.display().to_string(),
        })
    } else {
        Ok(chain)
    }
}

/// Returns a verifier that refuses callers without a certificate signed by the authority.
fn client_verifier(authority: &Path) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let refused = |source| TlsError::Refused {
        certificate: authority.display().to_string(),
        source,
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(authority)? {
        roots.add(certificate).map_err(refused)?;
    }
    let provider = Arc::new(ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| refused(rustls::Error::General(error.to_string())))
}

fn read(
    certificate: &Path,
    key: &Path,
    authority: Option<&Path>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(unreadable(key))?;
    let refused = |source| TlsError::Refused {
        certificate: certificate.display().to_string(),
        source,
    };
    // The provider is passed explicitly, so that nothing depends on one installed for the process.
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(refused)?;
    let builder = match authority {
        Some(authority) => builder.with_client_cert_verifier(client_verifier(authority)?),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, private).map_err(refused)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(Arc::new(config))
}
