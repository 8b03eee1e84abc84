//! Name resolution on dedicated threads.
//!
//! The system resolver blocks a thread per lookup for as long as a name's servers do not answer, long after the caller
//! has timed out. A lookup therefore holds its permit until its thread ends: a dead name service blocks at most
//! [`LOOKUPS_MAX`] threads, and no other thread of the service. Checks of addresses that accounts submit get half of
//! the permits, so they never block deliveries. If a name was resolved before for a connection, that result is used
//! while the name service does not answer.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use toise_base::supervise::Supervisor;

/// Maximum concurrent lookups.
pub const LOOKUPS_MAX: usize = 64;
/// Maximum concurrent lookups for checks of addresses; they count towards [`LOOKUPS_MAX`].
pub const CHECKS_MAX: usize = 32;

/// Maximum time for a lookup, including the wait for a permit.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time for a lookup if an earlier result can be used instead.
const CACHED_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum age of an earlier result.
const CACHE_TTL: Duration = Duration::from_secs(24 * 3_600);
/// Maximum number of names whose last results are kept.
const CACHE_ENTRIES_MAX: u64 = 4_096;

/// Resolves a name; blocks until the name service answers.
type ResolveFn = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// Bounded name resolution. Cheap to clone; clones share the permits.
#[derive(Clone)]
pub(super) struct NameResolver {
    ask: Arc<ResolveFn>,
    supervisor: Supervisor,
    permits: Arc<Semaphore>,
    checks: Arc<Semaphore>,
    /// The last result of each name.
    known: Cache<String, Arc<[IpAddr]>>,
}

impl fmt::Debug for NameResolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let free = self.permits.available_permits();
        formatter.debug_tuple("Lookups").field(&free).finish()
    }
}

impl NameResolver {
    /// Creates a resolver with a function that may block its thread.
    pub fn new(ask: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        Self {
            ask: Arc::new(ask),
            supervisor: Supervisor::default(),
            permits: Arc::new(Semaphore::new(LOOKUPS_MAX)),
            checks: Arc::new(Semaphore::new(CHECKS_MAX)),
            known: Cache::builder()
                .max_capacity(CACHE_ENTRIES_MAX)
                .time_to_live(CACHE_TTL)
                .build(),
        }
    }

    /// Runs the lookups on threads of a supervisor.
    pub fn supervised_by(self, supervisor: &Supervisor) -> Self {
        let supervisor = supervisor.clone();
        Self { supervisor, ..self }
    }

    /// Creates a resolver that uses the system's name service.
    pub fn system() -> Self {
        Self::new(|name| {
            Ok((name, 0)
                .to_socket_addrs()?
                .map(|found| found.ip())
                .collect())
        })
    }

    /// Resolves a name in order to check it.
    ///
    /// # Errors
    /// The resolver's error, or a timeout.
    pub async fn resolve_for_check(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let looked_up = async {
            let check = Arc::clone(&self.checks).acquire_owned().await.ok();
            self.look_up(name, check).await
        };
        timeout(LOOKUP_TIMEOUT, looked_up).await?
    }

    /// Resolves a name in order to connect to it. On a timeout, returns the last result if there is a recent one.
    ///
    /// # Errors
    /// The resolver's error, or a timeout.
    pub async fn resolve_for_connection(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let known = self.known.get(name);
        let patience = match known {
            Some(_) => CACHED_TIMEOUT,
            None => LOOKUP_TIMEOUT,
        };
        match timeout(patience, self.look_up(name, None)).await {
            Ok(answer) => {
                let addresses = answer?;
                let remembered = Arc::from(addresses.as_slice());
                self.known.insert(name.to_owned(), remembered);
                Ok(addresses)
            }
            Err(elapsed) => match known {
                Some(addresses) => Ok(addresses.to_vec()),
                None => Err(elapsed.into()),
            },
        }
    }

    /// Runs a lookup on a thread as soon as a permit is free; the permits are released when the thread ends.
    async fn look_up(
        &self,
        name: &str,
        check: Option<OwnedSemaphorePermit>,
    ) -> io::Result<Vec<IpAddr>> {
        let place = Arc::clone(&self.permits).acquire_owned().await;
        let (sender, receiver) = oneshot::channel();
        let (ask, name) = (Arc::clone(&self.ask), name.to_owned());
        self.supervisor.spawn_once("lookup", move |pulse| {
            pulse.turn();
            let answer = ask(&name);
            drop((check, place));
            // The caller may have timed out.
            let _ = sender.send(answer);
        })?;
        receiver.await.map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Condvar, Mutex};

    /// A name service that blocks lookups of `silent` names, or all lookups once it is dead, until it is released.
    #[derive(Default)]
    struct Service {
        is_dead: AtomicBool,
        kept: AtomicUsize,
        is_back: Mutex<bool>,
        back: Condvar,
    }

    impl Service {
        fn answer(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            if name.starts_with("silent") || self.is_dead.load(Ordering::SeqCst) {
                self.kept.fetch_add(1, Ordering::SeqCst);
                let is_back = self.is_back.lock().unwrap();
                drop(self.back.wait_while(is_back, |is_back| !*is_back).unwrap());
            }
            Ok(vec![[93, 184, 216, 34].into()])
        }
    }

    #[test]
    fn a_dead_name_service_blocks_only_lookup_threads() {
        let service = Arc::<Service>::default();
        let asked = Arc::clone(&service);
        let lookups = NameResolver::new(move |name| asked.answer(name));
        // Only one blocking thread: a lookup on it would never release it.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let names = |kind: &str| {
            (0..100)
                .map(|number| format!("{kind}{number}.example"))
                .collect()
        };
        let (silent, others): (Vec<String>, Vec<String>) = (names("silent"), names("silent-"));
        let kept = || service.kept.load(Ordering::SeqCst);
        runtime.block_on(async {
            let checked = join_all(silent.iter().map(|name| lookups.resolve_for_check(name))).await;
            assert!(checked.iter().all(Result::is_err));
            assert_eq!(kept(), CHECKS_MAX);
            let known = lookups.resolve_for_connection("client.example").await;
            assert!(known.is_ok(), "checks leave permits for deliveries");
            let connected = join_all(
                others
                    .iter()
                    .map(|name| lookups.resolve_for_connection(name)),
            )
            .await;
            assert!(connected.iter().all(Result::is_err));
            assert_eq!(kept(), LOOKUPS_MAX);
            let elsewhere = tokio::task::spawn_blocking(|| ());
            timeout(CACHED_TIMEOUT, elsewhere).await.unwrap().unwrap();
            service.is_dead.store(true, Ordering::SeqCst);
            let again = lookups.resolve_for_connection("client.example").await;
            assert_eq!(again.ok(), known.ok(), "the last result is used");

            *service.is_back.lock().unwrap() = true;
            service.back.notify_all();
            let checked = lookups.resolve_for_check("client.example").await;
            assert!(
                checked.is_ok(),
                "permits are released when their threads end"
            );
        });
    }
}
