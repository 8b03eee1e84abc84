//! What a running question looks at between two chunks: whether anybody still waits for its answer, and whether it
//! should leave a core to those who ask little.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Error;

/// How long after a modest question a core is kept free for the next.
const KEPT_FREE: Duration = Duration::from_millis(50);
/// Longest rest between two chunks, so that whoever asks much still gets on beside a stream of modest questions.
const REST_MAX: Duration = Duration::from_millis(20);
/// How often a resting thread looks again.
const REST_STEP: Duration = Duration::from_millis(1);

/// When a modest question was last asked: those who ask much then leave one core to the next. Without it a thread that
/// computes holds its core for milliseconds after a modest question arrives, until the system's next turn.
#[derive(Debug)]
pub struct Courtesy {
    epoch: Instant,
    /// Milliseconds from the epoch until the core is no longer kept free.
    kept_until_ms: AtomicU64,
    /// The thread of its lane that rests, when the lane has more than one.
    resting_thread: Option<usize>,
}

impl Courtesy {
    /// For a lane of this many threads.
    pub fn of(threads: usize) -> Self {
        Self {
            epoch: Instant::now(),
            kept_until_ms: AtomicU64::new(0),
            resting_thread: threads.checked_sub(1).filter(|last| *last > 0),
        }
    }

    /// Marks that a modest question is asked or answered now.
    pub fn keep_a_core_free(&self) {
        let until = self.epoch.elapsed() + KEPT_FREE;
        self.kept_until_ms
            .store(until.as_millis() as u64, Ordering::Relaxed);
    }

    fn is_kept_free(&self) -> bool {
        (self.epoch.elapsed().as_millis() as u64) < self.kept_until_ms.load(Ordering::Relaxed)
    }

    /// Rests while a core is to be kept free, if the current thread is the one to rest.
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

/// A flag that whoever asked raises, and whoever computes looks at between two chunks. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    is_raised: Arc<AtomicBool>,
    courtesy: Option<Arc<Courtesy>>,
}

impl Interrupt {
    /// That of a question whose threads give way to others.
    pub fn courteous(courtesy: &Arc<Courtesy>) -> Self {
        Self {
            courtesy: Some(Arc::clone(courtesy)),
            ..Self::default()
        }
    }

    /// Asks the question to stop.
    pub fn raise(&self) {
        self.is_raised.store(true, Ordering::Relaxed);
    }

    /// Whether the question should stop.
    pub fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Relaxed)
    }

    /// [`Error::Interrupted`] once raised; may rest for some milliseconds first, to give way to others.
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

    /// Raises the flag when dropped, unless the question was answered before.
    pub fn raise_on_drop(&self) -> RaiseOnDrop {
        RaiseOnDrop(self.clone())
    }
}

/// See [`Interrupt::raise_on_drop`].
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
    fn whoever_gives_way_gets_on_all_the_same() {
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
