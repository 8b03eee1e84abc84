//! A value that one client changes, one call after another: its acknowledged state, and the states requested since.

/// The states of a value.
#[derive(Clone, Debug)]
pub struct History<T> {
    acknowledged: Vec<T>,
    /// Requested since; any of them may be the current state.
    open: Vec<T>,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        Self {
            acknowledged: Vec::new(),
            open: Vec::new(),
        }
    }
}

impl<T: PartialEq> History<T> {
    /// A value created in this state.
    pub fn begun(state: T) -> Self {
        Self {
            acknowledged: vec![state],
            open: Vec::new(),
        }
    }

    /// A state is asked for.
    pub fn ask(&mut self, state: T) {
        self.open.push(state);
    }

    /// Records that a state was acknowledged; states requested earlier can no longer occur.
    pub fn acknowledge(&mut self, state: T) {
        self.acknowledged.push(state);
        self.open.clear();
    }

    /// The last state acknowledged.
    pub fn last(&self) -> Option<&T> {
        self.acknowledged.last()
    }

    /// Whether a read that started when this was `before`, and ends now, may return a state.
    pub fn allows(&self, before: &Self, found: &T) -> bool {
        let from = before.acknowledged.len().saturating_sub(1);
        self.acknowledged[from..].contains(found)
            || self.open.contains(found)
            || before.open.contains(found)
    }
}
