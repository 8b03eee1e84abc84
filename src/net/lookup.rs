//! The name service, asked on threads of its own.
//!
//! The system's name service holds a thread for each question, for as long as a name's servers do not answer and long
//! after whoever asked has given up. So a question keeps its place until its thread is back: a name service that is
//! dead takes [`LOOKUPS_MAX`] threads, none of which the service needs for anything else. Checks of addresses that
//! accounts give get half of the places, so that they never keep deliveries from finding their way.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

/// Questions under way at once.
pub const LOOKUPS_MAX: usize = 64;
/// Of these, those that checks of addresses ask.
pub const CHECKS_MAX: usize = 32;

/// What a name is looked up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To check an address.
    Check,
    /// To connect to it.
    Connection,
}

/// Asks a name service and waits for its answer, however long that takes.
type Ask = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// A name service with bounded places. Cheap to clone; clones share the places.
#[derive(Clone)]
pub(super) struct Lookups {
    ask: Arc<Ask>,
    places: Arc<Semaphore>,
    checks: Arc<Semaphore>,
}

impl fmt::Debug for Lookups {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let free = self.places.available_permits();
        formatter.debug_tuple("Lookups").field(&free).finish()
    }
}

impl Lookups {
    /// Asks through a call that may block its thread.
    pub fn new(ask: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        Self {
            ask: Arc::new(ask),
            places: Arc::new(Semaphore::new(LOOKUPS_MAX)),
            checks: Arc::new(Semaphore::new(CHECKS_MAX)),
        }
    }

    /// Asks the system.
    pub fn system() -> Self {
        Self::new(|name| {
            Ok((name, 0)
                .to_socket_addrs()?
                .map(|found| found.ip())
                .collect())
        })
    }

    /// The addresses of a name. Waits for a place and for the answer; callers bound the time.
    ///
    /// # Errors
    /// What the name service says, or a thread that cannot be had.
    pub async fn addresses(&self, name: &str, purpose: Purpose) -> io::Result<Vec<IpAddr>> {
        let check = match purpose {
            Purpose::Check => Some(Arc::clone(&self.checks).acquire_owned().await),
            Purpose::Connection => None,
        };
        let place = Arc::clone(&self.places).acquire_owned().await;
        let (tell, told) = oneshot::channel();
        let (ask, name) = (Arc::clone(&self.ask), name.to_owned());
        std::thread::Builder::new()
            .name("lookup".into())
            .spawn(move || {
                let answer = ask(&name);
                drop((check, place));
                // Whoever asked may have given up.
                let _ = tell.send(answer);
            })?;
        told.await.map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;
    use tokio::time::timeout;

    /// A name service that keeps questions about `silent` names until it is let go.
    #[derive(Default)]
    struct Service {
        silent: AtomicUsize,
        is_back: Mutex<bool>,
        back: Condvar,
    }

    impl Service {
        fn answer(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            if name.starts_with("silent") {
                self.silent.fetch_add(1, Ordering::SeqCst);
                let is_back = self.is_back.lock().unwrap();
                drop(self.back.wait_while(is_back, |is_back| !*is_back).unwrap());
                self.silent.fetch_sub(1, Ordering::SeqCst);
            }
            Ok(vec![[93, 184, 216, 34].into()])
        }
    }

    #[test]
    fn a_dead_name_service_takes_its_own_threads_and_no_others() {
        let service = Arc::<Service>::default();
        let asked = Arc::clone(&service);
        let lookups = Lookups::new(move |name| asked.answer(name));
        // One blocking thread for all: a look-up that took it would never give it back.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let patience = Duration::from_millis(300);
        runtime.block_on(async {
            let ask = |name: String, purpose| {
                let lookups = lookups.clone();
                async move { timeout(patience, lookups.addresses(&name, purpose)).await }
            };
            let silent = |purpose| {
                let names = (0..200).map(|number| format!("silent{number}.example"));
                futures::future::join_all(names.map(|name| ask(name, purpose)))
            };
            assert!(silent(Purpose::Check).await.iter().all(Result::is_err));
            assert_eq!(service.silent.load(Ordering::SeqCst), CHECKS_MAX);
            let known = ask("client.example".into(), Purpose::Connection).await;
            assert!(known.unwrap().is_ok(), "checks leave room for deliveries");
            assert!(silent(Purpose::Connection).await.iter().all(Result::is_err));
            assert_eq!(service.silent.load(Ordering::SeqCst), LOOKUPS_MAX);
            let elsewhere = tokio::task::spawn_blocking(|| ());
            timeout(patience, elsewhere).await.unwrap().unwrap();

            *service.is_back.lock().unwrap() = true;
            service.back.notify_all();
            let checked = ask("client.example".into(), Purpose::Check).await;
            assert!(
                checked.unwrap().is_ok(),
                "places come back with their threads"
            );
        });
    }
}
