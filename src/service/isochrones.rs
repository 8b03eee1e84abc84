//! Isochrones: areas within reach of a position, computed by the public service of the Géoplateforme or by one with the
//! same API.
//!
//! A response is cached for a day, because equal requests come in bursts: the pages of a search, the tiles of a map.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;

use crate::error::ApiError;
use toise_contract::Fault;
use toise_contract::isochrone::{Isochrone, Mode, filter_area};
use toise_net::{Client, RetryPolicy};

/// Resource of the service that supports both modes.
const RESOURCE: &str = "bdtopo-valhalla";
/// Maximum time of a request to the service, waiting included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response, bytes.
const RESPONSE_BYTES_MAX: u64 = 4 << 20;
/// Maximum requests to the service at the same time.
const AT_ONCE_MAX: usize = 4;
/// Maximum number of cached areas, and how long each is cached.
const CACHE_ENTRIES_MAX: u64 = 1_000;
const CACHE_TTL: Duration = Duration::from_secs(24 * 3_600);
/// Time after which a failed request may be repeated, seconds.
const RETRY_AFTER_S: u32 = 10;
/// Name of the service in errors.
const SERVICE: &str = "isochrone";

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct Isochrones(Arc<Inner>);

struct Inner {
    address: Option<Url>,
    client: Client,
    permits: Semaphore,
    cache: Cache<String, Arc<Value>>,
}

impl Isochrones {
    /// Creates the client of the service at an address; if the address is empty, every request is refused. Sends no
    /// request yet.
    ///
    /// # Errors
    /// The HTTP client cannot be set up.
    pub fn new(address: &str) -> Result<Self, toise_net::Error> {
        let client = Client::new(RetryPolicy {
            attempts_max: 1,
            retry_after_max: Duration::ZERO,
            connect_timeout: REQUEST_TIMEOUT,
            read_timeout: REQUEST_TIMEOUT,
            ..RetryPolicy::default()
        })?;
        Ok(Self(Arc::new(Inner {
            // The settings accept only valid addresses.
            address: Url::parse(address).ok(),
            client,
            permits: Semaphore::new(AT_ONCE_MAX),
            cache: Cache::builder()
                .max_capacity(CACHE_ENTRIES_MAX)
                .time_to_live(CACHE_TTL)
                .build(),
        })))
    }

    /// Returns the area as a GeoJSON geometry that a filter accepts. `path` is the position of the isochrone in the
    /// request, for errors.
    ///
    /// # Errors
    /// No service is configured, it refuses the request, it does not respond, or its area cannot be used.
    pub async fn area(&self, isochrone: &Isochrone, path: &str) -> Result<Arc<Value>, ApiError> {
        let Some(address) = &self.0.address else {
            let rule = "isochrones are not available here: the setting geocoding.isochrones names no service";
            return Err(Fault::new(path, rule).into());
        };
        let url = request_url(address, isochrone).to_string();
        if let Some(kept) = self.0.cache.get(&url) {
            return Ok(kept);
        }
        let unavailable = |reason: String| {
            tracing::warn!(reason, "the isochrone service does not respond");
            ApiError::UpstreamUnavailable {
                service: SERVICE,
                retry_after_s: RETRY_AFTER_S,
            }
        };
        let sending = timeout(REQUEST_TIMEOUT, async {
            // The semaphore is never closed.
            let _permit = self.0.permits.acquire().await;
            self.0.client.get(&url, RESPONSE_BYTES_MAX).await
        });
        let body = match sending.await {
            Ok(Ok(body)) => body,
            Ok(Err(toise_net::Error::Status { status, .. })) if status.is_client_error() => {
                let rule = format!("the isochrone service rejects this request ({status})");
                return Err(Fault::new(path, rule).into());
            }
            Ok(Err(error)) => return Err(unavailable(error.to_string())),
            Err(_elapsed) => return Err(unavailable("it took too long".into())),
        };
        let mut response: Value =
            serde_json::from_slice(&body).map_err(|error| unavailable(error.to_string()))?;
        let geometry = response["geometry"].take();
        if !geometry.is_object() {
            return Err(unavailable("the response has no geometry".into()));
        }
        let repairing = tokio::task::spawn_blocking(move || filter_area(geometry));
        let area = repairing.await.map_err(ApiError::internal)?;
        let area = area.map_err(|reason| {
            let rule =
                format!("the isochrone service returns an area that cannot be used: {reason}");
            Fault::new(path, rule)
        })?;
        let area = Arc::new(area);
        self.0.cache.insert(url, Arc::clone(&area));
        Ok(area)
    }
}

/// Returns the URL that requests an isochrone.
fn request_url(service: &Url, isochrone: &Isochrone) -> Url {
    let profile = match isochrone.mode {
        Mode::Car => "car",
        Mode::Walk => "pedestrian",
    };
    let mut url = service.clone();
    // Rounded to the metre and the second, so that equal requests are recognised.
    url.query_pairs_mut()
        .append_pair("resource", RESOURCE)
        .append_pair(
            "point",
            &format!("{:.5},{:.5}", isochrone.lon, isochrone.lat),
        )
        .append_pair("costType", "time")
        .append_pair("costValue", &format!("{:.0}", isochrone.minutes * 60.0))
        .append_pair("timeUnit", "second")
        .append_pair("profile", profile)
        .append_pair("direction", "departure")
        .append_pair("crs", "EPSG:4326")
        .append_pair("geometryFormat", "geojson");
    url
}
