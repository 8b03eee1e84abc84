//! Compression of responses with zstd or gzip, for clients that accept it.
//!
//! Short bodies, streamed bodies and bodies that are already compressed are sent unchanged. Long bodies are compressed
//! on a blocking thread, since the reactor must not compute. Bodies that never change are compressed only once.

use std::collections::HashMap;
use std::io::Write;
use std::sync::LazyLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use warp::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue, VARY,
};
use warp::http::{HeaderMap, Response};

/// Minimum length of a body that is compressed, in bytes: shorter ones fit into one packet.
const COMPRESSED_BYTES_MIN: usize = 1_400;
/// Minimum length of a body that is compressed on a blocking thread, in bytes; shorter ones take a fraction of a
/// millisecond.
const BLOCKING_BYTES_MIN: usize = 32 << 10;
/// zstd level: higher ones save little on JSON and cost a lot.
const ZSTD_LEVEL: i32 = 1;

/// Marks a response whose body never changes while the process lives.
#[derive(Clone, Copy, Debug)]
pub struct ConstantBody;

/// Returns whether the body of a response is permanently in memory.
pub fn is_unchanging(response: &Response<Bytes>) -> bool {
    response.extensions().get::<ConstantBody>().is_some()
}

/// Compressed unchanging bodies, by their permanent address in memory; `None` if compression does not make the body
/// shorter. There is at most one per compiled-in file and coding.
static PACKED: LazyLock<Mutex<PackedBodies>> = LazyLock::new(Mutex::default);

type PackedBodies = HashMap<(usize, Coding), Option<Bytes>>;

toise_base::named! {
    /// A supported coding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Coding {
        Zstd = "zstd",
        Gzip = "gzip",
    }
}

impl Coding {
    fn compress(self, body: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Zstd => zstd::bulk::compress(body, ZSTD_LEVEL),
            Self::Gzip => {
                let packed = Vec::with_capacity(body.len() / 4);
                let mut encoder = GzEncoder::new(packed, Compression::fast());
                encoder.write_all(body)?;
                encoder.finish()
            }
        }
    }

    /// Returns the coding that a client prefers, zstd on a tie; `None` if it accepts neither.
    fn preferred(headers: &HeaderMap) -> Option<Self> {
        let weights = Self::ALL.map(|coding| (coding, weight(headers, coding.as_str())));
        let [zstd, gzip] = weights;
        let best = if gzip.1 > zstd.1 { gzip } else { zstd };
        (best.1 > 0.0).then_some(best.0)
    }
}

/// Returns the weight of a coding in `Accept-Encoding`, 0 to 1.
fn weight(headers: &HeaderMap, name: &str) -> f32 {
    let lists = headers.get_all(ACCEPT_ENCODING).iter();
    let codings = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    let mut default = 0.0;
    for coding in codings {
        let (named, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        let weight = weight.trim().parse().unwrap_or(0.0);
        match named.trim() {
            named if named.eq_ignore_ascii_case(name) => return weight,
            "*" => default = weight,
            _ => {}
        }
    }
    default
}

/// Returns whether bodies of a media type compress well.
fn is_text(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.starts_with("text/")
        || ["json", "javascript", "xml", "mapbox-vector-tile", "wasm"]
            .iter()
            .any(|part| essence.ends_with(part))
}

/// Compresses the body of a response if its client accepts it.
pub async fn compress(response: &mut Response<Bytes>, request: &HeaderMap) {
    let headers = response.headers();
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    if headers.contains_key(CONTENT_ENCODING) || !content_type.is_some_and(is_text) {
        return;
    }
    let by = HeaderValue::from_name(ACCEPT_ENCODING);
    response.headers_mut().append(VARY, by);
    if response.body().len() < COMPRESSED_BYTES_MIN {
        return;
    }
    let Some(coding) = Coding::preferred(request) else {
        return;
    };
    let body = response.body().clone();
    let packed = if is_unchanging(response) {
        compress_cached(coding, body).await
    } else {
        packed(coding, body).await
    };
    // A body that cannot be compressed is sent unchanged.
    let Some(packed) = packed else {
        return;
    };
    *response.body_mut() = packed;
    let headers = response.headers_mut();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.as_str()));
    weaken(headers);
}

/// Compresses a body; `None` if that fails or does not make it shorter.
async fn packed(coding: Coding, body: Bytes) -> Option<Bytes> {
    let length = body.len();
    let packed = if length < BLOCKING_BYTES_MIN {
        coding.compress(&body).ok()
    } else {
        let packing = tokio::task::spawn_blocking(move || coding.compress(&body).ok());
        packing.await.unwrap_or_default()
    };
    packed
        .filter(|packed| packed.len() < length)
        .map(Bytes::from)
}

/// Like [`packed`], for a body that never changes. The result is kept.
async fn compress_cached(coding: Coding, body: Bytes) -> Option<Bytes> {
    let place = (body.as_ptr().addr(), coding);
    let known = PACKED.lock().get(&place).cloned();
    if let Some(known) = known {
        return known;
    }
    let packed = packed(coding, body).await;
    PACKED.lock().insert(place, packed.clone());
    packed
}

/// Makes the `ETag` weak, because the bytes now differ from those of the uncompressed body.
fn weaken(headers: &mut HeaderMap) {
    let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok());
    let strong = tag.filter(|tag| !tag.starts_with("W/"));
    if let Some(weak) = strong.and_then(|tag| HeaderValue::from_str(&format!("W/{tag}")).ok()) {
        headers.insert(ETAG, weak);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(text: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, text.parse().unwrap());
        headers
    }

    async fn coded(accepted: &str, content_type: &'static str, length: usize) -> Option<String> {
        let mut response = Response::new(Bytes::from(vec![b'a'; length]));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        compress(&mut response, &accepting(accepted)).await;
        let coding = response.headers().get(CONTENT_ENCODING)?.to_str().ok()?;
        let body = match coding {
            "zstd" => zstd::bulk::decompress(response.body(), length).ok()?,
            _ => {
                let mut body = Vec::new();
                let mut decoder = flate2::read::GzDecoder::new(&response.body()[..]);
                std::io::Read::read_to_end(&mut decoder, &mut body).ok()?;
                body
            }
        };
        assert_eq!(body, vec![b'a'; length]);
        Some(coding.to_owned())
    }

    #[tokio::test]
    async fn a_client_gets_the_coding_it_prefers() {
        for (accepted, coding) in [
            ("gzip", Some("gzip")),
            ("gzip, zstd", Some("zstd")),
            ("zstd;q=0.5, GZIP;q=0.9", Some("gzip")),
            ("*", Some("zstd")),
            ("br", None),
            ("gzip;q=0, identity", None),
        ] {
            for length in [5_000, 100_000] {
                let found = coded(accepted, "application/json", length).await;
                assert_eq!(found.as_deref(), coding, "{accepted}");
            }
        }
    }

    #[tokio::test]
    async fn a_body_that_never_changes_is_compressed_once() {
        static BODY: [u8; 100_000] = [b'a'; 100_000];
        let sent = async || {
            let mut response = Response::new(Bytes::from_static(&BODY));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/css"));
            response.extensions_mut().insert(ConstantBody);
            compress(&mut response, &accepting("gzip")).await;
            response.into_body()
        };
        let (first, second) = (sent().await, sent().await);
        assert!(first.len() < 1_000);
        assert_eq!(first.as_ptr(), second.as_ptr());
    }

    #[tokio::test]
    async fn short_bodies_and_those_that_are_packed_already_stay_as_they_are() {
        assert_eq!(coded("gzip", "application/json", 100).await, None);
        assert_eq!(coded("gzip", "image/png", 5_000).await, None);
        assert!(
            coded("gzip", "text/csv; charset=utf-8", 5_000)
                .await
                .is_some()
        );
    }
}
