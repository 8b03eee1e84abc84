//! An object store in memory that fails as real ones do: missing answers, errors before or after a write took effect,
//! truncated uploads, stale answers and slow listings. It can also kill its client at a given request.
//!
//! A seed determines which request fails and how, so that a failure can be reproduced.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result, UploadPart,
};
use std::sync::Mutex;
use toise_base::splitmix::mix_into;

/// Time after which the client of a real store itself gives up a request of an upload in parts.
const CLIENT_TIMEOUT: Duration = Duration::from_millis(20);

/// The way in which a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The request is never answered.
    Silence,
    /// The answer is an error, and the request had no effect.
    Refused,
    /// The request took effect, and the answer is lost.
    AnswerLost,
    /// A part of the sent bytes is stored, and the answer is an error.
    Torn,
    /// The answer is the state before the last write.
    Stale,
}

/// Rates of faults, per hundred requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultRates {
    /// Requests that fail, out of a hundred.
    pub failing: u64,
    /// Reads with a stale answer, out of a hundred.
    pub stale: u64,
}

/// Decides which requests fail.
#[derive(Debug)]
struct Faults {
    seed: u64,
    rates: FaultRates,
    /// Requests so far.
    requests: AtomicU64,
    /// From this request on, all fail: the process was killed during it.
    killed_at: u64,
}

/// An object store in memory whose requests fail.
#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<InMemory>,
    faults: Arc<Faults>,
    /// The bytes of each object before its last write.
    former: Mutex<HashMap<Path, bytes::Bytes>>,
}

/// An upload in parts. Each part may fail, and so may the completion.
#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    faults: Arc<Faults>,
}

impl Faults {
    fn new(seed: u64, rates: FaultRates, killed_at: u64) -> Arc<Self> {
        Arc::new(Self {
            seed,
            rates,
            requests: AtomicU64::new(0),
            killed_at,
        })
    }

    fn fault(&self, is_write: bool) -> Fault {
        let request = self.requests.fetch_add(1, Ordering::SeqCst);
        let drawn = mix_into(self.seed, request);
        if request > self.killed_at {
            return Fault::Refused;
        }
        let kinds = if is_write {
            [
                Fault::Refused,
                Fault::AnswerLost,
                Fault::Torn,
                Fault::Silence,
            ]
        } else {
            [
                Fault::Refused,
                Fault::Refused,
                Fault::Silence,
                Fault::Refused,
            ]
        };
        let kind = kinds[(drawn >> 32) as usize % kinds.len()];
        if request == self.killed_at {
            return kind;
        }
        match drawn % 100 {
            drawn if drawn < self.rates.failing => kind,
            drawn if !is_write && drawn < self.rates.failing + self.rates.stale => Fault::Stale,
            _ => Fault::None,
        }
    }
}

impl FaultyStore {
    /// Creates a store that fails at these rates.
    pub fn new(inner: &Arc<InMemory>, seed: u64, rates: FaultRates) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            faults: Faults::new(seed, rates, u64::MAX),
            former: Mutex::default(),
        })
    }

    /// Creates a store whose user is killed during a request, the first being 0.
    pub fn killed_at(inner: &Arc<InMemory>, request: u64) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            faults: Faults::new(request, FaultRates::default(), request),
            former: Mutex::default(),
        })
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> u64 {
        self.faults.requests.load(Ordering::SeqCst)
    }

    fn fault(&self, is_write: bool) -> Fault {
        self.faults.fault(is_write)
    }

    async fn remember(&self, location: &Path) {
        if let Ok(found) = self.inner.get(location).await
            && let Ok(bytes) = found.bytes().await
        {
            self.former.lock().unwrap().insert(location.clone(), bytes);
        }
    }
}

fn refused() -> Error {
    Error::Generic {
        store: "faulty",
        source: "500 Internal Server Error".into(),
    }
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, payload: PutPayload) -> UploadPart {
        match self.faults.fault(true) {
            Fault::None => self.inner.put_part(payload),
            Fault::Silence => async {
                tokio::time::sleep(CLIENT_TIMEOUT).await;
                Err(refused())
            }
            .boxed(),
            Fault::AnswerLost => {
                let sent = self.inner.put_part(payload);
                async { sent.await.and(Err(refused())) }.boxed()
            }
            _ => async { Err(refused()) }.boxed(),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        match self.faults.fault(true) {
            Fault::None => self.inner.complete().await,
            Fault::Silence => {
                tokio::time::sleep(CLIENT_TIMEOUT).await;
                Err(refused())
            }
            Fault::AnswerLost => self.inner.complete().await.and(Err(refused())),
            _ => Err(refused()),
        }
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "faulty store of seed {}", self.faults.seed)
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let fault = self.fault(true);
        match fault {
            Fault::Silence => return std::future::pending().await,
            Fault::Refused => return Err(refused()),
            Fault::Torn if matches!(options.mode, PutMode::Create | PutMode::Overwrite) => {
                // Only stores that are not real object stores tear writes. Stores with conditional writes never tear a
                // pointer.
                let is_content = location.as_ref().contains("objects/");
                if is_content && self.inner.head(location).await.is_err() {
                    let bytes: Vec<u8> = payload.iter().flatten().copied().collect();
                    let torn = bytes[..bytes.len() / 2].to_vec();
                    self.inner.put(location, torn.into()).await?;
                }
                return Err(refused());
            }
            _ => {}
        }
        self.remember(location).await;
        let put = self.inner.put_opts(location, payload, options).await;
        match fault {
            Fault::None => put,
            _ => put.and(Err(refused())),
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        match self.fault(true) {
            Fault::None => Ok(Box::new(FaultyUpload {
                inner: self.inner.put_multipart_opts(location, options).await?,
                faults: Arc::clone(&self.faults),
            })),
            Fault::Silence => {
                tokio::time::sleep(CLIENT_TIMEOUT).await;
                Err(refused())
            }
            _ => Err(refused()),
        }
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        match self.fault(false) {
            Fault::Silence => return std::future::pending().await,
            Fault::None => {}
            Fault::Stale => {
                let former = self.former.lock().unwrap().get(location).cloned();
                if let Some(former) = former {
                    // A stale answer has the length, the time and the ETag of the previous object.
                    let past = InMemory::new();
                    past.put(location, former.into()).await?;
                    let options = GetOptions {
                        if_none_match: None,
                        ..options
                    };
                    return past.get_opts(location, options).await;
                }
            }
            _ => return Err(refused()),
        }
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        match self.fault(true) {
            Fault::None => self.inner.delete_stream(locations),
            _ => futures::stream::iter([Err(refused())]).boxed(),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let fault = self.fault(false);
        let listed = self.inner.list(prefix);
        match fault {
            Fault::None | Fault::Stale => async move {
                // A listing takes longer than any other request.
                tokio::time::sleep(Duration::from_millis(2)).await;
                listed
            }
            .flatten_stream()
            .boxed(),
            _ => listed
                .take(1)
                .chain(futures::stream::iter([Err(refused())]))
                .boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
