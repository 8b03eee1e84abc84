//! Cancellation and yielding: a running query checks between two chunks whether its caller is still waiting and whether
//! it should yield a core to the light lane.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Error;

/// How long a core stays reserved after a query in the light lane.
const KEPT_FREE: Duration = Duration::from_millis(50);
/// Maximum rest between two chunks, so that the heavy lane makes progress under a steady stream of light queries.
const REST_MAX: Duration = Duration::from_millis(20);
/// Interval at which a resting thread checks again.
const REST_STEP: Duration = Duration::from_millis(1);

/// Reserves a core for the light lane after each of its queries: one thread of the heavy lane rests meanwhile. Without
/// it, a computing thread would hold its core for milliseconds after a light query arrives, until the system's next
/// time slice.
#[derive(Debug)]
pub struct Courtesy {
    epoch: Instant,
    /// Milliseconds from the epoch until the reservation ends.
    kept_until_ms: AtomicU64,
    /// Index of the thread that rests; `None` if the lane has only one thread.
    resting_thread: Option<usize>,
}

impl Courtesy {
    /// Creates the state for a heavy lane with this many threads.
    pub fn of(threads: usize) -> Self {
        Self {
            epoch: Instant::now(),
            kept_until_ms: AtomicU64::new(0),
            resting_thread: threads.checked_sub(1).filter(|last| *last > 0),
        }
    }

    /// Reserves a core from now; called at the start of a query in the light lane.
    pub fn keep_a_core_free(&self) {
        let until = self.epoch.elapsed() + KEPT_FREE;
        self.kept_until_ms
            .store(until.as_millis() as u64, Ordering::Relaxed);
    }

    fn is_kept_free(&self) -> bool {
        (self.epoch.elapsed().as_millis() as u64) < self.kept_until_ms.load(Ordering::Relaxed)
    }

    /// Rests while a core is reserved, if the current thread is the one that rests.
    fn give_way(&self) {
        if self.resting_thread.is_none() || rayon::current_thread_index() != self.resting_thread {
            return;
        }
        let since = Instant::now();
        while self.is_kept_free() && since.elapsed() < REST_MAX {
            std::thread::sleep(REST_STEP);
        }
    }
}

/// A cancellation flag that the caller sets and the query checks between two chunks. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    is_raised: Arc<AtomicBool>,
    courtesy: Option<Arc<Courtesy>>,
}

impl Interrupt {
    /// Creates the flag of a query in the heavy lane, whose threads yield.
    pub fn courteous(courtesy: &Arc<Courtesy>) -> Self {
        Self {
            courtesy: Some(Arc::clone(courtesy)),
            ..Self::default()
        }
    }

    /// Cancels the query.
    pub fn raise(&self) {
        self.is_raised.store(true, Ordering::Relaxed);
    }

    /// Whether the query is cancelled.
    pub fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Relaxed)
    }

    /// Returns [`Error::Interrupted`] if cancelled. May rest for some milliseconds first, to yield to the light lane.
    pub fn check(&self) -> Result<(), Error> {
        if let Some(courtesy) = &self.courtesy {
            courtesy.give_way();
        }
        if self.is_raised() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Returns a guard that cancels the query when it is dropped. If the query has ended, that has no effect.
    pub fn raise_on_drop(&self) -> RaiseOnDrop {
        RaiseOnDrop(self.clone())
    }
}

/// Guard returned by [`Interrupt::raise_on_drop`].
#[derive(Debug)]
pub struct RaiseOnDrop(Interrupt);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.raise();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yielding_lane_still_makes_progress() {
        let courtesy = Arc::new(Courtesy::of(2));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        let interrupt = Interrupt::courteous(&courtesy);
        let asking = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while asking.load(Ordering::Relaxed) {
                    courtesy.keep_a_core_free();
                    std::thread::yield_now();
                }
            });
            for _ in 0..5 {
                assert!(
                    pool.broadcast(|_| interrupt.check())
                        .iter()
                        .all(Result::is_ok)
                );
            }
            interrupt.raise();
            assert!(
                pool.broadcast(|_| interrupt.check())
                    .iter()
                    .all(Result::is_err)
            );
            asking.store(false, Ordering::Relaxed);
        });
    }

    #[test]
    fn the_only_thread_of_a_lane_never_rests() {
        assert_eq!(Courtesy::of(1).resting_thread, None);
        assert_eq!(Courtesy::of(2).resting_thread, Some(1));
    }
}
