//! Connections between commands and workers: over TLS with a shared token or with certificates of both sides, or on
//! loopback.
//!
//! Everything else is refused when a worker or a command starts, before anything is sent; the error names the address.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{ChannelResolver, WorkerChannel};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity as Pair};
use tower::{ServiceBuilder, ServiceExt};
use url::{Host, Url};

use crate::{Error, Result};
use toise_sql::settings::ClusterSettings;
use toise_transport::tls::Tls;

/// Time to establish a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of keep-alive pings on a connection in use.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(5);
/// Maximum wait for the answer to a ping. A worker that hangs is given up after both.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// Header with the token.
const AUTHORIZATION: &str = "authorization";
/// Prefix of the token in the header.
const BEARER: &str = "Bearer ";

/// The credentials of this process, what it requires of others, and its connections. Cheap to clone.
#[derive(Clone)]
pub struct Access {
    shared: Arc<AccessInner>,
}

struct AccessInner {
    token: Option<String>,
    /// PEM text: the certificate of the authority, and the process's own certificate with its key.
    authority: Option<Vec<u8>>,
    own: Option<(Vec<u8>, Vec<u8>)>,
    settings: ClusterSettings,
    channels: Mutex<HashMap<Url, BoxCloneSyncChannel>>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Access").finish_non_exhaustive()
    }
}

fn read(path: &str) -> Result<Option<Vec<u8>>> {
    match path {
        "" => Ok(None),
        path => {
            let text = fs::read(path).map_err(Error::io(Path::new(path)))?;
            Ok(Some(text))
        }
    }
}

impl Access {
    /// Reads the files that the settings name.
    ///
    /// # Errors
    /// One cannot be read, or only one of certificate and key is set.
    pub fn new(settings: &ClusterSettings) -> Result<Self> {
        let own = match (read(&settings.certificate)?, read(&settings.key)?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                return Err(Error::Credentials(
                    "cluster.certificate and cluster.key belong together: set both or neither"
                        .into(),
                ));
            }
        };
        let token = Some(settings.token.clone()).filter(|token| !token.is_empty());
        Ok(Self {
            shared: Arc::new(AccessInner {
                token,
                authority: read(&settings.ca)?,
                own,
                settings: settings.clone(),
                channels: Mutex::default(),
            }),
        })
    }

    /// Returns the number of rows after which a part of a bulk job ends.
    pub fn part_rows(&self) -> usize {
        self.shared.settings.part_rows
    }

    /// Returns the TLS configuration of a worker that listens on an address; `None` means without TLS.
    ///
    /// # Errors
    /// The address is not a loopback address and there is no certificate; or there is a certificate, but neither a
    /// token nor an authority to check the certificates of callers; or the files cannot be used.
    pub fn server_tls(&self, listen: SocketAddr) -> Result<Option<Tls>> {
        let refused = |reason: &str| Error::address(&listen, reason);
        let AccessInner {
            token,
            authority,
            own,
            settings,
            ..
        } = &*self.shared;
        if own.is_none() {
            return if listen.ip().is_loopback() {
                Ok(None)
            } else {
                Err(refused(
                    "beyond loopback a worker needs TLS: set cluster.certificate and cluster.key",
                ))
            };
        }
        if token.is_none() && authority.is_none() {
            return Err(refused(
                "anyone could use this worker: set cluster.token, or cluster.ca to ask for certificates",
            ));
        }
        let (certificate, key) = (Path::new(&settings.certificate), Path::new(&settings.key));
        // With a token, the other side needs no certificate.
        let asked = Path::new(&settings.ca);
        let asked = Some(asked).filter(|_| token.is_none());
        Tls::load_with_client_auth(certificate, key, asked)
            .map(Some)
            .map_err(|error| Error::Credentials(error.to_string()))
    }

    /// Returns whether a call carries the token, compared in constant time; always true if there is none.
    pub(crate) fn admits(&self, metadata: &MetadataMap) -> bool {
        let Some(token) = &self.shared.token else {
            return true;
        };
        let shown = metadata.get(AUTHORIZATION);
        let shown = shown.and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| value.strip_prefix(BEARER));
        let digest = |text: &str| Sha256::digest(text.as_bytes());
        let same = digest(shown.unwrap_or_default()).ct_eq(&digest(token));
        bool::from(same)
    }

    /// Checks that the address of a worker may be used.
    ///
    /// # Errors
    /// It is refused.
    pub(crate) fn check(&self, url: &Url) -> Result<()> {
        self.endpoint(url).map(drop)
    }

    /// Returns a connection to a worker. It is established on first use, and again after it breaks.
    ///
    /// # Errors
    /// The address is refused, or the token cannot be sent.
    pub(crate) fn channel(&self, url: &Url) -> Result<BoxCloneSyncChannel> {
        let mut channels = self.shared.channels.lock();
        if let Some(channel) = channels.get(url) {
            return Ok(channel.clone());
        }
        let made = self.connect(url)?;
        channels.insert(url.clone(), made.clone());
        Ok(made)
    }

    fn endpoint(&self, url: &Url) -> Result<Endpoint> {
        let refused = |reason: String| Error::address(url, reason);
        let endpoint = Endpoint::from_shared(url.to_string())
            .map_err(|error| refused(error.to_string()))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE_EVERY)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .tcp_nodelay(true);
        match url.scheme() {
            "http" if is_loopback(url) => Ok(endpoint),
            "http" => Err(refused(
                "beyond loopback, workers are reached only over https://".into(),
            )),
            "https" => endpoint
                .tls_config(self.client_tls(url)?)
                .map_err(|error| refused(error.to_string())),
            _ => Err(refused(
                "write http://HOST:PORT or https://HOST:PORT".into(),
            )),
        }
    }

    fn connect(&self, url: &Url) -> Result<BoxCloneSyncChannel> {
        let endpoint = self.endpoint(url)?;
        let token = match &self.shared.token {
            Some(token) => {
                let value = format!("{BEARER}{token}").parse::<tonic::codegen::http::HeaderValue>();
                Some(value.map_err(|_| {
                    Error::Credentials("cluster.token has characters that cannot be sent".into())
                })?)
            }
            None => None,
        };
        let channel = ServiceBuilder::new()
            .map_request(
                move |mut request: tonic::codegen::http::Request<tonic::body::Body>| {
                    if let Some(token) = &token {
                        request.headers_mut().insert(AUTHORIZATION, token.clone());
                    }
                    request
                },
            )
            .service(endpoint.connect_lazy());
        Ok(BoxCloneSyncChannel::new(channel.map_err(|error| error)))
    }

    fn client_tls(&self, url: &Url) -> Result<ClientTlsConfig> {
        let AccessInner {
            token,
            authority,
            own,
            ..
        } = &*self.shared;
        let refused = |reason: &str| Error::address(url, reason);
        let authority = authority.as_ref().ok_or_else(|| {
            refused("set cluster.ca to the certificate of the authority that signed those of the workers")
        })?;
        if token.is_none() && own.is_none() {
            return Err(refused(
                "a worker authenticates its callers: set cluster.token, or cluster.certificate and cluster.key",
            ));
        }
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority));
        Ok(match own {
            Some((certificate, key)) => tls.identity(Pair::from_pem(certificate, key)),
            None => tls,
        })
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[async_trait::async_trait]
impl ChannelResolver for Access {
    async fn get_worker_client_for_url(
        &self,
        url: &Url,
    ) -> datafusion::error::Result<Box<dyn WorkerChannel>> {
        let channel = self.channel(url);
        let channel = channel
            .map_err(|error| datafusion::error::DataFusionError::External(Box::new(error)))?;
        Ok(create_worker_client(channel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(settings: ClusterSettings) -> Access {
        Access::new(&settings).unwrap()
    }

    fn with_token(token: &str) -> ClusterSettings {
        ClusterSettings {
            token: token.to_owned(),
            ..ClusterSettings::default()
        }
    }

    #[test]
    fn clear_text_is_refused_beyond_loopback_on_both_sides() {
        let plain = access(with_token("secret"));
        assert!(
            plain
                .server_tls(([127, 0, 0, 1], 9000).into())
                .unwrap()
                .is_none()
        );
        let refused = plain.server_tls(([0, 0, 0, 0], 9000).into()).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("0.0.0.0:9000: beyond loopback")
        );
        let channel = |url: &str| plain.connect(&Url::parse(url).unwrap());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _inside = runtime.enter();
        assert!(channel("http://127.0.0.1:9000").is_ok());
        assert!(channel("http://[::1]:9000").is_ok());
        for (url, reason) in [
            ("http://10.0.0.1:9000", "only over https://"),
            ("https://10.0.0.1:9000", "cluster.ca"),
            ("ftp://127.0.0.1", "write http://HOST:PORT"),
        ] {
            let error = channel(url).err().map(|error| error.to_string());
            assert!(error.is_some_and(|error| error.contains(reason)), "{url}");
        }
    }

    #[test]
    fn a_call_must_show_the_token_if_there_is_one() {
        let shown = |token: &str| {
            let mut metadata = MetadataMap::new();
            metadata.insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
            metadata
        };
        let guarded = access(with_token("secret"));
        assert!(guarded.admits(&shown("secret")));
        assert!(!guarded.admits(&shown("secre")));
        assert!(!guarded.admits(&MetadataMap::new()));
        assert!(access(ClusterSettings::default()).admits(&MetadataMap::new()));
    }
}
