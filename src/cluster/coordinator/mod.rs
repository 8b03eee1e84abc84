//! The command's side: connects to workers, gives them work and drops those that fail.
//!
//! Every worker is asked for its identity before work begins. A worker with other data is an error, unless [`Refusals`]
//! says that it is left out; one that does not respond is left out. A worker that fails later is dropped for the rest of
//! the command, with a message to the user; the others do its work.

mod counted;
pub mod dispatch;
pub mod files;
pub mod geocode;
pub mod jobs;
mod parts;
pub mod query;
pub mod server;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arrow_flight::Action;
use arrow_flight::flight_service_client::FlightServiceClient;
use bytes::Bytes;
use datafusion_distributed::grpc::BoxCloneSyncChannel;
use futures::TryStreamExt;
use futures::future::join_all;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tonic::{Code, Status};
use url::Url;

use crate::identity::Identity;
use crate::protocol::{AboutPart, IDENTIFY, Introduction, MESSAGE_BYTES_MAX, PART};
use crate::{Access, Error, Result};

/// Maximum wait for a worker to identify itself.
const IDENTIFY_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum wait for the result of a part.
const PART_TIMEOUT: Duration = Duration::from_secs(600);
/// Parts that a worker is given at once: it works on one while the next arrives.
const PARTS_PER_WORKER: usize = 2;

/// Function that shows the user a line of text.
pub type UserMessage = Arc<dyn Fn(&str) + Send + Sync>;

/// How to treat a worker that has other data or does not admit the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusals {
    /// The command fails.
    Fail,
    /// It is left out, and the others do its work.
    LeaveOut,
}

/// The work of one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Its address.
    pub worker: String,
    /// Rows that it answered, or returned from its tasks of a query.
    pub rows: u64,
    /// Parts or tasks that it answered.
    pub parts: u64,
    /// Time it worked on them, seconds; times of concurrent parts add up.
    pub seconds: f64,
    /// Whether it failed.
    pub is_lost: bool,
}

/// Connection to one worker, and the counts of its work.
#[derive(Debug)]
struct Link {
    url: Url,
    client: FlightServiceClient<BoxCloneSyncChannel>,
    process: String,
    is_lost: AtomicBool,
    rows: AtomicU64,
    parts: AtomicU64,
    busy_ms: AtomicU64,
}

impl Link {
    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Calls an action that returns one message.
    async fn call(
        &self,
        action: &'static str,
        body: Bytes,
        timeout: Duration,
    ) -> std::result::Result<Bytes, Status> {
        let mut client = self.client.clone();
        let action = Action {
            r#type: action.into(),
            body,
        };
        let call = async {
            let mut messages = client.do_action(action).await?.into_inner();
            let first = messages.try_next().await?;
            first
                .map(|result| result.body)
                .ok_or_else(|| Status::unavailable("an empty answer"))
        };
        match tokio::time::timeout(timeout, call).await {
            Ok(message) => message,
            Err(_elapsed) => Err(Status::deadline_exceeded(format!(
                "no answer within {} s",
                timeout.as_secs()
            ))),
        }
    }

    async fn identify(&self) -> std::result::Result<Introduction, Status> {
        let answer = self.call(IDENTIFY, Bytes::new(), IDENTIFY_TIMEOUT).await?;
        serde_json::from_slice(&answer).map_err(|error| {
            Status::failed_precondition(format!("another version of toise: {error}"))
        })
    }
}

/// The workers of a command.
pub struct Cluster {
    access: Access,
    identity: Identity,
    links: Vec<Arc<Link>>,
    /// Workers that did not respond when the command connected.
    silent: Vec<Url>,
    /// Free places for parts, each as the index of its worker.
    places: Mutex<VecDeque<usize>>,
    /// Signals that a place is free or a worker is lost.
    changed: Notify,
    notify: UserMessage,
}

/// Parses a list of addresses separated by commas.
///
/// # Errors
/// One is not a URL.
pub fn addresses(list: &str) -> Result<Vec<Url>> {
    let mut found = Vec::new();
    for text in list.split(',').map(str::trim) {
        if text.is_empty() {
            continue;
        }
        let url = Url::parse(text).map_err(|error| Error::address(&text, error.to_string()))?;
        if !found.contains(&url) {
            found.push(url);
        }
    }
    Ok(found)
}

impl Cluster {
    /// Connects to the workers and asks each for its identity, which must agree with `identity`.
    ///
    /// # Errors
    /// An address is refused. With [`Refusals::Fail`], also if a worker refuses or has other data, or if none answers.
    pub async fn connect(
        access: Access,
        urls: &[Url],
        identity: Identity,
        refusals: Refusals,
        notify: UserMessage,
    ) -> Result<Arc<Self>> {
        let mut candidates = Vec::with_capacity(urls.len());
        for url in urls {
            let client = FlightServiceClient::new(access.channel(url)?)
                .max_decoding_message_size(MESSAGE_BYTES_MAX)
                .max_encoding_message_size(MESSAGE_BYTES_MAX);
            candidates.push(Link {
                url: url.clone(),
                client,
                process: String::new(),
                is_lost: AtomicBool::new(false),
                rows: AtomicU64::new(0),
                parts: AtomicU64::new(0),
                busy_ms: AtomicU64::new(0),
            });
        }
        let answers = join_all(candidates.iter().map(Link::identify)).await;
        let mut links = Vec::with_capacity(candidates.len());
        let mut silent = Vec::new();
        for (mut link, answer) in candidates.into_iter().zip(answers) {
            let reason = match answer {
                Ok(worker) => match worker.identity.difference(&identity) {
                    None => {
                        link.process = worker.process;
                        links.push(Arc::new(link));
                        continue;
                    }
                    Some(reason) => reason,
                },
                Err(status) if is_refusal(&status) => status.message().to_owned(),
                Err(status) => {
                    notify(&format!(
                        "the worker {} does not answer and is left out: {}",
                        link.url,
                        status.message()
                    ));
                    silent.push(link.url);
                    continue;
                }
            };
            let refused = Error::Refused {
                worker: link.url.to_string(),
                reason,
            };
            match refusals {
                Refusals::Fail => return Err(refused),
                Refusals::LeaveOut => notify(&refused.to_string()),
            }
        }
        if links.is_empty() && refusals == Refusals::Fail {
            return Err(Error::NoWorkers("no worker answers".into()));
        }
        let places = (0..PARTS_PER_WORKER).flat_map(|_| 0..links.len()).collect();
        Ok(Arc::new(Self {
            access,
            identity,
            links,
            silent,
            places: Mutex::new(places),
            changed: Notify::new(),
            notify,
        }))
    }

    /// Returns the identity of the data that the workers and this command have.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns what each worker has done so far.
    pub fn report(&self) -> Vec<WorkerReport> {
        let report = |link: &Arc<Link>| WorkerReport {
            worker: link.url.to_string(),
            rows: link.rows.load(Ordering::Relaxed),
            parts: link.parts.load(Ordering::Relaxed),
            seconds: link.busy_ms.load(Ordering::Relaxed) as f64 / 1e3,
            is_lost: link.is_lost(),
        };
        self.links.iter().map(report).collect()
    }

    /// Returns the workers that did not respond, or failed.
    fn lost(&self) -> Vec<Url> {
        let lost = self.links.iter().filter(|link| link.is_lost());
        let lost = lost.map(|link| link.url.clone());
        self.silent.iter().cloned().chain(lost).collect()
    }

    /// Returns the workers that did not fail.
    fn left(&self) -> Vec<Arc<Link>> {
        let left = self.links.iter().filter(|link| !link.is_lost());
        left.cloned().collect()
    }

    /// Marks a worker as lost, so that it gets no more work, and informs the user.
    fn drop_worker(&self, link: &Link, reason: &str) {
        if link.is_lost.swap(true, Ordering::Relaxed) {
            return;
        }
        let left = self.left().len();
        (self.notify)(&format!(
            "the worker {} failed and is dropped ({reason}); its work goes to the remaining {left}",
            link.url
        ));
        self.changed.notify_waiters();
    }

    /// Waits for a place on a worker; `None` if no worker is left.
    async fn place(&self) -> Option<usize> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on, a notification is not missed.
            changed.as_mut().enable();
            {
                let mut places = self.places.lock();
                places.retain(|place| !self.links[*place].is_lost());
                if let Some(place) = places.pop_front() {
                    return Some(place);
                }
            }
            if self.left().is_empty() {
                return None;
            }
            changed.await;
        }
    }

    fn give_back(&self, place: usize) {
        self.places.lock().push_back(place);
        self.changed.notify_waiters();
    }

    /// Sends a part to a worker, and to another one if that fails. `read` reads the result; a result that it cannot
    /// read counts as a failure.
    ///
    /// # Errors
    /// No worker is left, or a worker says that no worker could answer.
    async fn run_part<T>(
        &self,
        number: u64,
        part: &Bytes,
        read: impl Fn(Bytes) -> Result<(AboutPart, T)>,
    ) -> Result<(AboutPart, T)> {
        loop {
            let Some(place) = self.place().await else {
                return Err(Error::NoWorkers(format!(
                    "no worker is left, and part {number} was not answered"
                )));
            };
            let link = &self.links[place];
            let answer = link.call(PART, part.clone(), PART_TIMEOUT).await;
            self.give_back(place);
            let reason = match answer.map(&read) {
                Ok(Ok((about, answer))) => {
                    let time = Duration::try_from_secs_f64(about.seconds).unwrap_or_default();
                    link.count(about.rows, time);
                    return Ok((about, answer));
                }
                Ok(Err(error)) => error.to_string(),
                Err(status) if status.code() == Code::InvalidArgument => {
                    return Err(Error::Part(format!("part {number}: {}", status.message())));
                }
                Err(status) => status.message().to_owned(),
            };
            self.drop_worker(link, &reason);
        }
    }

    /// Asks all workers again for their identity, and drops those that do not respond, have restarted or have other
    /// data. Returns whether any was dropped.
    async fn check_workers(&self) -> bool {
        let left = self.left();
        let answers = join_all(left.iter().map(|link| link.identify())).await;
        let mut any = false;
        for (link, answer) in left.iter().zip(answers) {
            let reason = match answer {
                Ok(worker) if worker.process != link.process => "it was restarted".to_owned(),
                Ok(worker) => match worker.identity.difference(&self.identity) {
                    Some(reason) => reason,
                    None => continue,
                },
                Err(status) => status.message().to_owned(),
            };
            self.drop_worker(link, &reason);
            any = true;
        }
        any
    }
}

/// Returns whether a worker answers but refuses this command.
fn is_refusal(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unauthenticated
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::Unimplemented
    )
}
