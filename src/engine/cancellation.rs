//! Cancellation and yielding: between two chunks, a running query checks whether its caller is still waiting and
//! whether to yield a core to the light lane.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Error;

/// How long a core stays reserved after a query in the light lane.
const CORE_RESERVED_FOR: Duration = Duration::from_millis(50);
/// Maximum pause between two chunks, so that the heavy lane makes progress under a steady stream of light queries.
const YIELD_MAX: Duration = Duration::from_millis(20);
/// Interval at which a paused thread checks again.
const YIELD_STEP: Duration = Duration::from_millis(1);

/// Reserves a core for the light lane after each of its queries: one thread of the heavy lane pauses during that time.
/// Without the reservation, a busy heavy thread would hold its core for milliseconds after a light query arrives, until
/// the system's next time slice.
#[derive(Debug)]
pub struct YieldGate {
    epoch: Instant,
    /// Milliseconds from the epoch until the reservation ends.
    reserved_until_ms: AtomicU64,
    /// Index of the thread that pauses; `None` if the lane has only one thread.
    yielding_thread: Option<usize>,
}

impl YieldGate {
    /// Creates the state for a heavy lane with this many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            epoch: Instant::now(),
            reserved_until_ms: AtomicU64::new(0),
            yielding_thread: threads.checked_sub(1).filter(|last| *last > 0),
        }
    }

    /// Reserves a core from now; called at the start of a query in the light lane.
    pub fn note_light_query(&self) {
        let until = self.epoch.elapsed() + CORE_RESERVED_FOR;
        self.reserved_until_ms
            .store(until.as_millis() as u64, Ordering::Relaxed);
    }

    fn should_yield(&self) -> bool {
        (self.epoch.elapsed().as_millis() as u64) < self.reserved_until_ms.load(Ordering::Relaxed)
    }

    /// Pauses while a core is reserved, if the current thread must yield.
    fn yield_to_light_queries(&self) {
        if self.yielding_thread.is_none() || rayon::current_thread_index() != self.yielding_thread {
            return;
        }
        let since = Instant::now();
        while self.should_yield() && since.elapsed() < YIELD_MAX {
            std::thread::sleep(YIELD_STEP);
        }
    }
}

/// A cancellation flag that the caller sets and the query checks between two chunks. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    is_raised: Arc<AtomicBool>,
    yield_gate: Option<Arc<YieldGate>>,
}

impl Interrupt {
    /// Creates the flag of a query in the heavy lane, whose threads yield.
    pub fn yielding(yield_gate: &Arc<YieldGate>) -> Self {
        Self {
            yield_gate: Some(Arc::clone(yield_gate)),
            ..Self::default()
        }
    }

    /// Cancels the query.
    pub fn raise(&self) {
        self.is_raised.store(true, Ordering::Relaxed);
    }

    /// Returns whether the query is cancelled.
    pub fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Relaxed)
    }

    /// Returns [`Error::Interrupted`] if cancelled. May first pause for some milliseconds, to yield to the light lane.
    pub fn check(&self) -> Result<(), Error> {
        if let Some(yield_gate) = &self.yield_gate {
            yield_gate.yield_to_light_queries();
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
        let yield_gate = Arc::new(YieldGate::new(2));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        let interrupt = Interrupt::yielding(&yield_gate);
        let asking = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while asking.load(Ordering::Relaxed) {
                    yield_gate.note_light_query();
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
        assert_eq!(YieldGate::new(1).yielding_thread, None);
        assert_eq!(YieldGate::new(2).yielding_thread, Some(1));
    }
}
