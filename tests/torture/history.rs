//! A value that one client changes, one call after another: what was acknowledged of it, and what was asked for since.

/// The states of a value.
#[derive(Clone, Debug)]
pub struct History<T> {
    acknowledged: Vec<T>,
    /// Asked for since; each may be the state, or not.
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
    /// A value made in this state.
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

    /// A state was acknowledged; whatever was asked for before comes no more.
    pub fn acknowledge(&mut self, state: T) {
        self.acknowledged.push(state);
        self.open.clear();
    }

    /// The last state acknowledged.
    pub fn last(&self) -> Option<&T> {
        self.acknowledged.last()
    }

    /// Whether a state may be found by someone who began to look when this was `before`, and has looked now.
    pub fn allows(&self, before: &Self, found: &T) -> bool {
        let from = before.acknowledged.len().saturating_sub(1);
        self.acknowledged[from..].contains(found)
            || self.open.contains(found)
            || before.open.contains(found)
    }
}
