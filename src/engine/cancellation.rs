//! Cancellation: between two chunks, a running query checks whether its caller is still waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Error;

/// A cancellation flag that the caller sets and the query checks between two chunks. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Cancels the query.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the query is cancelled.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns [`Error::Interrupted`] if cancelled.
    pub fn check(&self) -> Result<(), Error> {
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
    fn a_query_runs_until_it_is_cancelled() {
        let interrupt = Interrupt::default();
        let guard = interrupt.raise_on_drop();
        assert!(interrupt.check().is_ok());
        drop(guard);
        assert!(matches!(interrupt.check(), Err(Error::Interrupted)));
    }
}
