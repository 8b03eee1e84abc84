//! Opens object stores on the network, with the credentials and endpoints of the environment.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, Checksum};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{
    ClientOptions, Error as RemoteError, ObjectStore, ObjectStoreScheme, RetryConfig,
};
use url::Url;

use crate::retry::RetryPolicy;

/// Time to establish a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens a store on the network. Its own client does not repeat requests: [`RetryPolicy`] does.
pub(super) fn open_cloud(
    scheme: &ObjectStoreScheme,
    url: &Url,
    policy: &RetryPolicy,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let once = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    // Each request has its own time limit; this one is for a connection that hangs in the middle of an answer.
    let client = ClientOptions::default()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_timeout(policy.answer_timeout * 2);
    Ok(match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let allows_http = std::env::var("AWS_ENDPOINT_URL")
                .or_else(|_| std::env::var("AWS_ENDPOINT"))
                .is_ok_and(|endpoint| endpoint.starts_with("http://"));
            let client = client.with_allow_http(allows_http);
            let builder = AmazonS3Builder::from_env()
                .with_url(url.as_str())
                .with_client_options(client)
                .with_checksum_algorithm(Checksum::SHA256)
                .with_retry(once);
            Arc::new(builder.build()?)
        }
        ObjectStoreScheme::GoogleCloudStorage => Arc::new(
            GoogleCloudStorageBuilder::from_env()
                .with_url(url.as_str())
                .with_client_options(client)
                .with_retry(once)
                .build()?,
        ),
        ObjectStoreScheme::MicrosoftAzure => Arc::new(
            MicrosoftAzureBuilder::from_env()
                .with_url(url.as_str())
                .with_client_options(client)
                .with_retry(once)
                .build()?,
        ),
        ObjectStoreScheme::Http => Arc::new(
            HttpBuilder::new()
                .with_url(&url[..url::Position::BeforePath])
                .with_client_options(client.with_allow_http(url.scheme() == "http"))
                .with_retry(once)
                .build()?,
        ),
        other => {
            return Err(RemoteError::NotSupported {
                source: format!("unsupported object store: {other:?}").into(),
            });
        }
    })
}
